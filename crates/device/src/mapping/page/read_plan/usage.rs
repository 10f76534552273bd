//! Energy and data of planned reads. They are counted when a read completes; an earlier reading adds the uncounted
//! part.

use super::{PlannedRead, Stage};
use crate::convert::Narrow;
use crate::flash::Owner;
use crate::mapping::page::PageMapDevice;
use nandscope_units::Nanos;

/// Uncounted use of arrays, channels and link by reads under way.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::mapping::page) struct Uncounted {
    pub(in crate::mapping::page) page_reads: u64,
    pub(in crate::mapping::page) arrays_pj: u64,
    pub(in crate::mapping::page) bus_bytes: u64,
    pub(in crate::mapping::page) link_bytes: u64,
}

impl PlannedRead {
    /// Last counted stage that a read has begun before a time: array read, transfer over the channel, or transfer over
    /// the link.
    pub(super) fn reached(&self, before: Nanos) -> Stage {
        let steps = [
            (Stage::Link, self.transfer.end),
            (Stage::Transfer, self.array.end),
            (Stage::Array, self.array.start),
        ];
        let reached = |(stage, at): &(Stage, Nanos)| self.stage >= *stage && *at < before;
        steps.into_iter().find(reached).map_or(Stage::None, |s| s.0)
    }

    /// Bytes that the read transfers to the host.
    fn bytes(&self) -> u64 {
        match self.op.owner {
            Owner::HostRead { bytes, .. } => u64::from(bytes),
            _ => 0,
        }
    }
}

impl PageMapDevice {
    /// Counts the use of a planned read up to a stage.
    #[inline]
    pub(super) fn count_planned(&mut self, command: u32, up_to: Stage) {
        let read = &mut self.plan.reads[command as usize];
        if read.counted == Stage::None && up_to == Stage::Link {
            read.counted = up_to;
            self.array.count_array_read(&read.op);
            self.array.count_transfer(&read.op);
            return self.power.meter.count_link(read.bytes());
        }
        let read = *read;
        self.plan.reads[command as usize].counted = up_to.max(read.counted);
        self.count_read(&read, up_to);
    }

    /// Counts the use of a read up to a stage, without the part counted before.
    #[inline]
    pub(super) fn count_read(&mut self, read: &PlannedRead, up_to: Stage) {
        let is_new = |stage: Stage| read.counted < stage && stage <= up_to;
        if is_new(Stage::Array) {
            self.array.count_array_read(&read.op);
        }
        if is_new(Stage::Transfer) {
            self.array.count_transfer(&read.op);
        }
        if is_new(Stage::Link) {
            self.power.meter.count_link(read.bytes());
        }
    }

    /// Counts the use of all planned reads before a time.
    pub(in crate::mapping::page) fn count_plan(&mut self, before: Nanos) {
        if !self.plan.is_active() {
            return;
        }
        for command in 0..self.plan.reads.len().narrow() {
            let reached = self.plan.reads[command as usize].reached(before);
            self.count_planned(command, reached);
        }
    }

    /// Uncounted use by planned reads up to the present.
    pub(in crate::mapping::page) fn uncounted(&self) -> Uncounted {
        let mut sum = Uncounted::default();
        if !self.plan.is_active() {
            return sum;
        }
        for (_, read) in self.plan.under_way() {
            let reached = read.reached(self.schedule.now() + Nanos(1));
            let is_new = |stage: Stage| read.counted < stage && stage <= reached;
            if is_new(Stage::Array) {
                sum.page_reads += 1;
                sum.arrays_pj += self.array.read_energy_pj(&read.op);
            }
            if is_new(Stage::Transfer) {
                sum.bus_bytes += read.op.bytes_on_bus();
            }
            if is_new(Stage::Link) {
                sum.link_bytes += read.bytes();
            }
        }
        sum
    }
}
