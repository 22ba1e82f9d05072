//! What derived constants cost: training on the same rows as they are (`--scale within:64`) and with `--scale auto` in turn, and
//! removals that change no constant.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_core::ridge::Ridge;
use efface_data::{Columns, RowId, RowTransform, Scale, open_rows};
use efface_engine::{ModelDirectory, Selection, TrainRequest};
use efface_reproduce::measure::{median, try_timed};

use crate::ledger::train_request;
use crate::scale::parquet;

#[derive(Args)]
pub(crate) struct DerivedArgs {
    /// Rows.
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
    /// Features.
    #[arg(long, default_value_t = 256)]
    dim: usize,
    /// Trainings of each kind.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the rows and the models are made. Removed at the end.
    #[arg(long, default_value = "efface-bench-derived")]
    folder: PathBuf,
}

/// Removals that are timed in each round.
const TIMED: usize = 25;

pub(crate) fn run(args: &DerivedArgs) -> anyhow::Result<()> {
    let DerivedArgs { rows, dim, rounds, folder } = args;
    ensure!(!folder.exists(), "{} exists already", folder.display());
    std::fs::create_dir_all(folder)?;
    let file = folder.join("rows.parquet");
    let done = parquet::write(&file, *rows, *dim, false).and_then(|()| measure(&file, folder, *rounds));
    std::fs::remove_dir_all(folder)?;
    done
}

fn measure(file: &Path, folder: &Path, rounds: usize) -> anyhow::Result<()> {
    // For each step the seconds of both scales.
    let mut seconds: [[Vec<f64>; 2]; 4] = Default::default();
    let scales = ["within:64".parse::<Scale>()?, Scale::Auto];
    for round in 0..rounds {
        for (which, scale) in scales.into_iter().enumerate() {
            let out = folder.join(format!("model-{round}-{which}"));
            for (step, taken) in train_and_remove(file, &out, scale)?.into_iter().enumerate() {
                seconds[step][which].push(taken);
            }
            std::fs::remove_dir_all(&out)?;
        }
    }
    println!("  seconds, medians of {rounds} |   within |     auto | times");
    for (name, [within, auto]) in ["reading", "training", "both", "one removal"].into_iter().zip(seconds) {
        let [within, auto] = [within, auto].map(median);
        println!("  {name:21} | {within:8.4} | {auto:8.4} | {:5.2}", auto / within);
    }
    Ok(())
}

/// Seconds of reading, of training, of both, and of one removal.
fn train_and_remove(file: &Path, out: &Path, scale: Scale) -> anyhow::Result<[f64; 4]> {
    let columns = Columns {
        label: Some("y".into()),
        id: Some("id".into()),
        subject: Some("subject".into()),
        ..Columns::default()
    };
    let (rows, schema) = open_rows(file, &columns, None, scale)?;
    let request = train_request(file, columns, None, out.to_path_buf())?;
    let transform = RowTransform { scale, intercept: true };
    let config = TrainingConfig { ridge: Ridge::Total(1.0), ..request.config.clone() };
    let request = TrainRequest { rows, schema, transform, config, ..request };
    let report = ModelDirectory::train(request, &mut NoiseSource::from_system()?, &mut |_| {})?;
    let mut model = ModelDirectory::open(out)?;
    let mut removals = Vec::new();
    for row in 0..TIMED {
        let selection = Selection::Ids(vec![RowId::Integer(parquet::row_id(row))]);
        removals.push(try_timed(|| model.remove(&selection, None))?.1);
    }
    model.close()?;
    Ok([report.read_seconds, report.train_seconds, report.seconds, median(removals)])
}
