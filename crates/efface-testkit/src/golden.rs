//! Tables of true values, made with 60-digit arithmetic by the Python scripts beside them in `golden/`.
//!
//! Numbers are stored as decimal strings with 20 digits; the accessors parse them to doubles. Each file names its
//! script and the tolerance to compare with.

use serde_json::Value;

use crate::double::DoubleDouble;

/// One point of the trade-off `δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)`.
#[derive(Clone, Copy, Debug)]
pub struct TradeOff {
    /// ε.
    pub epsilon: f64,
    /// μ: distance of the means in standard deviations.
    pub mu: f64,
    /// δ.
    pub delta: f64,
}

/// Points of the trade-off.
#[derive(Clone, Debug)]
pub struct GaussianDpTable {
    /// Relative error allowed to an implementation in doubles.
    pub relative_tolerance: f64,
    /// Points with round ε and μ; δ is the computed number.
    pub deltas: Vec<TradeOff>,
    /// Points with round ε and δ; μ is the computed number.
    pub mus: Vec<TradeOff>,
}

/// The logistic loss for the target y = +1.
#[derive(Clone, Debug)]
pub struct LogisticTable {
    /// Relative error allowed to an implementation in doubles.
    pub relative_tolerance: f64,
    /// Absolute error allowed in addition: a few of the smallest positive doubles.
    pub absolute_tolerance: f64,
    /// One entry per margin, in increasing order.
    pub entries: Vec<LogisticEntry>,
}

/// The logistic loss at one margin.
#[derive(Clone, Copy, Debug)]
pub struct LogisticEntry {
    /// z.
    pub margin: f64,
    /// ℓ(z) = log(1 + e^(−z)).
    pub value: f64,
    /// ℓ′(z).
    pub slope: f64,
    /// ℓ″(z).
    pub curvature: f64,
}

/// Points of the Gaussian trade-off, for tests of the accountant.
pub fn gaussian_dp() -> GaussianDpTable {
    let file = parse(include_str!("../golden/gaussian_dp.json"));
    let points = |key: &str| {
        let point = |record: &Value| TradeOff {
            epsilon: number(&record["epsilon"]),
            mu: number(&record["mu"]),
            delta: number(&record["delta"]),
        };
        records(&file, key).iter().map(point).collect()
    };
    GaussianDpTable {
        relative_tolerance: number(&file["relative_tolerance"]),
        deltas: points("deltas"),
        mus: points("mus"),
    }
}

/// The logistic loss, slope and curvature from margin −1e20 to 1e20, for the conformance tests of losses.
pub fn logistic() -> LogisticTable {
    let file = parse(include_str!("../golden/logistic.json"));
    let entry = |record: &Value| LogisticEntry {
        margin: number(&record["margin"]),
        value: number(&record["value"]),
        slope: number(&record["slope"]),
        curvature: number(&record["curvature"]),
    };
    LogisticTable {
        relative_tolerance: number(&file["relative_tolerance"]),
        absolute_tolerance: number(&file["absolute_tolerance"]),
        entries: records(&file, "entries").iter().map(entry).collect(),
    }
}

/// Pairs (argument, value) of a function named in `golden/double_double.json`, to 32 digits.
pub fn double_double_table(function: &str) -> Vec<[DoubleDouble; 2]> {
    let pair = |record: &Value, at: usize| DoubleDouble::from_sum(number(&record[at]), number(&record[at + 1]));
    records(&parse(include_str!("../golden/double_double.json")), function)
        .iter()
        .map(|record| [pair(record, 0), pair(record, 2)])
        .collect()
}

/// Rows (arguments, value) of a function named in `golden/special.json`: `normal_cdf` or `gamma_p`.
pub fn special_table(function: &str) -> Vec<Vec<f64>> {
    let row = |record: &Value| record.as_array().into_iter().flatten().map(number).collect();
    records(&parse(include_str!("../golden/special.json")), function).iter().map(row).collect()
}

/// Rows of a list in `golden/subsampled_gaussian.json`: `divergences` (q, σ, α, D_α forward and backward, integrated) or
/// `epsilons` (q, σ, T, δ, ε with today's conversion and with the older one), with the relative error allowed.
pub fn subsampled_gaussian_table(list: &str) -> (Vec<Vec<f64>>, f64) {
    let file = parse(include_str!("../golden/subsampled_gaussian.json"));
    let row = |record: &Value| record.as_array().into_iter().flatten().map(number).collect();
    (records(&file, list).iter().map(row).collect(), number(&file["relative_tolerance"]))
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("golden files are valid JSON")
}

fn records<'a>(file: &'a Value, key: &str) -> &'a [Value] {
    file[key].as_array().unwrap_or_else(|| panic!("the golden file has no list `{key}`"))
}

/// A number written as such or as a decimal string; exponents below the range of doubles read as zero.
fn number(value: &Value) -> f64 {
    match value {
        Value::String(digits) => digits.parse().unwrap_or_else(|_| panic!("`{digits}` is not a number")),
        other => other.as_f64().unwrap_or_else(|| panic!("`{other}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trade_off_table_is_complete_and_monotone() {
        let table = gaussian_dp();
        assert_eq!(table.mus.len(), 9 * 6);
        assert!(table.deltas.len() > 50);
        for pair in table.deltas.windows(2).filter(|pair| pair[0].epsilon == pair[1].epsilon) {
            assert!(pair[0].mu < pair[1].mu && pair[0].delta < pair[1].delta, "{pair:?}");
        }
        for pair in table.mus.windows(2).filter(|pair| pair[0].epsilon == pair[1].epsilon) {
            assert!(pair[0].delta > pair[1].delta && pair[0].mu > pair[1].mu, "{pair:?}");
        }
    }

    #[test]
    fn trade_off_table_holds_the_value_quoted_in_the_theory() {
        let quoted = gaussian_dp().mus.into_iter().find(|point| point.epsilon == 1.0 && point.delta == 1e-4);
        assert_eq!(quoted.map(|point| (point.mu * 1e4).trunc()), Some(3139.0));
    }

    #[test]
    fn logistic_table_covers_both_signs_of_every_margin() {
        let table = logistic();
        let entries = &table.entries;
        assert_eq!(entries.len(), 23);
        for (entry, mirrored) in entries.iter().zip(entries.iter().rev()) {
            assert_eq!(entry.margin, -mirrored.margin);
            assert_eq!(entry.curvature, mirrored.curvature);
            assert!((entry.slope + mirrored.slope + 1.0).abs() < 1e-15);
        }
        assert_eq!(entries[0].value, 1e20);
    }
}
