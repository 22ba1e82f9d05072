//! `efface plan`

use efface_data::Columns;
use efface_engine::{Basis, PlanReport, plan_from_rows, plan_from_sizes};

use super::{labelled, schema_and_columns};
use crate::args::{ChosenColumns, PlanArgs};
use crate::output::{Answer, Output, counted, number, parameter, plain_table, ridge};

pub(crate) fn run(args: PlanArgs, output: &Output) -> anyhow::Result<Answer> {
    let config = args.promise.config();
    let report = match (args.data, args.rows.zip(args.dim)) {
        (Some(data), _) => {
            let ChosenColumns { features, ignore } = args.chosen;
            let columns = Columns { features, label: args.label, ignore, ..Columns::default() };
            let (schema, columns) = schema_and_columns(args.schema.as_deref(), columns)?;
            let table = labelled(&data, &columns, schema.as_ref())?;
            plan_from_rows(&config, table, &args.shape.transform())?
        }
        (None, Some((rows, dim))) => plan_from_sizes(&config, rows, dim)?,
        (None, None) => anyhow::bail!("give a sample of the data, or --rows and --dim"),
    };
    let held_out = if report.basis == Basis::Rows { " (a fifth of the sample is held out)" } else { "" };
    let sentence = format!(
        "{} rows{held_out}, {} features, {}, (ε, δ) = ({}, {})",
        report.n_rows,
        report.dim,
        ridge(report.ridge),
        parameter(report.epsilon),
        parameter(report.delta),
    );
    output.show(&report, &sentence, &[("all releases together may spend (μ)", number(report.mu_limit))])?;
    if config.loss.curvature_lipschitz() == 0.0 && config.noise_std.is_none() && report.dim <= config.max_matrix_dim {
        output.say(
            "the squared loss needs no noise: leave --noise-std out, and (ε, δ) is (0, 0). With noise it would be:",
        );
    }
    explain(&report, output);
    Ok(Answer::Done)
}

fn explain(report: &PlanReport, output: &Output) {
    let measured = report.basis == Basis::Rows;
    let mut table = plain_table();
    let mut header = vec!["  noise-std", "removals between settles", "whatever the data"];
    if measured {
        header.extend(["score with noise", "loss"]);
    } else {
        header.push("noise of a score");
    }
    table.set_header(header);
    for row in &report.rows {
        let more = if row.at_least { "at least " } else { "" };
        let mut cells = vec![
            format!("  {}", parameter(row.noise_std)),
            format!("{more}{}", row.expected_removals),
            row.guaranteed_removals.to_string(),
        ];
        match (row.score, row.score_loss) {
            (Some(score), Some(loss)) => cells.extend([format!("{score:.4}"), format!("{loss:+.4}")]),
            _ => cells.push(parameter(row.score_std)),
        }
        table.add_row(cells);
    }
    output.say(&table.to_string());
    for needed in &report.needed {
        output.say(&format!(
            "  {} between settles would need --noise-std {} ({} whatever the data)",
            counted(needed.removals as usize, "instant removal"),
            number(needed.expected_noise_std),
            number(needed.guaranteed_noise_std),
        ));
    }
    if let Some(score) = report.score_without_noise {
        output.say(&format!("  score without noise: {score:.4}"));
    }
    match report.recommended_noise_std {
        Some(std) => output.say(&format!("recommended: --noise-std {}", parameter(std))),
        None if measured => output.say("every noise level looked at costs accuracy: give a smaller --noise-std"),
        None => {
            output.say("a score moves by the noise of a row of norm 1: keep it well below typical scores (about 1)");
        }
    }
    output.say("Every release after a change settles the model first: a few passes over the rows, no retraining.");
    if measured {
        output.say(
            "A noise level chosen on rows that may be removed is outside every certificate: plan on a public sample.",
        );
    }
}
