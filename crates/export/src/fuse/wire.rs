//! Constants and message formats of the kernel's FUSE protocol
//! (<https://github.com/torvalds/linux/blob/master/include/uapi/linux/fuse.h>), the required part of
//! version 7.31. All values are in native byte order.

/// Version that this side speaks.
pub const MAJOR: u32 = 7;
/// See [`MAJOR`].
pub const MINOR: u32 = 31;

/// Operations of the kernel.
pub mod opcode {
    #![allow(missing_docs, reason = "the names are the kernel's")]
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const SETATTR: u32 = 4;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const WRITE: u32 = 16;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FSYNC: u32 = 20;
    pub const FLUSH: u32 = 25;
    pub const INIT: u32 = 26;
    pub const OPENDIR: u32 = 27;
    pub const READDIR: u32 = 28;
    pub const RELEASEDIR: u32 = 29;
    pub const FSYNCDIR: u32 = 30;
    pub const ACCESS: u32 = 34;
    pub const INTERRUPT: u32 = 36;
    pub const DESTROY: u32 = 38;
    pub const BATCH_FORGET: u32 = 42;
    pub const FALLOCATE: u32 = 43;
}

/// Negotiated features: parallel reads, writes of more than a page, parallel direct I/O, requests of
/// more than 32 pages.
pub const INIT_FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
/// An open file is not cached by the kernel.
pub const OPEN_DIRECT_IO: u32 = 1;
/// Direct writes to it may overlap in time.
pub const OPEN_PARALLEL_WRITES: u32 = 1 << 6;
/// Allocate: the size of the file stays.
pub const KEEP_SIZE: u32 = 1;
/// Allocate: make a hole.
pub const PUNCH_HOLE: u32 = 2;
/// Allocate: zeroes that stay allocated.
pub const ZERO_RANGE: u32 = 16;

/// Bytes of the head of a message from the kernel.
pub const IN_HEADER: usize = 40;
/// Bytes of the head of an answer.
pub const OUT_HEADER: usize = 16;

/// The head of a message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// See [`opcode`].
    pub opcode: u32,
    /// The kernel's number of the request.
    pub unique: u64,
    /// Number of the file that the request concerns.
    pub node: u64,
}

/// Numbers from the front of a message.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a [u8]);

impl<'a> Words<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (piece, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*piece)
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    /// Skips bytes; `None` if there are not enough.
    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }
}

/// Splits a message into header and body; `None` if the length is wrong.
pub fn split(message: &[u8]) -> Option<(Head, &[u8])> {
    let mut words = Words(message);
    let length = words.u32()?;
    let opcode = words.u32()?;
    let unique = words.u64()?;
    let node = words.u64()?;
    let body = message.get(IN_HEADER..)?;
    (length as usize == message.len()).then_some((
        Head {
            opcode,
            unique,
            node,
        },
        body,
    ))
}

/// The head of an answer that is followed by `bytes` bytes; `error` is zero or an `errno`.
pub fn answer(unique: u64, error: i32, bytes: usize) -> [u8; OUT_HEADER] {
    let mut head = [0; OUT_HEADER];
    // Answers are at most a megabyte.
    let length = u32::try_from(OUT_HEADER + bytes).unwrap_or(u32::MAX);
    head[..4].copy_from_slice(&length.to_ne_bytes());
    head[4..8].copy_from_slice(&(-error).to_ne_bytes());
    head[8..].copy_from_slice(&unique.to_ne_bytes());
    head
}

/// A message under construction.
#[derive(Debug, Default)]
pub struct Body(pub Vec<u8>);

impl Body {
    /// Appends two bytes.
    #[must_use]
    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Appends four bytes.
    #[must_use]
    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Appends eight bytes.
    #[must_use]
    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Appends zeroes.
    #[must_use]
    pub fn zeroes(mut self, bytes: usize) -> Self {
        self.0.resize(self.0.len() + bytes, 0);
        self
    }
}
