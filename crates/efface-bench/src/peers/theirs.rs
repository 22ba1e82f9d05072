//! The peers' half: scikit-learn in a process of its own, on the same rows and as many threads.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use efface_core::rows::RowStore;
use efface_data::MemoryRows;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

use crate::figure::Figure;
use crate::operations::REMOVALS;
use crate::subject::Subject;

/// Times the fits; also to be run by hand.
const SCRIPT: &str = include_str!("../../python/peers.py");

/// Most repeats of one fit …
const MOST_REPEATS: usize = 7;

/// … and seconds after which no other is begun.
const SECONDS: f64 = 4.0;

/// What was measured of one solver of scikit-learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Theirs {
    pub(crate) solver: String,
    /// The tolerance with which it reaches the gradient that was asked for.
    pub(crate) tol: f64,
    /// Training with a tolerance of 1e-9/n; the gradient tells how far that goes.
    pub(crate) train: Figure,
    /// Training until ‖∇L‖ is what was asked for.
    pub(crate) train_matched: Figure,
    /// Training again without one row, with the same tolerance.
    pub(crate) refit_one: Figure,
    /// The same from the coefficients at hand.
    pub(crate) warm_one: Figure,
    /// Training again without a hundred rows.
    pub(crate) refit_hundred: Figure,
    /// The same from the coefficients at hand.
    pub(crate) warm_hundred: Figure,
    /// Classes of all test rows.
    pub(crate) predict: Figure,
    /// Its weights, one vector per problem.
    #[serde(skip_serializing)]
    coefficients: Vec<Vec<f64>>,
    /// ‖w − ŵ‖ / ‖ŵ‖ of its weights and Efface's.
    #[serde(default, skip_deserializing)]
    pub(crate) relative_distance: f64,
}

/// What the script says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Versions {
    pub(crate) scikit_learn: String,
    pub(crate) numpy: String,
    /// Each pool of threads with its size.
    pub(crate) threads: Vec<String>,
}

/// What the script answers.
#[derive(Deserialize)]
struct Answer {
    solvers: Vec<Theirs>,
}

/// A Python that has scikit-learn.
pub(crate) struct Peer {
    python: String,
    folder: TempDir,
}

impl Peer {
    /// Writes the script to a temporary folder and asks it for its versions.
    pub(crate) fn find(python: &str) -> anyhow::Result<(Self, Versions)> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("peers.py"), SCRIPT)?;
        let peer = Self { python: python.to_owned(), folder };
        let answer = peer.run("--check")?;
        Ok((peer, serde_json::from_str(&answer).context("the versions cannot be read")?))
    }

    /// Measures every solver on the rows of a subject. `ours` are Efface's weights.
    pub(crate) fn measure(
        &self,
        subject: &Subject,
        gradient_norm: f64,
        ours: &[Vec<f64>],
    ) -> anyhow::Result<Vec<Theirs>> {
        let folder = self.folder.path();
        export(folder, subject, gradient_norm)?;
        let mut theirs = parse(&self.run(&folder.display().to_string())?)?;
        for peer in &mut theirs {
            peer.relative_distance = relative_distance(&peer.coefficients.concat(), ours)?;
        }
        Ok(theirs)
    }

    /// Runs the script with as many threads as are used here; its standard output.
    fn run(&self, argument: &str) -> anyhow::Result<String> {
        let threads = rayon::current_num_threads().to_string();
        let output = Command::new(&self.python)
            .arg(self.folder.path().join("peers.py"))
            .arg(argument)
            .envs(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"].map(|name| (name, &threads)))
            .output()
            .with_context(|| format!("{} cannot be run", self.python))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", self.python, said.lines().last().unwrap_or("failed"));
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn parse(answer: &str) -> anyhow::Result<Vec<Theirs>> {
    let answer: Answer = serde_json::from_str(answer).context("what peers.py printed cannot be read")?;
    Ok(answer.solvers)
}

fn export(folder: &Path, subject: &Subject, gradient_norm: f64) -> anyhow::Result<()> {
    let Subject { train, test, .. } = subject;
    let task = json!({
        "dim": train.dim(),
        "n_classes": subject.n_classes,
        "l2_per_row": subject.l2_per_row,
        "removed": subject.leaving(REMOVALS),
        "gradient_norm": gradient_norm,
        "most_repeats": MOST_REPEATS,
        "seconds": SECONDS,
    });
    fs::write(folder.join("task.json"), task.to_string())?;
    write_doubles(&folder.join("x.f64"), values(train))?;
    write_doubles(&folder.join("y.f64"), (0..train.len()).filter_map(|i| train.label(i)))?;
    write_doubles(&folder.join("test.f64"), values(test))
}

/// Writes numbers as little-endian doubles, one after the other.
fn write_doubles(path: &Path, values: impl Iterator<Item = f64>) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path).with_context(|| format!("{} cannot be made", path.display()))?);
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    Ok(file.flush()?)
}

fn values(rows: &MemoryRows) -> impl Iterator<Item = f64> {
    (0..rows.len()).filter_map(|position| rows.row(position)).flatten()
}

/// ‖w − ŵ‖ / ‖ŵ‖ over all problems together.
fn relative_distance(theirs: &[f64], ours: &[Vec<f64>]) -> anyhow::Result<f64> {
    let ours: Vec<f64> = ours.iter().flatten().copied().collect();
    ensure!(theirs.len() == ours.len(), "{} coefficients where there are {} weights", theirs.len(), ours.len());
    let squares: f64 = theirs.iter().zip(&ours).map(|(a, b)| (a - b).powi(2)).sum();
    Ok((squares / ours.iter().map(|weight| weight.powi(2)).sum::<f64>()).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"solvers": [{"solver": "lbfgs", "tol": 5e-07,
        "train_matched": {"seconds": 0.25, "repeats": 7, "gradient_norm": 0.0091},
        "train": {"seconds": 0.5, "repeats": 6, "gradient_norm": 0.00021},
        "refit_one": {"seconds": 0.26, "repeats": 7, "gradient_norm": 0.009},
        "warm_one": {"seconds": 0.05, "repeats": 7, "gradient_norm": 0.008},
        "refit_hundred": {"seconds": 0.24, "repeats": 7, "gradient_norm": 0.007},
        "warm_hundred": {"seconds": 0.1, "repeats": 7, "gradient_norm": 0.006},
        "predict": {"seconds": 0.001, "repeats": 31},
        "coefficients": [[0.1, -2.5e-300]]}]}"#;

    #[test]
    fn the_answer_of_the_script_is_read() {
        let theirs = parse(ANSWER).expect("read");
        let [lbfgs] = &theirs[..] else { panic!("one solver") };
        assert_eq!((lbfgs.solver.as_str(), lbfgs.tol), ("lbfgs", 5e-7));
        assert_eq!(lbfgs.train, Figure { seconds: 0.5, repeats: 6, gradient_norm: Some(0.00021) });
        assert_eq!(lbfgs.coefficients, [[0.1, -2.5e-300]]);
        assert_eq!(lbfgs.predict, Figure { seconds: 0.001, repeats: 31, gradient_norm: None });
    }

    #[test]
    fn an_answer_without_a_figure_is_refused() {
        let error = parse(&ANSWER.replace("warm_one", "warm")).expect_err("refused");
        assert!(format!("{error:#}").contains("warm_one"), "{error:#}");
    }

    #[test]
    fn doubles_are_written_to_the_bit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.f64");
        let values = [0.1, -2.5e-300, 3.0, f64::MIN_POSITIVE, 1.0 / 3.0, -0.0];
        write_doubles(&path, values.into_iter()).expect("written");
        assert_eq!(fs::read(&path).expect("read"), values.map(f64::to_le_bytes).concat());
    }

    #[test]
    fn distances_are_relative_to_ours() {
        let ours = [vec![3.0, 0.0], vec![0.0, 4.0]];
        assert_eq!(relative_distance(&[3.0, 0.0, 0.0, 4.0], &ours).expect("equal lengths"), 0.0);
        assert_eq!(relative_distance(&[3.0, 0.0, 5.0, 4.0], &ours).expect("equal lengths"), 1.0);
        assert!(relative_distance(&[3.0], &ours).is_err());
    }

    #[test]
    fn a_python_that_is_not_there_is_named() {
        let error = Peer::find("no-such-python").err().expect("not found");
        assert!(error.to_string().contains("no-such-python"), "{error}");
    }
}
