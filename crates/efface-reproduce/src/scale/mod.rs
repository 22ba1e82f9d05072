//! A million rows of 2,048 features, and how costs grow.
//!
//! No public data set of that size is at hand, so `synthetic` draws rows like the features of real scenes, and
//! `likeness` says how alike they are. `large` trains on a million of them, removes ten thousand one at a time,
//! settles, and holds every claim against a model that is trained from zero. `growth` doubles rows and features.

mod growth;
mod large;
mod likeness;
mod section;
mod synthetic;

use efface_core::loss::Logistic;
use efface_core::model::{TrainingConfig, TrainingPlan};
use serde::{Deserialize, Serialize};

use self::growth::Growth;
use self::large::LargeRun;
use self::likeness::Likeness;
use self::synthetic::{ClassMoments, ClassRows};
use crate::{Result, Setting, data};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScaleResults {
    pub(crate) likeness: Likeness,
    pub(crate) large: LargeRun,
    pub(crate) growth: Growth,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<ScaleResults> {
    let sizes = Sizes::of(setting.quick);
    let plan = TrainingPlan::new(TrainingConfig::new(&Logistic, L2_PER_ROW, Some(2)))?;
    setting.begin("reading the scenes", 1);
    let scenes = data::scenes(&setting.data, setting.quick)?;
    setting.step();
    let test = ClassRows::first_features(&scenes.test, sizes.large_dim).into_rows()?;
    let real = ClassRows::first_features(&scenes.train, sizes.large_dim);
    let moments = ClassMoments::of(&real);

    setting.begin("comparing drawn rows with real ones", 1);
    let likeness = likeness::compare(real, &moments, sizes.compared_rows, &test, &plan, setting.seed)?;
    setting.step();
    let large = large::run(&moments, &sizes, &test, &plan, setting)?;
    let growth = growth::run(&scenes.train, &sizes, &plan, setting)?;
    Ok(ScaleResults { likeness, large, growth })
}

struct Sizes {
    large_rows: usize,
    large_dim: usize,
    large_removals: usize,
    /// Drawn rows that are compared with the real ones.
    compared_rows: usize,
    /// Rows and features at each point of the two growth curves.
    growth_with_rows: Vec<(usize, usize)>,
    growth_with_features: Vec<(usize, usize)>,
    /// Removals behind each cost.
    growth_removals: usize,
}

impl Sizes {
    fn of(quick: bool) -> Self {
        let size = |few: usize, many: usize| if quick { few } else { many };
        let doubling = |first: usize, n: usize| (0..n).map(move |k| first << k);
        let (fixed_rows, fixed_dim) = (size(500, 20_000), size(32, 256));
        let (rows, dims) = (doubling(size(500, 5_000), size(4, 7)), doubling(size(16, 64), size(4, 6)));
        Self {
            large_rows: size(2_000, 1_000_000),
            large_dim: size(64, 2_048),
            large_removals: size(50, 10_000),
            compared_rows: size(500, 20_000),
            growth_with_rows: rows.map(|n_rows| (n_rows, fixed_dim)).collect(),
            growth_with_features: dims.map(|dim| (fixed_rows, dim)).collect(),
            growth_removals: size(20, 200),
        }
    }
}

/// λ of every model here.
const L2_PER_ROW: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExperimentError;
    use efface_report::Part;

    #[test]
    fn a_quick_run_holds_its_claims_from_end_to_end() {
        let Some(data) = efface_testkit::real_data() else { return };
        let mut stages = Vec::new();
        let mut tell = |stage: &crate::Stage| stages.push(stage.what.clone());
        let results = run(&Setting::new(data, true, 1, &mut tell)).expect("a quick run");
        assert!(results.large.instant.measured_distance <= results.large.instant.claimed_distance);
        assert!(results.large.settled.measured_distance < 1e-9, "{:?}", results.large.settled);
        assert_eq!((results.large.n_rows, results.large.dim, results.large.n_removed), (2_000, 64, 50));
        assert_eq!(results.growth.by_rows.costs.len(), 4);
        assert!(stages.iter().any(|what| what == "settling"));

        let text = serde_json::to_string(&results).expect("numbers");
        let again: ScaleResults = serde_json::from_str(&text).expect("the same numbers");
        assert_eq!(again.large.n_rows, results.large.n_rows);
        let section = results.section();
        assert_eq!(section.parts.iter().filter(|part| matches!(part, Part::Chart(_))).count(), 2);
        assert!(section.parts.iter().filter(|part| matches!(part, Part::Table(_))).count() >= 2);
    }

    #[test]
    fn missing_data_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = run(&Setting::new(folder.path().into(), true, 1, &mut |_| {})).expect_err("nothing there");
        assert!(matches!(error, ExperimentError::Missing { .. }), "{error}");
    }
}
