//! Street View House Numbers: 32 × 32 pixels in colours, ten classes.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use efface_data::{Cell, CellEncoder, CellError, CellSource, FeatureValues, Origin, Schema, TakeCell};
use efface_images::{OtherSizes, Shape, pixels};
use flate2::read::GzDecoder;

use super::{DataSet, Source, find, rows_of};
use crate::{ExperimentError, Result};

const SOURCE: Source =
    Source { name: "SVHN", folder: "svhn", published: "http://ufldl.stanford.edu/housenumbers (cropped digits)" };

/// Pixels per side.
pub(crate) const SVHN_SIDE: usize = 32;

/// Numbers per pixel.
pub(crate) const SVHN_CHANNELS: usize = 3;

/// Digits.
pub(crate) const SVHN_CLASSES: u32 = 10;

/// Pictures to train on, and pictures to test on.
pub(crate) struct Pictures {
    pub(crate) train: Split,
    pub(crate) test: Split,
}

/// Pictures, one after another, each row by row with its colours together, and their digits.
pub(crate) struct Split {
    pub(crate) pixels: Vec<u8>,
    pub(crate) labels: Vec<u8>,
}

/// All pictures. A quick run sees 600 of each split.
pub(crate) fn svhn_pictures(data: &Path, quick: bool) -> Result<Pictures> {
    let split = |name| Split::read(data, name, if quick { 600 } else { usize::MAX });
    Ok(Pictures { train: split("train")?, test: split("test")? })
}

/// What a fixed map makes of the pictures: scattering, and as many random cosines of it as a quick or a full run takes.
pub(crate) fn svhn(data: &Path, quick: bool) -> Result<DataSet> {
    svhn_pictures(data, quick)?.by_fixed_map(if quick { 64 } else { 2048 }, &mut |_| {})
}

impl Pictures {
    /// Scattering, and `width` random cosines of it: the features that the same schema gives everywhere.
    ///
    /// `tell` is called with the number of pictures that are done.
    pub(crate) fn by_fixed_map(&self, width: usize, tell: &mut dyn FnMut(usize)) -> Result<DataSet> {
        let schema = Schema::parse(&format!(
            "format = \"efface-schema-1\"\n\
             [[column]]\nname = \"picture\"\nkind = \"image\"\nheight = {SVHN_SIDE}\nwidth = {SVHN_SIDE}\norigin = \"public\"\n\
             [fourier]\nwidth = {width}\nlength_scale = {LENGTH_SCALE}\n"
        ))?;
        let transform = schema.usual_transform();
        let mut encoder = CellEncoder::new(&schema)?;
        let mut done = 0;
        let mut rows = |split: &Split| {
            let mut go_on = |n| {
                tell(done + n);
                true
            };
            let encoded = encoder.encode(split, &Origin::new(SOURCE.name), &mut go_on)?;
            done += split.n_pictures();
            let features = encoded.map_or(FeatureValues::F32(Vec::new()), |encoded| encoded.features);
            rows_of(features, width, (split.classes(), SVHN_CLASSES), &transform)
        };
        Ok(DataSet { name: SOURCE.name, n_classes: SVHN_CLASSES, train: rows(&self.train)?, test: rows(&self.test)? })
    }

    /// How many there are in both splits.
    pub(crate) fn n_pictures(&self) -> usize {
        self.train.n_pictures() + self.test.n_pictures()
    }
}

impl Split {
    /// The first `most` pictures of a split, from mosaics of 64 × 64 pictures.
    fn read(data: &Path, name: &str, most: usize) -> Result<Self> {
        let path = find(data, &SOURCE, &format!("{name}-labels.bin.gz"))?;
        let unreadable = |what: String| ExperimentError::Unexpected { path: path.clone(), what };
        let mut labels = Vec::new();
        let file = File::open(&path).map_err(|error| unreadable(error.to_string()))?;
        GzDecoder::new(file).read_to_end(&mut labels).map_err(|error| unreadable(error.to_string()))?;
        if let Some(label) = labels.iter().find(|label| u32::from(**label) >= SVHN_CLASSES) {
            return Err(unreadable(format!("label {label} is no digit")));
        }
        let n_pictures = labels.len().min(most);
        let mut pixels = Vec::with_capacity(n_pictures * SVHN_SIDE * SVHN_SIDE * SVHN_CHANNELS);
        for (mosaic, first) in (0..n_pictures).step_by(PER_MOSAIC).enumerate() {
            let height = (labels.len() - first).min(PER_MOSAIC).div_ceil(PER_ROW) * SVHN_SIDE;
            let mosaic = read_mosaic(data, &format!("{name}-{mosaic:02}.jpg"), height)?;
            for tile in 0..(n_pictures - first).min(PER_MOSAIC) {
                let (top, left) = (tile / PER_ROW * SVHN_SIDE, tile % PER_ROW * SVHN_SIDE);
                for y in top..top + SVHN_SIDE {
                    let start = (y * PER_ROW * SVHN_SIDE + left) * SVHN_CHANNELS;
                    pixels.extend(mosaic[start..start + SVHN_SIDE * SVHN_CHANNELS].iter().map(|pixel| *pixel as u8));
                }
            }
        }
        labels.truncate(n_pictures);
        Ok(Self { pixels, labels })
    }

    pub(crate) fn n_pictures(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn classes(&self) -> Vec<f64> {
        self.labels.iter().map(|label| f64::from(*label)).collect()
    }
}

/// The pixels of a mosaic of this height.
fn read_mosaic(data: &Path, name: &str, height: usize) -> Result<Vec<f32>> {
    let path = find(data, &SOURCE, name)?;
    let shape = Shape { height, width: PER_ROW * SVHN_SIDE, channels: SVHN_CHANNELS };
    let decoded = fs::read(&path).map_err(|error| error.to_string()).and_then(|file| {
        let pixels = pixels(&file, shape, OtherSizes::Refused);
        pixels.map_err(|error| error.to_string())
    });
    decoded.map_err(|what| ExperimentError::Unexpected { path, what })
}

impl CellSource for Split {
    fn n_rows(&self) -> usize {
        self.n_pictures()
    }

    fn visit(&self, _column: usize, row: usize, take: &mut TakeCell<'_>) -> Result<(), CellError> {
        let size = SVHN_SIDE * SVHN_SIDE * SVHN_CHANNELS;
        take(&Cell::List(self.pixels[row * size..][..size].iter().map(|pixel| f64::from(*pixel)).collect()))
    }
}

/// Pictures side by side in a mosaic.
const PER_ROW: usize = 64;

/// Pictures in a mosaic that is full.
const PER_MOSAIC: usize = PER_ROW * PER_ROW;

/// The distance at which two pictures become unlike each other.
const LENGTH_SCALE: f64 = 0.5;
