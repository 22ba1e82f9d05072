//! Membership inference.

use efface_report::numbers::{count, number, percent, setting};
use efface_report::{Axis, Chart, Part, Section, Series, Table, text};

use super::stands;
use crate::membership::{Example, Membership, Success};
use crate::statistics::{Interval, histogram};

pub(super) fn section(found: &Membership) -> Section {
    let rows = attacks(found).map(|(name, success)| {
        [
            name.to_owned(),
            format!("{:.3}", success.auc.value),
            range(&success.auc, |x| format!("{x:.3}")),
            percent(success.true_positive_rate.value),
            range(&success.true_positive_rate, percent),
        ]
    });
    let at_rate = format!("Found at {} false alarms", percent(found.before_removal.false_positive_rate));
    let columns = ["Attacked models", "AUC", "95 % interval", &at_rate, "95 % interval"];
    let caption =
        "AUC: how often a model that knew the example looks more suspicious than one that never did; 0.5 is guessing.";
    let weak = if found.before_removal.auc.low > 0.6 {
        ""
    } else {
        " Here it hardly succeeds even before the removal: this model gives single rows little away."
    };
    let mut parts = vec![
        Part::text(format!(
            "Membership inference (LiRA): the attacker trains {} shadow models on random halves of {} similar rows, with and \
             without the example, and learns how sure of the example’s label a model is in either case. Then models are handed \
             out: was the example among their rows? The attack is made on {} examples, on {} models each, three times: while \
             the example is there, after Efface has removed it, and after retraining without it.{weak}",
            count(found.size.shadows),
            count(found.n_rows),
            count(found.n_examples),
            count(found.size.trials)
        )),
        Part::Table(Table::new(caption, columns, rows)),
        Part::text(text![
            format!(
                "After removal and after retraining must be the same law. The largest distance between the distributions of \
                 their scores is {}; up to {} is chance (false-alarm rate {}): ",
                number(found.distance),
                number(found.distance_limit),
                setting(found.size.false_alarm_rate)
            ),
            stands(!found.broken),
        ]),
        Part::Chart(roc(found)),
        Part::Chart(per_example(&found.examples)),
    ];
    parts.extend(found.examples.first().map(|example| Part::Chart(scores(example))));
    Section::new("", "Does a model still know a removed example?", parts)
}

fn attacks(found: &Membership) -> [(&'static str, &Success); 3] {
    [
        ("before removal", &found.before_removal),
        ("after removal", &found.after_removal),
        ("after retraining", &found.after_retraining),
    ]
}

fn range(interval: &Interval, print: impl Fn(f64) -> String) -> String {
    format!("{} to {}", print(interval.low), print(interval.high))
}

fn roc(found: &Membership) -> Chart {
    let mut series = vec![Series::line("guessing", [(0.0, 0.0), (1.0, 1.0)])];
    series.extend(attacks(found).map(|(name, success)| Series::line(name, success.curve.iter().copied())));
    Chart {
        id: "audit-roc".to_owned(),
        caption: "ROC curves over all examples. The farther above the diagonal, the better the attack.".to_owned(),
        x: Axis::unit("false-positive rate: models accused that never saw the example"),
        y: Axis::unit("true-positive rate"),
        series,
        ..Chart::default()
    }
}

fn per_example(examples: &[Example]) -> Chart {
    let line = |name: &str, k: usize| {
        Series::line(name, examples.iter().enumerate().map(|(i, example)| ((i + 1) as f64, example.auc[k])))
    };
    Chart {
        id: "audit-examples".to_owned(),
        caption: "The attack example by example. It is not said which rows they are.".to_owned(),
        x: Axis::linear("example, most exposed first"),
        y: Axis::unit("AUC of the attack"),
        series: vec![line("after retraining", 2), line("before removal", 0), line("after removal", 1)],
        ..Chart::default()
    }
}

/// The scores of one example in the four groups of models.
fn scores(example: &Example) -> Chart {
    const BINS: usize = 16;
    let all = || example.scores.iter().flatten().copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let width = ((high - low) / BINS as f64).max(f64::MIN_POSITIVE);
    let names = ["never there", "before removal", "after removal", "after retraining"];
    let series = names.iter().zip(&example.scores).map(|(name, scores)| {
        let bins = histogram(scores, low, width, BINS + 1);
        let middle = |bin: usize| low + (bin as f64 + 0.5) * width;
        Series::line(*name, bins.into_iter().enumerate().map(|(bin, share)| (middle(bin), share)))
    });
    Chart {
        id: "audit-scores".to_owned(),
        caption:
            "The most exposed example: models that were trained with it are sure of it; once it is removed they are as \
                  unsure as models that never saw it."
                .to_owned(),
        x: Axis::linear("how sure a model is of the example’s label (logit)"),
        y: Axis::percent("share of models"),
        series: series.collect(),
        ..Chart::default()
    }
}
