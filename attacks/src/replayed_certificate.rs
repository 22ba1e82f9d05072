//! A genuine certificate, shown for something else: another model file, another model, a release that was withdrawn, a log
//! that has gone another way.

use std::fs;

use anyhow::Context;
use efface_engine::{ModelDirectory, make_key};
use efface_ledger::verify::{Evidence, verify};

use crate::break_in::BreakIn;
use crate::forgery::{Issuer, Parts, statement_of};
use crate::outcome::Expected;
use crate::victim::{Published, Victim, release, rows, verify_directory};
use crate::{Answer, Attack, Outcome};

pub(crate) struct ReplayedCertificate;

impl Attack for ReplayedCertificate {
    fn name(&self) -> &'static str {
        "replayed-certificate"
    }

    fn story(&self) -> &'static str {
        "The attacker has genuine certificates, and shows them where they do not belong. It signs nothing itself."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        for_other_files(&mut outcome)?;
        for_another_model(&mut outcome)?;
        after_revocation(&mut outcome)?;
        on_a_forked_log(&mut outcome)?;
        Ok(outcome)
    }
}

fn for_other_files(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let (first, second) = (&victim.first, &victim.second);
    outcome.refused(
        "shows the certificate of release 2 with the model of release 1, which knows the removed row",
        "model",
        &victim.stranger(&second.certificate, Some(&second.model)),
        victim.stranger(&second.certificate, Some(&first.model)),
    );
    outcome.refused(
        "shows the certificate of the request with that model, as if it were about it",
        "model",
        &victim.stranger(&victim.request, None),
        victim.stranger(&victim.request, Some(&first.model)),
    );
    outcome.add(
        "keeps using release 1, and shows its own certificate",
        Expected::Limit(
            "a genuine certificate of a genuine release, which says `release: 1` and `n_removed: 0`. That it is not the \
             latest is shown by the certificate of the request, which names the release that covers it, or by a revocation",
        ),
        &victim.stranger(&second.certificate, Some(&second.model)),
        victim.stranger(&first.certificate, Some(&first.model)),
    );
    Ok(())
}

fn for_another_model(outcome: &mut Outcome) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let key = folder.path().join("operator.key");
    make_key(&key, "operator.example", None)?;
    let (one, other) = (Victim::with_key(Some(&key))?, Victim::with_key(Some(&key))?);
    let checked = |victim: &Victim| -> Answer {
        let evidence = Evidence { checkpoint: Some(&victim.checkpoint), ..victim.evidence() };
        verify(&one.request, &evidence).into()
    };
    let honest = checked(&one);
    outcome.refused(
        "was asked to remove a row from one model, and shows the request certificate of another by the same operator",
        "checkpoint",
        &honest,
        checked(&other),
    );
    outcome.add(
        "does so to somebody who has no checkpoint of the model meant",
        Expected::Limit(
            "the certificate is genuine and names its model: whoever reads it must know which model is meant",
        ),
        &honest,
        other.stranger(&one.request, None),
    );
    let stranger = Victim::new()?;
    outcome.refused(
        "shows the request certificate of another operator's model",
        "signature",
        &honest,
        stranger.stranger(&one.request, None),
    );
    Ok(())
}

fn after_revocation(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let mut model = ModelDirectory::open(victim.path())?;
    let report = model.revoke(1, Some("knows a removed row".into()))?;
    model.close()?;
    let revocation = fs::read(report.revocation)?;
    let checked = |release: &Published, revocation: &[u8]| -> Answer {
        let evidence = Evidence { model: Some(&release.model), revocation: Some(revocation), ..victim.evidence() };
        verify(&release.certificate, &evidence).into()
    };
    outcome.refused(
        "shows release 1 after it was revoked, to somebody who has the revocation",
        "revocation",
        &checked(&victim.second, &revocation),
        checked(&victim.first, &revocation),
    );
    outcome.add(
        "shows it to somebody who does not have the revocation",
        Expected::Limit(
            "revocations must reach whoever uses models: `efface predict` on the directory refuses a revoked release",
        ),
        &checked(&victim.second, &revocation),
        victim.stranger(&victim.first.certificate, Some(&victim.first.model)),
    );
    outcome.refused(
        "shows the revocation itself as the certificate of the model that it withdraws",
        "withdrawal",
        &victim.stranger(&victim.first.certificate, Some(&victim.first.model)),
        victim.stranger(&revocation, Some(&victim.first.model)),
    );
    let path = victim.copy("unrevoked")?;
    BreakIn::new(&path)?.delete(1, "revocation.json")?;
    outcome.refused(
        "deletes the revocation from the directory, so that release 1 is used again; `efface verify DIR`",
        "revocation",
        &verify_directory(&victim.path(), false)?,
        verify_directory(&path, false)?,
    );
    // The other way round: making a good release look withdrawn.
    let attacker = Issuer::stranger(victim.key.name())?;
    let forged = Parts::of(&attacker.reissue(&victim.second.certificate, |_| {})?)?.with_key_id(victim.key.id());
    outcome.refused(
        "hands out a revocation of its own making",
        "revocation",
        &checked(&victim.second, &revocation),
        checked(&victim.second, &forged.to_file()?),
    );
    Ok(())
}

fn on_a_forked_log(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let branch = victim.copy("branch")?;
    let mut model = ModelDirectory::open(victim.path())?;
    model.remove(&rows(&[5]), Some("ticket-2"))?;
    release(&mut model)?;
    let shown = Published::of(&victim.path(), 3)?;
    let embedded = Parts::of(&shown.certificate)?.log.context("a place in the log")?.checkpoint;
    model.remove(&rows(&[6]), None)?;
    let (newer, link) = (model.ledger_checkpoint()?, model.ledger_consistency(&embedded, None)?);
    model.close()?;
    let position = statement_of(&shown.certificate)?.predicate.issue.log.position;

    // The other branch never heard of ticket-2.
    let mut model = ModelDirectory::open(&branch)?;
    while n_entries(&model.ledger_checkpoint()?)? <= position + 1 {
        let next = 10 + n_entries(&model.ledger_checkpoint()?)? as usize;
        model.remove(&rows(&[next]), None)?;
    }
    let (forked, forked_link) = (model.ledger_checkpoint()?, model.ledger_consistency(&victim.checkpoint, None)?);
    model.close()?;
    let checked = |checkpoint: &str, link: Option<&str>| -> Answer {
        let consistency = link.map(str::as_bytes);
        let evidence = Evidence { checkpoint: Some(checkpoint), consistency, ..victim.evidence() };
        verify(&shown.certificate, &evidence).into()
    };
    let honest = checked(&newer, Some(&link));
    outcome.refused(
        "shows a certificate to somebody with a newer checkpoint, of a log that forked before it",
        "checkpoint",
        &honest,
        checked(&forked, None),
    );
    outcome.refused(
        "adds the consistency file of the other branch",
        "checkpoint",
        &honest,
        checked(&forked, Some(&forked_link)),
    );
    outcome.refused("adds the consistency file of this branch", "checkpoint", &honest, checked(&forked, Some(&link)));
    Ok(())
}

/// Entries of the log that a checkpoint speaks of.
fn n_entries(checkpoint: &str) -> anyhow::Result<u64> {
    Ok(checkpoint.lines().nth(1).context("a size")?.parse()?)
}
