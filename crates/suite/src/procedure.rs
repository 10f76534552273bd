//! The procedures that there are, by name: what `--suite` offers and what checks refer to.

use crate::step_runner::SuiteError;
use nandscope_result::procedure;

/// A procedure that a suite can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Procedure {
    /// The review of a memory card: fresh, used, refreshed; folders, traces, power, heat.
    #[default]
    Card,
    /// The suite for solid-state drives: bursts, sustained random access, traces on an empty and a full drive.
    Ssd,
    /// Bursts and sustained random access of a drive and of those it was published with, side by side.
    SsdPeers,
    /// 128 KiB sequential read and write at QD32, on every port of a host.
    Iometer,
    /// flashbench's answers about a card: page, allocation unit, open units, the first units.
    Flashbench,
    /// The same with every cell of its tables.
    FlashbenchWhole,
    /// Speed classes of SD cards, with verdicts.
    SpeedClass,
    /// Two sequential fills of the whole device, 128 KiB at QD32.
    Fill,
    /// Sequential reads and writes as dd does them, random ones of 4 KiB as iozone does them.
    Plain,
}

impl Procedure {
    /// All of them.
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

    /// Its name, as in `--suite card` and in `facts/checks.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Procedure::Card => "card",
            Procedure::Ssd => "ssd",
            Procedure::SsdPeers => "ssd-peers",
            Procedure::Iometer => "iometer",
            Procedure::Flashbench => "flashbench",
            Procedure::FlashbenchWhole => "flashbench-whole",
            Procedure::SpeedClass => "speed-class",
            Procedure::Fill => procedure::FILL,
            Procedure::Plain => "plain",
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

    /// Whether the quick form gives every figure that is compared with publications: where it is
    /// latency, power, or their ratios, it does not depend on how long it is measured.
    pub const fn quick_suffices(self) -> bool {
        matches!(self, Procedure::Ssd | Procedure::SsdPeers)
    }
}
