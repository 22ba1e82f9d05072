//! Training, instant removal, settling and memory on MNIST 3-vs-8.

use std::path::Path;

use efface_core::loss;
use efface_core::model::{Model, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use efface_data::MemoryRows;
use efface_reproduce::data::mnist_3_vs_8;

use crate::measure::{forget_peak_memory, median, peak_memory, quantile, timed};
use crate::operations::remove_one;

const REPEATS: usize = 7;
const REMOVALS: usize = 100;

pub(crate) fn run(data: &Path) -> anyhow::Result<()> {
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, 1e-3, Some(2)))?;
    let mut noise = NoiseSource::from_system()?;
    let rows = mnist_3_vs_8(data, false)?.train;
    let (n, dim) = (rows.n_rows(), rows.dim());
    println!("mnist 3-vs-8: n = {n}, d = {dim}, λ = 1e-3, double precision, medians of {REPEATS}");

    let mut train = Vec::new();
    let mut model = None;
    for _ in 0..REPEATS {
        let (trained, seconds) = timed(|| plan.train(&rows, &mut noise, &mut |_| {}));
        train.push(seconds);
        model = Some(trained?);
    }
    let Some(trained) = model else { return Ok(()) };
    let residual = trained.model.claim().gradient_residual.get();
    println!(
        "  train            {:8.1} ms   gradient ≤ {residual:.1e}, {} passes",
        1e3 * median(train),
        trained.iterations
    );

    let (mut first, mut all, mut settle, mut settled) = (Vec::new(), Vec::new(), Vec::new(), 0.0_f64);
    let everyone: Vec<usize> = (0..rows.len()).collect();
    for repeat in 0..REPEATS {
        let (mut model, mut rows) = (trained.model.clone(), rows.batch(&everyone)?);
        let times = remove_some(&mut model, &mut rows, repeat)?;
        first.push(times[0]);
        all.extend(times);
        let (done, seconds) = timed(|| model.settle(&rows, None));
        settle.push(seconds);
        settled = settled.max(done?.claim.gradient_residual.get());
    }
    let (slow, first) = (quantile(all.clone(), 0.95), median(first));
    println!(
        "  instant removal  {:8.3} ms   95 % below {:.3} ms; the first {:.3} ms",
        1e3 * median(all),
        1e3 * slow,
        1e3 * first
    );
    println!(
        "  settle           {:8.1} ms   after {REMOVALS} removals, gradient ≤ {settled:.1e}",
        1e3 * median(settle)
    );
    Ok(())
}

/// Peak of memory of one life of a model: rows held, train, remove, settle. Reading is forgotten: it goes through all
/// ten digits.
pub(crate) fn memory(data: &Path) -> anyhow::Result<()> {
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, 1e-3, Some(2)))?;
    let mut rows = mnist_3_vs_8(data, false)?.train;
    forget_peak_memory()?;
    let (dim, row_bytes) = (rows.dim(), rows.memory_bytes());
    let mut model = plan.train(&rows, &mut NoiseSource::from_system()?, &mut |_| {})?.model;
    remove_some(&mut model, &mut rows, 0)?;
    model.settle(&rows, None)?;
    let Some(peak) = peak_memory() else { anyhow::bail!("this system does not tell the peak of memory") };
    let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
    let allowed = row_bytes as f64 + 6.0 * 8.0 * (dim * dim) as f64 + 100e6;
    println!("mnist 3-vs-8, rows held, train, {REMOVALS} removals, settle");
    println!("  rows             {:8.0} MiB", mebibytes(row_bytes as f64));
    println!("  peak memory      {:8.0} MiB", mebibytes(peak as f64));
    println!("  rows + 6 d² doubles + 100 MB {:.0} MiB", mebibytes(allowed));
    Ok(())
}

/// Removes rows one by one; seconds per removal.
fn remove_some(model: &mut Model, rows: &mut MemoryRows, offset: usize) -> anyhow::Result<Vec<f64>> {
    let mut times = Vec::with_capacity(REMOVALS);
    for i in 0..REMOVALS {
        let position = (i * 97 + offset * 13) % rows.len();
        times.push(remove_one(model, rows, position)?);
    }
    Ok(times)
}
