//! The step journal: a file beside a result to which every finished step is appended, so that a power
//! cut or SIGKILL costs the step under way and nothing else. A result document can be made of it, and
//! an interrupted measurement can go on from it.
//!
//! The file begins with the line `nandscope step journal 1`. Frames follow (`frame`): the head
//! ([`Head`], twice, because nothing can be read without it), then for every finished step its
//! attachments and an [`Entry`]. The entries hold what was appended to the document since the entry
//! before; put together they are the document.
//!
//! Versions: the number in the first line rises when an old reader could misread a new journal. Within a
//! version fields of [`Head`] and [`Entry`] are only added, each with `#[serde(default)]`.

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
    /// Everything on which the result depends, by name; a resumed measurement must be asked the same.
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
    /// Those that the step appended to the document.
    #[serde(default)]
    pub notices: Vec<Notice>,
    /// Figures of the document.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Ways in which the device was attached.
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
    /// Its contents, uninterpreted.
    pub bytes: Vec<u8>,
}

/// An entry with its attachments.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The part that goes into the document.
    pub entry: Entry,
    /// In the order in which they were appended.
    pub attachments: Vec<Attachment>,
    /// Offset of its first frame in the file.
    start: u64,
    /// Checksum of the entry as it is in the file.
    crc: u32,
}

/// Contents of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Options at the start of the run.
    pub head: Head,
    /// The entries that are whole, in order.
    pub records: Vec<Record>,
    /// Unreadable parts.
    pub damages: Vec<Damage>,
    /// The last thing in it says that all of it is in a result that was written.
    pub written: bool,
    /// Offset after the last valid frame.
    end: u64,
    /// Number of the next frame.
    next: u64,
}

/// Why bytes are not a journal, worded to follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The first line is another one.
    #[error("is not a step journal of nandscope")]
    NotAJournal,
    /// A journal of another version.
    #[error("is a step journal of another version of nandscope; use the version that wrote it")]
    OtherVersion,
    /// Both copies of the head are damaged.
    #[error("is a step journal whose head is damaged; nothing can be read from it")]
    NoHead,
}

/// Reads a journal; what is torn or damaged is named in [`Contents::damages`].
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
                    // Its entry follows; without it, it is nothing.
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

/// A journal of these records, given as kind and payload, with checksums that are right whatever they hold.
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

    /// The document of all records, marked as incomplete. `place` names the journal in its notice.
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

    /// The last point from which the measurement can be resumed: the document as it was there, the number of parts
    /// that were done, and the number of records up to there. `None` if the measurement must start from the
    /// beginning.
    pub fn resume_point(&self) -> Option<(ResultDocument, u64, usize)> {
        let mut points = self.records.iter().enumerate().rev();
        let (index, parts) = points.find_map(|(i, r)| Some((i, r.entry.resume?)))?;
        Some((self.document(index + 1), parts, index + 1))
    }
}

/// Part of a document that is in its journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    steps: usize,
    notices: usize,
    figures: usize,
    modes: usize,
}

impl Cursor {
    /// All of `document`.
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

    /// Whether its document is one that this program reads.
    fn is_known(&self) -> bool {
        self.document.format == FORMAT && self.document.version <= FORMAT_VERSION
    }

    /// One sentence per difference between the options and `asked`.
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
