//! Checking a whole directory, inside the trust boundary: the log from its entries, every release against the log and its
//! files, and, on demand, the claim of the secret state against the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use std::time::Instant;

use efface_core::model::Measured;
use efface_core::rows::{RowBlocks, RowStore};
use efface_data::{IdDigest, Schema};
use efface_ledger::checkpoint::Checkpoint;
use efface_ledger::entry::{Entry, Event};
use efface_ledger::envelope::Envelope;
use efface_ledger::key::PublicKey;
use efface_ledger::merkle::{self, Hash};
use efface_ledger::verify::{Check, CheckName, CheckOutcome, Evidence, Verdict, Verification, verify};
use serde::Serialize;

use super::certify::sha256;
use super::database::Database;
use super::files::{self, CERTIFICATE_FILE, DATABASE, MODEL_FILE, RELEASES, REVOCATION_FILE};
use super::{ModelDirectory, removed_list, witness};
use crate::error::EngineError;

/// What was found in a directory.
#[derive(Clone, Debug, Serialize)]
pub struct DirectoryReport {
    /// What is to be thought of it.
    pub verdict: Verdict,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// Entries of the log.
    pub log_size: u64,
    /// What the secret state claims.
    pub gradient_residual: f64,
    /// What one pass over the rows gives, with a bound on its own rounding; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_gradient_residual: Option<f64>,
    /// Time of the whole call.
    pub seconds: f64,
}

struct Log {
    check: Check,
    /// SHA-256 of the payload of each release's certificate.
    releases: BTreeMap<usize, String>,
    /// The same of each withdrawal.
    revocations: BTreeMap<usize, String>,
}

impl ModelDirectory {
    /// Checks the log and every release, and with `replay` also what the secret state claims, in one pass over the rows.
    pub fn verify(&self, replay: bool) -> Result<DirectoryReport, EngineError> {
        let start = Instant::now();
        let key = self.public_key()?;
        let path = &self.keeper.path;
        // Beside the log, which takes longer.
        let (log, database) = thread::scope(|scope| {
            let database = scope.spawn(|| check_database(path));
            let log = self.check_log();
            (log, database.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let Log { check, releases, revocations } = log?;
        let mut checks = vec![database?, self.check_rows()?, self.check_removed()?, self.check_key(&key), check];
        checks.extend(self.check_networks());
        for release in 1..=self.keeper.head.account.n_releases {
            checks.push(self.check_release(release, releases.get(&release), &key)?);
            checks.extend(self.check_revocation(release, revocations.get(&release), &key)?);
        }
        let claim = self.model.claim();
        let mut measured = None;
        if replay && checks.iter().any(|check| check.check == CheckName::Rows && check.outcome == CheckOutcome::Failed)
        {
            checks.push(Check::not_checked(CheckName::Replay, "the residual cannot be measured on damaged rows"));
        } else if replay {
            let found = self.model.measure(&self.rows)?;
            checks.push(compare(&found, claim.gradient_residual.get()));
            measured = Some(found.claim.gradient_residual.get());
        } else {
            checks.push(Check::not_checked(CheckName::Replay, "the residual was not measured"));
        }
        let Verification { verdict, checks } = Verification::of(checks);
        Ok(DirectoryReport {
            verdict,
            checks,
            log_size: self.keeper.head.ledger.size,
            gradient_residual: claim.gradient_residual.get(),
            measured_gradient_residual: measured,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The networks that made the features are there for the next rows, too.
    fn check_networks(&self) -> Option<Check> {
        let schema = self.settings.clone().with_networks_in(&self.keeper.path).schema.filter(Schema::has_networks)?;
        Some(match schema.check_networks() {
            Ok(()) => {
                Check::passed(CheckName::Features, "the files of the networks are those that are named".to_owned())
            }
            Err(error) => Check::failed(CheckName::Features, error.to_string()),
        })
    }

    /// Every row present has the checksum that it was written with and is found under its own id, and every row that left is
    /// zeros.
    fn check_rows(&self) -> Result<Check, EngineError> {
        let failed = |message| Ok(Check::failed(CheckName::Rows, message));
        if let [first, others @ ..] = &self.rows.damaged()?[..] {
            let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
            return failed(format!("the row at position {first} is damaged{more}"));
        }
        let mut strangers = Vec::new();
        for index in 0..self.rows.n_blocks() {
            let first = index * self.rows.layout().block_rows;
            let known = self.keeper.database.ids_from(first, self.rows.layout().block_rows)?;
            self.rows.visit_block(index, &mut |block| {
                for (row, selector) in block.selectors.iter().enumerate() {
                    let expected = known.get(&(first + row)).map(|id| id.selector());
                    if expected != block.present[row].then_some(*selector) {
                        strangers.push(first + row);
                    }
                }
            })?;
        }
        if let Some(position) = strangers.first() {
            return failed(format!("the row at position {position} is not the one that is looked up there"));
        }
        let purged = self.overwritten()?;
        let n_written = self.rows.count_written(&purged)?;
        if n_written > 0 {
            return failed(format!("{n_written} of {} removed rows are not overwritten", purged.len()));
        }
        let n_rows = self.rows.n_rows();
        Ok(Check::passed(
            CheckName::Rows,
            format!("{n_rows} rows are what was written, {} are overwritten", purged.len()),
        ))
    }

    /// Beside the state and in the witness stands who was removed, for the day when the database is lost.
    fn check_removed(&self) -> Result<Check, EngineError> {
        let database = &self.keeper.database;
        let known: BTreeSet<IdDigest> = database.suppressed_after(0)?.into_iter().collect();
        let listed = known.iter().take(self.keeper.head.n_listed).count();
        let mut copies = vec![("state/removed".to_owned(), removed_list::read(&self.keeper.path), listed)];
        if let Some(path) = database.witness()? {
            copies.push((format!("the witness {}", path.display()), witness::removed_in(&path), known.len()));
        }
        for (name, found, expected) in copies {
            let wrong = match found {
                Err(error) => Some(error.to_string()),
                Ok(found) if !found.is_subset(&known) => {
                    Some(format!("{name} knows of removals that the database does not"))
                }
                Ok(found) if found.len() < expected => {
                    Some(format!("{name} has {} of {expected} removed ids and people", found.len()))
                }
                Ok(_) => None,
            };
            if let Some(message) = wrong {
                return Ok(Check::failed(CheckName::Removed, message));
            }
        }
        let n_known = known.len();
        Ok(Check::passed(
            CheckName::Removed,
            format!("{n_known} removed ids and people are known outside the database too"),
        ))
    }

    /// The key is the one that the log names.
    fn check_key(&self, key: &PublicKey) -> Check {
        let (found, expected) = (key.id(), &self.keeper.head.ledger.key_id);
        let other = || format!("the public key beside the private one is {found}, the log names {expected}");
        let signed = (found == *expected).then(|| format!("signed by {} ({found})", key.name()));
        Check::of(CheckName::Signature, signed.ok_or_else(other))
    }

    /// The log's hashes follow from its entries, and there are as many as the head says; the changes in it follow each
    /// other and end with the latest one.
    fn check_log(&self) -> Result<Log, EngineError> {
        let ledger = &self.keeper.head.ledger;
        let mut hashes: Vec<Hash> = Vec::new();
        let (mut size, mut in_order) = (0, true);
        let (mut began, mut latest) = (None, None);
        let (mut releases, mut revocations) = (BTreeMap::new(), BTreeMap::new());
        self.keeper.database.visit_leaves(&ledger.log, |position, leaf| {
            in_order &= position == size;
            hashes.extend(merkle::append(&hashes, size, merkle::leaf_hash(leaf.as_bytes())).unwrap_or_default());
            size += 1;
            match Entry::from_leaf(leaf).map(|entry| entry.event) {
                Some(Event::Release { release, certificate }) => drop(releases.insert(release, certificate)),
                Some(Event::Revocation { release, certificate }) => drop(revocations.insert(release, certificate)),
                Some(Event::Start { changes, .. } | Event::Restart { changes, .. }) => {
                    (began, latest) = (Some(changes), Some(changes));
                }
                // Changes that no release covered yet are carried over from an earlier log.
                Some(event) if latest == began && event.change() <= began => {}
                Some(event) => {
                    let follows = |change: u64| latest.is_none_or(|latest: u64| latest.checked_add(1) == Some(change));
                    in_order &= event.change().is_none_or(follows);
                    latest = event.change().or(latest);
                }
                None => {}
            }
        })?;
        let head = &self.keeper.head;
        let (n_changes, n_releases) = (head.history.n_changes, head.account.n_releases);
        let latest_release = releases.last_key_value().map_or(0, |(release, _)| *release);
        let found = if !in_order || size != ledger.size {
            Err(format!("the log has {size} entries in the place of {}: some were taken out", ledger.size))
        } else if let Some(latest) = latest.filter(|latest| *latest != n_changes) {
            Err(format!("the log ends with change {latest} of {n_changes}: some were taken out"))
        } else if latest_release > n_releases {
            Err(format!("the log knows release {latest_release}, and what {n_releases} releases spent is counted"))
        } else {
            // All of them, and not the root alone: later roots and proofs are made of the others too.
            let (mut n_hashes, mut fit) = (0, true);
            self.keeper.database.visit_hashes(&ledger.log, |position, hash| {
                fit &= hashes.get(position as usize) == Some(&hash);
                n_hashes += 1;
            })?;
            let fit = fit && n_hashes == hashes.len();
            let rewritten = || "the log's entries do not lead to its root: it was rewritten".into();
            fit.then(|| format!("{size} entries lead to the root of the log")).ok_or_else(rewritten)
        };
        Ok(Log { check: Check::of(CheckName::Log, found), releases, revocations })
    }

    /// The files of a release: its certificate as a stranger would check it, and the log as the certificate knows it.
    /// `logged` is the certificate that the log names.
    fn check_release(&self, release: usize, logged: Option<&String>, key: &PublicKey) -> Result<Check, EngineError> {
        let (certificate, model) = (self.file_of(release, CERTIFICATE_FILE)?, self.file_of(release, MODEL_FILE)?);
        let failed = |message: String| Ok(Check::failed(CheckName::Release, format!("release {release}: {message}")));
        let noted = self.keeper.database.release(release)?.and_then(|entry| entry.certificate);
        // The log decides: it cannot be edited unseen, the table can.
        let issued = logged.or(noted.as_ref());
        let (certificate, model) = match (certificate, model) {
            (Some(certificate), Some(model)) => (certificate, model),
            (None, Some(_)) if issued.is_some() => return failed("its model is there without its certificate".into()),
            _ => {
                let message = format!("release {release}: its files are not there any more");
                return Ok(Check::not_checked(CheckName::Release, message));
            }
        };
        let envelope = match issued_as(&certificate, issued, "certificate") {
            Ok(envelope) => envelope,
            Err(error) => return failed(error),
        };
        // What an earlier key signed cannot be verified; what it says of its file and its issuer can.
        let is_current = envelope.key_id() == key.id();
        let evidence = Evidence { key: is_current.then_some(key), model: Some(&model), ..Evidence::default() };
        let wrong = verify(&certificate, &evidence).checks.into_iter().find(|check| {
            matches!(check.outcome, CheckOutcome::Failed | CheckOutcome::Unsupported)
                && check.check != CheckName::Certified
        });
        if let Some(check) = wrong {
            return Ok(Check {
                check: CheckName::Release,
                message: format!("release {release}: {}", check.message),
                ..check
            });
        }
        if !is_current {
            let message = format!(
                "release {release} was signed by an earlier key ({}): certificate and model belong together",
                envelope.key_id()
            );
            return Ok(Check::not_checked(CheckName::Release, message));
        }
        self.check_checkpoint(release, &envelope, key)
    }

    /// A release that was withdrawn still says so where `predict` looks for it. `logged` is the withdrawal that the log
    /// names.
    fn check_revocation(
        &self,
        release: usize,
        logged: Option<&String>,
        key: &PublicKey,
    ) -> Result<Option<Check>, EngineError> {
        if logged.is_none() && !self.keeper.head.ledger.revoked.contains(&release) {
            return Ok(None);
        }
        let failed =
            |message: String| Ok(Some(Check::failed(CheckName::Revocation, format!("release {release}{message}"))));
        let passed =
            |message: &str| Ok(Some(Check::passed(CheckName::Revocation, format!("release {release} {message}"))));
        let Some(text) = self.file_of(release, REVOCATION_FILE)? else {
            return match self.file_of(release, MODEL_FILE)? {
                None => passed("is withdrawn and gone"),
                Some(_) => failed(" was withdrawn, and its withdrawal is gone: predict would use it".into()),
            };
        };
        let envelope = match issued_as(&text, logged, "withdrawal") {
            Ok(envelope) => envelope,
            Err(error) => return failed(format!(": {error}")),
        };
        let is_current = envelope.key_id() == key.id();
        let evidence = Evidence { key: is_current.then_some(key), ..Evidence::default() };
        match verify(&text, &evidence).checks.into_iter().find(|check| check.outcome == CheckOutcome::Failed) {
            Some(check) => failed(format!(": its withdrawal: {}", check.message)),
            None => passed("is withdrawn"),
        }
    }

    fn file_of(&self, release: usize, name: &str) -> Result<Option<Vec<u8>>, EngineError> {
        let path = self.keeper.path.join(RELEASES).join(release.to_string()).join(name);
        files::if_there(fs::read(&path), &path)
    }

    /// The log still is the one that the certificate's checkpoint speaks of.
    fn check_checkpoint(&self, release: usize, envelope: &Envelope, key: &PublicKey) -> Result<Check, EngineError> {
        let failed = |message: String| Ok(Check::failed(CheckName::Release, format!("release {release}{message}")));
        let Some(log) = envelope.log() else { return failed(": its certificate has no place in the log".into()) };
        let Ok(checkpoint) = Checkpoint::open(&log.checkpoint, key, &self.keeper.origin()) else {
            let message = format!("release {release} is in an earlier log, of which entries were lost");
            return Ok(Check::not_checked(CheckName::Release, message));
        };
        let (found, limit) = (self.keeper.head.ledger.size, checkpoint.size);
        if limit > found {
            return failed(format!(" is in a log of {limit} entries, there are {found}: the log was cut"));
        }
        if self.keeper.ask_hashes(|stored| merkle::root(stored, limit))? != checkpoint.root {
            return failed(": the log up to it was rewritten".into());
        }
        Ok(Check::passed(CheckName::Release, format!("release {release}: certificate, model and log belong together")))
    }
}

/// Every page of the database is what was written, those that nothing has read yet among them, and the tables fit their
/// indexes. By a connection of its own: nobody changes the database meanwhile.
fn check_database(directory: &Path) -> Result<Check, EngineError> {
    let path = directory.join(DATABASE);
    let damaged = efface_pages::damaged_pages(&path).map_err(EngineError::io(&path))?;
    let named = match damaged.first() {
        Some(page) => Some(format!("page {page} of {DATABASE} is damaged")),
        None => Database::open_still(directory)?.inconsistency()?.map(|found| format!("{DATABASE}: {found}")),
    };
    Ok(Check::of(CheckName::Database, named.map_or(Ok("every page is what was written".into()), Err)))
}

/// A document of a release, if it is the one that was issued.
fn issued_as(text: &[u8], issued: Option<&String>, what: &str) -> Result<Envelope, String> {
    let envelope = Envelope::parse(text).map_err(|error| format!("its {what} cannot be read: {error}"))?;
    let is_other = issued.is_some_and(|issued| hex::encode(sha256(envelope.unverified_payload())) != *issued);
    if is_other { Err(format!("its {what} is not the one that was issued")) } else { Ok(envelope) }
}

/// A claim is wrong when it is below what was measured, rounding errors of the measurement taken off.
fn compare(measured: &Measured, claimed: f64) -> Check {
    let (least, most) = (measured.residual_at_least.get(), measured.claim.gradient_residual.get());
    let holds = format!("the residual on the rows is at most {most:e}, claimed is {claimed:e}");
    let wrong = || format!("the residual on the rows is at least {least:e}, but only {claimed:e} is claimed");
    Check::of(CheckName::Replay, (least <= claimed).then_some(holds).ok_or_else(wrong))
}
