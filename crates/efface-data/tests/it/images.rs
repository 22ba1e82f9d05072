//! Labelled images as pixels: the same from every kind of table, and what is refused.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt8Builder};
use arrow_array::{BinaryArray, StringArray};
use efface_data::{ImageReader, ImageTable, LabelledImages};
use efface_features::ImageShape;

use crate::maps::{parquet, picture};
use crate::samples::{file, npy, without_folder};

const LABELS: [&str; 3] = ["owl", "cat", "owl"];

fn table(image: &str, label: &str) -> ImageTable {
    let shape = ImageShape { height: 8, width: 12, channels: 3, resize: false };
    ImageTable { image: image.into(), label: label.into(), classes: None, shape }
}

fn read(path: &Path, table: ImageTable) -> Result<LabelledImages, String> {
    let mut reader = ImageReader::open(path, table).map_err(|error| error.to_string())?;
    while reader.read_chunk().map_err(|error| error.to_string())? {}
    reader.finish().map_err(|error| error.to_string())
}

/// Pixels of three images of 8 × 12 in three colours.
fn pixels() -> Vec<u8> {
    (0..3 * 288_u32).map(|i| (i * 7919 % 256) as u8).collect()
}

#[test]
fn images_have_the_same_pixels_and_labels_from_every_table() {
    let expect = |found: LabelledImages| {
        assert_eq!(*found.pixels, pixels());
        assert_eq!((found.labels, found.classes), (vec![1, 0, 1], vec!["cat".to_owned(), "owl".to_owned()]));
    };
    let labels = || Arc::new(StringArray::from_iter_values(LABELS));
    let mut lists = ListBuilder::new(UInt8Builder::new());
    pixels().chunks_exact(288).for_each(|image| lists.append_value(image.iter().copied().map(Some)));
    let lists = parquet(vec![("photo", Arc::new(lists.finish())), ("kind", labels())]);
    let pictures: Vec<Vec<u8>> = pixels().chunks_exact(288).map(picture).collect();
    let bytes = parquet(vec![("photo", Arc::new(BinaryArray::from_iter_values(&pictures))), ("kind", labels())]);
    for table_file in [lists, bytes] {
        let (_folder, path) = file("t.parquet", &table_file);
        expect(read(&path, table("photo", "kind")).expect("images"));
    }
    let (folder, path) = file("t.csv", b"kind,photo,age\nowl,0.png,3\ncat,1.png,\nowl,./2.png,x\n");
    for (at, picture) in pictures.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{at}.png")), picture).expect("writable");
    }
    expect(read(&path, table("photo", "kind")).expect("images"));
    let declared = ["zebra", "owl", "cat"].map(String::from).to_vec();
    let of_three = ImageTable { classes: Some(declared.clone()), ..table("photo", "kind") };
    let found = read(&path, of_three.clone()).expect("images");
    assert_eq!((found.labels, found.classes), (vec![1, 2, 1], declared));
    std::fs::write(&path, "kind,photo\nowl,0.png\ndog,1.png\n").expect("writable");
    let refused = read(&path, of_three).err().expect("not declared");
    assert!(
        refused.ends_with("t.csv, line 3, column `kind`: label `dog` is not one of `zebra`, `owl`, `cat`"),
        "{refused}"
    );

    let (folder, path) = file("t.npy", &npy("|u1", "(3, 288)", &pixels()));
    let of_labels = folder.path().join("y.npy");
    std::fs::write(&of_labels, npy("<i4", "(3,)", &[7, 2, 7].map(i32::to_le_bytes).concat())).expect("writable");
    let found = read(&path, table("*", of_labels.to_str().expect("text"))).expect("images");
    assert_eq!(*found.pixels, pixels());
    assert_eq!((found.labels, found.classes), (vec![1, 0, 1], vec!["2".to_owned(), "7".to_owned()]));
}

#[test]
fn a_picture_of_another_size_is_resized_to_whole_numbers() {
    let (folder, path) = file("t.csv", b"kind,photo\nowl,0.png\ncat,0.png\n");
    std::fs::write(folder.path().join("0.png"), picture(&pixels()[..288])).expect("writable");
    let mut smaller = table("photo", "kind");
    smaller.shape = ImageShape { height: 5, width: 7, channels: 1, resize: true };
    let found = read(&path, smaller).expect("images");
    assert_eq!((found.pixels.len(), found.labels), (2 * 35, vec![1, 0]));
    let expected = efface_images_of(&picture(&pixels()[..288]));
    assert!(found.pixels[..35].iter().zip(expected).all(|(found, exact)| (f32::from(*found) - exact).abs() <= 0.5));
}

/// What resizing gives, before it is rounded.
fn efface_images_of(picture: &[u8]) -> Vec<f32> {
    let shape = efface_images::Shape { height: 5, width: 7, channels: 1 };
    efface_images::pixels(picture, shape, efface_images::OtherSizes::Resized).expect("a picture")
}

#[test]
fn what_is_no_labelled_image_is_named_by_its_row() {
    let (folder, path) = file("t.csv", b"");
    std::fs::write(folder.path().join("whole.png"), picture(&pixels()[..288])).expect("writable");
    let whole = picture(&pixels()[..288]);
    std::fs::write(folder.path().join("cut.png"), &whole[..whole.len() / 2]).expect("writable");
    std::fs::write(folder.path().join("text.png"), "no picture").expect("writable");
    for (rows, label, told) in [
        ("a,\n", "kind", "t.csv, line 3, column `photo`: no image"),
        ("a,cut.png\n", "kind", "t.csv, line 3, column `photo`: `cut.png`: the PNG file cannot be decoded: "),
        ("a,text.png\n", "kind", "t.csv, line 3, column `photo`: `text.png`: not a PNG or JPEG file"),
        ("a,../whole.png\n", "kind", "t.csv, line 3, column `photo`: `../whole.png` leads out of the table's folder"),
        (",whole.png\n", "kind", "t.csv, line 3, column `kind`: empty cell"),
        ("b,whole.png\n", "kind", "t.csv: all 2 labels are `b`; classification needs two classes or more"),
        ("b,whole.png\n", "sort", "t.csv: no column `sort`; there are `kind`, `photo`"),
    ] {
        std::fs::write(&path, format!("kind,photo\nb,whole.png\n{rows}")).expect("writable");
        let refused = without_folder(&read(&path, table("photo", label)).err().expect("refused"), folder.path());
        assert!(refused.starts_with(told), "{told}: {refused}");
    }
    let refused = without_folder(&read(&path, table("foto", "kind")).err().expect("refused"), folder.path());
    assert_eq!(refused, "t.csv: no column `foto`; there are `kind`, `photo`");

    let (folder, path) = file("t.npy", &npy("<f4", "(1, 288)", &[0.5_f32; 288].map(f32::to_le_bytes).concat()));
    let labels = folder.path().join("y.npy");
    std::fs::write(&labels, npy("|u1", "(1,)", &[1])).expect("writable");
    let refused = read(&path, table("*", labels.to_str().expect("text"))).err().expect("refused");
    let told = "t.npy, row 0, column `*`: pixels must be whole numbers from 0 to 255, got `0.5`";
    assert_eq!(without_folder(&refused, folder.path()), told);
    let mut flat = table("*", "y.npy");
    flat.shape.height = 0;
    assert!(read(&path, flat).err().expect("refused").starts_with("images must have 1 or 3 channels and at most"));
}
