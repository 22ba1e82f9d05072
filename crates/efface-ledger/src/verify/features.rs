//! Whether the maps of features are those that their digests stand for.

use efface_features::FeatureSpec;

use crate::certificate::{FeatureMap, MapOrigin};

/// A tag of a map that this version does not know.
pub(super) fn unknown(map: &FeatureMap) -> Option<String> {
    let of = map.of();
    if MapOrigin::by_tag(&map.origin).is_none() {
        return Some(format!("feature_maps: origin `{}` of the map of {of} is not known to this version", map.origin));
    }
    map.spec().is_none().then(|| format!("feature_maps: map `{}` of {of} is not known to this version", map.kind()))
}

/// Whether every map can be built, its digest is that of its parameters, and its origin is one that it can have.
pub(super) fn sound(maps: &[FeatureMap], not_public: &[String]) -> Result<String, String> {
    for map in maps {
        let of = map.of();
        let Some(spec) = map.spec() else { return Err(format!("the map of {of} cannot be read")) };
        spec.check().map_err(|error| format!("the map of {of}: {error}"))?;
        let digest = hex::encode(spec.digest());
        if digest != map.sha256 {
            return Err(format!("the parameters of the map of {of} have digest {digest}, stated is {}", map.sha256));
        }
        let origin = MapOrigin::by_tag(&map.origin);
        let is_fixed = !matches!(spec, FeatureSpec::Network(_));
        if is_fixed != (origin == Some(MapOrigin::Fixed)) {
            return Err(format!("the map of {of} is of kind `{}` and origin `{}`", map.kind(), map.origin));
        }
        let is_listed = map.column.as_ref().is_some_and(|column| not_public.contains(column));
        if origin == Some(MapOrigin::Unknown) && !is_listed {
            return Err(format!("the map of {of} is of unknown origin, and not listed under not_public"));
        }
    }
    Ok("features come from the maps that are named".into())
}
