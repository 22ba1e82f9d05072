//! The slow-down attacker: whoever may ask for removals asks for the rows that are hardest to remove, to use up the budget
//! and force retraining after every few requests.

use efface_core::model::{Outcome as Stands, ReleaseOutcome, TrainingConfig};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;

use crate::hardest_rows::{N_ROWS, Order, World, objective, release, weights};
use crate::outcome::Expected;
use crate::{Answer, Attack, Outcome};

pub(crate) struct HardestRowsFirst;

/// What the attack does to both mechanisms.
#[derive(Clone, Debug)]
pub struct SlowDown {
    /// Removals that mechanism `objective` takes before it asks for retraining, in random order.
    pub objective_random: usize,
    /// The same, hardest rows first.
    pub objective_hardest: usize,
    /// Accuracy of that model as trained, and of the unperturbed one.
    pub objective_accuracy: (f64, f64),
    /// What mechanism `release` does in random order.
    pub random: Vec<Release>,
    /// The same, hardest rows first.
    pub hardest: Vec<Release>,
}

/// One release under mechanism `release`.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// Rows removed before it.
    pub n_removed: usize,
    /// Distance to the retrained model right before, with no pass over the rows: as bounded and as measured.
    pub before_settling: (f64, f64),
    /// Passes over the rows that settling took.
    pub passes: usize,
    /// Distance of the released model's mean to the retrained one: as claimed and as measured.
    pub released: (f64, f64),
    /// ε that all releases so far prove, of the ε promised.
    pub epsilon: (f64, f64),
    /// Accuracy of the released model and of the retrained one.
    pub accuracy: (f64, f64),
}

/// Whether a release is what it should be.
type Holds = fn(&Release) -> bool;

/// Releases along the way: after every tenth of the rows, until half of them are gone.
const RELEASES: usize = 5;

/// Runs both mechanisms in both orders.
pub fn slow_down() -> anyhow::Result<SlowDown> {
    Ok(SlowDown {
        objective_random: removals_until_retraining(Order::Random)?,
        objective_hardest: removals_until_retraining(Order::HardestFirst)?,
        objective_accuracy: (accuracy_of(objective())?, accuracy_of(release())?),
        random: releases(Order::Random)?,
        hardest: releases(Order::HardestFirst)?,
    })
}

fn accuracy_of(config: TrainingConfig) -> anyhow::Result<f64> {
    let world = World::train(config, Order::Random, 1)?;
    world.accuracy(&weights(&world.model))
}

fn removals_until_retraining(order: Order) -> anyhow::Result<usize> {
    // Each removal takes its toll: the attacker looks again after every one.
    let mut world = World::train(objective(), order, 1)?;
    let mut n_removed = 0;
    loop {
        world.remove_next()?;
        if world.model.outcome() == Stands::RetrainRequired {
            return Ok(n_removed);
        }
        n_removed += 1;
    }
}

fn releases(order: Order) -> anyhow::Result<Vec<Release>> {
    let mut world = World::train(release(), order, 20)?;
    let mut noise = NoiseSource::danger_fixed_seed(23);
    let per_release = N_ROWS / 2 / RELEASES;
    let mut releases = Vec::new();
    for _ in 0..RELEASES {
        for _ in 0..per_release {
            world.remove_next()?;
        }
        let retrained = world.retrain()?;
        let measured = |world: &World| distance(&weights(&world.model), &weights(&retrained));
        let before_settling = (world.model.claim().distance_bound.get(), measured(&world));
        let passes = world.model.settle_before_release(&world.rows)?;
        let settled = measured(&world);
        let published = match world.model.release(&mut noise) {
            ReleaseOutcome::Published(published) => published,
            refused => anyhow::bail!("mechanism `release` stopped: {refused:?}"),
        };
        let claim = published.claim;
        releases.push(Release {
            n_removed: N_ROWS - world.rows.n_rows(),
            before_settling,
            passes,
            released: (claim.distance_bound.get(), settled),
            epsilon: (claim.epsilon_spent, claim.guarantee.epsilon),
            accuracy: (world.accuracy(&published.weights)?, world.accuracy(&weights(&retrained))?),
        });
    }
    Ok(releases)
}

fn distance(one: &[Vec<f64>], other: &[Vec<f64>]) -> f64 {
    one.iter().flatten().zip(other.iter().flatten()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

impl Attack for HardestRowsFirst {
    fn name(&self) -> &'static str {
        "hardest-rows-first"
    }

    fn story(&self) -> &'static str {
        "The attacker may ask for removals, knows the rows and even the secret state, and always asks for the rows that move\n  \
         the model most. Under mechanism `objective` each removal spends from one budget, and a spent budget means\n  \
         retraining. Under mechanism `release`, the default, it costs a few passes over the rows per release."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let found = slow_down()?;
        let (random, hardest) = (found.objective_random, found.objective_hardest);
        let collapses = 10 * hardest <= random;
        let mut outcome = Outcome::default();
        outcome.add(
            "asks a model of mechanism `objective`, as published, for its hardest rows",
            Expected::Limit(
                "the budget collapses, as its proof foresees: who expects this uses mechanism `release`, the default",
            ),
            &Answer::accepted(format!("retraining after {random} removals in random order")),
            if collapses {
                Answer::accepted(format!("retraining after {hardest} removals; in random order after {random}"))
            } else {
                Answer::refused("budget", format!("{hardest} removals against {random} in random order"))
            },
        );
        let last = found.hardest.last();
        let checks: [(&str, &'static str, Holds, String); 3] = [
            (
                "asks a model of mechanism `release` for the hardest half of its rows, to exhaust its promise",
                "promise",
                |release| release.epsilon.0 <= release.epsilon.1,
                last.map_or_else(String::new, |release| {
                    format!(
                        "{} rows removed, ε {:.5} of {} spent",
                        release.n_removed, release.epsilon.0, release.epsilon.1
                    )
                }),
            ),
            (
                "hopes that the model ends up farther from the retrained one than is claimed",
                "distance",
                |release| {
                    release.before_settling.1 <= release.before_settling.0 && release.released.1 <= release.released.0
                },
                "every distance measured is below its bound".into(),
            ),
            (
                "hopes that the released models become useless",
                "accuracy",
                |release| release.accuracy.0 >= release.accuracy.1 - 0.005,
                "the released models are as good as the retrained ones, within half a percent".into(),
            ),
        ];
        for (what, check, holds, message) in checks {
            let answer = |releases: &[Release], held: Answer, broken: Answer| {
                if releases.len() == RELEASES && releases.iter().all(holds) { held } else { broken }
            };
            let honest = answer(
                &found.random,
                Answer::accepted("holds"),
                Answer::refused(check, "does not hold in random order"),
            );
            let held = Answer::refused(check, message);
            outcome.refused(what, check, &honest, answer(&found.hardest, held, Answer::accepted("it does not hold")));
        }
        outcome.table = found.table();
        Ok(outcome)
    }
}

impl SlowDown {
    fn table(&self) -> Vec<String> {
        let mut lines = vec![
            "removals until retraining, of 2,000 rows      random order   hardest first".into(),
            format!(
                "  objective, as published                     {:>12} {:>15}",
                self.objective_random, self.objective_hardest
            ),
            format!(
                "  release                                     {:>12} {:>15}",
                none_in(&self.random),
                none_in(&self.hardest)
            ),
            format!(
                "accuracy as trained: objective {:.3}, release {:.3}",
                self.objective_accuracy.0, self.objective_accuracy.1
            ),
        ];
        for (order, releases) in [("random order", &self.random), ("hardest first", &self.hardest)] {
            lines.push(String::new());
            lines.push(format!(
                "release, {order:13} distance before settling   passes   distance released        ε spent   accuracy"
            ));
            lines.push("        removed        bound    measured                  claimed  measured                released  retrained".into());
            for release in releases {
                let ((bound, measured), (claimed, settled)) = (release.before_settling, release.released);
                lines.push(format!(
                    "        {:>7}     {bound:.2e}    {measured:.2e}   {:>6}    {claimed:.2e}  {:>8}   {:>8.5}    {:.4}    {:.4}",
                    release.n_removed,
                    release.passes,
                    format!("{settled:.1e}"),
                    release.epsilon.0,
                    release.accuracy.0,
                    release.accuracy.1
                ));
            }
        }
        lines
    }
}

fn none_in(releases: &[Release]) -> String {
    releases.last().map_or_else(String::new, |release| format!("none in {}", release.n_removed))
}
