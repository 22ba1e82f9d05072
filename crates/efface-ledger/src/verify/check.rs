//! What a verification is made of: one check after the other, each with its own outcome and words.

use efface_core::tagged;
use serde::Serialize;

tagged! {
    /// What a check asks; a stable name.
    pub enum CheckName {
        /// The file is whole, and of a form that this version knows.
        Form = "form",
        /// The key signed it.
        Signature = "signature",
        /// What it is about is named once.
        Subject = "subject",
        /// This version knows every tag.
        Tags = "tags",
        /// The randomness was unpredictable.
        Certified = "certified",
        /// It names the key that signed it.
        Issuer = "issuer",
        /// The model file is the one that it is about.
        Model = "model",
        /// Its entries are in the log, and the log follows from its entries.
        Log = "log",
        /// A checkpoint from elsewhere is of the same log.
        Checkpoint = "checkpoint",
        /// Every number is one that can be.
        Numbers = "numbers",
        /// The distance follows from what is left of the gradient.
        Residual = "residual",
        /// What the release spends follows from distance and noise.
        Mu = "mu",
        /// What releases spent together is no less.
        Total = "total",
        /// The limit follows from the promise.
        Limit = "limit",
        /// The spent ε follows from what was spent.
        Epsilon = "epsilon",
        /// So does every point of the curve.
        Curve = "curve",
        /// The lattice is fine enough.
        Lattice = "lattice",
        /// The maps of features are those that their digests stand for.
        Features = "features",
        /// What must be stated is stated.
        Labels = "labels",
        /// The requests add up.
        Requests = "requests",
        /// What it says of a request fits together.
        Request = "request",
        /// The request's own entry is in the log.
        RequestEntry = "request-entry",
        /// The release was not withdrawn.
        Revocation = "revocation",
        /// It is a withdrawal.
        Withdrawal = "withdrawal",
        /// It continues the account of the releases before it.
        Previous = "previous",
        /// The chain of releases goes back to the first one.
        Chain = "chain",
        /// A release's certificate, model and log belong together.
        Release = "release",
        /// What is claimed of the secret weights, measured on the rows.
        Replay = "replay",
        /// Every page of a directory's database is what was written.
        Database = "database",
        /// Every row of a directory is what was written and found under its own id; nothing is left of removed ones.
        Rows = "rows",
        /// Who was removed is known outside the database too: beside the state, and to the witness.
        Removed = "removed",
        /// The parts of a directory belong together.
        Directory = "directory",
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it asks.
    pub check: CheckName,
    /// How it came out.
    pub outcome: CheckOutcome,
    /// In words, with value and limit where there are such.
    pub message: String,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed,
    /// It uses a word or a form that this version does not know. Never to be taken as valid.
    Unsupported,
    /// What it takes was not given.
    NotChecked,
}

/// What is to be thought of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything that it says was checked, and holds.
    Valid,
    /// Everything that was checked holds, the signature among it; whether the model file is the certified one, or what
    /// earlier releases spent, takes files that were not given.
    PartlyVerified,
    /// A genuine withdrawal: the release that it speaks of must not be used. It certifies no model.
    Withdrawn,
    /// Something does not hold.
    Invalid,
    /// Something is not known to this version.
    Unsupported,
    /// Nothing is wrong, and something that it takes was not given: a key, or what links a checkpoint.
    NotVerified,
}

/// All checks of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// What is to be thought of it.
    pub verdict: Verdict,
    /// The checks, in order.
    pub checks: Vec<Check>,
}

impl Check {
    /// A check that holds.
    pub fn passed(check: CheckName, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Passed, message: message.into() }
    }

    /// A check that does not hold.
    pub fn failed(check: CheckName, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Failed, message: message.into() }
    }

    /// A check of something that this version does not know.
    pub fn unsupported(check: CheckName, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Unsupported, message: message.into() }
    }

    /// A check that could not be made.
    pub fn not_checked(check: CheckName, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::NotChecked, message: message.into() }
    }

    /// Whether it leaves a part of what a certificate says unverified, for want of a file.
    pub fn leaves_a_part(&self) -> bool {
        self.outcome == CheckOutcome::NotChecked
            && matches!(self.check, CheckName::Model | CheckName::Previous | CheckName::Chain)
    }

    /// Passed with one message, or failed with another.
    pub fn of(check: CheckName, result: Result<String, String>) -> Self {
        match result {
            Ok(message) => Self::passed(check, message),
            Err(message) => Self::failed(check, message),
        }
    }
}

impl Verification {
    /// The verdict over some checks.
    pub fn of(checks: Vec<Check>) -> Self {
        let any = |outcome| checks.iter().any(|check| check.outcome == outcome);
        let signed =
            checks.iter().any(|check| check.check == CheckName::Signature && check.outcome == CheckOutcome::Passed);
        // A checkpoint that was given and could not be compared is a question that was not answered.
        let unlinked = checks
            .iter()
            .any(|check| check.check == CheckName::Checkpoint && check.outcome == CheckOutcome::NotChecked);
        let withdraws = checks.iter().any(|check| check.check == CheckName::Withdrawal);
        let verdict = if any(CheckOutcome::Failed) {
            Verdict::Invalid
        } else if any(CheckOutcome::Unsupported) {
            Verdict::Unsupported
        } else if !signed || unlinked {
            Verdict::NotVerified
        } else if withdraws {
            Verdict::Withdrawn
        } else if checks.iter().any(Check::leaves_a_part) {
            Verdict::PartlyVerified
        } else {
            Verdict::Valid
        };
        Self { verdict, checks }
    }

    /// Whether the key signed it and nothing is wrong with it, whatever else was not checked; a withdrawal, too.
    pub fn is_genuine(&self) -> bool {
        self.verdict.is_genuine()
    }

    /// The check of this name.
    pub fn check(&self, name: CheckName) -> Option<&Check> {
        self.checks.iter().find(|check| check.check == name)
    }
}

impl Verdict {
    /// Whether the key signed the document and nothing is wrong with it, whatever else was not checked; a withdrawal, too.
    pub fn is_genuine(self) -> bool {
        matches!(self, Self::Valid | Self::PartlyVerified | Self::Withdrawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signature_that_was_checked_makes_a_document_valid() {
        let fine = Check::passed(CheckName::Form, "");
        let signed = Check::passed(CheckName::Signature, "");
        let unknown = Check::unsupported(CheckName::Tags, "");
        let verdict =
            |checks: &[&Check]| Verification::of(checks.iter().map(|check| (*check).clone()).collect()).verdict;
        assert_eq!(verdict(&[]), Verdict::NotVerified);
        assert_eq!(verdict(&[&fine]), Verdict::NotVerified);
        assert_eq!(verdict(&[&fine, &signed]), Verdict::Valid);
        assert_eq!(verdict(&[&signed, &unknown]), Verdict::Unsupported);
        assert_eq!(verdict(&[&signed, &unknown, &Check::failed(CheckName::Log, "")]), Verdict::Invalid);
        assert_eq!(verdict(&[&Check::not_checked(CheckName::Signature, "")]), Verdict::NotVerified);
    }

    #[test]
    fn what_was_not_checked_is_never_part_of_a_plain_valid() {
        let signed = Check::passed(CheckName::Signature, "");
        for part in [CheckName::Model, CheckName::Previous, CheckName::Chain] {
            let verification = Verification::of(vec![signed.clone(), Check::not_checked(part, "")]);
            assert_eq!(verification.verdict, Verdict::PartlyVerified);
            assert!(verification.is_genuine());
            // Without a key that is the smaller worry.
            assert_eq!(Verification::of(vec![Check::not_checked(part, "")]).verdict, Verdict::NotVerified);
        }
        let withdrawal = Check::passed(CheckName::Withdrawal, "");
        assert_eq!(Verification::of(vec![withdrawal.clone()]).verdict, Verdict::NotVerified);
        let verification = Verification::of(vec![signed, withdrawal]);
        assert_eq!(verification.verdict, Verdict::Withdrawn);
        assert!(verification.is_genuine());
    }
}
