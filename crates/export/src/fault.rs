//! Faults that a served card can be given: orders in words, as they come over the control socket or
//! stand in a file, and the state that follows from them.

use crate::store::{Beyond, Fake};
use nandscope_units::random::SplitMix64;
use nandscope_units::{Nanos, SizeBase, parse_size};
use std::ops::Range;
use std::str::FromStr;

/// What is ordered.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Power goes (or the card is pulled out): what was volatile is lost, every request fails.
    PowerOff,
    /// Power comes back (or the card is put in again).
    PowerOn,
    /// Both, one right after the other.
    PowerCycle,
    /// Reads that touch these bytes fail.
    Unreadable(Range<u64>),
    /// Reads fail with this probability.
    ReadErrors(f64),
    /// The card takes no more writes, as at the end of its life.
    ReadOnly(bool),
    /// Commands take so much longer, with this probability.
    Slow(f64, Nanos),
    /// Flush and FUA are acknowledged and not done.
    Lie(bool),
    /// The card holds less than it claims.
    Fake(Option<Fake>),
    /// A bit of what is written is changed, with this probability for each write.
    Corrupt(f64),
    /// From the second time on, reads of these bytes give others.
    Tamper(Range<u64>),
    /// Another order when so many more writes have come.
    AfterWrites(u64, Box<Order>),
    /// All faults end; power stays as it is.
    Clear,
}

/// The orders in words.
pub const GRAMMAR: &str = "\
power off | power on | power cycle    (remove and insert mean off and on)
unreadable OFFSET LENGTH              reads there fail
read-errors PROBABILITY               reads fail at random
read-only on|off                      no more writes are taken
slow PROBABILITY MILLISECONDS         commands take longer at random
lie on|off                            flush and FUA are acknowledged and not done
fake SIZE wrap|drop|stale | fake off  holds no more than SIZE
fake SIZE cached SECTORS              and a cache keeps so many sectors of the rest
corrupt PROBABILITY                   writes lose a bit at random
tamper OFFSET LENGTH                  reads give other bytes from the second time on
after N writes ORDER                  the order when N more writes have come
clear                                 all faults end";

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        parse(&words).map_err(|what| format!("`{text}`: {what}"))
    }
}

impl Order {
    /// Whether commands take longer by it, now or later.
    pub(crate) fn slows(&self) -> bool {
        match self {
            Order::Slow(p, _) => *p > 0.0,
            Order::AfterWrites(_, order) => order.slows(),
            _ => false,
        }
    }
}

fn parse(words: &[&str]) -> Result<Order, String> {
    Ok(match words {
        ["power", "off"] | ["remove"] => Order::PowerOff,
        ["power", "on"] | ["insert"] => Order::PowerOn,
        ["power", "cycle"] => Order::PowerCycle,
        ["unreadable", offset, length] => Order::Unreadable(range(offset, length)?),
        ["read-errors", p] => Order::ReadErrors(probability(p)?),
        ["read-only", state] => Order::ReadOnly(switch(state)?),
        ["slow", p, ms] => Order::Slow(probability(p)?, milliseconds(ms)?),
        ["lie", state] => Order::Lie(switch(state)?),
        ["fake", "off"] => Order::Fake(None),
        ["fake", size, "cached", sectors] => Order::Fake(Some(Fake {
            holds: whole_sectors(size)?,
            beyond: match sectors.parse() {
                Ok(sectors) if sectors > 0 => Beyond::Cached(sectors),
                _ => return Err(format!("`{sectors}` is no number of sectors")),
            },
        })),
        ["fake", size, beyond] => Order::Fake(Some(Fake {
            holds: whole_sectors(size)?,
            beyond: match *beyond {
                "wrap" => Beyond::Wrap,
                "drop" => Beyond::Drop,
                "stale" => Beyond::Stale,
                other => {
                    return Err(format!(
                        "`{other}` is none of wrap, drop, stale, cached SECTORS"
                    ));
                }
            },
        })),
        ["corrupt", p] => Order::Corrupt(probability(p)?),
        ["tamper", offset, length] => Order::Tamper(range(offset, length)?),
        ["after", n, "writes", "after", ..] => {
            return Err(format!("an order after {n} writes cannot wait once more"));
        }
        ["after", n, "writes", order @ ..] => {
            let n = n
                .parse()
                .map_err(|_| format!("`{n}` is no number of writes"))?;
            Order::AfterWrites(n, Box::new(parse(order)?))
        }
        ["clear"] => Order::Clear,
        _ => return Err(format!("there is no such order; these are:\n{GRAMMAR}")),
    })
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{text}` is neither on nor off")),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if (0.0..=1.0).contains(&p) => Ok(p),
        _ => Err(format!("`{text}` is no probability from 0 to 1")),
    }
}

fn milliseconds(text: &str) -> Result<Nanos, String> {
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=60_000.0).contains(&ms) => Ok(Nanos((ms * 1e6) as u64)),
        _ => Err(format!("`{text}` is no time from 0 to 60000 milliseconds")),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    parse_size(text, SizeBase::Binary)
        .map(|size| size.0)
        .map_err(|e| e.to_string())
}

fn whole_sectors(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        size if size > 0 && size.is_multiple_of(512) => Ok(size),
        size => Err(format!("{size} bytes are not whole sectors of 512")),
    }
}

fn range(offset: &str, length: &str) -> Result<Range<u64>, String> {
    let (offset, length) = (bytes(offset)?, bytes(length)?);
    match offset.checked_add(length) {
        Some(end) if length > 0 => Ok(offset..end),
        _ => Err("there are no bytes in that range".to_string()),
    }
}

/// What is wrong with a card at present; the store knows of the rest.
#[derive(Debug)]
pub struct Faults {
    pub(crate) power: bool,
    pub(crate) read_only: bool,
    pub(crate) lies: bool,
    unreadable: Vec<Range<u64>>,
    read_errors: f64,
    slow: (f64, Nanos),
    corrupt: f64,
    /// Orders that wait for so many writes from the start.
    waiting: Vec<(u64, Order)>,
    writes: u64,
    pub(crate) random: SplitMix64,
}

impl Faults {
    /// No faults; chance follows from the seed.
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

    /// Takes the orders that change nothing but what is kept here; gives the others back.
    pub(crate) fn take(&mut self, order: Order) -> Option<Order> {
        match order {
            Order::Unreadable(range) => self.unreadable.push(range),
            Order::ReadErrors(p) => self.read_errors = p,
            Order::ReadOnly(state) => self.read_only = state,
            Order::Slow(p, time) => self.slow = (p, time),
            Order::Lie(state) => self.lies = state,
            Order::Corrupt(p) => self.corrupt = p,
            Order::AfterWrites(n, order) => self.waiting.push((self.writes + n, *order)),
            Order::Clear => {
                let random = SplitMix64::new(self.random.bits());
                let (power, writes) = (self.power, self.writes);
                *self = Faults {
                    power,
                    writes,
                    random,
                    ..Faults::new(0)
                };
                return Some(Order::Clear);
            }
            other => return Some(other),
        }
        None
    }

    /// A write has come; the orders that waited for it.
    pub(crate) fn write_came(&mut self) -> Vec<Order> {
        self.writes += 1;
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let writes = self.writes;
        let due = |(at, _): &mut (u64, Order)| *at <= writes;
        self.waiting
            .extract_if(.., due)
            .map(|(_, order)| order)
            .collect()
    }

    /// Whether a read of these bytes fails.
    pub(crate) fn spoils_read(&mut self, range: &Range<u64>) -> bool {
        let meets = |r: &Range<u64>| r.start < range.end && range.start < r.end;
        self.unreadable.iter().any(meets)
            || (self.read_errors > 0.0 && self.random.happens(self.read_errors))
    }

    /// How much longer a command takes.
    pub(crate) fn delay(&mut self) -> Nanos {
        let (p, time) = self.slow;
        if p > 0.0 && self.random.happens(p) {
            time
        } else {
            Nanos::ZERO
        }
    }

    /// Whether writes may be changed.
    pub(crate) fn corrupts(&self) -> bool {
        self.corrupt > 0.0
    }

    /// Changes a bit of what is written, if chance wants it.
    pub(crate) fn corrupt(&mut self, data: &mut [u8]) {
        if self.random.happens(self.corrupt) {
            let bit = self.random.below(data.len() as u64 * 8);
            if let Some(byte) = data.get_mut((bit / 8) as usize) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_or_refused_with_a_reason() {
        let read = |text: &str| text.parse::<Order>().unwrap();
        assert_eq!(read("power off"), Order::PowerOff);
        assert_eq!(read("remove"), Order::PowerOff);
        assert_eq!(
            read("unreadable 1MiB 512"),
            Order::Unreadable(1 << 20..(1 << 20) + 512)
        );
        assert_eq!(read("slow 0.5 250"), Order::Slow(0.5, Nanos(250_000_000)));
        let fake = Fake {
            holds: 1536,
            beyond: Beyond::Wrap,
        };
        assert_eq!(read("fake 1536 wrap"), Order::Fake(Some(fake)));
        let fake = Fake {
            holds: 1536,
            beyond: Beyond::Cached(32),
        };
        assert_eq!(read("fake 1536 cached 32"), Order::Fake(Some(fake)));
        let late = Order::AfterWrites(7, Box::new(Order::PowerCycle));
        assert_eq!(read("after 7 writes power cycle"), late);
        for (text, part) in [
            ("", "no such order"),
            ("power", "no such order"),
            ("lie perhaps", "neither on nor off"),
            ("corrupt 2", "no probability"),
            ("slow 1 -3", "no time"),
            ("fake 1000 wrap", "whole sectors"),
            ("fake 512 melt", "wrap, drop, stale"),
            ("fake 512 cached 0", "no number of sectors"),
            ("unreadable 5 0", "no bytes"),
            ("after x writes clear", "no number"),
            ("after 1 writes after 1 writes clear", "once more"),
        ] {
            let error = text.parse::<Order>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn orders_wait_for_their_write() {
        let mut faults = Faults::new(1);
        assert_eq!(faults.take("after 2 writes lie on".parse().unwrap()), None);
        assert_eq!(faults.write_came(), []);
        assert_eq!(faults.write_came(), [Order::Lie(true)]);
        assert_eq!(faults.write_came(), []);
    }
}
