//! Operations of a job in order: combines directions, parts of the target, offsets and sizes, with flushes between
//! them. The runner decides the pace and the end of a timed run.

use super::fio_sequences::FioSequences;
use super::place::{Dice, Place, sizes_by_order};
use super::region::fault;
use super::service::Service;
use super::setup::{check_sizes, once};
use super::{Mix, Offsets, Random, Region, Strides};
use crate::job::{Access, Job, JobError, Rw};
use crate::{Op, OpKind, OpSource, Pace, TimedOp};
use nandscope_units::Bytes;
use std::collections::VecDeque;

/// The operations of one clone of a job.
///
/// A run ends once `io_size` (or `size`, or `number_ios`) is reached or the region is used up; [`OpSource::restart`]
/// begins the next. As in fio, runs add up: the second continues where the first was, and what one falls short of
/// comes in the next. A time-based job never ends by itself. A pass over the region ends when no part of it has a
/// further block for a direction: sequential offsets then restart, and the random maps are cleared.
#[derive(Clone, Debug)]
pub struct Generator {
    rw: Rw,
    places: Vec<Place>,
    service: Service,
    dice: Dice,
    /// Bytes that a run may issue; `None` for a time-based job.
    budget: Option<u64>,
    /// Bytes of a run except the last, and number of the last run; `None` unless `io_size` is above the size.
    passes: Option<(u64, u64)>,
    /// Operations that a run may issue.
    limit: Option<u64>,
    /// Number of runs so far, including the current one.
    runs: u64,
    /// Passes that have used the region up.
    used_up: u64,
    /// A used-up region is restarted within the run.
    renews: bool,
    mix: Mix,
    /// fio's sequences, if the job names its generator.
    fio: Option<FioSequences>,
    flush: Flushes,
    progress: Progress,
    /// The largest block of any direction.
    largest: u32,
    /// Whether the target has only one part, for which [`Place::is_plain`] holds.
    is_plain: bool,
}

const FLUSH: Op = Op {
    kind: OpKind::Flush,
    offset: Bytes::ZERO,
    length: 0,
};

/// Rules of when to flush.
#[derive(Clone, Debug)]
struct Flushes {
    every: [u64; 2],
    at_end: bool,
    writes: u64,
    /// The last operation was a flush.
    last: bool,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    bytes: u64,
    /// Number of bytes of trims that precede writes, which the size does not count.
    trimmed: u64,
    operations: u64,
    /// Number of operations in the current pass: an empty pass must not be repeated.
    in_pass: u64,
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
                    "job `{}` replays a trace and has no access pattern",
                    job.name
                ),
                "open the trace instead",
            ));
        }
        check_sizes(job)?;
        let fio = FioSequences::of(job, clone, seed);
        let seed = job.rand_seed.unwrap_or(seed);
        let own = [u64::from(job.ordinal), u64::from(clone)];
        let random = |purpose: u64| Random::new(seed, &[own[0], own[1], purpose]);
        let regions = Region::of_files(job, clone, capacity, &mut random(FILE_SIZES))?;
        let budget = Region::budget(job, &regions);
        let mut places = Vec::with_capacity(regions.len());
        for (file, (region, end)) in (0u64..).zip(regions.iter().copied()) {
            // The first file has the sequences of a job with one file.
            let random = |purpose: u64| match file {
                0 => random(purpose),
                _ => Random::new(seed, &[own[0], own[1], purpose, file]),
            };
            places.push(place(job, region, end, fio.as_ref(), random)?);
        }
        let timed = job.pacing.time_based;
        let writes = job.rw.kinds().contains(&OpKind::Write);
        // As in fio, a job of trims and writes flushes at its end only.
        let between = writes && job.rw.access != Access::TrimWrite;
        let every = [job.fsync, job.fdatasync];
        let sizes = job.rw.kinds().iter().map(|kind| job.bs.get(*kind).max());
        let dice = Dice {
            size: random(1),
            order: random(2),
            in_sequence: 0,
            by_order: sizes_by_order(job),
            fio: fio.as_ref().map(FioSequences::dice),
        };
        let mut kinds = job.rw.kinds().iter();
        let is_plain = places.len() == 1
            && job.rw.access != Access::TrimWrite
            && kinds.all(|kind| places[0].is_plain(&job.rw, *kind, &dice));
        Ok(Generator {
            rw: job.rw,
            service: Service::new(job.files.service, places.len(), random(FILES)),
            places,
            is_plain,
            dice,
            budget: (!timed).then_some(budget),
            passes: passes(job, &regions, budget),
            limit: job.number_ios.filter(|_| !timed),
            runs: 1,
            used_up: 0,
            renews: timed || job.io_size.is_some() || job.strides.is_some() || job.rw.backwards,
            mix: Mix::new(
                job.rw.access,
                job.rwmix_read,
                fio.as_ref().map_or_else(|| random(0), FioSequences::mix),
            ),
            fio,
            flush: Flushes {
                every: if between { every } else { [0; 2] },
                at_end: writes && (job.end_fsync || job.fsync_on_close),
                writes: 0,
                last: false,
            },
            progress: Progress::default(),
            largest: sizes.max().unwrap_or(0),
        })
    }

    /// Whether a flush was the last operation.
    pub(super) fn has_flushed(&self) -> bool {
        self.flush.last
    }

    fn reached_limit(&self) -> bool {
        let p = &self.progress;
        let bytes = self.bytes_so_far();
        let operations = self.limit.map(|limit| self.of_all_runs(limit));
        bytes.is_some_and(|most| p.bytes >= most)
            || operations.is_some_and(|most| p.operations >= most)
    }

    /// Total of the bytes that all runs so far may issue. As in fio, `loops` and an `io_size` above the size do not
    /// multiply: each run passes over the size, and the last continues until all runs together have issued `io_size`.
    #[inline]
    fn bytes_so_far(&self) -> Option<u64> {
        let budget = self.budget?;
        Some(match self.passes {
            Some((pass, last)) if self.runs >= last => self.of_all_runs(pass).max(budget),
            Some((pass, _)) => self.of_all_runs(pass),
            None => self.of_all_runs(budget),
        })
    }

    /// Limit of all runs so far together, if `each` is the limit of one run.
    #[inline]
    fn of_all_runs(&self, each: u64) -> u64 {
        each.saturating_mul(self.runs)
    }

    /// Begins a new pass. Unless only time ends the job, the sequences of fio begin again with `randrepeat`.
    fn renew(&mut self) {
        if let Some(fio) = &self.fio
            && self.budget.is_some()
        {
            self.mix.redraw();
            if fio.repeats() {
                self.dice.fio = Some(fio.dice());
                self.mix.draw_from(fio.mix());
            }
        }
        self.places.iter_mut().for_each(Place::renew);
        self.progress.in_pass = 0;
        self.progress.exhausted = false;
        self.flush.last = false;
    }

    /// Whether a run continues after its region is used up. As in fio, each run may use it up once, trims count here as
    /// well, and the rest must be at least the largest block.
    fn goes_on(&self) -> bool {
        let p = &self.progress;
        if self.used_up < self.runs {
            return p.in_pass > 0;
        }
        if self.passes.is_some_and(|(_, last)| self.runs < last) {
            return false;
        }
        let so_far = self.bytes_so_far();
        let left = so_far.map(|most| most.saturating_sub(p.bytes + p.trimmed));
        let is_enough = left.is_none_or(|left| left > 0 && left >= u64::from(self.largest));
        self.renews && p.in_pass > 0 && is_enough
    }

    /// Places an operation in the current part, or in another one if that has no room.
    #[inline]
    fn place(&mut self, kind: OpKind) -> Option<Op> {
        let mut restarted = false;
        loop {
            let places = &self.places;
            let file = self.service.next(|file| places[file].done)?;
            let place = &mut self.places[file];
            if let Some(write) = place.second.take() {
                return Some(write);
            }
            place.turn();
            if let Some((offset, length)) = place.take(&self.rw, kind, &mut self.dice) {
                let op = Op {
                    kind,
                    offset: Bytes(offset),
                    length,
                };
                if self.rw.access == Access::TrimWrite {
                    let kind = OpKind::Write;
                    place.second = Some(Op { kind, ..op });
                }
                return Some(op);
            }
            if self.service.is_skewed() && !restarted {
                place.renew();
                restarted = true;
            } else {
                place.done = true;
            }
        }
    }

    /// As [`Generator::place`] in a plain job.
    #[inline]
    fn place_plain(&mut self, kind: OpKind) -> Option<Op> {
        let place = self.places.first_mut().filter(|place| !place.done)?;
        let Some((offset, length)) = place.take_plain(kind) else {
            place.done = true;
            return None;
        };
        Some(Op {
            kind,
            offset: Bytes(offset),
            length,
        })
    }

    #[inline]
    fn count(&mut self, kind: OpKind, length: u32) {
        let p = &mut self.progress;
        p.in_pass += 1;
        self.flush.last = false;
        // A job of trims and writes counts only its writes.
        if kind == OpKind::Trim && self.rw.access == Access::TrimWrite {
            p.trimmed += u64::from(length);
        } else {
            p.operations += 1;
            p.bytes += u64::from(length);
        }
        if kind == OpKind::Write {
            self.flush.writes += 1;
        }
    }

    fn end(&mut self) -> Option<TimedOp> {
        let flush = self.flush.at_end && !self.flush.last && !self.progress.ended;
        self.progress.ended = true;
        flush.then(|| self.flush())
    }

    fn flush(&mut self) -> TimedOp {
        self.flush.last = true;
        untimed(FLUSH)
    }

    #[inline]
    fn next(&mut self, pace: Option<&Pace>) -> Option<TimedOp> {
        if self.progress.ended || self.reached_limit() {
            return self.end();
        }
        loop {
            if self.flush.is_due() {
                return Some(self.flush());
            }
            let kind = self.mix.next_kind(pace);
            let placed = match self.is_plain {
                true => self.place_plain(kind),
                false => self.place(kind),
            };
            if let Some(op) = placed {
                self.count(op.kind, op.length);
                self.mix.issue(op.kind);
                return Some(untimed(op));
            }
            self.progress.exhausted = true;
            self.used_up += 1;
            if !self.goes_on() {
                return self.end();
            }
            // As in fio, a pass has a separate end, except if only time ends the job.
            if self.budget.is_some() && self.flush.at_end && !self.flush.last {
                return Some(self.flush());
            }
            self.renew();
        }
    }
}

impl Flushes {
    /// As in fio, a flush is due whenever the number of writes, including those of earlier passes, is a multiple of
    /// `fsync` or `fdatasync`, also after each read until the next write.
    #[inline]
    fn is_due(&self) -> bool {
        let due = |every: &u64| *every > 0 && self.writes.is_multiple_of(*every);
        !self.last && self.writes > 0 && self.every.iter().any(due)
    }
}

/// Bytes of each of several runs, and their number, if `io_size` is above the size. As in fio, jobs whose blocks may be
/// written again, and sequential jobs of alternating directions, may issue all of `io_size` in one run.
fn passes(job: &Job, regions: &[(Region, u64)], io_size: u64) -> Option<(u64, u64)> {
    let size = Region::pass(job, regions);
    let writes = job.rw.kinds().contains(&OpKind::Write);
    let overwrites = writes && job.rw.random && !job.random_map;
    let takes_turns = job.rw.access == Access::ReadWrite && !job.rw.random;
    let pass = if overwrites || takes_turns {
        io_size
    } else {
        size
    };
    (job.io_size.is_some() && io_size > size).then_some((pass, job.pacing.loops.into()))
}

/// Purposes of random sequences; directions have the numbers from 3 on.
const FILES: u64 = 16;
const FILE_SIZES: u64 = 17;

/// A part of the target with its random sequences.
fn place(
    job: &Job,
    region: Region,
    end: u64,
    fio: Option<&FioSequences>,
    random: impl Fn(u64) -> Random,
) -> Result<Place, JobError> {
    let absolute = Offsets::absolute_bytes(&job.distribution);
    if absolute > region.length {
        return Err(fault(
            job,
            "random_distribution",
            format!(
                "the zones take {absolute} bytes, but the region has {}",
                region.length
            ),
            "make the zones smaller or the region larger",
        ));
    }
    let zones = Strides::of(job, &region, Bytes(region.start + end))?;
    // Offsets are relative to a zone.
    let range = zones.as_ref().map(|zones| zones.range);
    let work = Region {
        length: range.unwrap_or(region.length),
        ..region
    };
    let once = once(job, &work, fio)?;
    let purpose = |kind| match kind {
        OpKind::Read => 3,
        OpKind::Write | OpKind::Flush => 4,
        OpKind::Trim => 5,
    };
    // As in fio, all directions have the same order of hot blocks: blocks that are often read are often written.
    let heat = |kind| (kind != OpKind::Read).then(|| random(3));
    let end = range.unwrap_or(end);
    let random = |kind| random(purpose(kind));
    Ok(Place::new(job, work, end, zones, once, random, heat))
}

fn untimed(op: Op) -> TimedOp {
    TimedOp { op, due: None }
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

    fn take_ahead(&mut self, ops: &mut VecDeque<TimedOp>, most: usize) {
        while ops.len() < most
            && let Some(next) = self.next(None)
        {
            ops.push_back(next);
        }
    }

    fn closing(&self) -> Option<Op> {
        self.flush.at_end.then_some(FLUSH)
    }

    fn restart(&mut self) {
        // A source that stopped at its budget keeps its position; the next call finds whether its pass is complete.
        if self.progress.exhausted {
            self.renew();
        }
        self.places.iter_mut().for_each(|place| place.second = None);
        self.runs += 1;
        self.progress.ended = false;
    }

    fn expected_bytes(&self) -> Option<u64> {
        self.budget
    }

    fn largest(&self) -> Option<u32> {
        Some(self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobFile;
    use proptest::prelude::*;

    fn operations(options: &str, is_plain: bool) -> Vec<TimedOp> {
        let text = format!("[job]\n{options}\nsize=300k\n");
        let job = JobFile::parse("job.fio", &text)
            .expect("valid")
            .jobs
            .remove(0);
        let mut generator = Generator::new(&job, 0, Bytes::mib(1), 7).expect("fits");
        assert!(generator.is_plain, "{options}");
        generator.is_plain = is_plain;
        let mut all = Vec::new();
        // Two runs, the second of which may continue at the end of the first.
        for _ in 0..2 {
            all.extend(std::iter::from_fn(|| generator.next_op()).take(700));
            generator.restart();
        }
        all
    }

    proptest! {
        #[test]
        fn a_plain_job_is_that_of_any_other(
            rw in prop::sample::select(vec!["randread", "randwrite", "randtrim", "randrw"]),
            size in prop::sample::select(vec!["bs=512", "bs=4k", "bs=16k", "bs=64k"]),
            map in prop::sample::select(vec!["norandommap=0", "norandommap=1"]),
            amount in prop::sample::select(vec!["", "io_size=1m", "number_ios=20", "time_based\nruntime=1"]),
            flush in prop::sample::select(vec!["", "fsync=3", "end_fsync=1", "fdatasync=5\nend_fsync=1"]),
            law in prop::sample::select(vec!["random", "zipf:1.2", "normal:20", "zoned:60/10:40/90"]),
        ) {
            let options = format!("rw={rw}\n{size}\n{map}\n{amount}\n{flush}\nrandom_distribution={law}");
            prop_assert_eq!(operations(&options, true), operations(&options, false));
        }
    }
}
