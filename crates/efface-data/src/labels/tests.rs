//! Labels of every accepted kind, and each kind of mistake.

use proptest::prelude::*;

use super::*;
use crate::table::Origin;

fn texts(labels: &[&str]) -> Labels {
    let values = RawLabels::Text(labels.iter().map(ToString::to_string).collect());
    let lines = (2..).take(labels.len()).collect();
    Labels::new(values, Origin::with_lines("t.csv", lines), Some("y".into()))
}

fn numbers(labels: &[f64]) -> Labels {
    Labels::new(RawLabels::Numbers(labels.to_vec()), Origin::new("y.npy"), None)
}

fn classes(labels: &Labels) -> Vec<String> {
    LabelCodec::for_labels(Some(labels), true).expect("valid").classes().to_vec()
}

fn refusal(labels: &Labels) -> String {
    LabelCodec::for_labels(Some(labels), true).expect_err("must be refused").to_string()
}

#[test]
fn classes_are_found_in_every_accepted_kind_of_labels() {
    assert_eq!(classes(&numbers(&[1.0, -1.0, 1.0])), ["-1", "1"]);
    assert_eq!(classes(&numbers(&[0.0, 1.0, -0.0])), ["0", "1"]);
    assert_eq!(classes(&numbers(&[10.0, 9.0, 2.0])), ["2", "9", "10"]);
    assert_eq!(classes(&texts(&["10", "9.0", "2", "9"])), ["2", "9", "10"]);
    assert_eq!(classes(&texts(&["True", "False", "true"])), ["false", "true"]);
    assert_eq!(classes(&texts(&["dog", "cat", "10", "9"])), ["10", "9", "cat", "dog"]);
}

/// Amounts were classes, one each, where the same numbers without a currency were refused.
#[test]
fn amounts_with_fractions_are_no_classes() {
    let not_integers = |label: &str| {
        format!("t.csv, line 3, column `y`: numeric class labels must be integers of at most 2^53, got `{label}`")
    };
    assert_eq!(refusal(&texts(&["12 €", "1.003,70 €", "7 €"])), not_integers("1.003,70 €"));
    assert_eq!(refusal(&texts(&["1", "2,5"])), not_integers("2,5"));
    assert_eq!(classes(&texts(&["10 %", "5 %"])), ["10 %", "5 %"]);
    assert_eq!(classes(&texts(&["2024-05-31", "2024-06-01"])), ["2024-05-31", "2024-06-01"]);
    assert_eq!(classes(&texts(&["2,5", "more"])), ["2,5", "more"]);
    let many: Vec<String> = (0..=MAX_CLASSES).map(|i| format!("{i},5 €")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(refusal(&texts(&many)).contains("numeric class labels must be integers"));
}

#[test]
fn labels_become_indices_whatever_their_spelling() {
    let codec = LabelCodec::for_labels(Some(&texts(&["1", "0"])), true).expect("valid");
    assert_eq!(codec.encode(&texts(&["0", "1.0", "01"])).expect("known"), [0.0, 1.0, 1.0]);
    assert_eq!(codec.encode(&numbers(&[1.0, 0.0])).expect("known"), [1.0, 0.0]);
    let codec = LabelCodec::for_labels(Some(&texts(&["True", "False"])), true).expect("valid");
    assert_eq!(codec.encode(&texts(&["true", "FALSE"])).expect("known"), [1.0, 0.0]);
}

#[test]
fn an_exact_name_wins_over_its_canonical_spelling() {
    let labels = texts(&["1", "1.0", "a"]);
    let codec = LabelCodec::for_labels(Some(&labels), true).expect("valid");
    assert_eq!(codec.classes(), ["1", "1.0", "a"]);
    assert_eq!(codec.encode(&labels).expect("known"), [0.0, 1.0, 2.0]);
}

#[test]
fn an_unknown_label_is_named_with_the_classes_there_are() {
    let codec = LabelCodec::Classes(vec!["cat".into(), "dog".into()]);
    let error = codec.encode(&texts(&["cat", "cow"])).expect_err("unknown");
    assert_eq!(error.to_string(), "t.csv, line 3, column `y`: label `cow` is not one of `cat`, `dog`");
    let error = codec.encode(&numbers(&[0.5])).expect_err("unknown");
    assert_eq!(error.to_string(), "y.npy, row 0: label `0.5` is not one of `cat`, `dog`");
}

#[test]
fn labels_that_are_no_classes_are_refused() {
    assert_eq!(refusal(&texts(&["a", "a"])), "t.csv: all 2 labels are `a`; classification needs two classes or more");
    let text = "t.csv, line 3, column `y`: numeric class labels must be integers of at most 2^53, got `0.5`";
    assert_eq!(refusal(&texts(&["1", "0.5"])), text);
    let text = "y.npy, row 1: numeric class labels must be integers of at most 2^53, got `100000000000000000000`";
    assert_eq!(refusal(&numbers(&[1.0, 1e20])), text);
    let text = "t.csv, line 4, column `y`: class labels cannot be NaN or infinite, got `nan`";
    assert_eq!(refusal(&texts(&["1", "0", "nan"])), text);
    assert_eq!(refusal(&numbers(&[f64::NAN])), "y.npy, row 0: class labels cannot be NaN or infinite, got `NaN`");
    assert_eq!(refusal(&texts(&["a", ""])), "t.csv, line 3, column `y`: empty label");
}

#[test]
fn more_than_a_thousand_classes_are_refused_and_a_thousand_are_not() {
    let many: Vec<f64> = (0..=1000).map(f64::from).collect();
    assert_eq!(classes(&numbers(&many[..1000])).len(), 1000);
    assert_eq!(refusal(&numbers(&many)), "y.npy, row 1000: label `1000` would be class 1001, at most 1000 are allowed");
    let names: Vec<String> = (0..=1000).map(|i| format!("c{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(classes(&texts(&names[..1000])).len(), 1000);
    let text = "t.csv, line 1002, column `y`: label `c1000` would be class 1001, at most 1000 are allowed";
    assert_eq!(refusal(&texts(&names)), text);
    // Measurements that were meant for regression are named as such, not counted.
    let measured: Vec<String> = (0..3000).map(|i| format!("{i}.25")).collect();
    let measured: Vec<&str> = measured.iter().map(String::as_str).collect();
    assert!(refusal(&texts(&measured)).contains("must be integers"));
}

#[test]
fn regression_takes_finite_numbers_only() {
    let codec = LabelCodec::Numeric;
    assert_eq!(codec.encode(&texts(&["1.5", "-2e3"])).expect("numbers"), [1.5, -2000.0]);
    assert_eq!(codec.encode(&numbers(&[0.25])).expect("numbers"), [0.25]);
    for label in ["nan", "inf", "cat", ""] {
        let error = codec.encode(&texts(&["1", label])).expect_err("no number");
        let text = format!("t.csv, line 3, column `y`: labels must be finite numbers, got `{label}`");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_codec_survives_json() {
    for codec in [LabelCodec::Numeric, LabelCodec::Classes(vec!["0".into(), "1".into()])] {
        let json = serde_json::to_string(&codec).expect("serializable");
        assert_eq!(serde_json::from_str::<LabelCodec>(&json).expect("readable"), codec, "{json}");
    }
}

/// The codec and the code of each label, found chunk by chunk; or the message of the refusal.
fn collected(chunks: &[Labels], is_classification: bool) -> Result<(LabelCodec, Vec<f64>), String> {
    let mut collector = ClassCollector::new(is_classification);
    let mut codes = Vec::new();
    for chunk in chunks {
        codes.extend(collector.push(chunk).map_err(|error| error.to_string())?);
    }
    let (codec, mapping) = collector.finish().map_err(|error| error.to_string())?;
    if is_classification {
        for code in &mut codes {
            *code = mapping[*code as usize];
        }
    } else {
        assert!(mapping.is_empty());
    }
    Ok((codec, codes))
}

fn whole(labels: &Labels, is_classification: bool) -> Result<(LabelCodec, Vec<f64>), String> {
    let codec = LabelCodec::for_labels(Some(labels), is_classification).map_err(|error| error.to_string())?;
    let codes = codec.encode(labels).map_err(|error| error.to_string())?;
    Ok((codec, codes))
}

fn text_chunk(labels: &[String], first: usize) -> Labels {
    let lines = (2 + first as u64..).take(labels.len()).collect();
    Labels::new(RawLabels::Text(labels.to_vec()), Origin::with_lines("t.csv", lines), Some("y".into()))
}

fn number_chunk(labels: &[f64], first: usize) -> Labels {
    Labels::new(RawLabels::Numbers(labels.to_vec()), Origin::new("y.npy").starting_at(first as u64), None)
}

/// Splits `0..len` at the cuts that fall within.
fn split(len: usize, cuts: &[usize]) -> Vec<std::ops::Range<usize>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (len + 1)).chain([len]).collect();
    ends.sort_unstable();
    ends.iter().scan(0, |start, end| Some(std::mem::replace(start, *end)..*end)).collect()
}

proptest! {
    #[test]
    fn chunks_of_texts_give_the_codec_and_codes_of_the_whole(
        labels in prop::collection::vec(
            prop_oneof![
                30 => prop::sample::select(vec!["1", "1.0", "0", "2e0", "-0", "10", "9"]),
                5 => prop::sample::select(vec!["True", "true", "False", "cat", "dog"]),
                1 => prop::sample::select(vec!["", "nan", "1.5", "1e300"]),
            ],
            1..40,
        ),
        cuts in prop::collection::vec(0_usize..40, 0..5),
        is_classification: bool,
    ) {
        let labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
        let ranges = split(labels.len(), &cuts);
        let chunks: Vec<Labels> = ranges.into_iter().map(|range| text_chunk(&labels[range.clone()], range.start)).collect();
        prop_assert_eq!(
            collected(&chunks, is_classification),
            whole(&text_chunk(&labels, 0), is_classification)
        );
    }

    #[test]
    fn chunks_of_numbers_give_the_codec_and_codes_of_the_whole(
        labels in prop::collection::vec(
            prop_oneof![50 => (-9_i32..9).prop_map(f64::from), 1 => prop::sample::select(vec![0.5, f64::NAN])],
            1..40,
        ),
        cuts in prop::collection::vec(0_usize..40, 0..5),
        is_classification: bool,
    ) {
        let ranges = split(labels.len(), &cuts);
        let chunks: Vec<Labels> = ranges.into_iter().map(|range| number_chunk(&labels[range.clone()], range.start)).collect();
        prop_assert_eq!(
            collected(&chunks, is_classification),
            whole(&number_chunk(&labels, 0), is_classification)
        );
    }
}

#[test]
fn many_spellings_of_few_integers_are_few_classes() {
    // The search once stopped at the 1001st spelling and never saw the class that came after it.
    let mut labels: Vec<String> = (0..3000).map(|i| format!("{}.{}", i % 2, "0".repeat(1 + i / 2))).collect();
    labels.push("2".into());
    let (codec, codes) =
        collected(&[text_chunk(&labels[..999], 0), text_chunk(&labels[999..], 999)], true).expect("valid");
    assert_eq!(codec.classes(), ["0", "1", "2"]);
    assert_eq!((codes[2999], codes[3000]), (1.0, 2.0));
    assert_eq!(whole(&text_chunk(&labels, 0), true), Ok((codec, codes)));
    labels.push("cat".into());
    let text = "t.csv, line 3003, column `y`: label `cat` would be class 1001, at most 1000 are allowed";
    assert_eq!(refusal(&text_chunk(&labels, 0)), text);
    *labels.last_mut().expect("not empty") = "2.5".into();
    let text = "t.csv, line 3003, column `y`: numeric class labels must be integers of at most 2^53, got `2.5`";
    assert_eq!(refusal(&text_chunk(&labels, 0)), text);
}

#[test]
fn labels_that_change_their_kind_on_the_way_keep_their_class() {
    let chunks = [number_chunk(&[1.0, 0.0], 0), text_chunk(&["1.0".into(), "0".into()], 2)];
    let (codec, codes) = collected(&chunks, true).expect("valid");
    assert_eq!((codec.classes(), codes), (&["0".to_owned(), "1".to_owned()][..], vec![1.0, 0.0, 1.0, 0.0]));
}
