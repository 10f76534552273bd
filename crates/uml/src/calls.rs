//! The calls of programs to files on the device: records of 32 bytes that the patched kernel
//! writes, in native order: start, end (nanoseconds of virtual time), result, number of the call,
//! number of the process.

use nandscope_units::Nanos;
use serde::{Deserialize, Deserializer};

/// Bytes of a record.
const RECORD: usize = 32;

/// One call of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When the program called.
    pub start: Nanos,
    /// When the call returned.
    pub end: Nanos,
    /// Return value; negative for an error.
    pub result: i64,
    /// Linux's number of the call on x86-64.
    pub number: u32,
    /// The process inside.
    pub process: u32,
}

impl Call {
    /// Duration of the call.
    pub fn latency(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// Its name, if calls of this name are recorded.
    pub fn name(&self) -> &'static str {
        match self.number {
            0 | 17 | 19 => "read",
            1 | 18 | 20 => "write",
            40 | 326 => "copy",
            74 | 75 | 277 => "fsync",
            162 | 306 => "sync",
            2 | 85 | 257 => "open",
            87 | 263 | 84 => "unlink",
            82 | 264 | 316 => "rename",
            83 | 258 => "mkdir",
            76 | 77 => "truncate",
            217 => "readdir",
            285 => "allocate",
            86 | 265 | 88 | 266 => "link",
            _ => "other",
        }
    }
}

/// Deserialises the name of a call and a time; an unknown name becomes `other`.
pub(crate) fn named<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<(&'static str, Nanos)>, D::Error> {
    const NAMES: [&str; 13] = [
        "read", "write", "copy", "fsync", "sync", "open", "unlink", "rename", "mkdir", "truncate",
        "readdir", "allocate", "link",
    ];
    let kept = Option::<(String, Nanos)>::deserialize(from)?;
    Ok(kept.map(|(name, time)| {
        let known = NAMES.into_iter().find(|known| *known == name);
        (known.unwrap_or("other"), time)
    }))
}

/// Reads a file of records; a last one that is cut short is passed over.
pub fn read(bytes: &[u8]) -> Vec<Call> {
    bytes
        .chunks_exact(RECORD)
        .map(|record| {
            let bytes = |at: usize| {
                let mut value = [0; 8];
                value.copy_from_slice(&record[at..at + 8]);
                value
            };
            let number = |at: usize| u64::from_ne_bytes(bytes(at));
            let half = |at: usize| {
                let mut value = [0; 4];
                value.copy_from_slice(&record[at..at + 4]);
                u32::from_ne_bytes(value)
            };
            Call {
                start: Nanos(number(0)),
                end: Nanos(number(8)),
                result: i64::from_ne_bytes(bytes(16)),
                number: half(24),
                process: half(28),
            }
        })
        .collect()
}
