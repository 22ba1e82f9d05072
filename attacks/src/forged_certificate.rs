//! A certificate that the victim never issued, for a model that the victim never published.

use efface_ledger::certificate::ReleaseCertificate;
use efface_ledger::key::PublicKey;
use efface_ledger::statement::{Statement, Subject};
use efface_ledger::verify::{Evidence, verify};
use sha2::{Digest, Sha256};

use crate::forgery::{Issuer, Parts, statement_of};
use crate::victim::Victim;
use crate::{Answer, Attack, Outcome};

pub(crate) struct ForgedCertificate;

impl Attack for ForgedCertificate {
    fn name(&self) -> &'static str {
        "forged-certificate"
    }

    fn story(&self) -> &'static str {
        "The attacker has the victim's published files and public key, and a model of its own that it wants to pass off as\n  \
         certified by the victim. It makes a key of the same name, and a log of its own."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let victim = Victim::new()?;
        let genuine = &victim.second;
        let honest = victim.stranger(&genuine.certificate, Some(&genuine.model));
        let own_model =
            String::from_utf8(genuine.model.clone())?.replace("\"release\": 2", "\"release\": 3").into_bytes();
        let attacker = Issuer::stranger(victim.key.name())?;
        let subject = || vec![Subject::new("model.json", Sha256::digest(&own_model).into())];
        let predicate = statement_of(&genuine.certificate)?.predicate;
        let mut outcome = Outcome::default();

        let mut named = predicate.clone();
        named.issue.key_id = attacker.key.public().id();
        let own = attacker.issue(subject(), named)?;
        outcome.refused(
            "signs a certificate for its own model with its own key, which has the victim's name",
            "signature",
            &honest,
            victim.stranger(&own, Some(&own_model)),
        );

        let disguised = Parts::of(&attacker.issue(subject(), predicate.clone())?)?.with_key_id(victim.key.id());
        outcome.refused(
            "writes the id of the victim's key over its own signature",
            "signature",
            &honest,
            victim.stranger(&disguised.to_file()?, Some(&own_model)),
        );

        let genuine_log = Parts::of(&genuine.certificate)?.log;
        let borrowed = disguised.with_log(genuine_log);
        outcome.refused(
            "borrows the proof and the signed checkpoint of a genuine certificate",
            "log",
            &honest,
            victim.stranger(&borrowed.to_file()?, Some(&own_model)),
        );

        let statement = Statement::new(subject(), ReleaseCertificate::TYPE, predicate);
        let transplanted = Parts::of(&genuine.certificate)?.with_payload(&statement)?;
        outcome.refused(
            "puts its model under a genuine signature",
            "signature",
            &honest,
            victim.stranger(&transplanted.to_file()?, Some(&own_model)),
        );

        let nobody = Evidence { model: Some(&own_model), ..Evidence::default() };
        outcome.refused("hopes that nobody asks for a key at all", "signature", &honest, verify(&own, &nobody).into());

        // A public key is `name+hash+key`: the hash is over both.
        let (genuine_line, own_line) = (victim.key.to_string(), attacker.key.public().to_string());
        let hash = |line: &str| line.split('+').nth(1).unwrap_or_default().to_owned();
        let relabelled = own_line.replacen(&hash(&own_line), &hash(&genuine_line), 1);
        outcome.refused(
            "passes its public key on under the name and the hash of the victim's",
            "key",
            &Answer::of("key", genuine_line.parse::<PublicKey>()),
            Answer::of("key", relabelled.parse::<PublicKey>()),
        );
        Ok(outcome)
    }
}
