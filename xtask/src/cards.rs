//! Simulated cards against recorded ones: the same flashbench runs, with the parameters that were
//! recorded, on the device of the library that stands for a card; measured and simulated side by
//! side. `facts/cards.toml` says which device stands for which card.
//!
//! Nothing is fitted here. What the profile of a card was calibrated on, its comments say.

mod compare;
mod page;
#[cfg(test)]
mod tests;

pub use compare::{Cell, Comparison, compare};
pub use page::page;

use anyhow::Context as _;
use nandscope_device::{Device, Fill};
use nandscope_measure::sim::SimTarget;
use nandscope_suite::flashbench::recorded::Recorded;
use nandscope_suite::{SimSpec, SuiteError};
use nandscope_units::{Bytes, SizeBase, parse_size};
use serde::Deserialize;
use std::path::Path;

/// The entries of `facts/cards.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cards {
    /// The cards, in the order of the page.
    #[serde(default)]
    pub card: Vec<Card>,
}

/// A simulated card and the recorded one it stands for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The device of the library.
    pub profile: String,
    /// The recorded card.
    pub recorded: String,
    /// The host of the library.
    pub host: String,
    /// Numbers of the recorded runs.
    pub run: Vec<u32>,
    /// The largest request that the host sends at once, such as `120k`; 512 KiB where it is missing.
    #[serde(default)]
    pub request: Option<String>,
    /// Why it misses what is recorded, where it does.
    #[serde(default)]
    pub why: Option<String>,
}

/// Every card of `cards.toml` in this folder, compared with the tables in its folder `flashbench`.
///
/// # Errors
/// If a file cannot be read or parsed, nothing was recorded of a card, or its device cannot be run.
pub fn compared(folder: &Path) -> anyhow::Result<Vec<(Card, Comparison)>> {
    let read = |name: &str| {
        let path = folder.join(name).display().to_string();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        anyhow::Ok((path, text))
    };
    let (name, text) = read("cards.toml")?;
    let cards = Cards::parse(&name, &text)?;
    let mut recorded = Recorded::default();
    let (name, text) = read("flashbench/align.csv")?;
    recorded.read_align(&name, &text)?;
    let (name, text) = read("flashbench/openau.csv")?;
    recorded.read_open_au(&name, &text)?;
    let (name, text) = read("flashbench/findfat.csv")?;
    recorded.read_find_fat(&name, &text)?;
    let compare = |card: Card| {
        let comparison = card.run(&recorded, &|| false)?;
        anyhow::Ok((card, comparison))
    };
    cards.card.into_iter().map(compare).collect()
}

/// Cards that miss their record without a stated reason, and those that state a reason and miss
/// nothing.
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
    /// Where it cannot be read, or an entry has a request that is no size.
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
    /// The largest request.
    fn request(&self) -> Result<Bytes, SuiteError> {
        let Some(text) = &self.request else {
            return Ok(nandscope_suite::probe::REQUEST);
        };
        let size = parse_size(text, SizeBase::Binary).ok();
        size.filter(|s| s.0 >= 512).ok_or_else(|| {
            SuiteError::Recorded(format!(
                "card {}: request = \"{text}\" is no size of 512 bytes or more, such as \"120k\"",
                self.recorded
            ))
        })
    }

    /// Runs on the simulated card what was recorded on the real one.
    ///
    /// # Errors
    /// Where nothing was recorded, or the device is not in the library, cannot be attached, or fails.
    pub fn run(
        &self,
        recorded: &Recorded,
        stop: &dyn Fn() -> bool,
    ) -> Result<Comparison, SuiteError> {
        let device = self.device()?;
        let mut target = SimTarget::new(device);
        compare(
            &mut target,
            recorded,
            &self.recorded,
            &self.run,
            self.request()?,
            stop,
        )
    }

    /// The device, written once in order: a card that people measure has been written before.
    fn device(&self) -> Result<Device, SuiteError> {
        let spec = SimSpec::library(&self.profile)?;
        let host = nandscope_suite::spec::library_host(&self.host)?;
        let mut device =
            Device::new(&spec.profile, &host, 1).map_err(|e| SuiteError::Target(e.to_string()))?;
        if !device.precondition(1.0, Fill::Sequential) {
            return Err(SuiteError::Target(format!(
                "{} is not idle and cannot be filled",
                self.profile
            )));
        }
        Ok(device)
    }
}
