//! What a verification is made of: one check after the other, each with its own outcome and words.

use serde::Serialize;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable name.
    pub check: &'static str,
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
    /// Everything that was checked holds, the signature among it.
    Valid,
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
    pub fn passed(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Passed, message: message.into() }
    }

    /// A check that does not hold.
    pub fn failed(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Failed, message: message.into() }
    }

    /// A check of something that this version does not know.
    pub fn unsupported(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Unsupported, message: message.into() }
    }

    /// A check that could not be made.
    pub fn not_checked(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::NotChecked, message: message.into() }
    }

    /// Passed with one message, or failed with another.
    pub(crate) fn of(check: &'static str, result: Result<String, String>) -> Self {
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
        let signed = checks.iter().any(|check| check.check == SIGNATURE && check.outcome == CheckOutcome::Passed);
        // A checkpoint that was given and could not be compared is a question that was not answered.
        let unlinked =
            checks.iter().any(|check| check.check == "checkpoint" && check.outcome == CheckOutcome::NotChecked);
        let verdict = if any(CheckOutcome::Failed) {
            Verdict::Invalid
        } else if any(CheckOutcome::Unsupported) {
            Verdict::Unsupported
        } else if signed && !unlinked {
            Verdict::Valid
        } else {
            Verdict::NotVerified
        };
        Self { verdict, checks }
    }

    /// Whether everything that was checked holds.
    pub fn is_valid(&self) -> bool {
        self.verdict == Verdict::Valid
    }

    /// The check of this name.
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.check == name)
    }
}

/// Name of the check that every valid document must pass.
pub(crate) const SIGNATURE: &str = "signature";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signature_that_was_checked_makes_a_document_valid() {
        let fine = Check::passed("form", "");
        let signed = Check::passed(SIGNATURE, "");
        let unknown = Check::unsupported("tags", "");
        let verdict =
            |checks: &[&Check]| Verification::of(checks.iter().map(|check| (*check).clone()).collect()).verdict;
        assert_eq!(verdict(&[]), Verdict::NotVerified);
        assert_eq!(verdict(&[&fine]), Verdict::NotVerified);
        assert_eq!(verdict(&[&fine, &signed]), Verdict::Valid);
        assert_eq!(verdict(&[&signed, &unknown]), Verdict::Unsupported);
        assert_eq!(verdict(&[&signed, &unknown, &Check::failed("log", "")]), Verdict::Invalid);
        assert_eq!(verdict(&[&Check::not_checked(SIGNATURE, "")]), Verdict::NotVerified);
    }
}
