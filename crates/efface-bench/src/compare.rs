//! Two builds of this program beside each other: each runs `sample` in turn, and the ratios are judged.
//!
//! The order alternates (old, new, new, old, …), so that a machine that slows down or warms up slows both alike.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use efface_reproduce::measure::{median, quantile};

use crate::sample::Operation;

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The `efface-bench` to compare with.
    old: PathBuf,
    /// The `efface-bench` that is judged.
    new: PathBuf,
    /// How often each one runs.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// How much slower the new one may be.
    #[arg(long, default_value_t = 0.10)]
    tolerance: f64,
    /// Folder with the data sets: MNIST 3-vs-8 is measured, too.
    #[arg(long, value_name = "DIR", env = "EFFACE_DATA")]
    data: Option<PathBuf>,
}

/// What an operation took in both builds, round by round.
struct Pair {
    name: String,
    old: Vec<f64>,
    new: Vec<f64>,
}

/// How an operation of the new build compares with the old one's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Comparison {
    old_seconds: f64,
    new_seconds: f64,
    /// Ratio of the medians, new to old.
    ratio: f64,
    /// Lower and upper quartile of the ratios of the rounds.
    quartiles: (f64, f64),
}

/// Whether no operation has become slower.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<bool> {
    ensure!(args.tolerance >= 0.0, "--tolerance must be at least 0, got `{}`", args.tolerance);
    let data = args.data.as_deref();
    let (mut pairs, mut left_out): (Vec<Pair>, Vec<String>) = (Vec::new(), Vec::new());
    for round in 0..args.rounds {
        let (old, new) = if round % 2 == 0 {
            let old = sample(&args.old, data)?;
            (old, sample(&args.new, data)?)
        } else {
            let new = sample(&args.new, data)?;
            (sample(&args.old, data)?, new)
        };
        enter(&mut pairs, &old, &new);
        left_out = only_in_one(&old, &new);
    }
    println!("medians of {} rounds; ratio new / old, and the quartiles of the rounds' ratios", args.rounds);
    let mut fine = true;
    for pair in &pairs {
        let Comparison { old_seconds, new_seconds, ratio, quartiles: (low, high) } = pair.comparison();
        let slower = pair.comparison().is_slower(args.tolerance);
        fine &= !slower;
        let verdict = if slower { "  SLOWER" } else { "" };
        let (name, old, new) = (&pair.name, 1e3 * old_seconds, 1e3 * new_seconds);
        println!("  {name:32} {old:10.3} ms {new:10.3} ms   {ratio:.3}  ({low:.3} to {high:.3}){verdict}");
    }
    if !left_out.is_empty() {
        println!("  only in one of the builds, not compared: {}", left_out.join(", "));
    }
    ensure!(!pairs.is_empty(), "the two builds have no operation in common");
    Ok(fine)
}

/// Names of operations that only one of the builds has: there is nothing to compare them with.
fn only_in_one(old: &[Operation], new: &[Operation]) -> Vec<String> {
    let lacks = |all: &[Operation], one: &Operation| all.iter().all(|operation| operation.name != one.name);
    let from_old = old.iter().filter(|operation| lacks(new, operation));
    from_old.chain(new.iter().filter(|operation| lacks(old, operation))).map(|one| one.name.clone()).collect()
}

/// One round of the operations that both builds have.
fn enter(pairs: &mut Vec<Pair>, old: &[Operation], new: &[Operation]) {
    for Operation { name, seconds } in new {
        let Some(before) = old.iter().find(|operation| operation.name == *name) else { continue };
        let index = pairs.iter().position(|pair| pair.name == *name).unwrap_or_else(|| {
            pairs.push(Pair { name: name.clone(), old: Vec::new(), new: Vec::new() });
            pairs.len() - 1
        });
        pairs[index].old.push(before.seconds);
        pairs[index].new.push(*seconds);
    }
}

impl Pair {
    fn comparison(&self) -> Comparison {
        let ratios: Vec<f64> = self.new.iter().zip(&self.old).map(|(new, old)| new / old).collect();
        let (old_seconds, new_seconds) = (median(self.old.clone()), median(self.new.clone()));
        let quartiles = (quantile(ratios.clone(), 0.25), quantile(ratios, 0.75));
        Comparison { old_seconds, new_seconds, ratio: new_seconds / old_seconds, quartiles }
    }
}

impl Comparison {
    /// Slower by more than the tolerance, and not by the luck of a few rounds: three in four say so by half of it.
    fn is_slower(&self, tolerance: f64) -> bool {
        self.ratio > 1.0 + tolerance && self.quartiles.0 > 1.0 + 0.5 * tolerance
    }
}

fn sample(program: &Path, data: Option<&Path>) -> anyhow::Result<Vec<Operation>> {
    let name = program.display();
    let mut command = Command::new(program);
    command.args(["sample", "--json"]).env_remove("EFFACE_DATA");
    // As a variable: a build that does not know the data passes it over.
    command.envs(data.map(|data| ("EFFACE_DATA", data)));
    let output = command.output().context(format!("{name} cannot be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} sample: {}", said.lines().next().unwrap_or("failed"));
    serde_json::from_slice(&output.stdout).with_context(|| format!("what {name} printed cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(old: &[f64], new: &[f64]) -> Pair {
        Pair { name: "train".into(), old: old.to_vec(), new: new.to_vec() }
    }

    #[test]
    fn operations_of_one_build_alone_are_told() {
        let named = |names: &[&str]| -> Vec<Operation> {
            names.iter().map(|name| Operation { name: (*name).to_owned(), seconds: 1.0 }).collect()
        };
        assert_eq!(only_in_one(&named(&["train", "old"]), &named(&["train", "new"])), ["old", "new"]);
    }

    #[test]
    fn the_same_times_are_not_slower() {
        let same = pair(&[1.0, 1.1, 0.9], &[1.0, 1.1, 0.9]).comparison();
        assert_eq!((same.ratio, same.quartiles), (1.0, (1.0, 1.0)));
        assert!(!same.is_slower(0.1) && !same.is_slower(0.0));
    }

    #[test]
    fn a_slower_build_is_found_beyond_the_tolerance() {
        let slower = pair(&[1.0, 1.1, 0.9, 1.0, 1.0], &[1.2, 1.3, 1.1, 1.2, 1.2]).comparison();
        assert!(slower.is_slower(0.1));
        assert!(!slower.is_slower(0.25), "within the tolerance");
    }

    #[test]
    fn a_few_bad_rounds_are_not_enough() {
        // The medians differ by more than a tenth, yet in two rounds of five the new build was the faster one.
        let noisy = pair(&[1.0, 1.0, 1.3, 1.3, 1.0], &[1.2, 1.2, 1.2, 1.2, 1.2]).comparison();
        assert!(noisy.ratio > 1.1, "{noisy:?}");
        assert!(!noisy.is_slower(0.1), "{noisy:?}");
        // All rounds say slower, two of them by next to nothing: as the same build beside itself once did.
        let lucky = pair(&[1.0; 5], &[1.01, 1.02, 1.18, 1.5, 1.52]).comparison();
        assert!(lucky.ratio > 1.1 && lucky.quartiles.0 > 1.0 && !lucky.is_slower(0.1), "{lucky:?}");
    }

    #[test]
    fn a_faster_build_is_fine() {
        assert!(!pair(&[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0]).comparison().is_slower(0.0));
    }

    #[test]
    fn operations_of_one_build_only_are_left_out() {
        let operation = |name: &str, seconds| Operation { name: name.into(), seconds };
        let mut pairs = Vec::new();
        for _ in 0..2 {
            let old = [operation("train", 1.0), operation("gone", 1.0)];
            enter(&mut pairs, &old, &[operation("new", 1.0), operation("train", 2.0)]);
        }
        let [train] = &pairs[..] else { panic!("one pair") };
        assert_eq!((train.name.as_str(), &train.old, &train.new), ("train", &vec![1.0; 2], &vec![2.0; 2]));
    }
}
