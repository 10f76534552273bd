//! The procedures by name, as `--suite` and `facts/checks.toml` use them.

use crate::options::{ReviewObserver, ReviewOptions};
use crate::review::review;
use crate::spec::SimSpec;
use crate::ssd;
use crate::step_runner::SuiteError;
use crate::{fill, flashbench, iometer, modes, plain, speed_class};
use nandscope_result::{ResultDocument, procedure};

/// A procedure that a suite can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Procedure {
    /// The review of a memory card: fresh, used, refreshed; folders, traces, power, heat.
    #[default]
    Card,
    /// The suite for solid-state drives: bursts, sustained random access, traces on an empty and a full drive.
    Ssd,
    /// Bursts and sustained random access of a drive and of the drives it was published with, compared.
    SsdPeers,
    /// 128 KiB sequential read and write at QD32, on every port of a host.
    Iometer,
    /// Measurements of flashbench: page, allocation unit, open units, the first units.
    Flashbench,
    /// Measurements of flashbench with every cell of its tables.
    FlashbenchWhole,
    /// Speed classes of SD cards, with verdicts.
    SpeedClass,
    /// Two sequential fills of the whole device, 128 KiB at QD32.
    Fill,
    /// Sequential reads and writes as dd does them, random ones of 4 KiB as iozone does them.
    Plain,
}

impl Procedure {
    /// All procedures.
    pub const ALL: [Procedure; 9] = [
        Procedure::Card,
        Procedure::Flashbench,
        Procedure::FlashbenchWhole,
        Procedure::SpeedClass,
        Procedure::Fill,
        Procedure::Iometer,
        Procedure::Plain,
        Procedure::Ssd,
        Procedure::SsdPeers,
    ];

    /// Name, as in `--suite card` and in `facts/checks.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Procedure::Card => "card",
            Procedure::Ssd => "ssd",
            Procedure::SsdPeers => "ssd-peers",
            Procedure::Iometer => procedure::IOMETER,
            Procedure::Flashbench => procedure::FLASHBENCH,
            Procedure::FlashbenchWhole => procedure::FLASHBENCH_WHOLE,
            Procedure::SpeedClass => procedure::SPEED_CLASS,
            Procedure::Fill => procedure::FILL,
            Procedure::Plain => procedure::PLAIN,
        }
    }

    /// Name in the results of the procedure.
    pub(crate) const fn in_results(self) -> &'static str {
        match self {
            Procedure::Card => procedure::CARD_REVIEW,
            Procedure::Ssd => procedure::DRIVE,
            Procedure::SsdPeers => procedure::DRIVES,
            _ => self.name(),
        }
    }

    /// The procedure of that name.
    ///
    /// # Errors
    /// [`SuiteError::Target`] with the known names if the name is unknown.
    pub fn find(name: &str) -> Result<Self, SuiteError> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| {
            SuiteError::Target(format!(
                "there is no procedure `{name}`; there are {}",
                known()
            ))
        })
    }

    /// Whether the quick form gives every figure that is compared with publications: latencies, powers and their ratios
    /// do not depend on the duration.
    pub const fn quick_suffices(self) -> bool {
        matches!(self, Procedure::Ssd | Procedure::SsdPeers)
    }

    /// Runs the procedure on a simulated device in virtual time. `stop` is called often; when it returns true, the
    /// measurements so far are returned, marked as incomplete.
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
                    _ => flashbench::Extent::of(options.quick),
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
