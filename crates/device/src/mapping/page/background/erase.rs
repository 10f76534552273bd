//! Erasure of superblocks without valid data.

use crate::flash::superblock_id::SuperblockId;
use crate::flash::{Die, FlashOp, OpClass, Owner, PlaneSet};
use crate::mapping::page::PageMapDevice;
use crate::mapping::page::ppn::Ppn;
use crate::mapping::page::scheduler::Wants;

/// Number of erases between two checks of the wear spread.
const WEAR_CHECK_ERASES: u64 = 64;

impl PageMapDevice {
    /// Erases superblocks without valid data.
    #[inline]
    pub(in crate::mapping::page) fn erase_invalid(&mut self) {
        if self.log.has_erasable() {
            self.submit_erases();
        }
    }

    fn submit_erases(&mut self) {
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
                self.submit_flash(op);
            }
        }
    }

    /// Next superblock that may be erased. The data that jobs moved out of it must be programmed, whatever the order in
    /// which their programs end.
    fn take_erasable(&mut self) -> Option<SuperblockId> {
        let units = self.log.geometry.native.superblock_units;
        let jobs = &self.background.jobs;
        self.log
            .take_erasable(|superblock| jobs.moves_from(Ppn(superblock.0 * units), units))
    }

    pub(in crate::mapping::page) fn on_erase(&mut self, superblock: SuperblockId) -> Wants {
        let block = self.log.blocks.get_mut(superblock);
        block.programs_pending -= 1;
        if block.programs_pending > 0 {
            return Wants::Nothing;
        }
        let blocks = self.log.geometry.dies * self.log.geometry.planes;
        let failed = self
            .errors
            .erase_fails(self.log.blocks.get(superblock), blocks);
        self.log.erased(superblock, failed, self.schedule.now());
        if self.background.wear_spread > 0
            && self
                .log
                .blocks
                .total_erases()
                .is_multiple_of(WEAR_CHECK_ERASES)
        {
            self.log.level_wear(self.background.wear_spread);
        }
        Wants::Room
    }
}
