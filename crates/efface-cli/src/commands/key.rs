//! `efface key`

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use efface_engine::{Passphrase, make_key, public_key_of, public_key_path};
use efface_ledger::key::PublicKey;
use serde_json::{Value, json};

use crate::args::{KeyArgs, KeyCommand, PassphraseArgs};
use crate::output::{Answer, Output};

pub(crate) fn run(args: &KeyArgs, output: &Output) -> anyhow::Result<Answer> {
    match &args.command {
        KeyCommand::New(args) => {
            let passphrase = passphrase(&args.passphrase)?;
            let key = make_key(&args.file, &args.name, passphrase.as_ref())?;
            output.in_force();
            let lines = [
                ("private key, for its owner alone", args.file.display().to_string()),
                ("protected by a passphrase", if passphrase.is_some() { "yes" } else { "no" }.into()),
                ("public key, for everybody", public_key_path(&args.file).display().to_string()),
                ("key id", key.id()),
            ];
            output.show(&report(&key), &format!("made a key pair of {}", key.name()), &lines)?;
            output.say("next: efface train … --key, or efface release … --key; hand the public key to whoever checks");
        }
        KeyCommand::Show { path } => show(path, output)?,
    }
    Ok(Answer::Done)
}

/// A public key, for machines.
fn report(key: &PublicKey) -> Value {
    json!({"name": key.name(), "key_id": key.id(), "public_key": key.to_string()})
}

/// The public key itself goes to stdout, so that it can be written to a file.
fn show(path: &Path, output: &Output) -> anyhow::Result<()> {
    let key = public_key_of(path)?;
    if output.is_text() {
        writeln!(std::io::stdout().lock(), "{key}")?;
    }
    output.show(&report(&key), &format!("public key of {}", key.name()), &[("key id", key.id())])
}

/// The passphrase in a file, or in the environment, if there is one.
pub(super) fn passphrase(args: &PassphraseArgs) -> anyhow::Result<Option<Passphrase>> {
    let text = match &args.passphrase_file {
        Some(file) => Some(std::fs::read_to_string(file).with_context(|| file.display().to_string())?),
        None => std::env::var("EFFACE_PASSPHRASE").ok(),
    };
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let passphrase = text.map(first_line).filter(|text| !text.is_empty());
    // Whoever names a file wants the key protected.
    if let (Some(file), None) = (&args.passphrase_file, &passphrase) {
        anyhow::bail!("{}: the first line must be the passphrase, and is empty", file.display());
    }
    Ok(passphrase.map(Passphrase::new))
}
