//! What an attack came to: for each try, what the verifier or the engine answered to the honest and to the tampered thing.

use std::fmt;

use efface_engine::{DirectoryReport, EngineError};
use efface_ledger::verify::{Check, CheckName, CheckOutcome, Verdict, Verification};

/// What an attack came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was tried, in order.
    pub tries: Vec<Try>,
    /// Numbers that belong to it, as lines of text.
    pub table: Vec<String>,
}

/// One try.
#[derive(Debug)]
pub struct Try {
    /// What the attacker does.
    pub what: String,
    /// What must come of it.
    pub expected: Expected,
    /// The answer to the untampered thing. Must be "accepted": whoever refuses everything repels nothing.
    pub honest: Answer,
    /// The answer to the tampered thing.
    pub tampered: Answer,
}

/// What must come of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It is refused by the check of this name.
    RefusedBy(&'static str),
    /// It goes through: with this evidence nobody can see it, or the mechanism is known for it. A limit that is stated, and
    /// the text says what is left to do.
    Limit(&'static str),
}

/// What a verifier or the engine answers.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The checks that refused, in order; none when it was accepted.
    pub refused_by: Vec<String>,
    /// In its own words.
    pub message: String,
}

impl Outcome {
    /// Adds a try.
    pub(crate) fn add(&mut self, what: impl Into<String>, expected: Expected, honest: &Answer, tampered: Answer) {
        self.tries.push(Try { what: what.into(), expected, honest: honest.clone(), tampered });
    }

    /// Adds a try that the check of this name must refuse.
    pub(crate) fn refused(&mut self, what: impl Into<String>, check: &'static str, honest: &Answer, tampered: Answer) {
        self.add(what, Expected::RefusedBy(check), honest, tampered);
    }

    /// Whether every try came to what it had to.
    pub fn is_repelled(&self) -> bool {
        !self.tries.is_empty() && self.tries.iter().all(Try::is_as_expected)
    }
}

impl Try {
    /// Whether the honest thing was accepted and the tampered one answered for the right reason.
    pub fn is_as_expected(&self) -> bool {
        let right = match self.expected {
            Expected::RefusedBy(check) => self.tampered.refused_by.iter().any(|by| by == check),
            Expected::Limit(_) => self.tampered.is_accepted(),
        };
        right && self.honest.is_accepted()
    }
}

impl Answer {
    /// Accepted, in these words.
    pub(crate) fn accepted(message: impl Into<String>) -> Self {
        Self { refused_by: Vec::new(), message: message.into() }
    }

    /// Refused by one check.
    pub(crate) fn refused(by: &str, message: impl Into<String>) -> Self {
        Self { refused_by: vec![by.into()], message: message.into() }
    }

    /// Accepted or refused by a check of this name.
    pub(crate) fn of<T>(by: &str, result: Result<T, impl fmt::Display>) -> Self {
        match result {
            Ok(_) => Self::accepted("accepted"),
            Err(error) => Self::refused(by, error.to_string()),
        }
    }

    /// What the engine answered, by the code of its error.
    pub(crate) fn of_engine<T>(result: Result<T, impl Into<EngineError>>) -> Self {
        match result.map_err(Into::into) {
            Ok(_) => Self::accepted("accepted"),
            Err(error) => Self::refused(error.code(), error.to_string()),
        }
    }

    /// The weakest of several answers: one that this check did not refuse, if there is such.
    pub(crate) fn weakest(
        check: &str,
        answers: impl IntoIterator<Item = anyhow::Result<Self>>,
    ) -> anyhow::Result<Self> {
        let mut weakest = Self::accepted("nothing was tried");
        for answer in answers {
            weakest = answer?;
            if !weakest.refused_by.iter().any(|by| by == check) {
                break;
            }
        }
        Ok(weakest)
    }

    /// Whether nothing refused it.
    pub fn is_accepted(&self) -> bool {
        self.refused_by.is_empty()
    }

    fn of_checks(verdict: Verdict, checks: &[Check]) -> Self {
        if [Verdict::Valid, Verdict::PartlyVerified].contains(&verdict) {
            let open = checks.iter().filter(|check| check.leaves_a_part()).map(|check| &*check.message);
            let open: Vec<&str> = open.collect();
            let message = if open.is_empty() { "valid".into() } else { format!("holds, but {}", open.join("; ")) };
            return Self::accepted(message);
        }
        // Without a failure it is the missing signature that keeps a document from being valid, or that it withdraws.
        let failed = |check: &&Check| {
            matches!(check.outcome, CheckOutcome::Failed | CheckOutcome::Unsupported)
                || verdict == Verdict::Withdrawn && check.check == CheckName::Withdrawal
                || verdict == Verdict::NotVerified
                    && check.outcome == CheckOutcome::NotChecked
                    && matches!(check.check, CheckName::Signature | CheckName::Checkpoint)
        };
        let failed: Vec<&Check> = checks.iter().filter(failed).collect();
        let message = failed.first().map_or_else(|| "not valid".into(), |check| check.message.clone());
        Self { refused_by: failed.iter().map(|check| check.check.tag().into()).collect(), message }
    }
}

impl From<Verification> for Answer {
    fn from(verification: Verification) -> Self {
        Self::of_checks(verification.verdict, &verification.checks)
    }
}

impl From<DirectoryReport> for Answer {
    fn from(report: DirectoryReport) -> Self {
        Self::of_checks(report.verdict, &report.checks)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for attempt in &self.tries {
            writeln!(f, "  {attempt}")?;
        }
        self.table.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.is_as_expected(), self.expected) {
            (true, Expected::RefusedBy(_)) => "repelled",
            (true, Expected::Limit(_)) => "limit",
            (false, _) => "SUCCEEDED",
        };
        writeln!(f, "{verdict:9} {}", self.what)?;
        let answer = |answer: &Answer| match &*answer.refused_by {
            [] => answer.message.clone(),
            checks => format!("refused by {}: {}", checks.join(", "), answer.message),
        };
        write!(f, "              answer: {}", answer(&self.tampered))?;
        if let Expected::Limit(why) = self.expected {
            write!(f, "\n              {why}")?;
        }
        if !self.honest.is_accepted() {
            write!(f, "\n              but the untampered one was {}", answer(&self.honest))?;
        }
        if !self.is_as_expected() {
            write!(f, "\n              expected: {:?}", self.expected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(expected: Expected, honest: &Answer, tampered: Answer) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.add("tries", expected, honest, tampered);
        outcome
    }

    #[test]
    fn an_attack_counts_as_repelled_for_the_right_reason_only() {
        let accepted = || Answer::accepted("valid");
        let by = |check| Answer::refused(check, "no");
        let log = Expected::RefusedBy("log");
        assert!(outcome(log, &accepted(), by("log")).is_repelled());
        assert!(!outcome(log, &accepted(), accepted()).is_repelled(), "accepted");
        assert!(!outcome(log, &accepted(), by("form")).is_repelled(), "refused for another reason");
        assert!(!outcome(log, &by("log"), by("log")).is_repelled(), "everything is refused");
        assert!(outcome(Expected::Limit("why"), &accepted(), accepted()).is_repelled());
        assert!(
            !outcome(Expected::Limit("why"), &accepted(), by("log")).is_repelled(),
            "a limit that is none any more"
        );
        assert!(!Outcome::default().is_repelled(), "nothing was tried");
    }

    #[test]
    fn the_weakest_answer_is_one_that_the_check_did_not_give() {
        let answers = |last: Answer| [Ok(Answer::refused("form", "")), Ok(last), Ok(Answer::refused("form", ""))];
        let weakest = |last| Answer::weakest("form", answers(last)).expect("answers");
        assert_eq!(weakest(Answer::refused("form", "")).refused_by, ["form"]);
        assert_eq!(weakest(Answer::refused("log", "")).refused_by, ["log"]);
        assert!(weakest(Answer::accepted("")).is_accepted());
        assert!(Answer::weakest("form", []).expect("nothing").is_accepted());
    }
}
