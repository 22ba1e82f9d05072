//! Who signs: a key of the model's own, or the operator's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_engine::{
    CertifyError, EngineError, ModelDirectory, OpenOptions, Passphrase, Status, make_key, public_key_of,
};
use efface_ledger::verify::{Evidence, Verdict, verify};

use crate::models::{Folder, check, files, ids, published, randomness, table};

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.into())
}

fn operator_key(folder: &Folder, passphrase: Option<&Passphrase>) -> PathBuf {
    let path = folder.path("operator.key");
    make_key(&path, "example.org/efface", passphrase).expect("writable");
    path
}

fn with_key(
    folder: &Folder,
    key: Option<PathBuf>,
    passphrase: Option<Passphrase>,
) -> Result<ModelDirectory, EngineError> {
    ModelDirectory::open_with(folder.model(), &OpenOptions { key, passphrase, ..OpenOptions::default() })
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

/// Nothing was signed and nothing was spent.
fn nothing_spent(folder: &Folder) {
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!((status.n_releases, status.mu_total.get()), (0, 0.0));
    assert!(fs::read_dir(folder.path("model/releases")).expect("a folder").next().is_none());
}

#[test]
fn a_model_has_a_key_of_its_own() {
    let folder = Folder::with_model();
    assert_eq!(mode(folder.path("model/signing.key")), 0o600);
    let key = public_key_of(&folder.model()).expect("a key");
    assert_eq!(key, public_key_of(&folder.path("model/signing.key")).expect("its public half"));
    let report = published(folder.open().release(&mut randomness(), None).expect("writable"));
    assert!(check(&folder, &report.certificate).is_genuine());
    assert_ne!(key.id(), public_key_of(&Folder::with_model().model()).expect("a key").id());
}

/// A backup that others could read is put back: the key is the owner's again before it is used.
#[test]
fn the_models_own_key_is_made_private_again() {
    let folder = Folder::with_model();
    fs::set_permissions(folder.path("model/signing.key"), fs::Permissions::from_mode(0o644)).expect("ours");
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    assert_eq!(mode(folder.path("model/signing.key")), 0o600);
}

#[test]
fn an_operators_key_can_sign_from_the_beginning_or_later() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let own = public_key_of(&folder.model()).expect("a key");
    let key = operator_key(&folder, None);
    let mut model = with_key(&folder, Some(key.clone()), None).expect("a model");
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    let operator = public_key_of(&key).expect("a key");
    assert_eq!(model.public_key().expect("a key"), operator);
    let verified = model.verify(true).expect("rows");
    assert_eq!(verified.verdict, Verdict::Valid, "{verified:?}");
    assert!(verified.checks.iter().any(|check| check.message.contains("release 1 was signed by an earlier key")));
    // Without the earlier key its signature cannot be checked; that the model is the certified one can.
    let first = folder.path("model/releases/1/model.json");
    let kept = fs::read(&first).expect("there");
    fs::write(&first, "{}").expect("writable");
    assert_eq!(model.verify(true).expect("rows").verdict, Verdict::Invalid);
    fs::write(&first, kept).expect("writable");
    drop(model);
    let last: serde_json::Value = serde_json::from_str(&folder.leaves()[2]).expect("JSON");
    assert_eq!((&last["kind"], &last["key_id"]), (&"key".into(), &operator.id().into()));
    // Remembered, and noted once.
    let mut model = with_key(&folder, Some(key), None).expect("a model");
    published(model.release(&mut randomness(), None).expect("writable"));
    drop(model);
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    assert_eq!(folder.leaves().iter().filter(|leaf| leaf.contains("\"kind\":\"key\"")).count(), 1);
    assert!(check(&folder, &report.certificate).is_genuine());
    let first = fs::read(folder.path("model/releases/1/certificate.json")).expect("there");
    assert!(verify(&first, &Evidence { key: Some(&own), ..Evidence::default() }).is_genuine());
}

#[test]
fn a_key_can_be_behind_a_passphrase() {
    let folder = Folder::with_model();
    let secret = passphrase("correct horse");
    let key = operator_key(&folder, Some(&secret));
    let refusal = |model: Result<ModelDirectory, EngineError>| {
        let error = match model {
            Ok(mut model) => model.release(&mut randomness(), None).expect_err("no key"),
            Err(error) => error,
        };
        nothing_spent(&folder);
        error.to_string()
    };
    let missing = refusal(with_key(&folder, Some(key.clone()), None));
    assert!(
        missing.ends_with("operator.key: the private key is protected by a passphrase, and none was given"),
        "{missing}"
    );
    let wrong = refusal(with_key(&folder, Some(key.clone()), Some(passphrase("battery staple"))));
    assert!(wrong.ends_with("operator.key: the passphrase does not open the private key"), "{wrong}");
    // What needs no signature needs no passphrase.
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    let mut model = with_key(&folder, None, Some(secret)).expect("a model");
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert!(check(&folder, &report.certificate).is_genuine());
    let pem = fs::read_to_string(key).expect("text");
    assert!(pem.contains("\n-----BEGIN ENCRYPTED PRIVATE KEY-----"), "{pem}");
}

#[test]
fn a_key_that_is_not_there_is_told_before_anything_is_spent() {
    let folder = Folder::with_model();
    fs::rename(folder.path("model/signing.key"), folder.path("away")).expect("there");
    let error = folder.open().release(&mut randomness(), None).expect_err("no key").to_string();
    assert!(error.contains("signing.key"), "{error}");
    nothing_spent(&folder);
    fs::rename(folder.path("away"), folder.path("model/signing.key")).expect("there");
    published(folder.open().release(&mut randomness(), None).expect("writable"));
}

#[test]
fn another_key_under_the_same_name_does_not_sign() {
    let folder = Folder::with_model();
    let other = operator_key(&folder, None);
    fs::copy(&other, folder.path("model/signing.key")).expect("writable");
    let error = folder.open().release(&mut randomness(), None).expect_err("another key");
    assert!(matches!(error, EngineError::Certify(CertifyError::OtherKey { .. })), "{error}");
    nothing_spent(&folder);
    fs::copy(folder.path("operator.key.pub"), folder.path("model/signing.key.pub")).expect("writable");
    assert_eq!(folder.open().verify(false).expect("readable").verdict, Verdict::Invalid);
}

#[test]
fn an_operators_key_that_others_can_read_is_refused() {
    let folder = Folder::with_model();
    let key = operator_key(&folder, None);
    assert_eq!((mode(key.clone()), mode(folder.path("operator.key.pub")) & 0o600), (0o600, 0o600));
    let before = files(&folder.model());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("ours");
    let Err(error) = with_key(&folder, Some(key.clone()), None) else { panic!("others can read it") };
    assert!(error.to_string().contains("can be used by others than its owner: mode is 644"), "{error}");
    assert_eq!(error.code(), "key");
    assert!(before == files(&folder.model()));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("ours");
    with_key(&folder, Some(key.clone()), None).expect("a model");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("ours");
    folder.open().release(&mut randomness(), None).expect_err("others can read it");
    nothing_spent(&folder);
}

/// Whatever is wrong with a key is said before hours of training, and before a log names it.
#[test]
fn a_key_that_cannot_sign_is_not_taken() {
    let folder = Folder::with_model();
    let key = operator_key(&folder, None);
    let public = folder.path("operator.key.pub");
    let before = files(&folder.model());
    for wrong in [&public, &folder.path("nowhere.key"), &folder.path("rows.csv")] {
        let Err(error) = with_key(&folder, Some(wrong.clone()), None) else { panic!("{} signs", wrong.display()) };
        assert!(error.to_string().contains(&*wrong.display().to_string()), "{error}");
        let config = TrainingConfig::new(&loss::Logistic, 1e-2, None);
        let trained = folder.try_train_signed(&table(0..60), config, "other", Some(wrong.clone()));
        trained.expect_err("no key");
        assert!(!folder.path("other").exists());
    }
    assert!(before == files(&folder.model()));
    let config = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    folder.try_train_signed(&table(0..60), config, "other", Some(key.clone())).expect("trainable");
    assert!(!folder.path("other/signing.key").exists());
    assert_eq!(public_key_of(&folder.path("other")).expect("a key"), public_key_of(&key).expect("a key"));
}

#[test]
fn a_key_is_never_overwritten() {
    let folder = Folder::new();
    let key = operator_key(&folder, None);
    let before = (fs::read(&key).expect("there"), folder.read("operator.key.pub"));
    make_key(&key, "example.org/efface", None).expect_err("taken");
    fs::remove_file(folder.path("operator.key.pub")).expect("there");
    make_key(&key, "example.org/efface", None).expect_err("taken");
    assert_eq!(fs::read(&key).expect("there"), before.0);
    folder.write("other.key.pub", "taken");
    make_key(&folder.path("other.key"), "example.org/efface", None).expect_err("taken");
    assert!(!folder.path("other.key").exists());
    let error = make_key(&folder.path("bad.key"), "two words", None).expect_err("a blank").to_string();
    assert!(error.contains("key name must not be empty or have blanks"), "{error}");
}
