//! When rows leave, when the weights are compared with the retrained ones, and when a model is released.

/// Percentages of the rows after which a model is settled and released.
pub(super) const PERCENTS: [usize; 4] = [1, 5, 20, 50];

#[derive(Clone, Copy, Debug)]
pub(super) struct Density {
    /// Whether each step up to the first percentage is compared.
    pub(super) every_early_step: bool,
    /// Comparisons evenly spread over all steps, besides.
    pub(super) n_spread: usize,
}

/// The state after one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) n_removed: usize,
    /// Whether the weights are compared.
    pub(super) compare: bool,
    /// The percentage that is reached, if one is.
    pub(super) percent: Option<usize>,
}

/// The stops on the way to the last percentage. Steps of `batch_rows` are cut short where a percentage is reached.
pub(super) fn schedule(n_rows: usize, batch_rows: usize, density: Density) -> Vec<Stop> {
    let marks = PERCENTS.map(|percent| ((n_rows * percent + 50) / 100).max(1));
    let last = marks[marks.len() - 1];
    // Comparisons due after so many removals.
    let due = |n_removed: usize| n_removed * density.n_spread / last;
    let mut stops = Vec::new();
    let mut n_removed = 0;
    while n_removed < last {
        let before = n_removed;
        let next_mark = marks.into_iter().find(|mark| *mark > before).unwrap_or(last);
        n_removed = (before + batch_rows).min(next_mark);
        let percent = marks.iter().rposition(|mark| *mark == n_removed).map(|k| PERCENTS[k]);
        let early = density.every_early_step && n_removed <= marks[0];
        stops.push(Stop { n_removed, compare: early || percent.is_some() || due(n_removed) > due(before), percent });
    }
    stops
}
