//! `efface key`, and commands that sign with a key of the operator's.

use crate::contract::{Kind, both_ways, has_keys};
use crate::sandbox::{COLUMNS, Sandbox};

#[test]
fn a_key_pair_is_made_once_and_its_public_half_shown() {
    let (json, text) = (Sandbox::new(), Sandbox::new());
    let made = both_ways(&json, &text, "key new operator.key --name example.org/efface");
    has_keys(&made, &[("name", Kind::Text), ("key_id", Kind::Text), ("public_key", Kind::Text)]);
    assert_eq!(
        (json.names("."), &made["name"]),
        (vec!["operator.key".into(), "operator.key.pub".into()], &"example.org/efface".into())
    );
    json.shell("test $(stat -c %a operator.key) = 600").ends_with(0);
    for path in ["operator.key", "operator.key.pub"] {
        assert_eq!(json.json(&format!("key show {path}")), made);
        let shown = json.run(&format!("key show {path}"));
        assert_eq!(shown.stdout, format!("{}\n", made["public_key"].as_str().expect("text")));
    }
    json.refuses("key new operator.key", &["operator.key.pub exists already"]);
    json.refuses("key new other.key --name two+words", &["key name must not be empty or have blanks"]);
    json.refuses("key show nowhere", &["nowhere"]);
}

#[test]
fn the_key_of_a_model_is_shown() {
    let sandbox = Sandbox::with_model("");
    let own = sandbox.json("key show model");
    assert_eq!(own, sandbox.json("key show model/signing.key"));
    sandbox.json("key new operator.key");
    sandbox.json("release model --key operator.key");
    assert_eq!(sandbox.json("key show model"), sandbox.json("key show operator.key"));
    assert_ne!(sandbox.json("key show model"), own);
}

#[test]
fn a_model_is_signed_for_by_the_key_that_was_named() {
    let sandbox = Sandbox::with_table();
    sandbox.json("key new operator.key --name example.org/efface");
    sandbox.json(&format!("train two.csv {COLUMNS} --out model --key operator.key"));
    assert!(!sandbox.exists("model/signing.key"));
    sandbox.json("release model --out released.json");
    let verified = sandbox.json("verify released.json.certificate.json --key operator.key.pub --model released.json");
    assert_eq!(verified["verdict"], "valid");
    assert_eq!(sandbox.json("verify model --replay")["verdict"], "valid");
    sandbox.refuses(&format!("train two.csv {COLUMNS} --out other --key nowhere.key"), &["nowhere.key"]);
    sandbox.refuses(&format!("train two.csv {COLUMNS} --out other --key operator.key.pub"), &["operator.key.pub"]);
    sandbox.shell("chmod 644 operator.key").ends_with(0);
    sandbox.refuses("release model", &["can be used by others than its owner", "hint: `chmod 600`"]);
}

#[test]
fn a_passphrase_comes_from_a_file_or_the_environment() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("secret.txt", "correct horse\nnot this line\n");
    sandbox.write("wrong.txt", "battery staple\n");
    // One that is meant for the keys of other models is not in the way of a model's own.
    let own = sandbox.shell("EFFACE_PASSPHRASE='correct horse' \"$0\" ledger checkpoint model");
    own.ends_with(0);
    sandbox.json("key new operator.key --passphrase-file secret.txt");
    sandbox.run("release model --key operator.key").is_refusal(&["protected by a passphrase", "EFFACE_PASSPHRASE"]);
    sandbox
        .run("release model --passphrase-file wrong.txt")
        .is_refusal(&["the passphrase does not open the private key"]);
    sandbox.run("release model --passphrase-file nowhere.txt").is_refusal(&["nowhere.txt"]);
    assert_eq!(sandbox.json("status model")["n_releases"], 0);
    assert_eq!(sandbox.json("release model --passphrase-file secret.txt")["release"], 1);
    sandbox.shell("EFFACE_PASSPHRASE='correct horse' \"$0\" release model").ends_with(0);
    sandbox.shell("EFFACE_PASSPHRASE='correct horse' \"$0\" ledger checkpoint model").ends_with(0);
    sandbox.json("remove model --id u1");
    assert_eq!(sandbox.json("verify model --replay")["verdict"], "valid", "checking takes no passphrase");
}
