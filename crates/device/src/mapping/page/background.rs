//! Relocation over time: collection, folding and refresh as jobs that read valid units and program them elsewhere.
//! [`handling`] is the firmware time of moved units, [`erase`] the erasure of emptied superblocks, [`idle`] the start
//! of work in idle time.

mod audit;
mod erase;
mod handling;
mod idle;
mod jobs;

use super::PageMapDevice;
use crate::events::Event;
use crate::flash::Owner;
use crate::mapping::page::log::{Pool, ProgramUnit};
use crate::mapping::page::map_fetches::MapWaiter;
use crate::mapping::page::scheduler::Wants;
use crate::policy::pacing::CREDIT_PER_UNIT;
use crate::profile::schema::FtlSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

pub(super) use audit::{JobFlow, JobState};
use idle::IdleTimer;
use jobs::Jobs;

/// Background work: relocation jobs, their limits, and when it may begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Background {
    pub(super) jobs: Jobs,
    /// Maximum number of jobs.
    most: u32,
    /// Whether jobs use places of the write buffer.
    shares_buffer: bool,
    /// Whether the host waits while jobs are under way.
    takes_turns: bool,
    /// Native units of free space that a burst of collection makes; 0 if collection does not come in bursts.
    burst_units: u64,
    /// Whether a burst is under way.
    in_burst: bool,
    idle: IdleTimer,
    /// Reads of a block that trigger its refresh; 0 for never.
    refresh_reads: u32,
    /// Erase cycles by which the least worn superblock may lag behind the mean; 0 for no limit.
    wear_spread: u32,
}

impl Background {
    pub(super) fn new(ftl: &FtlSection) -> Self {
        let slc = ftl.slc_cache.as_ref();
        let delay = Nanos::from_secs_f64(slc.map_or(1.0, |s| s.fold_after_ms / 1e3));
        let burst_bytes = ftl
            .collection_burst_kib
            .map_or(0, |kib| u64::from(kib) * 1024);
        Background {
            jobs: Jobs::new(ftl.relocation_units),
            most: ftl.relocation_units,
            shares_buffer: ftl.relocation_shares_buffer,
            takes_turns: slc.is_some_and(|s| s.fold_blocks_host)
                || ftl.collection_burst_kib.is_some(),
            burst_units: burst_bytes.div_ceil(u64::from(ftl.mapping_unit_bytes)),
            in_burst: false,
            idle: IdleTimer::new(delay),
            refresh_reads: ftl.refresh_reads,
            wear_spread: ftl.wear_spread_cycles,
        }
    }

    /// Number of write buffer places that jobs use.
    pub(super) fn buffer_units(&self, program_units: u32) -> u32 {
        self.buffer_units_of_job(program_units) * self.jobs.active()
    }

    fn buffer_units_of_job(&self, program_units: u32) -> u32 {
        if self.shares_buffer { program_units } else { 0 }
    }

    /// Reads of a block that trigger its refresh; 0 for never.
    pub(super) fn refresh_reads(&self) -> u32 {
        self.refresh_reads
    }

    /// Whether folding begins within an idle time of length `rest`.
    pub(super) fn folds_within(&self, rest: Nanos) -> bool {
        self.idle.delay <= rest
    }

    /// Whether jobs are under way.
    pub(super) fn working(&self) -> bool {
        self.jobs.active() > 0
    }

    /// Whether the host must wait for the jobs under way.
    pub(super) fn keeps_host_waiting(&self) -> bool {
        self.takes_turns && (self.working() || self.in_burst)
    }

    /// Ends a burst, whatever space it has made.
    pub(super) fn end_burst(&mut self) {
        self.in_burst = false;
    }
}

impl PageMapDevice {
    /// Moves units of the victim into the job being filled, until the job is full. Returns false if no unit can be
    /// moved.
    pub(super) fn relocate_some(&mut self) -> bool {
        let Some(victim) = self
            .log
            .current_victim(self.background.idle.is_idle(), self.schedule.now())
        else {
            return false;
        };
        let (superblock, pool) = (victim.superblock, victim.pool);
        let (gain, held_nothing) = (victim.yield_per_move, victim.held_nothing());
        if self.background.jobs.fills_other_pool(pool) {
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
        self.background.jobs[job].grants += u64::from(moved) * gain;
        let mut runs = std::mem::take(&mut self.scratch.runs);
        self.log.join_reads(&sources, superblock, |run| {
            self.resolve(run, &mut runs);
        });
        for run in runs.drain(..).filter_map(|(run, _)| run) {
            self.background.jobs[job].reads += 1;
            self.submit_read(run, false, Owner::RelocationRead { job }, None);
        }
        self.scratch.runs = runs;
        self.background.jobs[job].sources.append(&mut sources);
        self.scratch.sources = sources;
        let fetches = self.fetch_map(wanted, MapWaiter::Job(job), false);
        self.background.jobs[job].reads += fetches;
        // Submitted after the fetches, which read the map pages at their old places.
        self.log
            .write_updated_pages(self.schedule.now(), &mut written);
        // The returned request to start relocation is not needed here.
        let _ = self.submit_host_programs(&mut written);
        self.scratch.written = written;
        if exhausted {
            let j = &mut self.background.jobs[job];
            j.emptied.push(superblock);
            if held_nothing && moved == 0 {
                // The victim held no valid data, so the host gets credit for all of its space.
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

    /// Whether there is a reason for relocation, it may run now, and a buffer is free. Most frequent rejections first.
    pub(super) fn may_relocate(&self) -> bool {
        let b = &self.background;
        let filling = b.jobs.filling().is_some();
        if !filling && b.jobs.active() >= b.most {
            return false;
        }
        let wanted = self.log.makes_room()
            || self.log.has_refresh()
            || self.log.is_refreshing()
            || (b.idle.is_idle()
                && (self.log.has_slc_data()
                    || self.log.relocating()
                    || self.log.collects_in_idle_time()));
        if !wanted || self.log.is_read_only() || self.log.gc_is_futile() {
            return false;
        }
        let turn = b.idle.is_idle()
            || b.in_burst
            || !(b.takes_turns
                && self.log.host_is_paced()
                && self.pace.has_credit(self.log.cost_of_host_unit()));
        let room = filling
            || !b.shares_buffer
            || self.writes.buffer.room() >= self.log.geometry.native.program_units;
        (filling || turn) && room
    }

    fn filling_job(&mut self, pool: Pool) -> u32 {
        if let Some(job) = self.background.jobs.filling() {
            return job;
        }
        // After a starting state, the program unit may already hold data; its source is its new place.
        let gathered = self.log.gathered_by_relocation(pool);
        let job = self.background.jobs.begin(pool, gathered);
        let program_units = self.log.geometry.native.program_units;
        let units = self.background.buffer_units_of_job(program_units);
        self.writes.buffer.reserve(units);
        if self.background.burst_units > 0 && self.pace.is_active() {
            self.background.in_burst |= !self.pace.has_credit(self.log.cost_of_host_unit());
        }
        self.note_busy();
        job
    }

    fn close_job(&mut self, job: u32, unit: ProgramUnit) {
        self.background.jobs.close(job, unit);
        self.program_ready_jobs();
    }

    /// Closes the job being filled: pads and programs its data, and moves no more units into it.
    pub(super) fn finish_filling_job(&mut self) {
        let Some(job) = self.background.jobs.filling() else {
            return;
        };
        let pool = self.background.jobs[job].pool;
        match self.log.close_relocation_unit(pool) {
            Some(unit) => self.close_job(job, unit),
            None => {
                self.background.jobs.give_up_filling();
                self.end_job(job);
            }
        }
    }

    /// Handles the end of a read for a job.
    pub(super) fn on_relocation_read(&mut self, job: u32) {
        match self.background.jobs.end_read(job, self.schedule.now()) {
            Some(decoded) => self.schedule.push(decoded, Event::RelocationDecoded(job)),
            None => self.program_ready_jobs(),
        }
    }

    fn program_ready_jobs(&mut self) {
        while let Some(job) = self.background.jobs.take_ready() {
            self.handle_moved_units(job);
        }
    }

    pub(super) fn on_relocation_programmed(&mut self, job: u32) -> Wants {
        if let Some(unit) = self.background.jobs[job].unit {
            self.log.program_done(unit.superblock);
        }
        self.end_job(job);
        Wants::Room
    }

    fn end_job(&mut self, job: u32) {
        let ended = self.background.jobs.end(job);
        let program_units = self.log.geometry.native.program_units;
        let units = self.background.buffer_units_of_job(program_units);
        self.writes.buffer.give_back(units);
        let most = self.log.geometry.native.superblock_units;
        self.pace
            .grant(ended.grants, self.log.room_to_write(), most);
        self.background.in_burst &= !self.pace.has_credit(self.background.burst_units);
        for superblock in ended.emptied {
            self.log.finish_victim(superblock);
        }
        self.erase_invalid();
        self.note_busy();
    }
}
