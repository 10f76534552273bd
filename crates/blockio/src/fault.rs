//! Fault injection: the text form of fault commands, and the faults in effect.

use crate::store::{Beyond, Fake, Store};
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos, ParseQuantityError, SECTOR_BYTES, SizeBase, parse_size};
use std::ops::Range;
use std::str::FromStr;
use thiserror::Error;

/// A fault to inject, or to end.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultCommand {
    /// Cuts the power (or pulls the card out): unpersisted writes are lost, every request fails.
    PowerOff,
    /// Restores the power (or inserts the card again).
    PowerOn,
    /// Cuts the power and restores it at once.
    PowerCycle,
    /// Reads that touch these bytes fail.
    Unreadable(Range<u64>),
    /// Reads fail with this probability.
    ReadErrors(f64),
    /// Writes fail, as at the end of life.
    ReadOnly(bool),
    /// Commands take this much longer, with this probability.
    Slow(f64, Nanos),
    /// Flush and FUA are acknowledged but not performed.
    Lie(bool),
    /// The card holds less than it reports; `None` ends this fault.
    Fake(Option<Fake>),
    /// A write changes one of its bits, with this probability from 0 to 1.
    Corrupt(f64),
    /// The first read of these bytes returns what was written, later reads return other bytes.
    Tamper(Range<u64>),
    /// A command that takes effect after this number of further writes.
    AfterWrites(u64, Box<FaultCommand>),
    /// Ends all faults; does not switch the power.
    Clear,
}

/// The fault commands in words.
pub const GRAMMAR: &str = "\
power off | power on | power cycle    (also: remove, insert)
unreadable OFFSET LENGTH              reads of these bytes fail
read-errors PROBABILITY               reads fail at random
read-only on|off                      writes fail
slow PROBABILITY MILLISECONDS         commands take longer at random
lie on|off                            flush and FUA only claim success
fake SIZE wrap|drop|stale | fake off  the card holds only SIZE
fake SIZE cached SECTORS              and a cache keeps SECTORS of the rest
corrupt PROBABILITY                   writes lose a bit at random
tamper OFFSET LENGTH                  later reads return other bytes
after N writes COMMAND                COMMAND takes effect N writes later
clear                                 ends all faults";

/// A fault command that cannot be read.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("`{command}`: {reason}")]
pub struct InvalidCommand {
    command: String,
    reason: Reason,
}

/// Error: the capacity given for a fake card is not less than the capacity that the card reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{holds} bytes are not less than the reported capacity of {capacity}")]
pub struct NotFake {
    /// Capacity in bytes that was given for the fake card.
    pub holds: u64,
    /// Capacity in bytes that the card reports.
    pub capacity: u64,
}

/// Cause of an invalid fault command.
#[derive(Clone, Debug, PartialEq, Error)]
enum Reason {
    #[error("unknown fault command; known are:\n{GRAMMAR}")]
    Unknown,
    #[error("`{0}` is neither on nor off")]
    Switch(String),
    #[error("`{0}` is not a probability from 0 to 1")]
    Probability(String),
    #[error("`{0}` is not a time from 0 to 60000 milliseconds")]
    Time(String),
    #[error("`{0}` is not a number of sectors")]
    Sectors(String),
    #[error("unknown behaviour `{0}`; use wrap, drop, stale or cached SECTORS")]
    Beyond(String),
    #[error(transparent)]
    Size(#[from] ParseQuantityError),
    #[error("{0} bytes are not a multiple of the sector of {SECTOR_BYTES}")]
    PartialSectors(u64),
    #[error("the range is empty or extends past 2^64 bytes")]
    EmptyRange,
    #[error("`{0}` is not a number of writes")]
    Writes(String),
    #[error("a command after {0} writes cannot wait for more writes")]
    WaitsTwice(String),
}

impl FromStr for FaultCommand {
    type Err = InvalidCommand;

    fn from_str(text: &str) -> Result<Self, InvalidCommand> {
        let words: Vec<&str> = text.split_whitespace().collect();
        parse(&words).map_err(|reason| InvalidCommand {
            command: text.to_string(),
            reason,
        })
    }
}

impl FaultCommand {
    /// True if the command makes requests slower, now or later.
    pub fn slows(&self) -> bool {
        match self {
            FaultCommand::Slow(p, _) => *p > 0.0,
            FaultCommand::AfterWrites(_, command) => command.slows(),
            _ => false,
        }
    }

    /// Rejects a fake that holds as much as its card claims.
    fn check(&self, capacity: Bytes) -> Result<(), NotFake> {
        match self {
            FaultCommand::Fake(Some(Fake { holds, .. })) if *holds >= capacity.0 => Err(NotFake {
                holds: *holds,
                capacity: capacity.0,
            }),
            FaultCommand::AfterWrites(_, command) => command.check(capacity),
            _ => Ok(()),
        }
    }
}

fn parse(words: &[&str]) -> Result<FaultCommand, Reason> {
    Ok(match words {
        ["power", "off"] | ["remove"] => FaultCommand::PowerOff,
        ["power", "on"] | ["insert"] => FaultCommand::PowerOn,
        ["power", "cycle"] => FaultCommand::PowerCycle,
        ["unreadable", offset, length] => FaultCommand::Unreadable(range(offset, length)?),
        ["read-errors", p] => FaultCommand::ReadErrors(probability(p)?),
        ["read-only", state] => FaultCommand::ReadOnly(switch(state)?),
        ["slow", p, ms] => FaultCommand::Slow(probability(p)?, milliseconds(ms)?),
        ["lie", state] => FaultCommand::Lie(switch(state)?),
        ["fake", "off"] => FaultCommand::Fake(None),
        ["fake", size, "cached", sectors] => FaultCommand::Fake(Some(Fake {
            holds: whole_sectors(size)?,
            beyond: match sectors.parse() {
                Ok(sectors) if sectors > 0 => Beyond::Cached(sectors),
                _ => return Err(Reason::Sectors((*sectors).to_string())),
            },
        })),
        ["fake", size, beyond] => FaultCommand::Fake(Some(Fake {
            holds: whole_sectors(size)?,
            beyond: match *beyond {
                "wrap" => Beyond::Wrap,
                "drop" => Beyond::Drop,
                "stale" => Beyond::Stale,
                other => return Err(Reason::Beyond(other.to_string())),
            },
        })),
        ["corrupt", p] => FaultCommand::Corrupt(probability(p)?),
        ["tamper", offset, length] => FaultCommand::Tamper(range(offset, length)?),
        ["after", n, "writes", "after", ..] => {
            return Err(Reason::WaitsTwice((*n).to_string()));
        }
        ["after", n, "writes", command @ ..] => {
            let n = n.parse().map_err(|_| Reason::Writes((*n).to_string()))?;
            FaultCommand::AfterWrites(n, Box::new(parse(command)?))
        }
        ["clear"] => FaultCommand::Clear,
        _ => return Err(Reason::Unknown),
    })
}

fn switch(text: &str) -> Result<bool, Reason> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Reason::Switch(text.to_string())),
    }
}

fn probability(text: &str) -> Result<f64, Reason> {
    match text.parse() {
        Ok(p) if (0.0..=1.0).contains(&p) => Ok(p),
        _ => Err(Reason::Probability(text.to_string())),
    }
}

fn milliseconds(text: &str) -> Result<Nanos, Reason> {
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=60_000.0).contains(&ms) => Ok(Nanos((ms * 1e6) as u64)),
        _ => Err(Reason::Time(text.to_string())),
    }
}

fn bytes(text: &str) -> Result<u64, Reason> {
    Ok(parse_size(text, SizeBase::Binary)?.0)
}

fn whole_sectors(text: &str) -> Result<u64, Reason> {
    match bytes(text)? {
        size if size > 0 && size.is_multiple_of(SECTOR_BYTES) => Ok(size),
        size => Err(Reason::PartialSectors(size)),
    }
}

fn range(offset: &str, length: &str) -> Result<Range<u64>, Reason> {
    let (offset, length) = (bytes(offset)?, bytes(length)?);
    match offset.checked_add(length) {
        Some(end) if length > 0 => Ok(offset..end),
        _ => Err(Reason::EmptyRange),
    }
}

/// Faults in effect, except those that change the contents, which [`crate::store`] applies.
#[derive(Debug)]
pub struct Faults {
    /// The card has power.
    pub power: bool,
    /// All writes fail.
    pub read_only: bool,
    /// Flush and FUA are acknowledged but not performed.
    pub lies: bool,
    unreadable: Vec<Range<u64>>,
    read_errors: f64,
    slow: (f64, Nanos),
    corrupt: f64,
    /// Commands that wait for this many writes, counted from the start.
    waiting: Vec<(u64, FaultCommand)>,
    writes: u64,
    /// Random numbers that decide whether a fault with a probability happens.
    pub random: SplitMix64,
}

impl Faults {
    /// No faults. `seed` is that of the random number generator.
    pub fn new(seed: u64) -> Self {
        Faults {
            power: true,
            read_only: false,
            lies: false,
            unreadable: Vec::new(),
            read_errors: 0.0,
            slow: (0.0, Nanos::ZERO),
            corrupt: 0.0,
            waiting: Vec::new(),
            writes: 0,
            random: SplitMix64::new(seed),
        }
    }

    /// Executes a command that changes only these faults or the contents; returns any other command unexecuted.
    ///
    /// # Errors
    /// Returns `NotFake` if the card is to hold as much as it reports, now or later.
    pub fn apply(
        &mut self,
        command: FaultCommand,
        store: &mut Store,
    ) -> Result<Option<FaultCommand>, NotFake> {
        command.check(store.capacity())?;
        match self.take(command) {
            Some(FaultCommand::Fake(fake)) => store.set_fake(fake),
            Some(FaultCommand::Tamper(range)) => store.tamper(range),
            Some(FaultCommand::Clear) => store.clear_faults(),
            other => return Ok(other),
        }
        Ok(None)
    }

    /// Executes a command that changes only these faults; returns any other command unexecuted.
    fn take(&mut self, command: FaultCommand) -> Option<FaultCommand> {
        match command {
            FaultCommand::Unreadable(range) => self.unreadable.push(range),
            FaultCommand::ReadErrors(p) => self.read_errors = p,
            FaultCommand::ReadOnly(state) => self.read_only = state,
            FaultCommand::Slow(p, time) => self.slow = (p, time),
            FaultCommand::Lie(state) => self.lies = state,
            FaultCommand::Corrupt(p) => self.corrupt = p,
            FaultCommand::AfterWrites(n, command) => {
                self.waiting.push((self.writes.saturating_add(n), *command));
            }
            FaultCommand::Clear => {
                let random = SplitMix64::new(self.random.bits());
                let (power, writes) = (self.power, self.writes);
                *self = Faults {
                    power,
                    writes,
                    random,
                    ..Faults::new(0)
                };
                return Some(FaultCommand::Clear);
            }
            other => return Some(other),
        }
        None
    }

    /// Counts a write; returns the commands that waited for it.
    pub fn count_write(&mut self) -> Vec<FaultCommand> {
        self.writes += 1;
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let writes = self.writes;
        let due = |(at, _): &mut (u64, FaultCommand)| *at <= writes;
        self.waiting
            .extract_if(.., due)
            .map(|(_, command)| command)
            .collect()
    }

    /// Decides whether a read of these bytes fails.
    pub fn fails_read(&mut self, range: &Range<u64>) -> bool {
        let meets = |r: &Range<u64>| r.start < range.end && range.start < r.end;
        self.unreadable.iter().any(meets)
            || (self.read_errors > 0.0 && self.random.happens(self.read_errors))
    }

    /// Draws the time by which the fault "slow" prolongs a command; zero if it does not.
    pub fn delay(&mut self) -> Nanos {
        let (p, time) = self.slow;
        if p > 0.0 && self.random.happens(p) {
            time
        } else {
            Nanos::ZERO
        }
    }

    /// True if writes may be corrupted.
    pub fn corrupts(&self) -> bool {
        self.corrupt > 0.0
    }

    /// Changes a bit of `data` with the probability of `corrupt`.
    pub fn corrupt(&mut self, data: &mut [u8]) {
        if self.random.happens(self.corrupt) {
            let bit = self.random.below(data.len() as u64 * 8);
            let byte = usize::try_from(bit / 8).unwrap_or(usize::MAX);
            if let Some(byte) = data.get_mut(byte) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_or_refused_with_a_reason() {
        let read = |text: &str| text.parse::<FaultCommand>().unwrap();
        assert_eq!(read("power off"), FaultCommand::PowerOff);
        assert_eq!(read("remove"), FaultCommand::PowerOff);
        assert_eq!(
            read("unreadable 1MiB 512"),
            FaultCommand::Unreadable(1 << 20..(1 << 20) + 512)
        );
        assert_eq!(
            read("slow 0.5 250"),
            FaultCommand::Slow(0.5, Nanos(250_000_000))
        );
        let fake = Fake {
            holds: 1536,
            beyond: Beyond::Wrap,
        };
        assert_eq!(read("fake 1536 wrap"), FaultCommand::Fake(Some(fake)));
        let fake = Fake {
            holds: 1536,
            beyond: Beyond::Cached(32),
        };
        assert_eq!(read("fake 1536 cached 32"), FaultCommand::Fake(Some(fake)));
        let late = FaultCommand::AfterWrites(7, Box::new(FaultCommand::PowerCycle));
        assert_eq!(read("after 7 writes power cycle"), late);
        for (text, part) in [
            ("", "unknown fault command"),
            ("power", "unknown fault command"),
            ("lie perhaps", "neither on nor off"),
            ("corrupt 2", "not a probability"),
            ("slow 1 -3", "not a time"),
            ("fake 1000 wrap", "multiple of the sector"),
            ("fake 512 melt", "wrap, drop, stale"),
            ("fake 512 cached 0", "not a number of sectors"),
            ("unreadable 5 0", "empty"),
            ("after x writes clear", "not a number"),
            ("after 1 writes after 1 writes clear", "cannot wait"),
        ] {
            let error = text.parse::<FaultCommand>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn commands_wait_for_their_write() {
        let mut faults = Faults::new(1);
        assert_eq!(faults.take("after 2 writes lie on".parse().unwrap()), None);
        assert_eq!(faults.count_write(), []);
        assert_eq!(faults.count_write(), [FaultCommand::Lie(true)]);
        assert_eq!(faults.count_write(), []);
    }
}
