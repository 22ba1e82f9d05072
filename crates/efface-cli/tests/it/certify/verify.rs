//! `efface verify`: documents anywhere, offline, and directories from inside.

use serde_json::Value;

use crate::contract::{Kind, has_keys};
use crate::sandbox::{Answer, Sandbox};

/// A folder with `office`, where nothing is but what was handed over: certificate, model, public key, checkpoint.
fn handed_over() -> Sandbox {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u1 u2 --request-id ticket-77");
    sandbox.json("release model --out released.json");
    sandbox.json("certificate request model ticket-77 --out request.json");
    sandbox.json("ledger checkpoint model --out checkpoint.txt");
    let embedded = sandbox.json_file("released.json.certificate.json")["log"]["checkpoint"].clone();
    sandbox.write("embedded.txt", embedded.as_str().expect("text"));
    sandbox.json("ledger consistency model --since embedded.txt --out consistency.json");
    sandbox.json("revoke model 1 --reason wrong");
    let copies = "mkdir office && mv released.json office/model.json && mv request.json checkpoint.txt consistency.json office \
                  && mv released.json.certificate.json office/certificate.json && cp model/signing.key.pub office/pub \
                  && mv model/releases/1/revocation.json office && rm -r model embedded.txt two.csv";
    sandbox.shell(copies).ends_with(0);
    sandbox
}

/// Verifies with further arguments, in both ways, and returns the object and what people read.
#[track_caller]
fn verify(sandbox: &Sandbox, arguments: &str, code: i32) -> (Value, String) {
    let text = sandbox.run(&format!("verify {arguments}"));
    text.ends_with(code);
    assert_eq!(text.stdout, "", "{text:?}");
    let json = sandbox.run(&format!("verify {arguments} --json"));
    json.ends_with(code);
    let value = json.json();
    has_keys(&value, &[("verdict", Kind::Text)]);
    for check in value["checks"].as_array().expect("a list") {
        has_keys(check, &[("check", Kind::Text), ("outcome", Kind::Text), ("message", Kind::Text)]);
        assert!(text.stderr.contains(check["check"].as_str().expect("text")), "{text:?}");
    }
    (value, text.stderr)
}

/// The messages of the checks that do not hold.
fn failures(value: &Value) -> Vec<(&str, &str)> {
    let checks = value["checks"].as_array().expect("a list").iter();
    let failed = checks.filter(|check| check["outcome"] == "failed" || check["outcome"] == "unsupported");
    failed.map(|check| (check["check"].as_str().unwrap_or(""), check["message"].as_str().unwrap_or(""))).collect()
}

const CERTIFICATE: &str = "office/certificate.json --key office/pub";

#[test]
fn a_certificate_is_verified_with_nothing_but_what_was_handed_over() {
    let sandbox = handed_over();
    assert_eq!(sandbox.names("."), ["office"]);
    let whole = "--model office/model.json --checkpoint office/checkpoint.txt --consistency office/consistency.json";
    for arguments in [
        format!("{CERTIFICATE} --model office/model.json"),
        format!("{CERTIFICATE} {whole}"),
        "office/request.json --key office/pub --checkpoint office/checkpoint.txt".into(),
    ] {
        let (value, told) = verify(&sandbox, &arguments, 0);
        assert_eq!(value["verdict"], "valid", "{arguments}");
        assert!(told.lines().next().is_some_and(|line| line.ends_with(": valid")), "{told}");
        assert_eq!(failures(&value), []);
    }
}

/// "valid" was said of a certificate that nobody had compared with a model.
#[test]
fn without_the_model_file_the_answer_says_so() {
    let sandbox = handed_over();
    let (value, told) = verify(&sandbox, CERTIFICATE, 0);
    assert_eq!((&value["verdict"], failures(&value)), (&"partly-verified".into(), vec![]));
    let words = "partly verified: signature and numbers hold, but the model file was not checked (give --model)";
    assert!(told.lines().next().is_some_and(|line| line.ends_with(words)), "{told}");
}

/// A revocation was called valid with exit code 0, with the model that it withdraws beside it.
#[test]
fn a_revocation_is_never_an_answer_of_0() {
    let sandbox = handed_over();
    for model in ["", "--model office/model.json"] {
        let (value, told) = verify(&sandbox, &format!("office/revocation.json --key office/pub {model}"), 1);
        assert_eq!((&value["verdict"], failures(&value)), (&"withdrawn".into(), vec![]));
        assert!(told.contains("WITHDRAWN: a genuine revocation; the release must not be used"), "{told}");
    }
}

/// What earlier releases spent is believed when their certificates say it, too.
#[test]
fn the_account_is_followed_through_the_certificates_before() {
    let sandbox = Sandbox::with_model("");
    for release in 1..=3 {
        sandbox.json(&format!("remove model --id u{release}"));
        sandbox.json("release model");
    }
    let of = |release: usize| format!("model/releases/{release}/certificate.json");
    let last = format!("{} --key model/signing.key.pub --model model/releases/3/model.json", of(3));
    let (value, told) = verify(&sandbox, &last, 0);
    assert_eq!(value["verdict"], "partly-verified");
    let words = "spent was not verified: the certificate of release 2 was not given (give it with --previous)";
    assert!(told.contains(words), "{told}");
    let (value, _) = verify(&sandbox, &format!("{last} --previous {} --previous {}", of(1), of(2)), 0);
    assert_eq!(value["verdict"], "valid");
    let (value, _) = verify(&sandbox, &format!("{last} --previous {}", of(1)), 1);
    assert_eq!(failures(&value)[0].0, "previous");
}

#[test]
fn what_does_not_hold_is_code_1_with_its_own_words() {
    let sandbox = handed_over();
    sandbox.json("key new other.key");
    sandbox.write("office/other.json", "another model");
    let edited = sandbox.text("office/certificate.json").replacen("\"sig\": \"", "\"sig\": \"A", 1);
    sandbox.write("office/edited.json", edited);
    let certificate = sandbox.text("office/certificate.json");
    sandbox.write("office/newer.json", certificate.replacen("{\n", "{\n  \"more\": 1,\n", 1));
    sandbox.write("office/nothing.json", "{}");
    sandbox.write("office/nothing.txt", [0xff, 0xfe, b'\n']);
    let cases = [
        ("office/certificate.json --key other.key.pub", "invalid", "signature", "the envelope is signed by the key"),
        ("CERTIFICATE --model office/other.json", "invalid", "model", "the model file is not the certified one"),
        ("CERTIFICATE --checkpoint office/nothing.txt", "invalid", "checkpoint", "the checkpoint is refused"),
        ("CERTIFICATE --revocation office/revocation.json", "invalid", "revocation", "release 1 was revoked on"),
        ("CERTIFICATE --revocation office/request.json", "invalid", "revocation", "not one that this key signed"),
        ("office/edited.json --key office/pub", "invalid", "form", "not a certificate: "),
        ("office/nothing.json --key office/pub", "invalid", "form", "not a certificate: "),
        ("office/newer.json --key office/pub", "unsupported", "form", "field `more` is not known"),
    ];
    let unlinked = CERTIFICATE.to_owned() + " --checkpoint office/checkpoint.txt";
    let (value, told) = verify(&sandbox, &unlinked, 1);
    assert_eq!(value["verdict"], "not-verified", "nothing is wrong, and nothing is shown");
    assert!(told.contains("not checked: the certificate knows a log of"), "{told}");
    for (arguments, verdict, check, words) in cases {
        let (value, told) = verify(&sandbox, &arguments.replace("CERTIFICATE", CERTIFICATE), 1);
        assert_eq!(value["verdict"], verdict, "{arguments}");
        let failures = failures(&value);
        assert!(failures.iter().any(|(name, message)| *name == check && message.contains(words)), "{failures:?}");
        assert!(told.contains(if verdict == "invalid" { "NOT VALID" } else { "unsupported" }), "{told}");
    }
}

#[test]
fn without_a_key_nothing_is_called_valid() {
    let sandbox = handed_over();
    let (value, told) = verify(&sandbox, "office/certificate.json --model office/model.json", 1);
    assert_eq!((&value["verdict"], failures(&value)), (&"not-verified".into(), vec![]));
    let words = "no public key was given, and anybody may have written this (give --key PUB)";
    assert!(told.contains(&format!("not verified: no check failed, but {words}")), "{told}");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let sandbox = handed_over();
    sandbox.shell("mkdir empty && cp office/model.json office/not-a-key").ends_with(0);
    for (arguments, words) in [
        ("verify nowhere.json", "nowhere.json"),
        ("verify office/certificate.json --key nowhere", "nowhere"),
        ("verify office/certificate.json --key office/not-a-key", "not a public key"),
        ("verify office/certificate.json --key office/pub --model nowhere", "nowhere"),
        ("verify office/certificate.json --replay", "--replay measures a model directory"),
        ("verify empty", "is not a model directory"),
    ] {
        sandbox.refuses(arguments, &[words]);
    }
    for arguments in ["--checkpoint office/checkpoint.txt", "--revocation office/revocation.json"] {
        let answer = sandbox.run(&format!("verify office/certificate.json {arguments}"));
        answer.ends_with(2);
        assert!(answer.stderr.contains("--key <PUB>"), "{answer:?}");
    }
}

#[test]
fn a_directory_is_verified_from_inside() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u1 u2");
    sandbox.json("release model");
    let (value, _) = verify(&sandbox, "model", 0);
    has_keys(&value, &[("log_size", Kind::Count), ("gradient_residual", Kind::Number), ("seconds", Kind::Number)]);
    assert!(value.get("measured_gradient_residual").is_none());
    let (value, told) = verify(&sandbox, "model --replay", 0);
    has_keys(&value, &[("measured_gradient_residual", Kind::Number)]);
    assert_eq!((&value["verdict"], &value["log_size"]), (&"valid".into(), &3.into()));
    assert!(told.contains("model: valid ("), "{told}");
    for flag in ["--key model/signing.key.pub", "--model model/releases/1/model.json"] {
        sandbox.refuses(&format!("verify model {flag}"), &["belongs to a certificate, and model is a model directory"]);
    }
    sandbox.write("model/releases/1/model.json", "{}");
    let (value, told) = verify(&sandbox, "model", 1);
    assert!(failures(&value)[0].1.starts_with("release 1: the model file is not the certified one"), "{value}");
    assert!(told.contains("NOT VALID"), "{told}");
}

#[test]
fn help_of_every_command_shows_examples() {
    let sandbox = Sandbox::new();
    let commands = ["verify", "certificate", "key", "ledger", "policy", "revoke"];
    for command in commands {
        let answer: Answer = sandbox.run(&format!("{command} --help"));
        answer.ends_with(0);
        let examples = answer.stdout.split("Example").nth(1).unwrap_or_else(|| panic!("no example: {answer:?}"));
        assert!(examples.contains(&format!("\n  efface {command} ")), "{answer:?}");
    }
    let all = sandbox.run("--help");
    assert!(commands.iter().all(|command| all.stdout.contains(&format!("\n  {command} "))), "{all:?}");
}
