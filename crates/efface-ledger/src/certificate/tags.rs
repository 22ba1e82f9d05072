//! Words that certificates use and whose meaning never changes. A verifier that meets another one says "unsupported".

/// Mechanisms.
pub const MECHANISMS: [&str; 2] = ["release", "objective"];

/// Losses.
pub const LOSSES: [&str; 2] = ["logistic", "squared"];

/// Laws of the noise.
pub const LAWS: [&str; 2] = ["gaussian", "gamma"];

/// How rows are scaled; `clip:` and `within:` with a radius are two more.
pub const SCALES: [&str; 3] = ["unit", "none", "raw"];

/// What bounds rest on; `exact`: on sums of integers, which give the same weights bit for bit.
pub const RUNGS: [&str; 8] =
    ["worst-case", "step-norm", "data-dependent", "stale", "per-row", "measured", "no-step", "exact"];

/// Constants of the bounds.
pub const CONSTANTS: [&str; 2] = ["tight", "paper"];

/// Rules of the removal budget of mechanism `objective`.
pub const BUDGETS: [&str; 2] = ["analytic", "paper"];

/// How bounds were computed: in double precision, each operation rounded the safe way.
pub const BOUNDS: [&str; 1] = ["outward"];

/// How noise was drawn.
pub const NOISES: [&str; 3] = ["exact", "idealized", "none"];

/// What an observer of two releases could learn.
pub const EXPOSURES: [&str; 4] = ["no-previous-release", "nobody-left", "one-person", "several-together"];

/// Limits of the proof that a claim rests on:
/// mechanism `objective` has all of them, mechanism `release` none.
pub const LIMITS: [&str; 4] = ["p1-dependence", "p2-stopping", "p3-sequences", "p4-published-residual"];

/// What a claim does not cover.
pub const OUTSIDE_SCOPE: [&str; 9] = [
    "prior-releases",
    "copies-elsewhere",
    "fitted-preprocessing",
    "hyper-parameters",
    "class-list",
    "row-count",
    "row-weights",
    "row-norm-bound",
    "columns-not-public",
];

/// A tag in plain words.
pub fn in_words(tag: &str) -> &'static str {
    match tag {
        "prior-releases" => {
            "someone who kept a model from before the removal, and requests that were chosen after looking at one"
        }
        "copies-elsewhere" => {
            "copies of the data, caches, and models trained elsewhere or derived downstream from the same rows"
        }
        "fitted-preprocessing" => "transforms and preprocessing that were fitted on the rows",
        "hyper-parameters" => "hyper-parameters that were chosen on the rows",
        "class-list" => "the list of classes",
        "row-count" => "the number of rows, which is not hidden",
        "row-weights" => "what the rows weigh together, which is not hidden: it tells what the rows that left weighed",
        "row-norm-bound" => "the bound on the length of rows, which was taken from the rows",
        "columns-not-public" => {
            "the schema entries of the columns under not_public: proposed from the rows, and not marked public by anybody"
        }
        "p1-dependence" => "the residual is a function of the perturbation, which the proof treats as independent",
        "p2-stopping" => "whether the model is retrained depends on the perturbation",
        "p3-sequences" => "one perturbation covers each model alone, not two successive models together",
        "p4-published-residual" => {
            "the residual, the distance that follows from it and what they rest on stand here without noise, and depend on the \
             rows, removed ones included"
        }
        "no-previous-release" => "there is no earlier release to compare this one with",
        "nobody-left" => {
            "nobody's rows left or changed since the release before: the two differ by noise and by rows that came"
        }
        "one-person" => {
            "one person's rows left or changed since the release before: whoever kept both models can work out what they were"
        }
        "several-together" => {
            "several people's rows left or changed since the release before: whoever kept both models learns about them together"
        }
        _ => "a tag that this version does not know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_that_is_shown_has_words() {
        for tag in EXPOSURES.iter().chain(&LIMITS).chain(&OUTSIDE_SCOPE) {
            assert_ne!(in_words(tag), in_words("?"), "{tag}");
        }
    }
}
