//! The suites of `nandscope review` as options: `--suite`, and flags of single suites.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use nandscope_suite::Procedure;

/// Tests that a review consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Full review: fresh, used and refreshed; folders, traces, power, heat
    #[default]
    Card,
    /// Page, allocation unit, open units and the first units of a card
    Flashbench,
    /// Speed classes of SD cards, with verdicts
    SpeedClass,
    /// Two fills of the whole device, 128 KiB sequential at QD32
    Fill,
    /// 128 KiB sequential at QD32, on every port of the host
    Iometer,
    /// Sequential as dd does it, random 4 KiB as iozone does it
    Plain,
    /// Bursts, sustained access and traces of a solid-state drive
    Ssd,
}

/// The options that choose the tests.
#[derive(Clone, Copy, Debug, Args)]
pub struct SuiteArguments {
    /// Tests to run
    #[arg(long, value_enum, default_value_t)]
    suite: Suite,
    /// With --suite ssd: bursts and sustained access beside drives of its time
    #[arg(long)]
    peers: bool,
    /// With --suite flashbench: every cell of its tables
    #[arg(long)]
    whole: bool,
}

impl SuiteArguments {
    /// The chosen procedure.
    ///
    /// # Errors
    /// `Exit::Usage` if a flag belongs to another suite.
    pub fn procedure(self) -> Result<Procedure, Failure> {
        let flags = [
            (
                self.peers,
                Suite::Ssd,
                "--peers works with --suite ssd only",
            ),
            (
                self.whole,
                Suite::Flashbench,
                "--whole works with --suite flashbench only",
            ),
        ];
        if let Some((_, _, why)) = flags
            .iter()
            .find(|(given, of, _)| *given && *of != self.suite)
        {
            return Err(Failure::usage(format!(
                "{why}; omit it, or choose that suite"
            )));
        }
        Ok(match self.suite {
            Suite::Card => Procedure::Card,
            Suite::Flashbench if self.whole => Procedure::FlashbenchWhole,
            Suite::Flashbench => Procedure::Flashbench,
            Suite::SpeedClass => Procedure::SpeedClass,
            Suite::Fill => Procedure::Fill,
            Suite::Iometer => Procedure::Iometer,
            Suite::Plain => Procedure::Plain,
            Suite::Ssd if self.peers => Procedure::SsdPeers,
            Suite::Ssd => Procedure::Ssd,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every procedure is reached by a suite and at most one flag.
    #[test]
    fn no_procedure_is_missing() {
        let mut reached = Vec::new();
        for &suite in Suite::value_variants() {
            for (peers, whole) in [(false, false), (true, false), (false, true)] {
                let chosen = SuiteArguments {
                    suite,
                    peers,
                    whole,
                };
                reached.extend(chosen.procedure().ok());
            }
        }
        for procedure in Procedure::ALL {
            assert!(reached.contains(&procedure), "{}", procedure.name());
        }
    }
}
