//! A model as bytes: it comes back with its rows and its history. Bytes that somebody altered are refused, or read as another
//! model, and never a panic.

use super::*;
use crate::error::OpenError;

#[test]
fn a_model_comes_back_from_its_bytes_with_its_rows_and_its_history() {
    let (sample, names, people) = (Sample::new(Scale::Unit, true, 3), names(), people());
    let row_weights: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 3) as f64).collect();
    let mut held = trained(MemoryRequest {
        ids: Some(&names),
        subjects: Some(&people),
        row_weights: Some(&row_weights),
        max_row_weight: Some(4.0),
        ..sample.request()
    });
    let named = |id: RowId| TableParts { ids: Some(vec![id]), ..sample.parts(&[0]) };
    let new = TableParts { subjects: Some(people[..1].to_vec()), ..named(RowId::parse("new")) };
    held.live(|life| life.add_table(new, Some(vec![3.5]))).expect("new");
    held.correct(named(names[5].clone())).expect("there");
    held.release();
    held.remove_as("ticket", &person_of(8)).expect("removable");

    let bytes = held.bytes().expect("unchanged");
    let mut restored = Held::from_bytes(&bytes).expect("whole");
    assert_eq!(weights(&restored.model.model), weights(&held.model.model));
    assert_eq!(restored.certificate(), held.certificate());
    let status = |held: &Held| serde_json::to_string(&held.model.view().status().expect("known")).expect("plain");
    assert_eq!(status(&restored), status(&held));
    assert_eq!(restored.bytes().expect("unchanged"), bytes);
    for held in [&mut held, &mut restored] {
        assert!(held.remove_as("ticket", &person_of(8)).expect("known").repeated);
        assert!(is_removed(&held.remove(&Selection::Ids(names[8..9].to_vec())).expect_err("gone")));
        // The first person has one row more than the others.
        assert_eq!(held.remove(&person_of(0)).expect("five").n_changed, 5);
        held.settle().expect("settled");
    }
    // The factor that preconditions the steps is formed anew, so they agree up to what settling leaves.
    assert!(distance(&restored.model.model, &held.model.model) < 1e-9);

    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for bytes in [&damaged[..], &bytes[..bytes.len() - 1], &bytes[..20], &[]] {
        assert!(matches!(MemoryModel::from_bytes(bytes), Err(EngineError::Open(OpenError::DamagedState { .. }))));
    }
}

/// Bytes whose digest is right whatever is in them.
fn with_digest(mut bytes: Vec<u8>) -> Vec<u8> {
    use sha2::{Digest, Sha256};

    let content = bytes.len() - 32;
    let digest = Sha256::digest(&bytes[..content]);
    bytes[content..].copy_from_slice(&digest);
    bytes
}

/// A model of few rows, with something of everything in it but new rows.
fn small_model() -> Held {
    let (n_rows, n_features) = (24_usize, 2);
    let values: Vec<f64> = (0..n_rows * n_features).map(|i| ((i * 7 % 11) as f64 - 5.0) / 16.0).collect();
    let labels: Vec<f64> = (0..n_rows).map(|i| (i % 3) as f64).collect();
    let row_weights: Vec<f64> = (0..n_rows).map(|i| 0.5 + (i % 2) as f64).collect();
    let mut held = trained(MemoryRequest {
        rows: LentRows { features: Features::F64(&values), cancel: &GO_ON },
        texts: &NO_TEXTS,
        labels: &labels,
        row_weights: Some(&row_weights),
        class_weights: ClassWeights::default(),
        max_row_weight: Some(2.0),
        ids: Some(&(0..n_rows).map(RowId::numbered).collect::<Vec<_>>()),
        subjects: Some(&(0..n_rows).map(|i| RowId::numbered(i / 2)).collect::<Vec<_>>()),
        features: vec!["a".into(), "b".into()],
        schema: None,
        columns: Columns::default(),
        row_names: RowNames::Ids,
        codec: LabelCodec::Classes(["x", "y", "z"].map(String::from).to_vec()),
        transform: RowTransform { scale: Scale::Within { radius: 1.0 }, intercept: true },
        row_norm_from_rows: true,
        outside_scope: vec!["stacking:StackingClassifier".parse().expect("a tag and a name")],
        config: TrainingConfig::new(&Logistic, 1e-1, Some(3)),
    });
    held.release();
    held.remove_as("ticket", &ids([4])).expect("removable");
    held
}

#[test]
fn bytes_that_were_altered_are_refused_or_read_but_do_not_panic() {
    let mut held = small_model();
    let origin = Origin::new("rows");
    let right = TableParts {
        feature_names: vec!["a".into(), "b".into()],
        features: FeatureValues::F64(vec![0.25, -0.5]),
        labels: Some(Labels::new(RawLabels::Text(vec!["y".into()]), origin.clone(), None)),
        ids: Some(vec![RowId::Integer(9)]),
        subjects: None,
        row_weights: None,
        origin,
        texts: None,
    };
    held.correct(right).expect("there");
    let bytes = held.bytes().expect("unchanged");
    MemoryModel::from_bytes(&bytes).expect("whole");
    assert_eq!(with_digest(bytes.clone()), bytes);
    for position in 0..bytes.len() - 32 {
        for bit in [0, 3, 7] {
            let mut altered = bytes.clone();
            altered[position] ^= 1 << bit;
            if let Ok(mut held) = Held::from_bytes(&with_digest(altered)) {
                // What is read can be worked with.
                drop(held.live(|life| life.remove(&ids([7]), None, Missing::Skip)));
                held.model.view().status().expect("known");
            }
        }
    }
    for len in 0..bytes.len() {
        let cut = &bytes[..len];
        assert!(matches!(MemoryModel::from_bytes(cut), Err(EngineError::Open(OpenError::DamagedState { .. }))));
        if len > 40 {
            assert!(MemoryModel::from_bytes(&with_digest(cut.to_vec())).is_err(), "{len}");
        }
    }
}

/// Bytes with another text in their header.
fn with_text(bytes: &[u8], text: &str, other: &str) -> Vec<u8> {
    let at = bytes.windows(text.len()).position(|part| part == text.as_bytes()).expect("in the header");
    let mut altered = [&bytes[..at], other.as_bytes(), &bytes[at + text.len()..]].concat();
    let len = u64::from_le_bytes(bytes[12..20].try_into().expect("eight bytes"));
    let len = len + other.len() as u64 - text.len() as u64;
    altered[12..20].copy_from_slice(&len.to_le_bytes());
    with_digest(altered)
}

#[test]
fn bytes_whose_parts_do_not_belong_together_are_refused() {
    let bytes = small_model().bytes().expect("unchanged");
    let refused = |text: &str, other: &str| {
        MemoryModel::from_bytes(&with_text(&bytes, text, other)).err().expect("must be refused").to_string()
    };
    let narrow = refused(r#""intercept":true"#, r#""intercept":false"#);
    assert!(narrow.ends_with("damaged: rows of 2 values for 3 weights"), "{narrow}");
    let fewer = refused(r#"["x","y","z"]"#, r#"["x","y"]"#);
    assert!(fewer.ends_with("damaged: its classes are not those that it was trained on"), "{fewer}");
    let light = refused(r#""max_row_weight":2.0"#, r#""max_row_weight":1.0"#);
    assert!(light.ends_with("its weight must be at least 0 and at most 1, got `1.5`"), "{light}");
    refused(r#"["a","b"]"#, r#"["a"]"#);
    refused(r#"["a","b"]"#, "[]");
}
