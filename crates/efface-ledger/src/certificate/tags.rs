//! Words that certificates use and whose meaning never changes. A verifier that meets another one says "unsupported". Those of
//! losses, mechanisms, laws, rungs and constants are core's own.

use efface_core::tagged;

use super::FittedBeside;

/// How rows are scaled; `clip:` and `within:` with a radius are two more.
pub const SCALES: [&str; 4] = ["auto", "unit", "none", "raw"];

/// What is inside the claim under scale `auto`, beside the weights.
pub const DERIVED: &str = "how columns are scaled and which texts are categories: it follows from the rows present, as if removed ones had never been there";

/// How bounds were computed: in double precision, each operation rounded the safe way.
pub const OUTWARD: &str = "outward";

tagged! {
    /// What an observer of two releases could learn.
    pub enum Exposure {
        NoPreviousRelease = "no-previous-release" => "there is no earlier release to compare this one with",
        NobodyLeft = "nobody-left" =>
            "nobody's rows left or changed since the release before: the two differ by noise and by rows that came",
        OnePerson = "one-person" =>
            "one person's rows left or changed since the release before: whoever kept both models can work out what \
             they were",
        SeveralTogether = "several-together" =>
            "several people's rows left or changed since the release before: whoever kept both models learns about \
             them together",
    }
}

tagged! {
    /// A limit of the proof that a claim rests on: mechanism `objective` has all of them, mechanism `release` none.
    pub enum Limit {
        P1Dependence = "p1-dependence" =>
            "the residual is a function of the perturbation, which the proof treats as independent",
        P2Stopping = "p2-stopping" => "whether the model is retrained depends on the perturbation",
        P3Sequences = "p3-sequences" => "one perturbation covers each model alone, not two successive models together",
        P4PublishedResidual = "p4-published-residual" =>
            "the residual, the distance that follows from it and what they rest on stand here without noise, and \
             depend on the rows, removed ones included",
    }
}

tagged! {
    /// What a claim does not cover.
    pub enum OutsideScope {
        PriorReleases = "prior-releases" =>
            "someone who kept a model from before the removal, and requests that were chosen after looking at one",
        CopiesElsewhere = "copies-elsewhere" =>
            "copies of the data, caches, and models trained elsewhere or derived downstream from the same rows",
        FittedPreprocessing = "fitted-preprocessing" => "transforms and preprocessing that were fitted on the rows elsewhere",
        HyperParameters = "hyper-parameters" => "hyper-parameters that were chosen on the rows",
        ClassList = "class-list" => "the list of classes",
        RowCount = "row-count" => "the number of rows, which is not hidden",
        RowWeights = "row-weights" =>
            "what the rows weigh together, which is not hidden: it tells what the rows that left weighed",
        RowNormBound = "row-norm-bound" => "the bound on the length of rows, which was taken from the rows",
        ColumnsNotPublic = "columns-not-public" =>
            "the schema entries of the columns under not_public: proposed from the rows, and not marked public by \
             anybody",
        DeclaredNetworks = "declared-networks" =>
            "how the networks that make features were trained: public ones without these rows, private ones as their \
             statements say",
    }
}

/// A tag in plain words; `None` for one that this version does not know.
pub fn in_words(tag: &str) -> Option<String> {
    let exposure = || Exposure::by_tag(tag).map(Exposure::in_words);
    let limit = || Limit::by_tag(tag).map(Limit::in_words);
    let scope = || OutsideScope::by_tag(tag).map(OutsideScope::in_words);
    let fixed = exposure().or_else(limit).or_else(scope).map(String::from);
    fixed.or_else(|| tag.parse::<FittedBeside>().ok().map(|fitted| fitted.in_words()))
}
