//! Carries out a procedure by its name.

use crate::options::{ReviewObserver, ReviewOptions};
use crate::procedure::Procedure;
use crate::review::review;
use crate::spec::SimSpec;
use crate::ssd;
use crate::step_runner::SuiteError;
use crate::{fill, flashbench, iometer, modes, plain, speed_class};
use nandscope_result::ResultDocument;

impl Procedure {
    /// Carries it out on a simulated device in virtual time. `stop` is asked often; when it
    /// answers true, what has been measured is returned, marked as incomplete.
    ///
    /// # Errors
    /// [`SuiteError::Target`] if the device cannot be made or attached, [`SuiteError::Step`] if a step cannot be done on it.
    pub fn run(
        self,
        spec: &SimSpec,
        options: &ReviewOptions,
        observer: &mut dyn ReviewObserver,
        stop: &dyn Fn() -> bool,
    ) -> Result<ResultDocument, SuiteError> {
        match self {
            Procedure::Card => review(spec, options, observer, stop),
            Procedure::Ssd => ssd::drive(spec, options, observer, stop),
            Procedure::SsdPeers => ssd::beside(spec, options, observer, stop),
            Procedure::Iometer => iometer::run(spec, options, observer, stop),
            Procedure::SpeedClass => {
                modes::run(spec, options, self.name(), observer, stop, |runner| {
                    speed_class::run(runner, options.quick)
                })
            }
            Procedure::Flashbench | Procedure::FlashbenchWhole => {
                let extent = match self {
                    Procedure::FlashbenchWhole => flashbench::Extent::WHOLE,
                    _ if options.quick => flashbench::Extent::QUICK,
                    _ => flashbench::Extent::FULL,
                };
                modes::run(spec, options, self.name(), observer, stop, |runner| {
                    flashbench::run(runner, extent)
                })
            }
            Procedure::Fill => fill::run(spec, options, observer, stop),
            Procedure::Plain => plain::run(spec, options, observer, stop),
        }
    }
}
