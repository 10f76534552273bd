//! The step journal: a file next to a result to which every finished step is appended, so that a power cut or SIGKILL
//! loses only the current step. It can be converted to a result document, and an interrupted measurement can continue
//! from it.
//!
//! The file begins with the line `nandscope step journal 1`. Frames follow (`frame`): the head ([`Head`], twice,
//! because nothing can be read without it), then for every finished step its attachments and an [`Entry`]. An entry has
//! what was appended to the document since the previous entry; joined, they are the document.
//!
//! Versions: the number in the first line rises when an old reader could misread a new journal. Within a version fields
//! of [`Head`] and [`Entry`] are only added, each with `#[serde(default)]`.

mod file;
mod frame;

pub use file::{StepJournal, StepJournalError};
pub use frame::Damage;

use nandscope_result::{
    FORMAT, FORMAT_VERSION, Figure, ModeInfo, Notice, ResultDocument, StepResult,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// First line of a journal.
const FIRST_LINE: &[u8] = b"nandscope step journal 1\n";
/// Begin of the first line in every version.
const ANY_VERSION: &[u8] = b"nandscope step journal ";

const HEAD: u32 = 1;
const ATTACHMENT: u32 = 2;
const ENTRY: u32 = 3;
const WRITTEN: u32 = 4;

/// Options of the measurement, and its document before the first step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// All options that affect the result, by name; a resumed measurement must have the same.
    pub asked: BTreeMap<String, String>,
    /// The document without steps, figures, notices and modes.
    pub document: ResultDocument,
}

/// Parts appended to the document since the entry before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Finished steps.
    #[serde(default)]
    pub steps: Vec<StepResult>,
    /// Notices appended by the step.
    #[serde(default)]
    pub notices: Vec<Notice>,
    /// Figures of the document.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Modes in which the device was attached.
    #[serde(default)]
    pub modes: Vec<ModeInfo>,
    /// Number of finished parts if the measurement can continue from the document at this point.
    #[serde(default)]
    pub resume: Option<u64>,
}

/// Bytes that belong to an entry but not to the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the attachment.
    pub name: String,
    /// Contents, not interpreted.
    pub bytes: Vec<u8>,
}

/// An entry with its attachments.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Entry for the document.
    pub entry: Entry,
    /// Attachments in the order of appending.
    pub attachments: Vec<Attachment>,
    /// Offset of the record's first frame in the file.
    start: u64,
    /// Checksum of the entry in the file.
    crc: u32,
}

/// Contents of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Options at the start of the run.
    pub head: Head,
    /// The entries that are whole, in order.
    pub records: Vec<Record>,
    /// Ranges that cannot be read.
    pub damages: Vec<Damage>,
    /// Whether the last record says that everything is in a written result.
    pub written: bool,
    /// Offset after the last valid frame.
    end: u64,
    /// Number of the next frame.
    next: u64,
}

/// Why bytes are not a journal, worded to follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The first line is not that of a journal.
    #[error("is not a step journal of nandscope")]
    NotAJournal,
    /// The journal has another version.
    #[error("is a step journal of another version of nandscope; use the version that wrote it")]
    OtherVersion,
    /// Both copies of the head are damaged.
    #[error("is a step journal whose head is damaged; nothing can be read from it")]
    NoHead,
}

/// Reads a journal; torn or damaged parts are listed in [`Contents::damages`].
///
/// # Errors
/// See [`ReadError`].
pub fn read(bytes: &[u8]) -> Result<Contents, ReadError> {
    if !bytes.starts_with(FIRST_LINE) {
        return Err(if bytes.starts_with(ANY_VERSION) {
            ReadError::OtherVersion
        } else {
            ReadError::NotAJournal
        });
    }
    let (frames, mut damages) = frame::scan(bytes, FIRST_LINE.len());
    let mut head = None;
    let mut records = Vec::new();
    let mut attachments = Vec::new();
    let (mut begin, mut written, mut end, mut next) = (None, false, FIRST_LINE.len(), 0);
    for frame in frames {
        if frame.number != next {
            // The entry of these attachments is damaged.
            attachments.clear();
            begin = None;
        }
        next = frame.number.saturating_add(1);
        let start = *begin.get_or_insert(frame.start);
        written = false;
        let understood = match frame.kind {
            HEAD => match serde_json::from_slice::<Head>(frame.payload) {
                Ok(read) if read.is_known() => {
                    head.get_or_insert(read);
                    true
                }
                _ => false,
            },
            ATTACHMENT => {
                let read = attachment(frame.payload);
                let whole = read.is_some();
                attachments.extend(read);
                if whole {
                    // The entry follows; attachments without an entry are ignored.
                    continue;
                }
                false
            }
            ENTRY => match serde_json::from_slice(frame.payload) {
                Ok(entry) => {
                    records.push(Record {
                        entry,
                        attachments: std::mem::take(&mut attachments),
                        start: start as u64,
                        crc: crc32fast::hash(frame.payload),
                    });
                    true
                }
                Err(_) => false,
            },
            WRITTEN => {
                written = true;
                true
            }
            _ => false,
        };
        if !understood {
            damages.push(Damage {
                start,
                end: frame.end,
                torn: false,
            });
        }
        attachments.clear();
        begin = None;
        end = frame.end;
    }
    if let Some(start) = begin {
        // Attachments whose entry was not written.
        damages.retain(|d| d.start < start);
        damages.push(Damage {
            start,
            end: bytes.len(),
            torn: true,
        });
    }
    damages.sort_by_key(|d| d.start);
    Ok(Contents {
        head: head.ok_or(ReadError::NoHead)?,
        records,
        damages,
        written,
        end: end as u64,
        next,
    })
}

/// A journal of records given as kind and payload, with correct checksums for any contents.
pub fn sealed<'a>(records: impl IntoIterator<Item = (u32, &'a [u8])>) -> Vec<u8> {
    let mut bytes = FIRST_LINE.to_vec();
    for (number, (kind, payload)) in records.into_iter().enumerate() {
        frame::put(&mut bytes, kind, number as u64, payload);
    }
    bytes
}

fn attachment(payload: &[u8]) -> Option<Attachment> {
    let (length, rest) = payload.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (name, bytes) = rest.split_at_checked(length)?;
    Some(Attachment {
        name: String::from_utf8(name.to_vec()).ok()?,
        bytes: bytes.to_vec(),
    })
}

impl Contents {
    /// Number of finished steps.
    pub fn steps(&self) -> usize {
        self.records.iter().map(|r| r.entry.steps.len()).sum()
    }

    /// Damage followed by valid records.
    pub fn holes(&self) -> impl Iterator<Item = &Damage> {
        self.damages.iter().filter(|d| !d.torn)
    }

    /// The document of the first `records` records.
    fn document(&self, records: usize) -> ResultDocument {
        let mut document = self.head.document.clone();
        for record in &self.records[..records] {
            let entry = record.entry.clone();
            document.steps.extend(entry.steps);
            document.notices.extend(entry.notices);
            document.figures.extend(entry.figures);
            document.target.modes.extend(entry.modes);
        }
        nandscope_result::json::upgraded(document)
    }

    /// Document of all records, marked as incomplete. `place` names the journal in its notice.
    pub fn recovered(&self, place: &str) -> ResultDocument {
        let mut document = self.document(self.records.len());
        document.complete = false;
        let mut text = format!(
            "recovered from the step journal {place}: the measurement was ended before it was over; the steps that it had finished are here"
        );
        for damage in self.holes() {
            text.push_str(&format!(
                "; bytes {} to {} of the journal are damaged, and what they held is missing",
                damage.start, damage.end
            ));
        }
        document.notices.push(Notice::warning(text));
        document
    }

    /// Last point at which the measurement can be resumed: the document at that point, the number of finished parts,
    /// and the number of records up to it. `None` if the measurement must start from the beginning.
    pub fn resume_point(&self) -> Option<(ResultDocument, u64, usize)> {
        let mut points = self.records.iter().enumerate().rev();
        let (index, parts) = points.find_map(|(i, r)| Some((i, r.entry.resume?)))?;
        Some((self.document(index + 1), parts, index + 1))
    }
}

/// Extent of a document that is in its journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    steps: usize,
    notices: usize,
    figures: usize,
    modes: usize,
}

impl Cursor {
    /// Cursor at the end of `document`.
    pub fn at(document: &ResultDocument) -> Cursor {
        Cursor {
            steps: document.steps.len(),
            notices: document.notices.len(),
            figures: document.figures.len(),
            modes: document.target.modes.len(),
        }
    }

    /// Takes the parts appended to the document since, as an entry; the cursor moves to the end of the document.
    pub fn advance(&mut self, document: &ResultDocument, resume: Option<u64>) -> Entry {
        fn since<T: Clone>(all: &[T], from: usize) -> Vec<T> {
            all.get(from..).unwrap_or_default().to_vec()
        }
        let entry = Entry {
            steps: since(&document.steps, self.steps),
            notices: since(&document.notices, self.notices),
            figures: since(&document.figures, self.figures),
            modes: since(&document.target.modes, self.modes),
            resume,
        };
        *self = Cursor::at(document);
        entry
    }
}

impl Head {
    /// The head of a journal for this document.
    pub fn new(asked: BTreeMap<String, String>, document: &ResultDocument) -> Head {
        let mut document = ResultDocument {
            steps: Vec::new(),
            figures: Vec::new(),
            notices: Vec::new(),
            ..document.clone()
        };
        document.target.modes.clear();
        Head { asked, document }
    }

    /// Whether this program can read the document's version.
    fn is_known(&self) -> bool {
        self.document.format == FORMAT && self.document.version <= FORMAT_VERSION
    }

    /// One sentence per difference between the journal's options and `asked`.
    pub fn differences(&self, asked: &BTreeMap<String, String>) -> Vec<String> {
        /// Longer values (a job file, a profile) are not shown.
        const SHOWN: usize = 60;
        let names: std::collections::BTreeSet<&String> =
            self.asked.keys().chain(asked.keys()).collect();
        let mut all = Vec::new();
        for name in names {
            let (then, now) = (self.asked.get(name), asked.get(name));
            if then == now {
                continue;
            }
            let show = |value: Option<&String>| match value {
                None => "not given".to_string(),
                Some(value) => format!("`{}`", value.escape_default()),
            };
            let short = [then, now].into_iter().flatten().all(|v| v.len() <= SHOWN);
            all.push(match short {
                true => format!("{name}: was {}, is {}", show(then), show(now)),
                false => format!("{name}: not the same"),
            });
        }
        all
    }
}

#[cfg(test)]
mod tests;
