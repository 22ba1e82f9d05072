use super::*;
use crate::in_threads;
use crate::ngrams::Grams;

/// What is written down, and its digest (by `printf | sha256sum`): neither may ever change.
const WRITTEN: [(&str, &str); 3] = [
    (
        r#"{"kind":"fourier","n_inputs":5,"width":32,"length_scale":0.5,"seed":18446744073709551615}"#,
        "969425d346a32cec9eebc2ee011785fdfec4efd1a39a59c0e13da0ddd66e6f6f",
    ),
    (
        r#"{"kind":"ngrams","width":4096,"words":{"shortest":1,"longest":2},"binary":false,"seed":7}"#,
        "fa5788a55ec6c5d80fbc2aa4781f2a839b9a786306275da97a41f7434394c9e6",
    ),
    (
        r#"{"kind":"scattering","height":8,"width":12,"channels":3,"fourier":{"width":64,"length_scale":0.5,"seed":1}}"#,
        "bceeb852a127fc3586dca8a2e216014bcb3ecefd5048c0dd5e879e16ed8ccc75",
    ),
];

#[test]
fn parameters_are_written_and_read_in_one_form() {
    for (json, digest) in WRITTEN {
        let spec: FeatureSpec = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        let map = FeatureMap::new(&spec).unwrap();
        assert_eq!(map.spec(), spec);
        assert_eq!(map.row_norm(), 1.0);
        assert_eq!(hex::encode(map.digest()), digest);
    }
}

#[test]
fn unknown_parameters_and_kinds_are_refused() {
    for json in [
        r#"{"kind":"fourier","n_inputs":5,"width":32,"length_scale":0.5,"seed":1,"scale":2}"#,
        r#"{"kind":"ngrams","width":4096,"seed":7,"words":{"shortest":1,"longest":2,"step":1}}"#,
        r#"{"kind":"wavelets","width":4096}"#,
    ] {
        assert!(serde_json::from_str::<FeatureSpec>(json).is_err(), "{json}");
    }
}

#[test]
fn parameters_are_checked_when_a_map_is_built() {
    let range = Some(Grams { shortest: 0, longest: 2 });
    let spec = FeatureSpec::Ngrams(NgramSpec { width: 8, words: None, characters: range, binary: true, seed: 0 });
    assert!(matches!(FeatureMap::new(&spec), Err(BuildError::Range { of: "characters", .. })));
    let fourier = Some(FourierLayer { width: 0, length_scale: 1.0, seed: 0 });
    let spec = FeatureSpec::Scattering { height: 8, width: 8, channels: 1, fourier };
    assert!(matches!(FeatureMap::new(&spec), Err(BuildError::OutOfRange { name: "width", .. })));
}

#[test]
fn a_layer_on_top_is_one_map_after_the_other() {
    let (width, length_scale, seed) = (50, 0.5, 3);
    let scattering = || ScatteringMap::new(8, 8, 1).unwrap();
    let map = ImageMap::new(scattering(), Some(FourierLayer { width, length_scale, seed })).unwrap();
    assert_eq!((map.n_inputs(), map.n_features()), (64, 50));
    let images: Vec<u8> = (0..64 * 70).map(|i| (i * 7919 % 253) as u8).collect();
    let apply = || {
        let mut out = vec![0.0; 70 * 50];
        map.apply_block(&images, &mut out).unwrap();
        out
    };
    let (mut middle, mut out) = (vec![0.0; 70 * 324], vec![0.0; 70 * 50]);
    scattering().apply_block(&images, &mut middle).unwrap();
    FourierMap::new(324, width, length_scale, seed).unwrap().apply_block(&middle, &mut out).unwrap();
    assert_eq!(in_threads(1, apply), out);
    assert_eq!(in_threads(2, apply), out);
}

#[test]
fn errors_name_the_row_of_the_whole_block() {
    let fourier = Some(FourierLayer { width: 4, length_scale: 1.0, seed: 0 });
    let map = ImageMap::new(ScatteringMap::new(8, 8, 1).unwrap(), fourier).unwrap();
    let mut images = vec![0.0_f32; 64 * 100];
    images[64 * 77 + 5] = f32::INFINITY;
    let error = map.apply_block(&images, &mut [0.0; 400]).unwrap_err();
    assert_eq!(error, ApplyError::NotFinite { row: 77, column: 5, value: f64::INFINITY });
}
