//! A promise whose releases are all made, and the one that is added to it.

use efface_core::loss::Logistic;
use efface_core::model::{Refusal, TrainingConfig};
use efface_core::noise::NoiseLaw;
use efface_engine::{CertifyError, EngineError, ReleaseAnswer, Status};
use efface_ledger::verify::Verdict;

use crate::models::{Folder, certificate, check, ids, published, randomness, squared, table};

fn with_ten_releases(law: NoiseLaw) -> Folder {
    let folder = Folder::new();
    let config = TrainingConfig { max_releases: 10, law, ..TrainingConfig::new(&Logistic, 1e-2, None) };
    folder.train(&table(0..60), config);
    folder
}

/// The model's life ended by surprise: nothing said how many releases were left, and removals could not be covered any more.
#[test]
fn a_further_promise_covers_all_releases_and_says_so() {
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        let folder = with_ten_releases(law);
        let mut model = folder.open();
        let (mut left, mut last) = (10, 0.0);
        let mut release = |model: &mut efface_engine::ModelDirectory| {
            let report = published(model.release(&mut randomness(), None).expect("writable"));
            left -= 1;
            assert_eq!(report.releases_left, Some(left));
            assert!(report.epsilon_spent > last && report.epsilon_spent <= report.epsilon, "{report:?}");
            last = report.epsilon_spent;
            assert!(check(&folder, &report.certificate).is_genuine());
            certificate(&report.certificate)
        };
        for n_releases in 0..9 {
            let error = model.renew().expect_err("too early");
            let EngineError::Certify(CertifyError::NotNearTheEnd { left, limit }) = error else { panic!("{error}") };
            assert_eq!((left, limit), (10 - n_releases, 1));
            assert!(release(&mut model)["lives"].is_null());
        }
        let last_one = release(&mut model);
        model.remove(&ids(&["row-17"]), None).expect("removable");
        let ReleaseAnswer::Refused(refused) = model.release(&mut randomness(), None).expect("answered") else {
            panic!("more than was promised")
        };
        assert_eq!(refused.outcome, Refusal::BudgetExhausted);

        let report = model.renew().expect("at the end");
        assert_eq!((report.lives, report.releases_left), (2, 10));
        let before = last_one["epsilon"].as_f64().expect("a number");
        assert!(report.epsilon > before && report.epsilon <= 2.0 * before + 1e-9, "{report:?}");
        left = 10;
        drop(model);
        let mut model = folder.open();
        assert_eq!(Status::read(folder.model()).expect("readable").releases_left, Some(10));
        for _ in 0..10 {
            let issued = published(model.release(&mut randomness(), None).expect("writable"));
            left -= 1;
            assert_eq!(issued.releases_left, Some(left));
            let issued = certificate(&issued.certificate);
            assert_eq!((issued["lives"].as_u64(), issued["epsilon"].as_f64()), (Some(2), Some(report.epsilon)));
            let distance = |certificate: &serde_json::Value| certificate["distance_bound"].as_f64().expect("a number");
            assert!((distance(&issued) / distance(&last_one) - 1.0).abs() < 1e-6, "each release claims what it did");
        }
        assert!(matches!(model.release(&mut randomness(), None), Ok(ReleaseAnswer::Refused(_))));
        assert!(folder.leaves().iter().any(|leaf| leaf.contains("\"kind\":\"renewal\"")));
        let verified = model.verify(true).expect("readable");
        assert_eq!(verified.verdict, Verdict::Valid, "{verified:?}");
    }
}

#[test]
fn what_never_ends_is_not_renewed() {
    let folder = Folder::new();
    folder.train(&table(0..60), squared());
    let error = folder.open().renew().expect_err("exact");
    assert!(matches!(error, EngineError::Certify(CertifyError::Endless)), "{error}");
    assert_eq!(Status::read(folder.model()).expect("readable").releases_left, None);
}
