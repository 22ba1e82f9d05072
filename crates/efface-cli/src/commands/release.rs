//! `efface release`

use std::time::{Duration, UNIX_EPOCH};

use efface_core::model::{Excess, Refusal, Refused};
use efface_engine::ReleaseAnswer;
use efface_ledger::certificate::tags::Exposure;

use super::ledger::{few_left, in_words};
use super::{EXTRACTOR_EXHAUSTED, noise, open_to_sign, over_budget};
use crate::args::ReleaseArgs;
use crate::output::{Answer, Output, bound, duration, number, parameter, promise};

pub(crate) fn run(args: &ReleaseArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open_to_sign(&args.model, output)?;
    let mut noise = noise(&args.seed, output)?;
    let answer = output.working("releasing", || model.release(&mut noise, args.out.as_deref()))?;
    let (policy, max_releases) = (model.policy(), model.settings().config.max_releases);
    model.close()?;
    match &answer {
        ReleaseAnswer::Published(report) => {
            output.in_force();
            let settled = match report.settle_passes {
                0 => "not needed".into(),
                1 => "1 pass over the rows".into(),
                passes => format!("{passes} passes over the rows"),
            };
            let left = report.releases_left.map(|left| ("releases left", format!("{left} of {max_releases}")));
            let lines: Vec<(&str, String)> = [
                ("promised for all releases together (ε, δ)", promise(report.epsilon, report.delta, report.noise_std)),
                ("proved so far: ε at that δ", bound(report.epsilon_spent)),
                (
                    "distance to the retrained weights, verified",
                    format!("at most {}", bound(report.verified_distance_bound)),
                ),
                ("the same as claimed in the certificate", format!("at most {}", bound(report.distance_bound))),
                ("scale of the noise", parameter(report.noise_std)),
                ("settled first", settled),
                ("requests that it is the first to cover", report.n_requests.to_string()),
                ("model", report.model.display().to_string()),
                ("certificate", report.certificate.display().to_string()),
            ]
            .into_iter()
            .chain(left)
            .collect();
            output.show(
                &answer,
                &format!("published release {} in {}", report.release, duration(report.seconds)),
                &lines,
            )?;
            if let Some(warning) = few_left(report.releases_left, max_releases, &args.model.directory.path) {
                output.warn(&warning);
            }
            if !report.certified {
                output.warn("this release is NOT certified: its noise came from a fixed seed");
            }
            if report.exposure == Exposure::OnePerson {
                output.warn(&format!("{} (see efface policy --help)", report.exposure.in_words()));
            }
            Ok(Answer::Done)
        }
        ReleaseAnswer::HeldBack(held_back) => {
            let mut lines =
                vec![("people whose rows left or changed since the release before", held_back.n_people.to_string())];
            if let Some(due) = held_back.due {
                let due = UNIX_EPOCH + Duration::from_secs(due);
                lines.push(("made in any case from", humantime::format_rfc3339_seconds(due).to_string()));
            }
            output.show(&answer, &format!("not published: releases are made {}", in_words(policy)), &lines)?;
            output.say("next: wait, or change the policy with efface policy");
            Ok(Answer::Negative)
        }
        ReleaseAnswer::Refused(Refused { outcome, excess }) => {
            let lines =
                excess.map(|Excess { found, limit }| [("would spend", bound(found)), ("allowed", number(limit))]);
            output.show(
                &answer,
                &format!("not published: {outcome}"),
                lines.as_ref().map_or(&[], |lines| &lines[..]),
            )?;
            let next = match outcome {
                Refusal::RetrainRequired => &over_budget(&args.model.directory.path),
                Refusal::OutOfReach => {
                    "the weights cannot be brought as near to the exact ones as a release claims: train again with a larger \
                     --noise-std, --alpha or --l2"
                }
                Refusal::OneClass => {
                    "only rows of one class are left, and a classifier needs two: revoke the releases that still know the \
                     removed rows, and delete the model or train a new one"
                }
                Refusal::Singular => "the sums of the rows cannot be solved: train again with a larger --alpha or --l2",
                Refusal::ExtractorExhausted => EXTRACTOR_EXHAUSTED,
                Refusal::OffLattice => {
                    "a weight is too large beside the noise: train again with a larger --alpha, --l2 or --noise-std"
                }
                Refusal::BudgetExhausted => {
                    "all releases that the promise was shared among have been made: `efface renew DIR` adds a promise, so that \
                     removals can still be covered; or train a new model"
                }
            };
            output.say(next);
            Ok(Answer::Negative)
        }
    }
}
