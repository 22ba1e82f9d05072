//! Who signs for a model: a key of its own, made with the directory, or one that the operator names.

use std::fmt;
use std::path::{Path, PathBuf};

use efface_core::noise::NoiseSource;
use efface_ledger::key::{KeyError, Protection, PublicKey, SigningKey};
use zeroize::Zeroizing;

use crate::directory::database::Database;
use crate::directory::files::{self, OWN_KEY, check_is_model};
use crate::error::{CertifyError, EngineError, StorageError};

/// What a private key is protected with.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes a passphrase as it is.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// The public half of a key lies beside it.
pub fn public_key_path(key: &Path) -> PathBuf {
    files::with_suffix(key, ".pub")
}

/// Makes a key pair: `path` for its owner alone, and `path.pub` for everybody.
pub fn make_key(path: &Path, name: &str, passphrase: Option<&Passphrase>) -> Result<PublicKey, EngineError> {
    let failed = key_error(path);
    let public_path = public_key_path(path);
    if public_path.exists() {
        return Err(StorageError::Exists { path: public_path }.into());
    }
    let mut random = NoiseSource::from_system()?;
    let mut seed = Zeroizing::new([0; 32]);
    random.fill(&mut *seed);
    let key = SigningKey::generate(name, &seed).map_err(&failed)?;
    let protection = passphrase.map(|passphrase| {
        let (mut salt, mut iv) = ([0; 16], [0; 16]);
        random.fill(&mut salt);
        random.fill(&mut iv);
        Protection { passphrase: passphrase.as_bytes(), salt, iv }
    });
    key.write_new(path, protection.as_ref()).map_err(&failed)?;
    let public = key.public();
    files::publish(&public_path, format!("{public}\n").as_bytes())?;
    Ok(public)
}

/// The public key of a key file, of a public key file, or of a model directory.
pub fn public_key_of(path: &Path) -> Result<PublicKey, EngineError> {
    if path.is_dir() {
        check_is_model(path)?;
        let key = Database::open_to_read(path)?.key()?.unwrap_or_else(|| path.join(OWN_KEY));
        return read_public(&public_key_path(&key));
    }
    // The file that was named, where it is one: what lies beside it may be anybody's.
    let beside = public_key_path(path);
    match read_public(path) {
        Err(_) if beside.is_file() => read_public(&beside),
        named => named,
    }
}

pub(in crate::directory) fn read_public(path: &Path) -> Result<PublicKey, EngineError> {
    PublicKey::read(path)
        .map_err(|source| EngineError::Certify(CertifyError::PublicKey { path: path.into(), source: Box::new(source) }))
}

/// The public half of a key that is to sign from now on. The private half must be there, and its owner's alone; what is
/// behind a passphrase that is not given yet is seen when it signs.
pub(crate) fn named_key(path: &Path, passphrase: Option<&Passphrase>) -> Result<PublicKey, EngineError> {
    if PublicKey::read(path).is_ok() {
        let reason = "it is a public key; the private one signs".into();
        return Err(key_error(path)(KeyError::NotAKey { reason }));
    }
    match read_private(path, passphrase) {
        Ok(key) => Ok(key.public()),
        Err(KeyError::NeedsPassphrase) => read_public(&public_key_path(path)),
        Err(error) => Err(key_error(path)(error)),
    }
}

pub(in crate::directory) fn read_private(path: &Path, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyError> {
    match (SigningKey::read(path, None), passphrase) {
        (Err(KeyError::NeedsPassphrase), Some(passphrase)) => SigningKey::read(path, Some(passphrase.as_bytes())),
        (read, _) => read,
    }
}

/// Refuses a key under another name than the one by which others know it. The name is signed as well as the rest, and nothing in
/// the file of a private key protects it. `own`: the name of a directory's own key; any other is known by its public half.
pub(in crate::directory) fn check_name(path: &Path, key: &SigningKey, own: Option<String>) -> Result<(), EngineError> {
    let public = public_key_path(path);
    let beside = if public.exists() { Some(read_public(&public)?) } else { None };
    let known = own.into_iter().chain(beside.as_ref().map(|beside| beside.name().to_owned()));
    if let Some(expected) = known.into_iter().find(|name| name != key.name()) {
        return Err(CertifyError::KeyName { path: path.into(), found: key.name().into(), expected }.into());
    }
    match beside {
        Some(beside) if beside != key.public() => {
            let (found, expected) = (beside.id(), key.public().id());
            Err(CertifyError::OtherKey { path: public, found, expected }.into())
        }
        _ => Ok(()),
    }
}

/// What a directory's own key is called.
pub(in crate::directory) fn own_name(model: &str) -> String {
    format!("efface/{model}")
}

pub(crate) fn make_own_key(directory: &Path, model: &str) -> Result<PublicKey, EngineError> {
    let path = directory.join(OWN_KEY);
    let failed = key_error(&path);
    let mut seed = Zeroizing::new([0; 32]);
    NoiseSource::from_system()?.fill(&mut *seed);
    let key = SigningKey::generate(&own_name(model), &seed).map_err(&failed)?;
    files::replace(&path, key.to_pem(None).map_err(failed)?.as_bytes())?;
    let public = key.public();
    files::replace(&public_key_path(&path), format!("{public}\n").as_bytes())?;
    Ok(public)
}

pub(in crate::directory) fn key_error(path: &Path) -> impl Fn(KeyError) -> EngineError + use<> {
    let path = path.to_path_buf();
    move |source| EngineError::Certify(CertifyError::Key { path: path.clone(), source: Box::new(source) })
}
