//! A genuine certificate that says more than it did: without the key, with another key, and with the victim's own.

use efface_ledger::certificate::{ReleaseCertificate, RequestAnswer, RequestCertificate};
use efface_ledger::statement::{Statement, Subject};
use efface_ledger::verify::{Evidence, verify};
use sha2::{Digest, Sha256};

use crate::break_in::BreakIn;
use crate::forgery::{Issuer, any_statement_of, edited, statement_of};
use crate::outcome::Expected;
use crate::victim::{Victim, verify_directory};
use crate::{Answer, Attack, Outcome};

pub(crate) struct EditedCertificate;

/// What is edited, by which check it is refused when the signature is in order (or why it is not), and how.
type Edit = (&'static str, &'static str, fn(&mut ReleaseCertificate));

/// What is edited in a request's certificate, and how.
type RequestEdit = (&'static str, fn(&mut RequestCertificate));

/// Edits that contradict something else in the certificate. With the victim's key, too, they are refused.
const EDITS: [Edit; 22] = [
    ("lowers ε", "epsilon", |c| c.epsilon /= 2.0),
    ("lowers ε and the promise it comes from", "limit", |c| {
        c.epsilon /= 2.0;
        c.promise.epsilon /= 2.0;
    }),
    ("lowers the ε that is proved", "epsilon", |c| c.epsilon_spent /= 2.0),
    ("lowers δ", "epsilon", |c| c.delta /= 2.0),
    ("lowers the residual alone", "residual", |c| c.gradient_residual /= 2.0),
    ("lowers the distance alone", "residual", |c| c.distance_bound /= 2.0),
    ("raises the number of rows, by which residuals become distances", "residual", |c| c.n_rows *= 2),
    ("lowers μ of this release", "mu", |c| c.mu /= 2.0),
    ("lowers μ of all releases", "total", |c| c.mu_total = c.mu),
    ("raises what the promise allows", "limit", |c| c.mu_limit *= 2.0),
    ("lowers a point of δ(ε)", "curve", |c| c.curve[0].delta /= 2.0),
    ("forgets that there was a release before", "numbers", |c| c.spent_before.n_releases = 0),
    ("forgets what the release before spent", "total", |c| {
        (c.spent_before.distance_squares, c.spent_before.distances) = (0.0, 0.0);
    }),
    ("makes a number negative", "numbers", |c| c.mu = -1.0),
    ("empties what is outside the scope", "labels", |c| c.outside_scope.clear()),
    ("claims to hold against whoever kept an older model", "labels", |c| c.adversary.sees_prior_release = true),
    ("calls the noise exact, without a lattice", "lattice", |c| {
        c.lattice_step = None;
        c.arithmetic.noise = "exact".into();
    }),
    ("calls the model exact, at the distance that it has", "mu", |c| {
        (c.loss, c.noise_std, c.lattice_step) = ("squared".into(), 0.0, None);
        (c.arithmetic.noise, c.rung) = ("none".into(), "exact".into());
        (c.mu, c.mu_total, c.mu_limit) = (0.0, 0.0, 0.0);
        (c.promise.epsilon, c.promise.delta) = (0.0, 0.0);
        (c.epsilon, c.delta, c.epsilon_spent) = (0.0, 0.0, 0.0);
        c.curve.clear();
    }),
    ("raises the number of removed rows since the release before", "requests", |c| c.since_previous.n_removed += 100),
    ("says that several people left together", "requests", |c| c.since_previous.exposure = "several-together".into()),
    ("names a mechanism that does not exist", "tags", |c| c.mechanism = "perfect".into()),
    ("names another key than the one that signs", "issuer", |c| c.issue.key_id = "0".repeat(64)),
];

impl Attack for EditedCertificate {
    fn name(&self) -> &'static str {
        "edited-certificate"
    }

    fn story(&self) -> &'static str {
        "The attacker has a genuine certificate and makes it say more. First without a key, then with its own, and then as\n  \
         an insider with the victim's own key, who can sign and log whatever it likes."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let victim = Victim::new()?;
        let certificate = &victim.second.certificate;
        let honest = victim.stranger(certificate, Some(&victim.second.model));
        let checked = |file: &[u8]| victim.stranger(file, Some(&victim.second.model));
        let (insider, stranger) = (BreakIn::new(&victim.path())?.insider()?, Issuer::stranger(victim.key.name())?);
        let mut outcome = Outcome::default();
        outcome.add(
            "signs and logs the certificate again with the victim's key, and edits nothing",
            Expected::Limit("nothing is wrong with it: the edits below are refused for what they say"),
            &honest,
            checked(&insider.reissue(certificate, |_| {})?),
        );
        let unsigned = EDITS.iter().map(|(_, _, edit)| Ok(checked(&edited(certificate, *edit)?)));
        let what = format!("makes each of the {} edits below; no key", EDITS.len());
        outcome.refused(what, "signature", &honest, Answer::weakest("signature", unsigned)?);
        let own = EDITS.iter().map(|(_, _, edit)| Ok(checked(&stranger.reissue(certificate, *edit)?)));
        let what = format!("makes each of the {} edits below; its own key", EDITS.len());
        outcome.refused(what, "signature", &honest, Answer::weakest("signature", own)?);
        for (what, check, edit) in EDITS {
            let inside = checked(&insider.reissue(certificate, edit)?);
            outcome.refused(format!("{what}; the victim's key"), check, &honest, inside);
        }
        uncertified(&mut outcome)?;
        request(&mut outcome, &victim, &insider)?;
        subjects(&mut outcome, &victim, &insider)?;
        unseen(&mut outcome, &victim, &insider)?;
        Ok(outcome)
    }
}

/// A release whose noise somebody can predict says so, and is not valid until it no longer does.
fn uncertified(outcome: &mut Outcome) -> anyhow::Result<()> {
    let victim = Victim::new()?;
    let honest = victim.stranger(&victim.second.certificate, None);
    let insider = BreakIn::new(&victim.path())?.insider()?;
    let predictable = insider.reissue(&victim.second.certificate, |c| c.certified = false)?;
    outcome.refused(
        "passes on a release whose noise came from a fixed seed, and which says so",
        "certified",
        &honest,
        victim.stranger(&predictable, None),
    );
    let flipped = edited(&predictable, |c| c.certified = true)?;
    outcome.refused("flips `certified` to true; no key", "signature", &honest, victim.stranger(&flipped, None));
    let flipped = insider.reissue(&predictable, |c| c.certified = true)?;
    outcome.add(
        "flips `certified` to true; the victim's key",
        Expected::Limit("how noise was drawn leaves no trace: it is the operator's word"),
        &honest,
        victim.stranger(&flipped, None),
    );
    Ok(())
}

/// What became of a request, told otherwise.
fn request(outcome: &mut Outcome, victim: &Victim, insider: &Issuer) -> anyhow::Result<()> {
    let honest = victim.stranger(&victim.request, None);
    let edits: [RequestEdit; 3] = [
        ("says of a request that it was for ten rows", |c| c.request.n_rows = 10),
        ("says that it was another request", |c| c.request.id = "ticket-99".into()),
        ("says that it is covered, and by no release", |c| c.release = None),
    ];
    for (what, edit) in edits {
        let Statement { subject, mut predicate, .. } = any_statement_of::<RequestAnswer>(&victim.request)?;
        let position = predicate.request.position;
        edit(&mut predicate);
        let lied = insider.issue_showing(subject, predicate, &[position])?;
        outcome.refused(format!("{what}; the victim's key"), "request", &honest, victim.stranger(&lied, None));
    }
    Ok(())
}

const HALF_FORGOTTEN: fn(&mut ReleaseCertificate) = |c| {
    c.spent_before.distances *= 0.5;
    c.spent_before.distance_squares *= 0.25;
};

/// What an insider can say without contradicting itself.
fn unseen(outcome: &mut Outcome, victim: &Victim, insider: &Issuer) -> anyhow::Result<()> {
    let certificate = &victim.second.certificate;
    let honest = victim.stranger(certificate, None);
    let lies: [Edit; 2] = [
        (
            "raises the number of rows removed over the model's life; the victim's key",
            "one certificate does not say how many rows were removed before the release before: add up those of all releases",
            |c| c.n_removed += 100,
        ),
        (
            "forgets half of what earlier releases spent, consistently; the victim's key",
            "the answer says that what release 1 spent was not verified; its certificate shows it: `--previous`, below",
            HALF_FORGOTTEN,
        ),
    ];
    let directory = verify_directory(&victim.path(), false)?;
    for (index, (what, why, edit)) in lies.into_iter().enumerate() {
        let lied = insider.reissue(certificate, edit)?;
        outcome.add(what, Expected::Limit(why), &honest, victim.stranger(&lied, None));
        let path = victim.copy(&format!("lied-{index}"))?;
        BreakIn::new(&path)?.replace(2, "certificate.json", &lied)?;
        let found = verify_directory(&path, false)?;
        outcome.refused(format!("{what}, in the directory; `efface verify DIR`"), "release", &directory, found);
    }
    let beside = |certificate: &[u8]| -> Answer {
        let previous: &[&[u8]] = &[&victim.first.certificate];
        verify(certificate, &Evidence { previous, ..victim.evidence() }).into()
    };
    outcome.refused(
        "shows that to somebody who has the certificate before; `efface verify --previous`",
        "previous",
        &beside(certificate),
        beside(&insider.reissue(certificate, HALF_FORGOTTEN)?),
    );
    outcome.refused(
        "cuts the chain as well: names no certificate before it",
        "previous",
        &beside(certificate),
        beside(&insider.reissue(certificate, |c| {
            HALF_FORGOTTEN(c);
            c.since_previous.certificate = None;
        })?),
    );
    Ok(())
}

/// One certificate for two files, or for none.
fn subjects(outcome: &mut Outcome, victim: &Victim, insider: &Issuer) -> anyhow::Result<()> {
    let (certificate, model) = (&victim.second.certificate, Some(&*victim.second.model));
    let honest = victim.stranger(certificate, model);
    let Statement { subject, predicate, .. } = statement_of(certificate)?;
    let hidden = Subject::new("model.json", Sha256::digest(&victim.first.model).into());
    let two = insider.issue(subject.into_iter().chain([hidden]).collect(), predicate.clone())?;
    outcome.refused(
        "certifies the model of release 1 along with that of release 2; the victim's key",
        "subject",
        &honest,
        victim.stranger(&two, model),
    );
    let none = insider.issue(Vec::new(), predicate)?;
    outcome.refused("certifies no file at all; the victim's key", "subject", &honest, victim.stranger(&none, None));
    Ok(())
}
