//! `verify` and related options: verifiable contents of blocks, in the sizes of fio 3.33. The measure crate makes and
//! compares the contents.

use super::data::DataPattern;

/// Bytes of the header that all methods but `pattern` and `null` have in each verified block.
pub const VERIFY_HEADER: u32 = 40;

/// Method to verify a block; the numbers are those of fio's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum VerifyMethod {
    /// `meta`: a header without a checksum of the data.
    Meta = 1,
    /// `md5`.
    Md5 = 2,
    /// `crc64`.
    Crc64 = 3,
    /// `crc32`.
    Crc32 = 4,
    /// `crc32c`.
    Crc32c = 5,
    /// `crc32c-intel`: the same checksum as `crc32c`, with another number in the header.
    Crc32cIntel = 6,
    /// `crc16`.
    Crc16 = 7,
    /// `crc7`.
    Crc7 = 8,
    /// `sha256`.
    Sha256 = 9,
    /// `sha512`.
    Sha512 = 10,
    /// `sha3-224`.
    Sha3_224 = 11,
    /// `sha3-256`.
    Sha3_256 = 12,
    /// `sha3-384`.
    Sha3_384 = 13,
    /// `sha3-512`.
    Sha3_512 = 14,
    /// `xxhash`.
    XxHash = 15,
    /// `sha1`.
    Sha1 = 16,
    /// `pattern`: only `verify_pattern`.
    Pattern = 18,
    /// `null`: nothing is compared.
    Null = 19,
}

use VerifyMethod::*;

/// All methods with fio's names and the bytes of their checksums.
const METHODS: &[(VerifyMethod, &str, u32)] = &[
    (Null, "null", 0),
    (Meta, "meta", 0),
    (Pattern, "pattern", 0),
    (Md5, "md5", 16),
    (Crc64, "crc64", 8),
    (Crc32, "crc32", 4),
    (Crc32c, "crc32c", 4),
    (Crc32cIntel, "crc32c-intel", 4),
    (Crc16, "crc16", 2),
    (Crc7, "crc7", 1),
    (XxHash, "xxhash", 4),
    (Sha256, "sha256", 64),
    (Sha512, "sha512", 128),
    (Sha1, "sha1", 20),
    (Sha3_224, "sha3-224", 28),
    (Sha3_256, "sha3-256", 32),
    (Sha3_384, "sha3-384", 48),
    (Sha3_512, "sha3-512", 64),
];

impl VerifyMethod {
    /// All methods.
    pub fn all() -> impl Iterator<Item = VerifyMethod> {
        METHODS.iter().map(|(method, ..)| *method)
    }

    /// The method of a name.
    pub(crate) fn find(name: &str) -> Option<VerifyMethod> {
        let mut methods = METHODS.iter();
        methods
            .find(|(_, known, _)| *known == name)
            .map(|(method, ..)| *method)
    }

    /// The method of a number in a header.
    pub fn of_number(number: u16) -> Option<VerifyMethod> {
        VerifyMethod::all().find(|method| *method as u16 == number)
    }

    /// fio's name of the method.
    pub fn name(self) -> &'static str {
        let entry = METHODS.iter().find(|(method, ..)| *method == self);
        entry.map_or("", |(_, name, _)| name)
    }

    /// Bytes of the checksum after the header.
    pub fn checksum_length(self) -> u32 {
        let entry = METHODS.iter().find(|(method, ..)| *method == self);
        entry.map_or(0, |(.., length)| *length)
    }

    /// Size of header and checksum in each verified block, bytes; 0 without them.
    pub fn overhead(self) -> u32 {
        match self {
            Pattern | Null => 0,
            _ => VERIFY_HEADER + self.checksum_length(),
        }
    }
}

/// `verify` and related options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    /// The method; `None` verifies nothing.
    pub method: Option<VerifyMethod>,
    /// `verify_pattern`: contents of blocks, in addition to the header of `method`.
    pub pattern: Option<DataPattern>,
    /// `verify_interval`: size of a part with a separate header, bytes; 0 is a whole block.
    pub interval: u32,
    /// `verify_offset`: offset of the header in its part, bytes.
    pub offset: u32,
    /// `do_verify`: read back what was written.
    pub read_back: bool,
    /// `verify_only`: nothing is written; the data of an earlier run of the same job is read.
    pub only: bool,
    /// `verify_backlog` and `verify_backlog_batch`.
    pub backlog: Backlog,
    /// `trim_backlog` and `trim_backlog_batch`.
    pub trim_backlog: Backlog,
    /// `trim_percentage`: share of the written blocks that are trimmed again, percent.
    pub trim_percent: u32,
    /// `verify_dump`: stores the contents of the first mismatching blocks.
    pub dump: bool,
    /// `trim_verify_zero`: trimmed blocks must read as zeros.
    pub trim_zero: bool,
}

/// When a job returns to blocks that it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// After this many writes; 0 is never.
    pub after: u64,
    /// Number of blocks verified or trimmed at once; 0 is `after`.
    pub batch: u64,
}

impl Backlog {
    /// Number of blocks returned to at once.
    pub(crate) fn size(&self) -> u64 {
        match self.batch {
            0 => self.after,
            batch => batch,
        }
    }
}

impl Verify {
    /// Whether contents are verified.
    pub fn is_wanted(&self) -> bool {
        self.method.is_some()
    }

    /// Whether the group ends by reading back the job's writes. With a backlog the job does this itself.
    pub fn reads_back_at_end(&self) -> bool {
        self.is_wanted() && self.read_back && self.backlog.after == 0 && !self.only
    }

    /// Whether the job returns to its own blocks, which must not be in flight then.
    pub fn comes_back(&self) -> bool {
        self.is_wanted() && (self.backlog.after > 0 || self.trim_backlog.after > 0)
    }
}

impl Default for Verify {
    fn default() -> Self {
        Verify {
            method: None,
            pattern: None,
            interval: 0,
            offset: 0,
            read_back: true,
            only: false,
            backlog: Backlog::default(),
            trim_backlog: Backlog::default(),
            trim_percent: 0,
            dump: false,
            trim_zero: false,
        }
    }
}
