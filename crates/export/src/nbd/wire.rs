//! The numbers of the NBD protocol, and its messages as bytes
//! (<https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>). Everything is big-endian.

use thiserror::Error;

/// The client broke the protocol; its connection has to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the client violated the protocol: {0}")]
pub struct Broken(pub &'static str);

/// First words of a server.
pub const MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// Second word of a server, and first of every option.
pub const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// First word of every answer to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First word of a request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First word of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First word of a chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Handshake: fixed newstyle.
pub const FIXED_NEWSTYLE: u16 = 1;
/// Handshake: no 124 zeroes after the answer to [`OPT_EXPORT_NAME`].
pub const NO_ZEROES: u16 = 2;

/// Option: choose an export and begin; it has no form for errors.
pub const OPT_EXPORT_NAME: u32 = 1;
/// Option: end.
pub const OPT_ABORT: u32 = 2;
/// Option: list the exports.
pub const OPT_LIST: u32 = 3;
/// Option: describe an export.
pub const OPT_INFO: u32 = 6;
/// Option: choose an export and begin.
pub const OPT_GO: u32 = 7;
/// Option: structured replies from now on.
pub const OPT_STRUCTURED_REPLY: u32 = 8;

/// Answer: done.
pub const REP_ACK: u32 = 1;
/// Answer: an export.
pub const REP_SERVER: u32 = 2;
/// Answer: a fact about an export.
pub const REP_INFO: u32 = 3;
/// Answer: not known here.
pub const REP_ERR_UNSUP: u32 = (1 << 31) + 1;
/// Answer: badly formed.
pub const REP_ERR_INVALID: u32 = (1 << 31) + 3;
/// Answer: no such export.
pub const REP_ERR_UNKNOWN: u32 = (1 << 31) + 6;

/// Fact: size and flags.
pub const INFO_EXPORT: u16 = 0;
/// Fact: the export's name.
pub const INFO_NAME: u16 = 1;
/// Fact: a description for people.
pub const INFO_DESCRIPTION: u16 = 2;
/// Fact: smallest, preferred and largest block.
pub const INFO_BLOCK_SIZE: u16 = 3;

/// Flags of an export.
pub mod flag {
    /// The others mean something.
    pub const HAS_FLAGS: u16 = 1;
    /// No writes.
    pub const READ_ONLY: u16 = 1 << 1;
    /// Flush is known.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// FUA is known.
    pub const SEND_FUA: u16 = 1 << 3;
    /// Trim is known.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// Write-zeroes is known.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Clients may request reads in one piece.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// Cache is known.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// Clients may request fast write-zeroes that fail rather than write.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Values of the type field of a request.
pub mod command {
    /// `NBD_CMD_READ`.
    pub const READ: u16 = 0;
    /// `NBD_CMD_WRITE`.
    pub const WRITE: u16 = 1;
    /// `NBD_CMD_DISC`: the client disconnects.
    pub const DISCONNECT: u16 = 2;
    /// `NBD_CMD_FLUSH`.
    pub const FLUSH: u16 = 3;
    /// Discard.
    pub const TRIM: u16 = 4;
    /// Read into the cache.
    pub const CACHE: u16 = 5;
    /// `NBD_CMD_WRITE_ZEROES`.
    pub const WRITE_ZEROES: u16 = 6;
}

/// Bits of the flags field of a request.
pub mod command_flag {
    /// On the medium when it completes.
    pub const FUA: u16 = 1;
    /// Zeroes that stay allocated.
    pub const NO_HOLE: u16 = 1 << 1;
    /// In one piece.
    pub const DF: u16 = 1 << 2;
    /// Fast or not at all.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Errors of commands; the numbers are those of Linux.
pub mod error {
    /// Not allowed.
    pub const EPERM: u32 = 1;
    /// The medium failed.
    pub const EIO: u32 = 5;
    /// Badly formed.
    pub const EINVAL: u32 = 22;
    /// Beyond the end, of a write.
    pub const ENOSPC: u32 = 28;
    /// Not known here.
    pub const ENOTSUP: u32 = 95;
}

/// Bytes of a request before its data.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of an option before its data.
pub const OPTION_BYTES: usize = 16;

/// The fixed part of a request, before the data of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// See [`command_flag`].
    pub flags: u16,
    /// See [`command`].
    pub command: u16,
    /// The client's own number.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

impl RequestHead {
    /// Parses the header of a request; `None` if the magic is wrong.
    pub fn read(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let mut words = Words(bytes);
        if words.u32()? != REQUEST_MAGIC {
            return None;
        }
        Some(RequestHead {
            flags: words.u16()?,
            command: words.u16()?,
            cookie: words.u64()?,
            offset: words.u64()?,
            length: words.u32()?,
        })
    }
}

/// Numbers and pieces from the front of a message.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a [u8]);

impl<'a> Words<'a> {
    /// Returns the next `length` bytes; `None` if there are fewer.
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (piece, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(piece)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

/// Appends a simple reply, before its data.
pub fn simple_reply(out: &mut Vec<u8>, cookie: u64, error: u32) {
    out.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend(error.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

const CHUNK_DONE: u16 = 1;
const CHUNK_OFFSET_DATA: u16 = 1;
const CHUNK_ERROR: u16 = (1 << 15) + 1;

fn chunk(out: &mut Vec<u8>, cookie: u64, kind: u16, length: u32) {
    out.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out.extend(CHUNK_DONE.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(length.to_be_bytes());
}

/// Appends the only chunk of a read, before its data. `length` is at most [`super::LARGEST_BLOCK`].
pub fn data_chunk(out: &mut Vec<u8>, cookie: u64, offset: u64, length: u32) {
    chunk(out, cookie, CHUNK_OFFSET_DATA, length + 8);
    out.extend(offset.to_be_bytes());
}

/// Appends the only chunk of a request that failed.
pub fn error_chunk(out: &mut Vec<u8>, cookie: u64, error: u32, message: &str) {
    let message = &message.as_bytes()[..message.len().min(1024)];
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    chunk(out, cookie, CHUNK_ERROR, 6 + u32::from(length));
    out.extend(error.to_be_bytes());
    out.extend(length.to_be_bytes());
    out.extend(message);
}

/// The length of a name or of data, which are far below 4 GiB.
pub fn length(data: impl AsRef<[u8]>) -> u32 {
    u32::try_from(data.as_ref().len()).unwrap_or(u32::MAX)
}

/// Appends an answer to an option.
pub fn option_reply(out: &mut Vec<u8>, option: u32, reply: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(reply.to_be_bytes());
    out.extend(length(data).to_be_bytes());
    out.extend(data);
}
