//! The next operation of each direction in a part of the target, such as a file of the job: its offset and length.
//! The generator selects the part and counts the work.

use super::fio_sequences::FioDice;
use super::lfsr::Lfsr;
use super::{Offsets, Random, RandomMap, Region, Sizes, Strides};
use crate::job::{BlockSizes, Job, PerKind, Rw};
use crate::{Op, OpKind};
use nandscope_units::saturating_u32;

/// Number of random blocks drawn ahead, so that their place in the map is prefetched.
const DRAWN_AHEAD: usize = 4;

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) region: Region,
    /// Zones between which the work moves.
    pub(super) zones: Option<Strides>,
    /// Whether no further operation fits in this pass.
    pub(super) done: bool,
    /// Write that follows the trim of the same block.
    pub(super) second: Option<Op>,
    /// End of the target, or of the file in it, relative to the start of the region, bytes.
    end: u64,
    streams: PerKind<Stream>,
    once: Option<Once>,
}

/// Method to use each block of a pass once.
#[derive(Clone, Debug)]
pub(super) enum Once {
    /// Used blocks are marked.
    Map(RandomMap),
    /// A shift register, which gives the random offsets instead of the streams.
    Register(Lfsr),
}

/// Random sequences shared by all places of a job, except those of offsets.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    pub(super) size: Random,
    pub(super) order: Random,
    /// Operations until the next random offset (`rw=randread:8`).
    pub(super) in_sequence: u64,
    /// Sizes of sequential and of random operations (`bs_is_seq_rand`), instead of sizes by direction.
    pub(super) by_order: Option<[Sizes; 2]>,
    /// fio's sequences, if the job names its generator.
    pub(super) fio: Option<FioDice>,
}

/// State of one direction.
#[derive(Clone, Debug)]
struct Stream {
    sizes: Sizes,
    offsets: Offsets,
    random: Random,
    /// Ring of blocks drawn ahead, and index of the first of them; nothing else is drawn from `random`.
    ahead: Option<([u64; DRAWN_AHEAD], usize)>,
    align: u64,
    random_percent: u32,
    /// For backward access: whether it begins at the end of the region. `None` for forward access.
    rewind: Option<bool>,
    /// Start and end of the last operation, relative to the start of the region, bytes.
    last: u64,
    next: u64,
}

impl Place {
    /// A part of the target that reaches `end` bytes beyond its start; `random` gives the sequence of
    /// a direction, `heat` that of its order of heat.
    pub(super) fn new(
        job: &Job,
        region: Region,
        end: u64,
        zones: Option<Strides>,
        once: Option<Once>,
        random: impl Fn(OpKind) -> Random,
        heat: impl Fn(OpKind) -> Option<Random>,
    ) -> Self {
        let stream = |kind| Stream::new(job, kind, &region, random(kind), heat(kind));
        Place {
            region,
            end,
            zones,
            done: false,
            second: None,
            streams: PerKind {
                read: stream(OpKind::Read),
                write: stream(OpKind::Write),
                trim: stream(OpKind::Trim),
            },
            once,
        }
    }

    /// Whether each operation of a kind has the length of a block and a random block as its offset, so that
    /// [`Place::take`] has no other result.
    pub(super) fn is_plain(&self, rw: &Rw, kind: OpKind, dice: &Dice) -> bool {
        let stream = self.streams.get(kind);
        let size = u64::from(stream.sizes.min());
        let blocks = stream.offsets.blocks();
        let last = (blocks - 1) * stream.align;
        // The kinds of a mixed job have one map together, whose blocks may be smaller.
        let fits_map = match &self.once {
            Some(Once::Map(map)) => map.blocks() == blocks,
            Some(Once::Register(_)) => false,
            None => true,
        };
        fits_map
            && rw.random
            && rw.modifier.is_none_or(|n| n <= 1)
            && stream.random_percent >= 100
            && stream.sizes.is_fixed()
            && stream.align == size
            && stream.rewind.is_none()
            && last < self.region.length
            && last + size <= self.end
            && self.zones.is_none()
            && dice.by_order.is_none()
            && dice.fio.is_none()
    }

    /// As [`Place::take`] where [`Place::is_plain`].
    #[inline]
    pub(super) fn take_plain(&mut self, kind: OpKind) -> Option<(u64, u32)> {
        let stream = self.streams.get_mut(kind);
        let block = match &mut self.once {
            Some(Once::Map(map)) => {
                let drawn = stream.draw_ahead(|next| map.prefetch(next));
                let block = map.next_free(drawn)?;
                map.take(block, 1);
                block
            }
            _ => stream.offsets.draw(&mut stream.random),
        };
        let (offset, size) = (block * stream.align, stream.sizes.min());
        stream.last = offset;
        stream.next = offset + u64::from(size);
        Some((self.region.start + offset, size))
    }

    /// Begins a new pass: offsets in order start again, all blocks are free.
    pub(super) fn renew(&mut self) {
        match &mut self.once {
            Some(Once::Map(map)) => map.clear(),
            Some(Once::Register(lfsr)) => lfsr.restart(),
            None => {}
        }
        for kind in [OpKind::Read, OpKind::Write, OpKind::Trim] {
            let stream = self.streams.get_mut(kind);
            (stream.last, stream.next) = (0, 0);
        }
        self.done = false;
    }

    /// Moves to the next zone if the present one has had its I/O.
    pub(super) fn turn(&mut self) {
        if self.zones.as_mut().is_some_and(Strides::moves) {
            self.renew();
        }
    }

    /// The next operation of a direction: offset from the start of the target, and length. `None` if none fits.
    #[inline]
    pub(super) fn take(&mut self, rw: &Rw, kind: OpKind, dice: &mut Dice) -> Option<(u64, u32)> {
        let (offset, fresh) = self.offset(rw, kind, dice)?;
        let length = self.region.length;
        if offset >= length {
            return None;
        }
        let stream = self.streams.get_mut(kind);
        // As in fio, operations in order have the sizes of reads and random ones those of writes.
        let (sizes, drawn_as) = match &dice.by_order {
            Some([in_order, _]) if !fresh => (in_order, OpKind::Read),
            Some([_, random]) => (random, OpKind::Write),
            None => (&stream.sizes, kind),
        };
        // As in fio, a single size may reach beyond the region, as far as the target goes.
        let room = match sizes.is_fixed() && stream.rewind.is_none() {
            true => self.end,
            false => length,
        };
        let room = room.checked_sub(offset)?;
        let random = match &mut dice.fio {
            Some(fio) => fio.sizes.get_mut(drawn_as),
            None => &mut dice.size,
        };
        let mut size = sizes.draw(room, random)?;
        if let Some(Once::Map(map)) = &mut self.once {
            let unit = u64::from(stream.sizes.min());
            let (block, want) = (offset / unit, u64::from(size).div_ceil(unit));
            // As in fio, sequential operations do not change the map, and blocks after a random one may be used
            // already, which shortens the operation.
            let got = if fresh {
                map.take(block, want).max(1)
            } else {
                want
            };
            if got < want {
                size = saturating_u32(got * unit);
            }
        }
        stream.last = offset;
        stream.next = offset + u64::from(size);
        let base = self.zones.as_ref().map_or(0, |zones| zones.base);
        if let Some(zones) = &mut self.zones {
            zones.done += u64::from(size);
        }
        Some((self.region.start + base + offset, size))
    }

    /// Next offset relative to the start of the region, and whether it should be random.
    #[inline]
    fn offset(&mut self, rw: &Rw, kind: OpKind, dice: &mut Dice) -> Option<(u64, bool)> {
        let (length, end) = (self.region.length, self.end);
        let stream = self.streams.get_mut(kind);
        let sizes = match &dice.by_order {
            Some([in_order, _]) => in_order,
            None => &stream.sizes,
        };
        if !rw.random {
            let skip = rw.modifier.unwrap_or(0);
            let offset = stream.in_order(length, end, skip, sizes);
            return offset.map(|offset| (offset, false));
        }
        let in_order = match rw.modifier.filter(|n| *n > 1) {
            Some(repeat) => {
                let place = dice.in_sequence;
                dice.in_sequence = (place + 1) % repeat;
                if place > 0 && rw.identical {
                    return Some((stream.last, false));
                }
                place > 0
            }
            None if stream.random_percent < 100 => {
                let random = match &mut dice.fio {
                    Some(fio) => fio.order.get_mut(kind),
                    None => &mut dice.order,
                };
                !random.percent(stream.random_percent)
            }
            None => false,
        };
        if in_order && let Some(offset) = stream.in_order(length, length, 0, sizes) {
            return Some((offset, false));
        }
        // As in fio, an operation that should be sequential but has no room there does not change the map.
        let fresh = !in_order;
        if let Some(Once::Register(lfsr)) = &mut self.once {
            return Some((lfsr.draw()? * stream.align, fresh));
        }
        let block = match &self.once {
            Some(Once::Map(map)) => {
                let block = match dice.fio {
                    // A sequence of fio begins again with the next pass.
                    Some(_) => stream.draw(&mut dice.fio),
                    None => stream.draw_ahead(|next| map.prefetch(next)),
                };
                map.next_free(block)?
            }
            _ => stream.draw(&mut dice.fio),
        };
        Some((block * stream.align, fresh))
    }
}

impl Stream {
    fn new(
        job: &Job,
        kind: OpKind,
        region: &Region,
        mut random: Random,
        mut heat: Option<Random>,
    ) -> Self {
        let sizes = Sizes::of(job, job.bs.get(kind));
        let min = u64::from(sizes.min());
        let align = job.block_align.get(kind).map_or(min, u64::from).max(1);
        // As in fio: the last block is the last whose smallest operation fits.
        let usable = region.length.saturating_sub(min.saturating_sub(align));
        Stream {
            offsets: Offsets::new(
                &job.distribution,
                usable / align,
                align,
                heat.as_mut().unwrap_or(&mut random),
            ),
            sizes,
            random,
            ahead: None,
            align,
            random_percent: *job.percentage_random.get(kind),
            rewind: job.rw.backwards.then_some(region.start > 0),
            last: 0,
            next: 0,
        }
    }

    /// The random block that was drawn [`DRAWN_AHEAD`] operations before; `prepare` is called with the block drawn
    /// now.
    #[inline]
    fn draw_ahead(&mut self, prepare: impl Fn(u64)) -> u64 {
        let (ahead, place) = self.ahead.get_or_insert_with(|| {
            let blocks = std::array::from_fn(|_| self.offsets.draw(&mut self.random));
            blocks.into_iter().for_each(&prepare);
            (blocks, 0)
        });
        let next = self.offsets.draw(&mut self.random);
        prepare(next);
        let block = std::mem::replace(&mut ahead[*place], next);
        *place = (*place + 1) % DRAWN_AHEAD;
        block
    }

    /// The next random block.
    #[inline]
    fn draw(&mut self, fio: &mut Option<FioDice>) -> u64 {
        let random = match fio {
            Some(fio) if self.offsets.is_uniform() => &mut fio.offsets,
            _ => &mut self.random,
        };
        self.offsets.draw(random)
    }

    /// `skip` bytes after the last operation; `None` if nothing fits there. As in fio, a
    /// single size need only begin in the region, and end before `end`.
    #[inline]
    fn in_order(&self, length: u64, end: u64, skip: u64, sizes: &Sizes) -> Option<u64> {
        let size = u64::from(sizes.min());
        if let Some(rewind) = self.rewind {
            return self.backwards(length, skip, size, rewind);
        }
        let skip = if self.next == 0 { 0 } else { skip };
        let offset = self.next.checked_add(skip)?;
        let room = if sizes.is_fixed() { end } else { length };
        (offset < length && offset.checked_add(size)? <= room).then_some(offset)
    }

    /// As in fio: from the end of the last operation back by `skip`, and at the start of the region
    /// again from its end. `rewind`: the first operation is at the end as well, which fio does in
    /// a region that does not begin at 0.
    fn backwards(&self, length: u64, skip: u64, size: u64, rewind: bool) -> Option<u64> {
        if self.next == 0 && !rewind {
            return (size <= length).then_some(0);
        }
        let from = if self.next == 0 { length } else { self.next };
        let offset = from
            .checked_sub(skip)
            .or_else(|| length.checked_sub(skip))?;
        (offset.checked_add(size)? <= length).then_some(offset)
    }
}

/// The sizes of operations in order and of random ones, where the job gives those.
pub(super) fn sizes_by_order(job: &Job) -> Option<[Sizes; 2]> {
    let sizes = |of: &BlockSizes| Sizes::of(job, of);
    job.sizes_by_order
        .then(|| [sizes(&job.bs.read), sizes(&job.bs.write)])
}
