//! Invariants of relocation jobs, and the resources that they hold.

use super::Background;
use crate::convert::Narrow;
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, check_near, ensure};
use crate::mapping::page::log::ProgramUnit;
use crate::mapping::page::ppn::Ppn;
use crate::policy::pacing::CREDIT_PER_UNIT;
use crate::profile::schema::FtlSection;
use nandscope_units::Nanos;

/// Upper bound of a job's credit.
const MOST_GRANTS: u64 = (1 << 36) * CREDIT_PER_UNIT;

/// Upper bound of the units in a program unit.
const MOST_UNHANDLED: u32 = 1 << 16;

/// Operations under way for relocation jobs, and idle timers, as found in the queues.
#[derive(Clone, Debug, Default)]
pub(in crate::mapping::page) struct JobFlow {
    /// Job of each read under way.
    pub(in crate::mapping::page) reads: Vec<u32>,
    pub(in crate::mapping::page) handled: Vec<u32>,
    pub(in crate::mapping::page) programs: Vec<u32>,
    /// Number of pending idle timers.
    pub(in crate::mapping::page) idle_timers: u32,
}

/// Superblocks, program units and sources of all jobs.
#[derive(Clone, Debug, Default)]
pub(in crate::mapping::page) struct JobState {
    /// Superblocks whose last valid units are in jobs.
    pub(in crate::mapping::page) emptied: Vec<SuperblockId>,
    /// Program units of the jobs.
    pub(in crate::mapping::page) units: Vec<ProgramUnit>,
    /// Old places of the data in these program units.
    pub(in crate::mapping::page) sources: Vec<Ppn>,
}

impl Background {
    /// Checks that every job is in exactly one state: waiting in order for its reads, handled by the firmware
    /// (`handled`), or being programmed; `reads` has one entry per read. Returns the jobs' resources.
    pub(in crate::mapping::page) fn audit(
        &self,
        ftl: &FtlSection,
        now: Nanos,
        flow: &JobFlow,
    ) -> Checked<JobState> {
        ensure!(
            flow.idle_timers == u32::from(self.idle.pending),
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
                    self.burst_units,
                    self.idle.delay
                ) == (
                    fresh.most,
                    fresh.shares_buffer,
                    fresh.takes_turns,
                    fresh.burst_units,
                    fresh.idle.delay
                )
                && (self.refresh_reads, self.wear_spread)
                    == (fresh.refresh_reads, fresh.wear_spread)
                && (self.burst_units > 0 || !self.in_burst)
                && self.idle.since.is_none_or(|since| since <= now),
            "the background work is not that of the profile"
        );
        let mut places = vec![0u32; self.jobs.len()];
        let mut reads = vec![0u32; self.jobs.len()];
        let named = self.jobs.order().chain(&flow.handled).chain(&flow.programs);
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
        let waits = |job: &u32| self.jobs[*job].reads > 0;
        let mut later = flow.handled.iter().chain(&flow.programs);
        ensure!(
            active == self.jobs.active()
                && active <= self.most
                && self.jobs.filling().is_none()
                && self.jobs.order().next().is_none_or(waits)
                && !later.any(waits),
            "{active} relocation jobs are under way, {} were counted",
            self.jobs.active()
        );
        Ok(JobState {
            emptied,
            units,
            sources,
        })
    }
}
