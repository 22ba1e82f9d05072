//! Seeds of Parquet files: every compression, both versions of pages, dictionaries and plain values, lists.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::{seed, seed_with_damage};

pub(super) fn write() {
    let properties = |compression| {
        WriterProperties::builder()
            .set_compression(compression)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(Some(20))
    };
    let plain = properties(Compression::UNCOMPRESSED).set_dictionary_enabled(false);
    seed_with_damage("parquet", "plain", &parquet(25, plain.build()));
    let version_2 = properties(Compression::SNAPPY).set_writer_version(WriterVersion::PARQUET_2_0);
    seed_with_damage("parquet", "version-2", &parquet(25, version_2.build()));
    for (name, compression) in [
        ("snappy", Compression::SNAPPY),
        ("lz4", Compression::LZ4_RAW),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("gzip", Compression::GZIP(GzipLevel::default())),
    ] {
        seed("parquet", name, parquet(10, properties(compression).build()));
    }
    seed("parquet", "with-statistics", parquet(5, WriterProperties::default()));
    write_absurd_footers();
}

/// Footers of a group `s` and a column `a` that announce 2³¹ − 1 of something, or groups within groups.
fn write_absurd_footers() {
    let file = |footer: &[&[u8]]| {
        let footer = footer.concat();
        [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
    };
    let most: &[u8] = &[0xfe, 0xff, 0xff, 0xff, 0x0f];
    let (group, column): (&[u8], &[u8]) = (&[0x48, 1, b's', 0x15, 2, 0], &[0x15, 2, 0x25, 0, 0x18, 1, b'a', 0]);
    let children = [&[0x15, 2, 0x19, 0x2c, 0x48, 1, b's', 0x15], most, &[0], column, &[0x16, 0, 0x19, 0x0c, 0]];
    seed("parquet", "announces-children", file(&children));
    let row_groups = [&[0x15, 2, 0x19, 0x2c], group, column, &[0x16, 0, 0x19, 0xfc], &most[1..], &[0]];
    seed("parquet", "announces-row-groups", file(&row_groups));
    let nested = [&[0x15, 2, 0x19, 0xfc, 0xf5, 0x03], &group.repeat(500)[..], column, &[0]];
    seed("parquet", "nested-groups", file(&nested));
}

fn parquet(n: usize, properties: WriterProperties) -> Vec<u8> {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in 0..n {
        lists.append_value((0..3).map(|element| Some((row + element) as f32 / 8.0)));
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("emb", Arc::new(lists.finish())),
        ("a", Arc::new((0..n).map(|row| Some(row as f64 / 4.0)).collect::<Float64Array>())),
        ("b", Arc::new((0..n).map(|row| Some((row % 3) as f32)).collect::<Float32Array>())),
        ("id", Arc::new((0_i64..).take(n).map(|row| 3 * row).collect::<Int64Array>())),
        ("who", Arc::new((0..n).map(|row| Some(format!("{}", row / 4))).collect::<StringArray>())),
        ("y", Arc::new((0..n).map(|row| Some(row % 2 == 0)).collect::<BooleanArray>())),
    ];
    // Texts are no features: the file is read by its roles, and without `who` as it is.
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}
