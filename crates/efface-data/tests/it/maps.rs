//! Columns that become features by a map: the same features from every format and in any chunks, and what is refused.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, BinaryArray, Float64Array, RecordBatch, StringArray};
use efface_data::{
    Cell, CellEncoder, CellError, CellSource, Columns, FeatureValues, Origin, Scale, Schema, TakeCell, open_table,
    read_table,
};
use efface_features::{FourierLayer, FourierMap, ImageShape, NgramMap, ScatteringMap};
use parquet::arrow::ArrowWriter;

use crate::samples::{file, npy, without_folder};

const TEXTS: [&str; 5] = ["a good film, a good cast", "", "poor", "A GOOD cast", "007.0"];

const REVIEWS: &str = r#"
format = "efface-schema-1"

[[column]]
name = "stars"
kind = "numeric"
range = [0, 10]
missing = "zero"
origin = "public"

[[column]]
name = "review"
kind = "text"
buckets = 64
characters = [2, 4]
missing = "slot"
"#;

const LAYER: &str = "\n[fourier]\nwidth = 24\nlength_scale = 0.5\nseed = 3\n";

fn schema(text: &str) -> Schema {
    Schema::parse(text).expect("valid")
}

/// What each row of [`TEXTS`], with its number for stars, must become.
fn expected() -> Vec<f64> {
    let Some(efface_features::FeatureSpec::Ngrams(spec)) = schema(REVIEWS).columns()[1].kind.map() else {
        panic!("the second column is a text")
    };
    let map = NgramMap::new(spec).expect("valid");
    let row = |(stars, text): (usize, &&str)| {
        let mut features = vec![0.0; 64];
        map.apply_dense(text, &mut features).expect("of this width");
        let gap = if text.is_empty() { 1.0 } else { 0.0 };
        [(2.0 * stars as f64 - 10.0) / 10.0]
            .into_iter()
            .chain(features.into_iter().map(f64::from))
            .chain([gap])
            .collect::<Vec<_>>()
    };
    TEXTS.iter().enumerate().flat_map(row).collect()
}

fn csv() -> String {
    let rows = TEXTS.iter().enumerate().map(|(stars, text)| format!("{stars},\"{text}\"\n"));
    format!("stars,review\n{}", rows.collect::<String>())
}

pub(crate) fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

#[test]
fn a_text_becomes_the_same_features_in_every_format_and_in_any_chunks() {
    let stars: ArrayRef = Arc::new(Float64Array::from_iter_values((0..5).map(f64::from)));
    let reviews: ArrayRef =
        Arc::new(StringArray::from_iter(TEXTS.map(|text| Some(text).filter(|text| !text.is_empty()))));
    let json = TEXTS.iter().enumerate().map(|(stars, text)| format!("{{\"stars\":{stars},\"review\":\"{text}\"}}\n"));
    let files = [
        ("t.csv", csv().into_bytes()),
        ("t.jsonl", json.collect::<String>().into_bytes()),
        ("t.parquet", parquet(vec![("review", reviews), ("stars", stars)])),
    ];
    for (name, bytes) in files {
        let (_folder, path) = file(name, &bytes);
        for max_rows in [1, 2, 100] {
            let mut reader = open_table(&*path, &Columns::default(), Some(&schema(REVIEWS))).expect("opens");
            let mut features = Vec::new();
            while let Some(chunk) = reader.next_chunk(max_rows).expect("valid") {
                let FeatureValues::F64(values) = chunk.features() else { panic!("beside numbers in double precision") };
                features.extend_from_slice(values);
            }
            assert_eq!(features, expected(), "{name}, {max_rows} rows at a time");
        }
    }
}

#[test]
fn a_layer_takes_the_features_of_all_columns() {
    let (_folder, path) = file("t.csv", csv().as_bytes());
    let with_layer = schema(&format!("{REVIEWS}{LAYER}"));
    let table = read_table(&path, &Columns::default(), Some(&with_layer)).expect("valid");
    let map = FourierMap::new(66, FourierLayer { width: 24, length_scale: 0.5, seed: 3 }).expect("valid");
    let mut features = vec![0.0; 5 * 24];
    map.apply_block(&expected(), &mut features).expect("whole rows");
    assert_eq!(table.features(), &FeatureValues::F32(features));
    assert_eq!((with_layer.dim(), table.feature_names()[23].as_str()), (24, "fourier[23]"));
    assert_eq!(with_layer.usual_transform().scale, Scale::None);
    assert_eq!(schema(REVIEWS).usual_transform().scale, Scale::Within { radius: 2f64.sqrt() });
    let maps = with_layer.maps();
    let [(Some("review"), text), (None, layer)] = maps.as_slice() else { panic!("two maps: {maps:?}") };
    assert_eq!((text.kind(), layer.kind()), ("ngrams", "fourier"));
}

/// Rows of cells in memory.
struct Held(Vec<Vec<Cell<'static>>>);

impl CellSource for Held {
    fn n_rows(&self) -> usize {
        self.0.len()
    }

    fn visit(&self, column: usize, row: usize, take: &mut TakeCell<'_>) -> Result<(), CellError> {
        take(&self.0[row][column])
    }
}

fn encoded(schema: &Schema, rows: Vec<Vec<Cell<'static>>>) -> Result<FeatureValues, String> {
    let mut encoder = CellEncoder::new(schema).expect("no networks");
    let encoded = encoder.encode(&Held(rows), &Origin::new("rows"), &mut |_| true);
    encoded.map(|encoded| encoded.expect("not stopped").features).map_err(|error| error.to_string())
}

#[test]
fn cells_in_memory_become_what_those_of_a_file_do() {
    let row = |(stars, text): (usize, &&'static str)| vec![Cell::Number(stars as f64), Cell::Text(text)];
    let rows = || TEXTS.iter().enumerate().map(row).collect::<Vec<_>>();
    assert_eq!(encoded(&schema(REVIEWS), rows()), Ok(FeatureValues::F64(expected())));
    // More rows than are taken at a time, beside cells that are kept raw.
    let derived =
        schema(&REVIEWS.replace(
            "kind = \"numeric\"\nrange = [0, 10]\nmissing = \"zero\"\norigin = \"public\"",
            "kind = \"derived\"",
        ));
    let many: Vec<_> = (0..70_000).map(|i| vec![Cell::Text(["1", "two"][i % 2]), Cell::Text(TEXTS[i % 5])]).collect();
    let mut encoder = CellEncoder::new(&derived).expect("no networks");
    let mut seen = Vec::new();
    let all = encoder.encode(&Held(many), &Origin::new("rows"), &mut |done| {
        seen.push(done);
        true
    });
    let all = all.expect("valid").expect("not stopped");
    let FeatureValues::F64(values) = all.features else { panic!("raw cells are in double precision") };
    assert_eq!((values.len(), values[66 * 69_998], seen.len() > 1), (66 * 70_000, 1.0, true));
    assert_eq!(values[66 * 69_999 + 1..66 * 70_000], values[66 * 9 + 1..66 * 10]);
    assert_eq!(all.texts.into_values().collect::<Vec<_>>(), ["two"]);
    assert!(encoder.encode(&Held(rows()), &Origin::new("rows"), &mut |_| false).expect("valid").is_none());

    // A row that fails leaves nothing for the next ones.
    let strict = schema(&REVIEWS.replace("missing = \"slot\"", ""));
    let mut encoder = CellEncoder::new(&strict).expect("no networks");
    let refused = encoder.encode(&Held(rows()), &Origin::new("rows"), &mut |_| true).err().expect("a gap");
    assert!(refused.to_string().starts_with("rows, row 1, column `review`: missing value"), "{refused}");
    let one = encoder.encode(&Held(rows()[..1].to_vec()), &Origin::new("rows"), &mut |_| true);
    let FeatureValues::F64(values) = one.expect("valid").expect("not stopped").features else { panic!("as before") };
    assert_eq!(values[..], expected()[..65]);
}

#[test]
fn a_layer_takes_numbers_of_any_size() {
    let text = |entry: &str| format!("format = \"efface-schema-1\"\n[[column]]\nname = \"x\"\n{entry}\n");
    for (entry, cell) in
        [("kind = \"numeric\"", Cell::Number(-1.5e6)), ("kind = \"vector\"\ndim = 1", Cell::List(vec![-1.5e6]))]
    {
        let layered = schema(&format!("{}{}", text(entry), LAYER.replace("0.5", "1e5")));
        let map = FourierMap::new(1, FourierLayer { width: 24, length_scale: 1e5, seed: 3 }).expect("valid");
        let mut features = vec![0.0; 24];
        map.apply_block(&[-1.5e6], &mut features).expect("a row");
        assert_eq!(encoded(&layered, vec![vec![cell]]), Ok(FeatureValues::F32(features)));
        assert_eq!((layered.not_public(), layered.usual_transform().scale), (vec![], Scale::None));
        let again: Schema = serde_json::from_value(serde_json::to_value(&layered).expect("JSON")).expect("the same");
        assert_eq!(again, layered);
        let alone = Schema::parse(&text(entry)).expect_err("nothing bounds it").to_string();
        assert!(alone.contains("column `x`: kind") && alone.contains("needs range = [low, high]"), "{alone}");
    }
}

#[test]
fn what_another_program_made_is_divided_by_its_norm() {
    let entry = |more: &str| {
        let sha256 = "ab".repeat(32);
        let json = format!(
            r#"{{"format": "efface-schema-1", "column": [{{"name": "review", "kind": "transformer",
                "transformer": "Embedding", "sha256": "{sha256}", "features": 2{more}}}]}}"#
        );
        Schema::of_json(&json).map_err(|error| error.to_string())
    };
    let public = entry(r#", "origin": "public""#).expect("valid");
    let list = |values: &[f64]| vec![Cell::List(values.to_vec())];
    let FeatureValues::F32(made) = encoded(&public, vec![list(&[3.0, -4.0]), list(&[0.0, 0.0])]).expect("lists") else {
        panic!("in single precision")
    };
    assert!((made[0] - 0.6).abs() < 1e-6 && (made[1] + 0.8).abs() < 1e-6 && made[2..] == [0.0, 0.0], "{made:?}");
    assert_eq!(
        (public.feature_names().as_slice(), public.not_public()),
        (&["review[0]".to_owned(), "review[1]".into()][..], vec![])
    );
    assert_eq!(entry("").expect("valid").not_public(), ["review"]);
    assert_eq!(public.maps()[0].1.kind(), "transformer");

    let refused = |cell: Cell<'static>| encoded(&public, vec![vec![cell]]).expect_err("must be refused");
    assert_eq!(refused(Cell::List(vec![1.0])), "rows, row 0, column `review`: 1 values in the list, expected 2");
    assert!(refused(Cell::List(vec![1.0, 1e300])).contains("numbers must be finite, got `1000"));
    assert!(refused(Cell::Text("good")).contains("got `good`"));
    assert!(entry(r#", "fit": true"#).expect_err("fitted").contains("`fit` is fitted on the rows"));
    assert!(
        entry(r#", "buckets": 4"#).expect_err("foreign").contains("`buckets` does not belong to kind `transformer`")
    );
}

/// Pixels of three images of 8 × 12 in three colours.
fn pixels() -> Vec<f32> {
    (0..3 * 288_u32).map(|i| (i * 7919 % 253) as f32).collect()
}

const PHOTO: &str =
    "format = \"efface-schema-1\"\n[[column]]\nname = \"NAME\"\nkind = \"image\"\nheight = 8\nwidth = 12\n";

fn photo(name: &str) -> Schema {
    schema(&PHOTO.replace("NAME", name))
}

fn photo_of(name: &str, height: &str) -> Schema {
    schema(&PHOTO.replace("NAME", name).replace("height = 8\n", height))
}

/// A PNG file.
pub(crate) fn picture(pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 12, 8);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels)).expect("in memory");
    file
}

fn scattered() -> FeatureValues {
    let map = ScatteringMap::new(ImageShape { height: 8, width: 12, channels: 3, resize: false }).expect("valid");
    let mut features = vec![0.0; 3 * map.n_features()];
    map.apply_block(&pixels(), &mut features).expect("whole images");
    FeatureValues::F32(features)
}

#[test]
fn an_image_is_a_list_of_pixels_a_file_or_a_row_of_an_array() {
    let mut lists = ListBuilder::new(Float32Builder::new());
    pixels().chunks_exact(288).for_each(|image| lists.append_value(image.iter().copied().map(Some)));
    let (_folder, path) = file("t.parquet", &parquet(vec![("photo", Arc::new(lists.finish()))]));
    let table = read_table(&path, &Columns::default(), Some(&photo("photo"))).expect("valid");
    assert_eq!(table.features(), &scattered());
    assert_eq!(table.feature_names().last().map(String::as_str), Some("photo[485]"));

    let bytes: Vec<u8> = pixels().into_iter().map(|pixel| pixel as u8).collect();
    let pictures: Vec<Vec<u8>> = bytes.chunks_exact(288).map(picture).collect();
    let column = BinaryArray::from_iter_values(&pictures);
    let (_folder, path) = file("t.parquet", &parquet(vec![("photo", Arc::new(column))]));
    let table = read_table(&path, &Columns::default(), Some(&photo("photo"))).expect("valid");
    assert_eq!(table.features(), &scattered());

    let (folder, path) = file("t.csv", b"photo\npictures/0.png\n./pictures/1.png\n pictures/2.png\n");
    std::fs::create_dir(folder.path().join("pictures")).expect("writable");
    for (at, picture) in pictures.iter().enumerate() {
        std::fs::write(folder.path().join(format!("pictures/{at}.png")), picture).expect("writable");
    }
    let table = read_table(&path, &Columns::default(), Some(&photo("photo"))).expect("valid");
    assert_eq!(table.features(), &scattered());

    let (_folder, path) = file("t.npy", &npy("|u1", "(3, 288)", &bytes));
    let table = read_table(&path, &Columns::default(), Some(&photo("*"))).expect("valid");
    assert_eq!(table.features(), &scattered());
}

#[test]
fn what_a_map_cannot_take_is_named_by_its_row() {
    let refused = |name: &str, bytes: &[u8], schema: &Schema| {
        let (folder, path) = file(name, bytes);
        let error = read_table(&path, &Columns::default(), Some(schema)).expect_err("must be refused");
        without_folder(&error.to_string(), folder.path())
    };
    let mut bytes: Vec<u8> = pixels().iter().flat_map(|pixel| pixel.to_le_bytes()).collect();
    bytes[4 * 300..4 * 301].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert_eq!(
        refused("t.npy", &npy("<f4", "(3, 288)", &bytes), &photo("*")),
        "t.npy, row 1, column `x12`: features must be finite, got `inf`"
    );
    assert_eq!(
        refused("t.npy", &npy("|u1", "(2, 3)", &[1; 6]), &photo("*")),
        "t.npy, row 0, column `*`: 3 values in the list, expected 288"
    );
    let elsewhere = refused("t.csv", b"photo\na.png\n", &photo("photo"));
    assert!(elsewhere.starts_with("t.csv, line 2, column `photo`: `a.png`: No such file"), "{elsewhere}");
    for name in ["../a.png", "/etc/passwd", "a/../../b.png"] {
        assert_eq!(
            refused("t.csv", format!("photo\n{name}\n").as_bytes(), &photo("photo")),
            format!(
                "t.csv, line 2, column `photo`: `{name}` leads out of the table's folder; pictures are named from there"
            )
        );
    }
    let folder = refused("t.csv", b"photo\n.\n", &photo("photo"));
    assert_eq!(folder, "t.csv, line 2, column `photo`: `.`: it is no plain file");
    let small =
        parquet(vec![("photo", Arc::new(BinaryArray::from_iter_values([picture(&[9; 288]), b"GIF".to_vec()])))]);
    assert_eq!(
        refused("t.parquet", &small, &photo("photo")),
        "t.parquet, row 1, column `photo`: not a PNG or JPEG file"
    );
    let taller = photo_of("photo", "height = 16\n");
    assert_eq!(
        refused("t.parquet", &small, &taller),
        "t.parquet, row 0, column `photo`: the picture is 12 pixels wide and 8 high, expected 12 wide and 16 high"
    );
    let strict = schema(&REVIEWS.replace("missing = \"slot\"", ""));
    let missing = refused("t.csv", b"stars,review\n1,fine\n2,\n", &strict);
    assert!(missing.starts_with("t.csv, line 3, column `review`: "), "{missing}");
}

#[test]
fn parameters_that_no_map_has_are_refused_when_a_schema_is_read() {
    let message = |text: &str| Schema::parse(text).expect_err("must be refused").to_string();
    for (from, to, part) in [
        ("buckets = 64", "buckets = 60", "column `review`: buckets must be a power of two, got `60`"),
        ("buckets = 64\n", "", "kind `text` needs buckets"),
        ("[2, 4]", "[4, 2]", "n-grams of characters must go from at least 1 up to at most 16, got `4` to `2`"),
        ("missing = \"slot\"", "missing = { value = \"none\" }", "texts and images can be missing as"),
        ("missing = \"slot\"", "height = 8", "`height` does not belong to kind `text`"),
        ("seed = 3", "seeds = 3", "unknown field `seeds`"),
        ("width = 24", "width = 0", "[fourier]: width must be at least 1 and at most 1048576, got `0`"),
        ("width = 24", "width = 200000", "200000 features"),
        ("kind = \"numeric\"\nrange = [0, 10]\nmissing = \"zero\"", "kind = \"derived\"", "column `stars` is derived"),
    ] {
        let text = format!("{REVIEWS}{LAYER}");
        assert!(text.contains(from), "{from}");
        let message = message(&text.replacen(from, to, 1));
        assert!(message.contains(part), "{to}: {message}");
    }
    let flat = message(&PHOTO.replace("height = 8", "height = 9"));
    assert!(flat.contains("column `NAME`: height must be a multiple of 4, got `9`"), "{flat}");
}
