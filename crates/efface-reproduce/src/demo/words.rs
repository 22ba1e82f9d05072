//! The words that the page uses, and where its data and method come from.

use efface_report::{Part, Section, Text, emphasis, raised, text};

pub(super) fn section() -> Section {
    let mut terms: Vec<(String, Text)> =
        WORDS.iter().map(|(word, meaning)| ((*word).into(), (*meaning).into())).collect();
    let guarantee = text![
        "The guarantee: odds change by a factor of at most e",
        raised("ε"),
        ", but for a chance of at most δ. Smaller is stronger.",
    ];
    terms.insert(11, ("ε and δ".into(), guarantee));
    Section::new("", "Words used here", vec![Part::Terms(terms)])
}

const WORDS: [(&str, &str); 13] = [
    (
        "Removal",
        "Taking rows out of a trained model, so that it is as if they had never been trained on. The instant removal moves \
         the weights by one computed step.",
    ),
    ("Retraining", "Training again from scratch on the rows that remain. It is the yardstick for every removal."),
    (
        "Settling",
        "A few passes over the remaining rows that carry the weights the rest of the way to where retraining would put them.",
    ),
    (
        "Release",
        "A copy of the weights with fresh random noise, made to be published. The weights without noise stay secret.",
    ),
    ("Certificate", "The record of what is promised about a release, with every number needed to check it."),
    (
        "Residual",
        "The norm of the gradient left behind: how far the weights are from balancing the remaining rows. Zero means \
         exactly retrained.",
    ),
    (
        "Rung",
        "One of six ways to bound the residual. They differ in how near they come to the truth and in what they cost to \
         compute.",
    ),
    (
        "Curvature",
        "How fast the gradient changes when the weights move (the Hessian matrix). Stale: computed at earlier weights and \
         still used.",
    ),
    (
        "r, distance",
        "A limit on how far the weights are from the retrained ones: the residual divided by λ and by the number of \
         remaining rows.",
    ),
    ("s, noise", "The standard deviation of the random number that a release adds to each weight."),
    (
        "μ",
        "How far apart the two worlds are, measured in noise: r divided by s, with rounding counted in. Several releases add \
         up as the root of the sum of squares.",
    ),
    ("λ", "The strength of the penalty on large weights, per row. It keeps one row from mattering too much."),
    ("Held-out rows", "Rows that were set aside before training and serve only to measure accuracy."),
];

/// Where data and method come from, and what wrote the page.
pub(super) fn foot() -> Vec<Text> {
    vec![
        text![
            "Data: E. Alpaydin and C. Kaynak (1998), ",
            emphasis("Optical Recognition of Handwritten Digits"),
            ", UCI Machine Learning Repository; licence CC BY 4.0 (creativecommons.org/licenses/by/4.0). The test part of \
             it, as packaged by scikit-learn; stored as bytes, otherwise unchanged.",
        ],
        text![
            "Method: C. Guo, T. Goldstein, A. Hannun and L. van der Maaten (2020), ",
            emphasis("Certified Data Removal from Machine Learning Models"),
            ", with release noise in place of a perturbed objective.",
        ],
        concat!("Written by efface ", env!("CARGO_PKG_VERSION"), ". This page loads nothing from outside.").into(),
    ]
}
