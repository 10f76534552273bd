//! Runs the procedures that the checks require.

use super::{Comparison, Validation, compare, measured, series};
use crate::options::ReviewOptions;
use crate::procedure::Procedure;
use crate::recorded;
use crate::spec::{SimSpec, attachments};
use crate::step_runner::SuiteError;
use nandscope_device::profile::schema::Acknowledge;

/// Seed of every validation.
const SEED: u64 = 1;

impl Validation {
    /// The device and the ways to attach it. A host that leaves the cache off does so with drives, too.
    ///
    /// # Errors
    /// `Target` if the library has no such device or host.
    pub fn spec(&self) -> Result<SimSpec, SuiteError> {
        let mut spec = measured::spec(&self.device)?;
        if !self.host.is_empty() {
            let host = measured::host(&self.host)?;
            if host.host.cache_off {
                for interface in &mut spec.profile.interface {
                    interface.acknowledge = Acknowledge::Programmed;
                }
            }
            spec.modes = attachments(&self.host, &host, &spec.profile);
        }
        Ok(spec)
    }

    /// Runs the procedure on `spec` and compares its figures with the facts. If `stop` ended it, the later figures are
    /// missing.
    ///
    /// # Errors
    /// [`SuiteError::Target`] if the device cannot be made or attached, [`SuiteError::Step`] if a step cannot be done on it.
    pub fn measure(
        &self,
        spec: &SimSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<Comparison, SuiteError> {
        if self.procedure == series::PROCEDURE {
            let options = ReviewOptions {
                seed: SEED,
                ..ReviewOptions::default()
            };
            return compare(&recorded::run(spec, &options, stop)?, self);
        }
        let procedure = Procedure::find(&self.procedure)?;
        let options = ReviewOptions {
            seed: SEED,
            quick: procedure.quick_suffices(),
            ..ReviewOptions::default()
        };
        let document = procedure.run(spec, &options, &mut (), stop)?;
        compare(&document, self)
    }
}
