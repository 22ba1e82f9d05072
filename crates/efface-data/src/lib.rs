//! Where rows live: readers, row-local scaling, row and subject ids, rows in memory and on disk.
//!
//! ```text
//! file ──read_table──▶ Table ──encode_table──▶ EncodedRows ──of_encoded──▶ MemoryRows   rows in memory
//!        (checked)              (scaled, labelled)         └───append────▶ StoredRows   rows in segments, purged in place
//! ```
//!
//! A [`Schema`] makes features of raw columns (categories, texts, numbers of any size) on the first arrow, row by row.
//! [`open_table`] delivers the same tables in chunks, for files larger than memory.
//!
//! Each arrow checks what the next one relies on: a [`Table`] has finite features and unique ids, [`EncodedRows`] have
//! norms within the bound and known labels, [`StoredRows`] have records whose checksums match. Stores know rows by their
//! positions; which id is where is for their owner to know.

pub mod derived;
#[expect(missing_docs, reason = "the fields of an error are named after what they hold")]
mod error;
pub mod export;
pub mod files;
mod id;
mod images;
mod labels;
mod lent;
mod networks;
mod read;
mod rows;
mod scale;
mod schema;
mod stored;
mod table;
mod vault;

pub use error::{
    AppendError, CellError, EncodeError, ExpectedBy, ExportError, ImagesError, InvalidSchema, LabelError, LookupError,
    NetworkError, ParseScaleError, ReadError, ScaleError, SchemaError, SegmentError, StoredRowsError,
};
pub use id::{IdDigest, IdKey, IdKind, RowId};
pub use images::{ImageReader, ImageTable, LabelledImages};
pub use labels::{ClassCollector, ClassWeights, LabelCodec, MAX_CLASSES};
pub use lent::{
    Interrupted, LentRows, LentTable, LentVault, RowSpec, RowsError, RowsToLend, Scaling, longest_row, scaled, scores,
};
pub use networks::NetworkPlaces;
pub use read::{
    Binary, FirstLine, ReadProgress, Source, TableReader, UnreadableColumn, carries_labels, is_array, open_rows,
    open_table, read_all, read_table,
};
pub use rows::{EncodedRows, FeatureOrder, FeatureValues, MemoryRows, Precision, encode_table};
pub use scale::{NORM_TOLERANCE, RowTransform, Scale};
pub use schema::cell::Cell;
pub use schema::{
    ALL_COLUMNS, CellEncoder, CellSource, ColumnKind, ColumnSchema, DateOrder, DecimalMark, EncodedCells, EntryOrigin,
    LeftOut, MAX_FEATURES, Missing, Notation, ProposedColumn, Scalar, Schema, SchemaProposal, TakeCell,
    USUAL_MISSING_MARKERS, Unknown, ValueRange, network_schema, propose,
};
pub use stored::{Access, PositionSet, RowLayout, StoredRows};
pub use table::{Columns, Labels, Origin, Place, RawLabels, Remark, RowNumber, StrayTexts, Table, TableParts};
pub use vault::{Vault, VaultError};
