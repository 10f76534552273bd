//! Life of a superblock after it is closed: units become invalid, it is erased and becomes free again; also without
//! simulated time, for starting states.

use super::open::Writer;
use super::{Log, Pool, Stream};
use crate::flash::blocks::State;
use crate::flash::superblock_id::SuperblockId;
use nandscope_units::Nanos;

/// Maximum number of programs in one [`Log::settle_step`]; with the largest program units it takes milliseconds.
const SETTLE_STEP: u32 = 64;

impl Log {
    /// Subtracts `units` that became invalid from a superblock.
    #[inline]
    pub(super) fn invalidated(&mut self, superblock: SuperblockId, units: u32) {
        if units == 0 {
            return;
        }
        let block = self.blocks.get_mut(superblock);
        debug_assert!(block.valid >= units, "more units invalidated than valid");
        block.valid -= units;
        let (valid, state, slc) = (block.valid, block.state, block.slc);
        if state == State::Closed {
            if !slc {
                self.victims.reduce(superblock, units);
            }
            if valid == 0 {
                self.queue_erase(superblock);
            }
        }
    }

    /// Records the end of a program in the superblock.
    pub(crate) fn program_done(&mut self, superblock: SuperblockId) {
        self.blocks.get_mut(superblock).programs_pending -= 1;
    }

    /// Ends the relocation of a victim, all moved data of which is programmed. If only one of its blocks was refreshed,
    /// the others keep their data.
    pub(crate) fn finish_victim(&mut self, superblock: SuperblockId) {
        let block = self.blocks.get_mut(superblock);
        if block.valid == 0 {
            return self.queue_erase(superblock);
        }
        block.state = State::Closed;
        let valid = block.valid;
        if self.holds_map_pages(superblock) {
            self.map_blocks.closed(superblock);
        } else {
            self.victims.insert(superblock, valid);
        }
    }

    pub(super) fn queue_erase(&mut self, superblock: SuperblockId) {
        self.victims.remove(superblock);
        let slc = self.blocks.get(superblock).slc;
        if slc {
            self.slc.remove(superblock);
        }
        self.map_blocks.remove(superblock);
        let block = self.blocks.get_mut(superblock);
        debug_assert_eq!(block.valid, 0, "valid data would be erased");
        debug_assert_ne!(block.state, State::Erasing, "a superblock is erased twice");
        block.state = State::Erasing;
        self.to_erase.push(superblock);
    }

    /// Whether superblocks without valid data wait for their erasure.
    #[inline]
    pub(crate) fn has_erasable(&self) -> bool {
        !self.to_erase.is_empty()
    }

    /// Removes and returns a superblock that can be erased now: its programs are done, and no job needs its old data
    /// (`is_needed`).
    pub(crate) fn take_erasable(
        &mut self,
        is_needed: impl Fn(SuperblockId) -> bool,
    ) -> Option<SuperblockId> {
        let ready = self
            .to_erase
            .iter()
            .position(|s| self.blocks.get(*s).programs_pending == 0 && !is_needed(*s))?;
        Some(self.to_erase.swap_remove(ready))
    }

    /// Records the end of a superblock's erase.
    pub(crate) fn erased(&mut self, superblock: SuperblockId, block_failed: bool, now: Nanos) {
        let slc = self.blocks.get(superblock).slc;
        if slc {
            self.slc.erased();
        }
        debug_assert_eq!(self.blocks.get(superblock).valid, 0, "valid data is erased");
        let mode = self.geometry.mode(slc);
        let parity = self.geometry.parity_units(slc, mode.programs);
        self.accounts.count_erased(mode.superblock_units + parity);
        self.blocks.erased(superblock, block_failed);
        self.moving.forget_refreshes_of(superblock);
        self.note_retired(now);
    }

    /// Whether data is being gathered for the next program of a host stream.
    pub(crate) fn is_gathering(&self) -> bool {
        self.streams.is_gathering()
    }

    /// Number of units that the host can write before an erase must end: the last free superblock is reserved for
    /// relocation, those before it for the pages that a checkpoint writes at once.
    pub(crate) fn host_space_units(&self) -> u64 {
        let mode = |slc: bool| self.geometry.mode(slc).superblock_units;
        let left = |pool: Pool| {
            let stream = self.streams.get(Writer::Host(pool));
            stream.map_or(0, |s| s.units_left(&self.geometry))
        };
        let kept = 1 + self.layout.gc.checkpoint_burst + self.map_streams();
        let mut fresh = self.blocks.free_count().saturating_sub(kept);
        let mut open = left(Pool::Cold);
        if self.is_separated() {
            // Each relocation stream may need a superblock, and new data may all go to one host stream or complete both
            // open superblocks.
            fresh = fresh.saturating_sub(2);
            open = open.min(left(Pool::Hot));
        }
        let room = u64::from(open) + u64::from(fresh) * u64::from(mode(self.slc_may_grow()));
        self.beside_checkpoints(room)
    }

    /// Native units that can be written without any relocation.
    pub(crate) fn free_units(&self) -> u64 {
        let left = |s: &Stream| s.units_left(&self.geometry);
        let open = self.streams.of_data().map(left).sum::<u32>();
        u64::from(self.blocks.free_count()) * u64::from(self.geometry.native.superblock_units)
            + u64::from(open)
    }

    /// Whether the device has reached its end of life: it accepts no writes or discards.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only_since.is_some()
    }

    /// Time at which the device reached its end of life.
    pub(crate) fn read_only_since(&self) -> Option<Nanos> {
        self.read_only_since
    }

    /// Ends the device's life because no room can be made. Final: blocks do not recover.
    pub(crate) fn end_life(&mut self, now: Nanos) {
        self.read_only_since.get_or_insert(now);
    }

    /// Ends the device's life if fewer blocks are left for collection than the check of a profile requires.
    pub(super) fn note_retired(&mut self, now: Nanos) {
        let least = self.layout.gc.start
            + self.layout.open
            + self.layout.map.reserve
            + self.layout.slc.fixed;
        if self.blocks.retired() + least > self.layout.spare {
            self.end_life(now);
        }
    }

    /// Whether garbage collection has moved as much as the device holds, without any write of the host: it makes no
    /// room.
    pub(crate) fn gc_is_futile(&self) -> bool {
        let all = u64::from(self.blocks.len()) * u64::from(self.geometry.native.superblock_units);
        self.collection.is_futile(all)
    }

    /// Restarts counting by cause at zero, after programs that no host caused.
    pub(crate) fn restart_counters(&mut self) {
        self.accounts.restart();
    }

    /// Completes all relocation and erasure without simulated time: for starting states, not for measurements.
    pub(crate) fn settle_instantly(&mut self, now: Nanos, idle: bool) {
        while self.settle_step(now, idle) {}
    }

    /// A step of [`Log::settle_instantly`]: moves the units of at most [`SETTLE_STEP`] programs. Returns false if there
    /// is nothing left to do.
    pub(crate) fn settle_step(&mut self, now: Nanos, idle: bool) -> bool {
        let (mut sources, mut written) = (Vec::new(), Vec::new());
        for _ in 0..SETTLE_STEP {
            self.erase_invalid_instantly(now);
            let wanted =
                self.makes_room() || idle && (self.has_slc_data() || self.moving.victim.is_some());
            if !wanted || self.is_read_only() || self.gc_is_futile() {
                return false;
            }
            let Some(victim) = self.current_victim(idle, now) else {
                return false;
            };
            let superblock = victim.superblock;
            sources.clear();
            let mut full = None;
            let (moved, exhausted) = self.relocate(now, &mut sources, &mut written, &mut full);
            self.prefetch_moves(moved);
            self.window.forget_wanted();
            self.write_updated_pages(now, &mut written);
            for unit in written.drain(..).chain(full) {
                self.program_done(unit.superblock);
            }
            if exhausted {
                self.finish_victim(superblock);
            } else if moved == 0 {
                return false;
            }
        }
        true
    }

    /// Erases all superblocks without valid data, without simulated time.
    pub(crate) fn erase_invalid_instantly(&mut self, now: Nanos) {
        while let Some(superblock) = self.take_erasable(|_| false) {
            self.erased(superblock, false, now);
        }
    }
}
