//! A journal done again on the state that it began with.

use super::entry::{Entry, Held};
use super::error::CommandJournalError;
use super::file::CommandJournal;
use nandscope_blockio::undo::without;
use nandscope_device::{Command, CommandKind, Completion, SimulatedDevice};
use nandscope_units::{Nanos, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::ops::Range;

/// A request that is under way.
#[derive(Debug, Default)]
struct Open {
    commands: u32,
    continued: bool,
    /// Bytes that it writes or discards.
    ranges: Vec<(Effect, Range<u64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Written,
    Discarded,
}

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Commands that were given again.
    pub commands: u64,
    /// Requests that were under way at the end, and may not have changed the contents yet.
    pub under_way: usize,
    /// Bytes that the device holds for discarded at the end, but which may still have their contents.
    pub lost_discards: Vec<Range<u64>>,
}

/// Replays journals on a device.
#[derive(Debug)]
pub struct Replay<'m, M> {
    model: &'m mut M,
    completions: Vec<Completion>,
    open: BTreeMap<u64, Open>,
    /// Requests that ended, while they are wanted.
    ended: Option<Vec<Open>>,
    commands: u64,
}

impl<'m, M: SimulatedDevice> Replay<'m, M> {
    /// On this device, in the state with which the first journal begins.
    pub const fn new(model: &'m mut M) -> Self {
        Replay {
            model,
            completions: Vec::new(),
            open: BTreeMap::new(),
            ended: None,
            commands: 0,
        }
    }

    /// The device's present.
    pub fn now(&self) -> Nanos {
        self.model.now()
    }

    /// Replays one journal, which must start where the previous one ended.
    ///
    /// # Errors
    /// `CommandJournalError::Misfit` if the journal does not match the state.
    pub fn play(&mut self, journal: &CommandJournal) -> Result<(), CommandJournalError> {
        let now = self.model.now();
        if journal.start != now {
            return Err(CommandJournalError::Misfit(format!(
                "the journal begins at {} on the device's clock, but the saved device is at {now}",
                journal.start
            )));
        }
        journal.entries.iter().try_for_each(|e| self.act(e))
    }

    /// Completes the requests in flight.
    pub fn finish(mut self) -> Replayed {
        let under_way = self.open.len();
        self.ended = Some(Vec::new());
        while !self.open.is_empty()
            && let Some(event) = self.model.next_event()
        {
            self.advance(event);
        }
        let ended = self.ended.unwrap_or_default();
        Replayed {
            commands: self.commands,
            under_way,
            lost_discards: lost_discards(&ended),
        }
    }

    fn act(&mut self, entry: &Entry) -> Result<(), CommandJournalError> {
        match *entry {
            Entry::Command {
                command,
                at,
                settled,
                continued,
            } => {
                self.pass(at, settled);
                let submitted = self.model.submit(command, at);
                submitted.map_err(|e| CommandJournalError::Misfit(e.to_string()))?;
                self.commands += 1;
                self.note(command, continued);
            }
            Entry::PowerCut { at, settled } => {
                self.pass(at, settled);
                self.model.cut_power();
                self.open.clear();
            }
            Entry::Passed { at } => {
                self.pass(at, true);
                if self.model.now() != at {
                    let now = self.model.now();
                    let what = format!("it ends at {at}, and the device is at {now}");
                    return Err(CommandJournalError::Misfit(what));
                }
            }
            Entry::Held(held) => self.hold(held),
        }
        Ok(())
    }

    fn pass(&mut self, at: Nanos, settled: bool) {
        while let Some(event) = self.model.next_event()
            && (event < at || settled && event == at)
        {
            self.advance(event);
        }
    }

    fn advance(&mut self, event: Nanos) {
        self.model.advance(event, &mut self.completions);
        for completion in self.completions.drain(..) {
            let Some(open) = self.open.get_mut(&completion.tag) else {
                continue;
            };
            open.commands = open.commands.saturating_sub(1);
            // The command that had to follow is in the journal, or the journal ended before it.
            let waits = open.continued && self.ended.is_none();
            if open.commands == 0
                && !waits
                && let Some(open) = self.open.remove(&completion.tag)
                && let Some(ended) = &mut self.ended
            {
                ended.push(open);
            }
        }
    }

    fn note(&mut self, command: Command, continued: bool) {
        let open = self.open.entry(command.tag).or_default();
        open.commands += 1;
        open.continued = continued;
        let (lba, sectors) = (command.lba.0, command.sectors);
        open.ranges.extend(effect(command.kind, lba, sectors));
    }

    fn hold(&mut self, held: Held) {
        let open = Open {
            commands: held.commands,
            continued: held.continued,
            ranges: effect(held.kind, held.lba.0, held.sectors)
                .into_iter()
                .collect(),
        };
        self.open.insert(held.tag, open);
    }
}

fn effect(kind: CommandKind, lba: u64, sectors: u32) -> Option<(Effect, Range<u64>)> {
    let effect = match kind {
        CommandKind::Write { .. } => Effect::Written,
        CommandKind::Discard => Effect::Discarded,
        _ => return None,
    };
    let from = lba.saturating_mul(SECTOR_BYTES);
    let bytes = u64::from(sectors) * SECTOR_BYTES;
    Some((effect, from..from.saturating_add(bytes)))
}

/// Ranges that were discarded by requests that ended in this order, and not written by a later one.
fn lost_discards(ended: &[Open]) -> Vec<Range<u64>> {
    let mut lost = Vec::new();
    for (place, open) in ended.iter().enumerate() {
        let discarded = open.ranges.iter().filter(|(e, _)| *e == Effect::Discarded);
        let mut left: Vec<_> = discarded.map(|(_, range)| range.clone()).collect();
        for (effect, range) in ended[place + 1..].iter().flat_map(|open| &open.ranges) {
            if *effect == Effect::Written {
                left = without(left, range);
            }
        }
        lost.extend(left);
    }
    lost
}
