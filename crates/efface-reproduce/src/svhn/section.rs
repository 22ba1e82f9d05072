//! House numbers on the page.

use efface_report::numbers::{count, number, percent, promised, seconds, setting};
use efface_report::{Axis, Chart, Part, Section, Series, Table};

use super::SvhnResults;
use super::fixed::FixedRun;
use super::head::Head;

impl SvhnResults {
    pub(crate) fn section(&self) -> Section {
        let parts = vec![
            Part::text(self.introduction()),
            Part::Chart(self.chart()),
            Part::Table(self.private_table()),
            Part::Table(self.fixed_table()),
        ];
        Section::new("svhn", "House numbers (SVHN), Figure 5", parts)
    }

    fn introduction(&self) -> String {
        let (n, n_test, k) = (count(self.n_rows), count(self.n_test_rows), self.n_removals);
        let delta = setting(self.delta);
        let widest = self.fixed.iter().map(|run| run.head.epsilon_spent).fold(0.0, f64::max);
        let best = self.fixed.iter().map(|run| run.head.accuracy).fold(0.0, f64::max);
        format!(
            "Ten digits on {n} pictures of 32 × 32 pixels, {n_test} to test on, δ = {delta} (Section 4.3 of the paper). A network that was \
             trained on the pictures tells about them, and has to be trained with differential privacy if a head on its features is to \
             forget: its ε is for {k} rows that leave, and a further one needs a new network. The paper trains at ε/{k} and leaves δ as \
             it is; here the group's δ adds up as it must, Σ e^(iε) times that of one row. Features that are fixed before any picture is seen (scattering, \
             and random cosines of it) tell nothing: ε of the extractor is 0, any number of rows may leave, and the accuracy is \
             {} at every ε from {}, of which the release proves {}. Every accuracy of a head is that of its release \
             after {k} rows have left: ten one-vs-all problems with one joint guarantee. The batch, the clipping norm and the step size of \
             private training were chosen on these very pictures, which no ε here counts.",
            percent(best),
            setting(self.fixed.first().map_or(0.0, |run| run.head.epsilon)),
            number(widest),
        )
    }

    fn chart(&self) -> Chart {
        let (low, high) = self.ends();
        let across = |name: String, accuracy: f64| Series::line(name, [(low, accuracy), (high, accuracy)]);
        let fixed =
            |run: &FixedRun| across(format!("{} fixed features, removable head", count(run.width)), run.head.accuracy);
        let mut series: Vec<Series> = self.fixed.iter().rev().map(fixed).collect();
        let private = self.private.iter().map(|run| (run.head.epsilon, run.head.accuracy));
        series.push(Series::line("private extractor, removable head", private));
        let alone = self.private.iter().map(|run| (run.extractor_epsilon, run.network_accuracy));
        series.push(Series::line("private network alone", alone));
        series.push(across("network without privacy".to_owned(), self.plain.accuracy));
        series.push(across("untrained network, removable head".to_owned(), self.plain.untrained.accuracy));
        Chart {
            id: "svhn-epsilon".to_owned(),
            title: format!("Figure 5: accuracy against ε for {} rows that leave", self.n_removals),
            caption: "A private network and its head share ε, nine tenths to one; alone, the network stands at its own share. The \
                      network without privacy forgets nobody. A head on random weights, which no picture had a part in, shows what \
                      is left of a head's accuracy without any training below it."
                .to_owned(),
            x: Axis::log("ε"),
            y: Axis::percent("accuracy on the test pictures"),
            series,
            ..Chart::default()
        }
    }

    /// The ends of the axis of ε.
    fn ends(&self) -> (f64, f64) {
        let ends = self.private.iter().flat_map(|run| [run.extractor_epsilon, run.head.epsilon]);
        ends.fold((f64::INFINITY, 0.0), |(low, high), epsilon| (low.min(epsilon), f64::max(high, epsilon)))
    }

    fn private_table(&self) -> Table {
        let columns = [
            "ε",
            "of it the extractor",
            "ε per row",
            "noise, in clipping norms",
            "private extractor, removable head",
            "private network alone",
            "training the network",
            "training the head",
            "removing one row",
        ];
        let rows = self.private.iter().map(|run| {
            vec![
                setting(run.head.epsilon),
                promised(run.extractor_epsilon),
                number(run.epsilon_per_row),
                number(run.noise_multiplier),
                percent(run.head.accuracy),
                percent(run.network_accuracy),
                run.network_seconds.map_or_else(|| "–".to_owned(), seconds),
                seconds(run.head.training_seconds),
                seconds(run.head.removal_seconds),
            ]
        });
        let plain = &self.plain;
        let caption = format!(
            "Private extractors for {} rows: two convolutions of 16 and 32 filters, 256 features, tanh, {} steps of DP-SGD with Poisson sampling. \
             The same network without privacy reaches {} after {} steps{}; a head on the features of its random first \
             weights reaches {}.",
            self.n_removals,
            self.private.first().map_or(0, |run| run.steps),
            percent(plain.accuracy),
            count(plain.steps as usize),
            plain.seconds.map_or_else(String::new, |took| format!(" in {}", seconds(took))),
            percent(plain.untrained.accuracy),
        );
        Table::new(caption, columns, rows)
    }

    fn fixed_table(&self) -> Table {
        let columns = [
            "fixed features",
            "accuracy",
            "ε proved",
            "making them",
            "training the head",
            "removing one row",
            "settling",
        ];
        let rows = self.fixed.iter().map(|run| {
            let Head { accuracy, epsilon_spent, training_seconds, removal_seconds, settle_seconds, .. } = run.head;
            let times = [run.features_seconds, training_seconds, removal_seconds, settle_seconds].map(seconds);
            [count(run.width), percent(accuracy), number(epsilon_spent)].into_iter().chain(times)
        });
        let n = count(self.n_rows + self.n_test_rows);
        Table::new(format!("Fixed features of {n} pictures, and their heads."), columns, rows)
    }
}
