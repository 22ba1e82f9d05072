use std::path::Path;

use efface_core::accounting::Extractor;
use efface_ledger::certificate::{ReleaseCertificate, RequestCertificate, RevocationCertificate};
use efface_ledger::statement::Subject;
use efface_ledger::verify::Document;
use serde_json::json;

use super::of;

/// A certificate as the engine writes it, with some of its fields changed.
fn release(changes: &serde_json::Value) -> ReleaseCertificate {
    let mut certificate: serde_json::Value = serde_json::from_str(
        r#"{
        "schema": "efface-release-certificate-1", "software": "efface 0.1.0", "model": "26e8e3d1",
        "issued": "2026-01-31T12:00:00Z", "key_id": "1626b2ae", "log": {"origin": "efface/26e8/3f24", "position": 5},
        "release": 2, "certified": true, "n_removed": 3,
        "requests": [{"id": "ticket-77", "time": "2026-01-30T12:00:00Z", "change": 2, "n_rows": 2, "rows": "ab", "position": 4}],
        "since_previous": {"release": 1, "certificate": "68eb", "n_people": 2, "n_removed": 2, "n_corrected": 0,
                           "n_added": 0, "exposure": "several-together"},
        "policy": {"min_removals": 10, "every_seconds": 2592000}, "revoked": [1],
        "mechanism": "release", "loss": "logistic", "l2": 0.001, "scale": "unit", "intercept": true,
        "row_norm_bound": 1.4142, "n_rows": 1996, "n_problems": 1, "dim": 4, "rung": "measured", "gamma": "tight",
        "gradient_residual": 2.4474e-6, "distance_bound": 1.2262e-6, "law": "gaussian", "noise_std": 0.001,
        "mu": 1.2262e-3, "spent_before": {"n_releases": 1, "distance_squares": 1.6e-12, "distances": 1.3e-6},
        "mu_total": 1.7341e-3, "mu_limit": 0.313902, "promise": {"epsilon": 1.0, "delta": 1e-4}, "epsilon": 1.0,
        "delta": 1e-4, "epsilon_spent": 2.0585e-3, "curve": [], "arithmetic": {"bounds": "outward", "noise": "idealized"},
        "adversary": {"sees_prior_release": false, "sees_later_releases": true, "adaptive_requests": true,
                      "secret_state": true},
        "limits": [], "outside_scope": ["prior-releases", "row-count"], "not_public": []
    }"#,
    )
    .expect("JSON");
    for (field, value) in changes.as_object().expect("an object") {
        certificate[field] = value.clone();
    }
    serde_json::from_value(certificate).expect("a certificate")
}

fn page(document: &Document) -> String {
    of(document, &[Subject::new("model.json", [0xab; 32])], Path::new("folder/model.json.certificate.json")).html()
}

fn release_page(changes: &serde_json::Value) -> String {
    page(&Document::Release(Box::new(release(changes))))
}

#[track_caller]
fn says(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "`{part}` is missing in {page}");
    }
}

#[test]
fn rows_that_do_not_count_once_are_told_with_what_they_weigh() {
    assert!(!release_page(&json!({})).contains("count as"));
    let one = release_page(&json!({"weight_sum": 2511.5}));
    says(&one, &["1,996\u{a0}rows that count as 2,511.5"]);
    let several = json!({"n_problems": 3, "n_rows": 9});
    says(&release_page(&several), &["9\u{a0}rows, 3\u{a0}problems"]);
}

#[test]
fn what_was_fitted_beside_the_model_is_named() {
    let scope = json!({"outside_scope": ["prior-releases", "fitted-preprocessing:StandardScaler", "stacking:<b>"]});
    let page = release_page(&scope);
    says(&page, &["Preprocessing that was fitted on the rows: StandardScaler.", "fitted on the rows: &#60;b&#62;."]);
}

#[test]
fn a_release_is_told_in_plain_words_and_numbers() {
    let page = release_page(&json!({}));
    let hash = "ab".repeat(32);
    says(
        &page,
        &[
            "<h1>Release 2 of model 26e8e3d1</h1>",
            &hash,
            "up to (ε,\u{a0}δ)\u{a0}=\u{a0}(1,\u{a0}10⁻⁴), from one trained without the 3\u{a0}rows removed on request",
            // Φ(0.00086705) = 0.500345…, Φ(0.156951) = 0.562358….
            "right at most <strong>50.04\u{a0}%</strong> of the time",
            "it stays at most 56.24\u{a0}%",
            "e<sup>ε</sup>\u{a0}=\u{a0}2.72",
            "<th scope=\"row\">ticket-77</th><td class=\"num\">2026-01-30T12:00:00Z</td><td class=\"num\">2</td>",
            "0.00123 / 0.00174 / 0.314",
            "after 10 removals or 30 days",
            "efface verify model.json.certificate.json --key PUB --model model.json",
            "entry 5 of",
            "1626b2ae",
            "This page proves nothing.",
            "<svg",
        ],
    );
    assert!(!page.contains("NOT CERTIFIED") && !page.contains("Limits of the proof") && !page.contains("extractor,"));
}

#[test]
fn a_release_of_predictable_noise_states_no_chance() {
    let page = release_page(&json!({"certified": false}));
    says(&page, &["<strong>NOT CERTIFIED.</strong>", "promises nothing"]);
    assert!(!page.contains("best guess") && !page.contains("indistinguishable"), "{page}");
}

#[test]
fn pure_epsilon_has_its_own_chance_and_no_curve() {
    let page = release_page(&json!({
        "law": "gamma", "mu_total": 0.01, "mu_limit": 1.0, "promise": {"epsilon": 1.0, "delta": 0.0}, "delta": 0.0,
    }));
    // e^0.01/(1 + e^0.01) = 0.50249998, e/(1 + e) = 0.73105858.
    says(&page, &["<strong>50.25\u{a0}%</strong>", "at most 73.11\u{a0}%", "2.72, without exception"]);
    assert!(!page.contains("<svg"));
}

#[test]
fn exact_weights_tell_no_more_than_a_coin() {
    let page = release_page(&json!({
        "noise_std": 0.0, "mu": 0.0, "mu_total": 0.0, "mu_limit": 0.0, "epsilon": 0.0, "delta": 0.0,
        "promise": {"epsilon": 0.0, "delta": 0.0}, "distance_bound": 0.0, "gradient_residual": 0.0, "rung": "exact",
        "arithmetic": {"bounds": "outward", "noise": "none"},
    }));
    says(&page, &["bit for bit", "No noise was added", "no better than a coin"]);
    assert!(!page.contains("the whole promise") && !page.contains("fresh noise"));
}

#[test]
fn a_law_that_is_not_known_is_given_no_meaning() {
    let page = release_page(&json!({"law": "moonlight"}));
    says(&page, &["“moonlight”, that this version does not know"]);
    assert!(!page.contains("best guess") && !page.contains("indistinguishable"), "{page}");
}

#[test]
fn the_gaps_of_mechanism_objective_are_on_top() {
    let page = release_page(&json!({
        "mechanism": "objective", "limits": ["p1-dependence", "p2-stopping", "p3-sequences"], "budget": "analytic",
        "adversary": {"sees_prior_release": false, "sees_later_releases": false, "adaptive_requests": false,
                      "secret_state": true},
    }));
    says(&page, &["The proof has gaps.", "has this one model,", "that one alone", "analytic budget"]);
}

#[test]
fn the_share_of_an_extractor_is_said_to_be_outside_the_chance() {
    let mut certificate = release(&json!({"epsilon": 1.5}));
    certificate.extractor = Some(Extractor::per_row(0.5, 1e-5));
    let page_of = |c: &ReleaseCertificate| page(&Document::Release(Box::new(c.clone())));
    says(
        &page_of(&certificate),
        &[
            "(ε,\u{a0}δ)\u{a0}=\u{a0}(0.5,\u{a0}10⁻⁵) for up to 1\u{a0}row removed or corrected",
            "but not in these percentages",
            "… by removal<",
        ],
    );
    certificate.extractor = Some(Extractor { group: 4, ..Extractor::per_row(0.5, 0.0) });
    says(&page_of(&certificate), &["private per row: (ε,\u{a0}δ)\u{a0}=\u{a0}(0.5,\u{a0}0); for 4\u{a0}rows together"]);
}

#[test]
fn exact_noise_names_its_lattice() {
    let exact = json!({"arithmetic": {"bounds": "outward", "noise": "exact"}, "lattice_step": 0.25});
    says(&release_page(&exact), &["exact, on a lattice of step 0.25"]);
}

#[test]
fn of_many_requests_the_first_eight_are_listed() {
    let request =
        |i: usize| json!({"id": format!("t-{i}-"), "time": "t", "change": i, "n_rows": 1, "rows": null, "position": i});
    let page = release_page(&json!({"requests": (1..=1010).map(request).collect::<Vec<_>>()}));
    says(&page, &["t-1-", "t-8-", "and 1,002\u{a0}more requests in the signed file"]);
    assert!(!page.contains("t-9-"));
}

#[test]
fn nothing_in_a_certificate_becomes_part_of_the_page() {
    let evil = "<script>alert(\"x\")</script>' onload='\u{1b}[2J\u{202e}&amp;\n";
    let escaped = "&#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62;";
    let pages = [
        release_page(&json!({
            "software": evil, "model": evil, "issued": evil, "key_id": evil, "scale": evil, "mechanism": evil, "loss": evil,
            "law": evil, "rung": evil, "gamma": evil, "budget": evil, "limits": [evil], "outside_scope": [evil],
            "not_public": [evil], "log": {"origin": evil, "position": 1},
            "requests": [{"id": evil, "time": evil, "change": 1, "n_rows": 1, "rows": evil, "position": 1}],
            "arithmetic": {"bounds": evil, "noise": evil},
            "since_previous": {"release": 1, "certificate": evil, "n_people": 1, "n_removed": 1, "n_corrected": 0,
                               "n_added": 0, "exposure": evil},
        })),
        page(&Document::Request(Box::new(request_certificate(evil)))),
        page(&Document::Revocation(Box::new(revocation_certificate(evil)))),
        of(
            &Document::Release(Box::new(release(&json!({})))),
            &[Subject::new(evil, [0; 32])],
            Path::new("'<script>\u{7}"),
        )
        .html(),
    ];
    for page in &pages {
        says(page, &[if page.contains("onload") { escaped } else { "&#60;script&#62;" }]);
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!page.contains(hidden) && !page.contains("' onload"), "{page}");
    }
}

fn request_certificate(text: &str) -> RequestCertificate {
    serde_json::from_value(json!({
        "schema": text, "software": text, "model": text, "issued": text, "key_id": text,
        "log": {"origin": text, "position": 7}, "request_origin": text, "state": text, "release": 3,
        "release_certificate": text,
        "request": {"id": text, "time": text, "change": 2, "n_rows": 1, "rows": text, "position": 4},
    }))
    .expect("a certificate")
}

fn revocation_certificate(text: &str) -> RevocationCertificate {
    serde_json::from_value(json!({
        "schema": text, "software": text, "model": text, "issued": text, "key_id": text,
        "log": {"origin": text, "position": 7}, "release": 3, "release_certificate": text, "reason": text,
    }))
    .expect("a certificate")
}

#[test]
fn what_became_of_a_request_is_told_in_words() {
    let told = [
        ("covered", Some(3), "Release 3 was published and certified after that"),
        ("pending", None, "is still in use and still knows them"),
        ("applied", None, "No published model that is in use knows them."),
        ("dissolved", None, "“dissolved”, is none that this version knows"),
    ];
    for (state, release, words) in told {
        let mut certificate = request_certificate("ticket-77");
        (certificate.state, certificate.release) = (state.into(), release);
        let page = page(&Document::Request(Box::new(certificate)));
        says(
            &page,
            &[
                words,
                "On request <strong>ticket-77</strong>, 1\u{a0}row was removed",
                "<dt>applied</dt>",
                "<dt>pending</dt>",
            ],
        );
        assert!(page.contains("efface verify model.json.certificate.json --key PUB</code>"), "{page}");
    }
}

#[test]
fn a_withdrawal_says_that_the_release_must_not_be_used() {
    let page = page(&Document::Revocation(Box::new(revocation_certificate("too early"))));
    says(&page, &["Release 3 must not be used.", "“too early”", "cannot take a copy", "“WITHDRAWN”", "--revocation"]);
}

#[test]
fn numbers_that_cannot_be_are_shown_without_a_fall() {
    let is_whole = |page: &str| page.ends_with("</html>\n") && !page.contains("NaN");
    for number in [0.0, 1e308, 1e-320, -1.0] {
        let page = release_page(&json!({
            "mu": number, "mu_total": number, "mu_limit": number, "epsilon": number, "delta": number, "l2": number,
            "promise": {"epsilon": number, "delta": number}, "distance_bound": number, "epsilon_spent": number,
        }));
        assert!(is_whole(&page), "{number}");
    }
    let wide = release_page(&json!({"promise": {"epsilon": 1e-6, "delta": 1e-30}, "mu_limit": 1e-7, "mu_total": 1e-7}));
    assert!(is_whole(&wide));
}
