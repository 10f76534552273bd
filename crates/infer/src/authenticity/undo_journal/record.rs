//! Records of a journal. All have the same length, so damage to one does not affect the position of others. The same label is
//! before and after the contents, with checksums of itself and of the contents: if the contents are damaged, the label still
//! identifies their block.

use super::super::tag::Salt;
use super::head::number;

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Former contents of a block.
    Block,
    /// Witnesses; the place in the label is their number.
    Witnesses,
    /// Progress of the restore; the place in the label is the [`super::Progress`].
    Progress,
}

/// Kind and position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) kind: Kind,
    /// Position in the file, in records.
    pub(super) number: u32,
    /// Number of the batch: records that reached the disk together, before any of their blocks was written.
    pub(super) batch: u32,
    pub(super) place: u64,
    /// Checksum of the contents.
    pub(super) sum: u32,
}

/// Result of reading a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A complete record with a valid checksum.
    Whole(Label, Vec<u8>),
    /// A record with damaged or truncated contents.
    Damaged(Label),
    /// A record with two damaged labels.
    Unnamed,
    /// No record, or the start of a truncated one without a readable label.
    Nothing,
}

const MAGIC: u32 = u32::from_le_bytes(*b"undo");
const LABEL: usize = 36;

/// Length of a record for a block size, bytes.
pub(super) fn length(block_bytes: usize) -> usize {
    block_bytes + 2 * LABEL
}

/// Appends a record; contents shorter than a block are padded with zeros.
pub(super) fn write(
    into: &mut Vec<u8>,
    label: Label,
    contents: &[u8],
    salt: Salt,
    block_bytes: usize,
) {
    let mut block = contents.to_vec();
    block.resize(block_bytes, 0);
    let label = Label {
        sum: crc32fast::hash(&block),
        ..label
    };
    let label = label.to_bytes(salt);
    into.extend(label);
    into.extend(block);
    into.extend(label);
}

/// Decodes record `number`; `bytes` end at the end of the file.
pub(super) fn read(bytes: &[u8], number: u32, salt: Salt, block_bytes: usize) -> Found {
    let contents = bytes.get(LABEL..LABEL + block_bytes);
    let labels = [Some(bytes), bytes.get(LABEL + block_bytes..)];
    let label = labels
        .into_iter()
        .flatten()
        .find_map(|bytes| Label::read(bytes, salt))
        .filter(|label| label.number == number);
    match (label, contents) {
        (Some(label), Some(contents)) if crc32fast::hash(contents) == label.sum => {
            Found::Whole(label, contents.to_vec())
        }
        (Some(label), _) => Found::Damaged(label),
        (None, _) if bytes.len() < length(block_bytes) => Found::Nothing,
        (None, _) if bytes.iter().all(|byte| *byte == 0) => Found::Nothing,
        (None, _) => Found::Unnamed,
    }
}

impl Label {
    fn to_bytes(self, salt: Salt) -> [u8; LABEL] {
        let kind: u32 = match self.kind {
            Kind::Block => 1,
            Kind::Witnesses => 2,
            Kind::Progress => 3,
        };
        let mut bytes = [0; LABEL];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&kind.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.batch.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.place.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.sum.to_le_bytes());
        // Four bytes are unused.
        let sum = sum(&bytes, salt);
        bytes[32..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8], salt: Salt) -> Option<Self> {
        let bytes: [u8; LABEL] = number(bytes, 0)?;
        let word = |at| Some(u32::from_le_bytes(number(&bytes, at)?));
        if word(0)? != MAGIC || word(32)? != sum(&bytes, salt) {
            return None;
        }
        Some(Label {
            kind: match word(4)? {
                1 => Kind::Block,
                2 => Kind::Witnesses,
                3 => Kind::Progress,
                _ => return None,
            },
            number: word(8)?,
            batch: word(12)?,
            place: u64::from_le_bytes(number(&bytes, 16)?),
            sum: word(24)?,
        })
    }
}

/// Checksum of a label and the salt, so that records of other journals are invalid.
fn sum(label: &[u8; LABEL], salt: Salt) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.0);
    hasher.update(&label[..LABEL - 4]);
    hasher.finalize()
}
