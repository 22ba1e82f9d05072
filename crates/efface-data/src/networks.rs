//! Networks that make features: their files, found by digest, and one opened for the cells of a column.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use efface_features::{ImageShape, NetworkInput, NetworkSpec};
use efface_onnx::{ImageInput, ImageNetwork, TextNetwork, pooled, prepend};
use sha2::{Digest, Sha256};

use crate::error::NetworkError;
use crate::files::private_options;

/// Where the files of networks are looked for. What a file is, its digest says, and not its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPlaces(Vec<PathBuf>);

impl NetworkPlaces {
    /// Files, and folders of files.
    pub fn new(places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(places.into_iter().collect())
    }

    /// What was named.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// The bytes of the file with this digest.
    fn find(&self, sha256: &str) -> Result<Vec<u8>, NetworkError> {
        for file in self.0.iter().flat_map(|place| candidates(place, sha256)) {
            let bytes = read(&file)?;
            if digest(&bytes) == sha256 {
                return Ok(bytes);
            }
        }
        let places: Vec<String> = self.0.iter().map(|place| place.display().to_string()).collect();
        let searched = if places.is_empty() { "any place".into() } else { places.join(", ") };
        Err(NetworkError::NotFound { sha256: sha256.into(), searched })
    }

    /// Whether the files of a network are all there.
    pub(crate) fn check(&self, spec: &NetworkSpec) -> Result<(), NetworkError> {
        files_of(spec).into_iter().try_for_each(|(sha256, _)| self.find(sha256).map(drop))
    }

    /// Writes the files of a network into a folder, under their digests.
    pub fn copy(&self, spec: &NetworkSpec, folder: &Path) -> Result<(), NetworkError> {
        for (sha256, extension) in files_of(spec) {
            let file = folder.join(format!("{sha256}.{extension}"));
            if !file.exists() {
                let bytes = self.find(sha256)?;
                let written = private_options().create_new(true).open(&file).and_then(|mut file| {
                    file.write_all(&bytes)?;
                    file.sync_all()
                });
                written.map_err(|source| NetworkError::Io { file, source })?;
            }
        }
        Ok(())
    }
}

/// The digests of the files of a network, and what the files are called behind the dot.
fn files_of(spec: &NetworkSpec) -> Vec<(&str, &'static str)> {
    let tokenizer = match &spec.input {
        NetworkInput::Image { .. } => None,
        NetworkInput::Text { tokenizer, .. } => Some((tokenizer.as_str(), TOKENIZER)),
    };
    [(spec.onnx.as_str(), ONNX)].into_iter().chain(tokenizer).collect()
}

/// Files that may be the one with a digest: that of its name first.
fn candidates(place: &Path, sha256: &str) -> Vec<PathBuf> {
    if !place.is_dir() {
        return if place.is_file() { vec![place.into()] } else { Vec::new() };
    }
    let is_candidate =
        |file: &PathBuf| file.extension().is_some_and(|end| [ONNX, TOKENIZER].map(OsStr::new).contains(&end));
    let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(is_candidate).collect();
    files.sort_by_key(|file| (file.file_stem() != Some(OsStr::new(sha256)), file.clone()));
    files
}

fn read(file: &Path) -> Result<Vec<u8>, NetworkError> {
    fs::read(file).map_err(|source| NetworkError::Io { file: file.into(), source })
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A network as a schema asks for it, by the names of files.
pub(crate) enum AskedInput {
    Image { shape: ImageShape, mean: Vec<f32>, deviation: Vec<f32> },
    Text { tokenizer: PathBuf, max_tokens: usize },
}

impl AskedInput {
    pub(crate) fn tokenizer(&self) -> Option<&Path> {
        if let Self::Text { tokenizer, .. } = self { Some(tokenizer) } else { None }
    }
}

/// The parameters of the network in these files.
pub(crate) fn measured(onnx: &Path, input: AskedInput) -> Result<NetworkSpec, NetworkError> {
    let onnx = read(onnx)?;
    let (features, input) = match input {
        AskedInput::Image { shape, mean, deviation } => {
            let features = images(&onnx, shape, &mean, &deviation)?.n_features();
            (features, NetworkInput::Image { shape, mean, deviation })
        }
        AskedInput::Text { tokenizer, max_tokens } => {
            let tokenizer = read(&tokenizer)?;
            let features = TextNetwork::open(&onnx, &tokenizer, max_tokens)?.n_features();
            (features, NetworkInput::Text { tokenizer: digest(&tokenizer), max_tokens })
        }
    };
    Ok(NetworkSpec { onnx: digest(&onnx), features, input })
}

/// A network that is ready for the cells of a column.
pub(crate) enum Network {
    Images(Box<ImageNetwork>),
    Texts(Box<TextNetwork>),
}

impl Network {
    pub(crate) fn open(spec: &NetworkSpec, places: &NetworkPlaces) -> Result<Self, NetworkError> {
        let onnx = places.find(&spec.onnx)?;
        let network = match &spec.input {
            NetworkInput::Image { shape, mean, deviation } => {
                Self::Images(Box::new(images(&onnx, *shape, mean, deviation)?))
            }
            NetworkInput::Text { tokenizer, max_tokens } => {
                Self::Texts(Box::new(TextNetwork::open(&onnx, &places.find(tokenizer)?, *max_tokens)?))
            }
        };
        let (found, expected) = (network.n_features(), spec.features);
        if found == expected { Ok(network) } else { Err(NetworkError::Features { found, expected }) }
    }

    pub(crate) fn n_features(&self) -> usize {
        match self {
            Self::Images(network) => network.n_features(),
            Self::Texts(network) => network.n_features(),
        }
    }
}

/// The file from what stands outside it (pixels under the name of an input, or tokens) to features.
pub(crate) fn exported(spec: &NetworkSpec, input: &str, places: &NetworkPlaces) -> Result<Vec<u8>, NetworkError> {
    let onnx = places.find(&spec.onnx)?;
    Ok(match Network::open(spec, places)? {
        Network::Images(network) => prepend(network.front(input), &onnx)?,
        Network::Texts(network) if network.is_per_token() => pooled(&onnx)?,
        Network::Texts(_) => onnx,
    })
}

fn images(onnx: &[u8], shape: ImageShape, mean: &[f32], deviation: &[f32]) -> Result<ImageNetwork, NetworkError> {
    let ImageShape { height, width, channels, .. } = shape;
    let (mean, deviation) = (mean.to_vec(), deviation.to_vec());
    Ok(ImageNetwork::open(onnx, &ImageInput { height, width, channels, mean, deviation })?)
}

const ONNX: &str = "onnx";
const TOKENIZER: &str = "json";
