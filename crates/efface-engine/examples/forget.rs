//! The library in one screen: train on a table, forget a person, publish the model with its certificate.
//!
//! ```console
//! $ cargo run --release -p efface-engine --example forget
//! ```

#![expect(clippy::print_stdout, reason = "what it shows is its output")]

use std::error::Error;
use std::fmt::Write as _;

use efface_core::loss::Logistic;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_data::{ClassWeights, Columns, RowId, RowTransform, Scale, open_table};
use efface_engine::{ModelDirectory, Place, ReleaseAnswer, Selection, TrainRequest};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (table, out) = (folder.path().join("people.csv"), folder.path().join("churn.efface"));
    std::fs::write(&table, people())?;

    let columns = Columns {
        label: Some("churned".into()),
        id: Some("row".into()),
        subject: Some("customer".into()),
        ..Columns::default()
    };
    let request = TrainRequest {
        rows: open_table(&table, &columns, None)?,
        columns,
        schema: None,
        transform: RowTransform { scale: Scale::Unit, intercept: true },
        // λ = 1e-2 per row; the promise (ε, δ) has its defaults.
        config: TrainingConfig::new(&Logistic, 1e-2, None),
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place: Place { out: out.clone(), ..Place::default() },
    };
    let mut noise = NoiseSource::from_system()?;
    let trained = ModelDirectory::train(request, &mut noise, &mut |_| {})?;
    println!("trained on {} rows", trained.n_rows);

    let mut model = ModelDirectory::open(&out)?;
    let removed = model.remove(&Selection::Subjects(vec![RowId::Text("c17".into())]), Some("request-1"))?;
    println!(
        "removed {} rows; the model is within {:.1e} of retraining",
        removed.n_changed,
        removed.distance_bound.get()
    );

    match model.release(&mut noise, None)? {
        ReleaseAnswer::Published(release) => println!("published {}", release.certificate.display()),
        refused => println!("not published: {refused:?}"),
    }
    Ok(())
}

/// Four rows each of 500 customers.
fn people() -> String {
    let mut csv = String::from("row,customer,age,visits,churned\n");
    for row in 0..2_000 {
        let (customer, age, visits) = (row / 4, 18 + row * 37 % 60, row * 53 % 30);
        let churned = if age + 3 * visits + row * 29 % 40 < 95 { "yes" } else { "no" };
        let _ = writeln!(csv, "r{row},c{customer},{age},{visits},{churned}");
    }
    csv
}
