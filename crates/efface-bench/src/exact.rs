//! Ridge regression with exact integer sums beside the same with noise, which keeps matrices of doubles.

use efface_core::loss;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_reproduce::Life;
use efface_reproduce::measure::try_timed;

use crate::figure::{Samples, repeated};
use crate::operations::Operations;
use crate::subject::Subject;

/// n and d.
const SIZES: [(usize, usize); 3] = [(100_000, 256), (20_000, 784), (100_000, 32)];

/// Rows that leave one by one in each repeat.
const REMOVALS: usize = 50;

/// Repeats of each, one after the other.
const REPEATS: usize = 5;

/// Prints medians and ratios.
pub(crate) fn run() -> anyhow::Result<()> {
    for (n_rows, dim) in SIZES {
        let subject = Subject::synthetic(format!("synthetic-{n_rows}x{dim}"), n_rows, dim)?;
        println!("{}", subject.shape());
        let plan = |noise_std| {
            let config = TrainingConfig::new(&loss::Squared, subject.l2_per_row, Some(subject.n_classes));
            TrainingPlan::new(TrainingConfig { noise_std, ..config })
        };
        let mut kinds = [(plan(Some(1e-3))?, Operations::default()), (plan(None)?, Operations::default())];
        repeated(REPEATS, f64::INFINITY, || {
            kinds.iter_mut().try_for_each(|(plan, times)| life(&subject, plan, times))
        })?;
        let [(_, noisy), (_, exact)] = &kinds;
        for (name, noisy, exact) in [
            ("train", &noisy.train, &exact.train),
            ("remove one", &noisy.remove_one, &exact.remove_one),
            ("release", &noisy.release, &exact.release),
        ] {
            let [noisy, exact] = [noisy, exact].map(|samples| samples.figure().map_or(f64::NAN, |of| 1e3 * of.seconds));
            println!("  {name:<10}  noise {noisy:>9.3} ms   exact {exact:>9.3} ms   {:.2} times", exact / noisy);
        }
    }
    Ok(())
}

fn life(subject: &Subject, plan: &TrainingPlan, times: &mut Operations<Samples>) -> anyhow::Result<()> {
    let mut noise = NoiseSource::from_system()?;
    let (trained, seconds) = try_timed(|| plan.train(&subject.train, &mut noise, &mut |_| {}))?;
    times.train.push(seconds, None);
    let mut life = Life::new(trained.model, subject.train_rows()?);
    for position in subject.leaving(REMOVALS) {
        times.remove_one.push(life.remove(&[position])?.1, None);
    }
    let (_, seconds) = try_timed(|| -> anyhow::Result<_> {
        life.model.settle_before_release(&life.rows)?;
        Ok(life.model.release(&mut noise))
    })?;
    times.release.push(seconds, None);
    Ok(())
}
