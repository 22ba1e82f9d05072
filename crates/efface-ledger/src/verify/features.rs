//! Whether the maps of features are those that their digests stand for, and what a private one costs is in the promise.

use efface_core::accounting::Extractor;
use efface_core::accounting::statement::{ExtractorMechanism, ProtectedUnit, StatementFormat};
use efface_features::{FeatureSpec, NetworkSpec};
use serde_json::Value;

use crate::certificate::{FeatureMap, MapOrigin, ReleaseClaims};

/// A tag of a map that this version does not know.
pub(super) fn unknown(map: &FeatureMap) -> Option<String> {
    let of = map.of();
    if MapOrigin::by_tag(&map.origin).is_none() {
        return Some(format!("feature_maps: origin `{}` of the map of {of} is not known to this version", map.origin));
    }
    let stated =
        |field: &str| map.statement.as_ref().and_then(|statement| statement.get(field)).and_then(Value::as_str);
    let is_unknown = |field: &str, is_known: fn(&str) -> bool| stated(field).is_some_and(|tag| !is_known(tag));
    if is_unknown("format", |tag| StatementFormat::by_tag(tag).is_some())
        || is_unknown("mechanism", |tag| ExtractorMechanism::by_tag(tag).is_some())
        || is_unknown("unit", |tag| ProtectedUnit::by_tag(tag).is_some())
    {
        return Some(format!("feature_maps: the statement of the map of {of} is not known to this version"));
    }
    map.spec().is_none().then(|| format!("feature_maps: map `{}` of {of} is not known to this version", map.kind()))
}

/// Whether every map can be built, its digest is that of its parameters, and its origin is one that it can have.
pub(super) fn sound<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    // The promise has the share of one.
    let mut private_maps = c.feature_maps.iter().filter(|map| map.origin == MapOrigin::Private.tag());
    if let Some(second) = private_maps.nth(1) {
        return Err(format!(
            "the map of {} is a second private one, and the promise has the share of one",
            second.of()
        ));
    }
    for map in &c.feature_maps {
        let of = map.of();
        let Some(spec) = map.spec() else { return Err(format!("the map of {of} cannot be read")) };
        spec.check().map_err(|error| format!("the map of {of}: {error}"))?;
        let digest = hex::encode(spec.digest());
        if digest != map.sha256 {
            return Err(format!("the parameters of the map of {of} have digest {digest}, stated is {}", map.sha256));
        }
        match (&spec, MapOrigin::by_tag(&map.origin)) {
            (FeatureSpec::Network(network), Some(MapOrigin::Private)) => private(map, network, c.extractor)?,
            (FeatureSpec::Network(_) | FeatureSpec::Transformer(_), Some(MapOrigin::Public)) => {}
            (FeatureSpec::Network(_) | FeatureSpec::Transformer(_), Some(MapOrigin::Unknown)) => {
                if !map.column.as_ref().is_some_and(|column| c.not_public.contains(column)) {
                    return Err(format!("the map of {of} is of unknown origin, and not listed under not_public"));
                }
            }
            (FeatureSpec::Network(_) | FeatureSpec::Transformer(_), _)
            | (_, Some(MapOrigin::Public | MapOrigin::Private | MapOrigin::Unknown) | None) => {
                return Err(format!("the map of {of} is of kind `{}` and origin `{}`", map.kind(), map.origin));
            }
            (_, Some(MapOrigin::Fixed)) => {}
        }
        if map.statement.is_some() && map.origin != MapOrigin::Private.tag() {
            return Err(format!("the map of {of} has a statement, and is not private"));
        }
    }
    Ok("features come from the maps that are named".into())
}

/// Whether a network that saw the rows is the one that its statement is about, and ε at the stated δ, computed again, is in
/// the promise.
fn private(map: &FeatureMap, network: &NetworkSpec, extractor: Option<Extractor>) -> Result<(), String> {
    let of = map.of();
    let Some(statement) = map.training() else { return Err(format!("the statement of the map of {of} is none")) };
    let digest = &statement.fields().digest;
    if *digest != network.onnx {
        return Err(format!(
            "the statement of the map of {of} is about the network {digest}, and not {}",
            network.onnx
        ));
    }
    let Some(Extractor { epsilon, delta, .. }) = extractor else {
        return Err(format!("the map of {of} is private, and no extractor is in the promise"));
    };
    let proved = statement.training().epsilon_at(delta);
    if epsilon < proved {
        return Err(format!(
            "the statement of the map of {of} proves epsilon {proved:e} at delta {delta:e} per row, claimed is {epsilon:e}"
        ));
    }
    Ok(())
}
