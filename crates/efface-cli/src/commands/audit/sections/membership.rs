//! Membership inference.

use std::fmt::Write as _;

use efface_audit::membership::{Example, Membership, Success};
use efface_audit::statistics::Interval;

use super::super::page::kept;
use crate::charts::{Horizontal, LineChart, Scale, Series};
use crate::numbers::{count, number, percent, setting};

pub(crate) fn section(found: &Membership) -> String {
    let mut rows = String::new();
    for (name, success) in attacks(found) {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{name}</th><td class=\"num\">{:.3}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
            success.auc.value,
            range(&success.auc, |x| format!("{x:.3}")),
            percent(success.true_positive_rate.value),
            range(&success.true_positive_rate, percent),
        );
    }
    let rate = found.before_removal.false_positive_rate;
    let weak = if found.before_removal.auc.low > 0.6 {
        ""
    } else {
        " Here it hardly succeeds even before the removal: this model gives single rows little away."
    };
    format!(
        "<section>\n<h2>Does a model still know a removed example?</h2>\n\
         <p>Membership inference (LiRA): the attacker trains {shadows} shadow models on random halves of {n_rows} similar \
         rows, with and without the example, and learns how sure of the example’s label a model is in either case. Then \
         models are handed out: was the example among their rows? The attack is made on {examples} examples, on {trials} \
         models each, three times: while the example is there, after Efface has removed it, and after retraining \
         without it.{weak}</p>\n\
         <figure>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">Attacked models</th>\
         <th scope=\"col\" class=\"num\">AUC</th><th scope=\"col\" class=\"num\">95&nbsp;% interval</th>\
         <th scope=\"col\" class=\"num\">Found at {fpr} false alarms</th>\
         <th scope=\"col\" class=\"num\">95&nbsp;% interval</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>AUC: how often a model that knew the example looks more suspicious than one that never did; 0.5 is \
         guessing.</figcaption>\n</figure>\n\
         <p>After removal and after retraining must be the same law. The largest distance between the distributions of \
         their scores is {distance}; up to {limit} is chance (false-alarm rate {false_alarms}): {verdict}</p>\n\
         {roc}{per_example}{scores}</section>\n",
        shadows = count(found.size.shadows),
        n_rows = count(found.n_rows),
        examples = count(found.n_examples),
        trials = count(found.size.trials),
        fpr = percent(rate),
        distance = number(found.distance),
        limit = number(found.distance_limit),
        false_alarms = setting(found.size.false_alarm_rate),
        verdict = kept(!found.broken),
        roc = roc(found),
        per_example = per_example(&found.examples),
        scores = found.examples.first().map_or_else(String::new, scores),
    )
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

fn roc(found: &Membership) -> String {
    let mut series = vec![Series { name: "guessing".to_owned(), points: vec![(0.0, 0.0), (1.0, 1.0)] }];
    series
        .extend(attacks(found).map(|(name, success)| Series { name: name.to_owned(), points: success.curve.clone() }));
    let chart = LineChart {
        description: "Line chart: ROC curves of the membership attack before removal, after removal, after retraining",
        x_label: "false-positive rate: models accused that never saw the example",
        y_label: "true-positive rate",
        horizontal: Horizontal::Numbers { low: 0.0, high: 1.0, step: 0.2 },
        scale: Scale::Unit,
        series: &series,
    };
    format!(
        "<figure>\n{}\n<figcaption>ROC curves over all examples. The farther above the diagonal, the better the \
         attack.</figcaption>\n</figure>\n",
        chart.to_html()
    )
}

fn per_example(examples: &[Example]) -> String {
    let names: Vec<String> = (1..=examples.len()).map(|i| i.to_string()).collect();
    let of = |name: &str, k: usize| Series {
        name: name.to_owned(),
        points: examples.iter().enumerate().map(|(i, example)| (i as f64, example.auc[k])).collect(),
    };
    let chart = LineChart {
        description: "Line chart: success of the membership attack, example by example",
        x_label: "example, most exposed first",
        y_label: "AUC of the attack",
        horizontal: Horizontal::Names(&names),
        scale: Scale::Unit,
        series: &[of("after retraining", 2), of("before removal", 0), of("after removal", 1)],
    };
    format!(
        "<figure>\n{}\n<figcaption>The attack example by example. It is not said which rows they are.</figcaption>\n\
         </figure>\n",
        chart.to_html()
    )
}

/// The scores of one example in the four groups of models.
fn scores(example: &Example) -> String {
    const BINS: usize = 16;
    let all = || example.scores.iter().flatten().copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let width = ((high - low) / BINS as f64).max(f64::MIN_POSITIVE);
    let names = ["never there", "before removal", "after removal", "after retraining"];
    let series: Vec<Series> = names
        .iter()
        .zip(&example.scores)
        .map(|(name, scores)| {
            let mut bins = [0.0; BINS + 1];
            for score in scores {
                bins[((score - low) / width) as usize] += 1.0 / scores.len() as f64;
            }
            let points = bins.iter().enumerate().map(|(bin, share)| (low + (bin as f64 + 0.5) * width, *share));
            Series { name: (*name).to_owned(), points: points.collect() }
        })
        .collect();
    let step = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0].into_iter().find(|step| (high - low) / step < 12.0).unwrap_or(20.0);
    let chart = LineChart {
        description: "Line chart: how sure models are of the most exposed example",
        x_label: "how sure a model is of the example’s label (logit)",
        y_label: "share of models",
        horizontal: Horizontal::Numbers {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step + step,
            step,
        },
        scale: Scale::Percent,
        series: &series,
    };
    format!(
        "<figure>\n{}\n<figcaption>The most exposed example: models that were trained with it are sure of it; once it is \
         removed they are as unsure as models that never saw it.</figcaption>\n</figure>\n",
        chart.to_html()
    )
}
