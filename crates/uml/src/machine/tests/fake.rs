//! A fake kernel: it speaks the time-travel protocol and vhost-user, with rings and buffers in its own
//! memory.

use super::SIZE;
use crate::time_travel::{MESSAGE_BYTES, Message, Op};
use crate::vhost::{self, HEADER_BYTES, Header};
use nandscope_units::Nanos;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Addresses of rings and buffers in the fake kernel's memory.
pub(super) const DESCRIPTORS: u64 = 0x1000;
pub(super) const AVAILABLE: u64 = 0x2000;
pub(super) const USED: u64 = 0x3000;
pub(super) const HEADER: u64 = 0x4000;
pub(super) const STATUS: u64 = 0x4100;
pub(super) const DATA: u64 = 0x5000;
/// The address at which the kernel says that its memory begins for vring addresses.
pub(super) const USER: u64 = 0x7000_0000;
/// The request that reports a new entry in the ring.
const KICK: u32 = 35;

fn memory() -> File {
    let file = rustix::fs::memfd_create("kernel", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let file = File::from(file);
    file.set_len(1 << 20).unwrap();
    file
}

/// A kernel that does what its test says.
pub(super) struct Fake {
    pub(super) time_travel: UnixStream,
    pub(super) disk: UnixStream,
    pub(super) memory: File,
    backend: Option<UnixStream>,
    sequence: u32,
}

impl Fake {
    /// Connects without sending anything.
    pub(super) fn new(time: &Path, disk: &Path) -> Self {
        Fake {
            time_travel: UnixStream::connect(time).unwrap(),
            disk: UnixStream::connect(disk).unwrap(),
            memory: memory(),
            backend: None,
            sequence: 0,
        }
    }

    /// Sends a time-travel message and waits for its acknowledgement, which it gives.
    pub(super) fn say(&mut self, op: Op, time: u64) -> Message {
        self.sequence += 1;
        let message = Message {
            op,
            sequence: self.sequence,
            time: Nanos(time),
        };
        self.time_travel.write_all(&message.encode()).unwrap();
        let answer = self.hear();
        assert_eq!((answer.op, answer.sequence), (Op::Ack, self.sequence));
        answer
    }

    pub(super) fn hear(&mut self) -> Message {
        let mut bytes = [0; MESSAGE_BYTES];
        self.time_travel.read_exact(&mut bytes).unwrap();
        Message::decode(&bytes).unwrap()
    }

    /// Takes a time-travel message and acknowledges it.
    pub(super) fn told(&mut self) -> (Op, Nanos) {
        let message = self.hear();
        self.acknowledge(&message);
        (message.op, message.time)
    }

    pub(super) fn acknowledge(&mut self, message: &Message) {
        let answer = Message {
            op: Op::Ack,
            ..*message
        };
        self.time_travel.write_all(&answer.encode()).unwrap();
    }

    pub(super) fn send(&mut self, request: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        let mut bytes = Vec::new();
        for number in [request, 9, payload.len() as u32] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(files)));
        }
        let slices = [IoSlice::new(&bytes)];
        sendmsg(&self.disk, &slices, &mut control, SendFlags::empty()).unwrap();
    }

    /// The payload of the reply to a request.
    pub(super) fn reply(stream: &mut UnixStream) -> (u32, Vec<u8>) {
        let mut bytes = [0; HEADER_BYTES];
        stream.read_exact(&mut bytes).unwrap();
        let header = Header::decode(&bytes).unwrap();
        let mut payload = vec![0; header.size as usize];
        stream.read_exact(&mut payload).unwrap();
        (header.request, payload)
    }

    pub(super) fn ask(&mut self, request: u32, payload: &[u8]) -> Vec<u8> {
        self.send(request, payload, &[]);
        let (answered, payload) = Self::reply(&mut self.disk);
        assert_eq!(answered, request);
        payload
    }

    pub(super) fn numbers(parts: &[u64]) -> Vec<u8> {
        parts.iter().flat_map(|n| n.to_ne_bytes()).collect()
    }

    pub(super) fn pair(a: u32, b: u32) -> Vec<u8> {
        [a.to_ne_bytes(), b.to_ne_bytes()].concat()
    }

    /// Sets up the disk as Linux does.
    pub(super) fn set_up(&mut self) {
        self.say(Op::Start, u64::MAX);
        let offered = self.ask(1, &[]);
        assert_ne!(
            u64::from_ne_bytes(offered.try_into().unwrap()) & (1 << 30),
            0
        );
        assert_eq!(self.ask(15, &[]), vhost::OFFERED.to_ne_bytes());
        self.ask(16, &vhost::OFFERED.to_ne_bytes());
        let (ours, theirs) = UnixStream::pair().unwrap();
        self.send(21, &[], &[theirs.as_fd()]);
        Self::reply(&mut self.disk);
        self.backend = Some(ours);
        let config = self.ask(24, &[0u32, 8, 0].map(u32::to_ne_bytes).concat());
        assert_eq!(config[12..20], (SIZE / 512).to_le_bytes());
        let memory = self.memory.try_clone().unwrap();
        let mut table = Self::pair(1, 0);
        table.extend(Self::numbers(&[0, 1 << 20, USER, 0]));
        self.send(5, &table, &[memory.as_fd()]);
        Self::reply(&mut self.disk);
        self.ask(8, &Self::pair(0, 8));
        let mut addresses = Self::pair(0, 0);
        addresses.extend(Self::numbers(&[
            USER + DESCRIPTORS,
            USER + USED,
            USER + AVAILABLE,
            0,
        ]));
        self.ask(9, &addresses);
        self.ask(18, &Self::pair(0, 1));
    }

    /// Writes a descriptor.
    pub(super) fn describe(&self, i: u64, address: u64, length: u32, flags: u16, next: u16) {
        let mut raw = address.to_le_bytes().to_vec();
        raw.extend(length.to_le_bytes());
        raw.extend(flags.to_le_bytes());
        raw.extend(next.to_le_bytes());
        self.memory
            .write_all_at(&raw, DESCRIPTORS + 16 * i)
            .unwrap();
    }

    /// Puts a request of one buffer of data into the ring.
    pub(super) fn put(&mut self, kind: u32, sector: u64, length: u32, device_writes: bool) {
        let mut header = kind.to_le_bytes().to_vec();
        header.extend([0; 4]);
        header.extend(sector.to_le_bytes());
        self.memory.write_all_at(&header, HEADER).unwrap();
        let write = if device_writes { 2 } else { 0 };
        let list = [
            (HEADER, 16u32, 1u16, 1u16),
            (DATA, length, 1 | write, 2),
            (STATUS, 1, 2, 0),
        ];
        for (i, (address, length, flags, next)) in list.into_iter().enumerate() {
            self.describe(i as u64, address, length, flags, next);
        }
        let mut index = [0; 2];
        self.memory
            .read_exact_at(&mut index, AVAILABLE + 2)
            .unwrap();
        let index = u16::from_le_bytes(index);
        let slot = AVAILABLE + 4 + 2 * u64::from(index % 8);
        self.memory.write_all_at(&0u16.to_le_bytes(), slot).unwrap();
        self.memory
            .write_all_at(&(index + 1).to_le_bytes(), AVAILABLE + 2)
            .unwrap();
    }

    pub(super) fn kick(&mut self) {
        self.ask(KICK, &Self::pair(0, 0));
    }

    /// The same, without waiting for the answer.
    pub(super) fn kick_only(&mut self) {
        self.send(KICK, &Self::pair(0, 0), &[]);
    }

    /// Sleeps until its own timer goes off at `until`, or until it is woken before.
    pub(super) fn sleep(&mut self, until: u64) {
        self.say(Op::Request, until);
        self.say(Op::Wait, 0);
    }

    /// Sleeps until `until` with nothing outstanding: gets permission to run without a limit, then to
    /// continue at that time.
    pub(super) fn wake_at(&mut self, until: u64) {
        self.sleep(until);
        assert_eq!(self.told(), (Op::FreeUntil, Nanos(i64::MAX as u64)));
        assert_eq!(self.told(), (Op::Run, Nanos(until)));
    }

    /// Waits for the end of the machine.
    pub(super) fn outlive(&mut self) {
        let _ = self.time_travel.read(&mut [0; 64]);
    }

    /// Handles a notification as Linux does: gets the time, requests to run at it, acknowledges.
    pub(super) fn interrupted(&mut self) -> Nanos {
        let backend = self.backend.as_mut().unwrap();
        let (request, payload) = Self::reply(backend);
        assert_eq!((request, payload), (4, vec![0; 8]));
        let now = self.say(Op::Get, 0).time;
        self.say(Op::Request, now.0);
        let mut reply = vhost::reply(4, &0u64.to_ne_bytes());
        reply[4] |= 1;
        self.backend.as_mut().unwrap().write_all(&reply).unwrap();
        now
    }

    pub(super) fn status(&self) -> u8 {
        let mut status = [9];
        self.memory.read_exact_at(&mut status, STATUS).unwrap();
        status[0]
    }
}
