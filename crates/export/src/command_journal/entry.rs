//! The form of a journal's head and entries: little-endian, fixed lengths, a CRC-32 at the end of each.
//! That of an entry covers its place as well, so that none can be missing, doubled or of another journal.

use super::error::CommandJournalError;
use nandscope_device::{Command, CommandKind};
use nandscope_units::{Lba, Nanos};

/// First bytes of journals of all versions.
const NAME: &[u8; 7] = b"NSSERVE";
/// The version, in the byte after it.
const VERSION: u8 = b'3';
/// Magic, time, checksum: what stays as it was written.
const FIXED: usize = 20;
/// Number of committed entries, checksum.
const COUNT: usize = 12;
/// Both.
pub const HEAD: usize = FIXED + COUNT;
/// Offset of the number of committed entries.
pub const COUNT_AT: u64 = FIXED as u64;
/// Time, address, sectors, tag, kind, flags, two zero bytes, checksum.
pub const ENTRY: usize = 32;

const POWER_CUT: u8 = 16;
const PASSED: u8 = 17;
/// Added to the kind of a command.
const HELD: u8 = 64;

const SETTLED: u8 = 1;
const CONTINUED: u8 = 2;

/// An operation on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It was given a command.
    Command {
        /// Command as submitted to the device.
        command: Command,
        /// Time of the event on the device's clock.
        at: Nanos,
        /// True if all events planned for this instant were executed before.
        settled: bool,
        /// Another command of the same tag follows: a flush, or more zeroes. The request ends with the last.
        continued: bool,
    },
    /// Power went and came back.
    PowerCut {
        /// Time of the event on the device's clock.
        at: Nanos,
        /// True if all events planned for this instant were executed before.
        settled: bool,
    },
    /// Time passed up to here, with all that was planned.
    Passed {
        /// Time reached.
        at: Nanos,
    },
    /// A request that was under way when the journal began.
    Held(Held),
}

/// A request that was under way when a journal began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Tag of its commands.
    pub tag: u64,
    /// Kind of the commands.
    pub kind: CommandKind,
    /// First sector of the request.
    pub lba: Lba,
    /// Length in sectors of what its commands covered so far.
    pub sectors: u32,
    /// Commands that are not completed.
    pub commands: u32,
    /// Another command follows after them: a flush, or more zeroes.
    pub continued: bool,
}

fn code_of(kind: CommandKind) -> u8 {
    match kind {
        CommandKind::Read => 0,
        CommandKind::Write { fua: false } => 1,
        CommandKind::Write { fua: true } => 2,
        CommandKind::Discard => 3,
        CommandKind::Flush => 4,
        CommandKind::Identify => 5,
        CommandKind::Health => 6,
    }
}

fn kind_of(code: u8) -> Option<CommandKind> {
    Some(match code {
        0 => CommandKind::Read,
        1 => CommandKind::Write { fua: false },
        2 => CommandKind::Write { fua: true },
        3 => CommandKind::Discard,
        4 => CommandKind::Flush,
        5 => CommandKind::Identify,
        6 => CommandKind::Health,
        _ => return None,
    })
}

/// Fields of an entry in file order.
#[derive(Default)]
struct Fields {
    time: u64,
    lba: u64,
    sectors: u32,
    tag: u32,
    what: u8,
    flags: u8,
}

/// The place of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The device's time at the beginning of its journal.
    pub start: Nanos,
    /// Entries before it.
    pub number: u64,
}

fn checksum(content: &[u8], spot: Spot) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&spot.start.0.to_le_bytes());
    sum.update(&spot.number.to_le_bytes());
    sum.update(content);
    sum.finalize()
}

const fn flags(settled: bool, continued: bool) -> u8 {
    settled as u8 * SETTLED + continued as u8 * CONTINUED
}

/// A tag in the form of the file: tags are places in a table of some thousand.
fn tag(tag: u64) -> u32 {
    debug_assert!(u32::try_from(tag).is_ok());
    u32::try_from(tag).unwrap_or(u32::MAX)
}

impl Entry {
    /// Its bytes at this place.
    pub fn write(&self, spot: Spot) -> [u8; ENTRY] {
        let fields = match *self {
            Entry::Command {
                command,
                at,
                settled,
                continued,
            } => Fields {
                time: at.0,
                lba: command.lba.0,
                sectors: command.sectors,
                tag: tag(command.tag),
                what: code_of(command.kind),
                flags: flags(settled, continued),
            },
            Entry::PowerCut { at, settled } => Fields {
                time: at.0,
                what: POWER_CUT,
                flags: flags(settled, false),
                ..Fields::default()
            },
            Entry::Passed { at } => Fields {
                time: at.0,
                what: PASSED,
                ..Fields::default()
            },
            Entry::Held(held) => Fields {
                time: u64::from(held.commands),
                lba: held.lba.0,
                sectors: held.sectors,
                tag: tag(held.tag),
                what: HELD + code_of(held.kind),
                flags: flags(false, held.continued),
            },
        };
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&fields.time.to_le_bytes());
        bytes[8..16].copy_from_slice(&fields.lba.to_le_bytes());
        bytes[16..20].copy_from_slice(&fields.sectors.to_le_bytes());
        bytes[20..24].copy_from_slice(&fields.tag.to_le_bytes());
        bytes[24] = fields.what;
        bytes[25] = fields.flags;
        let sum = checksum(&bytes[..28], spot);
        bytes[28..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the entry of this position; `None` if it is damaged or of another position.
    pub fn read(bytes: &[u8; ENTRY], spot: Spot) -> Option<Entry> {
        let long = |at: usize| bytes[at..].first_chunk().map(|b| u64::from_le_bytes(*b));
        let word = |at: usize| bytes[at..].first_chunk().map(|b| u32::from_le_bytes(*b));
        if checksum(&bytes[..28], spot) != word(28)? {
            return None;
        }
        let (time, lba, sectors) = (long(0)?, Lba(long(8)?), word(16)?);
        let (tag, at) = (u64::from(word(20)?), Nanos(time));
        let (settled, continued) = (bytes[25] & SETTLED != 0, bytes[25] & CONTINUED != 0);
        Some(match bytes[24] {
            POWER_CUT => Entry::PowerCut { at, settled },
            PASSED => Entry::Passed { at },
            what @ HELD.. => Entry::Held(Held {
                tag,
                kind: kind_of(what - HELD)?,
                lba,
                sectors,
                commands: u32::try_from(time).ok()?,
                continued,
            }),
            what => Entry::Command {
                command: Command {
                    tag,
                    kind: kind_of(what)?,
                    lba,
                    sectors,
                },
                at,
                settled,
                continued,
            },
        })
    }
}

/// The head of a journal that begins at the device's time `start` and has no entry yet.
pub fn head(start: Nanos) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..FIXED].copy_from_slice(&fixed(start));
    bytes[FIXED..].copy_from_slice(&count(0, start));
    bytes
}

fn fixed(start: Nanos) -> [u8; FIXED] {
    let mut bytes = [0; FIXED];
    bytes[..7].copy_from_slice(NAME);
    bytes[7] = VERSION;
    bytes[8..16].copy_from_slice(&start.0.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The number of committed entries as it is in the head.
pub fn count(entries: u64, start: Nanos) -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    bytes[..8].copy_from_slice(&entries.to_le_bytes());
    let sum = checksum(
        b"count",
        Spot {
            start,
            number: entries,
        },
    );
    bytes[8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// A journal in its parts.
pub struct Split<'a> {
    /// The device's time at its beginning.
    pub start: Nanos,
    /// Committed entries: the writer has put as many into the file.
    pub committed: u64,
    /// The bytes after the head.
    pub rest: &'a [u8],
}

/// Splits a journal into the fields of its head and its entries.
///
/// # Errors
/// `CommandJournalError::NotAJournal` if the bytes are something else, `Version` if they have another version, `Head` if the
/// head is damaged or not all there.
pub fn split_head(bytes: &[u8]) -> Result<Split<'_>, CommandJournalError> {
    let Some((found, rest)) = bytes.split_first_chunk::<FIXED>() else {
        return Err(CommandJournalError::NotAJournal);
    };
    let time = found[8..16].try_into().map(u64::from_le_bytes);
    let start = Nanos(time.map_err(|_| CommandJournalError::NotAJournal)?);
    match found[7] {
        _ if *found == fixed(start) => {}
        _ if found[..7] != *NAME => return Err(CommandJournalError::NotAJournal),
        other if other != VERSION && other.is_ascii_digit() => {
            return Err(CommandJournalError::Version(other as char));
        }
        _ => return Err(CommandJournalError::Head),
    }
    let (found, rest) = rest
        .split_first_chunk::<COUNT>()
        .ok_or(CommandJournalError::Head)?;
    let committed = found.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let committed = committed.filter(|committed| count(*committed, start) == *found);
    Ok(Split {
        start,
        committed: committed.ok_or(CommandJournalError::Head)?,
        rest,
    })
}
