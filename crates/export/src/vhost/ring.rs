//! Requests of the guest, read from and completed in its memory, which is not trusted. An invalid
//! request gets an error if there is room for a reply.

use super::bell::{Bell, MOST_THREADS, take_count};
use super::change::Change;
use super::disk::{Disk, LARGEST_DISCARD, QUEUE_SIZE};
use crate::client::Client;
use crate::request::{Action, Done, Refusal, Request};
use nandscope_blockio::store::Store;
use nandscope_blockio::virtio::{
    BlockRequest, EVENT_INDEX, GuestMemory, Kind, RequestQueue, Status, UNMAP, VirtioError,
};
use nandscope_units::{Nanos, SECTOR_BYTES};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// Data of one request at most.
const LARGEST_REQUEST: u32 = 16 << 20;
/// A monitor that has given no memory by then is hung up on.
const HANDSHAKE: Nanos = Nanos::from_secs(10);
/// Changes that a monitor may make in one turn.
const CHANGES_IN_TURN: usize = 64;

/// A virtual machine.
#[derive(Debug)]
pub struct VhostClient {
    disk: Disk,
    wake: Arc<OwnedFd>,
    changes: Receiver<Change>,
    hangup: UnixStream,
    memory: Option<GuestMemory>,
    queue: RequestQueue,
    kick: Option<File>,
    call: Option<Bell>,
    enabled: bool,
    /// The guest may have put more into the queue.
    kicked: bool,
    requests: HashMap<u64, BlockRequest>,
    next: u64,
    bytes: usize,
    /// The queue was reported non-empty, but no request could be taken.
    stuck: bool,
    /// Chains of descriptors that may still be taken before the other clients have their turn.
    turn: u16,
    /// Senders to notify when the queue is at rest.
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
        VhostClient {
            disk,
            wake,
            changes,
            hangup,
            memory: None,
            queue: RequestQueue::new::<QUEUE_SIZE>(),
            kick: None,
            call: None,
            enabled: false,
            kicked: false,
            requests: HashMap::new(),
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

    /// A guest without a monitor, for fuzzing: its memory from address 0 on holds the given bytes, and
    /// its queue of `size` entries has the given addresses (descriptors, available, used).
    ///
    /// # Errors
    /// `io::Error` if memory or a socket cannot be created.
    pub fn without_monitor(
        disk: Disk,
        image: &[u8],
        size: u16,
        addresses: [u64; 3],
    ) -> io::Result<Self> {
        let memory = GuestMemory::from_image(image).map_err(io::Error::other)?;
        let wake = eventfd(0, EventfdFlags::NONBLOCK)?;
        let (_, changes) = std::sync::mpsc::sync_channel(1);
        let (hangup, _) = UnixStream::pair()?;
        let mut client = VhostClient::new(disk, Arc::new(wake), changes, hangup, Arc::default());
        client.change(Change::Memory(memory));
        client.change(Change::Size(u32::from(size)));
        client.change(Change::Addresses(addresses));
        client.change(Change::Enable(true));
        client.change(Change::Kick(None));
        Ok(client)
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Memory(memory) => self.memory = Some(memory),
            Change::Features(features) => {
                self.queue.set_event_index(features & EVENT_INDEX != 0);
            }
            // Sizes were checked before they were sent.
            Change::Size(size) => self.gone |= self.queue.set_size(size).is_err(),
            Change::Addresses(addresses) => {
                self.gone |= self.queue.set_addresses(addresses).is_err();
            }
            Change::Base(base) => self.queue.set_base(base),
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

    /// Reports the position of the queue to those who stopped it, once no request is in flight.
    fn come_to_rest(&mut self) {
        if self.requests.is_empty() {
            for place in self.stopping.drain(..) {
                // The receiver may have disconnected.
                let _ = place.send(self.queue.base());
                self.kick = None;
            }
        }
    }

    fn takes_requests(&self) -> bool {
        // A correct driver never has more requests in flight than the length of the queue.
        let has_room = self.requests.len() < usize::from(QUEUE_SIZE);
        has_room && self.enabled && self.queue.is_ready() && !self.gone && self.memory.is_some()
    }

    /// The next request; one that cannot be read is returned at once.
    fn next_chain(&mut self) -> Option<Option<BlockRequest>> {
        let memory = self.memory.as_ref()?;
        let Ok(taken) = self.queue.take(memory) else {
            self.enabled = false;
            return None;
        };
        let chain = taken?;
        let head = chain.head;
        let request = BlockRequest::read(memory, chain);
        if request.is_err() {
            let returned = self.queue.give_back(memory, head, 0);
            self.notify(returned.is_ok());
        }
        Some(request.ok())
    }

    /// Notifies the guest of a request that was returned to it; a queue that is no longer in memory gets no
    /// answers.
    fn notify(&mut self, returned: bool) {
        let Some(memory) = &self.memory else {
            return;
        };
        if !returned {
            self.enabled = false;
        } else if self.queue.needs_notification(memory).unwrap_or(true)
            && let Some(call) = &self.call
        {
            call.call();
        }
    }

    fn answer(&mut self, request: &BlockRequest, status: Status, data: u32) {
        if let Some(memory) = &self.memory {
            let answered = request.answer(memory, &mut self.queue, status, data);
            let lost = matches!(answered, Err(VirtioError::Ring(_)));
            self.notify(!lost);
        }
    }

    /// The request to the device, or the status that answers it at once.
    fn request_of(&self, asked: &BlockRequest) -> Result<Request, Status> {
        let memory = self.memory.as_ref().ok_or(Status::Failed)?;
        let action = match asked.kind {
            Kind::Flush => return Ok(request(Action::Flush, 0, 0)),
            Kind::Write | Kind::Discard | Kind::WriteZeroes if self.disk.read_only => {
                return Err(Status::Failed);
            }
            Kind::Discard if !self.disk.discards => return Err(Status::Unsupported),
            Kind::Discard | Kind::WriteZeroes => return self.range(memory, asked),
            Kind::Read => Action::Read,
            Kind::Write => Action::Write,
            Kind::Identify | Kind::Unknown => return Err(Status::Unsupported),
        };
        let length = u32::try_from(asked.length()).map_err(|_| Status::Failed)?;
        let offset = asked.offset().ok_or(Status::Failed)?;
        let end = offset.checked_add(u64::from(length));
        let fits = end.is_some_and(|end| end <= self.disk.size.0) && length <= LARGEST_REQUEST;
        if length == 0 || !u64::from(length).is_multiple_of(SECTOR_BYTES) || !fits {
            return Err(Status::Failed);
        }
        let mut data = Vec::new();
        if action == Action::Write {
            data = asked.gather(memory).map_err(|_| Status::Failed)?;
        }
        Ok(Request {
            data,
            ..request(action, offset, length)
        })
    }

    /// A discard or zeroing of one range.
    fn range(&self, memory: &GuestMemory, asked: &BlockRequest) -> Result<Request, Status> {
        let range = asked.range(memory).map_err(|_| Status::Failed)?;
        let range = range.ok_or(Status::Unsupported)?;
        let action = match (asked.kind, range.flags) {
            (Kind::Discard, 0) => Action::Discard,
            (Kind::WriteZeroes, 0) => Action::WriteZeroes,
            (Kind::WriteZeroes, UNMAP) => Action::Zero,
            _ => return Err(Status::Unsupported),
        };
        let end = range.first.checked_add(u64::from(range.sectors));
        let fits = end.is_some_and(|end| end <= self.disk.size.0 / SECTOR_BYTES);
        // At most 2 GiB.
        let length = u64::from(range.sectors) * SECTOR_BYTES;
        match u32::try_from(length) {
            Ok(length) if fits && length > 0 && range.sectors <= LARGEST_DISCARD => {
                Ok(request(action, range.first * SECTOR_BYTES, length))
            }
            _ => Err(Status::Failed),
        }
    }

    /// Puts what was read into the guest's memory.
    fn deliver(&self, done: &Done, request: &BlockRequest, store: &Store) -> Option<()> {
        let memory = self.memory.as_ref()?;
        let mut data = Vec::new();
        let length = u64::from(done.length);
        store.append_to(&mut data, done.offset, length).ok()?;
        request.scatter(memory, &data).ok()
    }

    /// Answers with the name of the device.
    fn identify(&mut self, request: &BlockRequest) {
        let serial = request.serial("nandscope");
        let written = match (&self.memory, serial) {
            (Some(memory), Some(serial)) => request.scatter(memory, &serial).map(|()| 20).ok(),
            _ => None,
        };
        match written {
            Some(written) => self.answer(request, Status::Done, written),
            None => self.answer(request, Status::Failed, 0),
        }
    }
}

/// A request without data.
fn request(action: Action, offset: u64, length: u32) -> Request {
    Request {
        action,
        offset,
        length,
        data: Vec::new(),
        durable: false,
    }
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
            let Some(asked) = self.next_chain() else {
                // From now on the guest kicks again; it may have put something in just before.
                let memory = self.memory.as_ref()?;
                self.kicked = self.queue.enable_notification(memory).unwrap_or(false);
                // If there is still no request, the counter of the guest is invalid.
                self.enabled &= !(self.kicked && self.stuck);
                self.stuck = self.kicked;
                continue;
            };
            self.stuck = false;
            let Some(asked) = asked else { continue };
            if asked.kind == Kind::Identify {
                self.identify(&asked);
                continue;
            }
            match self.request_of(&asked) {
                Ok(request) => {
                    let number = self.next;
                    self.next += 1;
                    self.bytes += request.payload();
                    self.requests.insert(number, asked);
                    return Some((number, request));
                }
                Err(status) => self.answer(&asked, status, 0),
            }
        }
        None
    }

    fn reply(&mut self, done: &Done, store: &Store) {
        let Some(request) = self.requests.remove(&done.origin.cookie) else {
            return;
        };
        self.bytes -= done.payload();
        let (status, written) = match &done.outcome {
            Err(Refusal::Unsupported) => (Status::Unsupported, 0),
            Err(_) => (Status::Failed, 0),
            Ok(()) if done.action != Action::Read => (Status::Done, 0),
            Ok(()) => match self.deliver(done, &request, store) {
                Some(()) => (Status::Done, done.length),
                None => (Status::Failed, 0),
            },
        };
        self.answer(&request, status, written);
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
        self.gone && self.requests.is_empty()
    }
}

impl VhostClient {
    /// Applies changes by the monitor, at most [`CHANGES_IN_TURN`].
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
}

impl Drop for VhostClient {
    fn drop(&mut self) {
        // Ends the thread that waits for messages.
        let _ = self.hangup.shutdown(Shutdown::Both);
    }
}
