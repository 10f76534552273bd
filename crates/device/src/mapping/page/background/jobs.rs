//! [`Jobs`], program units of relocated data on their way to their new places.

use crate::convert::Narrow;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::log::{Pool, ProgramUnit};
use crate::mapping::page::ppn::Ppn;
use crate::mapping::page::program_id::ProgramId;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Relocation of one program unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Job {
    pub(super) active: bool,
    /// Target pool of the data.
    pub(super) pool: Pool,
    /// Outstanding reads of data and of map pages.
    pub(super) reads: u32,
    /// Time at which all pages read so far are decoded.
    pub(super) decoded: Nanos,
    /// The program unit, once it is full.
    pub(super) unit: Option<ProgramUnit>,
    /// Old places of the units, in order, until the job is programmed. The memory is reused by later jobs.
    pub(super) sources: Vec<Ppn>,
    /// Superblocks whose last valid data is in this job.
    pub(super) emptied: Vec<SuperblockId>,
    /// Credit for the host at the end of the job.
    pub(super) grants: u64,
    /// Moved units whose map entries are not updated yet, while the firmware handles the job.
    pub(super) unhandled: u32,
}

/// All jobs. At most one is being filled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Jobs {
    table: Vec<Job>,
    /// Job that is being filled.
    filling: Option<u32>,
    /// Jobs in the required order of their programs.
    order: VecDeque<u32>,
    active: u32,
}

impl Index<u32> for Jobs {
    type Output = Job;

    fn index(&self, job: u32) -> &Job {
        &self.table[job as usize]
    }
}

impl IndexMut<u32> for Jobs {
    fn index_mut(&mut self, job: u32) -> &mut Job {
        &mut self.table[job as usize]
    }
}

impl Jobs {
    /// Room for `most` jobs and one that is being filled.
    pub(super) fn new(most: u32) -> Self {
        Jobs {
            table: vec![Job::default(); most as usize + 1],
            filling: None,
            order: VecDeque::new(),
            active: 0,
        }
    }

    /// Number of jobs under way, including the one being filled.
    #[inline]
    pub(in crate::mapping::page) fn active(&self) -> u32 {
        self.active
    }

    /// Maximum number of jobs, including the one being filled.
    pub(in crate::mapping::page) fn len(&self) -> usize {
        self.table.len()
    }

    /// The job that is being filled.
    #[inline]
    pub(in crate::mapping::page) fn filling(&self) -> Option<u32> {
        self.filling
    }

    /// Jobs that wait for their reads or are ready, in the order of their programs.
    pub(super) fn order(&self) -> impl Iterator<Item = &u32> {
        self.order.iter()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Job> {
        self.table.iter()
    }

    /// Begins to fill a job for a pool; `gathered` are the old places of units that are in its program unit already.
    /// Returns the job's number.
    pub(super) fn begin(&mut self, pool: Pool, gathered: impl Iterator<Item = Ppn>) -> u32 {
        // The table has one entry more than jobs may be active, so one is free.
        let free = self.table.iter().position(|job| !job.active);
        let number = free.unwrap_or(0).narrow();
        let job = &mut self[number];
        job.active = true;
        job.pool = pool;
        job.sources.extend(gathered);
        self.active += 1;
        self.filling = Some(number);
        number
    }

    /// Closes the job being filled, with its program unit.
    pub(super) fn close(&mut self, job: u32, unit: ProgramUnit) {
        self[job].unit = Some(unit);
        self.order.push_back(job);
        self.filling = None;
    }

    /// Cancels the job being filled, into which nothing was moved.
    pub(super) fn give_up_filling(&mut self) {
        self.filling = None;
    }

    /// Records that a page of a job is decoded at `ready`.
    pub(in crate::mapping::page) fn note_decoded(&mut self, job: u32, ready: Nanos) {
        let decoded = &mut self[job].decoded;
        *decoded = ready.max(*decoded);
    }

    /// Ends a read of a job. The last read ends only when all pages are decoded: if that is later than `now`, returns
    /// the time and counts nothing.
    pub(super) fn end_read(&mut self, job: u32, now: Nanos) -> Option<Nanos> {
        let job = &mut self[job];
        if job.reads == 1 && job.decoded > now {
            return Some(job.decoded);
        }
        job.reads -= 1;
        None
    }

    /// Removes and returns the next job in order, if it waits for no read.
    pub(super) fn take_ready(&mut self) -> Option<u32> {
        let number = *self.order.front()?;
        let job = &self[number];
        let is_ready = job.unit.is_some() && job.reads == 0;
        if is_ready {
            self.order.pop_front();
        }
        is_ready.then_some(number)
    }

    /// Ends a job; returns it without its sources.
    pub(super) fn end(&mut self, job: u32) -> Job {
        let mut ended = std::mem::take(&mut self[job]);
        debug_assert!(
            ended.active && ended.reads == 0,
            "a job ends that is not under way or waits"
        );
        ended.sources.clear();
        self[job].sources = std::mem::take(&mut ended.sources);
        self.active -= 1;
        ended
    }

    /// Program units of jobs, each with the old places of its units in order.
    pub(in crate::mapping::page) fn moves(&self) -> impl Iterator<Item = (ProgramUnit, &[Ppn])> {
        self.table
            .iter()
            .filter_map(|job| Some((job.unit?, &job.sources[..])))
    }

    /// Old places of the units of a program unit that is not programmed yet, in order.
    pub(in crate::mapping::page) fn sources(
        &self,
        superblock: SuperblockId,
        program: ProgramId,
    ) -> Option<&[Ppn]> {
        let mut moves = self.table.iter().filter(|job| job.active);
        let job = moves.find(|job| {
            job.unit
                .is_some_and(|u| u.superblock == superblock && u.program == program)
        })?;
        Some(&job.sources)
    }

    /// Old places of the units of the job being filled, in order.
    pub(in crate::mapping::page) fn filling_sources(&self) -> Option<&[Ppn]> {
        Some(&self[self.filling?].sources)
    }

    /// Whether a job has unprogrammed data from one of the `units` places from `first`.
    pub(super) fn moves_from(&self, first: Ppn, units: u32) -> bool {
        let mut sources = self.table.iter().flat_map(|job| &job.sources);
        sources.any(|source| source.0.wrapping_sub(first.0) < units)
    }

    /// Whether the job being filled takes data for another pool.
    pub(super) fn fills_other_pool(&self, pool: Pool) -> bool {
        let job = self.filling.map(|job| &self[job]);
        job.is_some_and(|job| job.pool != pool)
    }
}
