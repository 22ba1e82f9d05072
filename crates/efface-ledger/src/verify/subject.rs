//! Which file a document is about: exactly one, and the one that the verifier has.

use sha2::{Digest, Sha256};

use super::check::{Check, CheckName};
use crate::certificate::RequestCertificate;
use crate::statement::Subject;

/// A document is about one thing. With two subjects one certificate would vouch for a file that nobody looked at, with
/// none for whatever it is shown with.
pub(super) fn is_one(subject: &[Subject]) -> Check {
    Check::of(
        CheckName::Subject,
        match subject {
            [one] => Ok(format!("it is about {}, SHA-256 {}", one.name, hex::encode(one.digest.sha256))),
            several => Err(format!("a certificate is about exactly one file, and this one names {}", several.len())),
        },
    )
}

/// The model file is the one that was `certified` or `withdrawn`.
pub(super) fn model_file(subject: &[Subject], model: Option<&[u8]>, what: &str) -> Check {
    let Some(model) = model else {
        return Check::not_checked(CheckName::Model, "the model file was not checked");
    };
    let found: [u8; 32] = Sha256::digest(model).into();
    Check::of(
        CheckName::Model,
        match subject.iter().find(|subject| subject.digest.sha256 == found) {
            Some(subject) => Ok(format!("the file is {}, as {what}", subject.name)),
            None => Err(format!("the model file is not the {what} one: its SHA-256 is {}", hex::encode(found))),
        },
    )
}

/// A request's certificate vouches for no file: whoever gives one must not take its answer for one about the file.
pub(super) fn not_of_a_model(c: &RequestCertificate) -> Check {
    let where_else = match c.release {
        Some(release) => format!("release {release} covers it: check the file with that release's certificate"),
        None => "no release covers it yet".into(),
    };
    Check::failed(CheckName::Model, format!("the certificate of a request vouches for no model file; {where_else}"))
}
