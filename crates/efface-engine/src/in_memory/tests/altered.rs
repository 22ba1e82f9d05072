//! Bytes of a model that somebody altered: refused, or read as another model, and never a panic.

use super::*;
use crate::in_memory::index::numbered;

/// Bytes whose digest is right whatever is in them.
fn with_digest(mut bytes: Vec<u8>) -> Vec<u8> {
    use sha2::{Digest, Sha256};

    let content = bytes.len() - 32;
    let digest = Sha256::digest(&bytes[..content]);
    bytes[content..].copy_from_slice(&digest);
    bytes
}

/// A model of few rows, with something of everything in it, and its bytes.
fn small_model() -> Vec<u8> {
    let (n_rows, n_features) = (24_usize, 2);
    let values: Vec<f64> = (0..n_rows * n_features).map(|i| ((i * 7 % 11) as f64 - 5.0) / 16.0).collect();
    let labels: Vec<f64> = (0..n_rows).map(|i| (i % 3) as f64).collect();
    let row_weights: Vec<f64> = (0..n_rows).map(|i| 0.5 + (i % 2) as f64).collect();
    let people: Vec<RowId> = (0..n_rows).map(|i| numbered(i / 2)).collect();
    let lent = LentRows { features: Features::F64(&values), cancel: &GO_ON };
    let mut model = trained(MemoryRequest {
        rows: lent,
        labels: &labels,
        row_weights: Some(&row_weights),
        max_row_weight: Some(2.0),
        ids: Some(&(0..n_rows).map(numbered).collect::<Vec<_>>()),
        subjects: Some(&people),
        features: vec!["a".into(), "b".into()],
        columns: Columns::default(),
        row_names: RowNames::Ids,
        codec: LabelCodec::Classes(["x", "y", "z"].map(String::from).to_vec()),
        transform: RowTransform { scale: Scale::Within { radius: 1.0 }, intercept: true },
        row_norm_from_rows: true,
        config: TrainingConfig::new(&Logistic, 1e-1, Some(3)),
    });
    model.release(&lent, &mut NoiseSource::danger_fixed_seed(1)).expect("readable");
    model.remove(&lent, &ids([4]), Some("ticket"), false).expect("removable");
    model.to_bytes(&lent).expect("unchanged").to_vec()
}

#[test]
fn bytes_that_were_altered_are_refused_or_read_but_do_not_panic() {
    let bytes = small_model();
    MemoryModel::from_bytes(&bytes).expect("whole");
    assert_eq!(with_digest(bytes.clone()), bytes);
    for position in 0..bytes.len() - 32 {
        for bit in [0, 3, 7] {
            let mut altered = bytes.clone();
            altered[position] ^= 1 << bit;
            if let Ok((mut model, rows)) = MemoryModel::from_bytes(&with_digest(altered)) {
                // What is read can be worked with.
                let lent = LentRows { features: rows.slice(0..rows.len()), cancel: &GO_ON };
                drop(model.remove(&lent, &ids([7]), None, true));
                model.status();
            }
        }
    }
    for len in 0..bytes.len() {
        let cut = &bytes[..len];
        assert!(matches!(MemoryModel::from_bytes(cut), Err(EngineError::BadState { .. })));
        if len > 40 {
            assert!(MemoryModel::from_bytes(&with_digest(cut.to_vec())).is_err(), "{len}");
        }
    }
}

/// Bytes with another text in their header.
fn with_text(bytes: &[u8], text: &str, other: &str) -> Vec<u8> {
    let at = bytes.windows(text.len()).position(|part| part == text.as_bytes()).expect("in the header");
    let mut altered = [&bytes[..at], other.as_bytes(), &bytes[at + text.len()..]].concat();
    let len = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
    let len = len + other.len() as u64 - text.len() as u64;
    altered[8..16].copy_from_slice(&len.to_le_bytes());
    with_digest(altered)
}

#[test]
fn bytes_whose_parts_do_not_belong_together_are_refused() {
    let bytes = small_model();
    let refused = |text: &str, other: &str| {
        MemoryModel::from_bytes(&with_text(&bytes, text, other)).expect_err("must be refused").to_string()
    };
    let narrow = refused(r#""intercept":true"#, r#""intercept":false"#);
    assert!(narrow.ends_with("damaged: rows of 2 values for 3 weights"), "{narrow}");
    let fewer = refused(r#"["x","y","z"]"#, r#"["x","y"]"#);
    assert!(fewer.ends_with("damaged: its classes are not those that it was trained on"), "{fewer}");
    let light = refused(r#""max_row_weight":2.0"#, r#""max_row_weight":1.0"#);
    assert!(light.ends_with("its weight must be at least 0 and at most 1, got `1.5`"), "{light}");
    refused(r#"["a","b"]"#, r#"["a"]"#);
    refused(r#"["a","b"]"#, "[]");
    let later = refused("EFFMEM-1", "EFFMEM-2");
    assert!(later.ends_with("version 2 is unknown; this program reads version 1"), "{later}");
}
