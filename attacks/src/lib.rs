//! Attacks on what Efface promises. Each is a file here, can be run alone, and must fail: the test of this crate runs
//! them all and looks at the reason for which each was refused.
//!
//! An attack is a list of tries. A try shows the verifier (or the engine) the honest thing first, which must be
//! accepted, and then the tampered one, which must be refused by the check that is there for it. What cannot be seen with
//! the evidence at hand is a try, too: it says who does not see it, and the next try says who does.

mod break_in;
mod edited_certificate;
mod forged_certificate;
mod forgery;
mod hardest_rows;
mod hardest_rows_first;
mod lowered_residual;
mod outcome;
mod pictures;
mod replayed_certificate;
mod rewritten_log;
mod swapped_extractor;
mod swapped_model;
mod truncated_certificate;
mod victim;

pub use hardest_rows_first::{Release, SlowDown, slow_down};
pub use outcome::{Answer, Expected, Outcome, Try};

/// Something that somebody may try.
pub trait Attack: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What the attacker has, and what it is after.
    fn story(&self) -> &'static str;

    /// Tries it. An error is neither success nor failure: the attack could not be carried out.
    fn run(&self) -> anyhow::Result<Outcome>;
}

/// All attacks.
pub const ALL: [&dyn Attack; 9] = [
    &forged_certificate::ForgedCertificate,
    &replayed_certificate::ReplayedCertificate,
    &truncated_certificate::TruncatedCertificate,
    &edited_certificate::EditedCertificate,
    &lowered_residual::LoweredResidual,
    &swapped_model::SwappedModel,
    &rewritten_log::RewrittenLog,
    &swapped_extractor::SwappedExtractor,
    &hardest_rows_first::HardestRowsFirst,
];
