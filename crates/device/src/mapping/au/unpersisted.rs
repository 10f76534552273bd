//! Program times of each piece of a card's latest writes, for power cuts. Recorded only on request
//! ([`crate::powercut`]).

use super::AuMapDevice;
use super::buffer::Held;
use crate::command::{CommandKind, Status};
use crate::powercut::{Cut, Damage, Numbers};
use nandscope_units::Nanos;

/// Number of programmed pieces kept, since the next program may share their word line.
const REMEMBERED: usize = 16;

/// Number of pieces above which persisted pieces are removed.
const MOST_PIECES: usize = 256;

/// Location of a piece of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In RAM; the rest of the page has not come.
    Ram,
    /// In flash: begin and end of its programs, page after page.
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
    /// Pieces in order of writing.
    pieces: Vec<Piece>,
    /// Ends of flushes, past and future. Data programmed before the end of a flush has a second copy.
    flushes: Vec<Nanos>,
}

impl UnpersistedWrites {
    /// Adds sectors of a write that are in RAM at `now`.
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

    /// Marks buffered sectors as programmed from `begin` to `end`.
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

    /// Records a flush that ends at `end`.
    pub(super) fn flushed(&mut self, end: Nanos) {
        self.flushes.push(end);
    }

    /// Removes discarded sectors from RAM; they will never be programmed.
    pub(super) fn forget(&mut self, from: u64, to: u64) {
        self.pieces
            .retain(|p| p.place != Place::Ram || p.to <= from || p.from >= to);
    }

    /// Removes persisted pieces: those programmed before the last flush, and all but the latest of the others.
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

    /// Lost and torn sectors of a power cut at `now`; `pages` has the page layout.
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

    /// Marks the pages before a torn page on its word line as torn, if they were programmed since the last flush.
    fn tear_partners(&self, now: Nanos, page: u64, pages: Pages, damage: &mut Vec<Damage>) {
        let first = page / pages.per_word_line * pages.per_word_line * pages.sectors;
        let end = page * pages.sectors;
        for piece in &self.pieces {
            // Pages before the torn one in a piece under way are programmed.
            let (from, to) = (piece.from.max(first), piece.to.min(end));
            let has_begun = matches!(piece.place, Place::Flash(begin, _) if begin < now);
            if has_begun && from < to {
                damage.push(Damage::new(piece.write, from, to, true));
            }
        }
    }
}

/// Layout of pages: sectors per page, and pages per word line.
#[derive(Clone, Copy, Debug)]
struct Pages {
    sectors: u64,
    per_word_line: u64,
}

impl Pages {
    /// The page of sectors `from..to` being programmed at time `passed` of a total of `whole`, both ns.
    fn reached(self, from: u64, to: u64, passed: u64, whole: u64) -> u64 {
        let (first, last) = (from / self.sectors, (to - 1) / self.sectors);
        let share = u128::from(last - first + 1) * u128::from(passed) / u128::from(whole.max(1));
        // Below the number of pages, since `passed` is below `whole`.
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
        // Refused writes, and writes that the host has not sent yet, are lost entirely.
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

    /// Recovery time: a binary search for the end of each open AU and each block of the shared log, one page read per
    /// step.
    fn recovery(&self) -> Nanos {
        let g = &self.map.geometry;
        let pages = (g.au_sectors / g.page_sectors.max(1)).max(1);
        let ends = u64::from(self.card.open_aus) + u64::from(self.card.shared_log_aus());
        let looks = ends * u64::from(pages.ilog2() + 1);
        let page = self.extent(0, u64::from(g.page_sectors));
        Nanos(self.times.reading(&page, false).time.0 * looks) + self.times.read_command
    }

    /// Numbers a submitted command, if it is a write.
    pub(super) fn number(&mut self, index: u32, kind: CommandKind) {
        if let Some(unpersisted) = &mut self.unpersisted
            && matches!(kind, CommandKind::Write { .. })
        {
            unpersisted.numbers.submitted(index);
        }
    }
}
