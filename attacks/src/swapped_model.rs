//! The right certificate with another model file: a little different, or altogether.

use efface_ledger::key::PublicKey;

use crate::break_in::BreakIn;
use crate::forgery::{Issuer, Parts, statement_of};
use crate::victim::{Victim, verify_directory};
use crate::{Attack, Outcome};

pub(crate) struct SwappedModel;

impl Attack for SwappedModel {
    fn name(&self) -> &'static str {
        "swapped-model"
    }

    fn story(&self) -> &'static str {
        "The attacker can replace the model file, on its way or in the model directory, and leaves the certificate as it is.\n  \
         In the directory it may edit the database, too, to hide the traces; it has no key."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let victim = Victim::new()?;
        let release = &victim.second;
        let honest = victim.stranger(&release.certificate, Some(&release.model));
        let mut outcome = Outcome::default();
        let changed = change_last_digit(&release.model);
        let blank = [&release.model[..], b"\n"].concat();
        let tries = [
            ("changes the last digit of one weight", &changed),
            ("puts the whole file of the other release in its place", &victim.first.model),
            ("adds an empty line", &blank),
        ];
        for (what, model) in tries {
            outcome.refused(what, "model", &honest, victim.stranger(&release.certificate, Some(model)));
        }
        let other = Victim::new()?;
        outcome.refused(
            "swaps model and certificate together for those of another operator",
            "signature",
            &honest,
            victim.stranger(&other.second.certificate, Some(&other.second.model)),
        );
        in_the_directory(&mut outcome, &victim, &changed)?;
        Ok(outcome)
    }
}

/// How traces are hidden.
type Hiding<'a> = (&'static str, &'a dyn Fn(&BreakIn) -> anyhow::Result<()>);

fn in_the_directory(outcome: &mut Outcome, victim: &Victim, changed: &[u8]) -> anyhow::Result<()> {
    let honest = verify_directory(&victim.path(), false)?;
    let tries: [Hiding<'_>; 5] = [
        ("changes that digit in the directory", &|_| Ok(())),
        ("and makes the database forget which certificate was issued", &|break_in| {
            break_in.rename_certificate(2, None)
        }),
        ("and makes the certificate look like one of an earlier key", &|break_in| {
            let file = Parts::of(&victim.second.certificate)?.with_key_id(other_key()?.id()).to_file()?;
            break_in.replace(2, "certificate.json", &file)
        }),
        ("and deletes the certificate", &|break_in| break_in.delete(2, "certificate.json")),
        ("and puts an unsigned certificate there", &|break_in| {
            let predicate = statement_of(&victim.second.certificate)?.predicate;
            break_in.rename_certificate(2, None)?;
            break_in.replace(2, "certificate.json", &serde_json::to_vec_pretty(&predicate)?)
        }),
    ];
    for (index, (what, hide)) in tries.into_iter().enumerate() {
        let path = victim.copy(&format!("swapped-{index}"))?;
        let break_in = BreakIn::new(&path)?;
        break_in.replace(2, "model.json", changed)?;
        hide(&break_in)?;
        drop(break_in);
        let found = verify_directory(&path, false)?;
        outcome.refused(format!("{what}; `efface verify DIR`"), "release", &honest, found);
    }
    Ok(())
}

/// The file with the last digit of its last weight changed.
fn change_last_digit(model: &[u8]) -> Vec<u8> {
    let mut changed = model.to_vec();
    if let Some(digit) = changed.iter_mut().rev().find(|byte| byte.is_ascii_digit()) {
        *digit = if *digit == b'9' { b'8' } else { *digit + 1 };
    }
    changed
}

fn other_key() -> anyhow::Result<PublicKey> {
    Ok(Issuer::stranger("earlier.example")?.key.public())
}
