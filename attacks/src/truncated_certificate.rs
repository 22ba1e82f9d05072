//! Something left out: the end of a file, a proof, a request, the end of the log.

use efface_engine::ModelDirectory;
use efface_ledger::certificate::ReleaseCertificate;
use efface_ledger::statement::Statement;

use crate::break_in::BreakIn;
use crate::forgery::{Parts, statement_of};
use crate::outcome::Expected;
use crate::victim::{TICKET, Victim, consistency, rows, verify_directory};
use crate::{Answer, Attack, Outcome};

pub(crate) struct TruncatedCertificate;

impl Attack for TruncatedCertificate {
    fn name(&self) -> &'static str {
        "truncated-certificate"
    }

    fn story(&self) -> &'static str {
        "The attacker leaves something out: of a certificate on its way, or, as the operator, of the log."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        let victim = Victim::new()?;
        cut_files(&mut outcome, &victim)?;
        drop_requests(&mut outcome, &victim)?;
        cut_log(&mut outcome, &victim)?;
        Ok(outcome)
    }
}

fn cut_files(outcome: &mut Outcome, victim: &Victim) -> anyhow::Result<()> {
    for (name, file) in [("a release", &victim.second.certificate), ("a request", &victim.request)] {
        let honest = victim.stranger(file, None);
        let answers = (0..file.len()).map(|len| Ok(victim.stranger(&file[..len], None)));
        outcome.refused(
            format!("cuts the certificate of {name} at each of its {} lengths", file.len()),
            "form",
            &honest,
            Answer::weakest("form", answers)?,
        );
        let parts = Parts::of(file)?;
        let tampered = |change: &dyn Fn(&mut Parts)| -> anyhow::Result<Answer> {
            let mut parts = parts.clone();
            change(&mut parts);
            Ok(victim.stranger(&parts.to_file()?, None))
        };
        let hash = tampered(&|parts| {
            if let Some(log) = &mut parts.log {
                log.proofs[0].inclusion.pop();
            }
        })?;
        outcome.refused(format!("cuts a hash off the proof of {name}"), "log", &honest, hash);
        let proof = tampered(&|parts| {
            if let Some(log) = &mut parts.log {
                log.proofs.pop();
            }
        })?;
        outcome.refused(format!("leaves out a proof of {name}"), "log", &honest, proof);
        let log = tampered(&|parts| parts.log = None)?;
        outcome.refused(format!("leaves out the place in the log of {name}"), "log", &honest, log);
    }
    Ok(())
}

fn drop_requests(outcome: &mut Outcome, victim: &Victim) -> anyhow::Result<()> {
    let certificate = &victim.second.certificate;
    let honest = victim.stranger(certificate, None);
    let Statement { subject, mut predicate, .. } = statement_of(certificate)?;
    anyhow::ensure!(predicate.requests.iter().any(|request| request.id == TICKET), "the request is listed");
    predicate.requests.clear();
    let statement = Statement::new(subject, ReleaseCertificate::TYPE, predicate);
    let dropped = Parts::of(certificate)?.with_payload(&statement)?.to_file()?;
    outcome.refused("strikes the request off the list", "signature", &honest, victim.stranger(&dropped, None));
    let insider = BreakIn::new(&victim.path())?.insider()?;
    let dropped = insider.reissue(certificate, |certificate| certificate.requests.clear())?;
    outcome.refused(
        "has the victim's key, strikes the request off the list and signs again",
        "requests",
        &honest,
        victim.stranger(&dropped, None),
    );
    Ok(())
}

fn cut_log(outcome: &mut Outcome, victim: &Victim) -> anyhow::Result<()> {
    let honest = verify_directory(&victim.path(), false)?;
    let removal = |leaf: &String| leaf.contains("\"kind\":\"removal\"");

    let path = victim.copy("cut-before-the-removal")?;
    let break_in = BreakIn::new(&path)?;
    let leaves = break_in.leaves()?;
    let before = leaves.iter().position(removal).unwrap_or_default();
    break_in.rewrite_log(&leaves[..before])?;
    drop(break_in);
    outcome.refused(
        "drops the end of the log, from the removal on; `efface verify DIR`",
        "release",
        &honest,
        verify_directory(&path, false)?,
    );
    let consistent = consistency(&victim.path(), &victim.checkpoint)?;
    outcome.refused(
        "is asked by somebody who has a checkpoint to show that the log goes on from there",
        "consistency",
        &consistent,
        consistency(&path, &victim.checkpoint)?,
    );

    // After the latest release no certificate speaks of the end of the log.
    let path = victim.copy("cut-after-the-release")?;
    let mut model = ModelDirectory::open(&path)?;
    model.remove(&rows(&[8]), Some("ticket-2"))?;
    let checkpoint = model.ledger_checkpoint()?;
    model.close()?;
    let honest = verify_directory(&path, false)?;
    let break_in = BreakIn::new(&path)?;
    let leaves = break_in.leaves()?;
    break_in.rewrite_log(&leaves[..leaves.len() - 1])?;
    drop(break_in);
    outcome.refused(
        "drops a removal that no release covers yet; `efface verify DIR`",
        "log",
        &honest,
        verify_directory(&path, false)?,
    );
    outcome.refused(
        "is asked by somebody who has a checkpoint from after that removal",
        "consistency",
        &consistent,
        consistency(&path, &checkpoint)?,
    );
    outcome.add(
        "is asked by somebody who has an older checkpoint only",
        Expected::Limit(
            "what was added to the log after the latest checkpoint that anybody has can be taken back unseen",
        ),
        &consistent,
        consistency(&path, &victim.checkpoint)?,
    );
    Ok(())
}
