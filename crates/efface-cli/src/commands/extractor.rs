//! `efface extractor`

use std::ops::ControlFlow;
use std::path::Path;

use efface_engine::extractor::{
    ExtractorProgress, ExtractorReport, ExtractorRequest, GroupPromise, read_statement, train_extractor,
};
use efface_engine::{EngineError, ExtractorError};

use crate::args::{ExtractorArgs, ExtractorCommand, ShowStatementArgs, TrainExtractorArgs};
use crate::interrupt::Stop;
use crate::output::{Answer, Output, counted, duration, first_of, number, pair, parameter, quoted};
use crate::progress::Progress;

pub(crate) fn run(args: &ExtractorArgs, output: &Output) -> anyhow::Result<Answer> {
    match &args.command {
        ExtractorCommand::Train(args) => train(args, output),
        ExtractorCommand::Show(args) => show(args, output),
    }
}

fn train(args: &TrainExtractorArgs, output: &Output) -> anyhow::Result<Answer> {
    let request = ExtractorRequest {
        source: args.data.source().map_err(EngineError::from)?,
        image: args.image.clone(),
        label: args.label.clone(),
        classes: args.classes.clone(),
        public_rows: args.public_rows,
        shape: args.shape(),
        training: args.training(),
        place: args.place(),
    };
    let stop = Stop::at_signal(!output.is_text())?;
    let (mut progress, mut loss, mut first) = (Progress::new(output.is_text()), f64::NAN, None);
    let trained = train_extractor(&request, &mut |event| {
        match event {
            ExtractorProgress::Reading(read) => progress.reading(read),
            ExtractorProgress::Training { done, steps, loss: latest } => {
                stop.wait_for_end();
                loss = latest;
                progress.network(*first.get_or_insert(done), done, steps, latest);
            }
        }
        if stop.is_asked_for() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    drop(progress);
    let report = match trained {
        Err(EngineError::Extractor(ExtractorError::Stopped { steps, checkpoint })) => {
            stop.end(&match (steps, checkpoint) {
                (Some((done, of)), Some(file)) => {
                    format!("interrupted after {done} of {of} steps; the same command goes on from {}", quoted(&file))
                }
                _ => "interrupted; nothing was written".into(),
            })
        }
        trained => trained?,
    };
    output.in_force();
    let sentence = format!(
        "trained {} of {} features on {} in {}",
        quoted(&report.network),
        report.n_features,
        counted(report.n_images, "image"),
        duration(report.seconds)
    );
    output.show(&report, &sentence, &lines(&report, loss))?;
    let entry: Vec<String> = report.schema.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect();
    output.say(&format!("next: a schema in this folder, say schema.toml:\n\n{}\n", entry.join("\n")));
    let data = args.data.data.iter().map(|data| quoted(data)).collect::<Vec<_>>().join(" ");
    let group = report.promise.map_or_else(String::new, |promise| format!(" --extractor-group {}", promise.group));
    // An array's labels are in a file of their own, which a schema does not name.
    let label = match &args.label {
        Some(label) if args.image.is_none() => format!(" --label {}", quoted(Path::new(label))),
        _ => String::new(),
    };
    output.say(&format!("then: efface train {data}{label} --schema schema.toml{group} --out MODEL"));
    if report.promise.is_none() {
        output.warn(
            "this network may reveal any image it was trained on: if all of them are public, mark it origin = \"public\"",
        );
    }
    Ok(Answer::Done)
}

fn lines(report: &ExtractorReport, loss: f64) -> Vec<(&'static str, String)> {
    let classes = first_of(report.classes.iter().cloned(), MOST_CLASSES);
    let resumed = match report.steps_resumed {
        0 => String::new(),
        n => format!(", {n} of them before this run"),
    };
    let steps = format!("{} of {} rows each{resumed}", report.steps, report.expected_batch);
    let mut lines = vec![("classes", classes), ("steps", steps)];
    if let Some(promise) = report.promise {
        lines.push((NOISE, report.noise_multiplier.map_or_else(String::new, number)));
        lines.push(("promised (ε, δ)", promised(&promise)));
    }
    if loss.is_finite() {
        lines.push(("loss of the last step, not protected: for your eyes", number(loss)));
    }
    lines.push(("network", report.network.display().to_string()));
    lines.extend(report.statement.as_ref().map(|file| ("statement", file.display().to_string())));
    lines
}

/// What a group is promised, in words.
fn promised(promise: &GroupPromise) -> String {
    let leaving = leaving(promise.group);
    match promise.share {
        Some(share) => format!("{} if {leaving}", pair(share.epsilon, share.delta)),
        None => format!("nothing if {leaving}: the training says too much about each"),
    }
}

/// `1 row leaves`, `10 rows leave`.
fn leaving(group: usize) -> String {
    format!("{} {}", counted(group, "row"), if group == 1 { "leaves" } else { "leave" })
}

fn show(args: &ShowStatementArgs, output: &Output) -> anyhow::Result<Answer> {
    let groups = if args.group.is_empty() { &[1, 10, 100] } else { &args.group[..] };
    let groups: Vec<usize> = groups.iter().map(|group| usize::try_from(*group).unwrap_or(usize::MAX)).collect();
    let report = read_statement(&args.statement, &groups)?;
    let fields = report.statement.fields();
    let mut lines = vec![
        ("mechanism", fields.mechanism.tag().to_owned()),
        ("sampling rate", parameter(fields.sampling_rate)),
        (NOISE, parameter(fields.noise_multiplier)),
        ("steps", fields.steps.to_string()),
        ("network, SHA-256", fields.digest.clone()),
    ];
    if let Some(claimed) = fields.epsilon {
        lines.push(("ε per row, as its maker states it", parameter(claimed)));
    }
    for promise in &report.groups {
        let leaving = leaving(promise.group);
        let answer = match promise.share {
            Some(share) => format!(
                "{} if {leaving}; {} for each",
                pair(share.epsilon, share.delta),
                pair(share.epsilon_per_row, share.delta_per_row)
            ),
            None => format!("nothing if {leaving}: the training says too much about each"),
        };
        lines.push(("promised (ε, δ)", answer));
    }
    let statement = quoted(&args.statement);
    output.show(
        &report,
        &format!("{statement}, recomputed; that it was trained this way is its maker's word"),
        &lines,
    )?;
    let is_kept = args.group.is_empty() || report.groups.iter().all(|promise| promise.share.is_some());
    Ok(if is_kept { Answer::Done } else { Answer::Negative })
}

const NOISE: &str = "noise, in clipping norms";

/// More classes than this are not named.
const MOST_CLASSES: usize = 10;
