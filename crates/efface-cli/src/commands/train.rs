//! `efface train`

use efface_data::Schema;
use efface_data::derived::ColumnTag;
use efface_engine::{
    ClassRows, EngineError, ModelDirectory, Place, TrainProgress, TrainReport, TrainRequest, with_extractor,
};

use super::{LabelledRows, noise, open_labelled};
use crate::args::TrainArgs;
use crate::interrupt;
use crate::output::{Answer, Output, bound, duration, features, first_of, quoted, shortened};
use crate::progress::Progress;

pub(crate) fn run(args: TrainArgs, output: &Output) -> anyhow::Result<Answer> {
    let config = args.config();
    let LabelledRows { reader: rows, columns, schema, transform, class_weights } = open_labelled(args.table)?;
    let config = with_extractor(config, schema.as_ref(), args.extractor_group).map_err(EngineError::from)?;
    let left_out: Vec<String> = rows.left_out().iter().map(ToString::to_string).collect();
    if !left_out.is_empty() {
        output.warn(&format!("columns left out: {}", shortened(&left_out)));
    }
    let not_public = schema.as_ref().map(Schema::not_public).unwrap_or_default();
    let (has_schema, intercept) = (schema.is_some(), transform.intercept);
    let mut noise = noise(&args.seed, output)?;
    let taken_over = args.store.witness.clone().filter(|witness| witness.exists());
    let request = TrainRequest {
        rows,
        columns,
        schema,
        transform,
        class_weights,
        config,
        memory_bytes: args.store.memory,
        place: Place {
            out: args.out,
            key: args.signing.key,
            witness: args.store.witness,
            policy: args.policy.policy(),
        },
    };
    interrupt::clean_up_after(&request.place.out, !output.is_text())?;
    let (mut progress, mut guessed) = (Progress::new(output.is_text()), None);
    let report = ModelDirectory::train(request, &mut noise, &mut |event| match event {
        TrainProgress::Cleared(left) => {
            output.warn(&format!("removed {}, which held rows of a training that was killed", quoted(&left)));
        }
        TrainProgress::Remark(remark) => output.remark(&[remark]),
        TrainProgress::Reading(read) => {
            guessed = guessed.or(read.guessed_encoding);
            progress.reading(read);
        }
        TrainProgress::Training(phase) => progress.training(phase),
    })?;
    output.in_force();
    drop(progress);
    if let Some(encoding) = guessed {
        output.warn(&format!("the rows are not in UTF-8; they were read as {encoding}, name another by --encoding"));
    }
    if !not_public.is_empty() {
        output.warn(&format!(
            "schema entries that nobody has marked public are outside the guarantee: {}",
            shortened(&not_public)
        ));
    }
    let sentence = format!(
        "trained on {} rows of {} in {}",
        report.n_rows,
        features(report.dim, intercept),
        duration(report.train_seconds)
    );
    let mut lines = vec![("classes", classes(&report))];
    lines.extend(column_lines(&report));
    lines.extend([
        ("gradient left, at most", bound(report.gradient_residual)),
        ("distance to the exact weights, at most", bound(report.distance_bound)),
        ("passes over the rows", report.iterations.to_string()),
        ("model", report.model.display().to_string()),
    ]);
    if report.n_suppressed > 0 {
        lines.insert(0, ("rows left out, removed before", report.n_suppressed.to_string()));
    }
    output.show(&report, &sentence, &lines)?;
    if !report.columns.is_empty() && report.columns.iter().all(|column| column.n_features == 0) {
        output.warn("no column tells rows apart: the model predicts the same for all of them");
    }
    if !has_schema && report.columns.iter().any(|column| column.becomes == ColumnTag::Nothing) {
        output.say("hint: sentences and pictures become features by a schema, which `efface schema` proposes");
    }
    if let Some(witness) = taken_over {
        let witness = witness.display();
        output.warn(&format!(
            "the witness {witness} now belongs to this model; the one it belonged to takes no changes until it is given another"
        ));
    }
    output.say(&format!("next: efface release {}", quoted(&report.model)));
    Ok(Answer::Done)
}

fn classes(report: &TrainReport) -> String {
    if report.classes == 0 {
        return "none (regression)".into();
    }
    let class = |of: &ClassRows| format!("{} ({})", shortened(std::slice::from_ref(&of.class)), of.n_rows);
    first_of(report.class_rows.iter().map(class), MOST_CLASSES)
}

/// More classes than this are not named.
const MOST_CLASSES: usize = 10;

/// What columns became, and which of them became nothing.
fn column_lines(report: &TrainReport) -> Vec<(&'static str, String)> {
    let of = |tag: ColumnTag| report.columns.iter().filter(move |column| column.becomes == tag);
    let kinds = [
        (ColumnTag::Number, "numeric"),
        (ColumnTag::Categories, "categorical"),
        (ColumnTag::Gaps, "of gaps only"),
        (ColumnTag::Given, "as given"),
    ];
    let became = kinds.into_iter().map(|(tag, kind)| (of(tag).count(), kind)).filter(|(n, _)| *n > 0);
    let became: Vec<String> = became.map(|(n, kind)| format!("{n} {kind}")).collect();
    let names = |tag| shortened(&of(tag).map(|column| column.name.clone()).collect::<Vec<_>>());
    let lines = [
        ("columns", became.join(", ")),
        ("left out: constant, or unique in every row", names(ColumnTag::Nothing)),
        ("left out: empty in every row", names(ColumnTag::Empty)),
    ];
    lines.into_iter().filter(|(_, line)| !line.is_empty()).collect()
}
