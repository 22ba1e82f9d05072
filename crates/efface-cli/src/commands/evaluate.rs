//! `efface evaluate`

use comfy_table::{CellAlignment, Table};
use efface_engine::{ClassEvaluation, EngineError, Evaluation, NumberEvaluation};

use super::{check_label_is_named, rows};
use crate::args::EvaluateArgs;
use crate::output::{Answer, Output, in_one_line, number, plain_table};
use crate::progress::Progress;

pub(crate) fn run(args: EvaluateArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = args.data.source().map_err(EngineError::from)?;
    let model = args.networks.of(rows::open_model(&args.model, output)?);
    let predictor = match args.threshold {
        Some(threshold) => model.predictor().with_threshold(threshold)?,
        None => model.predictor(),
    };
    let columns = model.columns(args.label.or_else(|| model.usual_label()), None);
    check_label_is_named(source.first(), &columns)?;
    let mut evaluator = predictor.evaluator();
    let (chunk_rows, progress) = (evaluator.chunk_rows(), Progress::new(output.is_text()));
    rows::read(&model, (source, &columns), chunk_rows, progress, output, |chunk| Ok(evaluator.add(chunk)?))?;
    let evaluation = output.working("evaluating", || evaluator.finish());
    match &evaluation {
        Evaluation::Classes(found) => show_classes(found, &evaluation, output)?,
        Evaluation::Numbers(found) => show_numbers(found, &evaluation, output)?,
    }
    Ok(Answer::Done)
}

fn show_classes(found: &ClassEvaluation, whole: &Evaluation, output: &Output) -> anyhow::Result<()> {
    let base = format!("{} (always `{}`)", percent(found.base_rate), found.most_frequent_class);
    let mut lines = vec![("accuracy", percent(found.accuracy)), ("base rate", base)];
    let second = found.per_class.get(1).map_or("", |class| &class.class);
    let threshold = |threshold| format!("{threshold} (`{}` from there on)", in_one_line(second));
    lines.extend(found.threshold.map(|at| ("threshold", threshold(at))));
    lines.push(("AUC", decimals(found.auc)));
    lines.extend(found.log_loss.map(|loss| ("log-loss", decimals(Some(loss)))));
    let calibration = found.calibration.as_ref();
    lines.extend(calibration.map(|found| ("calibration error", decimals(found.expected_calibration_error))));
    output.show(whole, &format!("evaluated on {} rows", found.n_rows), &lines)?;
    if found.per_class.len() <= MOST_CLASSES_SHOWN {
        output.say(&format!("\n{}\n\n{}", per_class(found).trim_fmt(), confusion(found).trim_fmt()));
    } else {
        output.say(&format!("  --json has the figures of all {} classes", found.per_class.len()));
    }
    if found.has_one_class() {
        output.warn(&format!(
            "all rows are of class `{}`, so this says little about how well the model tells classes apart; evaluate on rows of \
             every class",
            in_one_line(&found.most_frequent_class)
        ));
    } else if found.is_no_better_than_base() {
        output.warn(&no_better(found));
    }
    Ok(())
}

/// More classes are too wide for a terminal.
const MOST_CLASSES_SHOWN: usize = 20;

/// That a classifier is of no use as it is, and what to try next.
fn no_better(found: &ClassEvaluation) -> String {
    let in_order = found.auc.filter(|auc| *auc > 0.6 && found.per_class.len() == 2 && found.calibration.is_some());
    let next = match in_order {
        Some(auc) => format!("it ranks rows better than chance (AUC {auc:.3}), so try another --threshold, or "),
        None => "try ".into(),
    };
    format!(
        "accuracy {} is no better than always answering `{}` ({}); {next}more rows, other columns, a weaker ridge (a larger --C) \
         or less noise (a smaller --noise-std)",
        percent(found.accuracy),
        in_one_line(&found.most_frequent_class),
        percent(found.base_rate)
    )
}

fn per_class(found: &ClassEvaluation) -> Table {
    let mut table = plain_table();
    table.set_header(["  class", "rows", "precision", "recall", "F1", "AUC"]);
    for class in &found.per_class {
        let figures = class.figures;
        let shown = [figures.precision, figures.recall, figures.f1, class.auc].map(decimals);
        let row = [format!("  {}", in_one_line(&class.class)), figures.support.to_string()];
        table.add_row(row.into_iter().chain(shown));
    }
    right_aligned(table)
}

fn confusion(found: &ClassEvaluation) -> Table {
    let mut table = plain_table();
    let names = || found.per_class.iter().map(|class| in_one_line(&class.class));
    table.set_header(std::iter::once("  actual \\ predicted".to_owned()).chain(names()));
    for (name, counts) in names().zip(&found.confusion_matrix) {
        table.add_row(std::iter::once(format!("  {name}")).chain(counts.iter().map(ToString::to_string)));
    }
    right_aligned(table)
}

/// Names on the left, numbers on the right.
fn right_aligned(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn show_numbers(found: &NumberEvaluation, whole: &Evaluation, output: &Output) -> anyhow::Result<()> {
    let lines = [
        ("root mean squared error", number(found.rmse)),
        ("of always answering the mean", number(found.base_rmse)),
        ("mean absolute error", number(found.mae)),
        ("R²", decimals(found.r2)),
    ];
    output.show(whole, &format!("evaluated on {} rows", found.n_rows), &lines)?;
    if found.is_no_better_than_base() {
        output.warn(&format!(
            "root mean squared error {} is no better than always answering the mean label ({}); try more rows, other columns, \
             a weaker ridge (a smaller --alpha) or less noise (a smaller --noise-std)",
            number(found.rmse),
            number(found.base_rmse)
        ));
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Four decimals, or a dash where these rows do not define it.
fn decimals(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.4}"))
}
