//! A certificate for people: its lines on a terminal, and its page of HTML.

use crate::sandbox::Sandbox;

/// A folder with a model of one release, `model.json` and its certificate.
fn released(arguments: &str) -> Sandbox {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --subject p1 --request-id ticket-77");
    sandbox.json(&format!("release model --out model.json {arguments}"));
    sandbox
}

#[test]
fn the_page_of_a_release_is_written_and_named() {
    let sandbox = released("");
    let shown = sandbox.json("certificate show model.json.certificate.json --html page.html");
    assert_eq!((&shown["html"], &shown["kind"]), (&"page.html".into(), &"release".into()));
    assert_eq!(shown["predicate"]["requests"][0]["id"], "ticket-77");
    let page = sandbox.text("page.html");
    for part in ["<!DOCTYPE html>", "Release 1 of model", "ticket-77", "--model model.json</code>"] {
        assert!(page.contains(part), "`{part}` is missing in {page}");
    }
    let shown = sandbox.run("certificate show model.json.certificate.json --html other.html");
    shown.ends_with(0);
    assert!(shown.stderr.contains("wrote one page of HTML to other.html"), "{shown:?}");
    assert_eq!(sandbox.text("other.html"), page);
}

/// Nothing said that what was fitted on the rows is covered.
#[test]
fn derived_preprocessing_is_told_to_be_covered() {
    for (arguments, is_derived) in [("--scale auto", true), ("", false)] {
        let sandbox = Sandbox::with_model(arguments);
        sandbox.json("release model");
        let shown = sandbox.run("certificate show model --html page.html");
        for text in [&shown.stderr, &sandbox.text("page.html")] {
            assert_eq!(text.contains("ow columns are scaled and which texts are categories"), is_derived, "{text}");
        }
    }
}

#[test]
fn without_html_no_page_is_written_or_named() {
    let sandbox = released("");
    let before = sandbox.names(".");
    assert!(sandbox.json("certificate show model.json.certificate.json").get("html").is_none());
    assert_eq!(sandbox.names("."), before);
}

#[test]
fn the_page_of_a_directory_is_that_of_its_latest_release() {
    let sandbox = released("");
    sandbox.json("release model");
    let shown = sandbox.json("certificate show model --html page.html");
    assert!(shown["certificate"].as_str().is_some_and(|path| path.ends_with("certificate.json")), "{shown}");
    assert!(sandbox.text("page.html").contains("Release 2 of model"));
}

#[test]
fn a_page_that_exists_is_left_alone() {
    let sandbox = released("");
    sandbox.write("page.html", "mine");
    sandbox.refuses("certificate show model --html page.html", &["page.html exists already", "--html"]);
    sandbox.refuses("certificate show model --html nowhere/page.html", &["nowhere/page.html"]);
}

#[test]
fn what_is_no_certificate_gets_no_page() {
    let sandbox = released("");
    sandbox.refuses("certificate show model.json --html page.html", &["model.json", "not a certificate"]);
    sandbox.refuses("certificate show missing.json --html page.html", &["missing.json"]);
}

#[test]
fn the_page_of_a_release_from_a_fixed_seed_says_so_first() {
    let sandbox = released("--danger-fixed-seed 7");
    sandbox.json("certificate show model --html page.html");
    assert!(sandbox.text("page.html").contains("<strong>NOT CERTIFIED.</strong>"));
    let shown = sandbox.run("certificate show model");
    assert!(shown.stderr.contains("NO: a fixed seed was used") && !shown.stderr.contains("right at most"), "{shown:?}");
}

#[test]
fn requests_and_withdrawals_have_pages_of_their_own() {
    let sandbox = released("");
    sandbox.json("certificate request model ticket-77 --out request.json");
    sandbox.json("certificate show request.json --html request.html");
    assert!(sandbox.text("request.html").contains("<strong>covered</strong>"));
    sandbox.run_all(&["revoke", "model", "1", "--reason", "it was <i>wrong</i>"]).ends_with(0);
    sandbox.json("certificate show model/releases/1/revocation.json --html revocation.html");
    let page = sandbox.text("revocation.html");
    assert!(page.contains("it was &#60;i&#62;wrong&#60;/i&#62;") && !page.contains("<i>"), "{page}");
}

#[test]
fn neither_terminal_nor_page_obeys_what_a_certificate_quotes() {
    let sandbox = Sandbox::with_model("");
    let id = "<script>alert('1')</script>\u{1b}[2J\"";
    sandbox.run_all(&["remove", "model", "--id", "u1", "--request-id", id]).ends_with(0);
    sandbox.json("release model");
    let shown = sandbox.run("certificate show model --html page.html");
    shown.ends_with(0);
    assert!(!shown.stderr.contains('\u{1b}') && shown.stderr.contains(r"\u{1b}[2J"), "{shown:?}");
    let page = sandbox.text("page.html");
    assert!(!page.contains("<script") && !page.contains('\u{1b}'), "{page}");
    assert!(page.contains(r"&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;\u{1b}[2J&#34;"), "{page}");
}

#[test]
fn the_lines_of_a_release_fit_a_terminal() {
    let shown = released("").run("certificate show model");
    shown.ends_with(0);
    let widest = shown.stderr.lines().map(|line| line.chars().count()).max();
    assert!(shown.stderr.lines().count() <= 35 && widest <= Some(100), "{shown:?}");
    assert_eq!(shown.stderr.matches("what it does not cover").count(), 1);
}
