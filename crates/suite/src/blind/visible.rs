//! Questions that a drawn device answers at all: an undisturbed copy is measured at the places known to the generator
//! to see whether there is a measurable difference. This module does not know how conclusions are drawn; it only uses
//! the budget of a probe.

mod buffer;
mod cache;
mod drive;
mod map;
mod page;
mod pairs;

pub use page::SeenPages;

use super::Drawn;
use super::error::BlindError;
use super::part::Part;
use super::truth::{FIRST, Truth};
use nandscope_device::Device;
use nandscope_device::profile::card::{CardSection, OutOfOrder};
use nandscope_infer::probe::{Options, Question};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Smallest extra time of a read that is distinguished, µs: clocks of hosts have steps of a microsecond.
const READ_US: f64 = 3.0;
/// Smallest extra time of a write that is distinguished, µs; then the same as a share of its time.
const WRITE_US: f64 = 300.0;
const WRITE_SHARE: f64 = 0.01;
/// Smallest allocation unit, bytes.
const UNIT_MIN: u64 = 128 << 10;
/// Largest page, bytes; a smaller allocation unit looks like a page.
const PAGE_MAX: u64 = 512 << 10;
/// Number of AU boundaries that must be seen: three, and two of them again.
const BOUNDARIES: u64 = 6;
/// Largest ratio of the time of sequential reads to that of others for which read-ahead counts as visible.
const QUICKER: f64 = 0.85;
/// Distance of the places compared, AUs: closer AUs may be merged together.
const APART: u64 = 12;
/// Size of a write to each of several interleaved AUs, bytes.
const PIECE: u64 = 64 << 10;
/// Number of successive writes to one AU.
const PIECES: u64 = 16;
/// Smallest ratio of the times of two writes for which the slower one counts as visibly slower.
const SLOWER: f64 = 1.5;
/// Least number of merges per unit that counting open units takes.
const MERGES: f64 = 10.0;
/// Least number of merges per unit that testing the first units takes: two small writes to each, and the data after
/// each, close units.
const FIRST_MERGES: f64 = 4.0;
/// Idle time after writes.
const SETTLED: Nanos = Nanos::from_secs(1);

/// Questions and pages whose answers an undisturbed copy of a device shows.
#[derive(Clone, Debug, Default)]
pub struct Visible {
    /// The questions whose answers can be seen.
    pub questions: Vec<Question>,
    /// The pages that reads show.
    pub pages: SeenPages,
}

/// Measures an undisturbed copy of the device.
///
/// # Errors
/// [`BlindError`] if the device cannot be made or measured.
pub(super) fn visible(drawn: &Drawn) -> Result<Visible, BlindError> {
    let mut copy = Copy::of(drawn)?;
    let options = Options::for_capacity(copy.target.capacity());
    let truth = &drawn.truth;
    let pages = Copy::of(drawn)?.pages(truth)?;
    if let Some(card) = &drawn.profile.card {
        let mut questions = copy.card(card, truth, &options)?;
        // Without other evidence, a boundary of the smallest unit size or more may be that of a unit.
        let is_unit_seen = questions.contains(&Question::Unit);
        let page = pages.page.filter(|page| *page < UNIT_MIN || is_unit_seen);
        let large = pages.large.filter(|_| is_unit_seen);
        questions.extend(page.map(|_| Question::Page));
        questions.extend(large.map(|_| Question::LargePage));
        return Ok(Visible { questions, pages });
    }
    let mut seen = copy.drive(truth, &options)?;
    let fits = cache::kind_fits(truth, &drawn.profile, &options);
    seen.extend(fits.then_some(Question::SlcKind));
    // Each question is tested on its own copy.
    let buffer = Copy::of(drawn)?.buffer(truth, &options)?;
    seen.extend(buffer.then_some(Question::Buffer));
    let dies = Copy::of(drawn)?.pairs(truth)?;
    seen.extend(dies.then_some(Question::Dies));
    let map = Copy::of(drawn)?.map_range(truth, &options)?;
    seen.extend(map.then_some(Question::MapSpan));
    Ok(Visible {
        questions: seen,
        pages,
    })
}

/// An undisturbed copy of a device.
struct Copy {
    target: Part<SimTarget>,
}

impl Copy {
    fn of(drawn: &Drawn) -> Result<Self, BlindError> {
        let device = Device::new(&drawn.profile, &drawn.host, 1)?;
        Ok(Copy {
            target: Part::new(SimTarget::new(device), Bytes(drawn.begin)),
        })
    }

    fn submit(&mut self, kind: OpKind, offset: u64, length: u64) -> Result<(), TargetError> {
        self.target.submit(Request {
            tag: 0,
            kind,
            offset: Bytes(offset),
            length: length as u32,
            durable: false,
            thread: 0,
        })
    }

    /// Keeps `depth` operations under way; returns the end of each since the beginning, µs.
    fn many(
        &mut self,
        kind: OpKind,
        places: &[u64],
        length: u64,
        depth: u32,
    ) -> Result<Vec<f64>, TargetError> {
        let began = self.target.now();
        let (mut ends, mut replies) = (Vec::new(), Vec::new());
        let mut waiting = places.iter();
        let mut under_way = 0;
        while ends.len() < places.len() {
            while under_way < depth
                && let Some(at) = waiting.next()
            {
                self.submit(kind, *at, length)?;
                under_way += 1;
            }
            replies.clear();
            self.target.wait(Nanos::MAX, &mut replies)?;
            under_way -= replies.len() as u32;
            let now = self.target.now().saturating_sub(began).as_micros_f64();
            ends.extend(replies.iter().map(|_| now));
        }
        Ok(ends)
    }

    /// Lets the device finish background work after writes.
    fn settle(&mut self) -> Result<(), TargetError> {
        self.time(OpKind::Flush, 0, 0)?;
        let until = self.target.now() + SETTLED;
        let mut replies = Vec::new();
        while self.target.now() < until {
            self.target.wait(until, &mut replies)?;
        }
        Ok(())
    }

    /// Time of one operation, µs.
    fn time(&mut self, kind: OpKind, offset: u64, length: u64) -> Result<f64, TargetError> {
        let began = self.target.now();
        self.submit(kind, offset, length)?;
        let mut replies = Vec::new();
        self.target.wait(Nanos::MAX, &mut replies)?;
        Ok(self.target.now().saturating_sub(began).as_micros_f64())
    }

    fn card(
        &mut self,
        card: &CardSection,
        truth: &Truth,
        options: &Options,
    ) -> Result<Vec<Question>, TargetError> {
        let mut seen = vec![Question::Discard];
        let (Some(unit), Some(first)) = (truth.unit, truth.offset) else {
            return Ok(seen);
        };
        let page = truth.pages.first().copied().unwrap_or(512);
        let capacity = self.target.capacity().0;
        // The second boundary follows a unit that is written completely: opening the next one merges nothing.
        let boundary = first + unit;
        let begin = first;
        let most = (boundary + (8 << 20)).min(capacity);
        let (usual_us, opens_us) = self.written(begin, boundary, most, page)?;
        let rate = PIECE as f64 / usual_us;
        // Boundaries must lie within half of the write budget, and a sixth of the time.
        let share = (options.writes.0 / 2).min((options.time.as_micros_f64() / 6.0 * rate) as u64);
        let written = opens_us >= WRITE_US.max(WRITE_SHARE * usual_us)
            && unit * BOUNDARIES <= share.min(capacity);
        let across_unit = self.across(boundary)?;
        let across_page = self.across(boundary + page.min(unit / 2))?;
        let read = across_unit - across_page >= READ_US && 14 * unit <= 512 << 20;
        let units = unit > PAGE_MAX && (read || written);
        if units {
            seen.push(Question::Unit);
            seen.push(Question::Offset);
            let open = truth.open.map_or(0, u64::from);
            let piece = PIECE.max(page).min(unit / 2) / 512 * 512;
            // After the units that may be treated specially, and in other units each time.
            let from = first + FIRST * unit;
            let within_us = self.in_turn_us((unit, from), open, piece)?;
            let merge_us = self.in_turn_us((unit, from + unit), open + 1, piece)?;
            let room = (open + 2) * APART * unit + first <= capacity;
            let turns = MERGES * (open + 1) as f64 * merge_us;
            let fits = room && open <= 32 && turns <= options.time.as_micros_f64() / 4.0;
            if fits && merge_us >= SLOWER * within_us {
                seen.push(Question::OpenLinear);
                seen.push(Question::OpenRandom);
                // All of the first units are written twice, which must fit half of the write budget.
                let written_us = 2.0 * (FIRST * unit) as f64 / rate;
                let small_us = FIRST_MERGES * FIRST as f64 * merge_us;
                let in_time = written_us + small_us <= options.time.as_micros_f64() / 4.0;
                if in_time && 2 * FIRST * unit <= options.writes.0 / 2 {
                    seen.push(Question::Fat);
                }
            } else if card.out_of_order == OutOfOrder::Rewrite {
                // In AUs between those that were interleaved.
                let between = from + 2 * unit;
                let forwards = self.pieces_us((unit, between), piece, false)?;
                let backwards = self.pieces_us((unit, between + unit), piece, true)?;
                seen.extend((backwards >= SLOWER * forwards).then_some(Question::OpenRandom));
            }
        }
        if truth.read_ahead && self.ahead(boundary.min(capacity / 2))? {
            seen.push(Question::ReadAhead);
        }
        Ok(seen)
    }

    /// Writes sequentially across an AU boundary; returns the usual time of a piece, and the extra time of the piece
    /// that opens the AU, µs.
    fn written(
        &mut self,
        begin: u64,
        boundary: u64,
        most: u64,
        page: u64,
    ) -> Result<(f64, f64), TargetError> {
        let (mut usual, mut opens) = (Vec::new(), 0.0_f64);
        let mut at = begin;
        while at + PIECE <= most {
            let took = self.time(OpKind::Write, at, PIECE)?;
            match at + PIECE > boundary && at < boundary + page {
                true => opens = opens.max(took),
                false => usual.push(took),
            }
            at += PIECE;
        }
        usual.sort_unstable_by(f64::total_cmp);
        let last = usual
            .get(usual.len() * 9 / 10)
            .copied()
            .unwrap_or(f64::INFINITY);
        let mean = usual.iter().sum::<f64>() / usual.len().max(1) as f64;
        Ok((mean, opens - last))
    }

    /// Shortest time of several reads of a sector on either side of a place, µs.
    fn across(&mut self, place: u64) -> Result<f64, TargetError> {
        let mut quickest = f64::INFINITY;
        for _ in 0..3 {
            // A read elsewhere, so that no read continues the previous one.
            self.time(OpKind::Read, 0, 512)?;
            quickest = quickest.min(self.time(OpKind::Read, place - 512, 1024)?);
        }
        Ok(quickest)
    }

    /// Mean time of writes of `piece` bytes that fill an AU in ascending or descending order, µs.
    fn pieces_us(
        &mut self,
        (unit, begin): (u64, u64),
        piece: u64,
        backwards: bool,
    ) -> Result<f64, TargetError> {
        let count = PIECES.min(unit / piece.max(1));
        if begin + unit > self.target.capacity().0 {
            return Ok(f64::INFINITY);
        }
        let mut total = 0.0;
        for number in 0..count {
            let number = if backwards {
                count - 1 - number
            } else {
                number
            };
            total += self.time(OpKind::Write, begin + number * piece, piece)?;
        }
        Ok(total / count.max(1) as f64)
    }

    /// Mean time of a write of `piece` bytes to one of `units` interleaved AUs after all are open, µs.
    fn in_turn_us(
        &mut self,
        (unit, from): (u64, u64),
        units: u64,
        piece: u64,
    ) -> Result<f64, TargetError> {
        let capacity = self.target.capacity().0;
        let mut total = 0.0;
        let mut count = 0.0;
        for round in 0..2 {
            for number in 0..units {
                let at = from + number * APART * unit + round * piece;
                if at + piece > capacity {
                    return Ok(f64::INFINITY);
                }
                let took = self.time(OpKind::Write, at, piece)?;
                if round == 1 {
                    total += took;
                    count += 1.0;
                }
            }
        }
        Ok(total / f64::max(count, 1.0))
    }

    /// Whether sequential reads are quicker than the same reads in another order, with sixteen reads between a read and
    /// its continuation: more than the number of streams that a device tracks.
    fn ahead(&mut self, begin: u64) -> Result<bool, TargetError> {
        let begin = begin / PIECE * PIECE;
        let mut quicker = false;
        for length in [4096, PIECE] {
            let (mut in_order, mut others) = (0.0, 0.0);
            for n in 0..32 {
                in_order += self.time(OpKind::Read, begin + n * length, length)?;
            }
            for n in 0..32_u32 {
                let place = u64::from(n.reverse_bits() >> 27);
                others += self.time(OpKind::Read, begin + place * length, length)?;
            }
            quicker |= in_order < QUICKER * others;
        }
        Ok(quicker)
    }
}
