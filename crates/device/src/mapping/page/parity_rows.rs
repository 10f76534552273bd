//! Dies that hold parity: in each row of program units, one per die, some dies hold parity of the others. Their
//! position rotates, so that each die holds its share.

use crate::convert::Narrow;
use crate::divisor::Divisor;
use crate::flash::Die;
use crate::mapping::page::program_id::ProgramId;
use serde::{Deserialize, Serialize};

/// Rows of program units across all dies. Data program units are numbered row by row, parity is not numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityRows {
    dies: u32,
    parity: u32,
    by_data_dies: Divisor,
}

impl ParityRows {
    /// Rows across `dies`, of which `parity` hold parity; at least one die holds data.
    pub(super) fn new(dies: u32, parity: u32) -> Self {
        let parity = parity.min(dies.saturating_sub(1));
        ParityRows {
            dies,
            parity,
            by_data_dies: Divisor::new(dies - parity),
        }
    }

    /// Data program units per row.
    pub(super) fn data_dies(&self) -> u32 {
        self.dies - self.parity
    }

    /// Parity program units per row.
    pub(super) fn parity_dies(&self) -> u32 {
        self.parity
    }

    /// Row of a data program unit.
    #[inline]
    pub(super) fn row_of(&self, program: ProgramId) -> u32 {
        self.by_data_dies.quotient(program.0)
    }

    /// Die of a data program unit; `passes` is the number of programs per word line.
    #[inline]
    pub(super) fn die_of(&self, program: ProgramId, passes: u32) -> Die {
        let place = self.by_data_dies.remainder(program.0);
        if self.parity == 0 {
            return Die(place);
        }
        self.turned(place, self.row_of(program), passes)
    }

    /// The dies that hold the parity of a row, if `program` is the last data program unit of the row.
    pub(super) fn parity_dies_after(
        &self,
        program: ProgramId,
        passes: u32,
    ) -> impl Iterator<Item = Die> + use<> {
        let rows = *self;
        let row = self.row_of(program);
        let ends = self.row_of(program.next()) > row;
        let places = self.data_dies()..self.data_dies() + if ends { self.parity } else { 0 };
        places.map(move |place| rows.turned(place, row, passes))
    }

    /// Die at a rotated position. All passes of a word line have the same position: otherwise a torn parity program
    /// would destroy data on its word line.
    fn turned(&self, place: u32, row: u32, passes: u32) -> Die {
        let turn = u64::from(row / passes.max(1)) * u64::from(self.parity);
        let back = (turn % u64::from(self.dies)).narrow();
        Die((place + self.dies - back) % self.dies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_takes_each_die_once_and_parity_takes_turns() {
        for (dies, parity, passes) in [(4, 1, 1), (8, 3, 2), (5, 4, 3), (6, 0, 1)] {
            let rows = ParityRows::new(dies, parity);
            let mut held = vec![0; dies as usize];
            for row in 0..dies * passes {
                let programs =
                    (row * rows.data_dies()..(row + 1) * rows.data_dies()).map(ProgramId);
                let mut used: Vec<u32> =
                    programs.clone().map(|p| rows.die_of(p, passes).0).collect();
                let of_parity: Vec<u32> = programs
                    .flat_map(|p| rows.parity_dies_after(p, passes))
                    .map(|die| die.0)
                    .collect();
                of_parity.iter().for_each(|die| held[*die as usize] += 1);
                used.extend(of_parity);
                used.sort_unstable();
                assert_eq!(used, (0..dies).collect::<Vec<_>>(), "row {row}");
            }
            assert_eq!(held, vec![parity * passes; dies as usize]);
        }
    }

    #[test]
    fn passes_of_a_word_line_hold_data_or_parity() {
        let rows = ParityRows::new(4, 1);
        let parity_of = |row: u32| rows.parity_dies_after(ProgramId(3 * row + 2), 2).next();
        assert_eq!(parity_of(0), parity_of(1));
        assert_ne!(parity_of(1), parity_of(2));
    }

    #[test]
    fn programs_within_a_row_bring_no_parity() {
        let rows = ParityRows::new(4, 1);
        let after = |program| rows.parity_dies_after(ProgramId(program), 1).count();
        assert_eq!((0..6).map(after).collect::<Vec<_>>(), [0, 0, 1, 0, 0, 1]);
    }
}
