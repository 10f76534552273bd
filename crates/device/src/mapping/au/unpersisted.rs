//! Times at which each piece of the latest writes of a card begins and ends to be programmed, for power cuts. Recorded on
//! request only ([`crate::powercut`]).

use super::AuMapDevice;
use super::buffer::Held;
use crate::command::{CommandKind, Status};
use crate::powercut::{Cut, Damage, Numbers};
use nandscope_units::Nanos;

/// Number of programmed pieces that are kept, since the next program may share their word line.
const REMEMBERED: usize = 16;

/// Number of pieces above which persisted ones are removed.
const MOST_PIECES: usize = 256;

/// Location of a piece of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In RAM, waiting for the rest of its page.
    Ram,
    /// Programmed, page after page, from one time to the other.
    Flash(Nanos, Nanos),
}

/// Sectors `from..to` of a write.
#[derive(Clone, Copy, Debug)]
struct Piece {
    write: u64,
    from: u64,
    to: u64,
    place: Place,
}

/// Pieces of writes that a power cut may damage.
#[derive(Clone, Debug, Default)]
pub(super) struct UnpersistedWrites {
    pub(super) numbers: Numbers,
    /// In order of writing.
    pieces: Vec<Piece>,
    /// Ends of flushes, past and future. Data programmed before the end of one has a second copy.
    flushes: Vec<Nanos>,
}

impl UnpersistedWrites {
    /// A write's sectors are in RAM, at `now`.
    pub(super) fn taken(&mut self, write: u64, from: u64, to: u64, now: Nanos) {
        if self.pieces.len() + self.flushes.len() >= MOST_PIECES {
            self.settle(now);
        }
        self.pieces.push(Piece {
            write,
            from,
            to,
            place: Place::Ram,
        });
    }

    /// The data of these sectors that was in RAM is programmed from `begin` to `end`.
    pub(super) fn programmed(&mut self, held: Held, begin: Nanos, end: Nanos) {
        let mut split = Vec::new();
        for mut piece in std::mem::take(&mut self.pieces) {
            let (from, to) = (piece.from.max(held.from), piece.to.min(held.to));
            if piece.place != Place::Ram || from >= to {
                split.push(piece);
                continue;
            }
            if piece.from < from {
                split.push(Piece { to: from, ..piece });
            }
            if to < piece.to {
                split.push(Piece { from: to, ..piece });
            }
            (piece.from, piece.to) = (from, to);
            piece.place = Place::Flash(begin, end);
            split.push(piece);
        }
        self.pieces = split;
    }

    /// A flush ends at `end`.
    pub(super) fn flushed(&mut self, end: Nanos) {
        self.flushes.push(end);
    }

    /// Removes discarded sectors in RAM, which will never be written.
    pub(super) fn forget(&mut self, from: u64, to: u64) {
        self.pieces
            .retain(|p| p.place != Place::Ram || p.to <= from || p.from >= to);
    }

    /// Removes persisted pieces: those that the last flush covered, and all but the latest of the other programmed ones.
    fn settle(&mut self, now: Nanos) {
        let over = self.flushes.iter().filter(|end| **end <= now);
        let flushed = over.max().copied().unwrap_or(Nanos::ZERO);
        self.flushes.retain(|end| *end > now);
        let is_done = |p: &Piece| matches!(p.place, Place::Flash(_, end) if end <= now);
        let mut done = self.pieces.iter().filter(|p| is_done(p)).count();
        self.pieces.retain(|p| {
            let Place::Flash(_, end) = p.place else {
                return true;
            };
            let safe = end <= flushed || (is_done(p) && done > REMEMBERED);
            done -= usize::from(is_done(p));
            !safe
        });
    }

    fn durable(&self) -> u64 {
        let first = self.pieces.iter().map(|p| p.write).min();
        let incomplete = self.numbers.first_incomplete();
        first.map_or(incomplete, |first| first.min(incomplete))
    }

    /// Lost and torn sectors of a power cut at `now`, with the layout of `pages`.
    fn damage(&self, now: Nanos, pages: Pages) -> Vec<Damage> {
        let mut damage = Vec::new();
        let mut torn_pages = Vec::new();
        for piece in &self.pieces {
            let (write, from, to) = (piece.write, piece.from, piece.to);
            match piece.place {
                Place::Flash(_, end) if end <= now => {}
                Place::Flash(begin, end) if begin < now => {
                    let page = pages.reached(from, to, (now - begin).0, (end - begin).0);
                    let start = (page * pages.sectors).max(from);
                    let next = ((page + 1) * pages.sectors).min(to);
                    damage.push(Damage::new(write, start, next, true));
                    torn_pages.push(page);
                    if next < to {
                        damage.push(Damage::new(write, next, to, false));
                    }
                }
                _ => damage.push(Damage::new(write, from, to, false)),
            }
        }
        for page in torn_pages {
            self.tear_partners(now, page, pages, &mut damage);
        }
        damage.sort_by_key(|d| (d.write, d.first));
        damage
    }

    /// Damages the pages before a torn one on its word line, if they were programmed since the flush.
    fn tear_partners(&self, now: Nanos, page: u64, pages: Pages, damage: &mut Vec<Damage>) {
        let first = page / pages.per_word_line * pages.per_word_line * pages.sectors;
        let end = page * pages.sectors;
        for piece in &self.pieces {
            // In a piece under way, the pages before the torn one have been programmed.
            let (from, to) = (piece.from.max(first), piece.to.min(end));
            let has_begun = matches!(piece.place, Place::Flash(begin, _) if begin < now);
            if has_begun && from < to {
                damage.push(Damage::new(piece.write, from, to, true));
            }
        }
    }
}

/// How pages lie.
#[derive(Clone, Copy, Debug)]
struct Pages {
    sectors: u64,
    per_word_line: u64,
}

impl Pages {
    /// The page that is being programmed when `passed` of `whole` have passed.
    fn reached(self, from: u64, to: u64, passed: u64, whole: u64) -> u64 {
        let (first, last) = (from / self.sectors, (to - 1) / self.sectors);
        let share = u128::from(last - first + 1) * u128::from(passed) / u128::from(whole.max(1));
        // Less than the number of pages, since less than the whole has passed.
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        first.saturating_add(share).min(last)
    }
}

impl AuMapDevice {
    pub(crate) fn track_writes(&mut self) {
        self.unpersisted.get_or_insert_default();
    }

    pub(crate) fn durable_writes(&mut self) -> u64 {
        let now = self.schedule.now();
        self.unpersisted.as_mut().map_or(0, |unpersisted| {
            unpersisted.settle(now);
            unpersisted.durable()
        })
    }

    pub(crate) fn cut_power(&mut self) -> Cut {
        self.durable_writes();
        let damage = self.damage();
        let mut dropped = Vec::new();
        while self.commands.outstanding() > 0 && self.next_event().is_some() {
            self.advance(Nanos::MAX, &mut dropped);
        }
        let at = self
            .write_out_buffer(self.schedule.now())
            .max(self.flash_free);
        let ready = at.max(self.controller_free) + self.recovery();
        self.reads.clear();
        self.buffer.drain();
        self.counters.power_cycled(false);
        self.controller_free = ready;
        while self.schedule.now() < ready {
            self.advance(ready, &mut dropped);
        }
        if let Some(unpersisted) = &mut self.unpersisted {
            unpersisted.pieces.clear();
            unpersisted.flushes.clear();
        }
        Cut { damage, ready }
    }

    fn damage(&self) -> Vec<Damage> {
        let Some(unpersisted) = &self.unpersisted else {
            return Vec::new();
        };
        let pages = Pages {
            sectors: u64::from(self.map.geometry.page_sectors),
            per_word_line: u64::from(self.profile.nand.cell.bits()),
        };
        let mut damage = unpersisted.damage(self.schedule.now(), pages);
        // Writes that were refused, or that the host has not sent yet, are lost in full.
        for (index, write) in unpersisted.numbers.pending() {
            let p = &self.commands[index];
            if p.status != Status::Ok || self.commands.waiting().any(|waiting| waiting == index) {
                let from = p.command.lba.0;
                let to = from + u64::from(p.command.sectors);
                damage.push(Damage::new(write, from, to, false));
            }
        }
        damage.sort_by_key(|d| (d.write, d.first));
        damage
    }

    /// The end of each open AU, and of each block of the shared log, is sought by halves, a page at a time.
    fn recovery(&self) -> Nanos {
        let g = &self.map.geometry;
        let pages = (g.au_sectors / g.page_sectors.max(1)).max(1);
        let ends = u64::from(self.card.open_aus) + u64::from(self.card.shared_log_aus());
        let looks = ends * u64::from(pages.ilog2() + 1);
        let page = self.extent(0, u64::from(g.page_sectors));
        Nanos(self.times.reading(&page, false).time.0 * looks) + self.times.read_command
    }

    /// A write is submitted.
    pub(super) fn number(&mut self, index: u32, kind: CommandKind) {
        if let Some(unpersisted) = &mut self.unpersisted
            && matches!(kind, CommandKind::Write { .. })
        {
            unpersisted.numbers.submitted(index);
        }
    }
}
