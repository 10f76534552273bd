//! The post-crash image: the contents before a run, with every write that the device accepted, less what
//! the power cut damaged.

use nandscope_blockio::image::{Image, OutOfRange};
use nandscope_blockio::undo::{self, Undo};
use nandscope_device::Cut;

/// A change of the device by the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write that was submitted, whether it completed or not; the device numbers these from 0.
    Write {
        /// Offset of the first written byte.
        offset: u64,
        /// Written data.
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

/// Contents of a page whose programming the power cut interrupted, or that shared a word line with one
/// and had no second copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Torn {
    /// Neither the old nor the new data: the card returns the page as if it were valid.
    #[default]
    Garbage,
    /// The old data: the card recognises the page by its checksum and goes back to the copy before it.
    Old,
}

/// Byte of a torn page that is accepted as valid.
const GARBAGE: u8 = 0xa5;

/// Applies `changes` to the contents before them, with the losses of `cut`. Lost parts keep the older
/// data; torn ones get the contents of `torn`.
///
/// # Errors
/// `OutOfRange` if a change extends past the end.
pub fn apply(
    contents: &mut Image,
    changes: &[Change],
    cut: &Cut,
    torn: Torn,
) -> Result<(), OutOfRange> {
    let mut undo = Undo::default();
    // Writes before the first damaged one cannot be taken back.
    let first = cut.damage.first().map_or(u64::MAX, |damage| damage.write);
    let mut number = 0;
    for change in changes {
        match change {
            Change::Discard { offset, length } => {
                contents.discard(*offset, *length)?;
                undo.note_lasting(*offset..offset + length);
            }
            Change::Write { offset, data } => {
                if number >= first {
                    undo.note(contents, number, (*offset, data.len() as u64), true)?;
                }
                contents.write(*offset, data)?;
                number += 1;
            }
        }
    }
    let mut torn = match torn {
        Torn::Garbage => undo::Torn::Garbage(GARBAGE),
        Torn::Old => undo::Torn::Old,
    };
    undo.roll_back(contents, &cut.damage, &mut torn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::Damage;
    use nandscope_units::{Lba, Nanos};

    #[test]
    fn what_was_lost_keeps_the_old_and_what_was_torn_holds_neither() {
        let mut contents = Image::bounded(1 << 20);
        contents.write(0, &[1; 2048]).unwrap();
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
            apply(&mut contents, &changes, &cut, torn).unwrap();
            let mut read = [0; 2048];
            contents.read(0, &mut read).unwrap();
            let sectors = [read[0], read[512], read[1024], read[1536]];
            assert_eq!(sectors, [2, 2, third, 3]);
        }
    }
}
