//! The experiment on the page.

use efface_report::numbers::{count, number, percent, seconds, setting};
use efface_report::{Axis, Chart, Mark, Part, Section, Series, Table};

use super::numbers::{Check, Checkpoint, Reference, RunResults};
use super::{BeyondResults, DataSetResults, GAP_ALLOWED, ObjectiveResults, Order};

impl BeyondResults {
    pub(crate) fn section(&self) -> Section {
        let mut parts = vec![Part::text(INTRODUCTION)];
        parts.extend(self.missing.iter().map(|missing| Part::text(format!("Left out: {missing}."))));
        parts.extend(self.data_sets.iter().flat_map(DataSetResults::parts));
        Section::new("beyond", "Beyond the paper: half of the rows leave", parts)
    }
}

const INTRODUCTION: &str = "Mechanism release keeps unperturbed weights in secret, follows every removal by one Newton step, and adds noise only \
     to what is published. It has no removal budget: before a release the model is settled by a few passes over the rows, \
     and is then as good as retrained. Here half of the rows leave, one at a time and 100 at a time, in random order and \
     hardest first (by the norm of the step that removing the row alone would take). Weights are compared with those of \
     a model without the removed rows, and a distance beyond its claimed bound would have ended the experiment. After 1, \
     5, 20 and 50 % the model is settled and released.";

impl DataSetResults {
    fn parts(&self) -> Vec<Part> {
        vec![
            Part::text(self.summary()),
            Part::text(self.single_steps()),
            Part::text(self.accuracy_summary()),
            Part::Chart(self.accuracy_chart()),
            Part::Chart(self.distance_chart()),
            Part::Table(self.checkpoints_table()),
            Part::Table(self.times_table()),
            Part::Table(self.objective_table()),
        ]
    }

    fn summary(&self) -> String {
        let (gap, single) = (100.0 * self.largest_released_gap(), 100.0 * self.largest_single_gap());
        let allowed = 100.0 * GAP_ALLOWED;
        let verdict = if gap <= allowed { "within" } else { "not within" };
        let checks = self.runs.iter().map(|run| run.checks.len() + run.checkpoints.len()).sum::<usize>();
        let spent = self.largest(|point| point.epsilon_spent);
        let all = self.runs.iter().flat_map(|run| &run.checks);
        let copies = all.filter(|check| check.reference == Reference::SettledCopy).count();
        let negatives = self.negatives.map_or(String::new(), |fraction| {
            format!(" ({:.0} % of the negatives take part, by a public rule)", 100.0 * fraction)
        });
        let Self { name, epsilon, .. } = self;
        let (n, d, problems) = (count(self.n_rows), count(self.dim), self.problems());
        let (l2, delta, noise) = (setting(self.l2_per_row), setting(self.delta), number(self.noise_std));
        let secret = 100.0 * self.largest_secret_gap();
        format!(
            "{name}: n = {n}, d = {d}, {problems}{negatives}, λ = {l2}, ε = {epsilon}, δ = {delta}, noise {noise}. Over all runs and \
             percentages the accuracy of releases (mean of five) differs from that of the retrained model without noise \
             by {gap:.3} points at most, which is {verdict} {allowed} points; of the single release that is furthest off by \
             {single:.3}, and of the secret weights by {secret:.3}. Every one of {checks} comparisons is within its claimed bound: \
             {copies} of them with a settled copy, whose distance to the exact weights is measured, the others with a model that was \
             trained from zero. Four releases of one model prove ε = {spent:.4}."
        )
    }

    /// What half of the rows are worth: the retrained model loses it too.
    fn accuracy_summary(&self) -> String {
        let at_end = self.single().filter_map(|run| {
            let last = run.checkpoints.last()?;
            let (share, order) = (last.percent, run.order.name());
            let (retrained, released) = (percent(last.retrained_accuracy), percent(last.released_accuracy));
            Some(format!("; after {share} % ({order}) {retrained} retrained and {released} released"))
        });
        let (at_start, at_end) = (percent(self.accuracy_at_start), at_end.collect::<String>());
        format!(
            "Accuracy without noise on all rows is {at_start}{at_end}. What changes along the way is what the rows were worth, to the \
             model that is trained from zero without them as well."
        )
    }

    /// The runs one at a time.
    fn single(&self) -> impl Iterator<Item = &RunResults> {
        self.runs.iter().filter(|run| run.batch_rows == 1)
    }

    fn accuracy_chart(&self) -> Chart {
        let mut series = Vec::new();
        for run in self.single() {
            let order = run.order.name();
            let line = |start: f64, accuracy: fn(&Checkpoint) -> f64| {
                let later = run.checkpoints.iter().map(move |point| (point.n_removed as f64, accuracy(point)));
                std::iter::once((1.0, start)).chain(later)
            };
            let retrained = line(self.accuracy_at_start, |point| point.retrained_accuracy);
            series.push(Series::line(format!("retrained without noise, {order}"), retrained));
            let released = line(self.released_accuracy_at_start, |point| point.released_accuracy);
            series.push(Series::line(format!("release, {order}"), released));
        }
        for objective in self.objective.iter().filter(|objective| objective.order == Order::Random) {
            let name = format!("objective, σ = {}", objective.noise_std);
            let ends = [1.0, objective.first_retraining.max(1.0)];
            series.push(Series::line(name, ends.map(|x| (x, objective.accuracy))));
        }
        let marks =
            self.objective.iter().map(|objective| Mark { x: objective.first_retraining, label: objective.mark() });
        Chart {
            id: format!("beyond-accuracy-{}", self.slug()),
            title: format!("{}: accuracy while half of the rows leave", self.name),
            caption: "Mechanism release stays on the accuracy of the retrained model, whatever has left, and has no \
                      budget of removals; what it spends of (ε, δ) it spends on releases. The first points stand for no removal \
                      yet. Mechanism objective starts lower the more it is perturbed, and its line ends where \
                      its budget does: at the marks it has to retrain. Its accuracy is that of one draw of b."
                .to_owned(),
            x: Axis::log("rows removed, one at a time"),
            y: Axis::percent("accuracy on the test rows"),
            series,
            marks: marks.collect(),
        }
    }

    fn distance_chart(&self) -> Chart {
        let mut series = Vec::new();
        for run in self.single() {
            let line =
                |value: fn(&Check) -> f64| run.checks.iter().map(move |check| (check.n_removed as f64, value(check)));
            series.push(Series::line(format!("measured, {}", run.order.name()), line(|check| check.distance)));
            series.push(Series::line(format!("claimed, {}", run.order.name()), line(Check::claimed)));
        }
        series.push(self.settled("settled: measured, all runs", |point| point.settled_distance));
        series.push(self.settled("settled: claimed, all runs", |point| point.settled_bound + point.retrained_bound));
        Chart {
            id: format!("beyond-distance-{}", self.slug()),
            title: format!("{}: distance to the model without the removed rows", self.name),
            caption: "What is claimed (of both models that are compared) is above what is measured. Lines: one row at a time, \
                      nothing settled between 1, 5, 20 and 50 %. The claim grows with every removal, without a pass over the \
                      rows, until it says little. Where the model is settled, as before every release, both are as small as \
                      rounding allows."
                .to_owned(),
            x: Axis::log("rows removed"),
            y: Axis::log("distance of the weights"),
            series,
            ..Chart::default()
        }
    }

    /// Points of all runs where the model was settled.
    fn settled(&self, name: &str, value: fn(&Checkpoint) -> f64) -> Series {
        let points = self.checkpoints().map(|(_, point)| (point.n_removed as f64, value(point)));
        Series { joined: false, ..Series::line(name, points) }
    }

    fn checkpoints_table(&self) -> Table {
        let within = |distance, bound| format!("{} ≤ {}", number(distance), number(bound));
        let rows = self.checkpoints().map(|(run, point)| {
            vec![
                run.name(),
                format!("{} % ({})", point.percent, count(point.n_removed)),
                within(point.instant_distance, point.instant_bound),
                within(point.settled_distance, point.settled_bound + point.retrained_bound),
                percent(point.retrained_accuracy),
                percent(point.secret_accuracy),
                percent(point.released_accuracy),
            ]
        });
        let caption = format!(
            "{}: distance to the model trained from zero and its claimed bound, before and after settling (then with \
                 the retrained model's own), and accuracies. Released: mean of 5.",
            self.name
        );
        Table::new(
            caption,
            ["run", "removed", "distance, instant", "distance, settled", "retrained", "secret weights", "released"],
            rows,
        )
    }

    fn times_table(&self) -> Table {
        let rows = self.checkpoints().map(|(run, point)| {
            vec![
                run.name(),
                format!("{} %", point.percent),
                seconds(point.step_seconds),
                seconds(point.row_seconds),
                format!("{} ({} passes)", seconds(point.settle_seconds), point.settle_passes),
                seconds(point.retrain_seconds),
            ]
        });
        let caption = format!(
            "{}: median time of a step and of a row in it, of settling, and of training anew (once per order). A pass \
                 over the rows lies between the steps here, so that each finds its matrices out of the caches; Table 1 has \
                 the time without one.",
            self.name
        );
        Table::new(caption, ["run", "removed", "step", "per row", "settling", "retraining"], rows)
    }

    fn objective_table(&self) -> Table {
        let caption = format!(
            "{}: where mechanism objective, with the paper's constants and budget, would have had to retrain. \
                 Retrainings until half of the rows have left: were all stretches as long as the first, which for hardest \
                 first is too many. Where it is found by a mean bound, it is extrapolated from the first removals, for \
                 hardest first to its disadvantage. Retraining at 1: each removal is a retraining.",
            self.name
        );
        Table::new(
            caption,
            ["σ", "order", "accuracy", "budget", "first retraining at removal", "retrainings to 50 %", "found by"],
            self.objective.iter().map(ObjectiveResults::row),
        )
    }

    fn problems(&self) -> String {
        if self.n_problems == 1 { "one problem".to_owned() } else { format!("{} problems", self.n_problems) }
    }

    /// How many single steps were checked, and how near what is proved came to what is claimed.
    fn single_steps(&self) -> String {
        let told = self.runs.iter().map(|run| {
            let steps = &run.proved_steps;
            let which = if steps.every == 1 { "every step".to_owned() } else { format!("each {}th step", steps.every) };
            let share = number(steps.largest_share);
            format!("{}: {which}, {} in all, at most {share} of the claim", run.name(), count(steps.n_steps))
        });
        format!(
            "Single steps are checked by one pass over the rows that are left: the gradient measured there proves a \
             distance to the exact weights, which has to be within the claim: {}.",
            told.collect::<Vec<_>>().join("; ")
        )
    }

    fn slug(&self) -> String {
        self.name.to_lowercase().replace(' ', "-")
    }
}

impl ObjectiveResults {
    fn mark(&self) -> String {
        let found = if self.extrapolated { " (extrapolated)" } else { "" };
        format!("σ = {}, {}: retrains{found}", self.noise_std, self.order.name())
    }

    fn row(&self) -> Vec<String> {
        let found_by = if self.extrapolated {
            format!("mean bound of the first {}", self.n_simulated)
        } else {
            format!("simulating {}", self.n_simulated)
        };
        vec![
            self.noise_std.to_string(),
            self.order.name().to_owned(),
            percent(self.accuracy),
            format!("{:.3}", self.removal_budget),
            count(self.first_retraining as usize),
            format!("about {}", count(self.retrainings_to_half as usize)),
            found_by,
        ]
    }
}

impl RunResults {
    pub(super) fn name(&self) -> String {
        let steps = if self.batch_rows == 1 { "one".to_owned() } else { self.batch_rows.to_string() };
        format!("{}, {steps} at a time", self.order.name())
    }
}
