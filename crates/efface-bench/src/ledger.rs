//! Certificates and the log: issuing, verifying, and proofs from a log of a million entries.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_data::{Columns, RowId, RowTransform, Scale, open_table_with};
use efface_engine::{ModelDirectory, Place, ReleaseAnswer, ReleaseReport, Selection, TrainRequest, fuzzing};
use efface_ledger::verify::{Evidence, verify};
use efface_reproduce::measure::{median, quantile, timed};

const DIM: usize = 784;
const ROWS: usize = 4_000;
const RELEASES: usize = 21;
const ENTRIES: u64 = 1_000_000;

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut noise = NoiseSource::from_system()?;
    let mut model = train(folder.path(), (ROWS, DIM), &mut noise)?;
    println!("certificates of a model of {DIM} features, medians of {RELEASES}");

    let (mut releases, mut certificates, mut latest) = (Vec::new(), Vec::new(), None);
    for id in 0..RELEASES {
        let report = remove_and_release(&mut model, id, &mut noise)?;
        releases.push(report.seconds);
        certificates.push(report.certificate_seconds);
        latest = Some(report);
    }
    let Some(latest) = latest else { return Ok(()) };
    println!(
        "  issuing          {:8.3} ms   95 % below {:.3} ms; the whole release {:.1} ms",
        1e3 * median(certificates.clone()),
        1e3 * quantile(certificates, 0.95),
        1e3 * median(releases)
    );

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

    let (grown, seconds) = timed(|| fuzzing::grow_log(&mut model, ENTRIES));
    grown?;
    println!("a log of {ENTRIES} entries and more, made in {seconds:.1} s");
    let times = |positions: &mut dyn Iterator<Item = u64>| -> anyhow::Result<Vec<f64>> {
        positions
            .map(|position| {
                let (proof, seconds) = timed(|| model.inclusion_proof(position));
                anyhow::ensure!(proof?.len() >= 19, "too short for a log of this size");
                Ok(seconds)
            })
            .collect()
    };
    let proofs = times(&mut (0..1000).map(|i| i * 997))?;
    println!(
        "  inclusion proof  {:8.3} ms   95 % below {:.3} ms",
        1e3 * median(proofs.clone()),
        1e3 * quantile(proofs, 0.95)
    );
    let (certified, seconds) = timed(|| model.certify_request("request-3", &folder.path().join("request.json")));
    certified?;
    println!("  certificate of a request, durable {:8.3} ms", 1e3 * seconds);
    let (report, seconds) = timed(|| model.verify(false));
    println!("  the whole log checked from its entries {:.2} s ({:?})", seconds, report?.verdict);
    Ok(())
}

/// A model directory in the folder, trained on so many rows and features.
pub(crate) fn train(
    folder: &Path,
    (n_rows, dim): (usize, usize),
    noise: &mut NoiseSource,
) -> anyhow::Result<ModelDirectory> {
    let data = folder.join("rows.csv");
    fs::write(&data, rows(n_rows, dim, noise))?;
    let columns = Columns { label: Some("label".into()), ..Columns::default() };
    let request = TrainRequest {
        rows: open_table_with(&data, &columns, None)?,
        columns,
        schema: None,
        transform: RowTransform { scale: Scale::Unit, intercept: false },
        config: TrainingConfig::new(&loss::Logistic, 1e-3, Some(2)),
        memory_bytes: None,
        place: Place { out: folder.join("model.efface"), ..Place::default() },
    };
    let path = request.place.out.clone();
    ModelDirectory::train(request, noise, &mut |_| {})?;
    Ok(ModelDirectory::open(&path)?)
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
