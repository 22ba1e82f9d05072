//! What a release certificate claims: each claim that is too good fails its own check, and no other.

use efface_core::accounting::Extractor;
use efface_core::ridge::Ridge;

use super::basis::{Basis, Kind};
use super::example::{check, fails, only_failure, release, release_from, release_of};
use crate::certificate::tags::OutsideScope;
use crate::certificate::{FittedKind, LogPosition, ReleaseCertificate};
use crate::verify::{CheckName, CheckOutcome, Verdict, verify_claims};

const KINDS: [Kind; 4] = [Kind::Gaussian, Kind::Gamma, Kind::Objective, Kind::Exact];

#[track_caller]
fn refused(edit: impl FnOnce(&mut ReleaseCertificate), name: &str, words: &str) {
    fails(&check(&release(edit)), name, words);
}

#[test]
fn sound_certificates_of_every_kind_are_genuine() {
    for kind in KINDS {
        let verification = check(&release_of(kind, |_| {}));
        assert!(verification.is_genuine(), "{kind:?}: {verification:?}");
        let names = ["form", "signature", "tags", "certified", "issuer", "model", "log", "numbers", "residual", "mu"];
        let more = ["total", "limit", "epsilon", "curve", "lattice", "labels", "requests"];
        for name in names.iter().chain(&more) {
            let check = CheckName::by_tag(name).and_then(|name| verification.check(name));
            let outcome = check.map(|check| check.outcome);
            assert_eq!(outcome, Some(CheckOutcome::Passed), "{name}");
        }
    }
}

#[test]
fn a_claim_that_is_too_good_fails_its_own_check() {
    let lower = |x: &mut f64| *x *= 1.0 - 1e-9;
    refused(|c| lower(&mut c.mu), "mu", "over a noise of 1e-2 is");
    refused(|c| lower(&mut c.mu_total), "total", "all 3 releases together come to");
    refused(|c| c.epsilon_spent *= 1.0 - 1e-6, "epsilon", "does not prove ε");
    refused(|c| c.curve[1].delta *= 1.0 - 1e-6, "curve", "does not prove δ");
    refused(|c| c.mu_limit *= 1.0 + 1e-6, "limit", "does not follow from the promise (1, 0.0001)");
    refused(|c| c.gradient_residual *= 1.0 - 1e-8, "residual", "claimed is");
    refused(|c| c.gradient_residual *= 1.0 + 1e-8, "residual", "claimed is");
    refused(|c| lower(&mut c.epsilon), "epsilon", "removal and extractor together promise");
    refused(|c| lower(&mut c.delta), "epsilon", "removal and extractor together promise");
}

#[test]
fn a_claim_of_another_law_that_is_too_good_fails_too() {
    for (kind, name) in [(Kind::Gamma, "total"), (Kind::Objective, "total")] {
        // Under `objective` the total is μ itself.
        fails(&check(&release_of(kind, |c| c.mu_total *= 1.0 - 1e-9)), name, "come to");
    }
    let gamma = |edit: fn(&mut ReleaseCertificate)| check(&release_of(Kind::Gamma, edit));
    fails(&gamma(|c| c.epsilon_spent *= 1.0 - 1e-9), "epsilon", "does not prove ε");
    fails(&gamma(|c| c.curve[0].epsilon *= 1.0 - 1e-9), "curve", "does not prove δ");
    fails(&gamma(|c| c.mu_limit *= 1.0 + 1e-9), "limit", "does not follow from the promise (1, 0)");
    fails(&check(&release_of(Kind::Objective, |c| c.mu *= 1.0 - 1e-9)), "mu", "over a noise of");
    let hidden = |c: &mut ReleaseCertificate| (c.mu, c.mu_total, c.mu_limit) = (0.1, 0.1, 0.1);
    fails(&check(&release_of(Kind::Exact, hidden)), "mu", "without noise mu must be 0");
    // Nothing hides what a Newton step leaves of a loss whose curvature changes.
    let exact = check(&release_of(Kind::Exact, |c| c.loss = "logistic".into()));
    fails(&exact, "mu", "removal must be exact, which it is not for the logistic loss");
}

/// ε = 0 passed at any distance: with a label, a squared loss and no noise, whatever was left was called nothing.
#[test]
fn epsilon_0_follows_from_equal_bits_only() {
    let away = |distance: f64| {
        move |c: &mut ReleaseCertificate| {
            (c.distance_bound, c.gradient_residual) = (distance, distance * c.ridge.strength() * c.n_rows as f64);
        }
    };
    for distance in [1e6, 16.0, 1e-15, f64::MIN_POSITIVE] {
        fails(&check(&release_of(Kind::Exact, away(distance))), "mu", "ε = 0 does not follow");
    }
    let measured = check(&release_of(Kind::Exact, |c| c.rung = "measured".into()));
    fails(&measured, "mu", "stated is `measured` and a distance of 0e0");
    // No noise, however much, makes two worlds the same.
    for kind in [Kind::Gaussian, Kind::Gamma] {
        let nothing = |c: &mut ReleaseCertificate| {
            let c = &mut c.body;
            (c.promise.epsilon, c.epsilon, c.epsilon_spent) = (0.0, 0.0, 0.0);
            for value in [&mut c.gradient_residual, &mut c.distance_bound, &mut c.mu, &mut c.mu_total, &mut c.mu_limit]
            {
                *value = 0.0;
            }
            c.spent_before.distances = 0.0;
            c.spent_before.distance_squares = 0.0;
            c.curve.clear();
        };
        let verification = check(&release_of(kind, nothing));
        let limit = verification.check(CheckName::Limit).expect("checked");
        assert_eq!(limit.outcome, CheckOutcome::Failed, "{verification:?}");
        assert!(limit.message.contains("does not follow from the promise (0, "), "{limit:?}");
    }
}

/// The true δ of a small μ is below every double, and it was taken for 0: pure ε from Gaussian noise.
#[test]
fn gaussian_noise_proves_no_pure_epsilon() {
    let pure = |c: &mut ReleaseCertificate| {
        let (c, factor) = (&mut c.body, 1e-3);
        for value in [&mut c.gradient_residual, &mut c.distance_bound, &mut c.mu, &mut c.mu_total] {
            *value *= factor;
        }
        c.spent_before.distance_squares *= factor * factor;
        c.spent_before.distances *= factor;
        (c.mu_limit, c.epsilon_spent, c.promise.delta, c.delta) = (1e-3, 1.0, 0.0, 0.0);
        c.curve.clear();
    };
    refused(pure, "limit", "does not follow from the promise (1, 0)");
}

#[test]
fn what_earlier_releases_spent_counts() {
    refused(|c| c.spent_before.distance_squares *= 1.001, "total", "all 3 releases together come to");
    let gamma = check(&release_of(Kind::Gamma, |c| c.spent_before.distances *= 1.001));
    fails(&gamma, "total", "all 3 releases together come to");
}

#[test]
fn earlier_releases_have_spent_something_that_can_be() {
    let nothing = |c: &mut ReleaseCertificate| {
        (c.spent_before.distances, c.spent_before.distance_squares) = (0.0, 0.0);
    };
    refused(nothing, "total", "2 releases cannot have spent distances of 0e0 and squares of 0e0 in all");
    refused(|c| c.spent_before.distance_squares *= 0.5, "total", "2 releases cannot have spent");
}

#[test]
fn more_is_not_spent_than_the_promise_allows() {
    let beyond = |c: &mut ReleaseCertificate| {
        c.mu_limit = c.mu_total * (1.0 - 1e-9);
    };
    refused(beyond, "limit", "is allowed");
}

/// A private extractor's share was added once for all rows that left: 1.5 for 50 rows, where 26 is true.
#[test]
fn an_extractor_is_counted_for_every_row_that_left() {
    type Edit = fn(&mut ReleaseCertificate);
    // Nine rows have left.
    let extractor = Extractor { group: 9, ..Extractor::per_row(0.5, 1e-5) };
    refused(|c| c.extractor = Some(extractor), "epsilon", "together promise (5.499999999999");
    let sound = Basis { extractor: Some(extractor), ..Basis::of(Kind::Gaussian) };
    assert!(check(&release_from(&sound, |_| {})).is_genuine());
    let edits: [(Edit, &str); 5] = [
        (|c| c.epsilon *= 1.0 - 1e-9, "removal and extractor together promise (5.499999999999"),
        (|c| c.delta *= 1.0 - 1e-9, "removal and extractor together promise (5.499999999999"),
        (|c| c.epsilon_spent -= 1e-3, "does not prove ε"),
        (|c| c.n_removed = 10, "the extractor's share is for 9 rows, and 10 have left"),
        (|c| c.since_previous.n_corrected = 1, "the extractor's share is for 9 rows, and 10 have left"),
    ];
    for (edit, words) in edits {
        fails(&check(&release_from(&sound, edit)), "epsilon", words);
    }
    let one = Basis { extractor: Some(Extractor { group: 1, ..extractor }), ..Basis::of(Kind::Gaussian) };
    fails(&check(&release_from(&one, |_| {})), "epsilon", "the extractor's share is for 1 rows, and 9 have left");
    let none = |c: &mut ReleaseCertificate| c.extractor = Some(Extractor { group: 0, ..Extractor::per_row(0.5, 0.0) });
    fails(&check(&release_from(&sound, none)), "numbers", "an extractor of (0.5, 0) for 0 rows is none");
    let nothing = |c: &mut ReleaseCertificate| c.delta = 1.0;
    fails(&check(&release_from(&sound, nothing)), "numbers", "delta must be below 1 to promise anything");
}

#[test]
fn numbers_that_are_none_are_refused_before_anything_is_computed() {
    refused(|c| c.mu = -1.0, "numbers", "mu must be a finite number of at least 0, got `-1`");
    refused(|c| c.curve[0].delta = -1.0, "numbers", "curve.delta must be");
    refused(|c| c.ridge = Ridge::PerRow(0.0), "numbers", "l2 must be above 0, got `0`");
    refused(|c| c.row_norm_bound = Some(0.0), "numbers", "row_norm_bound must be above 0, got `0`");
    refused(|c| c.row_norm_bound = None, "numbers", "rests on a bound on the rows, and there is none");
    refused(|c| c.n_rows = 0, "numbers", "1 problems of 4 weights, and 0 rows");
    refused(|c| c.dim = 0, "numbers", "1 problems of 0 weights");
    refused(|c| c.spent_before.n_releases = 1, "numbers", "release 3 cannot come after 1 releases");
}

/// Residual and distance are one claim over what the rows weigh, not over their number.
#[test]
fn weights_of_rows_are_part_of_the_claim() {
    type Edit = fn(&mut ReleaseCertificate);
    let refusals: [(Edit, &str, &str); 5] = [
        (|c| c.weight_sum = Some(57.0), "residual", "over λ·n is a distance of"),
        (|c| c.weight_sum = None, "residual", "over λ·n is a distance of"),
        (|c| c.weight_sum = Some(0.0), "numbers", "weight_sum of 57 rows must be above 0"),
        (|c| c.weight_sum = Some(-1.0), "numbers", "weight_sum must be a finite number of at least 0"),
        (|c| c.weight_sum = Some(1e300), "numbers", "at most 122406567936, got"),
    ];
    for kind in KINDS {
        let basis = Basis { weight_sum: Some(12.75), ..Basis::of(kind) };
        let sound = check(&release_from(&basis, |_| {}));
        assert!(sound.is_genuine(), "{kind:?}: {sound:?}");
        // Nothing divided by anything is nothing.
        let of_sums = |(_, name, _): &(Edit, &str, &str)| kind != Kind::Exact || *name != "residual";
        for (edit, name, words) in refusals.into_iter().filter(of_sums) {
            fails(&check(&release_from(&basis, edit)), name, words);
        }
    }
}

#[test]
fn exact_noise_lies_on_a_lattice_that_the_distance_pays_for() {
    let exact = |step: Option<f64>| {
        move |c: &mut ReleaseCertificate| {
            c.arithmetic.noise = "exact".into();
            c.lattice_step = step;
        }
    };
    assert!(check(&release(exact(Some(2f64.powi(-40))))).is_genuine());
    refused(exact(None), "lattice", "no lattice is named");
    refused(exact(Some(3.0 * 2f64.powi(-40))), "lattice", "lattice_step must be a power of two");
    refused(exact(Some(-2f64.powi(-40))), "lattice", "lattice_step must be a power of two");
    refused(exact(Some(0.0)), "lattice", "lattice_step must be a power of two");
    // √4 · 2⁻¹³ is above 2e-4, and half of it is not.
    refused(exact(Some(2f64.powi(-13))), "lattice", "beyond the distance");
    assert!(check(&release(exact(Some(2f64.powi(-14))))).is_genuine());
}

#[test]
fn labels_that_belong_to_a_mechanism_must_be_stated() {
    for missing in 0..3 {
        let verification = check(&release_of(Kind::Objective, |c| drop(c.limits.remove(missing))));
        fails(&verification, "labels", "belongs to this mechanism and is not stated");
    }
    let without = |tag: &'static str| move |c: &mut ReleaseCertificate| c.outside_scope.retain(|stated| stated != tag);
    // What rows weigh, where their bound is from, and networks are outside the claim only where there is such a thing.
    let sometimes = ["row-weights", "row-norm-bound", "declared-networks"];
    for missing in OutsideScope::ALL.map(OutsideScope::tag).into_iter().filter(|tag| !sometimes.contains(tag)) {
        refused(without(missing), "labels", "is outside every claim of this kind");
    }
    for missing in sometimes {
        assert!(check(&release(without(missing))).is_genuine(), "{missing}");
    }
    let weighted = Basis { weight_sum: Some(12.75), ..Basis::of(Kind::Gaussian) };
    let verification = check(&release_from(&weighted, without("row-weights")));
    fails(&verification, "labels", "`row-weights` is outside every claim of this kind, and is not stated");
    let public = |c: &mut ReleaseCertificate| {
        c.not_public.clear();
        c.outside_scope.retain(|scope| scope != "columns-not-public");
    };
    assert!(check(&release(public)).is_genuine(), "columns that are all public are no limit");
}

#[test]
fn what_was_fitted_beside_the_model_is_known_by_tag_and_name() {
    let listing = |text: String| check(&release(|c| c.outside_scope.push(text)));
    for kind in FittedKind::ALL {
        assert!(listing(format!("{kind}:Some[thing]")).is_genuine(), "{kind}");
    }
    for unknown in ["stacking", "stacking:", "moonlight:RFE", "row-count:7"] {
        let verification = listing(unknown.into());
        let (name, outcome, _) = only_failure(&verification);
        assert_eq!((name, outcome), ("tags", CheckOutcome::Unsupported), "{unknown}");
    }
    // A name is no substitute for the label that every claim carries.
    let instead = |c: &mut ReleaseCertificate| {
        c.outside_scope.retain(|scope| scope != "hyper-parameters");
        c.outside_scope.push("hyper-parameters:GridSearchCV".into());
    };
    refused(instead, "labels", "`hyper-parameters` is outside every claim of this kind, and is not stated");
}

#[test]
fn claims_are_checked_without_a_signature_too() {
    for kind in KINDS {
        let log = LogPosition { origin: "log".into(), position: 0 };
        let mut claims = Basis::of(kind).certificate(log, String::new()).body;
        assert!(verify_claims(&claims).iter().all(|check| check.outcome == CheckOutcome::Passed), "{kind:?}");
        claims.gradient_residual += 1e-3;
        let failed = verify_claims(&claims).into_iter().find(|check| check.outcome == CheckOutcome::Failed);
        assert!(failed.is_some_and(|check| check.check == CheckName::Residual), "{kind:?}");
        claims.loss = "other".into();
        let checks = verify_claims(&claims);
        assert_eq!((checks.len(), checks[0].outcome), (1, CheckOutcome::Unsupported), "nothing else is known then");
    }
}

#[test]
fn noise_is_not_called_better_than_it_is() {
    refused(|c| c.arithmetic.noise = "none".into(), "labels", "is exact or idealized, not none");
    for kind in [Kind::Gamma, Kind::Objective] {
        let exact = |c: &mut ReleaseCertificate| {
            c.arithmetic.noise = "exact".into();
            c.lattice_step = Some(2f64.powi(-40));
        };
        fails(&check(&release_of(kind, exact)), "labels", "is idealized, not exact");
    }
}

#[test]
fn the_adversary_is_not_stronger_than_the_proof() {
    let stronger = "the adversary is stronger than the one that the proof is about";
    refused(|c| c.adversary.sees_prior_release = true, "labels", stronger);
    refused(|c| c.adversary.secret_state = false, "labels", stronger);
    let objective = |edit: fn(&mut ReleaseCertificate)| check(&release_of(Kind::Objective, edit));
    fails(&objective(|c| c.adversary.adaptive_requests = true), "labels", stronger);
    fails(&objective(|c| c.adversary.sees_later_releases = true), "labels", "does not cover several releases together");
}

#[test]
fn requests_and_what_left_add_up() {
    refused(|c| drop(c.requests.pop()), "requests", "1 requests of 2 rows, where 3 rows were removed since");
    refused(|c| c.requests[0].n_rows = 3, "requests", "2 requests of 4 rows, where 3 rows were removed");
    refused(|c| c.since_previous.n_removed = 2, "requests", "of 3 rows, where 2 rows were removed");
    refused(|c| c.n_removed = 2, "requests", "and 2 in all");
    refused(|c| c.since_previous.exposure = "nobody-left".into(), "requests", "that is `several-together`");
    refused(|c| c.since_previous.n_people = 1, "requests", "with 1 people that is `one-person`");
    refused(|c| c.since_previous.release = None, "requests", "that is `no-previous-release`");
    let first = |c: &mut ReleaseCertificate| {
        (c.since_previous.release, c.since_previous.exposure) = (None, "no-previous-release".into());
    };
    refused(first, "requests", "release 3 has a release before it, and names none");
    refused(|c| c.since_previous.release = Some(3), "requests", "release 3 refers to releases that come after it");
    refused(|c| c.decided.revoked.push(3), "requests", "release 3 refers to releases that come after it");
}

#[test]
fn predictable_noise_certifies_nothing() {
    refused(|c| c.certified = false, "certified", "nothing is promised");
}

/// One field with a word that is not known. The rest is sound: a later version may have meant it so.
#[test]
fn an_unknown_word_in_any_field_is_unsupported() {
    type Edit = fn(&mut ReleaseCertificate);
    let edits: [(&str, Edit); 14] = [
        ("mechanism", |c| c.mechanism = "other".into()),
        ("loss", |c| c.loss = "other".into()),
        ("law", |c| c.law = "other".into()),
        ("scale", |c| c.scale = "other".into()),
        ("scale", |c| c.scale = "clip:-1".into()),
        ("scale", |c| c.scale = "within:0".into()),
        ("rung", |c| c.rung = "other".into()),
        ("gamma", |c| c.gamma = "other".into()),
        ("budget", |c| c.budget = Some("other".into())),
        ("arithmetic.bounds", |c| c.arithmetic.bounds = "other".into()),
        ("arithmetic.noise", |c| c.arithmetic.noise = "other".into()),
        ("since_previous.exposure", |c| c.since_previous.exposure = "other".into()),
        ("limits", |c| c.limits.push("other".into())),
        ("outside_scope", |c| c.outside_scope.push("other".into())),
    ];
    for kind in KINDS {
        for (field, edit) in edits {
            let verification = check(&release_of(kind, edit));
            let (name, outcome, message) = only_failure(&verification);
            assert_eq!((name, outcome), ("tags", CheckOutcome::Unsupported), "{field}");
            assert!(message.starts_with(field) && message.ends_with("is not known to this version"), "{message}");
            assert_eq!(verification.verdict, Verdict::Unsupported);
        }
    }
}

#[test]
fn every_way_to_scale_rows_is_known() {
    for scale in ["auto", "unit", "none", "clip:0.5", "within:1024"] {
        let verification = check(&release_of(Kind::Gaussian, |c| c.scale = scale.into()));
        assert!(verification.is_genuine(), "{scale}: {verification:?}");
    }
}

/// Claimed is all of the budget: what is spent was rounded up, and what is allowed was rounded down.
#[test]
fn a_budget_that_is_all_spent_is_within_its_limit() {
    let all_but = |factor: f64| {
        check(&release_of(Kind::Objective, |c| {
            let basis = c.mu_limit * factor;
            (c.mu, c.mu_total) = (basis, basis);
            c.gradient_residual = basis * c.noise_std * (1.0 - 1e-15);
            c.distance_bound = c.gradient_residual / (c.ridge.strength() * c.n_rows as f64);
            c.epsilon_spent = c.promise.epsilon;
            c.curve.truncate(0);
        }))
    };
    assert!(all_but(1.0 + 4.0 * f64::EPSILON).is_genuine(), "{:?}", all_but(1.0 + 4.0 * f64::EPSILON));
    let beyond = all_but(1.0 + 1e-9);
    assert_eq!(beyond.check(CheckName::Limit).map(|check| check.outcome), Some(CheckOutcome::Failed), "{beyond:?}");
}
