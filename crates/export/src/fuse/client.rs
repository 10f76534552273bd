//! A mounted card as a client of the server.

use super::file::{File, LARGEST_TRANSFER};
use super::mount::{Mount, MountError};
use super::session::{self, Incoming};
use crate::client::Client;
use crate::request::{Action, Done, Refusal, Request};
use nandscope_blockio::store::Store;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::io::IoSlice;
use std::path::Path;

/// Room for a write of that size and its head.
const BUFFER: usize = LARGEST_TRANSFER as usize + 8192;
/// Limit of outstanding data in bytes; more is not read.
const MOST_BYTES: usize = 64 << 20;

/// A mounted card; unmounted with it.
#[derive(Debug)]
pub struct FuseClient {
    mount: Mount,
    file: File,
    buffer: Vec<u8>,
    requests: usize,
    bytes: usize,
    /// There may be more to be read.
    readable: bool,
    gone: bool,
}

impl FuseClient {
    /// Mounts the file in an existing folder. Requires the right to mount.
    ///
    /// # Errors
    /// [`MountError`] if the folder does not exist, the kernel has no FUSE, the user may not mount, or a system call
    /// fails.
    pub fn mount(folder: &Path, file: File) -> Result<Self, MountError> {
        Ok(FuseClient {
            mount: Mount::new(folder, &file)?,
            file,
            buffer: vec![0; BUFFER],
            requests: 0,
            bytes: 0,
            readable: false,
            gone: false,
        })
    }

    /// Sends an answer. The kernel takes it at once; it may have lost interest.
    fn answer(&mut self, unique: u64, error: i32, pieces: &[IoSlice<'_>]) {
        let bytes = pieces.iter().map(|p| p.len()).sum();
        let head = super::wire::answer(unique, error, bytes);
        let mut all = Vec::with_capacity(pieces.len() + 1);
        all.push(IoSlice::new(&head));
        all.extend_from_slice(pieces);
        if rustix::io::writev(&self.mount.device, &all) == Err(Errno::NODEV) {
            self.gone = true;
        }
    }

    fn answer_read(&mut self, done: &Done, store: &Store) {
        let (offset, length) = (done.offset, u64::from(done.length));
        if store.is_in_memory() {
            let pieces: Vec<_> = store.pieces(offset, length).map(IoSlice::new).collect();
            return self.answer(done.origin.cookie, 0, &pieces);
        }
        let mut data = Vec::new();
        match store.append_to(&mut data, offset, length) {
            Ok(()) => self.answer(done.origin.cookie, 0, &[IoSlice::new(&data)]),
            Err(_) => self.answer(done.origin.cookie, Errno::IO.raw_os_error(), &[]),
        }
    }

    fn takes_more(&self, room: usize) -> bool {
        !self.gone && self.bytes < MOST_BYTES && room >= LARGEST_TRANSFER as usize
    }
}

impl Client for FuseClient {
    fn wait_for<'a>(&'a self, room: usize, waiting: &mut Vec<PollFd<'a>>) {
        if !self.gone {
            let mut events = PollFlags::empty();
            events.set(PollFlags::IN, self.takes_more(room));
            waiting.push(PollFd::new(&self.mount.device, events));
        }
    }

    fn take_events(&mut self, ready: &[PollFlags], _: usize, _: &mut [u8], _: &Store) {
        let flags = ready.first().copied().unwrap_or(PollFlags::empty());
        self.readable = flags.contains(PollFlags::IN);
        self.gone |= flags.intersects(PollFlags::ERR | PollFlags::NVAL);
    }

    fn held(&self) -> usize {
        self.bytes
    }

    fn next_request(&mut self, room: usize) -> Option<(u64, Request)> {
        while self.readable && self.takes_more(room) {
            let length = match rustix::io::read(&self.mount.device, &mut self.buffer[..]) {
                Ok(length) => length,
                // A request that was taken back while it was read.
                Err(Errno::INTR | Errno::NOENT) => continue,
                Err(error) => {
                    self.readable = false;
                    self.gone |= error != Errno::AGAIN;
                    break;
                }
            };
            match session::take(&self.file, &self.buffer[..length]) {
                Incoming::Nothing => {}
                Incoming::Answer(unique, bytes) => self.answer(unique, 0, &[IoSlice::new(&bytes)]),
                Incoming::Error(unique, error) => self.answer(unique, error.raw_os_error(), &[]),
                Incoming::Request(unique, request) => {
                    self.bytes += request.payload();
                    self.requests += 1;
                    return Some((unique, request));
                }
            }
        }
        None
    }

    fn reply(&mut self, done: &Done, store: &Store) {
        let unique = done.origin.cookie;
        self.requests -= 1;
        self.bytes -= done.payload();
        match &done.outcome {
            Err(refusal) => self.answer(unique, errno_of(refusal).raw_os_error(), &[]),
            Ok(()) => match done.action {
                Action::Read => self.answer_read(done, store),
                Action::Write => {
                    let written = super::wire::Body::default().u32(done.length).u32(0);
                    self.answer(unique, 0, &[IoSlice::new(&written.0)]);
                }
                _ => self.answer(unique, 0, &[]),
            },
        }
    }

    fn send(&mut self, _: &Store) {}

    fn has_begun(&self) -> bool {
        true
    }

    fn is_over(&mut self, _: Nanos, _: bool) -> bool {
        self.gone && self.requests == 0
    }
}

const fn errno_of(refusal: &Refusal) -> Errno {
    match refusal {
        Refusal::ReadOnly => Errno::ROFS,
        Refusal::Unsupported => Errno::OPNOTSUPP,
        Refusal::OutOfRange => Errno::NOSPC,
        Refusal::Unreadable | Refusal::Failed(_) => Errno::IO,
    }
}
