//! `efface plan`

use anyhow::Context;
use efface_data::read_all;
use efface_engine::{Basis, EngineError, PlanReport, plan_from_rows, plan_from_sizes};

use super::{LabelledRows, open_labelled};
use crate::args::PlanArgs;
use crate::output::{Answer, Output, counted, number, parameter, plain_table, ridge};

pub(crate) fn run(args: PlanArgs, output: &Output) -> anyhow::Result<Answer> {
    let config = args.promise.config();
    let report = if let Some((rows, dim)) = args.rows.zip(args.dim) {
        plan_from_sizes(&config, rows, dim)?
    } else {
        let LabelledRows { mut reader, schema, transform, class_weights, .. } = open_labelled(args.table)?;
        let rows = read_all(&mut *reader).map_err(EngineError::from)?.context("no rows")?;
        let rows = rows.with_class_weights(&class_weights).map_err(EngineError::from)?;
        plan_from_rows(&config, rows, schema.as_ref(), &transform)?
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
