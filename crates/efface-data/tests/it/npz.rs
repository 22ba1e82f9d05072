//! Reading NPZ: members found by name or shape, stored or deflated, and archives that lie.

use std::io::{Cursor, Write};

use efface_data::{Columns, FeatureValues, RawLabels, RowId, is_array, read_table};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::samples::{assert_chunks_make_the_whole, assert_damage_is_refused, file, npy, refusal_of};

fn npz(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("{name}.npy"), options).expect("in memory");
        writer.write_all(bytes).expect("in memory");
    }
    writer.finish().expect("in memory").into_inner()
}

fn labelled(label: &str) -> Columns {
    Columns { label: Some(label.into()), ..Columns::default() }
}

fn x() -> Vec<u8> {
    npy("<f4", "(3, 2)", &[1_f32, 2.0, 3.0, 4.0, 5.0, 6.5].map(f32::to_le_bytes).concat())
}

fn y() -> Vec<u8> {
    npy("|i1", "(3,)", &[0, 1, 255])
}

#[test]
fn features_and_labels_are_members() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for name in ["x", "X", "arr_0", "embedding"] {
            let (_folder, path) = file("t.npz", &npz(&[("y", y()), (name, x())], method));
            let table = read_table(&path, &labelled("y"), None).expect("valid");
            assert_eq!(table.features(), &FeatureValues::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5]));
            assert_eq!(table.labels().expect("labels").values, RawLabels::Numbers(vec![0.0, 1.0, -1.0]));
            assert!(is_array(&path));
        }
    }
}

#[test]
fn ids_and_subjects_are_members_too_and_labels_may_be_a_file() {
    let ids = npy("<U2", "(3,)", &"a\0b\0cc".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>());
    let bytes = npz(&[("x", x()), ("who", ids)], CompressionMethod::Deflated);
    let (folder, path) = file("t.npz", &bytes);
    let labels = folder.path().join("labels.npy");
    std::fs::write(&labels, y()).expect("writable");
    let columns = Columns {
        label: Some(labels.display().to_string()),
        id: Some("who".into()),
        subject: Some("who.npy".into()),
        ..Columns::default()
    };
    let table = read_table(&path, &columns, None).expect("valid");
    assert_eq!(table.ids(), ["a", "b", "cc"].map(RowId::parse));
    assert_eq!(table.labels().expect("labels").values.len(), 3);
}

#[test]
fn rows_come_in_chunks() {
    let n = 2100_usize;
    let data: Vec<u8> = (0..2 * n).flat_map(|i| (i as f64).to_le_bytes()).collect();
    let labels: Vec<u8> = (0..n).map(|i| (i % 3) as u8).collect();
    let members = [("x", npy("<f8", "(2100, 2)", &data)), ("y", npy("|u1", "(2100,)", &labels))];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let (_folder, path) = file("t.npz", &npz(&members, method));
        assert_chunks_make_the_whole(&path, &labelled("y"));
    }
}

#[test]
fn each_mistake_is_named() {
    let refusal = |members: &[(&str, Vec<u8>)], columns: &Columns| {
        refusal_of("t.npz", &npz(members, CompressionMethod::Deflated), columns)
    };
    let two = refusal(&[("a", x()), ("b", x())], &Columns::default());
    let text = "t.npz: not a readable .npz file: the features must be called `x` or be the only member with two axes; \
                there are";
    assert_eq!(two, format!("{text} `a`, `b`"));
    assert_eq!(refusal(&[], &Columns::default()), format!("{text} no members"));
    assert_eq!(refusal(&[("x", x())], &labelled("z")), "t.npz: no column `z`; there are `x`");
    let short = npy("|u1", "(2,)", &[1, 2]);
    assert_eq!(refusal(&[("x", x()), ("y", short)], &labelled("y")), "t.npz/y: 2 labels, but there are 3 rows");
    let cut = x()[..70].to_vec();
    assert!(refusal(&[("x", cut)], &Columns::default()).starts_with("t.npz/x: truncated"));
    let huge = npy("<f8", "(1000000000000, 1)", &[0; 8]);
    let text = "t.npz/x: truncated: 8 bytes of data, the header announces 8000000000000";
    assert_eq!(refusal(&[("x", huge)], &Columns::default()), text);
    let not_zip = refusal_of("t.npz", &x(), &Columns::default());
    assert!(not_zip.starts_with("t.npz: not a readable .npz file: "), "{not_zip}");
}

#[test]
fn a_member_with_a_changed_value_is_refused_by_its_checksum() {
    let mut bytes = npz(&[("x", x())], CompressionMethod::Stored);
    let value = 6.5_f32.to_le_bytes();
    let position = bytes.windows(4).position(|window| window == value).expect("stored as it is");
    bytes[position + 2] ^= 1;
    let text = "t.npz/x: the checksum of the member is wrong";
    assert_eq!(refusal_of("t.npz", &bytes, &Columns::default()), text);
}

#[test]
fn damaged_files_are_refused() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        assert_damage_is_refused("t.npz", &npz(&[("x", x()), ("y", y())], method), &labelled("y"));
    }
}
