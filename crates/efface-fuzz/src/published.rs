//! Published models: what is accepted predicts, and each prediction is a number.

use efface_data::read_table;
use efface_engine::PublishedModel;

use crate::scratch;

/// `model.json`, and predictions with it.
pub(crate) fn published_model(bytes: &[u8]) {
    let Ok(model) = PublishedModel::open(scratch::file("model.json", bytes)) else { return };
    let kept = serde_json::to_vec(&model).expect("a model can be written");
    let again = PublishedModel::open(scratch::file("again.json", &kept)).expect("what was written can be read");
    assert_eq!(again, model, "written and read back");
    let data = scratch::file("rows.csv", ROWS);
    let Ok(table) = read_table(&data, &model.columns(None, None), model.schema.as_ref()) else { return };
    let predictor = model.predictor();
    let Ok(predictions) = predictor.predict(table) else { return };
    assert_eq!(predictions.len(), 3, "rows");
    for prediction in predictions.iter(true) {
        if let Some(probability) = prediction.probability {
            assert!((0.0..=1.0).contains(&probability), "a probability of {probability}");
            assert!(model.classes.iter().any(|class| *class == prediction.prediction), "an unknown class");
        } else {
            let number: f64 = prediction.prediction.parse().expect("a number");
            assert!(number.is_finite(), "a prediction of {number}");
        }
    }
}

const ROWS: &[u8] = b"a,b,c\n0.1,0.2,0.3\n0,0,0\n-0.5,0.25,1e3\n";
