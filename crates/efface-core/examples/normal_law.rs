//! Exact noise against its law: many draws of the rounded normal, counted in cells and in the tails.
//!
//! ```text
//! cargo run --release -p efface-core --example normal_law -- 100000000
//! ```
//!
//! Prints χ² with its p-value and tail counts for several σ, and the draws per second of one core. A second argument
//! is a seed.

#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::time::Instant;

use efface_core::noise::NoiseSource;
use efface_core::noise::lattice::Lattice;
use efface_core::noise::normal::RoundedNormal;
use efface_testkit::counts::count_tail;
use efface_testkit::rounded_normal::RoundedNormalLaw;
use rayon::prelude::*;

/// σ, and the width of a cell: small ones are counted integer by integer. Releases have a σ of 2⁵⁰ to 2⁶⁰; the last one
/// is so large that no draw is decided by its first word.
const CASES: [(f64, i128); 6] =
    [(0.3, 1), (1.5, 1), (7.25, 1), (1_234_567_890.125, 20_000_000), (1.3e15, 1 << 44), (1.3e25, 1 << 78)];

/// Cells on each side of zero.
const CELLS: i128 = 700;

/// Draws that one task makes from a seed of its own.
const PER_TASK: u64 = 1_000_000;

fn main() {
    let argument = |place: usize| std::env::args().nth(place).map(|n| n.parse::<u64>().expect("a whole number"));
    let (n, seed) = (argument(1).unwrap_or(10_000_000), argument(2).unwrap_or(0));
    let lattice = Lattice::new(0).expect("whole numbers");
    for (case, (std, width)) in CASES.into_iter().enumerate() {
        let law = RoundedNormal::new(std, lattice).expect("positive and not too large");
        println!("σ = {std}: {:.2} million draws per second on one core", speed(law) / 1e6);
        report(n, std, width, &histogram(law, n, width, 1000 * seed + case as u64));
    }
}

/// Draws per second of this thread, the median of five runs.
fn speed(law: RoundedNormal) -> f64 {
    let mut source = NoiseSource::danger_fixed_seed(1);
    let n = 2_000_000;
    let mut runs = [(); 5].map(|()| {
        let start = Instant::now();
        let sum = (0..n).filter_map(|_| law.sample(&mut source)).fold(0, i128::wrapping_add);
        std::hint::black_box(sum);
        f64::from(n) / start.elapsed().as_secs_f64()
    });
    runs.sort_by(f64::total_cmp);
    runs[2]
}

/// Counts of `⌊j/width⌋`, clamped to the cells.
fn histogram(law: RoundedNormal, n: u64, width: i128, case: u64) -> Vec<u64> {
    let task = |task: u64| {
        let mut source = NoiseSource::danger_fixed_seed((case << 32) + task);
        let mut counts = vec![0_u64; 2 * CELLS as usize];
        for _ in 0..PER_TASK.min(n - task * PER_TASK) {
            let j = law.sample(&mut source).expect("far below the limit");
            counts[(j.div_euclid(width).clamp(-CELLS, CELLS - 1) + CELLS) as usize] += 1;
        }
        counts
    };
    let add = |mut a: Vec<u64>, b: Vec<u64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    (0..n.div_ceil(PER_TASK)).into_par_iter().map(task).reduce(|| vec![0; 2 * CELLS as usize], add)
}

fn report(n: u64, std: f64, width: i128, counts: &[u64]) {
    let law = RoundedNormalLaw { std };
    let count = |first: i128, last: i128| {
        let place = |cell: i128| (cell.clamp(-CELLS, CELLS) + CELLS) as usize;
        counts[place(first.div_euclid(width))..place((last + 1).div_euclid(width))].iter().sum::<u64>()
    };
    // A cell ends one below a multiple of the width.
    let test = law.test(n, width, CELLS * width - 1, count);
    println!("  χ² = {:.1} with {} degrees of freedom, p = {:.3}", test.statistic, test.degrees, test.p_value);
    let mut last = 0;
    for sigmas in [2.0, 3.0, 4.0, 5.0, 5.5] {
        let least = ((sigmas * std / width as f64).ceil() as i128).max(1) * width;
        if std::mem::replace(&mut last, least) == least {
            continue;
        }
        // On the left a cell ends one below a multiple of the width; integer by integer that is no matter.
        let most = if width == 1 { -least } else { -least - 1 };
        let seen = count(least, i128::MAX / 4) + count(i128::MIN / 4, most);
        let p = (law.between(least, i128::MAX / 4) + law.between(i128::MIN / 4, most)).to_f64();
        println!(
            "  beyond {:.3} σ: {seen}, expected {:.1}, chance of that at most {:.3}",
            least as f64 / std,
            n as f64 * p,
            count_tail(seen, n, p)
        );
    }
}
