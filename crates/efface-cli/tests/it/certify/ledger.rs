//! `efface ledger`, `policy`, `revoke` and `certificate`: what they answer, and with which code.

use serde_json::json;

use crate::contract::{Kind, both_ways, has_keys};
use crate::sandbox::{COLUMNS, Sandbox};

fn pair(arguments: &str) -> (Sandbox, Sandbox) {
    (Sandbox::with_model(arguments), Sandbox::with_model(arguments))
}

#[test]
fn a_checkpoint_and_a_proof_go_to_stdout_or_a_file() {
    let sandbox = Sandbox::with_model("");
    let printed = sandbox.run("ledger checkpoint model");
    printed.ends_with(0);
    assert_eq!(printed.stdout.lines().nth(1), Some("1"), "{printed:?}");
    assert_eq!(sandbox.json("ledger checkpoint model")["text"], printed.stdout);
    assert_eq!(sandbox.json("ledger checkpoint model --out checkpoint.txt"), json!({ "out": "checkpoint.txt" }));
    assert_eq!(sandbox.text("checkpoint.txt"), printed.stdout);
    sandbox.json("remove model --id u1");
    let proof = sandbox.run("ledger consistency model --since checkpoint.txt");
    proof.ends_with(0);
    assert!(proof.stdout.contains("\"format\": \"efface-consistency-1\""), "{proof:?}");
    let told = sandbox.run("ledger consistency model --since checkpoint.txt --out proof.json");
    assert_eq!((told.stdout.as_str(), sandbox.text("proof.json")), ("", proof.stdout));
    sandbox.refuses("ledger checkpoint model --out proof.json", &["proof.json"]);
    // From a checkpoint that somebody kept to the one in a certificate, which the log has outgrown.
    sandbox.json("release model");
    sandbox.json("remove model --id u2");
    let certificate = "model/releases/1/certificate.json";
    sandbox.json(&format!("ledger consistency model --since checkpoint.txt --until {certificate} --out link.json"));
    sandbox.write("pub", sandbox.run("key show model").stdout);
    let verify = format!("verify {certificate} --key pub --checkpoint checkpoint.txt");
    sandbox.run(&verify).ends_with(1);
    sandbox.run(&format!("{verify} --consistency proof.json")).ends_with(1);
    sandbox.run(&format!("{verify} --consistency link.json")).ends_with(0);
    sandbox.refuses("ledger consistency model --since nowhere.txt", &["nowhere.txt"]);
    sandbox.refuses("ledger consistency model --since two.csv", &["not a checkpoint of this log"]);
    let other = Sandbox::with_model("").run("ledger checkpoint model").stdout;
    sandbox.write("other.txt", other);
    sandbox.refuses("ledger consistency model --since other.txt", &["not a checkpoint of this log"]);
}

#[test]
fn a_policy_holds_releases_back_with_code_1() {
    let (json, text) = pair("");
    let set = both_ways(&json, &text, "policy model --min-removals 2 --release-every 30d");
    assert_eq!(set, json!({ "min_removals": 2, "every_seconds": 2_592_000 }));
    json.json("release model");
    json.json("remove model --id u1 u2");
    let held = json.run("release model --json");
    held.ends_with(1);
    let value = held.json();
    has_keys(
        &value,
        &[("outcome", Kind::Text), ("n_people", Kind::Count), ("min_removals", Kind::Count), ("due", Kind::Count)],
    );
    assert_eq!((&value["outcome"], &value["n_people"]), (&"held-back".into(), &1.into()));
    let told = json.run("release model");
    told.ends_with(1);
    let sentence =
        "not published: releases are made after 2 removals or 30 days after the one before, whichever comes first";
    assert!(told.stderr.contains(sentence), "{told:?}");
    json.json("remove model --id u8");
    assert_eq!(json.json("release model")["exposure"], "several-together");
    assert_eq!(
        json.json("policy model"),
        json!({ "min_removals": 2, "every_seconds": 2_592_000 }),
        "shown, not changed"
    );
    assert_eq!(json.json("policy model --none"), json!({ "min_removals": null, "every_seconds": null }));
    assert_eq!(json.json("policy model"), json!({ "min_removals": null, "every_seconds": null }));
    json.json("remove model --id u12");
    let alone = json.run("release model");
    alone.ends_with(0);
    assert!(alone.stderr.contains("warning: one person's rows left"), "{alone:?}");
    json.run("policy model --min-removals 0").ends_with(2);
    json.run("policy model --release-every soon").ends_with(2);
    let nothing = json.run("policy model --release-every 0s");
    nothing.ends_with(2);
    assert!(nothing.stderr.contains("must be at least 1 second"), "{nothing:?}");
}

#[test]
fn a_policy_can_be_set_when_training() {
    let sandbox = Sandbox::with_table();
    sandbox.json(&format!("train two.csv {COLUMNS} --out model --min-removals 2"));
    sandbox.json("release model");
    let said = sandbox.certificate("model/releases/1/certificate.json");
    assert_eq!(said["policy"], json!({ "min_removals": 2, "every_seconds": null }));
    sandbox.json("remove model --id u1");
    sandbox.run("release model").ends_with(1);
}

#[test]
fn a_release_is_revoked_once_and_not_used_again() {
    let (json, text) = pair("");
    for sandbox in [&json, &text] {
        sandbox.json("release model");
        sandbox.json("release model");
    }
    let revoked = both_ways(&json, &text, "revoke model 2 --reason superseded");
    let expected = json!({ "release": 2, "revoked": [2], "revocation": "model/releases/2/revocation.json" });
    assert_eq!(revoked, expected);
    assert_eq!(json.certificate("model/releases/2/revocation.json")["reason"], "superseded");
    json.refuses("revoke model 2", &["release 2 is revoked already"]);
    json.refuses("revoke model 3", &["there is no release 3: the model has 2"]);
    // The one before may know people who have left since.
    json.refuses("predict model two.csv", &["is revoked", "hint: `efface release DIR` publishes a new one"]);
    json.run("predict model/releases/1 two.csv").ends_with(0);
}

#[test]
fn a_request_is_certified() {
    let (json, text) = pair("");
    for sandbox in [&json, &text] {
        sandbox.json("remove model --id u1 u2 --request-id ticket-77");
    }
    let certified = both_ways(&json, &text, "certificate request model ticket-77 --out ticket.json");
    has_keys(&certified, &[("request", Kind::Text), ("state", Kind::Text), ("n_rows", Kind::Count)]);
    has_keys(&certified, &[("time", Kind::Text), ("certificate", Kind::Text)]);
    assert_eq!((&certified["state"], &certified["release"]), (&"applied".into(), &json!(null)));
    json.json("release model");
    let covered = json.json("certificate request model change-1 --out again.json");
    assert_eq!((&covered["state"], &covered["release"]), (&"covered".into(), &1.into()));
    json.json("remove model --id u3");
    let pending = json.run("certificate request model change-2 --out pending.json");
    pending.ends_with(0);
    assert!(pending.stderr.contains("pending") && pending.stderr.contains("next: efface release model"), "{pending:?}");
    for certificate in ["ticket.json", "again.json", "pending.json"] {
        assert_eq!(json.json(&format!("verify {certificate} --key model/signing.key.pub"))["verdict"], "valid");
    }
    json.refuses("certificate request model ticket-77 --out again.json", &["again.json exists already"]);
    json.refuses("certificate request model nobody --out new.json", &["no removal request `nobody`", "hint: "]);
    json.refuses("certificate request model change-2 --out nowhere/new.json", &["nowhere/new.json"]);
}

#[test]
fn a_certificate_is_shown_in_words_and_not_checked() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u1 --request-id ticket-77");
    sandbox.json("release model");
    sandbox.json("certificate request model ticket-77 --out ticket.json");
    sandbox.json("revoke model 1");
    sandbox.json("release model");
    for (path, kind, words) in [
        ("model", "release", "certificate of release 2"),
        ("model/releases/1/certificate.json", "release", "ticket-77"),
        ("ticket.json", "request", "certificate of request ticket-77"),
        ("model/releases/1/revocation.json", "revocation", "withdrawal of release 1"),
    ] {
        let shown = sandbox.json(&format!("certificate show {path}"));
        has_keys(&shown, &[("certificate", Kind::Text), ("kind", Kind::Text)]);
        assert!(shown["kind"] == kind && shown["predicate"].is_object(), "{shown}");
        let told = sandbox.run(&format!("certificate show {path}"));
        told.ends_with(0);
        assert!(told.stderr.contains(words) && told.stderr.contains("nothing of this was checked"), "{told:?}");
    }
    sandbox.refuses("certificate show two.csv", &["two.csv: not a certificate"]);
    sandbox.refuses("certificate show nowhere", &["nowhere"]);
    Sandbox::with_model("").refuses("certificate show model", &["model has no release yet"]);
}
