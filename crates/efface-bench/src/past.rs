//! What one durable removal costs after many others: opening, removing and closing a model directory, with and without a
//! witness, as its past grows.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use efface_core::noise::NoiseSource;
use efface_data::{Columns, RowId};
use efface_engine::{ModelDirectory, Place, Selection, TrainRequest};
use efface_reproduce::measure::{median, try_timed};

use crate::ledger::train_request;
use crate::scale::parquet;

#[derive(Args)]
pub(crate) struct PastArgs {
    /// Rows.
    #[arg(long, default_value_t = 1_200_000)]
    rows: usize,
    /// Features.
    #[arg(long, default_value_t = 8)]
    dim: usize,
    /// Removals before each measurement, ascending.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1_000, 10_000, 100_000, 1_000_000])]
    past: Vec<usize>,
    /// Where the rows and the models are made. Removed at the end.
    #[arg(long, default_value = "efface-bench-past")]
    folder: PathBuf,
}

/// Rows that are removed by one request on the way.
const AT_ONCE: usize = 50_000;

/// Removals that are timed at each point.
const TIMED: usize = 25;

pub(crate) fn run(args: &PastArgs) -> anyhow::Result<()> {
    let PastArgs { rows, dim, past, folder } = args;
    let needed = past.last().unwrap_or(&0) + TIMED * past.len();
    ensure!(needed < *rows, "{needed} removals need more than {rows} rows");
    ensure!(!folder.exists(), "{} exists already", folder.display());
    std::fs::create_dir_all(folder)?;
    let file = folder.join("rows.parquet");
    let done = parquet::write(&file, *rows, *dim, true)
        .and_then(|()| [false, true].into_iter().try_for_each(|witness| measure(&file, folder, past, witness)));
    std::fs::remove_dir_all(folder)?;
    done
}

fn measure(file: &Path, folder: &Path, past: &[usize], witness: bool) -> anyhow::Result<()> {
    let name = if witness { "with a witness" } else { "without a witness" };
    let columns = Columns {
        label: Some("y".into()),
        id: Some("id".into()),
        subject: Some("subject".into()),
        ..Columns::default()
    };
    let out = folder.join(if witness { "witnessed" } else { "alone" });
    let request = train_request(file, columns, None, out.clone())?;
    let place = Place { witness: witness.then(|| folder.join("witness")), ..request.place.clone() };
    let report =
        ModelDirectory::train(TrainRequest { place, ..request }, &mut NoiseSource::from_system()?, &mut |_| {})?;
    println!("{} × {}, {name}: trained in {:.1} s", report.n_rows, report.dim, report.seconds);
    println!("  removals before |    open |  remove |   close |     all |  times the first");
    let (mut n_removed, mut first) = (0, None);
    let mut next = |n: usize| {
        let ids = (n_removed..n_removed + n).map(|row| RowId::Integer(parquet::row_id(row))).collect();
        n_removed += n;
        Selection::Ids(ids)
    };
    let mut n_before = 0;
    for target in past {
        let mut model = ModelDirectory::open(&out)?;
        while n_before < *target {
            let n = AT_ONCE.min(target - n_before);
            model.remove(&next(n), None)?;
            n_before += n;
        }
        model.close()?;
        let (mut open, mut remove, mut close, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TIMED {
            let (mut model, opened) = try_timed(|| ModelDirectory::open(&out))?;
            let (_, removed) = try_timed(|| model.remove(&next(1), None))?;
            let ((), closed) = try_timed(|| model.close())?;
            open.push(opened);
            remove.push(removed);
            close.push(closed);
            all.push(opened + removed + closed);
        }
        let [open, remove, close, all] = [open, remove, close, all].map(|seconds| 1e3 * median(seconds));
        let ratio = all / *first.get_or_insert(all);
        println!("  {n_before:15} | {open:4.1} ms | {remove:4.1} ms | {close:4.1} ms | {all:4.1} ms | {ratio:5.2}");
        n_before += TIMED;
    }
    Ok(())
}
