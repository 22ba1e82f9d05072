//! What can be typed about keys, certificates, the log, and when releases are made.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use efface_engine::ReleasePolicy;

use super::store::{LAST, ModelArgs, StoreArgs};

#[derive(Args)]
pub(crate) struct PolicyArgs {
    /// Make a release only when so many people's rows have left or changed since the one before (whoever keeps both
    /// models learns about all of them together).
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) min_removals: Option<u64>,
    /// Make a release only when so much time has passed since the one before: `30d`, `12h`. With --min-removals,
    /// whichever comes first.
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    pub(crate) release_every: Option<Duration>,
}

impl PolicyArgs {
    pub(crate) fn policy(&self) -> ReleasePolicy {
        ReleasePolicy {
            min_removals: self.min_removals.map(|least| usize::try_from(least).unwrap_or(usize::MAX)),
            every_seconds: self.release_every.map(|every| every.as_secs()),
        }
    }
}

/// A time as people write it: `30d`, `12h`, `1h 30m`.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if interval.as_secs() > 0 { Ok(interval) } else { Err("must be at least 1 second".into()) }
}

#[derive(Args)]
pub(crate) struct NewKeyArgs {
    /// The key that signs certificates, made by `efface key new`; remembered [default: one of the model's own].
    #[arg(long, value_name = "FILE", display_order = LAST)]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SigningArgs {
    #[command(flatten)]
    pub(crate) directory: ModelArgs,
    #[command(flatten)]
    pub(crate) new: NewKeyArgs,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,
}

#[derive(Args)]
pub(crate) struct PassphraseArgs {
    /// File whose first line is the passphrase of the key [default: the environment variable EFFACE_PASSPHRASE, or none].
    #[arg(long, value_name = "FILE", display_order = LAST)]
    pub(crate) passphrase_file: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface key new operator.key --name example.org/efface
  efface key new operator.key --passphrase-file passphrase.txt
  efface key show operator.key          (the public key, to be given to whoever checks certificates)
  efface key show churn.efface          (of the key that signs for this model)")]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key pair: FILE for its owner alone, FILE.pub for everybody.
    New(NewKeyPairArgs),
    /// Print the public key of a key file or of a model.
    Show {
        /// A private key, a public key, or a model directory.
        path: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct NewKeyPairArgs {
    /// Where the private key goes; a file that exists is left alone.
    pub(crate) file: PathBuf,
    /// Who signs, as certificates name it: no blanks, no plus sign.
    #[arg(long, default_value = "efface")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface certificate show model.json.certificate.json
  efface certificate show churn.efface --html certificate.html        (that of its latest release)
  efface certificate request churn.efface ticket-77 --out ticket-77.json")]
pub(crate) struct CertificateArgs {
    #[command(subcommand)]
    pub(crate) command: CertificateCommand,
}

#[derive(Subcommand)]
pub(crate) enum CertificateCommand {
    /// Say in plain words what a certificate says. Checks nothing: `efface verify` does.
    Show(ShowCertificateArgs),
    /// Certify what became of a removal request: applied, covered by a release, or pending.
    Request(RequestCertificateArgs),
}

#[derive(Args)]
pub(crate) struct ShowCertificateArgs {
    /// A certificate, or a model directory (that of its latest release).
    pub(crate) certificate: PathBuf,
    /// Write one page of HTML here.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct RequestCertificateArgs {
    #[command(flatten)]
    pub(crate) model: SigningArgs,
    /// The request: the --request-id it was made with, or `change-N`.
    pub(crate) request: String,
    /// Where the certificate goes.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface ledger checkpoint churn.efface --out checkpoint.txt
  efface ledger consistency churn.efface --since checkpoint.txt --out consistency.json
  efface ledger consistency churn.efface --since checkpoint.txt --until certificate.json --out consistency.json
  efface ledger list churn.efface

Keep a checkpoint, or hand it to somebody: whoever has one notices when entries are later changed, taken out, or put
on another branch.")]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// Sign a checkpoint of the log.
    Checkpoint(CheckpointArgs),
    /// Prove that the log as it is now continues an earlier checkpoint.
    Consistency(ConsistencyArgs),
    /// Print the entries of the log, one line of JSON each.
    List(ModelArgs),
}

#[derive(Args)]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) model: SigningArgs,
    /// Where the checkpoint goes [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ConsistencyArgs {
    #[command(flatten)]
    pub(crate) model: SigningArgs,
    /// The earlier checkpoint, or a certificate with one in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) since: PathBuf,
    /// The later checkpoint, or a certificate with one in it [default: the log as it is now].
    #[arg(long, value_name = "FILE")]
    pub(crate) until: Option<PathBuf>,
    /// Where the proof goes [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface verify model.json.certificate.json --key operator.key.pub --model model.json
  efface verify releases/3/certificate.json --key operator.key.pub --model releases/3/model.json \\
      --previous releases/2/certificate.json --previous releases/1/certificate.json
  efface verify certificate.json --key operator.key.pub --checkpoint checkpoint.txt --consistency consistency.json
  efface verify churn.efface --replay

A certificate is checked offline, with nothing but this program: signature, model file, log, and every number computed
again. It is valid where all of that was checked, and partly verified (exit code 0, too) where --model or --previous was
left out; what that leaves open is said. A revocation is no certificate: exit code 1. A model directory is checked from inside: its log, its releases, and with --replay what the secret weights leave,
measured on the rows that are left.")]
pub(crate) struct VerifyArgs {
    /// A certificate (of a release, a request or a revocation), or a model directory.
    pub(crate) subject: PathBuf,
    /// The issuer's public key, from a source that you trust.
    #[arg(long, value_name = "PUB")]
    pub(crate) key: Option<PathBuf>,
    /// The model file that the certificate is about; without it, nobody knows that the certificate is about yours.
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// A checkpoint of the log that you have from elsewhere.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// The proof that links that checkpoint and the certificate's (`efface ledger consistency`).
    #[arg(long, value_name = "FILE", requires = "checkpoint")]
    pub(crate) consistency: Option<PathBuf>,
    /// A revocation that you have.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) revocation: Option<PathBuf>,
    /// Certificates of the releases before, back to the first: what they spent is compared with what this one says they
    /// did. May be repeated.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) previous: Vec<PathBuf>,
    /// Of a model directory: measure the residual on the rows that are left, in one pass.
    #[arg(long)]
    pub(crate) replay: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface revoke churn.efface 1 --reason 'superseded by release 2'

The withdrawal is signed, recorded in the log, and listed in every later certificate. `predict` does not use a revoked
release of a model directory. It cannot take a copy out of anybody's hands.")]
pub(crate) struct RevokeArgs {
    #[command(flatten)]
    pub(crate) model: SigningArgs,
    /// Number of the release.
    pub(crate) release: usize,
    /// Why; part of the signed withdrawal.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface policy churn.efface --min-removals 10 --release-every 30d
  efface policy churn.efface --none                                      (back to: whenever one is asked for)
  efface policy churn.efface                                             (what it is now)

Whoever has two releases can work out what left between them, for every method of unlearning and for retraining too. A
policy makes that less precise. By default every release that is asked for is made: the release before it still knows the
people who left, and only the operator can weigh that against the other risk.")]
pub(crate) struct PolicyCommandArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Make every release that is asked for.
    #[arg(long, conflicts_with_all = ["min_removals", "release_every"])]
    pub(crate) none: bool,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface renew churn.efface

A model promises (ε, δ) for all its releases together, and shares that out among `train --max-releases` of them. When at
most a tenth of them are left, this adds another promise of the same size: as many releases again, and a larger ε that covers
all of them, those from before included. It is recorded in the log and stated in every later certificate. Training a new
model begins again with the first promise, for people who see only its releases.")]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
