//! Simulated cards compared with recorded ones: the recorded flashbench runs, with their parameters, on the simulated
//! device that represents a card. A table such as `facts/cards.toml` assigns devices to cards.
//!
//! Nothing is fitted here. The comments of a profile name its calibration data.

mod compare;
mod page;

pub use compare::{Cell, Comparison, WITHIN, compare};
pub use page::page;

use crate::flashbench::recorded::Recorded;
use crate::{SuiteError, probe};
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_device::{Device, Fill, break_if};
use nandscope_measure::sim::SimTarget;
use nandscope_units::{Bytes, SizeBase, parse_size};
use serde::Deserialize;

/// A table of simulated cards that represent recorded ones.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cards {
    /// The cards, in the order of the page.
    #[serde(default)]
    pub card: Vec<Card>,
}

/// A simulated card and the recorded one it represents.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The device: a name in the library, or a profile file.
    pub profile: String,
    /// Name of the recorded card.
    pub recorded: String,
    /// The host: a name in the library, or a profile file.
    pub host: String,
    /// Numbers of the recorded runs.
    pub run: Vec<u32>,
    /// Largest request of the host, such as `120k`; left out, 512 KiB.
    #[serde(default)]
    pub request: Option<String>,
    /// Reason why the simulated card misses the recording, if it does.
    #[serde(default)]
    pub why: Option<String>,
}

/// Cards that miss their recording without a stated reason, and cards that state a reason and miss nothing.
pub fn unexplained(cards: &[(Card, Comparison)]) -> Vec<&Card> {
    let differing = cards
        .iter()
        .filter(|(card, c)| c.met() == card.why.is_some());
    differing.map(|(card, _)| card).collect()
}

impl Cards {
    /// Reads a `cards.toml`; `name` is for messages.
    ///
    /// # Errors
    /// [`SuiteError::Recorded`] if it cannot be read, or the request of an entry is not a size.
    pub fn parse(name: &str, text: &str) -> Result<Self, SuiteError> {
        let cards: Cards =
            toml::from_str(text).map_err(|e| SuiteError::Recorded(format!("{name}: {e}")))?;
        for card in &cards.card {
            card.request()?;
        }
        Ok(cards)
    }
}

impl Card {
    /// Largest request of the host.
    fn request(&self) -> Result<Bytes, SuiteError> {
        let Some(text) = &self.request else {
            return Ok(probe::REQUEST);
        };
        let size = parse_size(text, SizeBase::Binary).ok();
        size.filter(|s| s.0 >= 512).ok_or_else(|| {
            SuiteError::Recorded(format!(
                "card {}: request = \"{text}\" is not a size of 512 bytes or more, such as \"120k\"",
                self.recorded
            ))
        })
    }

    /// Repeats the recorded measurements on a simulated card. The card is written once in order before, like the
    /// measured cards.
    ///
    /// # Errors
    /// [`SuiteError`] if nothing was recorded of it, or the device cannot be attached or fails.
    pub fn run(
        &self,
        profile: &Profile,
        host: &HostProfile,
        recorded: &Recorded,
        stop: &dyn Fn() -> bool,
    ) -> Result<Comparison, SuiteError> {
        let fault = |why: String| SuiteError::Target(format!("{}: {why}", self.profile));
        let mut device = Device::new(profile, host, 1).map_err(|e| fault(e.to_string()))?;
        device
            .fill(1.0, Fill::Sequential, &mut |_| break_if(stop()))
            .map_err(|e| fault(e.to_string()))?;
        let mut target = SimTarget::new(device);
        let request = self.request()?;
        compare(
            &mut target,
            recorded,
            &self.recorded,
            &self.run,
            request,
            stop,
        )
    }
}
