//! The bytes of the secret state. `docs/design/state-file.md` describes them.

mod numbers;

use std::fs;
use std::path::Path;

use efface_core::curvature::Dense;
use efface_core::exact::{ColumnRanges, ExactSums};
use efface_core::linalg::TrackedMatrix;
use efface_core::model::{Fit, Model, ModelState, ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::residual::Rung;
use efface_core::ridge::Ridge;
use efface_core::rounding::UpperBound;
use efface_core::rows::{Problem, RowCount, WeightSum};
use efface_data::derived::{Constants, Counts, Preparation, Texts};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use self::numbers::{Numbers, put, put_integers, put_lower};
use crate::directory::database::Chain;
use crate::directory::files;
use crate::error::EngineError;
use crate::sealed::Seal;
use crate::settings::Settings;

/// To which point of which history a state belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) model: String,
    pub(crate) generation: u64,
    pub(crate) n_changes: u64,
    /// Up to this change, every removal is in the state: all of them, unless nothing but certificates knows of some.
    pub(crate) complete_until: u64,
    pub(crate) chain: Chain,
    /// Ids and subjects that were removed by then, all of them in `state/removed`.
    pub(crate) n_removed: usize,
}

/// A state file that was read and checked, not yet fitted to a plan.
pub(crate) struct StateFile {
    pub(crate) stamp: Stamp,
    pub(crate) account: ReleaseAccount,
    model: ModelHeader,
    preparation: Option<Prepared>,
    numbers: Zeroizing<Vec<u8>>,
}

const SEAL: Seal = Seal { magic: b"EFFSTATE", version: 1, name: "state" };

#[derive(Serialize, Deserialize)]
struct Header {
    stamp: Stamp,
    model: ModelHeader,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preparation: Option<Prepared>,
}

/// What was counted of raw rows, and the constants that the model was trained under.
#[derive(Clone, Serialize, Deserialize)]
struct Prepared {
    counts: Counts,
    constants: Constants,
}

#[derive(Serialize, Deserialize)]
struct ModelHeader {
    n_rows: usize,
    /// What they weigh, where that is not their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_sum: Option<Units>,
    dim: usize,
    absent_classes: Vec<u32>,
    fits: Vec<FitHeader>,
    /// Exact sums, where there are no fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<SumsHeader>,
    /// Error and trace bound of the Gram matrix, where there is one.
    gram: Option<(UpperBound, UpperBound)>,
    design_norm_squared: UpperBound,
    row_norm: UpperBound,
    rung: Rung,
    certified: bool,
    account: ReleaseAccount,
}

#[derive(Serialize, Deserialize)]
struct FitHeader {
    problem: Problem,
    n_rows: usize,
    /// What they weigh, where that is not their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_sum: Option<Units>,
    gradient_error: UpperBound,
    perturbed: bool,
    /// Error and trace bound of the Hessian, where there is one.
    hessian: Option<(UpperBound, UpperBound)>,
}

/// What is kept of exact sums beside their integers.
#[derive(Serialize, Deserialize)]
struct SumsHeader {
    problems: Vec<Problem>,
    /// Per column: exponent field of each power of two that has values, and how many.
    ranges: Vec<Vec<(u16, u64)>>,
    /// Whether the integers follow; else a pass over the rows has to make them.
    made: bool,
}

pub(crate) fn encode(stamp: &Stamp, model: &Model, preparation: Option<&Preparation>) -> (Zeroizing<Vec<u8>>, String) {
    let preparation = preparation.map(|preparation| Prepared {
        counts: preparation.counts().clone(),
        // A category that has gone has left its name nowhere.
        constants: preparation.encoder().constants().clone().named(&Texts::new()),
    });
    let header = Header { stamp: stamp.clone(), model: ModelHeader::of(model), preparation };
    let header = serde_json::to_vec(&header).expect("maps have string keys and numbers are finite or null");
    let numbers = numbers_of(model.state());
    SEAL.close([&header, &numbers])
}

impl StateFile {
    /// Reads a state file; `None`: there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, EngineError> {
        let bytes = files::if_there(fs::read(path), path)?.map(Zeroizing::new);
        bytes.map(|bytes| Self::decode(path, &bytes)).transpose()
    }

    /// Checks the bytes of a state file and takes them apart.
    pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<Self, EngineError> {
        let damaged = |what: &str| SEAL.damaged(path, what);
        let [header, numbers] = SEAL.open(path, bytes)?;
        let header = serde_json::from_slice(header).map_err(|error| damaged(&error.to_string()))?;
        let Header { stamp, model, preparation } = header;
        Ok(Self { stamp, account: model.account, model, preparation, numbers: Zeroizing::new(numbers.to_vec()) })
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.model.n_rows
    }

    /// How the rows of the model are prepared; `texts` are those of categories.
    pub(crate) fn preparation(&self, settings: &Settings, texts: Texts) -> Option<Preparation> {
        let Prepared { counts, constants } = self.preparation.clone()?;
        let constants = constants.named(&texts);
        Some(Preparation::with_constants(counts.with_texts(texts), constants, settings.transform.intercept))
    }

    pub(crate) fn model(self, path: &Path, settings: &Settings) -> Result<Model, EngineError> {
        self.model.restore(path, settings, &self.numbers)
    }
}

fn numbers_of(state: &ModelState) -> Zeroizing<Vec<u8>> {
    let integers = state.sums.as_ref().and_then(|sums| sums.parts().1).unwrap_or_default();
    // Room for all of it: what grows leaves copies behind. And no more: a wide model keeps no matrix.
    let len = 8 * n_numbers(state) + 16 * integers.len();
    let mut numbers = Zeroizing::new(Vec::with_capacity(len));
    put_integers(&mut numbers, integers);
    for fit in &state.fits {
        put(&mut numbers, &fit.weights);
        put(&mut numbers, &fit.gradient);
        if let Some(perturbation) = &fit.perturbation {
            put(&mut numbers, perturbation);
        }
        if let Some(curvature) = &fit.curvature {
            put(&mut numbers, &curvature.anchor);
            put_lower(&mut numbers, &curvature.hessian);
        }
    }
    if let Some(gram) = &state.gram {
        put_lower(&mut numbers, gram);
    }
    numbers
}

/// Doubles that are written of a state.
fn n_numbers(state: &ModelState) -> usize {
    let lower = |matrix: &TrackedMatrix| matrix.dim() * (matrix.dim() + 1) / 2;
    let of_fit = |fit: &Fit| {
        let perturbation = fit.perturbation.as_ref().map_or(0, |perturbation| perturbation.len());
        let curvature = fit.curvature.as_ref().map_or(0, |kept| kept.anchor.len() + lower(&kept.hessian));
        fit.weights.len() + fit.gradient.len() + perturbation + curvature
    };
    state.fits.iter().map(of_fit).sum::<usize>() + state.gram.as_ref().map_or(0, lower)
}

impl ModelHeader {
    fn of(model: &Model) -> Self {
        let state = model.state();
        Self {
            n_rows: state.count.n_rows,
            weight_sum: Units::of(state.count),
            dim: model.dim(),
            absent_classes: model.plan().config().absent_classes.clone(),
            fits: state.fits.iter().map(FitHeader::of).collect(),
            sums: state.sums.as_ref().map(SumsHeader::of),
            gram: state.gram.as_ref().map(|gram| (gram.error(), gram.trace())),
            design_norm_squared: state.design_norm_squared,
            row_norm: state.row_norm,
            rung: state.rung,
            certified: state.certified,
            account: state.account,
        }
    }

    fn restore(self, path: &Path, settings: &Settings, numbers: &[u8]) -> Result<Model, EngineError> {
        let absent_classes = self.absent_classes.clone();
        let plan = TrainingPlan::new(TrainingConfig { absent_classes, ..settings.config.clone() })?;
        let state = self.state(settings.config.ridge, &mut Numbers(numbers));
        let model = state.and_then(|state| Model::from_state(plan, state));
        model.ok_or_else(|| SEAL.damaged(path, "its parts do not fit each other"))
    }

    fn state(self, ridge: Ridge, numbers: &mut Numbers<'_>) -> Option<ModelState> {
        let dim = self.dim;
        let sums = self.sums.map_or(Some(None), |sums| sums.restore(dim, numbers).map(Some))?;
        let fits = self.fits.into_iter().map(|fit| fit.restore(dim, ridge, numbers)).collect::<Option<_>>()?;
        let gram = self.gram.map_or(Some(None), |bounds| numbers.take_matrix(dim, bounds).map(Some))?;
        let state = ModelState {
            count: Units::count(self.weight_sum, self.n_rows),
            fits,
            sums,
            gram,
            design_norm_squared: self.design_norm_squared,
            row_norm: self.row_norm,
            rung: self.rung,
            certified: self.certified,
            account: self.account,
        };
        numbers.0.is_empty().then_some(state)
    }
}

impl SumsHeader {
    fn of(sums: &ExactSums) -> Self {
        let (ranges, integers) = sums.parts();
        Self { problems: sums.problems().to_vec(), ranges: ranges.counts().to_vec(), made: integers.is_some() }
    }

    fn restore(self, dim: usize, numbers: &mut Numbers<'_>) -> Option<ExactSums> {
        let n_columns = dim.checked_add(self.problems.len())?;
        let integers = if self.made { Some(numbers.take_integers(n_columns)?) } else { None };
        ExactSums::from_parts(dim, self.problems, ColumnRanges::from_counts(self.ranges)?, integers)
    }
}

impl FitHeader {
    fn of(fit: &Fit) -> Self {
        Self {
            problem: fit.problem.clone(),
            n_rows: fit.count.n_rows,
            weight_sum: Units::of(fit.count),
            gradient_error: fit.gradient_error,
            perturbed: fit.perturbation.is_some(),
            hessian: fit.curvature.as_ref().map(|curvature| (curvature.hessian.error(), curvature.hessian.trace())),
        }
    }

    fn restore(self, dim: usize, ridge: Ridge, numbers: &mut Numbers<'_>) -> Option<Fit> {
        let count = Units::count(self.weight_sum, self.n_rows);
        let dim = dim.checked_mul(self.problem.n_scores())?;
        let weights = numbers.take(dim)?.into();
        let gradient = numbers.take(dim)?.into();
        let perturbation = if self.perturbed { Some(numbers.take(dim)?.into()) } else { None };
        let curvature = match self.hessian {
            None => None,
            Some(bounds) => {
                let anchor = numbers.take(dim)?;
                let hessian = numbers.take_matrix(dim, bounds)?;
                Some(Dense::new(anchor.into(), hessian, ridge.over(count.weight_sum))?)
            }
        };
        Some(Fit {
            problem: self.problem,
            count,
            weights,
            perturbation,
            gradient,
            gradient_error: self.gradient_error,
            curvature,
        })
    }
}

/// A sum of row weights in units of 2⁻⁶⁴, exactly. Written as text: it is beyond the numbers of most readers of JSON.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct Units(WeightSum);

impl Units {
    /// `None`: every row counts once.
    fn of(count: RowCount) -> Option<Self> {
        (count.weight_sum != WeightSum::of_rows(count.n_rows)).then_some(Self(count.weight_sum))
    }

    fn count(units: Option<Self>, n_rows: usize) -> RowCount {
        RowCount { n_rows, weight_sum: units.map_or_else(|| WeightSum::of_rows(n_rows), |Self(sum)| sum) }
    }
}

impl From<Units> for String {
    fn from(Units(sum): Units) -> Self {
        sum.units().to_string()
    }
}

impl TryFrom<String> for Units {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Ok(Self(WeightSum::from_units(text.parse()?)))
    }
}

#[cfg(test)]
mod tests {
    use efface_core::loss::{Logistic, Loss, Squared};
    use efface_core::noise::NoiseSource;
    use efface_data::{FeatureOrder, FeatureValues, Labels, MemoryRows, Origin, RawLabels, RowTransform, Scale};
    use efface_data::{LabelCodec, Table, TableParts};

    use super::*;

    /// Room was made for a matrix of d · (d + 1) / 2 numbers for every fit, and overwritten with zeros afterwards: one removal
    /// from 60 rows of 50,000 features, of which no matrix is kept, took ten gigabytes.
    #[test]
    fn room_is_made_for_what_is_written_and_no_more() {
        let origin = Origin::new("rows.npy");
        let labels = Labels::new(RawLabels::Numbers(vec![0.0, 1.0, 1.0, 0.0]), origin.clone(), None);
        let features: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 5) - 2.0).collect();
        let parts = TableParts {
            feature_names: vec!["a".into(), "b".into(), "c".into()],
            features: FeatureValues::F64(features),
            labels: Some(labels),
            ids: None,
            subjects: None,
            row_weights: None,
            origin,
            texts: None,
        };
        let transform = RowTransform { scale: Scale::Unit, intercept: false };
        let codec = LabelCodec::Classes(vec!["0".into(), "1".into()]);
        let table = Table::new(parts).expect("a table");
        let rows = MemoryRows::of_table(table, &transform, Some(&codec), FeatureOrder::AsRead).expect("rows");
        let losses: [(&'static dyn Loss, f64); 2] = [(&Logistic, 0.01), (&Squared, 0.0)];
        for (loss, noise_std) in losses {
            for max_matrix_dim in [2, 3] {
                let config = TrainingConfig::new(loss, 0.1, Some(2));
                let config = TrainingConfig { max_matrix_dim, noise_std: Some(noise_std), ..config };
                let trained = TrainingPlan::new(config).expect("a plan").train_again(
                    &rows,
                    &mut NoiseSource::danger_fixed_seed(1),
                    &mut |_| {},
                );
                let Ok(trained) = trained else {
                    assert!(noise_std == 0.0 && max_matrix_dim == 2, "only exact sums need their matrix");
                    continue;
                };
                let numbers = numbers_of(trained.model.state());
                assert_eq!(numbers.capacity(), numbers.len(), "noise {noise_std}, matrices up to {max_matrix_dim}");
            }
        }
    }

    #[test]
    fn what_rows_weigh_is_written_only_where_it_is_not_their_number_and_read_back_exactly() {
        let once = RowCount { n_rows: 7, weight_sum: WeightSum::of_rows(7) };
        assert!(Units::of(once).is_none());
        assert_eq!(Units::count(None, 7), once);
        let heavy = RowCount { n_rows: 7, weight_sum: WeightSum::from_units((1 << 97) + 12_345) };
        let text = serde_json::to_string(&Units::of(heavy)).expect("a text");
        assert_eq!(text, "\"158456325028528675187087913017\"");
        assert_eq!(Units::count(serde_json::from_str(&text).expect("readable"), 7), heavy);
        for bad in ["\"-1\"", "\"\"", "7", "\"1.5\"", "\"340282366920938463463374607431768211456\""] {
            assert!(serde_json::from_str::<Units>(bad).is_err(), "{bad}");
        }
    }
}
