//! Request ids: the same request gets the same answer and is done once.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// The answer without its times, which are those of the call.
fn timeless(mut answer: Value) -> Value {
    let fields = answer.as_object_mut().expect("an object");
    fields.retain(|key, _| !key.ends_with("seconds") && key != "repeated" && key != "settled");
    answer
}

#[test]
fn the_same_request_is_answered_twice_and_done_once() {
    let sandbox = Sandbox::with_model("");
    let first = sandbox.json("remove model --id u1 u2 --request-id ticket-1");
    assert_eq!(first["repeated"], false);
    let before = sandbox.snapshot();
    let second = sandbox.json("remove model --id u1 u2 --request-id ticket-1");
    assert_eq!(second["repeated"], true);
    assert_eq!(timeless(second), timeless(first));
    assert!(before == sandbox.snapshot());
    let status = sandbox.json("status model");
    assert_eq!((&status["n_rows"], &status["n_removed"]), (&58.into(), &2.into()));
}

#[test]
fn a_request_is_the_same_in_any_order_of_its_ids() {
    let sandbox = Sandbox::with_model("");
    let first = sandbox.json("remove model --id u1 u2 --request-id ticket-1");
    let second = sandbox.json("remove model --id u2 --id u1 --request-id ticket-1");
    assert_eq!(timeless(second), timeless(first));
    sandbox.write("ids.txt", "u2\nu1\n");
    sandbox.json("remove model --ids ids.txt --request-id ticket-1");
    sandbox.json("remove model --subject p3 p2 --request-id ticket-2");
    sandbox.json("remove model --subject p2 p3 --request-id ticket-2");
    assert_eq!(sandbox.json("status model")["n_removed"], 10);
}

#[test]
fn a_request_id_is_remembered_after_other_changes() {
    let sandbox = Sandbox::with_model("");
    let first = sandbox.json("remove model --subject p3 --request-id ticket-1");
    sandbox.json("remove model --id u50 --request-id ticket-2");
    sandbox.json("retrain model");
    let again = sandbox.json("remove model --subject p3 --request-id ticket-1 --settle");
    assert_eq!(timeless(again), timeless(first));
    assert_eq!(sandbox.json("status model")["n_removed"], 5);
    let told = sandbox.run("remove model --subject p3 --request-id ticket-1");
    told.ends_with(0);
    assert!(told.stderr.contains("nothing was done now"), "{told:?}");
}

#[test]
fn a_request_id_cannot_be_used_for_other_rows() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u1 --request-id ticket-1");
    for arguments in ["--id u2", "--id u1 u2", "--subject u1"] {
        sandbox.refuses(
            &format!("remove model {arguments} --request-id ticket-1"),
            &["request id `ticket-1` was used before, for other rows or other values"],
        );
    }
}

/// Other values under an old request id were answered "done before", and were lost.
#[test]
fn a_request_id_cannot_be_used_for_other_values_of_the_same_rows() {
    let sandbox = Sandbox::with_model("");
    let correct = "correct model row.csv --request-id ticket-1";
    for (values, label) in [("0.1,0.2,0.3", "no"), ("0.1,0.2,0.4", "no"), ("0.1,0.2,0.3", "yes")] {
        sandbox.write("row.csv", format!("id,who,a,b,c,y\nu3,p0,{values},{label}\n"));
        if (values, label) == ("0.1,0.2,0.3", "no") {
            assert_eq!(sandbox.json(correct)["repeated"], false);
            assert_eq!(sandbox.json(correct)["repeated"], true);
        } else {
            sandbox.refuses(correct, &["request id `ticket-1` was used before, for other rows or other values"]);
        }
    }
    // What stood in the rows of old requests is forgotten when rows leave: `u3` might be one of them.
    sandbox.json("remove model --id u9");
    assert_eq!(sandbox.json(correct)["repeated"], true);
}

#[test]
fn a_request_that_was_refused_can_be_made_again() {
    let sandbox = Sandbox::with_model("");
    sandbox.refuses("remove model --id nobody --request-id ticket-1", &["unknown row id `nobody`"]);
    assert_eq!(sandbox.json("remove model --id u1 --request-id ticket-1")["repeated"], false);
}

#[test]
fn a_negative_answer_is_repeated_too() {
    let sandbox = Sandbox::with_model("--mechanism objective --noise-std 1e-7");
    let ask = || {
        let answer = sandbox.run("remove model --id u1 --request-id ticket-1 --json");
        answer.ends_with(1);
        timeless(answer.json())
    };
    assert_eq!(ask(), ask());
    let status = sandbox.run("status model --json").json();
    assert_eq!(status["n_removed"], 1);
}

/// A bound that is not known is `null` in the stored answer, which made the state unreadable.
#[test]
fn an_answer_without_a_finite_bound_can_be_read_again() {
    let sandbox = Sandbox::with_model("--bound worst-case --l2 1e-15 --noise-std 1e6");
    let first = sandbox.run("remove model --id u3 --request-id ticket-1 --json");
    assert!(first.code == Some(0), "{first:?}");
    sandbox.json("status model");
    assert_eq!(timeless(sandbox.json("remove model --id u3 --request-id ticket-1")), timeless(first.json()));
}

/// Lists of people to forget hold people whom this model never knew, and the same people twice.
#[test]
fn lists_of_people_are_worked_through_with_those_that_are_there() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("people.txt", "p2\nnobody\np3\np2\n");
    sandbox.refuses("remove model --subjects people.txt", &["error: unknown subject id `nobody`"]);
    let removed = sandbox.json("remove model --subjects people.txt --skip-missing --request-id list");
    assert_eq!((&removed["n_changed"], &removed["n_missing"]), (&8.into(), &1.into()));
    let again = sandbox.json("remove model --subjects people.txt --skip-missing --request-id list");
    assert_eq!(timeless(again), timeless(removed));
    let told = sandbox.run("remove model --subjects people.txt --skip-missing");
    told.ends_with(0);
    assert!(told.stderr.contains("not found") && told.stderr.contains("nothing was removed"), "{told:?}");
}

#[test]
fn a_model_without_subjects_says_so() {
    let sandbox = Sandbox::with_table();
    sandbox.json("train two.csv --label y --id id --ignore who --out model");
    let parts = ["error: this model was trained without a subject column", "hint: name rows with --id"];
    sandbox.refuses("remove model --subject p2", &parts);
}

/// The rows to predict are not to be written over, and a file that was there stays if there is no room for a new one.
#[test]
fn predictions_are_written_as_a_whole_and_not_over_the_rows() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    sandbox.refuses("predict model two.csv --out two.csv", &["error: two.csv: these are the rows; the answer"]);
    sandbox.json("predict model two.csv --id id --out predictions.csv");
    let before = sandbox.read("predictions.csv");
    let answer =
        sandbox.shell("trap '' XFSZ; ulimit -f 1; exec \"$0\" predict model two.csv --id id --out predictions.csv");
    answer.is_refusal(&["error: predictions.csv: File too large"]);
    assert_eq!(sandbox.read("predictions.csv"), before);
    assert_eq!(sandbox.names("."), ["model", "predictions.csv", "two.csv"]);
}
