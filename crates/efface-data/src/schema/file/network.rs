//! Entries of networks: the files that they name, and what stands in the place of the names once these are read.

use std::fs;
use std::path::{Path, PathBuf};

use efface_core::accounting::statement::Statement;
use efface_features::NetworkSpec;
use serde::Deserialize;

use super::ColumnEntry;
use crate::error::{InvalidSchema, SchemaError};
use crate::networks::{AskedInput, measured};
use crate::schema::column::ColumnKind;

/// In a schema file the name of a file; in JSON what stands in it.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "statement must be the name of a file, or what stands in it")]
pub(super) enum StatementEntry {
    Whole(Box<Statement>),
    File(PathBuf),
}

impl ColumnEntry {
    /// Puts what files hold in the place of their names; returns the files of the network. `schema` is for messages.
    pub(super) fn read_files(&mut self, folder: &Path, schema: &Path) -> Result<Vec<PathBuf>, SchemaError> {
        self.read_statement(folder, schema)?;
        let invalid = |source| SchemaError::Invalid { file: schema.into(), source: Box::new(source) };
        let Some((onnx, input)) = self.asked_network(folder).map_err(invalid)? else { return Ok(Vec::new()) };
        let files = std::iter::once(onnx.clone()).chain(input.tokenizer().map(Path::to_owned)).collect();
        let network = measured(&onnx, input).map_err(|source| {
            let (file, column, source) = (schema.into(), self.name.clone(), Box::new(source));
            SchemaError::Network { file, column, source }
        })?;
        self.name_network(network);
        Ok(files)
    }

    /// The network of an entry that names files, in a folder unless they say otherwise.
    fn asked_network(&self, folder: &Path) -> Result<Option<(PathBuf, AskedInput)>, InvalidSchema> {
        let Some(file) = self.file.as_ref().filter(|_| self.kind == "network") else { return Ok(None) };
        let onnx = folder.join(file);
        if let Some(tokenizer) = &self.tokenizer {
            let needed = "max_tokens beside a tokenizer, such as max_tokens = 128";
            let max_tokens = self.size("network", "max_tokens", self.max_tokens, needed)?;
            return Ok(Some((onnx, AskedInput::Text { tokenizer: folder.join(tokenizer), max_tokens })));
        }
        let shape = self.image("network")?;
        let or = |given: &Option<Vec<f32>>, usual| given.clone().unwrap_or_else(|| vec![usual; shape.channels]);
        let (mean, deviation) = (or(&self.mean, 0.0), or(&self.deviation, 1.0));
        Ok(Some((onnx, AskedInput::Image { shape, mean, deviation })))
    }

    /// Says which network that is, in place of the names of files.
    fn name_network(&mut self, NetworkSpec { onnx, features, input }: NetworkSpec) {
        (self.onnx, self.features, self.input) = (Some(onnx), Some(features as u64), Some(input));
        (self.file, self.tokenizer, self.max_tokens, self.resize) = (None, None, None, None);
        (self.height, self.width, self.channels, self.mean, self.deviation) = (None, None, None, None, None);
    }

    /// Puts what stands in the statement's file in the place of its name.
    fn read_statement(&mut self, folder: &Path, schema: &Path) -> Result<(), SchemaError> {
        let Some(StatementEntry::File(file)) = &self.statement else { return Ok(()) };
        let file = folder.join(file);
        let text = fs::read_to_string(&file).map_err(|source| SchemaError::Io { file: file.clone(), source })?;
        let statement = serde_json::from_str(&text).map_err(|error| SchemaError::Statement {
            file: schema.into(),
            column: self.name.clone(),
            statement: file,
            reason: error.to_string(),
        })?;
        self.statement = Some(StatementEntry::Whole(Box::new(statement)));
        Ok(())
    }

    pub(super) fn network(&self) -> Result<ColumnKind, InvalidSchema> {
        let needed = "file, the name of an ONNX file";
        let features = self.size("network", "features", self.features, needed)?;
        let (Some(onnx), Some(input)) = (self.onnx.clone(), self.input.clone()) else {
            return Err(self.needs("network", needed));
        };
        let statement = match self.statement.clone() {
            Some(StatementEntry::Whole(statement)) => Some(statement),
            Some(StatementEntry::File(_)) => {
                return Err(self.needs("network", "a schema file, where its statement is a file"));
            }
            None => None,
        };
        if let Some(statement) = statement.as_ref().filter(|statement| statement.fields().digest != onnx) {
            let stated = statement.fields().digest.clone();
            return Err(InvalidSchema::OtherNetwork { column: self.name.clone(), stated, found: onnx });
        }
        Ok(ColumnKind::Network { spec: NetworkSpec { onnx, features, input }, statement })
    }
}
