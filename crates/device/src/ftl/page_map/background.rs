//! Relocation in time: collection, folding and refresh as jobs that read valid units and program
//! them elsewhere; erasure; idle time.

use super::PageMapDevice;
use crate::convert::{Narrow, Whole};
use crate::events::{Event, horizon};
use crate::ftl::page_map::log::{Pool, ProgramUnit};
use crate::ftl::page_map::map_fetches::MapWaiter;
use crate::ftl::page_map::pacing::CREDIT_PER_UNIT;
use crate::ftl::page_map::ppn::Ppn;
use crate::ftl::page_map::program_id::ProgramId;
use crate::ftl::superblock_id::SuperblockId;
use crate::invariant::{Checked, check_near, ensure};
use crate::nand::PlaneSet;
use crate::nand::{Die, FlashOp, OpClass, Owner};
use crate::profile::schema::FtlSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Erases between looks at the spread of wear.
const WEAR_CHECK_ERASES: u64 = 64;

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

/// Relocation jobs by what is done for them now, and idle timers.
#[derive(Clone, Debug, Default)]
pub(super) struct JobFlow {
    /// A job for each read.
    pub(super) reads: Vec<u32>,
    pub(super) handled: Vec<u32>,
    pub(super) programs: Vec<u32>,
    /// Idle timers that are pending.
    pub(super) idle_timers: u32,
}

/// What all jobs hold.
#[derive(Clone, Debug, Default)]
pub(super) struct JobState {
    /// Superblocks that they have emptied.
    pub(super) emptied: Vec<SuperblockId>,
    /// Programs that they gather.
    pub(super) units: Vec<ProgramUnit>,
    /// Where the data for these is.
    pub(super) sources: Vec<Ppn>,
}

/// Firmware in a loop over moved units looks for commands of the host after each unit, or this often if units are quicker:
/// a few times per command of a fast drive. Assumed; 1 to 50 µs are plausible.
const POLL_NS: f64 = 10e3;

/// More than a job ever grants.
const MOST_GRANTS: u64 = (1 << 36) * CREDIT_PER_UNIT;

/// More units than a program unit ever holds.
const MOST_UNHANDLED: u32 = 1 << 16;

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
    /// Relocation is being started: what it writes must not start it again.
    #[serde(skip)]
    pumping: bool,
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
            pumping: false,
        }
    }

    /// Checks that every job is in exactly one place: it waits in order for its reads, or firmware is
    /// at work on it (`handled`), or it is being programmed; `reads` names a job per read. Returns what
    /// they hold.
    pub(super) fn audit(&self, ftl: &FtlSection, now: Nanos, flow: &JobFlow) -> Checked<JobState> {
        ensure!(
            flow.idle_timers == u32::from(self.timer_pending),
            "{} idle timers are pending",
            flow.idle_timers
        );
        let fresh = Background::new(ftl);
        ensure!(
            self.jobs.len() == fresh.jobs.len()
                && (
                    self.most,
                    self.shares_buffer,
                    self.takes_turns,
                    self.idle_delay
                ) == (
                    fresh.most,
                    fresh.shares_buffer,
                    fresh.takes_turns,
                    fresh.idle_delay
                )
                && (self.refresh_reads, self.wear_spread)
                    == (fresh.refresh_reads, fresh.wear_spread)
                && self.idle_since.is_none_or(|since| since <= now),
            "the background work is not that of the profile"
        );
        let mut places = vec![0u32; self.jobs.len()];
        let mut reads = vec![0u32; self.jobs.len()];
        let named = self.order.iter().chain(&flow.handled).chain(&flow.programs);
        for (list, job) in named
            .map(|j| (false, j))
            .chain(flow.reads.iter().map(|j| (true, j)))
        {
            let counts = if list { &mut reads } else { &mut places };
            let count = counts.get_mut(*job as usize);
            ensure!(count.is_some(), "relocation job {job} does not exist");
            if let Some(count) = count {
                *count += 1;
            }
        }
        let (mut emptied, mut units, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        let mut active = 0;
        for (number, job) in self.jobs.iter().enumerate() {
            check_near("the end of decoding", job.decoded, now)?;
            active += u32::from(job.active);
            ensure!(
                places[number] == u32::from(job.active)
                    && reads[number] == job.reads
                    && job.unit.is_some() == job.active
                    && (job.active || (job.emptied.is_empty() && job.grants == 0))
                    && job.sources.is_empty() != job.active
                    && job.grants <= MOST_GRANTS
                    && job.unhandled <= MOST_UNHANDLED
                    && (job.unhandled == 0 || flow.handled.contains(&number.narrow())),
                "relocation job {number} is lost: {job:?}"
            );
            emptied.extend(&job.emptied);
            units.extend(job.unit);
            sources.extend(&job.sources);
        }
        let waits = |job: &u32| self.jobs[*job as usize].reads > 0;
        let mut later = flow.handled.iter().chain(&flow.programs);
        ensure!(
            active == self.active
                && active <= self.most
                && self.filling.is_none()
                && self.order.front().is_none_or(waits)
                && !later.any(waits),
            "{active} relocation jobs are under way, {} were counted",
            self.active
        );
        Ok(JobState {
            emptied,
            units,
            sources,
        })
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
    /// Starts as many relocation jobs as there are buffers and reasons for.
    pub(super) fn pump(&mut self) {
        if self.background.pumping {
            return;
        }
        self.background.pumping = true;
        while self.may_relocate() {
            let Some(victim) = self.log.current_victim(self.now, self.background.idle) else {
                break;
            };
            if self.background.fills_other_pool(victim.pool) {
                self.finish_filling_job();
                continue;
            }
            let job = self.filling_job(victim.pool);
            let mut sources = std::mem::take(&mut self.scratch.sources);
            let mut written = std::mem::take(&mut self.scratch.written);
            let (moved, full, exhausted) = self.log.relocate(self.now, &mut sources, &mut written);
            let wanted = self.log.take_wanted();
            self.background.jobs[job as usize].grants += u64::from(moved) * victim.yield_per_move;
            let mut runs = std::mem::take(&mut self.scratch.runs);
            self.log.join_reads(&sources, victim.superblock, |run| {
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
            self.submit_host_programs(written.drain(..));
            self.scratch.written = written;
            if exhausted {
                let j = &mut self.background.jobs[job as usize];
                j.emptied.push(victim.superblock);
                if victim.held_nothing() && moved == 0 {
                    // It held nothing: all of its space is the host's.
                    j.grants +=
                        u64::from(self.log.geometry.native.superblock_units) * CREDIT_PER_UNIT;
                }
            }
            if let Some(unit) = full {
                self.close_job(job, unit);
            } else if moved == 0 && !exhausted {
                break;
            }
        }
        self.finish_filling_job();
        self.background.pumping = false;
    }

    /// Writes wait for room, and nothing is under way that could make it. Relocation is given its turn
    /// whatever credit the host has left; where it has nothing to do or makes no room, the host takes
    /// what space there is; where there is none, the device has reached its end of life.
    pub(super) fn end_stall(&mut self) {
        if self.log.is_read_only() {
            return self.refuse_waiting();
        }
        if !self.is_stalled() {
            return;
        }
        self.pace.take_credit();
        self.pump();
        if !self.is_stalled() {
            return;
        }
        self.pace.lend(self.log.cost_of_host_unit());
        self.admit();
        if self.is_stalled() {
            self.log.end_life(self.now);
            self.refuse_waiting();
        }
    }

    fn is_stalled(&self) -> bool {
        self.writes.is_waited_for()
            && self.array.outstanding() == 0
            && !self.background.working()
            && !self.map_fetches.under_way()
            && !self.writes.awaits_old_data()
            && self.writes.in_transit == 0
    }

    fn may_relocate(&self) -> bool {
        if self.log.is_read_only() || self.log.gc_is_futile() {
            return false;
        }
        let b = &self.background;
        let filling = b.filling.is_some();
        if !filling && b.active >= b.most {
            return false;
        }
        let wanted = self.log.needs_relocation()
            || self.log.has_refresh()
            || self.log.is_refreshing()
            || (b.idle
                && (self.log.has_slc_data()
                    || self.log.relocating()
                    || self.log.collects_in_idle_time()));
        let turn = b.idle || !(b.takes_turns && self.log.host_is_paced() && self.host_has_credit());
        let room = filling
            || !b.shares_buffer
            || self.writes.room() >= self.log.geometry.native.program_units;
        wanted && (filling || turn) && room
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
    fn finish_filling_job(&mut self) {
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
        if j.reads == 1 && j.decoded > self.now {
            return self.events.push(j.decoded, Event::RelocationDecoded(job));
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

    /// The firmware checks and updates the map for every unit that was moved, on one of its cores.
    fn handle_moved_units(&mut self, job: u32) {
        if self.controller.relocate_unit_us == 0.0 {
            return self.on_relocation_handled(job);
        }
        self.background.jobs[job as usize].unhandled = self.log.geometry.native.program_units;
        let done = self.book_some_units(job, self.units_between_polls(), 1);
        self.events.push(done, Event::Relocated(job));
    }

    /// Books a core for as many units as the firmware handles until it has looked for commands so many
    /// times; returns the end.
    fn book_some_units(&mut self, job: u32, (per_unit_ns, most): (f64, u32), looks: u32) -> Nanos {
        let unhandled = &mut self.background.jobs[job as usize].unhandled;
        let units = most.min(*unhandled);
        *unhandled -= units * looks;
        let time = (per_unit_ns * f64::from(units)).floor_u64() * u64::from(looks);
        self.cores.book(self.now, Nanos(time))
    }

    /// Nanoseconds that firmware takes for a moved unit at the present clock, and how many it handles
    /// before it looks for commands.
    fn units_between_polls(&self) -> (f64, u32) {
        let per_unit_ns = self.controller.relocate_unit_us * 1e3 / self.clock();
        (per_unit_ns, (POLL_NS / per_unit_ns).floor_u32().max(1))
    }

    /// A core has handled the units it was booked for. While nothing else happens in the device on the
    /// way to `until`, it goes on with the next ones at once: an event for each would be the next event.
    pub(super) fn on_units_handled(&mut self, job: u32, until: Nanos) {
        let mut clock = self.clock();
        let mut between_looks = self.units_between_polls();
        while self.background.jobs[job as usize].unhandled > 0 {
            let looks = self.undisturbed_looks(job, between_looks, until);
            let done = self.book_some_units(job, between_looks, looks);
            if !self.is_undisturbed(done, until) {
                return self.events.push(done, Event::Relocated(job));
            }
            self.pass_time(done);
            if self.clock() != clock {
                clock = self.clock();
                between_looks = self.units_between_polls();
            }
        }
        self.on_relocation_handled(job);
    }

    /// How often firmware is going to look for commands before anything else happens on the way to
    /// `until`, if that is known at once: where units are handled one after another on one core. At least 1.
    fn undisturbed_looks(&self, job: u32, (per_unit_ns, most): (f64, u32), until: Nanos) -> u32 {
        if !self.cores.is_one_and_free(self.now) {
            return 1;
        }
        let next = self.events.next_time().unwrap_or(Nanos::MAX);
        let before = next.min(self.meter.next_step()).saturating_sub(Nanos(1));
        let rest = before
            .min(horizon(until, self.now, &self.done))
            .saturating_sub(self.now);
        let time = (per_unit_ns * f64::from(most)).floor_u64();
        let whole = self.background.jobs[job as usize].unhandled / most;
        let looks = rest.0.checked_div(time).unwrap_or(1);
        looks.min(u64::from(whole)).max(1).narrow()
    }

    /// Whether an event at `at` would be the next one that is handled on the way to `until`.
    fn is_undisturbed(&self, at: Nanos, until: Nanos) -> bool {
        at <= horizon(until, self.now, &self.done)
            && self.events.next_time().is_none_or(|next| at < next)
    }

    fn on_relocation_handled(&mut self, job: u32) {
        if let Some(unit) = self.background.jobs[job as usize].unit {
            self.submit_program(unit, Owner::RelocationProgram { job });
            self.program_parity(&unit);
        }
    }

    pub(super) fn on_relocation_programmed(&mut self, job: u32) {
        if let Some(unit) = self.background.jobs[job as usize].unit {
            self.log.program_done(unit.superblock);
        }
        self.end_job(job);
        self.pump();
        self.admit();
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
            self.log.gc_writes(superblock);
        }
        self.erase_invalid();
        self.note_busy();
    }

    /// Sends erases for superblocks without valid data.
    pub(super) fn erase_invalid(&mut self) {
        while let Some(superblock) = self.take_erasable() {
            let g = &self.log.geometry;
            let slc = self.log.blocks.get(superblock).slc;
            let (dies, array_ns) = (g.dies, g.mode(slc).erase_ns);
            self.merge_before_erase(superblock);
            self.log.blocks.get_mut(superblock).programs_pending = dies;
            for die in (0..dies).map(Die) {
                let op = FlashOp {
                    class: OpClass::Erase,
                    urgent: false,
                    die,
                    array_ns,
                    bus_bytes: 0,
                    transfers: 0,
                    retransfers: 0,
                    planes: PlaneSet::NONE,
                    owner: Owner::Erase { superblock },
                };
                self.array.submit(op, self.now, &mut self.events);
            }
        }
    }

    /// The data of jobs is safe only when it is programmed, in whatever order their programs end.
    fn take_erasable(&mut self) -> Option<SuperblockId> {
        let units = self.log.geometry.native.superblock_units;
        let background = &self.background;
        self.log
            .take_erasable(|superblock| background.moves_from(Ppn(superblock.0 * units), units))
    }

    pub(super) fn on_erase(&mut self, superblock: SuperblockId) {
        let block = self.log.blocks.get_mut(superblock);
        block.programs_pending -= 1;
        if block.programs_pending > 0 {
            return;
        }
        let blocks = self.log.geometry.dies * self.log.geometry.planes;
        let failed =
            self.reliability
                .erase_fails(self.log.blocks.get(superblock), blocks, &mut self.random);
        self.log.erased(superblock, failed, self.now);
        if self.background.wear_spread > 0
            && self
                .log
                .blocks
                .total_erases()
                .is_multiple_of(WEAR_CHECK_ERASES)
        {
            self.log.level_wear(self.background.wear_spread);
        }
        self.pump();
        self.admit();
    }

    // ---- idle time -----------------------------------------------------------------------------

    /// The last outstanding write is done.
    pub(super) fn plan_idle(&mut self) {
        self.background.idle_since = Some(self.now);
        if !self.background.timer_pending {
            self.start_idle_timer(self.now + self.background.idle_delay);
        }
    }

    fn start_idle_timer(&mut self, at: Nanos) {
        self.background.timer_pending = true;
        self.events.push(at, Event::Idle);
    }

    /// The host writes again.
    pub(super) fn wake_from_idle(&mut self) {
        self.background.idle_since = None;
        self.background.idle = false;
    }

    /// The idle timer has run out. Where the host wrote meanwhile, it runs again from the end of the
    /// last write; where the host is still writing, the end of that write starts it.
    pub(super) fn on_idle(&mut self) {
        self.background.timer_pending = false;
        let Some(since) = self.background.idle_since else {
            return;
        };
        let due = since + self.background.idle_delay;
        if self.now < due {
            return self.start_idle_timer(due);
        }
        self.end_linger(true);
        self.background.idle = true;
        self.pump();
    }
}
