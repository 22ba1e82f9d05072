//! Predictions and their evaluation: the same to the last bit, however rows are cut into chunks.

use std::fmt::Write;
use std::path::Path;

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_data::{Columns, RowTransform, Scale, open_table};
use efface_engine::{Evaluation, PublishedModel};

use crate::models::{Folder, published, randomness, squared};

/// Six hundred rows of two numbers, more than two blocks, with a label each.
fn rows(label: impl Fn(f64, f64) -> String) -> String {
    let mut text = String::from("id,who,a,b,y\n");
    for i in 0..600 {
        let (a, b) = (f64::from(i * 37 % 101) / 150.0, f64::from(i * 53 % 97) / 150.0);
        writeln!(text, "{i},{i},{a},{b},{}", label(a, b)).expect("in memory");
    }
    text
}

fn released(text: &str, config: TrainingConfig, scale: Scale) -> (Folder, PublishedModel) {
    let folder = Folder::new();
    let transform = RowTransform { scale, intercept: true };
    folder.try_train_scaled(text, config, transform).expect("trainable");
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let model = PublishedModel::open(folder.model()).expect("published");
    (folder, model)
}

/// All predictions as JSON, and their evaluation, of rows that are read so many at a time.
fn in_chunks_of(n_rows: usize, model: &PublishedModel, data: &Path) -> (Vec<String>, Evaluation) {
    let columns = Columns { label: Some("y".into()), ..model.columns(None, None) };
    let (predictor, mut evaluator) = (model.predictor(), model.predictor().evaluator());
    let mut predictions = Vec::new();
    let mut reader = open_table(data, &columns, None).expect("readable");
    while let Some(chunk) = reader.next_chunk(n_rows).expect("readable") {
        let predicted = predictor.predict(chunk.clone()).expect("rows of the model");
        predictions.extend(predicted.iter(true).map(|row| serde_json::to_string(&row).expect("plain")));
        evaluator.add(chunk).expect("labelled");
    }
    (predictions, evaluator.finish())
}

#[test]
fn chunks_of_any_size_have_the_same_predictions_and_figures() {
    let logistic = || TrainingConfig::new(&loss::Logistic, 1e-2, None);
    let two = rows(|a, b| if a > b { "more" } else { "less" }.into());
    let three = rows(|a, b| if a > b + 0.2 { "more" } else { ["same", "less"][usize::from(b > a + 0.2)] }.into());
    let numbers = rows(|a, b| (3.0 * a - b).to_string());
    for (text, config, scale) in [
        (&two, logistic(), Scale::None),
        (&two, logistic(), Scale::Unit),
        (&three, logistic(), Scale::Auto),
        (&numbers, squared(), Scale::Auto),
    ] {
        let (folder, model) = released(text, config, scale);
        let data = folder.path("rows.csv");
        let (whole, figures) = in_chunks_of(usize::MAX, &model, &data);
        assert_eq!(whole.len(), 600);
        assert!(whole[599].starts_with("{\"id\":599,"), "{}", whole[599]);
        for n_rows in [1, 7, 256, 599] {
            let (predictions, found) = in_chunks_of(n_rows, &model, &data);
            assert_eq!(predictions, whole, "chunks of {n_rows}");
            assert_eq!(found, figures, "chunks of {n_rows}");
        }
    }
}

/// A threshold of one half changes nothing, and any other moves rows in one direction.
#[test]
fn a_threshold_moves_the_line_between_two_classes() {
    let (folder, model) = released(
        &rows(|a, b| if a > b { "more" } else { "less" }.into()),
        TrainingConfig::new(&loss::Logistic, 1e-2, None),
        Scale::None,
    );
    assert_eq!(model.classes, ["less", "more"]);
    let n_more = |threshold: Option<f64>| {
        let table = efface_data::read_table(folder.path("rows.csv"), &model.columns(None, None), None).expect("rows");
        let predictor = match threshold {
            Some(threshold) => model.predictor().with_threshold(threshold).expect("two classes"),
            None => model.predictor(),
        };
        let predictions = predictor.predict(table).expect("rows of the model");
        predictions
            .iter(true)
            .filter(|row| {
                let of_more = row.probabilities.expect("logistic").iter().last().expect("classes").1;
                assert_eq!(row.prediction == "more", of_more >= threshold.unwrap_or(0.5));
                row.prediction == "more"
            })
            .count()
    };
    let counts = [0.1, 0.3, 0.5, 0.7, 0.9].map(|threshold| n_more(Some(threshold)));
    assert!(counts.is_sorted_by(|more, less| more >= less) && counts[0] > counts[4], "{counts:?}");
    assert_eq!(counts[2], n_more(None));
}
