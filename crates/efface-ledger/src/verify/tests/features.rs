//! Maps of features: digests, origins, and what a private network costs.

use efface_core::accounting::statement::{
    ExtractorMechanism, ProtectedUnit, Statement, StatementFields, StatementFormat,
};
use efface_features::{FeatureSpec, ImageShape, NetworkInput, NetworkSpec};
use serde_json::json;

use super::basis::{Basis, Kind};
use super::example::{check, fails, only_failure, release, release_from};
use crate::certificate::{FeatureMap, MapOrigin, ReleaseCertificate};
use crate::verify::CheckOutcome;

fn scattering() -> FeatureSpec {
    FeatureSpec::Scattering(ImageShape { height: 32, width: 32, channels: 3, resize: false })
}

fn network() -> FeatureSpec {
    let shape = ImageShape { height: 32, width: 32, channels: 3, resize: false };
    let input = NetworkInput::Image { shape, mean: vec![0.5; 3], deviation: vec![0.25; 3] };
    FeatureSpec::Network(NetworkSpec { onnx: "ab".repeat(32), features: 256, input })
}

fn statement() -> Statement {
    let fields = StatementFields {
        format: StatementFormat::One,
        mechanism: ExtractorMechanism::DpSgdPoisson,
        sampling_rate: 0.01,
        noise_multiplier: 8.0,
        steps: 1000,
        clip: 1.0,
        unit: ProtectedUnit::Row,
        delta: 1e-5,
        n_rows: None,
        epsilon: None,
        digest: "ab".repeat(32),
    };
    Statement::new(fields).expect("a statement")
}

/// The claims of a release with the share of the private network for the nine rows that left.
fn private_basis() -> Basis {
    Basis { extractor: Some(statement().extractor(9).expect("a promise")), ..Basis::of(Kind::Gaussian) }
}

#[test]
fn a_map_is_the_one_that_its_digest_stands_for() {
    let with = |edit: &dyn Fn(&mut FeatureMap)| {
        let mut map = FeatureMap::new(Some("photo"), MapOrigin::Fixed, &scattering());
        edit(&mut map);
        check(&release(|c| c.feature_maps = vec![map]))
    };
    assert!(with(&|_| {}).is_genuine());
    fails(&with(&|map| map.parameters["height"] = 64.into()), "features", "have digest");
    fails(&with(&|map| map.sha256 = "00".repeat(32)), "features", "stated is 0000");
    fails(&with(&|map| map.parameters["height"] = 33.into()), "features", "height must be a multiple of 4");
    fails(&with(&|map| map.origin = "public".into()), "features", "is of kind `scattering` and origin `public`");
    fails(&with(&|map| map.statement = Some(json!({}))), "features", "has a statement, and is not private");
    let edits: [fn(&mut FeatureMap); 3] = [
        |map| map.parameters["kind"] = "wavelets".into(),
        |map| map.parameters["angle"] = 1.into(),
        |map| map.origin = "borrowed".into(),
    ];
    for edit in edits {
        let verification = with(&edit);
        let (found, outcome, message) = only_failure(&verification);
        assert_eq!((found, outcome), ("tags", CheckOutcome::Unsupported), "{message}");
    }
}

#[test]
fn a_network_of_unknown_origin_is_listed() {
    let of = |origin| FeatureMap::new(Some("city"), origin, &network());
    let with = |origin, edit: fn(&mut ReleaseCertificate)| {
        check(&release(|c| {
            c.feature_maps = vec![of(origin)];
            edit(c);
        }))
    };
    assert!(with(MapOrigin::Public, |_| {}).is_genuine());
    assert!(with(MapOrigin::Unknown, |_| {}).is_genuine());
    let unlisted = with(MapOrigin::Unknown, |c| c.not_public = vec!["age".into()]);
    fails(&unlisted, "features", "of unknown origin, and not listed");
    fails(&with(MapOrigin::Fixed, |_| {}), "features", "is of kind `network` and origin `fixed`");
}

#[test]
fn a_private_network_costs_what_its_statement_proves() {
    let (basis, statement) = (private_basis(), statement());
    let with = |edit: &dyn Fn(&mut FeatureMap)| {
        let mut map = FeatureMap::private("photo", &network(), &statement);
        edit(&mut map);
        check(&release_from(&basis, |c| c.feature_maps = vec![map]))
    };
    assert!(with(&|_| {}).is_genuine());
    let noise = |sigma: f64| {
        move |map: &mut FeatureMap| map.statement.as_mut().expect("private")["noise_multiplier"] = sigma.into()
    };
    assert!(with(&noise(8.5)).is_genuine());
    fails(&with(&noise(7.0)), "features", "proves epsilon");
    fails(&with(&noise(0.0)), "features", "the statement of the map of column `photo` is none");
    let other = |map: &mut FeatureMap| map.statement.as_mut().expect("private")["digest"] = "cd".repeat(32).into();
    fails(&with(&other), "features", "is about the network cdcd");
    fails(&with(&|map| map.statement = None), "features", "is none");

    let unsaid = release_from(&basis, |c| {
        c.feature_maps = vec![FeatureMap::private("photo", &network(), &statement)];
        c.outside_scope.retain(|scope| scope != "declared-networks");
    });
    fails(&check(&unsaid), "labels", "`declared-networks` is outside every claim of this kind");
    // One share is for one network.
    let map = || FeatureMap::private("photo", &network(), &statement);
    let two = release_from(&basis, |c| c.feature_maps = vec![map(), map()]);
    fails(&check(&two), "features", "is a second private one");

    let without = release(|c| c.feature_maps = vec![FeatureMap::private("photo", &network(), &statement)]);
    fails(&check(&without), "features", "no extractor is in the promise");
    // One row more than the group, and an ε per row that the statement does not prove.
    let ninth = release_from(&basis, |c| {
        c.feature_maps = vec![FeatureMap::private("photo", &network(), &statement)];
        c.n_removed = 10;
    });
    fails(&check(&ninth), "epsilon", "the extractor's share is for 9 rows, and 10 have left");
}
