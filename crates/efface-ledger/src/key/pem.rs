//! The text of a private key: a line with its name, then PKCS#8 as PEM. Text before the PEM block is allowed by
//! RFC 7468, so `openssl pkey` and others read the same file.
//!
//! ```text
//! name: example.org/churn
//! -----BEGIN PRIVATE KEY-----
//! MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
//! -----END PRIVATE KEY-----
//! ```

use ed25519::pkcs8::KeypairBytes;
use pkcs8::der::pem::PemLabel;
use pkcs8::pkcs5::pbes2::{EncryptionScheme, Kdf, Parameters, Salt, ScryptParams};
use pkcs8::{
    DecodePrivateKey, EncodePrivateKey, EncryptedPrivateKeyInfoRef, LineEnding, PrivateKeyInfoRef, SecretDocument,
};
use zeroize::Zeroizing;

use super::SigningKey;
use super::error::KeyError;

/// What a private key is encrypted with. Salt and initialization vector are fresh random bytes each time.
pub struct Protection<'a> {
    /// What the owner remembers.
    pub passphrase: &'a [u8],
    /// Makes the derived key one of its own.
    pub salt: [u8; 16],
    /// Where the cipher starts.
    pub iv: [u8; 16],
}

impl SigningKey {
    /// The text of the private key: PKCS#8, and with a passphrase PBES2 with scrypt and AES-256-CBC.
    pub fn to_pem(&self, protection: Option<&Protection<'_>>) -> Result<Zeroizing<String>, KeyError> {
        // Without the public key: OpenSSL 3.0 does not read the later version of PKCS#8 that has it.
        let bytes = KeypairBytes { secret_key: self.key.to_bytes(), public_key: None };
        let mut document = bytes.to_pkcs8_der().map_err(KeyError::not_a_key)?;
        let mut label = PrivateKeyInfoRef::PEM_LABEL;
        if let Some(protection) = protection {
            document = encrypt(&document, protection)?;
            label = EncryptedPrivateKeyInfoRef::PEM_LABEL;
        }
        let pem = document.to_pem(label, LineEnding::LF).map_err(KeyError::not_a_key)?;
        let parts = [NAME, &self.name, "\n", &pem];
        // As large as it will get: growing would leave copies of the key behind.
        let mut text = Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len()).sum()));
        for part in parts {
            text.push_str(part);
        }
        Ok(text)
    }

    /// Reads what [`SigningKey::to_pem`] wrote.
    pub fn from_pem(text: &str, passphrase: Option<&[u8]>) -> Result<Self, KeyError> {
        let named = text.strip_prefix(NAME).and_then(|rest| rest.split_once('\n'));
        let (name, pem) = named.ok_or_else(|| KeyError::not_a_key("it does not start with a line `name: …`"))?;
        super::check_name(name)?;
        let (label, document) = SecretDocument::from_pem(pem).map_err(KeyError::not_a_key)?;
        let bytes = if label == EncryptedPrivateKeyInfoRef::PEM_LABEL {
            decrypt(&document, passphrase.ok_or(KeyError::NeedsPassphrase)?)?
        } else if label != PrivateKeyInfoRef::PEM_LABEL {
            let expected = PrivateKeyInfoRef::PEM_LABEL;
            return Err(KeyError::not_a_key(format!("it is labelled `{label}`, not `{expected}`")));
        } else if passphrase.is_some() {
            return Err(KeyError::NotProtected);
        } else {
            KeypairBytes::from_pkcs8_der(document.as_bytes()).map_err(KeyError::not_a_key)?
        };
        let key = ed25519_dalek::SigningKey::try_from(&bytes).map_err(KeyError::not_a_key)?;
        Ok(Self { name: name.to_owned(), key })
    }
}

fn encrypt(document: &SecretDocument, protection: &Protection<'_>) -> Result<SecretDocument, KeyError> {
    if protection.passphrase.is_empty() {
        return Err(KeyError::EmptyPassphrase);
    }
    let kdf = Kdf::Scrypt(ScryptParams {
        salt: Salt::new(protection.salt).map_err(KeyError::not_a_key)?,
        cost_parameter: SCRYPT_COST,
        block_size: SCRYPT_BLOCK_SIZE,
        parallelization: SCRYPT_PARALLELIZATION,
        key_length: None,
    });
    let parameters = Parameters { kdf, encryption: EncryptionScheme::Aes256Cbc { iv: protection.iv } };
    let key: PrivateKeyInfoRef<'_> = document.decode_msg().map_err(KeyError::not_a_key)?;
    key.encrypt_with_params(parameters, protection.passphrase).map_err(KeyError::not_a_key)
}

fn decrypt(document: &SecretDocument, passphrase: &[u8]) -> Result<KeypairBytes, KeyError> {
    let encrypted: EncryptedPrivateKeyInfoRef<'_> = document.decode_msg().map_err(KeyError::not_a_key)?;
    check_effort(&encrypted)?;
    let document = encrypted.decrypt(passphrase).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(pkcs8::pkcs5::Error::UnsupportedAlgorithm { .. }) => {
            KeyError::not_a_key(error)
        }
        // A wrong passphrase that leaves valid padding by chance is noticed in what comes out.
        _ => KeyError::WrongPassphrase,
    })?;
    KeypairBytes::from_pkcs8_der(document.as_bytes()).map_err(|_| KeyError::WrongPassphrase)
}

/// Refuses a key that would take all memory or hours to open.
fn check_effort(encrypted: &EncryptedPrivateKeyInfoRef<'_>) -> Result<(), KeyError> {
    let Some(parameters) = encrypted.encryption_algorithm.pbes2() else { return Ok(()) };
    let (effort, limit) = match &parameters.kdf {
        Kdf::Scrypt(scrypt) => {
            let bytes = scrypt.cost_parameter.saturating_mul(128 * u64::from(scrypt.block_size));
            (bytes.saturating_mul(u64::from(scrypt.parallelization)), SCRYPT_LIMIT)
        }
        Kdf::Pbkdf2(pbkdf2) => (u64::from(pbkdf2.iteration_count), PBKDF2_LIMIT),
        _ => return Ok(()),
    };
    if effort <= limit {
        return Ok(());
    }
    Err(KeyError::not_a_key(format!("opening it takes an effort of {effort}, more than {limit}")))
}

const NAME: &str = "name: ";

/// 16 MiB: OpenSSL reads no more than 32 MiB. The passes make up for it; OWASP names these settings as equal to 128 MiB
/// in one pass.
const SCRYPT_COST: u64 = 1 << 14;
const SCRYPT_BLOCK_SIZE: u16 = 8;
const SCRYPT_PARALLELIZATION: u16 = 5;

/// Bytes that scrypt goes through in all.
const SCRYPT_LIMIT: u64 = 1 << 30;

/// Rounds of PBKDF2.
const PBKDF2_LIMIT: u64 = 10_000_000;
