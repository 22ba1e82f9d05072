//! Pictures, private networks that were trained on them, and models behind those.

use std::fs;
use std::iter;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use efface_core::accounting::Extractor;
use efface_data::{ALL_COLUMNS, Columns, Schema, network_schema};
use efface_engine::extractor::{
    ExtractorPlace, ExtractorRequest, ExtractorTraining, ImageShape, Privacy, train_extractor,
};
use efface_engine::{EngineError, Place, TrainReport};
use serde_json::Value;
use tempfile::TempDir;

use crate::victim::{Victim, make};

/// Pictures, and two networks that were trained on them with privacy: `first` on all, `other` on those that stay.
pub(crate) struct Pictures(TempDir);

impl Pictures {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let this = Self(tempfile::tempdir()?);
        this.write("all", 0..N_ROWS)?;
        this.write("rest", (0..N_ROWS).filter(|i| !(3..7).contains(i)))?;
        this.write("more", iter::once(N_ROWS))?;
        for (name, rows) in [("first", "all"), ("other", "rest")] {
            let training = ExtractorTraining {
                privacy: Privacy::Noise { noise_multiplier: 8.0, clip: 1.0 },
                delta: 1e-6,
                group: GROUP,
                n_features: 8,
                epochs: Some(1.0),
                expected_batch: Some(16),
                learning_rate: None,
                momentum: None,
            };
            let request = ExtractorRequest {
                source: this.path(&format!("{rows}.npy")).into(),
                image: None,
                label: this.columns(rows).label,
                classes: None,
                public_rows: None,
                shape: SHAPE,
                training,
                place: ExtractorPlace { network: this.network(name), statement: None, checkpoint: None },
            };
            train_extractor(&request, &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(this)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn network(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.onnx"))
    }

    pub(crate) fn place(&self, out: &str) -> Place {
        Place { out: self.path(out), ..Place::default() }
    }

    pub(crate) fn columns(&self, name: &str) -> Columns {
        let file = |role: &str| Some(self.path(&format!("{name}-{role}.npy")).display().to_string());
        Columns { label: file("labels"), id: file("ids"), ..Columns::default() }
    }

    /// Bars across or down, with noise: as arrays of pixels, labels and ids.
    fn write(&self, name: &str, rows: impl Iterator<Item = usize> + Clone) -> anyhow::Result<()> {
        let pixel = |i: usize, at: usize| {
            let bar = if i.is_multiple_of(2) { at / 16 } else { at % 16 } / 4 % 2;
            (60.0 + 90.0 * bar as f64 + 50.0 * (((i + 1) * (at + 7)) as f64).sin()) as u8
        };
        let pixels: Vec<u8> = rows.clone().flat_map(|i| (0..256).map(move |at| pixel(i, at))).collect();
        let labels: Vec<u8> = rows.clone().map(|i| (i % 2) as u8).collect();
        let id = |i: usize| format!("row-{i}");
        let ids: Vec<u8> = rows.flat_map(|i| format!("{:\0<6}", id(i)).into_bytes()).collect();
        let n = labels.len();
        let arrays = [
            ("", "|u1", format!("({n}, 256)"), pixels),
            ("-labels", "|u1", format!("({n},)"), labels),
            ("-ids", "|S6", format!("({n},)"), ids),
        ];
        for (role, element, shape, data) in arrays {
            let header = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
            let file: [&[u8]; 4] = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes(), header.as_bytes(), &data];
            fs::write(self.path(&format!("{name}{role}.npy")), file.concat())?;
        }
        Ok(())
    }

    /// The statement of the first network with something changed in it, under a name of its own.
    pub(crate) fn edit_statement(&self, name: &str, edit: impl FnOnce(&mut Value)) -> anyhow::Result<()> {
        let mut stated = serde_json::from_slice(&fs::read(self.path("first.statement.json"))?)?;
        edit(&mut stated);
        Ok(fs::write(self.path(&format!("{name}.statement.json")), stated.to_string())?)
    }

    /// A schema that names a network and its statement; without one it calls the network public.
    pub(crate) fn schema(&self, network: &str, statement: Option<&str>) -> Result<Schema, EngineError> {
        let statement = statement.map(|name| self.path(&format!("{name}.statement.json")));
        let text = network_schema((ALL_COLUMNS, None), (&self.network(network), statement.as_deref()), SHAPE);
        Ok(Schema::parse(&if statement.is_some() { text } else { text + "origin = \"public\"\n" })?)
    }

    /// Makes a model with the share of its network in the promise.
    pub(crate) fn train(&self, schema: Schema, rows: &str, place: Place) -> Result<TrainReport, EngineError> {
        let share = share_of(&schema);
        make(&self.path(&format!("{rows}.npy")), self.columns(rows), Some(schema), share, place)
    }

    /// A model behind the first network that one row has left.
    pub(crate) fn victim(&self, witness: Option<&Path>) -> anyhow::Result<Victim> {
        Victim::trained_by(|out| {
            let place = Place { out: out.into(), witness: witness.map(Into::into), ..Place::default() };
            self.train(self.schema("first", Some("first"))?, "all", place)?;
            Ok(())
        })
    }
}

/// What the statement of a schema's network promises to the group.
pub(crate) fn share_of(schema: &Schema) -> Option<Extractor> {
    schema.private_network().and_then(|(_, stated)| stated.extractor(GROUP).ok())
}

/// So many rows may leave.
pub(crate) const GROUP: usize = 3;

const SHAPE: ImageShape = ImageShape { height: 16, width: 16, channels: 1, resize: false };
const N_ROWS: usize = 96;
