//! What can be typed after `efface audit`.

use std::path::PathBuf;

use clap::Args;

use super::{SeedArgs, StoreArgs};

#[derive(Args)]
#[command(after_help = "Examples:
  efface audit --built-in
  efface audit churn.efface --out churn-audit.html
  efface audit churn.efface --quick --json

Three attacks: can releases after a removal be told from releases after retraining; does a model still know a removed
example; what do two releases around a removal say about the row that left. The built-in problems are those on which a
claim is tight, and engines that are broken on purpose must be caught there.

Ends with 0 when the claim stands, 1 when an attack breaks it (or when a broken engine went unseen), 2 on errors. The
report on a model identifies no row, but it is made from secret weights: keep it inside.")]
pub(crate) struct AuditArgs {
    /// The model directory. It is opened and not changed.
    #[arg(required_unless_present = "built_in")]
    pub(crate) model: Option<PathBuf>,
    /// Attack Efface itself on problems of its own, and see whether broken engines are caught.
    #[arg(long, conflicts_with_all = ["model", "memory", "witness", "wait"])]
    pub(crate) built_in: bool,
    /// Where the report goes.
    #[arg(long, value_name = "FILE", default_value = "efface-audit.html")]
    pub(crate) out: PathBuf,
    /// Releases drawn in each world, for each choice of removed rows [default: 20000; with --quick: 8000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(200..=10_000_000))]
    pub(crate) draws: Option<u32>,
    /// Smaller attacks, in a fourth of the time.
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
