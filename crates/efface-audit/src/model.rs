//! The audit of somebody's own model: canaries are rows of its own, chosen for their influence, and everything is done on
//! copies in memory.

#[cfg(test)]
mod tests;

use efface_core::model::{Model, ReleaseAccount, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::{Point, RowBlocks, RowStore};
use efface_data::MemoryRows;
use rayon::prelude::*;

use crate::audit::{Audit, Distribution, Settings, Subject, Verdict};
use crate::choice::some;
use crate::dense::length;
use crate::engine::{Case, check_mechanism};
use crate::error::AuditError;
use crate::reconstruction::{self, Target};
use crate::rows::read;
use crate::{distribution, membership, work};

/// Fewer rows than this leave nothing to compare.
const LEAST_ROWS: usize = 16;

/// Attacks a model and its rows. Neither is changed.
pub fn of_model(
    model: &Model,
    rows: &dyn RowBlocks,
    settings: &Settings,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
) -> Result<Audit, AuditError> {
    let plan = model.plan();
    check_mechanism(plan)?;
    if rows.n_rows() < LEAST_ROWS {
        return Err(AuditError::TooFewRows { found: rows.n_rows(), least: LEAST_ROWS });
    }
    report("choosing canaries");
    let mut trained = model.clone().with_account(ReleaseAccount::default());
    trained.settle_before_release(rows)?;
    let sample = Sample::draw(&trained, rows, noise)?;
    let mut notes = Vec::new();
    if sample.rows.len() < rows.n_rows() {
        notes.push(format!(
            "The model has {} rows of {} features; canaries, shadow models and the attacker’s sample are taken from {} of \
             them, drawn at random.",
            rows.n_rows(),
            rows.dim(),
            sample.rows.len()
        ));
    }

    let cases = sample.cases(&trained, rows, &mut notes)?;
    let draws = work::draws(rows.dim() * work::n_weights_per_feature(plan), settings.distribution.draws);
    if draws < settings.distribution.draws {
        notes.push(format!("{draws} releases were drawn in each world: the model has many weights."));
    }
    let size = distribution::Size { draws, ..settings.distribution };
    let distribution = Distribution::of(&cases, size, noise, report)?;
    let membership = attack_membership(&sample, plan, settings, noise, report, &mut notes)?;
    let reconstruction = attack_reconstruction(&sample, &trained, rows, settings, noise, report, &mut notes)?;
    let guarantee = model.plan().claimed_guarantee();
    let audit = Audit {
        verdict: Verdict::Stands,
        subject: Subject {
            built_in: false,
            n_rows: rows.n_rows(),
            dim: rows.dim(),
            epsilon: guarantee.epsilon,
            delta: guarantee.delta,
            noise_std: Some(plan.noise_std()),
        },
        distribution,
        self_test: None,
        membership,
        reconstruction,
        notes,
    };
    Ok(audit.judged())
}

fn attack_membership(
    sample: &Sample,
    plan: &TrainingPlan,
    settings: &Settings,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
    notes: &mut Vec<String>,
) -> Result<Option<membership::Membership>, AuditError> {
    let settings = Settings { n_examples: settings.n_examples.min(6), ..*settings };
    let Some(size) = work::membership(plan, sample.rows.len(), sample.rows.dim(), &settings) else {
        notes
            .push("Membership inference was left out: training shadow models of this size would take too long.".into());
        return Ok(None);
    };
    let examples: Vec<usize> = sample.ranked.iter().take(settings.n_examples).copied().collect();
    membership::attack(plan, &sample.rows, &examples, &size, noise, report).map(Some)
}

/// Rows that stand for what an attacker has of the same kind.
const MOST_PUBLIC: usize = 500;

fn attack_reconstruction(
    sample: &Sample,
    trained: &Model,
    rows: &dyn RowBlocks,
    settings: &Settings,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
    notes: &mut Vec<String>,
) -> Result<Option<reconstruction::Reconstruction>, AuditError> {
    let Some(trials) = work::reconstruction(trained.plan(), rows.n_rows(), rows.dim(), settings) else {
        notes.push(
            "The reconstruction was left out: retraining a model of this size so often would take too long.".into(),
        );
        return Ok(None);
    };
    let n = sample.rows.len();
    let order = some(n, n, noise);
    let (public, removable) = order.split_at((n / 2).min(MOST_PUBLIC));
    let removable: Vec<usize> = removable.iter().map(|i| sample.positions[*i]).collect();
    let target =
        Target { trained, rows, removable: &removable, public: &sample.rows.batch(public)?, keep_pictures: false };
    reconstruction::attack(&target, trials, noise, report).map(Some)
}

/// Some rows of the model, in memory.
struct Sample {
    /// Where they are in the model's own rows, ascending.
    positions: Vec<usize>,
    rows: MemoryRows,
    /// Positions in `rows` by influence on the model, largest first.
    ranked: Vec<usize>,
}

impl Sample {
    fn draw(model: &Model, rows: &dyn RowBlocks, noise: &mut NoiseSource) -> Result<Self, AuditError> {
        let mut present = Vec::with_capacity(rows.n_rows());
        let mut start = 0;
        for index in 0..rows.n_blocks() {
            rows.visit_block(index, &mut |block| {
                present.extend((0..block.present.len()).filter(|i| block.present[*i]).map(|i| start + i));
                start += block.present.len();
            })?;
        }
        let most = work::MOST_ROWS.min(present.len());
        let mut positions: Vec<usize> = some(most, present.len(), noise).into_iter().map(|i| present[i]).collect();
        positions.sort_unstable();
        let rows = read(rows, &positions)?;
        let rankable = some(work::rankable(model.plan(), rows.dim()), rows.len(), noise);
        let mut ranked: Vec<(usize, f64)> = rankable
            .into_par_iter()
            .map(|i| Ok((i, model.influence(&rows.batch(&[i])?)?)))
            .collect::<Result<_, AuditError>>()?;
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(Self { positions, rows, ranked: ranked.into_iter().map(|(i, _)| i).collect() })
    }

    /// The most influential row, the one that the model finds least likely, and the longest; each alone, and two of them one
    /// after the other.
    fn cases<'a>(
        &self,
        trained: &'a Model,
        rows: &'a dyn RowBlocks,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Case<'a>>, AuditError> {
        let least_likely = self.highest(&self.losses(trained)?);
        let longest = self.highest(
            &(0..self.rows.len()).map(|i| self.rows.row(i).map_or(0.0, |row| length(&row))).collect::<Vec<_>>(),
        );
        let at = |i: usize| self.positions[i];
        let (first, second) = (at(self.ranked[0]), at(self.ranked[1]));
        let n = work::canaries(trained.plan(), rows.n_rows(), rows.dim());
        if n < 3 {
            notes.push("Fewer canaries than usual were tried: each takes one training from scratch.".into());
        }
        let case = |name: &str, removals: Vec<Vec<usize>>| Case {
            name: name.into(),
            rows,
            trained,
            removals,
            tolerance: None,
        };
        let mut cases = vec![case("the most influential row", vec![vec![first]])];
        if n > 1 {
            cases.push(case("the row that the model fits worst", vec![vec![at(least_likely)]]));
        }
        if n > 2 {
            cases.push(case("the longest row", vec![vec![at(longest)]]));
            let both = vec![vec![first], vec![second]];
            cases.push(case("the two most influential rows, a release after each", both));
        }
        Ok(cases)
    }

    /// The loss of each row under the secret weights, all problems together.
    fn losses(&self, trained: &Model) -> Result<Vec<f64>, AuditError> {
        let (loss, problems, weights) = (trained.plan().loss(), trained.plan().problems(), trained.weights());
        let one = |i: usize| {
            let row = self.rows.batch(&[i])?;
            let mut sum = 0.0;
            for (problem, weights) in problems.iter().zip(&weights) {
                sum += row.gradients(loss, &[Point { problem, weights }])?[0].value;
            }
            Ok(sum)
        };
        (0..self.rows.len()).map(one).collect()
    }

    fn highest(&self, values: &[f64]) -> usize {
        let best = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
        (0..self.rows.len()).fold(0, best)
    }
}
