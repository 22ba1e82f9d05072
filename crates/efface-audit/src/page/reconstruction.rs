//! Before and after: what two releases say about the rows that left in between.

use efface_report::numbers::{count, setting};
use efface_report::{Axis, Chart, ImageRow, Images, Part, Section, Series, Table, emphasis, strong, text};

use crate::public_rows;
use crate::reconstruction::{Batch, Reconstruction};
use crate::statistics::Interval;

/// Numbers of removals of which a picture is shown.
const SHOWN: [usize; 3] = [1, 5, 20];

pub(super) fn section(found: &Reconstruction, is_public: bool) -> Section {
    let kind = if is_public {
        "On hand-written digits, which are public: a model that tells digits below five from the others."
    } else {
        "Here the rows removed are rows of the model, and the sample is taken from the remaining rows."
    };
    let mut parts = vec![Part::text(text![
        "No certificate, of this or any other method, covers someone who kept a release from ",
        emphasis("before"),
        format!(
            " the removal. Removing a row moves the weights, and the direction of the move gives the row away. This attacker \
             knows the two released models; the loss, λ, the noise’s scale and the numbers of rows, which certificates say; and \
             {} rows of the same kind, for the shape of the curvature. They know neither the secret weights nor the removed rows \
             or their labels. {kind}",
            count(found.n_public)
        ),
    ])];
    if is_public {
        parts.push(Part::Images(pictures(&found.batches)));
    }
    parts.push(Part::Chart(chart(&found.batches)));
    parts.push(Part::text(text![
        "The same attack on a system that retrains from scratch does exactly as well: the information is in the two models, not \
         in the way the second was made. What helps is a ",
        strong("release policy"),
        ": when several rows leave between two releases, the attacker gets a mixture of them, and withdrawing old versions takes \
         the first half of the attack away.",
    ]));
    parts.push(Part::Table(table(found)));
    Section::new("", "What two releases say about the removed row", parts)
}

fn table(found: &Reconstruction) -> Table {
    let cell = |met: &Interval| format!("{:.2} ({:.2} to {:.2})", met.value, met.low, met.high);
    let rows = found
        .batches
        .iter()
        .map(|batch| [count(batch.k), cell(&batch.removal), cell(&batch.retraining), cell(&batch.chance)]);
    let caption = format!(
        "Largest |cosine| between the reconstruction and one of the removed rows, both without their share of the sample’s mean; \
         1 is the row itself. Medians over {} pairs of releases, with the middle half in brackets. Model of {} rows and {} \
         features, noise {} per weight. Without any model: the better of the sample’s mean for a label and of one of its rows \
         drawn at random.",
        count(found.trials),
        count(found.n_rows),
        count(found.dim),
        setting(found.noise_std)
    );
    Table::new(caption, ["Removals between two releases", "Efface", "Retraining", "Without any model"], rows)
}

fn chart(batches: &[Batch]) -> Chart {
    let line = |name: &str, met: fn(&Batch) -> f64| {
        Series::line(name, batches.iter().map(|batch| (batch.k as f64, met(batch))))
    };
    Chart {
        id: "audit-reconstruction".to_owned(),
        caption: "How well the attack meets one of the removed rows (median), and what a guess without any model meets. Where \
                  the lines cross, the two models say no more about a row than the sample does."
            .to_owned(),
        x: Axis::log("removals between the two releases"),
        y: Axis::unit("|cosine| to the removed row met best"),
        series: vec![
            line("against retraining", |batch| batch.retraining.value),
            line("against Efface", |batch| batch.removal.value),
            line("without any model", |batch| batch.chance.value),
        ],
        ..Chart::default()
    }
}

/// The removed digit beside its reconstruction.
fn pictures(batches: &[Batch]) -> Images {
    let pairs = batches.iter().filter(|batch| SHOWN.contains(&batch.k)).filter_map(|batch| {
        let (position, guess) = batch.picture.as_ref()?;
        let of = if batch.k == 1 { "the removed digit".to_owned() } else { format!("one of {} removed", batch.k) };
        let guessed = (public_rows::picture_of(guess), "reconstructed".to_owned());
        Some([(public_rows::image_at(*position)?, of), guessed])
    });
    Images {
        id: "audit-digits".to_owned(),
        caption: "Pairs from a typical try with 1, 5 and 20 removals between the releases: of the removed digits the one that is \
                  met best, and what the attacker makes of the two models."
            .to_owned(),
        side: efface_digits::SIDE,
        rows: vec![ImageRow { name: String::new(), images: pairs.flatten().collect() }],
        ..Images::default()
    }
}
