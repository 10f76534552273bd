//! The file system without its descriptor: messages of the kernel in, requests and answers out.
//! A folder with one file, the card.

use super::file::{File, LARGEST_TRANSFER};
use super::wire::{self, Body, Head, Words, opcode};
use crate::request::{Action, Request};
use nandscope_units::SECTOR_BYTES;
use rustix::io::Errno;

const ROOT: u64 = 1;
const CARD: u64 = 2;
/// Seconds for which the kernel may cache names and attributes, which never change.
const VALID_S: u64 = 3600;
/// Requests that the kernel may have under way in the background.
const MOST_REQUESTS: u16 = 256;

/// Content of a kernel message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A message without a reply.
    Nothing,
    /// Answer at once with these bytes.
    Answer(u64, Vec<u8>),
    /// Answer at once with this error.
    Error(u64, Errno),
    /// A request for the device, with the kernel's number.
    Request(u64, Request),
}

/// Parses one message.
pub fn take(file: &File, message: &[u8]) -> Incoming {
    let Some((head, body)) = wire::split(message) else {
        return Incoming::Nothing;
    };
    let answered = match head.opcode {
        opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => return Incoming::Nothing,
        opcode::READ | opcode::WRITE | opcode::FSYNC | opcode::FALLOCATE if head.node == CARD => {
            transfer(file, head, body)
        }
        _ => about_files(file, head, body).map(|answer| Incoming::Answer(head.unique, answer)),
    };
    answered.unwrap_or_else(|error| Incoming::Error(head.unique, error))
}

// ---- the folder and its file -------------------------------------------------------------------

fn about_files(file: &File, head: Head, body: &[u8]) -> Result<Vec<u8>, Errno> {
    let is_root = head.node == ROOT;
    match head.opcode {
        opcode::INIT => init(body),
        opcode::LOOKUP if is_root => {
            let name = body.split(|b| *b == 0).next().unwrap_or_default();
            if name != file.name.as_bytes() {
                return Err(Errno::NOENT);
            }
            let entry = Body::default().u64(CARD).u64(0);
            let entry = entry.u64(VALID_S).u64(VALID_S).u32(0).u32(0);
            Ok(attributes(file, CARD, entry).0)
        }
        // As on a block device, cutting it off has no effect.
        opcode::GETATTR | opcode::SETATTR => {
            let answer = Body::default().u64(VALID_S).u32(0).u32(0);
            Ok(attributes(file, head.node, answer).0)
        }
        opcode::OPEN if is_root => Err(Errno::ISDIR),
        opcode::OPEN => {
            let writes = Words(body).u32().ok_or(Errno::INVAL)? & 3 != 0;
            if writes && file.read_only {
                return Err(Errno::ROFS);
            }
            let flags = wire::OPEN_DIRECT_IO | wire::OPEN_PARALLEL_WRITES;
            Ok(Body::default().u64(0).u32(flags).u32(0).0)
        }
        opcode::OPENDIR if is_root => Ok(Body::default().zeroes(16).0),
        opcode::READDIR if is_root => folder(file, body),
        opcode::STATFS => Ok(Body::default()
            .u64(file.size.0 / SECTOR_BYTES)
            .zeroes(32)
            .u32(BLOCK)
            .u32(255)
            .u32(BLOCK)
            .zeroes(28)
            .0),
        // Programs close what they opened without a thought for the medium; that is for fsync.
        opcode::FLUSH
        | opcode::RELEASE
        | opcode::RELEASEDIR
        | opcode::FSYNCDIR
        | opcode::ACCESS
        | opcode::DESTROY => Ok(Vec::new()),
        _ => Err(Errno::NOSYS),
    }
}

/// Block of the file system in answers to `statfs`.
const BLOCK: u32 = 512;
/// Pages of the largest transfer.
const PAGES: u16 = 256;
const _: () = assert!(PAGES as u32 * 4096 == LARGEST_TRANSFER);

fn init(body: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut words = Words(body);
    let (Some(major), Some(_minor), Some(ahead), Some(offered)) =
        (words.u32(), words.u32(), words.u32(), words.u32())
    else {
        return Err(Errno::INVAL);
    };
    if major != wire::MAJOR {
        return Err(Errno::PROTO);
    }
    Ok(Body::default()
        .u32(wire::MAJOR)
        .u32(wire::MINOR)
        .u32(ahead)
        .u32(offered & wire::INIT_FLAGS)
        .u16(MOST_REQUESTS)
        .u16(MOST_REQUESTS * 3 / 4)
        .u32(LARGEST_TRANSFER)
        .u32(1)
        .u16(PAGES)
        .zeroes(34)
        .0)
}

fn attributes(file: &File, node: u64, before: Body) -> Body {
    const FOLDER: u32 = 0o040_700;
    const PLAIN: u32 = 0o100_600;
    let (size, mode) = if node == ROOT {
        (0, FOLDER)
    } else {
        (
            file.size.0,
            if file.read_only {
                PLAIN & !0o200
            } else {
                PLAIN
            },
        )
    };
    let (user, group) = file.owner;
    before
        .u64(node)
        .u64(size)
        .u64(size / 512)
        .zeroes(24 + 12)
        .u32(mode)
        .u32(1)
        .u32(user)
        .u32(group)
        .u32(0)
        .u32(4096)
        .u32(0)
}

/// The names in the folder; all of them at once.
fn folder(file: &File, body: &[u8]) -> Result<Vec<u8>, Errno> {
    const FOLDER: u32 = 4;
    const PLAIN: u32 = 8;
    let mut words = Words(body);
    let (Some(_), Some(offset), Some(room)) = (words.u64(), words.u64(), words.u32()) else {
        return Err(Errno::INVAL);
    };
    let mut names = Body::default();
    let all = [
        (ROOT, ".", FOLDER),
        (ROOT, "..", FOLDER),
        (CARD, &*file.name, PLAIN),
    ];
    for (number, (node, name, kind)) in (1..).zip(all).filter(|(n, _)| *n > offset) {
        let padded = name.len().next_multiple_of(8);
        if names.0.len() + 24 + padded > room as usize {
            break;
        }
        let length = u32::try_from(name.len()).map_err(|_| Errno::NAMETOOLONG)?;
        names = names.u64(node).u64(number).u32(length).u32(kind);
        names.0.extend(name.as_bytes());
        names = names.zeroes(padded - name.len());
    }
    Ok(names.0)
}

// ---- what goes to the device -------------------------------------------------------------------

fn transfer(file: &File, head: Head, body: &[u8]) -> Result<Incoming, Errno> {
    let mut words = Words(body);
    let _handle = words.u64().ok_or(Errno::INVAL)?;
    if head.opcode == opcode::FSYNC {
        return Ok(request(head, Action::Flush, (0, 0), Vec::new()));
    }
    let offset = words.u64().ok_or(Errno::INVAL)?;
    match head.opcode {
        opcode::READ => {
            let length = words.u32().ok_or(Errno::INVAL)?;
            Ok(read(file, head, offset, length))
        }
        opcode::WRITE => {
            let length = words.u32().ok_or(Errno::INVAL)?;
            words.skip(20).ok_or(Errno::INVAL)?;
            write(file, head, offset, length, words.0)
        }
        _ => {
            let length = words.u64().ok_or(Errno::INVAL)?;
            allocate(
                file,
                head,
                (offset, length),
                words.u32().ok_or(Errno::INVAL)?,
            )
        }
    }
}

fn request(head: Head, action: Action, range: (u64, u32), data: Vec<u8>) -> Incoming {
    let request = Request {
        action,
        offset: range.0,
        length: range.1,
        data,
        durable: false,
    };
    Incoming::Request(head.unique, request)
}

/// A read ends at the end of the file.
fn read(file: &File, head: Head, offset: u64, length: u32) -> Incoming {
    let left = file.size.0.saturating_sub(offset);
    let length = length
        .min(LARGEST_TRANSFER)
        .min(left.try_into().unwrap_or(u32::MAX));
    if length == 0 {
        return Incoming::Answer(head.unique, Vec::new());
    }
    request(head, Action::Read, (offset, length), Vec::new())
}

/// A range that may be changed.
fn check(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    if file.read_only {
        return Err(Errno::ROFS);
    }
    match offset.checked_add(length) {
        _ if length == 0 => Err(Errno::INVAL),
        Some(end) if end <= file.size.0 => Ok(()),
        _ => Err(Errno::NOSPC),
    }
}

/// A write of any bytes: the kernel cuts a program's write where its buffer crosses pages.
fn write(
    file: &File,
    head: Head,
    offset: u64,
    length: u32,
    data: &[u8],
) -> Result<Incoming, Errno> {
    if data.len() != length as usize {
        return Err(Errno::INVAL);
    }
    check(file, offset, u64::from(length))?;
    Ok(request(
        head,
        Action::Write,
        (offset, length),
        data.to_vec(),
    ))
}

fn allocate(file: &File, head: Head, range: (u64, u64), mode: u32) -> Result<Incoming, Errno> {
    check(file, range.0, range.1)?;
    if !range.0.is_multiple_of(SECTOR_BYTES) || !range.1.is_multiple_of(SECTOR_BYTES) {
        return Err(Errno::INVAL);
    }
    let length = u32::try_from(range.1).map_err(|_| Errno::FBIG)?;
    let action = match mode {
        _ if mode == wire::PUNCH_HOLE | wire::KEEP_SIZE && !file.discards => {
            return Err(Errno::OPNOTSUPP);
        }
        _ if mode == wire::PUNCH_HOLE | wire::KEEP_SIZE => Action::Zero,
        wire::ZERO_RANGE => Action::WriteZeroes,
        _ if mode == wire::ZERO_RANGE | wire::KEEP_SIZE => Action::WriteZeroes,
        // Everything is allocated.
        0 | wire::KEEP_SIZE => return Ok(Incoming::Answer(head.unique, Vec::new())),
        _ => return Err(Errno::OPNOTSUPP),
    };
    Ok(request(head, action, (range.0, length), Vec::new()))
}
