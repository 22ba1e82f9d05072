//! `efface predict`

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use efface_data::{Source, open_table};
use efface_engine::{EngineError, Predictions, Probabilities, PublishedModel, Status};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::args::PredictArgs;
use crate::output::{Answer, Output, quoted};
use crate::progress::Progress;
use crate::whole_file::WholeFile;
use crate::{interrupt, whole_file};

pub(crate) fn run(args: &PredictArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = args.data.source().map_err(EngineError::from)?;
    if let Some(out) = &args.out {
        refuse_to_overwrite(out, &args.model, &source)?;
    }
    let model = open(&args.model, output)?;
    let predictor = match args.threshold {
        Some(threshold) => model.predictor().with_threshold(threshold)?,
        None => model.predictor(),
    };
    if args.probabilities {
        predictor.check_has_probabilities()?;
    }
    let columns = model.columns(None, args.id.clone());
    let mut reader = open_table(source, &columns, model.schema.as_ref()).map_err(EngineError::from)?;
    let mut sink = Sink::new(args, output)?;
    // Lines of progress among those of predictions would help nobody.
    let mut progress = Progress::new(output.is_text() && (args.out.is_some() || !std::io::stdout().is_terminal()));
    let mut n_rows = 0;
    while let Some(chunk) = reader.next_chunk(predictor.chunk_rows()).map_err(EngineError::from)? {
        let predictions = predictor.predict(chunk)?;
        let is_first = n_rows == 0;
        n_rows += predictions.len();
        progress.reading(reader.progress());
        sink.put(predictions, is_first, args.probabilities)?;
    }
    drop(progress);
    match sink {
        Sink::Stdout => {}
        Sink::Object(chunks) => {
            let predictions = Chunks { chunks, with_all: args.probabilities };
            output.show(&Object { n_rows, predictions }, "", &[])?;
        }
        Sink::File(file, out) => {
            file.finish()?;
            let answer = json!({"n_rows": n_rows, "out": out.display().to_string()});
            output.show(&answer, &format!("wrote {n_rows} predictions to {}", out.display()), &[])?;
        }
    }
    Ok(Answer::Done)
}

/// Opens a published model; for a model directory, with a warning when rows have left since its latest release.
pub(super) fn open(path: &Path, output: &Output) -> anyhow::Result<PublishedModel> {
    let model = PublishedModel::open(path)?;
    let Ok(status) = Status::read(path) else { return Ok(model) };
    let (release, directory) = (model.release, quoted(path));
    for found in &status.out_of_step {
        output.warn(&format!(
            "{found}: release {release} may know rows that have been removed; see efface status {directory}"
        ));
    }
    if status.n_removed_since_release > 0 {
        output.warn(&format!(
            "release {release} still knows rows that have been removed since; next: efface release {directory}"
        ));
    }
    Ok(model)
}

pub(super) fn refuse_to_overwrite(out: &Path, model: &Path, source: &Source) -> anyhow::Result<()> {
    let is_out = |input: &Path| {
        std::fs::canonicalize(out).is_ok_and(|out| std::fs::canonicalize(input).is_ok_and(|input| input == out))
    };
    let place = out.display();
    let is_read = source.files().iter().any(|file| is_out(file));
    anyhow::ensure!(!is_read, "{place}: these are the rows; the answer goes to another file");
    anyhow::ensure!(!is_out(model), "{place}: this is the model; the answer goes to another file");
    Ok(())
}

/// Where predictions go, chunk by chunk.
enum Sink<'a> {
    Stdout,
    File(WholeFile, &'a Path),
    /// One object for machines, which is whole or not there: it waits for the last row.
    Object(Vec<Predictions<'a>>),
}

impl<'a> Sink<'a> {
    fn new(args: &'a PredictArgs, output: &Output) -> anyhow::Result<Self> {
        Ok(match &args.out {
            Some(out) => {
                let (file, place, json) = (WholeFile::create(out)?, quoted(out), !output.is_text());
                interrupt::at_signal(move || {
                    let end = if whole_file::abandon_unfinished() { "was not written" } else { "is complete" };
                    Output::new(json).error("interrupted", &format!("interrupted; {place} {end}"), None);
                })?;
                Self::File(file, out)
            }
            None if output.is_text() => Self::Stdout,
            None => Self::Object(Vec::new()),
        })
    }

    fn put(&mut self, predictions: Predictions<'a>, is_first: bool, with_all: bool) -> anyhow::Result<()> {
        match self {
            Self::Stdout => std::io::stdout().write_all(&csv_of(&predictions, is_first, with_all)?).context("stdout"),
            Self::File(file, _) => file.write(&csv_of(&predictions, is_first, with_all)?),
            Self::Object(chunks) => {
                chunks.push(predictions);
                Ok(())
            }
        }
    }
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
