//! Moving valid units out of a victim into the relocation stream.

use super::{Cause, Log, PageRun, ProgramUnit, Stream, Victim};
use crate::ftl::page_map::ppn::Ppn;
use nandscope_units::Nanos;

impl Log {
    /// Moves valid units out of the current victim into the relocation stream, until a program unit
    /// is full. `read` gets the array reads, in order. Returns the units moved, the program unit
    /// that became full, and whether the victim is exhausted.
    pub(crate) fn relocate(
        &mut self,
        now: Nanos,
        read: &mut Vec<PageRun>,
    ) -> (u32, Option<ProgramUnit>, bool) {
        let Some(mut victim) = self.victim.take() else {
            return (0, None, true);
        };
        let mut full = None;
        let mut moved = 0;
        let some_valid = self.map.next_valid(victim.cursor, victim.end).is_some();
        if some_valid && let Some(mut stream) = self.relocation_stream() {
            moved = self.move_units(&mut victim, &mut stream, read);
            full = self.take_full_unit(&mut stream);
            self.relocation = self.keep_or_close(stream, now);
        }
        self.count_moved(victim.cause, moved);
        let exhausted = self.map.next_valid(victim.cursor, victim.end).is_none();
        if !exhausted {
            self.victim = Some(victim);
        }
        (moved, full, exhausted)
    }

    /// The open stream of relocation, taken out of the log, or a new one; `None` where no block is left.
    pub(super) fn relocation_stream(&mut self) -> Option<Stream> {
        if let Some(stream) = self.relocation.take() {
            return Some(stream);
        }
        let superblock = self.blocks.open(false)?;
        Some(Stream {
            superblock,
            next: 0,
            slc: false,
            filling: 0,
            host_units: 0,
        })
    }

    /// Fills the stream's program unit from the victim; returns the units moved.
    pub(super) fn move_units(
        &mut self,
        victim: &mut Victim,
        stream: &mut Stream,
        read: &mut Vec<PageRun>,
    ) -> u32 {
        let to = self.geometry.ppn(stream.superblock, stream.next);
        let most = self.room(stream);
        let mut moved = 0;
        // The run that is being joined, and where its page ends.
        let mut run_so_far: Option<(Ppn, PageRun)> = None;
        while moved < most {
            let Some(from) = self.map.next_valid(victim.cursor, victim.end) else {
                break;
            };
            victim.cursor = from + 1;
            self.map.move_unit(from, to + moved);
            moved += 1;
            match &mut run_so_far {
                Some((page_end, run)) if from < *page_end => run.units += 1,
                _ => {
                    read.extend(run_so_far.map(|(_, run)| self.with_planes(run)));
                    run_so_far = Some(self.first_of_page(from, victim.superblock));
                }
            }
        }
        read.extend(run_so_far.map(|(_, run)| self.with_planes(run)));
        // A victim is neither open nor listed: nothing else follows from what it loses.
        self.blocks.get_mut(victim.superblock).valid -= moved;
        self.advance_stream(stream, to, moved);
        moved
    }

    /// An array read of one unit, to be joined by others of its page, and where that page ends.
    pub(super) fn first_of_page(&self, ppn: Ppn, superblock: u32) -> (Ppn, PageRun) {
        let g = &self.geometry;
        let offset = ppn - g.ppn(superblock, 0);
        let slc = self.blocks.get(superblock).slc;
        let place = g.place(superblock, offset, slc);
        let run = PageRun {
            superblock,
            program: place.program,
            die: place.die,
            array_ns: g.read_ns(slc, place.program, place.stripe),
            units: 1,
            planes: 1,
        };
        (
            g.ppn(
                superblock,
                offset - offset % g.stripe_units + g.stripe_units,
            ),
            run,
        )
    }

    pub(super) fn with_planes(&self, run: PageRun) -> PageRun {
        PageRun {
            planes: run.units.div_ceil(self.geometry.units_per_page),
            ..run
        }
    }

    /// Closes the relocation stream's program unit with padding.
    pub(crate) fn close_relocation_unit(&mut self, now: Nanos) -> Option<ProgramUnit> {
        let mut stream = self.relocation.take()?;
        let unit = self.close_unit(&mut stream);
        self.relocation = self.keep_or_close(stream, now);
        unit
    }

    pub(super) fn count_moved(&mut self, cause: Cause, units: u32) {
        let count = match cause {
            Cause::Fold => &mut self.programmed.folded,
            Cause::Collect => {
                self.gc_writes_since_host += u64::from(units);
                &mut self.programmed.gc_writes
            }
            Cause::Refresh => &mut self.programmed.refreshed,
        };
        *count += u64::from(units);
    }
}
