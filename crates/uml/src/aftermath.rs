//! What is on a device after a power cut: the contents before the run, and on them every write that the
//! device took, less what it says it lost.

use crate::contents::Contents;
use nandscope_device::Cut;
use nandscope_units::SECTOR_BYTES;

/// What a kernel changed on a device, in the order in which the device took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write that was submitted, whether it completed or not; the device numbers these from 0.
    Write {
        /// First byte.
        offset: u64,
        /// What was written.
        data: Vec<u8>,
    },
    /// A discard that completed.
    Discard {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

/// What is read of a page that was being programmed when the power went, or that shared a word line
/// with one and had no second copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Torn {
    /// Neither the old nor the new: the card takes the page for good.
    #[default]
    Garbage,
    /// The old: the card tells the page by its checksum and goes back to the copy before it.
    Old,
}

/// The bytes of a torn page that is taken for good.
const GARBAGE: u8 = 0xa5;

/// Applies `changes` to the contents from before them, as `cut` left them. Parts that were lost keep what
/// stood there before; torn ones hold what `torn` says.
pub fn apply(contents: &mut Contents, changes: &[Change], cut: &Cut, torn: Torn) {
    let mut number = 0u64;
    for change in changes {
        match change {
            Change::Discard { offset, length } => _ = contents.discard(*offset, *length),
            Change::Write { offset, data } => {
                write(contents, *offset, data, number, cut, torn);
                number += 1;
            }
        }
    }
}

fn write(contents: &mut Contents, offset: u64, data: &[u8], number: u64, cut: &Cut, torn: Torn) {
    let mine: Vec<_> = cut.damage.iter().filter(|d| d.write == number).collect();
    if mine.is_empty() {
        contents.write(offset, data);
        return;
    }
    for (i, sector) in data.chunks(SECTOR_BYTES as usize).enumerate() {
        let at = offset + i as u64 * SECTOR_BYTES;
        let here = at / SECTOR_BYTES;
        let damage = mine
            .iter()
            .find(|d| (d.first.0..d.first.0 + u64::from(d.sectors)).contains(&here));
        match damage {
            None => _ = contents.write(at, sector),
            Some(damage) if damage.torn && torn == Torn::Garbage => {
                contents.write(at, &vec![GARBAGE; sector.len()]);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::Damage;
    use nandscope_units::{Lba, Nanos};

    #[test]
    fn what_was_lost_keeps_the_old_and_what_was_torn_holds_neither() {
        let mut contents = Contents::new(1 << 20);
        contents.write(0, &[1; 2048]);
        let changes = [
            Change::Write {
                offset: 0,
                data: vec![2; 1024],
            },
            Change::Write {
                offset: 512,
                data: vec![3; 1536],
            },
        ];
        let damage = |write, first, sectors, torn| Damage {
            write,
            first: Lba(first),
            sectors,
            torn,
        };
        let cut = Cut {
            damage: vec![damage(1, 1, 1, false), damage(1, 2, 1, true)],
            ready: Nanos::ZERO,
        };
        for (torn, third) in [(Torn::Garbage, GARBAGE), (Torn::Old, 1)] {
            let mut contents = contents.clone();
            apply(&mut contents, &changes, &cut, torn);
            let mut read = [0; 2048];
            contents.read(0, &mut read);
            let sectors = [read[0], read[512], read[1024], read[1536]];
            assert_eq!(sectors, [2, 2, third, 3]);
        }
    }
}
