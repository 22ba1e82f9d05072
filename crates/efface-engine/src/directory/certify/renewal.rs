//! A further life: when the releases of a promise are nearly all made, another promise is added to it, so that removals can
//! still be covered. Recorded in the log, and in every certificate from then on.

use efface_core::model::TrainingConfig;
use efface_ledger::entry::{Entry, Event};
use serde::Serialize;

use crate::clock;
use crate::directory::ModelDirectory;
use crate::directory::database::{ledger, put};
use crate::error::{CertifyError, EngineError};
use crate::history::Kept;
use crate::life::Keeper;
use crate::settings::Settings;

/// A further life is begun when so many releases are left, or fewer: earlier, it would only weaken the promise.
pub fn near_the_end(max_releases: u64) -> u64 {
    max_releases.div_ceil(10)
}

/// What a model promises in its further life.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RenewalReport {
    /// Promises so far, this one included.
    pub lives: u32,
    /// ε of all of them together.
    pub epsilon: f64,
    /// δ likewise.
    pub delta: f64,
    /// Releases that can be made from now on.
    pub releases_left: u64,
}

impl ModelDirectory {
    /// Begins a further life with a promise that covers all releases so far and as many again.
    pub fn renew(&mut self) -> Result<RenewalReport, EngineError> {
        self.keeper.check_usable()?;
        let left = self.model.releases_left().ok_or(CertifyError::Endless)?;
        let limit = near_the_end(self.settings.config.max_releases);
        if left > limit {
            return Err(CertifyError::NotNearTheEnd { left, limit }.into());
        }
        // Should the commit fail, the keeper lets nothing be done with the model before it is opened again.
        self.model.renew()?;
        let TrainingConfig { lives, epsilon, max_releases, .. } = *self.model.plan().config();
        let config = TrainingConfig { lives, epsilon, max_releases, ..self.settings.config.clone() };
        self.settings = Settings { config, ..self.settings.clone() };
        let delta = self.model.plan().guarantee().delta;
        let event = Event::Renewal { lives, epsilon, delta, max_releases };
        let entry = Entry::new(clock::timestamp(clock::now()), event);
        let (settings, of) = (
            &self.settings,
            Kept { settings: &self.settings, model: &self.model, preparation: self.rows.preparation() },
        );
        self.keeper.commit_head(of, |tables, head| {
            put(tables, "settings", settings)?;
            ledger::append(tables, &mut head.ledger, &entry)
        })?;
        Ok(RenewalReport { lives, epsilon, delta, releases_left: self.model.releases_left().unwrap_or(0) })
    }
}
