use super::*;
use crate::ngrams::Grams;

/// What is written down, and its digest (by `printf | sha256sum`): neither may ever change.
const WRITTEN: [(&str, &str); 4] = [
    (
        r#"{"kind":"fourier","n_inputs":5,"width":32,"length_scale":0.5,"seed":18446744073709551615}"#,
        "969425d346a32cec9eebc2ee011785fdfec4efd1a39a59c0e13da0ddd66e6f6f",
    ),
    (
        r#"{"kind":"ngrams","buckets":4096,"words":[1,2],"binary":false,"seed":7}"#,
        "a729fa6d1ee57cbfaee70390c21221f93d57d5520fd13abb12c92eda796e2cf3",
    ),
    (
        r#"{"kind":"scattering","height":8,"width":12,"channels":3}"#,
        "48f966bd116033a9e9fc852141e93cced6910ce61376202abfa3661046e49fd3",
    ),
    (
        r#"{"kind":"transformer","transformer":"HashingVectorizer","sha256":"abababababababababababababababababababababababababababababababab","features":4096}"#,
        "efc827c82094c34def045b0ebef51c45b14461a3389e2859bbc00c957f0da6a1",
    ),
];

#[test]
fn parameters_are_written_and_read_in_one_form() {
    for (json, digest) in WRITTEN {
        let spec: FeatureSpec = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(hex::encode(spec.digest()), digest);
    }
}

#[test]
fn unknown_parameters_and_kinds_are_refused() {
    for json in [
        r#"{"kind":"fourier","n_inputs":5,"width":32,"length_scale":0.5,"seed":1,"scale":2}"#,
        r#"{"kind":"ngrams","buckets":4096,"seed":7,"words":[1,2,3]}"#,
        r#"{"kind":"wavelets","width":4096}"#,
    ] {
        assert!(serde_json::from_str::<FeatureSpec>(json).is_err(), "{json}");
    }
}

#[test]
fn parameters_that_no_map_has_are_refused() {
    let range = Some(Grams { shortest: 0, longest: 2 });
    let spec = FeatureSpec::Ngrams(NgramSpec { buckets: 8, words: None, characters: range, binary: true, seed: 0 });
    assert!(matches!(spec.check(), Err(BuildError::Range { of: "characters", .. })));
    let spec = FeatureSpec::fourier(5, FourierLayer { width: 0, length_scale: 1.0, seed: 0 });
    assert!(matches!(spec.check(), Err(BuildError::OutOfRange { name: "width", .. })));
    let spec = FeatureSpec::Scattering(ImageShape { height: 8, width: 8, channels: 2, resize: false });
    assert!(matches!(spec.check(), Err(BuildError::Channels { value: 2 })));
    let transformer = |transformer: &str, sha256: &str| {
        let (transformer, sha256) = (transformer.to_owned(), sha256.to_owned());
        FeatureSpec::Transformer(TransformerSpec { transformer, sha256, features: 3 }).check()
    };
    assert!(matches!(transformer("", &"ab".repeat(32)), Err(BuildError::Name { .. })));
    assert!(matches!(transformer("Embedding", "ab"), Err(BuildError::Digest { .. })));
}
