//! The head of a journal, which identifies the device. It has two copies, in separate pages, so that damage to one loses nothing.

use super::super::tag::Salt;
use super::{JournaledDevice, UndoJournalError};
use std::ops::RangeInclusive;

/// The first 15 bytes of a journal of any format version; the version, a digit, follows.
const FAMILY: &[u8; 15] = b"nandscope-undo-";
/// Supported format version.
const VERSION: u8 = b'2';
/// Size of a copy, bytes.
const COPY: usize = 8192;
/// Number of copies at the start of the file.
const COPIES: usize = 2;
/// Size of the head, bytes; the first record follows.
pub(super) const LENGTH: u64 = (COPIES * COPY) as u64;
/// Longest identity, bytes.
pub(super) const IDENTITY_MAX: usize = 4096;
/// Supported block sizes, bytes.
pub(super) const BLOCK_BYTES: RangeInclusive<usize> = 64..=64 << 10;

/// Device to which a journal belongs, and salt of its tags.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) journaled: JournaledDevice,
    pub(super) salt: Salt,
}

impl Head {
    /// Encodes all copies, [`LENGTH`] bytes.
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

    /// Decodes the first undamaged copy.
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
            return Err(UndoJournalError::Foreign(
                "the start of the file is not that of a journal",
            ));
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

/// Decodes one copy; `None` if it is damaged.
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
