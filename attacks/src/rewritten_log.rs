//! A log that says something else than it did, up to one that was rewritten as a whole, with the victim's own key.

use std::path::Path;

use efface_engine::ModelDirectory;
use efface_ledger::verify::{Evidence, verify};
use sha2::{Digest, Sha256};

use crate::break_in::BreakIn;
use crate::forgery::{Parts, statement_of};
use crate::outcome::Expected;
use crate::victim::{Published, Victim, consistency, release, rows, verify_directory};
use crate::{Answer, Attack, Outcome};

pub(crate) struct RewrittenLog;

impl Attack for RewrittenLog {
    fn name(&self) -> &'static str {
        "rewritten-log"
    }

    fn story(&self) -> &'static str {
        "The attacker is the operator, and wants a removal never to have been asked for, or to tell two auditors two stories.\n  \
         It edits the log in the database, recomputes what follows from it, and in the end signs everything again."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        let victim = Victim::new()?;
        entries(&mut outcome, &victim)?;
        everything(&mut outcome, &victim)?;
        fork(&mut outcome, &victim)?;
        Ok(outcome)
    }
}

/// Entries alone, and with the hashes above them.
fn entries(outcome: &mut Outcome, victim: &Victim) -> anyhow::Result<()> {
    let honest = verify_directory(&victim.path(), false)?;
    let leaves = BreakIn::new(&victim.path())?.leaves()?;
    let (removal, edited) = edited_removal(&leaves)?;

    let path = victim.copy("edited-entry")?;
    BreakIn::new(&path)?.edit_leaf(removal as u64, &edited)?;
    outcome.refused(
        "edits an entry: the removal was of no row; `efface verify DIR`",
        "log",
        &honest,
        verify_directory(&path, false)?,
    );

    let path = victim.copy("deleted-entry")?;
    BreakIn::new(&path)?.delete_leaf(removal as u64)?;
    outcome.refused("deletes the entry; `efface verify DIR`", "log", &honest, verify_directory(&path, false)?);

    let path = victim.copy("recomputed")?;
    let mut rewritten = leaves;
    rewritten[removal] = edited;
    BreakIn::new(&path)?.rewrite_log(&rewritten)?;
    outcome.refused(
        "edits the entry and recomputes all hashes; `efface verify DIR`",
        "release",
        &honest,
        verify_directory(&path, false)?,
    );
    outcome.refused(
        "is asked by an auditor with a checkpoint to show that this log continues the one seen",
        "consistency",
        &consistency(&victim.path(), &victim.checkpoint)?,
        consistency(&path, &victim.checkpoint)?,
    );
    Ok(())
}

/// The log, and every certificate that speaks of it, with the victim's own key.
fn everything(outcome: &mut Outcome, victim: &Victim) -> anyhow::Result<()> {
    let path = victim.copy("resigned")?;
    let break_in = BreakIn::new(&path)?;
    let mut insider = break_in.insider()?;
    let (removal, edited) = edited_removal(&insider.leaves)?;
    insider.leaves[removal] = edited;
    let mut reissued = Vec::new();
    for (number, release) in [(1, &victim.first), (2, &victim.second)] {
        let position = statement_of(&release.certificate)?.predicate.issue.log.position as usize;
        let file = insider.reissue(&release.certificate, |c| {
            if let Some(request) = c.requests.first_mut() {
                request.n_rows = 0;
                (c.since_previous.n_removed, c.n_removed) = (0, 0);
            }
        })?;
        let payload = statement_of(&file)?.to_payload()?;
        let digest = hex::encode(Sha256::digest(payload));
        let Published { certificate: before, .. } = release;
        let before = hex::encode(Sha256::digest(statement_of(before)?.to_payload()?));
        insider.leaves[position] = insider.leaves[position].replace(&before, &digest);
        break_in.rename_certificate(number, Some(&digest))?;
        break_in.replace(number, "certificate.json", &file)?;
        reissued = file;
    }
    break_in.rewrite_log(&insider.leaves)?;
    drop(break_in);
    outcome.add(
        "rewrites the log, reissues every certificate and signs it all with the victim's key; `efface verify DIR`",
        Expected::Limit("the directory is consistent with itself: what shows the rewriting is outside of it"),
        &verify_directory(&victim.path(), false)?,
        verify_directory(&path, false)?,
    );
    outcome.refused(
        "is asked by an auditor with a checkpoint from before",
        "consistency",
        &consistency(&victim.path(), &victim.checkpoint)?,
        consistency(&path, &victim.checkpoint)?,
    );
    let honest_link = link(&victim.path(), &embedded(&victim.second.certificate)?)?;
    let checked = |certificate: &[u8], consistency: &[u8]| -> Answer {
        let checkpoint = Some(&*victim.checkpoint);
        verify(certificate, &Evidence { checkpoint, consistency: Some(consistency), ..victim.evidence() }).into()
    };
    outcome.refused(
        "shows a reissued certificate to somebody with that checkpoint",
        "checkpoint",
        &checked(&victim.second.certificate, &honest_link),
        checked(&reissued, &honest_link),
    );
    let own_link = link(&path, &embedded(&reissued)?)?;
    outcome.refused(
        "adds a genuine consistency file of the rewritten log",
        "checkpoint",
        &checked(&victim.second.certificate, &honest_link),
        checked(&reissued, &own_link),
    );
    Ok(())
}

/// Two stories for two auditors.
fn fork(outcome: &mut Outcome, victim: &Victim) -> anyhow::Result<()> {
    let (one, other) = (victim.copy("for-one-auditor")?, victim.copy("for-another")?);
    let mut checkpoints = Vec::new();
    for (path, row) in [(&one, 11), (&other, 12)] {
        let mut model = ModelDirectory::open(path)?;
        model.remove(&rows(&[row]), None)?;
        release(&mut model)?;
        checkpoints.push(model.ledger_checkpoint()?);
        model.close()?;
    }
    let certificate = Published::of(&one, 3)?.certificate;
    let checked = |checkpoint: &str| -> Answer {
        verify(&certificate, &Evidence { checkpoint: Some(checkpoint), ..victim.evidence() }).into()
    };
    outcome.refused(
        "keeps two branches of the log; the auditors compare a certificate with each other's checkpoints",
        "checkpoint",
        &checked(&checkpoints[0]),
        checked(&checkpoints[1]),
    );
    outcome.refused(
        "is asked by one auditor to continue from the other's checkpoint",
        "consistency",
        &consistency(&one, &checkpoints[0])?,
        consistency(&one, &checkpoints[1])?,
    );
    outcome.add(
        "keeps two branches; the auditors do not talk to each other",
        Expected::Limit(
            "each branch is a log without a flaw: checkpoints must be compared, or published where all see them",
        ),
        &checked(&checkpoints[0]),
        verify_directory(&other, false)?,
    );
    Ok(())
}

/// The first removal, and what the operator would have liked it to say.
fn edited_removal(leaves: &[String]) -> anyhow::Result<(usize, String)> {
    let found = leaves.iter().position(|leaf| leaf.contains("\"kind\":\"removal\""));
    let Some(position) = found else { anyhow::bail!("the log has no removal") };
    Ok((position, leaves[position].replace("\"n_rows\":1", "\"n_rows\":0")))
}

fn link(path: &Path, checkpoint: &str) -> anyhow::Result<Vec<u8>> {
    let model = ModelDirectory::open(path)?;
    let link = model.ledger_consistency(checkpoint, None)?;
    model.close()?;
    Ok(link.into_bytes())
}

/// The checkpoint that a certificate carries.
fn embedded(certificate: &[u8]) -> anyhow::Result<String> {
    Ok(Parts::of(certificate)?.log.map(|log| log.checkpoint).unwrap_or_default())
}
