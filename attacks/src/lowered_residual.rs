//! A distance to the retrained model that is smaller on paper than in truth.

use std::path::Path;

use efface_engine::ModelDirectory;
use efface_ledger::certificate::ReleaseCertificate;

use crate::break_in::BreakIn;
use crate::forgery::edited;
use crate::outcome::Expected;
use crate::victim::{Published, Victim, release, rows, verify_directory};
use crate::{Attack, Outcome};

pub(crate) struct LoweredResidual;

impl Attack for LoweredResidual {
    fn name(&self) -> &'static str {
        "lowered-residual"
    }

    fn story(&self) -> &'static str {
        "The attacker is the operator. Rows have left by fast steps, the model is still far from the retrained one, and the\n  \
         operator wants to publish it as it is and have it look settled. A stranger who has a certificate only cannot see\n  \
         this: how far the secret weights are from the retrained ones can be measured on the rows alone. Whoever may look\n  \
         at the directory can have it measured: `efface verify DIR --replay`."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        on_paper(&mut outcome)?;
        in_the_state(&mut outcome)?;
        in_the_account(&mut outcome)?;
        Ok(outcome)
    }
}

/// Everything that follows from the distance, scaled down with it.
fn scale_down(c: &mut ReleaseCertificate) {
    let factor = 1.0 / 1024.0;
    c.gradient_residual *= factor;
    c.distance_bound *= factor;
    c.mu *= factor;
    c.spent_before.distances *= factor;
    c.spent_before.distance_squares *= factor * factor;
    c.mu_total *= factor;
    // A lattice must fit the distance.
    c.lattice_step = c.lattice_step.map(|step| step * factor);
}

fn on_paper(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let (certificate, model) = (&victim.second.certificate, Some(&victim.second.model[..]));
    let honest = victim.stranger(certificate, model);
    outcome.refused(
        "scales residual, distance and μ down by 1024, consistently; no key",
        "signature",
        &honest,
        victim.stranger(&edited(certificate, scale_down)?, model),
    );
    let insider = BreakIn::new(&victim.path())?.insider()?;
    let lowered = insider.reissue(certificate, scale_down)?;
    outcome.add(
        "does the same with the victim's own key, and logs it",
        Expected::Limit(
            "THE LIMIT OF A CERTIFICATE: the numbers agree with each other, and a stranger has no rows to measure",
        ),
        &honest,
        victim.stranger(&lowered, model),
    );
    let path = victim.copy("lowered")?;
    let break_in = BreakIn::new(&path)?;
    break_in.replace(2, "certificate.json", &lowered)?;
    drop(break_in);
    outcome.refused(
        "puts that certificate into the directory; `efface verify DIR`",
        "release",
        &verify_directory(&victim.path(), false)?,
        verify_directory(&path, false)?,
    );
    Ok(())
}

fn in_the_state(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let mut model = ModelDirectory::open(victim.path())?;
    for row in 20..40 {
        model.remove(&rows(&[row]), None)?;
    }
    model.close()?;
    let (honest, lying) = (victim.copy("honest")?, victim.copy("lying")?);
    BreakIn::new(&lying)?.understate_residual()?;
    let unsettled = verify_directory(&victim.path(), true)?;
    outcome.refused(
        "writes into the secret state that nothing is left of the gradient; `efface verify DIR --replay`",
        "replay",
        &unsettled,
        verify_directory(&lying, true)?,
    );
    // The engine believes it: it does not settle, and certifies.
    let passes = (publish(&honest)?, publish(&lying)?);
    anyhow::ensure!(passes.0 > 0 && passes.1 == 0, "the lie must save the passes: {passes:?}");
    let published = (Published::of(&honest, 3)?, Published::of(&lying, 3)?);
    outcome.add(
        "lets the engine publish from that state",
        Expected::Limit(
            "THE LIMIT OF A CERTIFICATE again: it is signed, logged and consistent, and rests on a false state",
        ),
        &victim.stranger(&published.0.certificate, Some(&published.0.model)),
        victim.stranger(&published.1.certificate, Some(&published.1.model)),
    );
    outcome.add(
        "has the directory checked without a look at the rows; `efface verify DIR`",
        Expected::Limit("log, releases and files belong together; the check of the claim is listed as not made"),
        &verify_directory(&honest, false)?,
        verify_directory(&lying, false)?,
    );
    outcome.refused(
        "has it measured on the rows; `efface verify DIR --replay`",
        "replay",
        &verify_directory(&honest, true)?,
        verify_directory(&lying, true)?,
    );
    measure(outcome, &lying)
}

/// What releases have spent, forgotten: the promise could be spent again.
fn in_the_account(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let path = victim.copy("forgetful")?;
    BreakIn::new(&path)?.forget_release(2)?;
    outcome.refused(
        "makes state and database forget a release and what it spent, and deletes its files; `efface verify DIR`",
        "log",
        &verify_directory(&victim.path(), false)?,
        verify_directory(&path, false)?,
    );
    Ok(())
}

/// Publishes; the passes over the rows that settling took.
fn publish(path: &Path) -> anyhow::Result<usize> {
    let mut model = ModelDirectory::open(path)?;
    let report = release(&mut model)?;
    model.close()?;
    Ok(report.settle_passes)
}

fn measure(outcome: &mut Outcome, lying: &Path) -> anyhow::Result<()> {
    let model = ModelDirectory::open(lying)?;
    let report = model.verify(true)?;
    model.close()?;
    let measured = report.measured_gradient_residual.unwrap_or_default();
    outcome.table = vec![
        format!("residual that the lying state claims  {:e}", report.gradient_residual),
        format!("residual that one pass measures       {measured:.3e}"),
    ];
    Ok(())
}
