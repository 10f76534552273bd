//! Relocation in time: collection, folding and refresh as jobs that read valid units and program them elsewhere.
//! [`handling`] is what firmware does for moved units, [`erase`] what follows relocation, [`idle`] when it may go on without
//! need.

mod audit;
mod erase;
mod handling;
mod idle;

use super::PageMapDevice;
use crate::convert::Narrow;
use crate::events::Event;
use crate::ftl::page_map::log::{Pool, ProgramUnit};
use crate::ftl::page_map::map_fetches::MapWaiter;
use crate::ftl::page_map::pacing::CREDIT_PER_UNIT;
use crate::ftl::page_map::ppn::Ppn;
use crate::ftl::page_map::program_id::ProgramId;
use crate::ftl::page_map::scheduler::Wants;
use crate::ftl::superblock_id::SuperblockId;
use crate::nand::Owner;
use crate::profile::schema::FtlSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

pub(super) use audit::{JobFlow, JobState};

/// One program unit of moved data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Job {
    active: bool,
    /// Where its data goes.
    pool: Pool,
    /// Reads of data and of the map that it waits for.
    reads: u32,
    /// When what it has read is decoded.
    decoded: Nanos,
    /// Set when the unit is full.
    unit: Option<ProgramUnit>,
    /// Where its units are until it is programmed, in order. Keeps its memory from job to job.
    sources: Vec<Ppn>,
    /// Superblocks whose last valid data is in this job.
    emptied: Vec<SuperblockId>,
    /// Credit that the host gets when it is done.
    grants: u64,
    /// Moved units whose map entries the firmware has not updated yet, while it is at work on the job.
    unhandled: u32,
}

/// State of background work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Background {
    jobs: Vec<Job>,
    /// Job that is being filled.
    filling: Option<u32>,
    /// Jobs in the order in which their program units must be programmed.
    order: VecDeque<u32>,
    active: u32,
    most: u32,
    shares_buffer: bool,
    takes_turns: bool,
    idle_delay: Nanos,
    idle_since: Option<Nanos>,
    /// An idle timer is pending; there is never more than one.
    timer_pending: bool,
    idle: bool,
    refresh_reads: u32,
    wear_spread: u32,
}

impl Background {
    pub(super) fn new(ftl: &FtlSection) -> Self {
        let slc = ftl.slc_cache.as_ref();
        Background {
            jobs: vec![Job::default(); ftl.relocation_units as usize + 1],
            filling: None,
            order: VecDeque::new(),
            active: 0,
            most: ftl.relocation_units,
            shares_buffer: ftl.relocation_shares_buffer,
            takes_turns: slc.is_some_and(|s| s.fold_blocks_host),
            idle_delay: Nanos::from_secs_f64(slc.map_or(1.0, |s| s.fold_after_ms / 1e3)),
            idle_since: None,
            timer_pending: false,
            idle: false,
            refresh_reads: ftl.refresh_reads,
            wear_spread: ftl.wear_spread_cycles,
        }
    }

    /// Places of the write buffer that jobs take.
    pub(super) fn buffer_units(&self, program_units: u32) -> u32 {
        if self.shares_buffer {
            self.active * program_units
        } else {
            0
        }
    }

    /// Reads of a block after which it is refreshed, 0 if never.
    pub(super) fn refresh_reads(&self) -> u32 {
        self.refresh_reads
    }

    /// Program units that are being moved, and where the units of each are, in order.
    pub(super) fn moves(&self) -> impl Iterator<Item = (ProgramUnit, &[Ppn])> {
        self.jobs
            .iter()
            .filter_map(|job| Some((job.unit?, &job.sources[..])))
    }

    /// Where the units of a program unit are that a job has not programmed yet, in order.
    pub(super) fn sources(&self, superblock: SuperblockId, program: ProgramId) -> Option<&[Ppn]> {
        let job = self.jobs.iter().find(|j| {
            j.active
                && j.unit
                    .is_some_and(|u| u.superblock == superblock && u.program == program)
        })?;
        Some(&job.sources)
    }

    /// The same of the job that is being filled.
    pub(super) fn filling_sources(&self) -> Option<&[Ppn]> {
        let job = self.filling?;
        Some(&self.jobs[job as usize].sources)
    }

    /// Whether a job has data from one of the `units` places from `first` that it has not programmed.
    fn moves_from(&self, first: Ppn, units: u32) -> bool {
        let mut sources = self.jobs.iter().flat_map(|job| &job.sources);
        sources.any(|source| source.0.wrapping_sub(first.0) < units)
    }

    /// The job that is being filled takes data for the other pool.
    fn fills_other_pool(&self, pool: Pool) -> bool {
        let job = self.filling.map(|job| &self.jobs[job as usize]);
        job.is_some_and(|job| job.pool != pool)
    }

    /// A job is being filled.
    #[inline]
    pub(super) fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// Folding begins within that idle time.
    pub(super) fn folds_within(&self, rest: Nanos) -> bool {
        self.idle_delay <= rest
    }

    /// Most jobs at once, with the one that is being filled.
    pub(super) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// A page for a job is decoded at `ready`.
    pub(super) fn note_decoded(&mut self, job: u32, ready: Nanos) {
        let decoded = &mut self.jobs[job as usize].decoded;
        *decoded = ready.max(*decoded);
    }

    pub(super) fn working(&self) -> bool {
        self.active > 0
    }

    /// The host waits while relocation is at work.
    pub(super) fn keeps_host_waiting(&self) -> bool {
        self.takes_turns && self.active > 0
    }
}

impl PageMapDevice {
    /// Moves units of the victim into the job that is being filled, until it is full. Returns false if nothing can be
    /// moved.
    pub(super) fn relocate_some(&mut self) -> bool {
        let Some(victim) = self.log.current_victim(self.background.idle) else {
            return false;
        };
        let (superblock, pool) = (victim.superblock, victim.pool);
        let (gain, held_nothing) = (victim.yield_per_move, victim.held_nothing());
        if self.background.fills_other_pool(pool) {
            self.finish_filling_job();
            return true;
        }
        let job = self.filling_job(pool);
        let mut sources = std::mem::take(&mut self.scratch.sources);
        let mut written = std::mem::take(&mut self.scratch.written);
        let mut full = None;
        let log = &mut self.log;
        let (moved, exhausted) =
            log.relocate(self.schedule.now(), &mut sources, &mut written, &mut full);
        let wanted = self.log.window.take_wanted();
        self.background.jobs[job as usize].grants += u64::from(moved) * gain;
        let mut runs = std::mem::take(&mut self.scratch.runs);
        self.log.join_reads(&sources, superblock, |run| {
            self.resolve(run, &mut runs);
        });
        for run in runs.drain(..).filter_map(|(run, _)| run) {
            self.background.jobs[job as usize].reads += 1;
            self.submit_read(run, false, Owner::RelocationRead { job }, None);
        }
        self.scratch.runs = runs;
        self.background.jobs[job as usize]
            .sources
            .append(&mut sources);
        self.scratch.sources = sources;
        let fetches = self.fetch_map(wanted, MapWaiter::Job(job), false);
        self.background.jobs[job as usize].reads += fetches;
        // After the fetches, which read the pages where they were.
        self.log
            .write_updated_pages(self.schedule.now(), &mut written);
        // Relocation is at work already.
        let _ = self.submit_host_programs(&mut written);
        self.scratch.written = written;
        if exhausted {
            let j = &mut self.background.jobs[job as usize];
            j.emptied.push(superblock);
            if held_nothing && moved == 0 {
                // It held nothing: all of its space is the host's.
                j.grants += u64::from(self.log.geometry.native.superblock_units) * CREDIT_PER_UNIT;
            }
        }
        match full {
            Some(unit) => self.close_job(job, unit),
            None if moved == 0 && !exhausted => return false,
            None => {}
        }
        true
    }

    /// Whether relocation has a reason, a turn and a buffer. Most frequent refusals first.
    pub(super) fn may_relocate(&self) -> bool {
        let b = &self.background;
        let filling = b.filling.is_some();
        if !filling && b.active >= b.most {
            return false;
        }
        let wanted = self.log.makes_room()
            || self.log.has_refresh()
            || self.log.is_refreshing()
            || (b.idle
                && (self.log.has_slc_data()
                    || self.log.relocating()
                    || self.log.collects_in_idle_time()));
        if !wanted || self.log.is_read_only() || self.log.gc_is_futile() {
            return false;
        }
        let turn = b.idle || !(b.takes_turns && self.log.host_is_paced() && self.host_has_credit());
        let room = filling
            || !b.shares_buffer
            || self.writes.room() >= self.log.geometry.native.program_units;
        (filling || turn) && room
    }

    fn filling_job(&mut self, pool: Pool) -> u32 {
        if let Some(job) = self.background.filling {
            return job;
        }
        // One more slot than may be active was allocated, so that one is free.
        let job = self
            .background
            .jobs
            .iter()
            .position(|j| !j.active)
            .unwrap_or(0)
            .narrow();
        let j = &mut self.background.jobs[job as usize];
        j.active = true;
        j.pool = pool;
        // What a starting state has left in the program unit is where it is going to be.
        j.sources.extend(self.log.gathered_by_relocation(pool));
        self.background.active += 1;
        self.background.filling = Some(job);
        if self.background.shares_buffer {
            self.writes.used += self.log.geometry.native.program_units;
        }
        self.note_busy();
        job
    }

    fn close_job(&mut self, job: u32, unit: ProgramUnit) {
        self.background.jobs[job as usize].unit = Some(unit);
        self.background.order.push_back(job);
        self.background.filling = None;
        self.program_ready_jobs();
    }

    /// Nothing more is to be moved now: what has been gathered is padded and programmed.
    pub(super) fn finish_filling_job(&mut self) {
        let Some(job) = self.background.filling else {
            return;
        };
        let pool = self.background.jobs[job as usize].pool;
        match self.log.close_relocation_unit(pool) {
            Some(unit) => self.close_job(job, unit),
            None => {
                self.background.filling = None;
                self.end_job(job);
            }
        }
    }

    /// Something that a job waits for has come. The last of it counts as read when all is decoded.
    pub(super) fn on_relocation_read(&mut self, job: u32) {
        let j = &mut self.background.jobs[job as usize];
        if j.reads == 1 && j.decoded > self.schedule.now() {
            return self.schedule.push(j.decoded, Event::RelocationDecoded(job));
        }
        j.reads -= 1;
        self.program_ready_jobs();
    }

    fn program_ready_jobs(&mut self) {
        while let Some(&job) = self.background.order.front() {
            let j = &self.background.jobs[job as usize];
            let (Some(_), 0) = (j.unit, j.reads) else {
                break;
            };
            self.background.order.pop_front();
            self.handle_moved_units(job);
        }
    }

    pub(super) fn on_relocation_programmed(&mut self, job: u32) -> Wants {
        if let Some(unit) = self.background.jobs[job as usize].unit {
            self.log.program_done(unit.superblock);
        }
        self.end_job(job);
        Wants::Room
    }

    fn end_job(&mut self, job: u32) {
        let mut finished = std::mem::take(&mut self.background.jobs[job as usize]);
        debug_assert!(
            finished.active && finished.reads == 0,
            "a job ends that is not under way or waits"
        );
        finished.sources.clear();
        self.background.jobs[job as usize].sources = finished.sources;
        self.background.active -= 1;
        if self.background.shares_buffer {
            self.writes.used = self
                .writes
                .used
                .saturating_sub(self.log.geometry.native.program_units);
        }
        self.grant(finished.grants);
        for superblock in finished.emptied {
            self.log.finish_victim(superblock);
        }
        self.erase_invalid();
        self.note_busy();
    }
}
