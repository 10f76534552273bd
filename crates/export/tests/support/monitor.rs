//! A virtual machine monitor that says exactly what a test wants it to say, and the queue of its guest.

#![allow(dead_code, reason = "each test file uses its part of this")]

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub const GET_FEATURES: u32 = 1;
pub const SET_FEATURES: u32 = 2;
pub const SET_OWNER: u32 = 3;
pub const SET_MEM_TABLE: u32 = 5;
pub const SET_VRING_NUM: u32 = 8;
pub const SET_VRING_ADDR: u32 = 9;
pub const SET_VRING_BASE: u32 = 10;
pub const SET_VRING_KICK: u32 = 12;
pub const SET_VRING_CALL: u32 = 13;
pub const GET_CONFIG: u32 = 24;

/// The flags of a message: version 1.
pub const VERSION: u32 = 1;
/// Bytes of the guest's memory.
pub const MEMORY: u64 = 1 << 20;
/// Entries of its queue.
pub const QUEUE: u32 = 64;

/// Address of the guest's memory in the monitor; the guest's addresses begin at 0.
const MONITOR: u64 = 1 << 40;
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEADER: u64 = 0x3000;
const STATUS: u64 = 0x3100;
const DATA: u64 = 0x4000;

/// A message: number, flags, length that it claims, what follows.
pub fn message(request: u32, flags: u32, length: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = [request, flags, length].map(u32::to_ne_bytes).concat();
    bytes.extend(body);
    bytes
}

/// Memory for a guest, sealed as a test wants it.
pub fn memory(flags: MemfdFlags, seals: SealFlags) -> io::Result<OwnedFd> {
    let flags = flags | MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    let memory = rustix::fs::memfd_create("guest", flags)?;
    rustix::fs::ftruncate(&memory, MEMORY.max(2 << 20))?;
    rustix::fs::fcntl_add_seals(&memory, seals)?;
    Ok(memory)
}

/// A monitor that is connected.
pub struct Monitor {
    pub stream: UnixStream,
    pub memory: File,
    /// Requests put into the queue so far.
    put: u16,
}

impl Monitor {
    pub fn connect(path: &Path) -> Monitor {
        let memory = memory(MemfdFlags::empty(), SealFlags::SHRINK).unwrap();
        let stream = UnixStream::connect(path).unwrap();
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).unwrap();
        stream.set_write_timeout(patience).unwrap();
        Monitor {
            stream,
            memory: memory.into(),
            put: 0,
        }
    }

    /// Sends a message, with a descriptor.
    pub fn say(&self, request: u32, body: &[u8], descriptor: Option<BorrowedFd<'_>>) {
        let bytes = message(request, VERSION, body.len() as u32, body);
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        let descriptors: Vec<_> = descriptor.into_iter().collect();
        if !descriptors.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        }
        // It may have been hung up on.
        let pieces = [IoSlice::new(&bytes)];
        let _ = sendmsg(&self.stream, &pieces, &mut control, SendFlags::NOSIGNAL);
    }

    /// Gives this memory to the server.
    pub fn give_memory(&self, memory: BorrowedFd<'_>) {
        let mut table = [1u32, 0].map(u32::to_ne_bytes).concat();
        table.extend([0, MEMORY, MONITOR, 0].map(u64::to_ne_bytes).concat());
        self.say(SET_MEM_TABLE, &table, Some(memory));
    }

    /// Sets everything up but the descriptors of the queue.
    pub fn set_up(&self) {
        let two = |value: u32| [0, value].map(u32::to_ne_bytes).concat();
        self.say(SET_OWNER, &[], None);
        self.say(SET_FEATURES, &(1u64 << 32).to_ne_bytes(), None);
        self.give_memory(self.memory.as_fd());
        self.say(SET_VRING_NUM, &two(QUEUE), None);
        let mut places = two(0);
        let places_of = [DESCRIPTORS, USED, AVAILABLE].map(|at| (MONITOR + at).to_ne_bytes());
        places.extend(places_of.concat());
        places.extend(0u64.to_ne_bytes());
        self.say(SET_VRING_ADDR, &places, None);
        self.say(SET_VRING_BASE, &two(0), None);
    }

    /// Gives the descriptor by which the guest is called, or that by which it kicks.
    pub fn give(&self, request: u32, descriptor: BorrowedFd<'_>) {
        self.say(request, &0u64.to_ne_bytes(), Some(descriptor));
    }

    /// Whether the server still talks: it has read everything that was said before, then.
    pub fn is_heard(&mut self) -> bool {
        self.say(GET_FEATURES, &[], None);
        self.stream.read_exact(&mut [0; 20]).is_ok()
    }

    /// Puts a read of 4 KiB from the start of the card into the queue.
    pub fn put_read(&mut self) {
        let place = |address: u64, length: u32, flags: u16, next: u16| {
            let mut bytes = address.to_le_bytes().to_vec();
            bytes.extend(length.to_le_bytes());
            bytes.extend([flags, next].map(u16::to_le_bytes).concat());
            bytes
        };
        let chain = [
            place(HEADER, 16, 1, 1),
            place(DATA, 4096, 3, 2),
            place(STATUS, 1, 2, 0),
        ];
        let memory = &self.memory;
        memory.write_all_at(&chain.concat(), DESCRIPTORS).unwrap();
        memory.write_all_at(&[0; 16], HEADER).unwrap();
        // Entry 0 of the table, in the next place of the ring.
        let entry = AVAILABLE + 4 + 2 * u64::from(self.put % QUEUE as u16);
        memory.write_all_at(&[0; 2], entry).unwrap();
        self.put = self.put.wrapping_add(1);
        let put = self.put.to_le_bytes();
        memory.write_all_at(&put, AVAILABLE + 2).unwrap();
    }

    /// Requests that the server has answered.
    pub fn answered(&self) -> u16 {
        let mut bytes = [0; 2];
        self.memory.read_exact_at(&mut bytes, USED + 2).unwrap();
        u16::from_le_bytes(bytes)
    }
}

/// An event descriptor that blocks, unless the flags say otherwise.
pub fn event(value: u64) -> File {
    let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let mut event = File::from(event);
    if value > 0 {
        event.write_all(&value.to_ne_bytes()).unwrap();
    }
    event
}
