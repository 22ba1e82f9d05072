//! Everything that can be chosen: kinds of labels and files, scales, mechanisms, laws, bounds and constants. Each
//! choice must train, remove, settle, release and predict.

use serde_json::{Value, json};

use crate::sandbox::{
    COLUMNS, Sandbox, class, doubles, features, gzipped, npy, npy_features, number, table, target, three_classes,
    two_classes,
};

/// Trains, removes two rows, releases and evaluates; returns the answer of `train`.
#[track_caller]
fn whole_life(sandbox: &Sandbox, train: &str, ids: &str, evaluate: &str) -> Value {
    let trained = sandbox.json(&format!("train {train} --out model"));
    let removed = sandbox.json(&format!("remove model --id {ids}"));
    assert_eq!(removed["n_changed"], 2, "{train}");
    assert_eq!(number(&removed, "n_rows") + 2.0, number(&trained, "n_rows"), "{train}");
    let settled = sandbox.json("settle model");
    assert!(number(&settled, "gradient_residual") <= 1e-8, "{train}: {settled}");
    sandbox.json("release model");
    let evaluated = sandbox.json(&format!("evaluate model {evaluate}"));
    assert_eq!(evaluated["n_rows"], trained["n_rows"], "{train}");
    trained
}

fn classes(sandbox: &Sandbox) -> Value {
    sandbox.json_file("model/releases/1/model.json")["classes"].clone()
}

#[test]
fn two_classes_may_be_written_in_any_usual_way() {
    let spellings = [
        (["-1", "1"], ["-1", "1"]),
        (["-1.0", "+1"], ["-1", "1"]),
        (["0", "1"], ["0", "1"]),
        (["7", "12"], ["7", "12"]),
        (["false", "true"], ["false", "true"]),
        (["False", "True"], ["false", "true"]),
        (["no", "yes"], ["no", "yes"]),
        (["straße, \"alt\"", "später"], ["später", "straße, \"alt\""]),
    ];
    for ([no, yes], names) in spellings {
        let sandbox = Sandbox::new();
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let label = |i, x| if class(i, x) == "yes" { quoted(yes) } else { quoted(no) };
        sandbox.write("rows.csv", table(0..40, label));
        let trained = whole_life(&sandbox, &format!("rows.csv {COLUMNS}"), "u3 u4", "rows.csv --label y");
        assert_eq!(trained["classes"], 2);
        assert_eq!(classes(&sandbox), json!(names));
        let predictions = sandbox.run("predict model rows.csv").stdout;
        assert!(predictions.lines().skip(1).all(|line| {
            names
                .iter()
                .any(|name| line.contains(&format!(",{name},")) || line.contains(&format!(",{},", quoted(name))))
        }));
    }
}

#[test]
fn three_classes_are_one_joint_model() {
    for negatives in ["", "--negatives 0.5", "--negatives 1"] {
        let sandbox = Sandbox::new();
        sandbox.write("three.csv", three_classes(90));
        let train = format!("three.csv {COLUMNS} {negatives} --intercept");
        let trained = whole_life(&sandbox, &train, "u3 u40", "three.csv --label y");
        assert_eq!((&trained["classes"], &trained["dim"]), (&3.into(), &4.into()));
        assert_eq!(classes(&sandbox), json!(["high", "low", "middle"]));
        let accuracy = number(&sandbox.json("evaluate model three.csv --label y"), "accuracy");
        assert!(accuracy > 0.6, "{negatives}: {accuracy}");
    }
}

#[test]
fn arrays_are_read_with_labels_of_any_type() {
    let yes = |i: usize| class(i, features(i)) == "yes";
    let n = 40;
    let integers = |no: i64| (0..n).flat_map(|i| if yes(i) { 1_i64 } else { no }.to_le_bytes()).collect::<Vec<u8>>();
    let numbers: Vec<f64> = (0..n).map(|i| f64::from(u8::from(yes(i)))).collect();
    let names: Vec<u8> = (0..n)
        .flat_map(|i| if yes(i) { ['j', 'a'] } else { ['n', 'o'] })
        .flat_map(|letter| u32::from(letter).to_le_bytes())
        .collect();
    let booleans: Vec<u8> = (0..n).map(|i| u8::from(yes(i))).collect();
    let labels = [
        ("<i8", integers(-1), ["-1", "1"]),
        ("<i8", integers(0), ["0", "1"]),
        ("<f8", doubles(&numbers), ["0", "1"]),
        ("|b1", booleans, ["false", "true"]),
        ("<U2", names, ["ja", "no"]),
    ];
    for (element, data, names) in labels {
        let sandbox = Sandbox::new();
        sandbox.write("x.npy", npy_features(n));
        sandbox.write("y.npy", npy(element, &format!("({n},)"), &data));
        whole_life(&sandbox, "x.npy --label y.npy", "0 17", "x.npy --label y.npy");
        assert_eq!(classes(&sandbox), json!(names), "{element}");
        let model = sandbox.json_file("model/releases/1/model.json");
        assert_eq!(model["features"], json!(["x0", "x1", "x2"]));
    }
}

#[test]
fn arrays_may_come_with_ids_and_subjects() {
    let sandbox = Sandbox::new();
    let n = 40_usize;
    let column = |value: &dyn Fn(i64) -> i64| {
        let data: Vec<u8> = (0_i64..).take(n).flat_map(|i| value(i).to_le_bytes()).collect();
        npy("<i8", &format!("({n},)"), &data)
    };
    sandbox.write("x.npy", npy_features(n));
    sandbox.write("y.npy", column(&|i| i % 2));
    sandbox.write("ids.npy", column(&|i| 100 - 5 * i));
    sandbox.write("people.npy", column(&|i| i / 10));
    sandbox.json("train x.npy --label y.npy --id ids.npy --subject people.npy --out model");
    assert_eq!(sandbox.json("remove model --id 100")["n_changed"], 1);
    assert_eq!(sandbox.json("remove model --id -95")["n_changed"], 1);
    assert_eq!(sandbox.json("remove model --subject 1 0")["n_changed"], 19);
    assert_eq!(sandbox.json("status model")["n_rows"], 19);
}

#[test]
fn compressed_files_are_read_as_plain_ones() {
    let (plain, compressed) = (Sandbox::new(), Sandbox::new());
    let labels = npy("<i8", "(40,)", &(0..40_i64).flat_map(|i| (i % 2).to_le_bytes()).collect::<Vec<u8>>());
    plain.write("rows.csv", two_classes(40));
    compressed.write("rows.csv.gz", gzipped(two_classes(40)));
    plain.write("x.npy", npy_features(40));
    compressed.write("x.npy.gz", gzipped(npy_features(40)));
    plain.write("y.npy", &labels);
    compressed.write("y.npy.gz", gzipped(&labels));
    let claim = |sandbox: &Sandbox, train: &str| {
        let trained = sandbox.json(&format!("train {train}"));
        (trained["gradient_residual"].clone(), trained["n_rows"].clone())
    };
    let csv = claim(&plain, &format!("rows.csv {COLUMNS} --out csv"));
    assert_eq!(csv, claim(&compressed, &format!("rows.csv.gz {COLUMNS} --out csv")));
    let npy = claim(&plain, "x.npy --label y.npy --out npy");
    assert_eq!(npy, claim(&compressed, "x.npy.gz --label y.npy.gz --out npy"));
    compressed.json("release csv");
    assert_eq!(compressed.json("evaluate csv rows.csv.gz --label y")["n_rows"], 40);
}

#[test]
fn both_mechanisms_work_with_both_laws_and_both_budgets() {
    for mechanism in ["release", "objective"] {
        for law in ["gaussian", "gamma"] {
            for rest in ["", "--gamma paper", "--budget paper", "--gamma paper --budget paper --epsilon 0.5"] {
                let sandbox = Sandbox::with_table();
                let noise = if mechanism == "objective" { "--noise-std 10 --l2 0.1" } else { "" };
                let train = format!("two.csv {COLUMNS} --mechanism {mechanism} --law {law} {noise} {rest}");
                whole_life(&sandbox, &train, "u3 u4", "two.csv --label y");
                let status = sandbox.json("status model");
                assert_eq!((&status["mechanism"], &status["law"]), (&mechanism.into(), &law.into()));
                let delta = number(&status, "delta");
                assert_eq!(delta == 0.0, law == "gamma", "{train}: {status}");
                let certificate = sandbox.certificate("model/releases/1/certificate.json");
                let constants = if rest.contains("--gamma paper") { "paper" } else { "tight" };
                assert_eq!(certificate["gamma"], constants, "{train}");
                assert_eq!((&certificate["mechanism"], &certificate["law"]), (&mechanism.into(), &law.into()));
            }
        }
    }
}

#[test]
fn the_printed_budget_is_the_smaller_one() {
    let budget = |rule: &str| {
        let sandbox = Sandbox::with_model(&format!("--mechanism objective --noise-std 2 --budget {rule}"));
        number(&sandbox.json("status model"), "budget")
    };
    let (paper, analytic) = (budget("paper"), budget("analytic"));
    // σε/c with c = √(2 ln(1.5/δ)), and σ·μ(ε, δ), for σ = 2, ε = 1, δ = 1e-4.
    assert!((paper - 2.0 * 0.2280).abs() < 2e-4 && (analytic - 2.0 * 0.3139).abs() < 2e-4, "{paper} {analytic}");
}

#[test]
fn every_bound_certifies_a_removal() {
    let sandbox = Sandbox::with_table();
    let mut residuals = Vec::new();
    for bound in ["measured", "per-row", "data-dependent", "step-norm", "worst-case", "stale"] {
        for mechanism in ["release", "objective"] {
            let out = format!("{bound}-{mechanism}");
            let arguments = format!("--bound {bound} --mechanism {mechanism}");
            sandbox.json(&format!("train two.csv {COLUMNS} {arguments} --out {out}"));
            // Loose bounds may spend the budget of mechanism `objective`: an answer all the same.
            let removed = sandbox.run(&format!("remove {out} --id u3 --json")).json();
            assert_eq!(removed["rung"], bound);
            if mechanism == "release" {
                residuals.push((number(&removed, "gradient_residual"), bound));
            }
        }
    }
    // What costs more is never worse: the measured residual, then the bound per row, then those without a pass.
    let ladder = &residuals[..5];
    assert!(ladder.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{residuals:?}");
}

#[test]
fn rows_are_scaled_as_asked() {
    let scales = [("unit", ""), ("unit", "--intercept"), ("clip:2.5", ""), ("none", "--intercept"), ("within:0.5", "")];
    for (scale, intercept) in scales {
        let sandbox = Sandbox::new();
        let shortened = |text: &str| text.replace(",0.", ",0.0").replace(",-0.", ",-0.0");
        sandbox.write("rows.csv", shortened(&two_classes(40)));
        let train = format!("rows.csv {COLUMNS} --scale {scale} {intercept}");
        let trained = whole_life(&sandbox, &train, "u3 u4", "rows.csv --label y");
        assert_eq!(trained["dim"], if intercept.is_empty() { 3 } else { 4 });
        assert_eq!(sandbox.json("status model")["scale"], scale);
    }
}

#[test]
fn features_may_be_listed_or_left_out() {
    let sandbox = Sandbox::with_table();
    sandbox.json("train two.csv --label y --features c,a --out listed");
    sandbox.json("train two.csv --label y --id id --ignore who,b --out ignoring");
    let features = |model: &str| {
        sandbox.json(&format!("release {model}"));
        sandbox.json_file(&format!("{model}/releases/1/model.json"))["features"].clone()
    };
    assert_eq!(features("listed"), json!(["c", "a"]));
    assert_eq!(features("ignoring"), json!(["a", "c"]));
    // Columns are found by their names, in any order and among others.
    sandbox.write("reordered.csv", "c,z,b,a\n0.5,9,9,0.25\n");
    sandbox.write("plain.csv", "a,c\n0.25,0.5\n");
    let prediction = |model: &str, file: &str| sandbox.run(&format!("predict {model} {file}")).stdout;
    assert_eq!(prediction("ignoring", "reordered.csv"), prediction("ignoring", "plain.csv"));
}

#[test]
fn the_squared_loss_works_with_and_without_noise() {
    for (arguments, epsilon) in
        [("", 0.0), ("--noise-std 0", 0.0), ("--noise-std 0.01", 1.0), ("--mechanism objective", 0.0)]
    {
        let sandbox = Sandbox::new();
        sandbox.write("rows.csv", table(0..40, target));
        let train = format!("rows.csv {COLUMNS} --loss squared {arguments}");
        whole_life(&sandbox, &train, "u3 u4", "rows.csv --label y");
        assert_eq!(number(&sandbox.json("status model"), "epsilon"), epsilon, "{arguments}");
    }
}

#[test]
fn many_features_are_trained_without_a_matrix() {
    let sandbox = Sandbox::with_table();
    whole_life(&sandbox, &format!("two.csv {COLUMNS} --max-matrix-dim 2"), "u3 u4", "two.csv --label y");
    let removed = sandbox.json("remove model --id u9");
    assert_eq!(removed["rung"], "no-step");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_no_harm() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", format!("\u{feff}{}", two_classes(40).replace('\n', "\r\n")));
    whole_life(&sandbox, &format!("rows.csv {COLUMNS}"), "u3 u4", "rows.csv --label y");
}

/// A libsvm file carries its labels: none are named, at training or later.
#[test]
fn libsvm_files_need_no_label() {
    let sandbox = Sandbox::new();
    let line = |i: usize| {
        format!("{} 1:{} 2:0.5 3:{}", if i.is_multiple_of(2) { "+1" } else { "-1" }, i % 7, (i % 5) as f64 / 10.0)
    };
    let lines = |rows: std::ops::Range<usize>| rows.map(line).collect::<Vec<_>>().join("\n");
    sandbox.write("rows.svm", lines(0..40));
    sandbox.write("more.svm.gz", gzipped(lines(40..45)));
    sandbox.refuses("train rows.svm --label y --out model", &["error: rows.svm", "label"]);
    sandbox.json("train rows.svm --out model");
    assert_eq!(sandbox.json("add model more.svm.gz")["n_rows"], 45);
    sandbox.json("remove model --id 3 44");
    sandbox.json("release model");
    assert_eq!(sandbox.json("evaluate model rows.svm")["n_rows"], 40);
    sandbox.run("predict model rows.svm").ends_with(0);
}

#[test]
fn images_in_the_mnist_format_are_rows() {
    let sandbox = Sandbox::new();
    let n = 30_u8;
    let header = |magic: u8, sizes: &[u8]| {
        let sizes = sizes.iter().flat_map(|size| [0, 0, 0, *size]);
        [0, 0, 8, magic].into_iter().chain(sizes).collect::<Vec<u8>>()
    };
    let pixels = (0..n).flat_map(|i| [10 + i % 3, 200 - 40 * (i % 2), i, 7]);
    let images: Vec<u8> = header(3, &[n, 2, 2]).into_iter().chain(pixels).collect();
    let labels: Vec<u8> = header(1, &[n]).into_iter().chain((0..n).map(|i| i % 2)).collect();
    sandbox.write("train-images-idx3-ubyte", &images);
    sandbox.write("train-labels-idx1-ubyte.gz", gzipped(&labels));
    let report = sandbox.json("train train-images-idx3-ubyte --label train-labels-idx1-ubyte.gz --out model");
    assert_eq!((&report["n_rows"], &report["dim"], &report["classes"]), (&n.into(), &4.into(), &2.into()));
    sandbox.refuses("train train-images-idx3-ubyte --out other", &["no labels given"]);
}
