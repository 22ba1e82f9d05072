//! The figures of one data set as a table: Efface, then each peer with the ratio of its time to Efface's.

use std::fmt::Write;

use efface_report::numbers::plain::{duration, number};

use super::SetReport;
use super::theirs::Theirs;
use crate::figure::Figure;
use crate::operations::REMOVALS;

/// A line per operation, with what is left of the gradient and the number of repeats; then how far the weights are apart.
pub(crate) fn of(report: &SetReport) -> String {
    let mut text = format!("  {:<34}{:>CELL$}", "", "efface");
    for peer in &report.scikit_learn {
        let _ = write!(text, "{:>CELL$}{:>RATIO$}", peer.solver, "ratio");
    }
    text.push('\n');
    for Line { what, ours, theirs } in lines(report) {
        let _ = write!(text, "  {what:<34}{:>CELL$}", cell(&ours));
        for peer in &report.scikit_learn {
            let Some(theirs) = theirs.map(|theirs| theirs(peer)) else { continue };
            let _ = write!(text, "{:>CELL$}{:>RATIO$}", cell(theirs), number(theirs.seconds / ours.seconds));
        }
        text.push('\n');
    }
    for peer in &report.scikit_learn {
        let _ = writeln!(text, "  weights of {} are {:.1e} from ours, relatively", peer.solver, peer.relative_distance);
    }
    text
}

struct Line {
    what: String,
    ours: Figure,
    /// The figure of a peer that stands beside ours; a peer does not release.
    theirs: Option<fn(&Theirs) -> &Figure>,
}

const CELL: usize = 26;
const RATIO: usize = 9;

fn lines(report: &SetReport) -> Vec<Line> {
    let ours = &report.efface;
    let line = |what: &str, ours: Figure, theirs| Line { what: what.to_owned(), ours, theirs: Some(theirs) };
    let (matched, n_test) = (report.matched_gradient_norm, report.n_test_rows);
    let mut lines = vec![
        line(&format!("train to ‖∇L‖ ≤ {matched:.1e}"), ours.train_matched, |peer| &peer.train_matched),
        line("train as far as it goes", ours.train, |peer| &peer.train),
        line("one row leaves / refit", ours.remove_one, |peer| &peer.refit_one),
        line("one row leaves / warm start", ours.remove_one, |peer| &peer.warm_one),
        line(&format!("{REMOVALS} leave, settle / refit"), ours.remove_hundred, |peer| &peer.refit_hundred),
        line(&format!("{REMOVALS} leave, settle / warm start"), ours.remove_hundred, |peer| &peer.warm_hundred),
        Line { what: "settle alone".to_owned(), ours: ours.settle, theirs: None },
        Line { what: "settle and release".to_owned(), ours: ours.release, theirs: None },
        line(&format!("predict {n_test} rows"), ours.predict, |peer| &peer.predict),
    ];
    if report.scikit_learn.is_empty() {
        // Lines differ by what stands beside ours.
        lines.dedup_by(|line, before| line.ours == before.ours);
    }
    lines
}

/// `12.3 ms ×7 (1.2e-9)`: median, repeats, gradient left.
fn cell(figure: &Figure) -> String {
    let gradient = figure.gradient_norm.map(|norm| format!(" ({norm:.0e})")).unwrap_or_default();
    format!("{} ×{}{gradient}", duration(figure.seconds), figure.repeats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_tell_time_repeats_and_gradient() {
        let figure = Figure { seconds: 0.25, repeats: 7, gradient_norm: Some(9.8e-10) };
        assert_eq!(cell(&figure), "250 ms ×7 (1e-9)");
        assert_eq!(cell(&Figure { gradient_norm: None, ..figure }), "250 ms ×7");
    }
}
