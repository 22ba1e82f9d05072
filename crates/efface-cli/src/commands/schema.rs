//! `efface schema`

use std::io::Write;

use anyhow::Context;
use efface_data::{ColumnKind, ColumnSchema, Columns, ProposedColumn, Schema, SchemaError, SchemaProposal, propose};
use efface_engine::EngineError;
use serde::Serialize;

use super::check_label_is_named;
use crate::args::{RoleArgs, SchemaArgs};
use crate::output::{Answer, Output, counted, parameter, plain_table, quoted, shortened};

/// A proposal as one JSON object.
#[derive(Serialize)]
struct ProposalAnswer<'a> {
    #[serde(flatten)]
    proposal: &'a SchemaProposal,
    dim: usize,
    /// No row is longer before it is scaled.
    largest_norm: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<String>,
}

pub(crate) fn run(args: &SchemaArgs, output: &Output) -> anyhow::Result<Answer> {
    let RoleArgs { label, id, subject } = args.roles.clone();
    let columns = Columns {
        label,
        id,
        subject,
        ignore: args.ignore.clone(),
        notation: args.notation.notation(),
        ..Columns::default()
    };
    let source = args.data.source().map_err(EngineError::from)?;
    check_label_is_named(source.first(), &columns)?;
    if let Some(taken) = args.out.as_ref().filter(|out| out.exists()) {
        return Err(EngineError::from(SchemaError::Exists { file: taken.clone() }).into());
    }
    let proposal = output.working("reading", || propose(source, &columns, args.sample)).map_err(EngineError::from)?;
    let proposal = if args.public { proposal } else { proposal.derived() };
    if let Some(out) = &args.out {
        Schema::write_new(out, &proposal.to_toml()).map_err(EngineError::from)?;
    } else if output.is_text() {
        std::io::stdout().write_all(proposal.to_toml().as_bytes()).context("stdout")?;
    }
    let schema = &proposal.schema;
    let sentence = format!(
        "{} {}, as seen in {} rows",
        counted(schema.columns().len(), "column"),
        if args.public { format!("become {} features", schema.dim()) } else { "to learn from".into() },
        proposal.n_rows
    );
    let answer = ProposalAnswer {
        proposal: &proposal,
        dim: schema.dim(),
        largest_norm: schema.largest_norm(),
        out: args.out.as_ref().map(|out| out.display().to_string()),
    };
    output.show(&answer, &sentence, &[])?;
    explain(args, &proposal, output);
    Ok(Answer::Done)
}

fn explain(args: &SchemaArgs, proposal: &SchemaProposal, output: &Output) {
    let mut table = plain_table();
    table.set_header(["  column", "kind", "becomes", "missing"]);
    for (column, seen) in proposal.schema.columns().iter().zip(&proposal.columns) {
        let cells = [format!("  {}", column.name), column.kind.tag().into(), becomes(column), missing_share(seen)];
        table.add_row(cells.map(|cell| cell.replace(char::is_control, "\u{fffd}")));
    }
    output.say(&table.to_string());
    for left_out in &proposal.left_out {
        let suggestion = left_out.suggestion.as_ref().map_or(String::new(), |text| format!("; {text}"));
        let name = shortened(std::slice::from_ref(&left_out.name));
        output.say(&format!("left out: {name}: {}{suggestion}", left_out.reason));
    }
    let schema = args.out.as_ref().map_or("schema.toml".into(), |out| quoted(out));
    let data = args.data.data.iter().map(|data| quoted(data)).collect::<Vec<_>>().join(" ");
    if proposal.schema.not_public().is_empty() {
        output.say(&format!("next: efface train {data} --schema {schema} --out MODEL"));
        return;
    }
    output.say(
        "All of this was read off the rows. Review it, put public ranges and values in its place, and mark the entries \
         origin = \"public\";",
    );
    output
        .say("until then they are listed as outside the guarantee, and declared values are published with the model.");
    let radius = clip_radius(&proposal.schema);
    // The ridge of scikit-learn's C = 1 on the same features, if all rows have been seen.
    let l2 = format!("{:.0e}", 1.0 / (proposal.n_rows as f64 * radius * radius));
    let l2 = if args.sample.is_none() { format!(" --l2 {l2}") } else { String::new() };
    output.say(&format!(
        "next: efface train {data} --schema {schema} --scale clip:{}{l2} --intercept --out MODEL",
        parameter(radius)
    ));
}

fn becomes(column: &ColumnSchema) -> String {
    match &column.kind {
        ColumnKind::Numeric { range: Some(range) } => {
            format!("{} … {} to [-1, 1]", parameter(range.low()), parameter(range.high()))
        }
        ColumnKind::Categorical { values, .. } => {
            format!("{}: {}", counted(values.len(), "value"), shortened(values))
        }
        ColumnKind::Hashed { buckets } => format!("{buckets} buckets"),
        ColumnKind::Boolean { true_values, false_values } => {
            format!("{} to 1, {} to -1", true_values.join(", "), false_values.join(", "))
        }
        ColumnKind::Derived => "derived from the rows present".into(),
        ColumnKind::Vector { dim, range: Some(range) } => {
            format!("{dim} numbers, each {} … {} to [-1, 1]", parameter(range.low()), parameter(range.high()))
        }
        // Declared by people only.
        _ => counted(column.width(), "feature"),
    }
}

fn missing_share(seen: &ProposedColumn) -> String {
    match seen.n_missing {
        0 => "none".into(),
        n => format!("{:.1} %", 100.0 * n as f64 / (n + seen.n_values) as f64),
    }
}

/// The least round radius that shortens no row.
fn clip_radius(schema: &Schema) -> f64 {
    (schema.largest_norm() * 10.0).ceil() / 10.0
}
