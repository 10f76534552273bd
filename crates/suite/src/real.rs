//! The procedures on an existing target, in real time: a file or a block device. Stages and figures are those of the
//! simulated ones; there is one mode, the target's own attachment.

use crate::document::empty;
use crate::options::{ReviewObserver, ReviewOptions};
use crate::own_time::in_own_time;
use crate::procedure::Procedure;
use crate::step_runner::SuiteError;
use crate::{fill, flashbench, iometer, modes, plain, review, speed_class, ssd};
use nandscope_measure::target::Target;
use nandscope_result::{ResultDocument, TargetInfo};
use std::collections::BTreeMap;

/// An existing target, and what its result says of it.
pub struct Existing<T> {
    /// The target.
    pub target: T,
    /// Description of the target.
    pub info: TargetInfo,
    /// Added to the environment of the result.
    pub environment: BTreeMap<String, String>,
}

impl<T: Target> Existing<T> {
    /// Runs a procedure on the target; all data on it is lost. Steps of an earlier run in the options are not repeated.
    ///
    /// # Errors
    /// [`SuiteError::Step`] if a step cannot be done on the target at all, such as a test file that does not fit;
    /// [`SuiteError::Target`] with [`Procedure::SsdPeers`], which compares with simulated drives.
    pub fn review(
        self,
        procedure: Procedure,
        options: &ReviewOptions,
        observer: &mut dyn ReviewObserver,
        stop: &dyn Fn() -> bool,
    ) -> Result<ResultDocument, SuiteError> {
        let title = self.info.model.clone();
        let shortened = shortened(procedure);
        let mut document = empty(title, self.info, options, procedure.in_results(), shortened);
        document.environment = self.environment;
        let quick = options.quick;
        let mut document =
            in_own_time(
                self.target,
                document,
                options,
                observer,
                stop,
                |runner| match procedure {
                    Procedure::Card => review::all_stages(runner, quick),
                    Procedure::Fill => fill::on_target(runner, quick),
                    Procedure::Iometer => iometer::on_target(runner, quick),
                    Procedure::Plain => plain::all(runner),
                    Procedure::SpeedClass => speed_class::run(runner, quick),
                    Procedure::Flashbench => {
                        flashbench::check_fit(runner.capacity())?;
                        flashbench::run(runner, flashbench::Extent::of(quick))
                    }
                    Procedure::FlashbenchWhole => {
                        flashbench::check_fit(runner.capacity())?;
                        flashbench::run(runner, flashbench::Extent::WHOLE)
                    }
                    Procedure::Ssd => ssd::on_target(runner, quick),
                    Procedure::SsdPeers => Err(SuiteError::Target(
                        "the other drives of this comparison are simulated: choose `ssd`"
                            .to_string(),
                    )),
                },
            )?;
        if procedure == Procedure::Ssd {
            ssd::fullness(&mut document, None);
        }
        Ok(document)
    }
}

/// Notice of a quick run: what it leaves out.
fn shortened(procedure: Procedure) -> &'static str {
    match procedure {
        Procedure::Card => review::SHORTENED,
        Procedure::Fill => fill::SHORTENED,
        Procedure::Iometer => iometer::SHORTENED,
        Procedure::Ssd | Procedure::SsdPeers => ssd::SHORTENED_ON_TARGET,
        Procedure::SpeedClass | Procedure::Flashbench | Procedure::FlashbenchWhole => {
            modes::SHORTENED
        }
        // The tools that it imitates have no shorter form.
        Procedure::Plain => "",
    }
}
