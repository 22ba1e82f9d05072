//! Certificates and the log: issuing, verifying, and proofs from a log of a million entries.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_data::{ClassWeights, Columns, RowId, RowTransform, Scale, open_table};
use efface_engine::{
    ModelDirectory, Place, ReleaseAnswer, ReleaseReport, Selection, TrainReport, TrainRequest, benchmarks,
};
use efface_ledger::verify::{Evidence, Verdict, verify};
use efface_reproduce::measure::{median, quantile, timed, try_timed};

const DIM: usize = 784;
const ROWS: usize = 4_000;
const RELEASES: usize = 21;
const ENTRIES: u64 = 1_000_000;
const CHECKS: usize = 3;

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut noise = NoiseSource::from_system()?;
    let (mut model, _) = train(folder.path(), (ROWS, DIM), &mut noise)?;
    println!("certificates of a model of {DIM} features, medians of {RELEASES}");

    let (mut releases, mut certificates, mut latest) = (Vec::new(), Vec::new(), None);
    for id in 0..RELEASES {
        let report = remove_and_release(&mut model, id, &mut noise)?;
        releases.push(report.seconds);
        certificates.push(report.certificate_seconds);
        latest = Some(report);
    }
    let Some(latest) = latest else { return Ok(()) };
    let release = 1e3 * median(releases);
    println!("  issuing          {}; the whole release {release:.1} ms", spread(certificates));

    let (text, file, key) = (fs::read(&latest.certificate)?, fs::read(&latest.model)?, model.public_key()?);
    let evidence = Evidence { key: Some(&key), model: Some(&file), ..Evidence::default() };
    let verified: Vec<f64> = (0..RELEASES)
        .map(|_| {
            let (verification, seconds) = timed(|| verify(&text, &evidence));
            assert!(verification.is_genuine(), "{verification:?}");
            seconds
        })
        .collect();
    println!("  verifying        {:8.3} ms   in a process that has read the files", 1e3 * median(verified));

    let ((), seconds) = try_timed(|| benchmarks::grow_log(&mut model, ENTRIES))?;
    println!("a log of {ENTRIES} entries and more, made in {seconds:.1} s");
    let prove = |position| {
        let (proof, seconds) = try_timed(|| model.inclusion_proof(position))?;
        anyhow::ensure!(proof.len() >= 19, "too short for a log of this size");
        Ok(seconds)
    };
    let proofs = (0..1000).map(|i| i * 997).map(prove).collect::<anyhow::Result<Vec<f64>>>()?;
    println!("  inclusion proof  {}", spread(proofs));
    let certify = |id: usize| {
        let out = folder.path().join(format!("request-{id}.json"));
        let (_, seconds) = try_timed(|| model.certify_request(&format!("request-{id}"), &out))?;
        Ok(seconds)
    };
    let certificates = (0..RELEASES).map(certify).collect::<anyhow::Result<Vec<f64>>>()?;
    println!("  certificate of a request, durable {}", spread(certificates));
    let checks = (0..CHECKS).map(|_| {
        let (report, seconds) = try_timed(|| model.verify(false))?;
        anyhow::ensure!(report.verdict != Verdict::Invalid, "{:?}", report.checks);
        Ok(seconds)
    });
    let checks = median(checks.collect::<anyhow::Result<Vec<f64>>>()?);
    println!("  the directory and the whole log checked, from its entries {checks:.3} s");
    Ok(())
}

/// The median and what most are below, in milliseconds.
pub(crate) fn spread(seconds: Vec<f64>) -> String {
    let (median, most) = (1e3 * median(seconds.clone()), 1e3 * quantile(seconds, 0.95));
    format!("{median:8.3} ms   95 % below {most:.3} ms")
}

/// A model directory in the folder, trained on so many rows and features.
pub(crate) fn train(
    folder: &Path,
    (n_rows, dim): (usize, usize),
    noise: &mut NoiseSource,
) -> anyhow::Result<(ModelDirectory, TrainReport)> {
    let data = folder.join("rows.csv");
    fs::write(&data, rows(n_rows, dim, noise))?;
    let columns = Columns { label: Some("label".into()), ..Columns::default() };
    let path = folder.join("model.efface");
    let request = train_request(&data, columns, Some(2), path.clone())?;
    let trained = ModelDirectory::train(request, noise, &mut |_| {})?;
    Ok((ModelDirectory::open(&path)?, trained))
}

/// What to train with: logistic loss, λ = 1e-3, rows to norm 1.
pub(crate) fn train_request(
    data: &Path,
    columns: Columns,
    n_classes: Option<u32>,
    out: PathBuf,
) -> anyhow::Result<TrainRequest> {
    Ok(TrainRequest {
        rows: open_table(data, &columns, None)?,
        columns,
        schema: None,
        transform: RowTransform { scale: Scale::Unit, intercept: false },
        config: TrainingConfig::new(&loss::Logistic, 1e-3, n_classes),
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place: Place { out, ..Place::default() },
    })
}

/// One row leaves, and the model is published with its certificate.
pub(crate) fn remove_and_release(
    model: &mut ModelDirectory,
    id: usize,
    noise: &mut NoiseSource,
) -> anyhow::Result<ReleaseReport> {
    let ids = Selection::Ids(vec![RowId::parse(&id.to_string())]);
    model.remove(&ids, Some(&format!("request-{id}")))?;
    let ReleaseAnswer::Published(report) = model.release(noise, None)? else { anyhow::bail!("refused") };
    Ok(report)
}

/// Rows of random bytes with a label that half depends on them.
fn rows(n_rows: usize, dim: usize, noise: &mut NoiseSource) -> String {
    let names: Vec<String> = (0..dim).map(|feature| format!("f{feature}")).collect();
    let mut text = names.join(",") + ",label\n";
    let mut bytes = vec![0; dim];
    for _ in 0..n_rows {
        noise.fill(&mut bytes);
        for byte in &bytes {
            let _ = write!(text, "{},", f64::from(*byte) / 255.0 - 0.5);
        }
        text += if u32::from(bytes[0]) + u32::from(bytes[1]) > 255 { "yes\n" } else { "no\n" };
    }
    text
}
