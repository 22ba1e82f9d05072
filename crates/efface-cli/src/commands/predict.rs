//! `efface predict`

use efface_engine::{EngineError, Predictions, Probabilities};
use serde::{Serialize, Serializer};

use super::rows::{self, Sink};
use crate::args::PredictArgs;
use crate::output::{Answer, Output};

pub(crate) fn run(args: &PredictArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = args.data.source().map_err(EngineError::from)?;
    if let Some(out) = &args.out {
        rows::refuse_to_overwrite(out, &args.model, source.files())?;
    }
    let model = args.networks.of(rows::open_model(&args.model, output)?);
    let predictor = match args.threshold {
        Some(threshold) => model.predictor().with_threshold(threshold)?,
        None => model.predictor(),
    };
    if args.probabilities {
        predictor.check_has_probabilities()?;
    }
    let columns = model.columns(None, args.id.clone());
    let mut sink = Sink::new(args.out.as_deref(), output)?;
    let (progress, mut n_rows) = (sink.progress(output), 0);
    rows::read(&model, (source, &columns), predictor.chunk_rows(), progress, output, |chunk| {
        let predictions = predictor.predict(chunk)?;
        let is_first = n_rows == 0;
        n_rows += predictions.len();
        sink.put(predictions, |predictions| csv_of(predictions, is_first, args.probabilities))
    })?;
    if let Some(chunks) = sink.finish(n_rows, "predictions", output)? {
        output.show(&Object { n_rows, predictions: Chunks { chunks, with_all: args.probabilities } }, "", &[])?;
    }
    Ok(Answer::Done)
}

/// Lines of a table, the first of them under a header.
fn csv_of(predictions: &Predictions<'_>, with_header: bool, with_all: bool) -> anyhow::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let mut needs_header = with_header;
    for row in predictions.iter(with_all) {
        let probabilities = || row.probabilities.iter().flat_map(Probabilities::iter);
        if std::mem::take(&mut needs_header) {
            for name in ["id", "prediction"].into_iter().chain(row.probability.map(|_| "probability")) {
                csv.write_field(name)?;
            }
            for (class, _) in probabilities() {
                csv.write_field(format!("probability:{class}"))?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
        csv.write_field(row.id.to_string())?;
        csv.write_field(&*row.prediction)?;
        for probability in row.probability.into_iter().chain(probabilities().map(|(_, probability)| probability)) {
            csv.write_field(digits(probability))?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(csv.into_inner()?)
}

/// All digits of a probability, and no hundred zeros before them.
fn digits(probability: f64) -> String {
    if probability > 0.0 && probability < 1e-5 { format!("{probability:e}") } else { probability.to_string() }
}

/// What machines are told.
#[derive(Serialize)]
struct Object<'a> {
    n_rows: usize,
    predictions: Chunks<'a>,
}

struct Chunks<'a> {
    chunks: Vec<Predictions<'a>>,
    with_all: bool,
}

impl Serialize for Chunks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.chunks.iter().flat_map(|chunk| chunk.iter(self.with_all)))
    }
}
