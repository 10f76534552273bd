//! Parity across dies, which Micron calls RAIN: in each row of program units, one per die, some dies hold parity of the
//! others. Their position rotates, so that each die holds its share.
//!
//! Parity takes space, bus time and die time. It is programmed after the last data program of its row; an incomplete
//! row has none yet. Reconstruction is not modelled: no die fails, and an unreadable page stays unreadable.

use super::PageMapDevice;
use crate::flash::Owner;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::log::ProgramUnit;
use serde::{Deserialize, Serialize};

/// Number of parity programs under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ParityPrograms(u32);

impl ParityPrograms {
    fn begin(&mut self) {
        self.0 += 1;
    }

    fn end(&mut self) {
        self.0 -= 1;
    }

    /// Number of parity programs under way.
    pub(super) fn count(&self) -> u32 {
        self.0
    }
}

impl PageMapDevice {
    /// Programs the parity of a row if a data program completes the row.
    pub(super) fn program_parity(&mut self, unit: &ProgramUnit) {
        let superblock = unit.superblock;
        let g = &self.log.geometry;
        for die in g.parity_dies_after(unit.slc, unit.program) {
            self.log.blocks.get_mut(superblock).programs_pending += 1;
            self.parity.begin();
            let parity = ProgramUnit {
                die,
                host_units: 0,
                ..*unit
            };
            self.submit_program(parity, Owner::ParityProgram { superblock });
        }
    }

    pub(super) fn on_parity_programmed(&mut self, superblock: SuperblockId) {
        self.parity.end();
        self.log.program_done(superblock);
        self.erase_invalid();
    }
}
