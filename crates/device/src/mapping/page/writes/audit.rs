//! Checks of a restored state of the write path.

use super::Writes;
use super::in_flight::{InFlight, Programs};
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::audit::Census;
use std::collections::{BTreeMap, BTreeSet};

impl Writes {
    /// Checks the buffer and all queues of the write path; `gathers` says whether a program unit is partly filled.
    pub(in crate::mapping::page) fn audit(
        &self,
        capacity: u32,
        queued: &Census,
        gathers: bool,
        superblocks: u32,
    ) -> Checked {
        let in_transit = self.transfers.audit(&queued.transfers)?;
        self.buffer.audit(capacity, in_transit)?;
        self.programs.audit(queued, superblocks)?;
        // A partly filled program unit is closed when no more data is coming.
        let filling = u32::from(gathers && self.is_data_coming());
        let programs = &self.programs;
        let most = programs
            .next_sequence()
            .wrapping_sub(programs.programmed)
            .saturating_add(filling);
        let until = |(sequence, _): &(u32, u32)| sequence.wrapping_sub(programs.programmed);
        ensure!(
            self.durable_waiters
                .iter()
                .all(|w| (1..=most).contains(&until(w)))
                && self.durable_waiters.iter().is_sorted_by_key(until),
            "commands wait for programs that are not under way"
        );
        Ok(())
    }
}

impl Programs {
    /// Checks the programs under way against those of the array.
    fn audit(&self, queued: &Census, superblocks: u32) -> Checked {
        let mut under_way: BTreeMap<u32, SuperblockId> = BTreeMap::new();
        for (sequence, superblock) in &queued.programs {
            let twice = under_way.insert(sequence.wrapping_sub(self.base), *superblock);
            ensure!(twice.is_none(), "program {sequence} is under way twice");
        }
        let in_array = self.in_flight.len().saturating_sub(self.staged.len());
        for (offset, program) in (0u32..).zip(&self.in_flight) {
            let place = offset as usize;
            let found = match self.staged.get(place.saturating_sub(in_array)) {
                Some(unit) if place >= in_array => Some(unit.superblock),
                _ => under_way.remove(&offset),
            };
            ensure!(
                found == (!program.done).then_some(program.superblock)
                    && program.superblock.0 < superblocks,
                "program {offset} of the host is lost, or done twice"
            );
        }
        let first = self.programmed.wrapping_sub(self.base);
        let done = self.in_flight.iter().take_while(|p| p.done).count();
        ensure!(
            under_way.is_empty()
                && self
                    .in_flight
                    .front()
                    .is_none_or(|p| !p.done || p.map_waits > 0)
                && done == first as usize,
            "the programs of host data under way do not match their sequence numbers"
        );
        ensure!(
            self.of_map.iter().collect::<BTreeSet<_>>() == queued.map_programs.iter().collect()
                && self.of_map.len() == queued.map_programs.len(),
            "programs of the map are lost, or done twice"
        );
        self.audit_waits(
            &queued.map_waits,
            "pages of the map",
            |p| p.map_waits,
            self.gathering_map_waits,
        )?;
        self.audit_waits(
            &queued.merges,
            "old data",
            |p| p.merges,
            self.gathering_merges,
        )?;
        let waits = |unit: &InFlight| unit.merges > 0;
        ensure!(
            self.staged.len() <= self.in_flight.len()
                && self.in_flight.iter().take(in_array).all(|p| !waits(p))
                && (self.in_flight.get(in_array).is_none_or(waits)
                    || (self.lingers && self.staged.len() == 1))
                && !(self.lingers && self.staged.is_empty())
                && self
                    .in_flight
                    .iter()
                    .all(|p| p.held == 0 || p.map_waits > 0),
            "a program of host data never begins, or holds places of the write buffer that are free"
        );
        Ok(())
    }

    /// Checks that programs wait for as many operations (`what`) as are under way for them: `under_way` has a sequence
    /// number per operation, `of` gives the count of a program, `gathering` that of the next one.
    fn audit_waits(
        &self,
        under_way: &[u32],
        what: &str,
        of: impl Fn(&InFlight) -> u32,
        gathering: u32,
    ) -> Checked {
        let mut counts = vec![0u32; self.in_flight.len() + 1];
        for sequence in under_way {
            let count = counts.get_mut(sequence.wrapping_sub(self.base) as usize);
            ensure!(
                count.is_some(),
                "{what} is read for program {sequence}, which is over"
            );
            if let Some(count) = count {
                *count += 1;
            }
        }
        let expected = self.in_flight.iter().map(of).chain([gathering]);
        ensure!(
            expected.eq(counts),
            "programs of host data wait for {what} that no operation reads"
        );
        Ok(())
    }
}
