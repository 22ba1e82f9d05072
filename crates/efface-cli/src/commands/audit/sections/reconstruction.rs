//! Before and after: what two releases say about the rows that left in between.

use std::fmt::Write as _;

use efface_audit::reconstruction::{Batch, Reconstruction};
use efface_audit::statistics::Interval;

use super::super::public_rows::{image_at, picture_of};
use crate::charts::{Horizontal, LineChart, Scale, Series, digit_svg};
use crate::numbers::{count, setting};

/// Numbers of removals of which a picture is shown.
const SHOWN: [usize; 3] = [1, 5, 20];

pub(crate) fn section(found: &Reconstruction, is_public: bool) -> String {
    let kind = if is_public {
        "On hand-written digits, which are public: a model that tells digits below five from the others."
    } else {
        "Here the rows removed are rows of the model, and the sample is taken from the rows that stay."
    };
    let pictures = if is_public { pictures(&found.batches) } else { String::new() };
    format!(
        "<section>\n<h2>What two releases say about the row that left</h2>\n\
         <p>No certificate, of this or any other method, covers someone who kept a release from <em>before</em> the \
         removal. Removing a row moves the weights, and the direction of the move gives the row away. This attacker \
         knows the two released models; the loss, λ, the noise’s scale and the numbers of rows, which certificates say; \
         and {n_public} rows of the same kind, for the shape of the curvature. They know neither the secret weights nor \
         the removed rows or their labels. {kind}</p>\n{pictures}{chart}\
         <p>The same attack on a system that retrains from scratch does exactly as well: the information is in the two \
         models, not in the way the second was made. What helps is a <strong>release policy</strong>: when several rows \
         leave between two releases, the attacker gets a mixture of them, and withdrawing old versions takes the first \
         half of the attack away.</p>\n<figure>\n<div class=\"wide\">\n<table>\n<thead><tr>\
         <th scope=\"col\">Removals between two releases</th><th scope=\"col\" class=\"num\">Efface</th>\
         <th scope=\"col\" class=\"num\">Retraining</th><th scope=\"col\" class=\"num\">Without any model</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</div>\n<figcaption>Largest |cosine| between the reconstruction and one of the \
         removed rows, both without their share of the sample’s mean; 1 is the row itself. Medians over {trials} pairs of \
         releases, with the middle half in brackets. Model of {n_rows} rows and {dim} features, noise {noise} per weight. \
         Without any model: the better of the sample’s mean for a label and of one of its rows drawn at \
         random.</figcaption>\n</figure>\n</section>\n",
        n_public = count(found.n_public),
        chart = chart(&found.batches),
        rows = found.batches.iter().map(line).collect::<String>(),
        trials = count(found.trials),
        n_rows = count(found.n_rows),
        dim = count(found.dim),
        noise = setting(found.noise_std),
    )
}

fn line(batch: &Batch) -> String {
    let cell = |met: &Interval| {
        format!("<td class=\"num\">{:.2} <small>({:.2} to {:.2})</small></td>", met.value, met.low, met.high)
    };
    format!(
        "<tr><th scope=\"row\">{}</th>{}{}{}</tr>\n",
        count(batch.k),
        cell(&batch.removal),
        cell(&batch.retraining),
        cell(&batch.chance)
    )
}

fn chart(batches: &[Batch]) -> String {
    let names: Vec<String> = batches.iter().map(|batch| batch.k.to_string()).collect();
    let of = |name: &str, met: fn(&Batch) -> f64| Series {
        name: name.to_owned(),
        points: batches.iter().enumerate().map(|(i, batch)| (i as f64, met(batch))).collect(),
    };
    let chart = LineChart {
        description: "Line chart: how well a removed row is met, against the number of removals between two releases",
        x_label: "removals between the two releases",
        y_label: "|cosine| to the removed row met best",
        horizontal: Horizontal::Names(&names),
        scale: Scale::Unit,
        series: &[
            of("against retraining", |batch| batch.retraining.value),
            of("against Efface", |batch| batch.removal.value),
            of("without any model", |batch| batch.chance.value),
        ],
    };
    format!(
        "<figure>\n{}\n<figcaption>How well the attack meets one of the removed rows (median), and what a guess without any \
         model meets. Where the lines cross, the two models say no more about a row than the sample \
         does.</figcaption>\n</figure>\n",
        chart.to_html()
    )
}

/// The removed digit beside its reconstruction.
fn pictures(batches: &[Batch]) -> String {
    let mut cards = String::new();
    for batch in batches.iter().filter(|batch| SHOWN.contains(&batch.k)) {
        let Some((image, guess)) = batch.picture.as_ref().and_then(|(at, guess)| Some((image_at(*at)?, guess))) else {
            continue;
        };
        let of =
            if batch.k == 1 { "the removed digit".to_owned() } else { format!("one of {} removed digits", batch.k) };
        let _ = write!(
            cards,
            "<li>{}<span>{of}</span></li>\n<li>{}<span>reconstructed</span></li>\n",
            digit_svg(image),
            digit_svg(&picture_of(guess)),
        );
    }
    format!(
        "<figure>\n<ol class=\"digits pairs\">\n{cards}</ol>\n<figcaption>Pairs from a typical try with 1, 5 and 20 removals \
         between the releases: of the removed digits the one that is met best, and what the attacker makes of the two \
         models.</figcaption>\n</figure>\n"
    )
}
