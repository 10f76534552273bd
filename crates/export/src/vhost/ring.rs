//! Requests of the guest: taken from its memory, answered in it. Nothing there is trusted; a
//! request that makes no sense is answered with an error, where there is room for an answer.

use super::bell::{Bell, take_count};
use super::control::{Change, VhostError};
use super::{Disk, LARGEST_DISCARD, LARGEST_REQUEST, QUEUE_SIZE, feature};
use crate::client::Client;
use crate::request::{Action, Done, Refusal, Request};
use nandscope_blockio::store::Store;
use nandscope_units::{Nanos, SECTOR_BYTES};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use virtio_queue::desc::split::Descriptor;
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes as _, GuestAddress, GuestMemoryMmap};

const TYPE_READ: u32 = 0;
const TYPE_WRITE: u32 = 1;
const TYPE_FLUSH: u32 = 4;
const TYPE_ID: u32 = 8;
const TYPE_DISCARD: u32 = 11;
const TYPE_WRITE_ZEROES: u32 = 13;
/// Zeroes may be made by discarding.
const UNMAP: u32 = 1;

const DONE: u8 = 0;
const FAILED: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// A monitor that has given no memory by then is hung up on.
const HANDSHAKE: Nanos = Nanos::from_secs(10);
/// Threads for all monitors together, among them those that wait for a guest that has gone.
pub(super) const MOST_THREADS: usize = 256;
/// Changes that a monitor may make in one turn.
const CHANGES_IN_TURN: usize = 64;

/// Where the answer to a request goes.
#[derive(Debug)]
struct Reply {
    head: u16,
    status: GuestAddress,
    /// Room for what is read.
    data: Vec<(GuestAddress, u32)>,
}

/// A request as the guest put it: data in both directions, and the place of the status.
struct Parsed {
    reply: Reply,
    kind: u32,
    sector: u64,
    sent: Vec<(GuestAddress, u32)>,
}

/// A virtual machine.
#[derive(Debug)]
pub struct VhostClient {
    disk: Disk,
    wake: Arc<OwnedFd>,
    changes: Receiver<Change>,
    hangup: UnixStream,
    memory: Option<GuestMemoryMmap<()>>,
    queue: Queue,
    kick: Option<File>,
    call: Option<Bell>,
    enabled: bool,
    /// The guest may have put more into the queue.
    kicked: bool,
    replies: HashMap<u64, Reply>,
    next: u64,
    bytes: usize,
    /// The queue was said to hold something, and nothing could be taken.
    stuck: bool,
    /// Chains of descriptors that may still be taken before the other clients have their turn.
    turn: u16,
    /// Who waits for the queue to come to rest.
    stopping: VecDeque<Sender<u16>>,
    /// Held by the threads that work for it.
    token: Arc<()>,
    since: Nanos,
    gone: bool,
}

impl VhostClient {
    pub(super) fn new(
        disk: Disk,
        wake: Arc<OwnedFd>,
        changes: Receiver<Change>,
        hangup: UnixStream,
        token: Arc<()>,
    ) -> Self {
        // A power of two, as it has to be.
        #[allow(clippy::unwrap_used, reason = "the size is a constant that holds")]
        let queue = Queue::new(QUEUE_SIZE).unwrap();
        VhostClient {
            disk,
            wake,
            changes,
            hangup,
            memory: None,
            queue,
            kick: None,
            call: None,
            enabled: false,
            kicked: false,
            replies: HashMap::new(),
            next: 0,
            bytes: 0,
            stuck: false,
            turn: QUEUE_SIZE,
            stopping: VecDeque::new(),
            token,
            since: Nanos::ZERO,
            gone: false,
        }
    }

    /// It has connected at this time.
    #[must_use]
    pub(super) const fn since(mut self, now: Nanos) -> Self {
        self.since = now;
        self
    }

    /// A guest without a monitor, for fuzzing: its memory from address 0 on holds these bytes, and its
    /// queue of `size` entries lies at these addresses (descriptors, available, used).
    ///
    /// # Errors
    /// Where there is no memory, or the system gives no socket.
    pub fn without_monitor(
        disk: Disk,
        image: &[u8],
        size: u16,
        (descriptors, available, used): (u64, u64, u64),
    ) -> Result<Self, VhostError> {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), image.len())])
            .map_err(std::io::Error::other)?;
        memory
            .write_slice(image, GuestAddress(0))
            .map_err(std::io::Error::other)?;
        let wake = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK)
            .map_err(std::io::Error::from)?;
        let (_, changes) = std::sync::mpsc::sync_channel(1);
        let (hangup, _) = UnixStream::pair()?;
        let mut client = VhostClient::new(disk, Arc::new(wake), changes, hangup, Arc::default());
        client.change(Change::Memory(memory));
        client.change(Change::Size(size));
        client.change(Change::Addresses {
            descriptors,
            available,
            used,
        });
        client.change(Change::Enable(true));
        client.change(Change::Kick(None));
        Ok(client)
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Memory(memory) => self.memory = Some(memory),
            Change::Features(features) => {
                self.queue
                    .set_event_idx(features & feature::EVENT_INDEX != 0);
            }
            Change::Size(size) => self.queue.set_size(size),
            Change::Addresses {
                descriptors,
                available,
                used,
            } => {
                let (low, high) = (|a: u64| Some(a as u32), |a: u64| Some((a >> 32) as u32));
                self.queue
                    .set_desc_table_address(low(descriptors), high(descriptors));
                self.queue
                    .set_avail_ring_address(low(available), high(available));
                self.queue.set_used_ring_address(low(used), high(used));
            }
            Change::Base(base) => {
                self.queue.set_next_avail(base);
                self.queue.set_next_used(base);
            }
            Change::Kick(kick) => {
                self.kick = kick;
                self.queue.set_ready(true);
                self.kicked = true;
            }
            Change::Call(call) => self.set_call(call),
            Change::Enable(enabled) => {
                self.enabled = enabled;
                self.kicked = true;
            }
            Change::Stop(place) => {
                self.queue.set_ready(false);
                self.stopping.push_back(place);
            }
            Change::End => self.gone = true,
        }
    }

    fn set_call(&mut self, call: Option<File>) {
        self.call = None;
        let Some(call) = call else { return };
        if Arc::strong_count(&self.token) > MOST_THREADS {
            return self.hang_up();
        }
        match Bell::new(call, self.wake.clone(), self.token.clone()) {
            Ok(bell) => self.call = Some(bell),
            // Without a thread it cannot be served.
            Err(_) => self.hang_up(),
        }
    }

    /// The monitor is not served any more.
    fn hang_up(&mut self) {
        self.gone = true;
        self.call = None;
        let _ = self.hangup.shutdown(Shutdown::Both);
    }

    /// Tells those who wait for the queue to rest where it is, once nothing is under way.
    fn come_to_rest(&mut self) {
        if self.replies.is_empty() {
            for place in self.stopping.drain(..) {
                // It may have gone meanwhile.
                let _ = place.send(self.queue.next_avail());
                self.kick = None;
            }
        }
    }

    fn takes_requests(&self) -> bool {
        // No driver that keeps to the rules has more under way than the queue is long.
        let has_room = self.replies.len() < usize::from(QUEUE_SIZE);
        has_room && self.enabled && self.queue.ready() && !self.gone && self.memory.is_some()
    }

    /// The next chain of descriptors, where it has a header and a status.
    fn next_chain(&mut self) -> Option<Option<Parsed>> {
        let memory = self.memory.as_ref()?;
        if !self.queue.is_valid(memory) {
            self.enabled = false;
            return None;
        }
        let chain = self.queue.pop_descriptor_chain(memory)?;
        let head = chain.head_index();
        let parsed = parse(memory, head, chain);
        if parsed.is_none() {
            self.finish(head, 0);
        }
        Some(parsed)
    }

    fn finish(&mut self, head: u16, written: u32) {
        let Some(memory) = &self.memory else {
            return;
        };
        // A queue whose place is no longer in memory gets no answers.
        if self.queue.add_used(memory, head, written).is_err() {
            self.enabled = false;
            return;
        }
        if self.queue.needs_notification(memory).unwrap_or(true)
            && let Some(call) = &self.call
        {
            call.call();
        }
    }

    fn answer(&mut self, reply: &Reply, status: u8, data: u32) {
        if let Some(memory) = &self.memory {
            let _ = memory.write_obj(status, reply.status);
        }
        self.finish(reply.head, data + 1);
    }

    /// The request to the device, or the status with which it is answered at once.
    fn request_of(&self, parsed: &Parsed) -> Result<Request, u8> {
        let total = |parts: &[(GuestAddress, u32)]| -> u64 {
            parts.iter().map(|(_, length)| u64::from(*length)).sum()
        };
        let offset = parsed.sector.checked_mul(SECTOR_BYTES).ok_or(FAILED)?;
        let request = |action, length: u64, data| {
            let end = offset.checked_add(length).ok_or(FAILED)?;
            if length == 0 || !length.is_multiple_of(SECTOR_BYTES) || end > self.disk.size.0 {
                return Err(FAILED);
            }
            Ok(Request {
                action,
                offset,
                length: u32::try_from(length).map_err(|_| FAILED)?,
                data,
                durable: false,
            })
        };
        let memory = self.memory.as_ref().ok_or(FAILED)?;
        match parsed.kind {
            TYPE_READ if total(&parsed.reply.data) <= u64::from(LARGEST_REQUEST) => {
                request(Action::Read, total(&parsed.reply.data), Vec::new())
            }
            TYPE_FLUSH => Ok(Request {
                action: Action::Flush,
                offset: 0,
                length: 0,
                data: Vec::new(),
                durable: false,
            }),
            TYPE_WRITE | TYPE_DISCARD | TYPE_WRITE_ZEROES if self.disk.read_only => Err(FAILED),
            TYPE_WRITE if total(&parsed.sent) <= u64::from(LARGEST_REQUEST) => {
                let data = gather(memory, &parsed.sent).ok_or(FAILED)?;
                request(Action::Write, data.len() as u64, data)
            }
            TYPE_DISCARD if !self.disk.discards => Err(UNSUPPORTED),
            TYPE_DISCARD | TYPE_WRITE_ZEROES => self.range(memory, parsed),
            TYPE_READ | TYPE_WRITE => Err(FAILED),
            _ => Err(UNSUPPORTED),
        }
    }

    /// A discard or zeroing of one range.
    fn range(&self, memory: &GuestMemoryMmap<()>, parsed: &Parsed) -> Result<Request, u8> {
        if parsed.sent.iter().map(|(_, l)| u64::from(*l)).sum::<u64>() != 16 {
            return Err(UNSUPPORTED);
        }
        let bytes = gather(memory, &parsed.sent).ok_or(FAILED)?;
        let (Some((sector, rest)), 16) = (bytes.split_first_chunk::<8>(), bytes.len()) else {
            return Err(FAILED);
        };
        let word = |at: usize| {
            rest[at..]
                .first_chunk::<4>()
                .map(|w| u32::from_le_bytes(*w))
        };
        let (Some(sectors), Some(flags)) = (word(0), word(4)) else {
            return Err(FAILED);
        };
        let action = match (parsed.kind, flags) {
            (TYPE_DISCARD, 0) => Action::Discard,
            (TYPE_WRITE_ZEROES, 0) => Action::WriteZeroes,
            (TYPE_WRITE_ZEROES, UNMAP) => Action::Zero,
            _ => return Err(UNSUPPORTED),
        };
        let end = u64::from_le_bytes(*sector).checked_add(u64::from(sectors));
        let fits = end.is_some_and(|end| end <= self.disk.size.0 / SECTOR_BYTES);
        if !fits || sectors == 0 || sectors > LARGEST_DISCARD {
            return Err(FAILED);
        }
        Ok(Request {
            action,
            offset: u64::from_le_bytes(*sector) * SECTOR_BYTES,
            // At most 2 GiB.
            length: sectors * SECTOR_BYTES as u32,
            data: Vec::new(),
            durable: false,
        })
    }

    /// Puts what was read into the guest's memory.
    fn deliver(&self, done: &Done, reply: &Reply, store: &Store) -> Option<()> {
        let memory = self.memory.as_ref()?;
        let mut data = Vec::new();
        let length = u64::from(done.length);
        store.append_to(&mut data, done.offset, length).ok()?;
        let mut rest = &data[..];
        for (address, length) in &reply.data {
            let (piece, after) = rest.split_at_checked(*length as usize)?;
            memory.write_slice(piece, *address).ok()?;
            rest = after;
        }
        Some(())
    }
}

/// Reads the header and finds the parts of a request.
fn parse<M>(memory: &GuestMemoryMmap<()>, head: u16, chain: M) -> Option<Parsed>
where
    M: Iterator<Item = Descriptor>,
{
    let mut sent = Vec::new();
    let mut room = Vec::new();
    for descriptor in chain {
        let part = (descriptor.addr(), descriptor.len());
        if descriptor.is_write_only() {
            room.push(part);
        } else if room.is_empty() {
            sent.push(part);
        } else {
            return None;
        }
    }
    // The header may not be cut into pieces by the drivers that there are.
    let (header, length) = *sent.first()?;
    if length != 16 {
        return None;
    }
    sent.remove(0);
    let kind = u32::from_le_bytes(memory.read_obj(header).ok()?);
    let sector = u64::from_le_bytes(
        memory
            .read_obj(GuestAddress(header.0.checked_add(8)?))
            .ok()?,
    );
    let (status, length) = room.pop()?;
    if length != 1 {
        return None;
    }
    let reply = Reply {
        head,
        status,
        data: room,
    };
    Some(Parsed {
        reply,
        kind,
        sector,
        sent,
    })
}

fn gather(memory: &GuestMemoryMmap<()>, parts: &[(GuestAddress, u32)]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for (address, length) in parts {
        let start = data.len();
        data.resize(start + *length as usize, 0);
        memory.read_slice(&mut data[start..], *address).ok()?;
    }
    Some(data)
}

impl Client for VhostClient {
    fn wait_for<'a>(&'a self, room: usize, waiting: &mut Vec<PollFd<'a>>) {
        waiting.push(PollFd::new(&*self.wake, PollFlags::IN));
        if let Some(kick) = &self.kick {
            let mut events = PollFlags::empty();
            let takes = self.takes_requests() && room >= LARGEST_REQUEST as usize;
            events.set(PollFlags::IN, takes);
            waiting.push(PollFd::new(kick, events));
        }
    }

    fn take_events(&mut self, ready: &[PollFlags], _: usize, _: &mut [u8], _: &Store) {
        self.turn = QUEUE_SIZE;
        let mut counter = [0; 8];
        if ready.first().is_some_and(|f| !f.is_empty()) {
            let _ = rustix::io::read(&*self.wake, &mut counter);
        }
        if let (Some(kick), Some(flags)) = (&self.kick, ready.get(1))
            && flags.contains(PollFlags::IN)
        {
            // Another process may have read it since.
            let taken = take_count(kick);
            self.gone |= !matches!(taken, Ok(_) | Err(Errno::AGAIN));
            self.kicked = true;
        }
        self.take_changes();
        if self.call.as_ref().is_some_and(Bell::is_stuck) {
            self.hang_up();
        }
        self.come_to_rest();
    }

    fn held(&self) -> usize {
        self.bytes
    }

    fn next_request(&mut self, room: usize) -> Option<(u64, Request)> {
        while self.kicked && self.takes_requests() && room >= LARGEST_REQUEST as usize {
            // A guest may put more in for as long as it is looked at.
            let Some(left) = self.turn.checked_sub(1) else {
                self.wake_again();
                return None;
            };
            self.turn = left;
            let Some(parsed) = self.next_chain() else {
                // The guest is told to kick again, and may have put something in just before.
                let memory = self.memory.as_ref()?;
                self.kicked = self.queue.enable_notification(memory).unwrap_or(false);
                // Where there is still nothing to be taken, it counts what its queue cannot hold.
                self.enabled &= !(self.kicked && self.stuck);
                self.stuck = self.kicked;
                continue;
            };
            self.stuck = false;
            let Some(parsed) = parsed else { continue };
            match self.request_of(&parsed) {
                Ok(request) => {
                    let number = self.next;
                    self.next += 1;
                    self.bytes += request.payload();
                    self.replies.insert(number, parsed.reply);
                    return Some((number, request));
                }
                Err(UNSUPPORTED) if parsed.kind == TYPE_ID => {
                    let written = self.name(&parsed.reply);
                    self.answer(&parsed.reply, DONE, written);
                }
                Err(status) => self.answer(&parsed.reply, status, 0),
            }
        }
        None
    }

    fn reply(&mut self, done: &Done, store: &Store) {
        let Some(reply) = self.replies.remove(&done.origin.cookie) else {
            return;
        };
        self.bytes -= done.payload();
        let (status, written) = match &done.outcome {
            Err(Refusal::Unsupported) => (UNSUPPORTED, 0),
            Err(_) => (FAILED, 0),
            Ok(()) if done.action != Action::Read => (DONE, 0),
            Ok(()) => match self.deliver(done, &reply, store) {
                Some(()) => (DONE, done.length),
                None => (FAILED, 0),
            },
        };
        self.answer(&reply, status, written);
        self.come_to_rest();
    }

    fn send(&mut self, _: &Store) {}

    fn has_begun(&self) -> bool {
        self.memory.is_some()
    }

    fn is_over(&mut self, now: Nanos, _: bool) -> bool {
        if !self.has_begun() && now > self.since + HANDSHAKE {
            self.hang_up();
        }
        self.gone && self.replies.is_empty()
    }
}

impl VhostClient {
    /// Does what the monitor said, as much as it may have said before the others have their turn.
    fn take_changes(&mut self) {
        for _ in 0..CHANGES_IN_TURN {
            match self.changes.try_recv() {
                Ok(change) => self.change(change),
                Err(_) => return,
            }
        }
        self.wake_again();
    }

    /// The next turn comes at once.
    fn wake_again(&self) {
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    /// The name of the device, 20 bytes.
    fn name(&self, reply: &Reply) -> u32 {
        let mut name = [0; 20];
        name[..9].copy_from_slice(b"nandscope");
        match (&self.memory, reply.data.first()) {
            (Some(memory), Some((address, 20..)))
                if memory.write_slice(&name, *address).is_ok() =>
            {
                20
            }
            _ => 0,
        }
    }
}

impl Drop for VhostClient {
    fn drop(&mut self) {
        // Ends the thread that waits for messages.
        let _ = self.hangup.shutdown(Shutdown::Both);
    }
}
