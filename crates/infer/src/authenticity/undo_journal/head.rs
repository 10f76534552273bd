//! The head of a journal: which device it belongs to. It is written twice, in two pages of its own, so that
//! damage to one copy loses nothing.

use super::super::tag::Salt;
use super::{JournaledDevice, UndoJournalError};
use std::ops::RangeInclusive;

/// The first 15 bytes of a journal of any format version; the version, a digit, follows.
const FAMILY: &[u8; 15] = b"nandscope-undo-";
/// The format version that is written and read.
const VERSION: u8 = b'2';
/// Bytes of one copy.
const COPY: usize = 8192;
/// Copies at the beginning of the file.
const COPIES: usize = 2;
/// Bytes before the first record.
pub(super) const LENGTH: u64 = (COPIES * COPY) as u64;
/// The longest identity in bytes.
pub(super) const IDENTITY_MAX: usize = 4096;
/// Supported sizes of a block.
pub(super) const BLOCK_BYTES: RangeInclusive<usize> = 64..=64 << 10;

/// Device of a journal, and the salt of its tags.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) journaled: JournaledDevice,
    pub(super) salt: Salt,
}

impl Head {
    /// All copies, [`LENGTH`] bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let identity = self.journaled.identity.as_bytes();
        let identity = &identity[..identity.len().min(IDENTITY_MAX)];
        let mut copy = FAMILY.to_vec();
        copy.push(VERSION);
        copy.extend(self.salt.0);
        copy.extend(self.journaled.blocks.to_le_bytes());
        copy.extend((self.journaled.block_bytes as u32).to_le_bytes());
        copy.extend((identity.len() as u32).to_le_bytes());
        copy.extend(identity);
        copy.extend(crc32fast::hash(&copy).to_le_bytes());
        copy.resize(COPY, 0);
        copy.repeat(COPIES)
    }

    /// The first copy that is undamaged.
    ///
    /// # Errors
    /// `UndoJournalError` if the bytes are not a journal, if they are one of another format version, or if
    /// all copies are damaged.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, UndoJournalError> {
        let copies = || (0..COPIES).filter_map(|number| bytes.get(number * COPY..));
        if let Some(head) = copies().find_map(copy) {
            return Ok(head);
        }
        let of_the_family = |bytes: &&[u8]| bytes.starts_with(FAMILY);
        let Some(first) = copies().find(of_the_family) else {
            return Err(UndoJournalError::Foreign("it does not begin like one"));
        };
        match first.get(FAMILY.len()) {
            Some(version @ b'0'..=b'9') if *version != VERSION => {
                Err(UndoJournalError::Version(char::from(*version)))
            }
            _ => Err(UndoJournalError::Damaged),
        }
    }
}

pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// One copy, if it is undamaged.
fn copy(bytes: &[u8]) -> Option<Head> {
    if !bytes.starts_with(FAMILY) || bytes.get(FAMILY.len()) != Some(&VERSION) {
        return None;
    }
    let salt = Salt(number(bytes, 16)?);
    let blocks = u64::from_le_bytes(number(bytes, 32)?);
    let block_bytes = u32::from_le_bytes(number(bytes, 40)?) as usize;
    let length = u32::from_le_bytes(number(bytes, 44)?) as usize;
    if length > IDENTITY_MAX || !BLOCK_BYTES.contains(&block_bytes) {
        return None;
    }
    let end = 48 + length;
    let sum = u32::from_le_bytes(number(bytes, end)?);
    if sum != crc32fast::hash(&bytes[..end]) {
        return None;
    }
    let journaled = JournaledDevice {
        identity: String::from_utf8_lossy(&bytes[48..end]).into_owned(),
        blocks,
        block_bytes,
    };
    Some(Head { journaled, salt })
}
