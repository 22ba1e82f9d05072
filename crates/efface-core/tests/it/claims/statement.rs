//! Statements of private training: what is read, what is refused, what follows.

use efface_core::accounting::statement::{Statement, StatementError, StatementFields};
use efface_core::accounting::subsampled::{MechanismError, SubsampledGaussian};
use serde_json::{Value, json};

fn written() -> Value {
    json!({
        "format": "efface-extractor-statement-1",
        "mechanism": "dp-sgd-poisson",
        "sampling_rate": 8.273e-4,
        "noise_multiplier": 6.0,
        "steps": 24_180,
        "clip": 1.0,
        "unit": "row",
        "delta": 1e-5,
        "digest": "00".repeat(32),
    })
}

fn with(key: &str, value: Value) -> Result<Statement, serde_json::Error> {
    let mut statement = written();
    statement[key] = value;
    serde_json::from_value(statement)
}

#[test]
fn a_statement_is_read_and_recomputed() {
    let statement: Statement = serde_json::from_value(written()).expect("possible");
    let training = SubsampledGaussian::new(8.273e-4, 6.0, 24_180).expect("possible");
    assert_eq!(statement.training(), training);
    let one = statement.extractor(1).expect("possible");
    assert_eq!((one.epsilon, one.delta), (training.epsilon_at(1e-5), 1e-5));
    assert_eq!((one.epsilon * 1e4).trunc(), 715.0, "by an older conversion it is 0.105");
    let ten = statement.guarantee(10).expect("possible");
    assert!(ten.delta <= 1e-5 && ten.epsilon > 10.0 * one.epsilon && ten.epsilon < 13.0 * one.epsilon, "{ten:?}");
    assert_eq!(statement.extractor(0), Err(MechanismError::EmptyGroup));
    assert_eq!(serde_json::to_value(&statement).expect("writable"), written());
}

#[test]
fn a_smaller_epsilon_than_proved_is_refused() {
    let proved = serde_json::from_value::<Statement>(written()).expect("possible").extractor(1).expect("one").epsilon;
    for larger in [proved, proved.next_up(), 3.0] {
        assert_eq!(with("epsilon", json!(larger)).expect("possible").fields().epsilon, Some(larger));
    }
    for smaller in [proved.next_down(), 0.05, 0.0, -1.0] {
        let refused = with("epsilon", json!(smaller)).expect_err("refused").to_string();
        assert!(refused.contains("at delta 1e-5, and") && refused.contains("leave `epsilon` out"), "{refused}");
    }
}

#[test]
fn numbers_that_no_training_has_are_refused() {
    for (key, value) in [
        ("format", json!("efface-extractor-statement-2")),
        ("mechanism", json!("dp-sgd-shuffled")),
        ("sampling_rate", json!(0.0)),
        ("sampling_rate", json!(1.1)),
        ("noise_multiplier", json!(0.0)),
        ("noise_multiplier", json!("6")),
        ("steps", json!(0)),
        ("steps", json!(1.5)),
        ("clip", json!(0.0)),
        ("clip", json!(null)),
        ("unit", json!("household")),
        ("delta", json!(0.0)),
        ("delta", json!(1.0)),
        ("n_rows", json!(0)),
        ("digest", json!("00")),
        ("digest", json!("AB".repeat(32))),
        ("digest", json!("é".repeat(32))),
        ("epsilom", json!(1.0)),
    ] {
        assert!(with(key, value.clone()).is_err(), "{key}: {value}");
    }
    for key in ["format", "mechanism", "sampling_rate", "noise_multiplier", "steps", "clip", "unit", "delta", "digest"]
    {
        let mut statement = written();
        statement.as_object_mut().expect("an object").remove(key);
        assert!(serde_json::from_value::<Statement>(statement).is_err(), "without {key}");
    }
    let mut fields: StatementFields = serde_json::from_value(written()).expect("readable");
    fields.clip = f64::NAN;
    assert!(matches!(Statement::new(fields.clone()), Err(StatementError::Clip { .. })));
    fields.clip = 1.0;
    fields.epsilon = Some(f64::NAN);
    assert!(matches!(Statement::new(fields), Err(StatementError::Epsilon { .. })));
}
