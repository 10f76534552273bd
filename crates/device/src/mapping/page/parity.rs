//! Parity across dies, which Micron calls RAIN: of each row of program units, one on every die, some dies hold
//! parity of the others. The place rotates, so that each die holds its share.
//!
//! Parity takes room, bus and die time. Its program follows the last program of data in the row; a row that a flush
//! leaves incomplete has none yet. Nothing is rebuilt from it: no die fails here, and an unreadable page stays so.

use super::PageMapDevice;
use crate::flash::Owner;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::log::ProgramUnit;
use serde::{Deserialize, Serialize};

/// Programs of parity that are under way.
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
