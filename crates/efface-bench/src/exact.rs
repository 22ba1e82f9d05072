//! Ridge regression with exact integer sums beside the same with noise, which keeps matrices of doubles.

use efface_core::loss;
use efface_core::model::{Model, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_reproduce::measure::timed;

use crate::figure::{Samples, repeated};
use crate::operations::remove_one;
use crate::subject::Subject;

/// n and d.
const SIZES: [(usize, usize); 3] = [(100_000, 256), (20_000, 784), (100_000, 32)];

/// Rows that leave one by one in each repeat.
const REMOVALS: usize = 50;

/// Repeats of each, one after the other.
const REPEATS: usize = 5;

/// The times of one kind of model.
#[derive(Default)]
struct Times {
    train: Samples,
    remove: Samples,
    release: Samples,
}

/// Prints medians and ratios.
pub(crate) fn run() -> anyhow::Result<()> {
    for (n_rows, dim) in SIZES {
        let subject = Subject::synthetic(format!("synthetic-{n_rows}x{dim}"), n_rows, dim)?;
        println!("{}", subject.shape());
        let plan = |noise_std| {
            let config = TrainingConfig::new(&loss::Squared, subject.l2_per_row, Some(subject.n_classes));
            TrainingPlan::new(TrainingConfig { noise_std, ..config })
        };
        let mut kinds = [(plan(Some(1e-3))?, Times::default()), (plan(None)?, Times::default())];
        repeated(REPEATS, f64::INFINITY, || {
            kinds.iter_mut().try_for_each(|(plan, times)| life(&subject, plan, times))
        })?;
        let [(_, noisy), (_, exact)] = &kinds;
        for (name, of) in [
            ("train", (|times: &Times| times.train.figure()) as fn(&Times) -> _),
            ("remove one", |times| times.remove.figure()),
            ("release", |times| times.release.figure()),
        ] {
            if let (Some(noisy), Some(exact)) = (of(noisy), of(exact)) {
                let (noisy, exact) = (1e3 * noisy.seconds, 1e3 * exact.seconds);
                println!("  {name:<10}  noise {noisy:>9.3} ms   exact {exact:>9.3} ms   {:.2} times", exact / noisy);
            }
        }
    }
    Ok(())
}

fn life(subject: &Subject, plan: &TrainingPlan, times: &mut Times) -> anyhow::Result<()> {
    let mut noise = NoiseSource::from_system()?;
    let (trained, seconds) = timed(|| plan.train(&subject.train, &mut noise, &mut |_| {}));
    times.train.push(seconds);
    let mut model: Model = trained?.model;
    let mut rows = subject.train_rows()?;
    for position in subject.leaving(REMOVALS) {
        times.remove.push(remove_one(&mut model, &mut rows, position)?);
    }
    let (released, seconds) = timed(|| -> anyhow::Result<_> {
        model.settle_before_release(&rows)?;
        Ok(model.release(&mut noise))
    });
    released?;
    times.release.push(seconds);
    Ok(())
}
