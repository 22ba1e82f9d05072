//! Labelled images as pixels, to train a network on: from every kind of table that a schema takes images from.

use efface_features::ImageShape;
use zeroize::Zeroizing;

use crate::error::{EncodeError, ImagesError, LabelError, ReadError};
use crate::labels::{ClassCollector, LabelCodec};
use crate::read::{FirstLine, ReadProgress, Source, TableReader, open_table};
use crate::rows::FeatureValues;
use crate::schema::{ColumnKind, ColumnSchema, EntryOrigin, MAX_FEATURES, Missing, Schema};
use crate::table::Columns;

/// Which columns are what, and what images have to be.
#[derive(Clone, Debug)]
pub struct ImageTable {
    /// The images: names of PNG or JPEG files from the table's folder, bytes of such files, or lists of pixels; `*` for the
    /// rows of an array.
    pub image: String,
    /// The labels; for an array the file with them.
    pub label: String,
    /// The classes, where they are declared; otherwise they are those that the labels name.
    pub classes: Option<Vec<String>>,
    /// The size of images.
    pub shape: ImageShape,
}

/// Images of one size, and the class of each.
pub struct LabelledImages {
    /// One image after another, each row by row with its channels together.
    pub pixels: Zeroizing<Vec<u8>>,
    /// One per image: the index of its class.
    pub labels: Vec<usize>,
    /// The classes, at least two.
    pub classes: Vec<String>,
}

/// Reads images chunk by chunk.
pub struct ImageReader {
    rows: Box<dyn TableReader>,
    n_pixels: usize,
    pixels: Zeroizing<Vec<u8>>,
    labels: Vec<f64>,
    /// Where classes are declared.
    declared: Option<LabelCodec>,
    found: ClassCollector,
}

impl ImageReader {
    /// Opens a table.
    pub fn open(source: impl Into<Source>, table: ImageTable) -> Result<Self, ImagesError> {
        let ImageTable { image, label, classes, shape } = table;
        let ImageShape { height, width, channels, .. } = shape;
        let n_pixels = height.checked_mul(width).and_then(|n| n.checked_mul(channels)).unwrap_or(usize::MAX);
        if !(1..=MAX_FEATURES).contains(&n_pixels) || ![1, 3].contains(&channels) {
            return Err(ImagesError::Size { height, width, channels });
        }
        let columns = Columns { label: Some(label), ..Columns::default() };
        let rows = open_table(source, &columns, Some(&pixels_of(&image, shape))).map_err(|error| match error {
            // The user has named the column, and no schema has.
            ReadError::SchemaColumn { file, column, known, .. } => {
                ReadError::MissingColumn { file, column, known, first_line: FirstLine::Names }
            }
            error => error,
        })?;
        Ok(Self {
            rows,
            n_pixels,
            pixels: Zeroizing::default(),
            labels: Vec::new(),
            declared: classes.map(LabelCodec::Classes),
            found: ClassCollector::new(true),
        })
    }

    /// Reads some rows; `false` when all have been read.
    pub fn read_chunk(&mut self) -> Result<bool, ImagesError> {
        let n_rows = (CHUNK_PIXELS / self.n_pixels).clamp(16, 4096);
        let Some(chunk) = self.rows.next_chunk(n_rows)? else { return Ok(false) };
        let labels = match (&self.declared, chunk.labels()) {
            (Some(classes), Some(labels)) => classes.encode(labels).map_err(EncodeError::from)?,
            _ => self.found.push_table(&chunk, |_| true)?,
        };
        self.labels.extend(labels);
        match chunk.features() {
            // Whole numbers from 0 to 255.
            FeatureValues::F32(pixels) => self.pixels.extend(pixels.iter().map(|x| *x as u8)),
            FeatureValues::F64(pixels) => self.pixels.extend(pixels.iter().map(|x| *x as u8)),
        }
        Ok(true)
    }

    /// How far the table has been read.
    pub fn progress(&self) -> ReadProgress {
        self.rows.progress()
    }

    /// All that was read.
    pub fn finish(self) -> Result<LabelledImages, LabelError> {
        let (codec, mapping) = match self.declared {
            Some(codec) => (codec, Vec::new()),
            None => self.found.finish()?,
        };
        // Labels are indices of classes, or provisional numbers that the mapping leads to them.
        let index = |label: &f64| mapping.get(*label as usize).map_or(*label, |index| *index) as usize;
        let labels = self.labels.iter().map(index).collect();
        Ok(LabelledImages { pixels: self.pixels, labels, classes: codec.classes().to_vec() })
    }
}

/// The pixels of one column.
fn pixels_of(column: &str, shape: ImageShape) -> Schema {
    Schema::of(ColumnSchema {
        name: column.to_owned(),
        kind: ColumnKind::Pixels(shape),
        missing: Missing::Error,
        origin: EntryOrigin::Public,
    })
}

/// Pixels that are read at a time.
const CHUNK_PIXELS: usize = 1 << 21;
