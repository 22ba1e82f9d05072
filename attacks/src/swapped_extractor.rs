//! A private network that is not the one of its statement, that cost more than is said, or that more rows leave than it covers.

use std::fs;
use std::path::Path;

use efface_core::accounting::Extractor;
use efface_core::model::{Excess, Outcome as ChangeOutcome};
use efface_core::noise::NoiseSource;
use efface_data::{Columns, open_table};
use efface_engine::{ModelDirectory, Place, PublishedModel, ReleaseAnswer, RowSource};
use efface_ledger::certificate::{FeatureMap, ReleaseCertificate};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::break_in::BreakIn;
use crate::forgery::edited;
use crate::outcome::Expected;
use crate::pictures::{GROUP, Pictures, share_of};
use crate::victim::{Victim, copy, make, rows};
use crate::{Answer, Attack, Outcome};

pub(crate) struct SwappedExtractor;

/// What is edited in a certificate, by which check it is refused when the signature is in order, and how.
type Edit = (&'static str, &'static str, fn(&mut ReleaseCertificate));

const EDITS: [Edit; 11] = [
    ("lowers what the network costs per row", "features", |c| share(c).epsilon /= 2.0),
    ("lowers its δ per row", "features", |c| share(c).delta /= 1e3),
    ("takes its share out of the promise", "features", |c| c.extractor = None),
    ("puts a statement with half the noise there, at the same cost", "features", |c| {
        stated(c)["noise_multiplier"] = 4.0.into();
        stated(c)["epsilon"] = Value::Null;
    }),
    ("puts the statement of another file there", "features", |c| stated(c)["digest"] = "0".repeat(64).into()),
    ("leaves the statement out", "features", |c| network(c).statement = None),
    ("names another file", "features", |c| {
        network(c).parameters["onnx"] = "0".repeat(64).into();
        network(c).sha256 = network(c).spec().map_or_else(String::new, |spec| hex::encode(spec.digest()));
    }),
    ("calls the network fixed before any row was seen", "features", |c| network(c).origin = "fixed".into()),
    ("raises the group, at the same cost", "epsilon", |c| share(c).group *= 10),
    ("has more rows leave than the group", "epsilon", |c| c.n_removed += GROUP),
    ("says nothing of whose word it is", "labels", |c| c.outside_scope.retain(|scope| scope != "declared-networks")),
];

impl Attack for SwappedExtractor {
    fn name(&self) -> &'static str {
        "swapped-extractor"
    }

    fn story(&self) -> &'static str {
        "Features come from a network that was trained on the rows with differential privacy. What that costs is in the\n  \
         promise, for three rows that leave. The attacker, an operator with the key at the end, swaps the network, says that\n  \
         it cost less, or wants to go on when a fourth row has left."
    }

    fn run(&self) -> anyhow::Result<Outcome> {
        let pictures = Pictures::new()?;
        let mut outcome = Outcome::default();
        swapped(&mut outcome, &pictures)?;
        understated(&mut outcome, &pictures)?;
        beyond_the_group(&mut outcome, &pictures)?;
        begun_anew(&mut outcome, &pictures)?;
        Ok(outcome)
    }
}

fn swapped(outcome: &mut Outcome, pictures: &Pictures) -> anyhow::Result<()> {
    let (victim, other) = (pictures.victim(None)?, pictures.network("other"));
    let schema = || pictures.schema("first", Some("first"));
    let digest = schema()?.private_network().map_or_else(String::new, |(_, stated)| stated.fields().digest.clone());
    let file = format!("{digest}.onnx");
    let added = |path: &Path| -> anyhow::Result<Answer> {
        let Columns { label, id, .. } = pictures.columns("more");
        let (data, label, id) = (pictures.path("more.npy"), label.as_deref(), id.as_deref());
        let mut model = ModelDirectory::open(path)?;
        Ok(Answer::of_engine(model.add(&RowSource { label, id, ..RowSource::of(data) })))
    };
    let path = victim.copy("swapped")?;
    fs::copy(&other, path.join("networks").join(&file))?;
    let what = "puts another network in its place in the model directory, and adds a row";
    outcome.refused(what, "unreadable", &added(&victim.copy("honest")?)?, added(&path)?);

    let published = pictures.path("published");
    fs::create_dir(&published)?;
    fs::write(published.join("model.json"), &victim.second.model)?;
    let predicted = |network: &Path| -> anyhow::Result<Answer> {
        fs::copy(network, published.join(&file))?;
        let model = PublishedModel::open(&published)?;
        let opened = open_table(pictures.path("more.npy"), &model.columns(None, None), model.schema.as_ref());
        Ok(Answer::of_engine(opened))
    };
    let honest = predicted(&pictures.network("first"))?;
    outcome.refused("puts it beside the published model, and predicts", "unreadable", &honest, predicted(&other)?);

    let what = "names another network in the schema than the statement does";
    let tampered = Answer::of_engine(pictures.schema("other", Some("first")));
    outcome.refused(what, "bad-schema", &Answer::of_engine(schema()), tampered);

    fs::copy(pictures.network("first"), pictures.network("swapped"))?;
    let read = || pictures.schema("swapped", Some("first"));
    let honest = Answer::of_engine(pictures.train(read()?, "all", pictures.place("trained")));
    let before = read()?;
    fs::copy(&other, pictures.network("swapped"))?;
    let tampered = Answer::of_engine(pictures.train(before, "all", pictures.place("never")));
    outcome.refused("swaps the file when the schema has been read", "unreadable", &honest, tampered);
    Ok(())
}

fn understated(outcome: &mut Outcome, pictures: &Pictures) -> anyhow::Result<()> {
    let schema = || pictures.schema("first", Some("first"));
    pictures.edit_statement("modest", |stated| stated["epsilon"] = 1e-3.into())?;
    let (honest, tampered) = (Answer::of_engine(schema()), Answer::of_engine(pictures.schema("first", Some("modest"))));
    outcome.refused("states a smaller ε than its noise and steps prove", "bad-schema", &honest, tampered);

    let trained = |factor: f64, out: &str| -> anyhow::Result<Answer> {
        let schema = schema()?;
        let lowered = share_of(&schema).map(|share| Extractor { epsilon: factor * share.epsilon, ..share });
        let (data, columns) = (pictures.path("all.npy"), pictures.columns("all"));
        Ok(Answer::of_engine(make(&data, columns, Some(schema), lowered, pictures.place(out))))
    };
    outcome.refused(
        "promises less than the statement proves",
        "extractor-share",
        &trained(1.0, "promised")?,
        trained(0.5, "promised-too-little")?,
    );

    let victim = pictures.victim(None)?;
    let (certificate, model) = (&victim.second.certificate, Some(&*victim.second.model));
    let honest = victim.stranger(certificate, model);
    let insider = BreakIn::new(&victim.path())?.insider()?;
    let unsigned = EDITS.iter().map(|(_, _, edit)| Ok(victim.stranger(&edited(certificate, *edit)?, model)));
    let what = format!("makes each of the {} edits below in a certificate; no key", EDITS.len());
    outcome.refused(what, "signature", &honest, Answer::weakest("signature", unsigned)?);
    for (what, check, edit) in EDITS {
        let inside = victim.stranger(&insider.reissue(certificate, edit)?, model);
        outcome.refused(format!("{what}; the victim's key"), check, &honest, inside);
    }

    pictures.edit_statement("lie", |stated| stated["noise_multiplier"] = 16.0.into())?;
    let lies = [
        ("states twice the noise that it trained with", pictures.schema("first", Some("lie"))?),
        ("calls the network public, without a statement", pictures.schema("first", None)?),
    ];
    for (what, schema) in lies {
        let liar = Victim::trained_by(|out| {
            pictures.train(schema, "all", Place { out: out.into(), ..Place::default() })?;
            Ok(())
        })?;
        outcome.add(
            what,
            Expected::Limit(
                "how a network was trained is its maker's word: certificates list `declared-networks`, outside their scope",
            ),
            &honest,
            liar.stranger(&liar.second.certificate, Some(&liar.second.model)),
        );
    }
    Ok(())
}

fn beyond_the_group(outcome: &mut Outcome, pictures: &Pictures) -> anyhow::Result<()> {
    let victim = pictures.victim(None)?;
    let (honest, beyond) = (victim.copy("honest")?, victim.copy("beyond")?);
    let left = (removed(&honest, &[4, 5])?, removed(&beyond, &[4, 5, 6])?);
    outcome.refused("has a fourth row leave", "retrain-required", &left.0, left.1);
    let honest = released(&honest)?;
    outcome.refused("releases all the same", "extractor-exhausted", &honest, released(&beyond)?);
    let mut model = ModelDirectory::open(&beyond)?;
    model.retrain(&mut NoiseSource::from_system()?, &mut |_| {})?;
    model.close()?;
    outcome.refused(
        "trains the model again behind the same network, and releases",
        "extractor-exhausted",
        &honest,
        released(&beyond)?,
    );
    BreakIn::new(&beyond)?.forget_who_left()?;
    outcome.refused(
        "writes into state and database that nobody has left, and releases",
        "not-signed",
        &honest,
        released(&beyond)?,
    );
    let backup = victim.copy("backup")?;
    removed(&backup, &[7, 8])?;
    outcome.add(
        "goes on with a backup of the whole directory from before they left; no witness",
        Expected::Limit("nothing in an old directory tells that it is old: `--witness` does, below"),
        &honest,
        released(&backup)?,
    );
    Ok(())
}

/// Ways to reset the count of a directory with a witness.
fn begun_anew(outcome: &mut Outcome, pictures: &Pictures) -> anyhow::Result<()> {
    let witness = pictures.path("witness");
    let victim = pictures.victim(Some(&witness))?;
    let honest = released(&victim.path())?;
    let backup = victim.copy("backup")?;
    removed(&victim.path(), &[4, 5, 6])?;
    fs::remove_dir_all(victim.path())?;
    copy(&backup, &victim.path())?;
    outcome.refused(
        "goes on with a backup of the whole directory from before they left; with a witness",
        "extractor-exhausted",
        &honest,
        released(&victim.path())?,
    );
    let trained = |network: &str, out: &str| -> anyhow::Result<Answer> {
        let place = Place { witness: Some(witness.clone()), ..pictures.place(out) };
        Ok(Answer::of_engine(pictures.train(pictures.schema(network, Some(network))?, "rest", place)))
    };
    let again = trained("first", "again")?;
    let honest = trained("other", "other-model")?;
    let what = "trains another model behind the same network, on the rows that are left";
    outcome.refused(what, "extractor-exhausted", &honest, again);
    let what = "does so after a model behind another network, to which the witness belongs by then";
    outcome.refused(what, "extractor-exhausted", &honest, trained("first", "and-again")?);
    // A remark in the file: it computes the same, and has another digest.
    let remarked = [&fs::read(pictures.network("first"))?[..], b"\x32\x01."].concat();
    fs::write(pictures.network("remarked"), &remarked)?;
    pictures.edit_statement("remarked", |stated| stated["digest"] = hex::encode(Sha256::digest(&remarked)).into())?;
    outcome.add(
        "does so with a remark in the file, and its new digest in the statement",
        Expected::Limit(
            "a network is known by the digest of its file: that two files are of one training is their maker's word",
        ),
        &honest,
        trained("remarked", "remarked-model")?,
    );
    Ok(())
}

fn share(c: &mut ReleaseCertificate) -> &mut Extractor {
    c.extractor.get_or_insert(Extractor::per_row(0.0, 0.0))
}

fn network(c: &mut ReleaseCertificate) -> &mut FeatureMap {
    &mut c.feature_maps[0]
}

fn stated(c: &mut ReleaseCertificate) -> &mut Value {
    network(c).statement.get_or_insert(Value::Null)
}

/// What the engine answers to a removal.
fn removed(path: &Path, numbers: &[usize]) -> anyhow::Result<Answer> {
    let mut model = ModelDirectory::open(path)?;
    let outcome = model.remove(&rows(numbers), None)?.outcome;
    model.close()?;
    Ok(match outcome {
        ChangeOutcome::Done => Answer::accepted("removed"),
        ChangeOutcome::RetrainRequired => {
            Answer::refused("retrain-required", "removed, and the network does not cover it")
        }
    })
}

/// What it answers to a release.
fn released(path: &Path) -> anyhow::Result<Answer> {
    let mut model = ModelDirectory::open(path)?;
    Ok(match model.release(&mut NoiseSource::from_system()?, None) {
        Ok(ReleaseAnswer::Published(_)) => Answer::accepted("published"),
        Ok(ReleaseAnswer::Refused(refused)) => {
            let told = |excess: Excess| format!("{} rows have left, and {} are covered", excess.found, excess.limit);
            Answer::refused(refused.outcome.tag(), refused.excess.map_or_else(String::new, told))
        }
        Ok(ReleaseAnswer::HeldBack(held)) => Answer::refused("held-back", format!("{held:?}")),
        Err(error) => Answer::refused(error.code(), error.to_string()),
    })
}
