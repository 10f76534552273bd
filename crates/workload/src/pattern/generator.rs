//! The operations of a job, one after the other: directions, offsets and sizes put together, with
//! flushes between them. How fast they go and when a timed run ends is the runner's business.

use super::region::fault;
use super::setup::{check_sizes, maps};
use super::strides::Strides;
use super::{Mix, Offsets, Random, RandomMap, Region, Sizes};
use crate::job::{Access, BlockSizes, Job, JobError, PerKind, Rw};
use crate::{Op, OpKind, OpSource, Pace, TimedOp};
use nandscope_units::{Bytes, saturating_u32};

/// The operations of one clone of a job.
///
/// A run ends once `io_size` (or `size`, or `number_ios`) is reached or the region is used up;
/// [`OpSource::restart`] begins the next. A time-based job never ends by itself. A pass over the
/// region ends when a direction finds no further block: sequential offsets then restart, and
/// the random map is cleared.
#[derive(Clone, Debug)]
pub struct Generator {
    rw: Rw,
    region: Region,
    /// How far operations in order may reach, from the start of the region.
    reach: u64,
    /// Zones between which the work moves.
    zones: Option<Strides>,
    /// Bytes that a run may issue; `None` for a time-based job.
    budget: Option<u64>,
    /// Operations that a run may issue.
    limit: Option<u64>,
    /// A used-up region is restarted within the run.
    renews: bool,
    mix: Mix,
    size_random: Random,
    order_random: Random,
    streams: PerKind<Stream>,
    maps: Vec<RandomMap>,
    flush: Flushes,
    progress: Progress,
    /// Write that follows the trim of the same block.
    second: Option<Op>,
    largest: u32,
}

/// State of one direction.
#[derive(Clone, Debug)]
struct Stream {
    sizes: Sizes,
    offsets: Offsets,
    random: Random,
    align: u64,
    random_percent: u32,
    /// Index into the maps.
    map: Option<usize>,
    /// Goes backwards, and whether from the end of the region on.
    rewind: Option<bool>,
    /// Start of the last operation and end of it, from the start of the region.
    last: u64,
    next: u64,
}

/// When to flush.
#[derive(Clone, Debug)]
struct Flushes {
    every: [u64; 2],
    at_end: bool,
    due: bool,
    writes: u64,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    bytes: u64,
    operations: u64,
    /// Operations since the pass began: a pass without any must not be tried again.
    in_pass: u64,
    /// Operations until the next random offset (`rw=randread:8`).
    in_sequence: u64,
    exhausted: bool,
    ended: bool,
}

impl Generator {
    /// The operations of clone number `clone` (from 0) of `job` on a target of `capacity` bytes.
    /// `seed` is that of the run; a job with `randseed` uses its own.
    ///
    /// # Errors
    /// Returns [`JobError`] if the job does not fit the target, replays a trace, or its map would not fit in memory.
    pub fn new(job: &Job, clone: u32, capacity: Bytes, seed: u64) -> Result<Generator, JobError> {
        if job.trace.is_some() {
            return Err(fault(
                job,
                "read_iolog",
                format!(
                    "job `{}` replays a trace and has no pattern of its own",
                    job.name
                ),
                "open the trace instead",
            ));
        }
        check_sizes(job)?;
        let region = Region::of(job, clone, capacity)?;
        let zones = Offsets::absolute_bytes(&job.distribution);
        if zones > region.length {
            return Err(fault(
                job,
                "random_distribution",
                format!(
                    "the zones take {zones} bytes, but the region has {}",
                    region.length
                ),
                "make the zones smaller or the region larger",
            ));
        }
        let seed = job.rand_seed.unwrap_or(seed);
        let place = [u64::from(job.ordinal), u64::from(clone)];
        let random = |purpose: u64| Random::new(seed, &[place[0], place[1], purpose]);
        let zones = Strides::of(job, &region, capacity)?;
        // Offsets are those within a zone.
        let work = Region {
            length: zones.as_ref().map_or(region.length, |z| z.range),
            ..region
        };
        let (maps, map_of) = maps(job, &work)?;
        let stream = |kind: OpKind, purpose: u64| {
            // What is read often is written often: one order of heat for all directions, as in fio.
            let heat = (kind != OpKind::Read).then(|| random(3));
            Stream::new(job, kind, &work, *map_of.get(kind), random(purpose), heat)
        };
        let timed = job.pacing.time_based;
        let writes = job.rw.kinds().contains(&OpKind::Write);
        Ok(Generator {
            rw: job.rw,
            region: work,
            reach: reach(job, &work, capacity),
            zones,
            budget: (!timed).then_some(region.budget),
            limit: job.number_ios.filter(|_| !timed),
            renews: timed || job.io_size.is_some() || job.strides.is_some() || job.rw.backwards,
            mix: Mix::new(job.rw.access, job.rwmix_read, random(0)),
            size_random: random(1),
            order_random: random(2),
            streams: PerKind {
                read: stream(OpKind::Read, 3),
                write: stream(OpKind::Write, 4),
                trim: stream(OpKind::Trim, 5),
            },
            maps,
            flush: Flushes {
                every: [job.fsync, job.fdatasync],
                at_end: writes && (job.end_fsync || job.fsync_on_close),
                due: false,
                writes: 0,
            },
            progress: Progress::default(),
            second: None,
            largest: job
                .rw
                .kinds()
                .iter()
                .map(|k| job.bs.get(*k).max())
                .max()
                .unwrap_or(0),
        })
    }

    fn reached_limit(&self) -> bool {
        let p = &self.progress;
        self.budget.is_some_and(|b| p.bytes >= b) || self.limit.is_some_and(|n| p.operations >= n)
    }

    /// Restarts sequential offsets, and frees all blocks.
    fn renew(&mut self) {
        for map in &mut self.maps {
            map.clear();
        }
        for kind in [OpKind::Read, OpKind::Write, OpKind::Trim] {
            let stream = self.streams.get_mut(kind);
            (stream.last, stream.next) = (0, 0);
        }
        self.progress.in_pass = 0;
        self.progress.exhausted = false;
    }

    /// Places an operation; a used-up region is restarted if the job allows it.
    fn place(&mut self, kind: OpKind) -> Option<(u64, u32)> {
        if let Some(found) = self.try_place(kind) {
            return Some(found);
        }
        self.progress.exhausted = true;
        if !self.renews || self.progress.in_pass == 0 {
            return None;
        }
        self.renew();
        self.try_place(kind)
    }

    #[inline]
    fn try_place(&mut self, kind: OpKind) -> Option<(u64, u32)> {
        let (offset, fresh) = self.offset(kind)?;
        let length = if self.rw.random {
            self.region.length
        } else {
            self.reach
        };
        let stream = self.streams.get_mut(kind);
        let room = length.checked_sub(offset)?;
        let mut size = stream.sizes.draw(room, &mut self.size_random)?;
        if let Some(map) = stream.map.and_then(|i| self.maps.get_mut(i)) {
            let (block, want) = (
                offset / stream.align,
                u64::from(size).div_ceil(stream.align),
            );
            if fresh {
                // Blocks behind this one may be used: the operation is cut short, as in fio.
                let got = map.take(block, want);
                if got < want {
                    size = saturating_u32(got * stream.align);
                }
            } else {
                map.cover(block, want);
            }
        }
        stream.last = offset;
        stream.next = offset + u64::from(size);
        Some((offset, size))
    }

    /// The next offset from the start of the region, and whether it is a random one.
    #[inline]
    fn offset(&mut self, kind: OpKind) -> Option<(u64, bool)> {
        let stream = self.streams.get_mut(kind);
        if !self.rw.random {
            return stream
                .in_order(self.reach, self.rw.modifier.unwrap_or(0))
                .map(|offset| (offset, false));
        }
        if let Some(repeat) = self.rw.modifier.filter(|n| *n > 1) {
            let place = self.progress.in_sequence;
            self.progress.in_sequence = (place + 1) % repeat;
            if place > 0 {
                if self.rw.identical {
                    return Some((stream.last, false));
                }
                if let Some(offset) = stream.in_order(self.region.length, 0) {
                    return Some((offset, false));
                }
            }
        } else if stream.random_percent < 100
            && !self.order_random.percent(stream.random_percent)
            && let Some(offset) = stream.in_order(self.region.length, 0)
        {
            return Some((offset, false));
        }
        let mut block = stream.offsets.draw(&mut stream.random);
        if let Some(map) = stream.map.and_then(|i| self.maps.get(i)) {
            block = map.next_free(block)?;
        }
        Some((block * stream.align, true))
    }

    #[inline]
    fn count(&mut self, kind: OpKind, length: u32) {
        let p = &mut self.progress;
        p.operations += 1;
        p.in_pass += 1;
        // A job of trims and writes counts what it writes.
        if !(kind == OpKind::Trim && self.rw.access == Access::TrimWrite) {
            p.bytes += u64::from(length);
        }
        if kind == OpKind::Write {
            let f = &mut self.flush;
            f.writes += 1;
            f.due = f
                .every
                .iter()
                .any(|n| *n > 0 && f.writes.is_multiple_of(*n));
        }
    }

    fn end(&mut self) -> Option<TimedOp> {
        let flush = self.flush.at_end && !self.progress.ended;
        self.progress.ended = true;
        flush.then(|| untimed(OpKind::Flush, 0, 0))
    }
}

impl Stream {
    fn new(
        job: &Job,
        kind: OpKind,
        region: &Region,
        map: Option<usize>,
        mut random: Random,
        mut heat: Option<Random>,
    ) -> Self {
        let sizes = Sizes::new(job.bs.get(kind));
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
            align,
            random_percent: *job.percentage_random.get(kind),
            map,
            rewind: job.rw.backwards.then_some(region.start > 0),
            last: 0,
            next: 0,
        }
    }

    /// Behind the last operation and `skip` bytes more; `None` where nothing fits there.
    #[inline]
    fn in_order(&self, length: u64, skip: u64) -> Option<u64> {
        if let Some(rewind) = self.rewind {
            return self.backwards(length, skip, rewind);
        }
        let skip = if self.next == 0 { 0 } else { skip };
        let offset = self.next.checked_add(skip)?;
        let end = offset.checked_add(u64::from(self.sizes.min()))?;
        (end <= length).then_some(offset)
    }
}

impl Generator {
    #[inline]
    fn next(&mut self, pace: Option<&Pace>) -> Option<TimedOp> {
        if let Some(op) = self.second.take() {
            self.count(op.kind, op.length);
            return Some(TimedOp { op, due: None });
        }
        if self.progress.ended || self.reached_limit() {
            return self.end();
        }
        if self.flush.due {
            self.flush.due = false;
            return Some(untimed(OpKind::Flush, 0, 0));
        }
        if self.zones.as_mut().is_some_and(Strides::moves) {
            self.renew();
        }
        let kind = self.mix.next_kind(pace);
        let Some((offset, length)) = self.place(kind) else {
            return self.end();
        };
        let base = self.zones.as_ref().map_or(0, |z| z.base);
        let timed = untimed(kind, self.region.start + base + offset, length);
        if let Some(zones) = &mut self.zones {
            zones.done += u64::from(length);
        }
        if self.rw.access == Access::TrimWrite {
            self.second = Some(Op {
                kind: OpKind::Write,
                ..timed.op
            });
        }
        self.count(kind, length);
        Some(timed)
    }
}

impl Stream {
    /// As in fio: from the end of the last operation back by `skip`, and at the start of the region
    /// again from its end. `rewind`: the first operation is at the end as well, which fio does in
    /// a region that does not begin at 0.
    fn backwards(&self, length: u64, skip: u64, rewind: bool) -> Option<u64> {
        let size = u64::from(self.sizes.min());
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

impl OpSource for Generator {
    #[inline]
    fn next_op(&mut self) -> Option<TimedOp> {
        self.next(None)
    }

    #[inline]
    fn next_op_at(&mut self, pace: &Pace) -> Option<TimedOp> {
        self.next(Some(pace))
    }

    fn closing(&mut self) -> Option<Op> {
        self.end().map(|timed| timed.op)
    }

    fn restart(&mut self) {
        // What stopped by its budget goes on where it was; what used the region up begins anew.
        if self.progress.exhausted || self.maps.iter().any(|m| m.free() == 0) {
            self.renew();
        } else {
            let length = self.reach;
            let skip = if self.rw.random {
                0
            } else {
                self.rw.modifier.unwrap_or(0)
            };
            let kinds = self.rw.kinds();
            if !self.rw.random
                && kinds
                    .iter()
                    .all(|k| self.streams.get(*k).in_order(length, skip).is_none())
            {
                self.renew();
            }
        }
        self.second = None;
        self.progress.bytes = 0;
        self.progress.operations = 0;
        self.progress.ended = false;
    }

    fn expected_bytes(&self) -> Option<u64> {
        self.budget
    }

    fn largest(&self) -> Option<u32> {
        Some(self.largest)
    }
}

/// As in fio, operations in order that all have one size do not stop before the end of a region
/// that is no multiple of it: the last one reaches beyond, as far as the target goes.
fn reach(job: &Job, region: &Region, capacity: Bytes) -> u64 {
    let mut sizes = job.rw.kinds().iter().map(|kind| job.bs.get(*kind));
    let Some(BlockSizes::Fixed(size)) = sizes.next() else {
        return region.length;
    };
    if job.rw.backwards || !sizes.all(|other| *other == BlockSizes::Fixed(*size)) {
        return region.length;
    }
    let size = u64::from(*size);
    let rounded = region.length.div_ceil(size).saturating_mul(size);
    rounded.min(capacity.0.saturating_sub(region.start).max(region.length))
}

fn untimed(kind: OpKind, offset: u64, length: u32) -> TimedOp {
    TimedOp {
        op: Op {
            kind,
            offset: Bytes(offset),
            length,
        },
        due: None,
    }
}
