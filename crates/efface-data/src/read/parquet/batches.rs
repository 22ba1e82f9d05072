//! Batches of rows of a Parquet file, in bounded memory.
//!
//! A decoder holds a page and a dictionary of every column, a megabyte each as a rule, for as long as it is at work. That
//! is nothing for a few columns, and nothing for small row groups; but hundreds of columns in a large row group take
//! hundreds of megabytes. Such a file is read in blocks of rows, and each block a band of columns at a time: the decoder
//! of a band is let go before the next one begins. Pages that lie before a block are passed over by their heads, and
//! those that two blocks share are decompressed twice.

use arrow_array::{RecordBatch, RecordBatchReader};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::{ParquetError, Result};

use super::pages::PageFile;
use crate::rows::Precision;

/// The rows of some columns, in the order of the file.
pub(super) enum Batches {
    Stream(Box<ParquetRecordBatchReader>),
    /// Blocks of rows, bands of columns.
    Bands(Box<Bands>),
}

impl Batches {
    /// Reads the columns `roots`, side by side in batches of `batch_rows` if their decoders do not take too much memory.
    /// Most values are of the `precision`.
    pub(super) fn new(
        file: PageFile,
        metadata: ArrowReaderMetadata,
        roots: &[usize],
        precision: Precision,
        batch_rows: usize,
    ) -> Result<Self> {
        // What lies before a block of lists is not told by the heads of pages: it would be decoded for every block.
        if file.has_lists || decoder_bytes(&metadata, roots) <= MAX_DECODER_BYTES {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let projection = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
            let reader = builder.with_batch_size(batch_rows).with_projection(projection).build()?;
            return Ok(Self::Stream(Box::new(reader)));
        }
        let row_bytes = roots.len().max(1) * precision.bytes();
        let block_rows = (BLOCK_BYTES / row_bytes).clamp(1, MAX_BLOCK_ROWS);
        let roots = roots.chunks(BAND_COLUMNS).map(<[usize]>::to_vec).collect();
        Ok(Self::Bands(Box::new(Bands { file, metadata, roots, block_rows, group: 0, row: 0 })))
    }

    /// The next rows; `None` when there are no more.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            Self::Stream(reader) => Ok(reader.next().transpose()?),
            Self::Bands(bands) => bands.next_block(),
        }
    }
}

/// A file that is read in blocks of rows and bands of columns.
pub(super) struct Bands {
    file: PageFile,
    metadata: ArrowReaderMetadata,
    roots: Vec<Vec<usize>>,
    block_rows: usize,
    /// Where the next block begins.
    group: usize,
    row: usize,
}

impl Bands {
    fn next_block(&mut self) -> Result<Option<RecordBatch>> {
        let n_rows = loop {
            let Some(group) = self.metadata.metadata().row_groups().get(self.group) else { return Ok(None) };
            match usize::try_from(group.num_rows())?.saturating_sub(self.row) {
                0 => (self.group, self.row) = (self.group + 1, 0),
                n_left => break n_left.min(self.block_rows),
            }
        };
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for band in &self.roots {
            let mut reader = self.open(band, n_rows)?;
            let schema = reader.schema();
            let batch = reader.next().transpose()?.filter(|batch| batch.num_rows() == n_rows);
            let batch = batch.ok_or_else(|| ParquetError::General(format!("row group {} is too short", self.group)))?;
            fields.extend(schema.fields().iter().cloned());
            columns.extend_from_slice(batch.columns());
        }
        self.row += n_rows;
        let schema = arrow_schema::Schema::new(fields);
        Ok(Some(RecordBatch::try_new(schema.into(), columns)?))
    }

    fn open(&self, band: &[usize], n_rows: usize) -> Result<ParquetRecordBatchReader> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone());
        let projection = ProjectionMask::roots(builder.parquet_schema(), band.iter().copied());
        let rows = RowSelection::from(vec![RowSelector::skip(self.row), RowSelector::select(n_rows)]);
        builder
            .with_row_groups(vec![self.group])
            .with_row_selection(rows)
            .with_batch_size(n_rows)
            .with_projection(projection)
            .build()
    }
}

/// What decoders of these columns may hold at a time: of each a page and a dictionary, or less if it has less.
fn decoder_bytes(metadata: &ArrowReaderMetadata, roots: &[usize]) -> u64 {
    let schema = metadata.metadata().file_metadata().schema_descr();
    let of_group = |columns: &[parquet::file::metadata::ColumnChunkMetaData]| -> u64 {
        let columns = columns.iter().enumerate().filter(|(leaf, _)| {
            *leaf < schema.num_columns() && roots.binary_search(&schema.get_column_root_idx(*leaf)).is_ok()
        });
        columns.map(|(_, column)| u64::try_from(column.uncompressed_size()).unwrap_or(0).min(COLUMN_BYTES)).sum()
    };
    metadata.metadata().row_groups().iter().map(|group| of_group(group.columns())).max().unwrap_or(0)
}

/// A page and a dictionary, decompressed, and the page as it was.
const COLUMN_BYTES: u64 = 3 << 20;

/// More than this is not held by decoders side by side.
const MAX_DECODER_BYTES: u64 = 160 << 20;

const BAND_COLUMNS: usize = 24;

/// Bytes of the values of a block. Smaller blocks would decompress more pages and dictionaries more often.
const BLOCK_BYTES: usize = 96 << 20;

const MAX_BLOCK_ROWS: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type};
    use arrow_array::{ArrayRef, Float32Array, Float64Array, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ArrowReaderOptions;
    use parquet::file::properties::WriterProperties;

    use super::*;

    /// Five columns of 250 rows in groups of 100, pages of 16 rows, dictionaries that are given up half-way.
    fn file() -> (PageFile, ArrowReaderMetadata) {
        let singles = |seed: usize| (0..250).map(|row| Some((row * seed % 97) as f32)).collect::<Float32Array>();
        let doubles = (0..250).map(|row| Some(f64::from(row) / 3.0)).collect::<Float64Array>();
        let texts = (0..250).map(|row| Some(format!("t{}", row % 7))).collect::<StringArray>();
        let columns: [(&str, ArrayRef); 5] = [
            ("a", Arc::new(singles(7))),
            ("b", Arc::new(doubles)),
            ("c", Arc::new(texts)),
            ("d", Arc::new(singles(11))),
            ("e", Arc::new(singles(13))),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(100))
            .set_data_page_row_count_limit(16)
            .set_write_batch_size(16)
            .set_dictionary_page_size_limit(100)
            .build();
        let file = tempfile::tempfile().expect("a temporary file");
        let copy: File = file.try_clone().expect("a handle");
        let mut writer = ArrowWriter::try_new(copy, batch.schema(), Some(properties)).expect("writable");
        writer.write(&batch).expect("writable");
        writer.close().expect("writable");
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).expect("readable");
        (PageFile { file: file.into(), has_lists: false }, metadata)
    }

    /// The cells of the columns, row by row, as texts.
    fn rows(mut batches: Batches) -> Vec<[String; 4]> {
        let mut rows = Vec::new();
        while let Some(batch) = batches.next().expect("readable") {
            let single = |column: usize| batch.column(column).as_primitive::<Float32Type>();
            let (b, c) = (batch.column(1).as_primitive::<Float64Type>(), batch.column(2).as_string::<i32>());
            rows.extend((0..batch.num_rows()).map(|row| {
                let [a, e] = [0, 3].map(|column| single(column).value(row).to_string());
                [a, b.value(row).to_string(), c.value(row).to_owned(), e]
            }));
        }
        rows
    }

    #[test]
    fn blocks_of_bands_are_the_same_rows_as_columns_side_by_side() {
        let (file, metadata) = file();
        let roots = [0, 1, 2, 4];
        let stream = Batches::new(file.clone(), metadata.clone(), &roots, Precision::F32, 33).expect("readable");
        assert!(matches!(stream, Batches::Stream(_)));
        let expected = rows(stream);
        assert_eq!(expected.len(), 250);
        for block_rows in [1, 7, 16, 64, 1000] {
            for band in [1, 3, 4] {
                let (file, metadata) = (file.clone(), metadata.clone());
                let roots = roots.chunks(band).map(<[usize]>::to_vec).collect();
                let bands = Bands { file, metadata, roots, block_rows, group: 0, row: 0 };
                assert_eq!(rows(Batches::Bands(Box::new(bands))), expected, "{block_rows} rows, {band} columns");
            }
        }
    }
}
