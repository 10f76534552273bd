//! An NBD client: its socket, the state of its protocol, and pending output, with limits that protect
//! the machine's memory and the other clients.

use super::Export;
use super::output::Output;
use super::session::{Incoming, Session};
use super::socket::Stream;
use crate::client::Client;
use crate::request::{Done, Request};
use nandscope_blockio::store::Store;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags};
use std::rc::Rc;

/// Largest number of outstanding requests of a client; further ones wait in its socket.
const MOST_REQUESTS: usize = 256;
/// Limit of outstanding requests and replies in bytes; more is not read.
const MOST_BYTES: usize = 64 << 20;
/// A client that has not chosen an export by then is dropped.
const NEGOTIATION: Nanos = Nanos::from_secs(10);
/// A client that sends part of a message and then nothing for this long is disconnected.
const HALF: Nanos = Nanos::from_secs(60);
/// As long as a message may take to come, and an answer to be read, while others wait for the
/// memory that it takes.
const HALF_PRESSED: Nanos = Nanos::from_secs(5);

/// One client.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    session: Session,
    out: Output,
    requests: usize,
    bytes: usize,
    since: Nanos,
    moved: Moved,
    activity: Activity,
    /// The client said goodbye.
    leaving: bool,
    /// The client has disconnected, but its requests are in flight.
    gone: bool,
}

/// Statistics of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moved {
    /// Bytes that came.
    received: u64,
    /// Requests that were taken.
    taken: u64,
}

/// When a client last did something.
#[derive(Clone, Copy, Debug, Default)]
struct Activity {
    moved: Moved,
    /// Bytes of answers that waited to be sent.
    waiting: usize,
    /// Last time that bytes arrived, or that none were awaited.
    received_at: Nanos,
    /// Last time that a message was complete, or that none was awaited.
    taken_at: Nanos,
    /// Last time that the client read answers, or that no answers waited.
    read_at: Nanos,
}

impl Connection {
    pub(crate) fn new(stream: Stream, export: Rc<Export>, now: Nanos) -> Self {
        let mut out = Output::default();
        let session = Session::new(export, out.tail());
        Connection {
            stream,
            session,
            out,
            requests: 0,
            bytes: 0,
            since: now,
            moved: Moved::default(),
            activity: Activity::default(),
            leaving: false,
            gone: false,
        }
    }

    /// True if more may be read: the client is below its limits, and its next request fits into `room`.
    fn takes_more(&self, room: usize) -> bool {
        let under_way = self.bytes + self.session.reserved() + self.out.len();
        let has_room = self.requests < MOST_REQUESTS && under_way < MOST_BYTES;
        !self.leaving && !self.gone && has_room && self.session.wanted() <= room
    }

    /// Disconnects the client: nothing is read or sent any more.
    fn lose(&mut self) {
        self.gone = true;
        self.out.clear();
        self.session.end();
    }

    /// Reads once from the socket.
    fn receive(&mut self, scratch: &mut [u8]) {
        match self.stream.receive(scratch) {
            Ok(Some(length)) => {
                self.moved.received += length as u64;
                self.session.feed(&scratch[..length]);
            }
            Ok(None) => {}
            Err(_) => self.lose(),
        }
    }

    /// Notes what the client has done since the last time.
    fn follow(&mut self, now: Nanos) {
        let (waiting, moved) = (self.out.len(), self.moved);
        let is_awaited = self.session.is_half() && self.takes_more(usize::MAX);
        let activity = &mut self.activity;
        if waiting == 0 || waiting < activity.waiting {
            activity.read_at = now;
        }
        activity.waiting = waiting;
        if !is_awaited || moved.received != activity.moved.received {
            activity.received_at = now;
        }
        if !is_awaited || moved.taken != activity.moved.taken {
            activity.taken_at = now;
        }
        activity.moved = moved;
    }

    /// True if the client missed a deadline.
    fn is_late(&self, now: Nanos, pressed: bool) -> bool {
        if !self.session.has_begun() {
            return now > self.since + NEGOTIATION;
        }
        if pressed {
            let stalls = self.out.memory() > 0 && now > self.activity.read_at + HALF_PRESSED;
            return stalls || now > self.activity.taken_at + HALF_PRESSED;
        }
        now > self.activity.received_at + HALF
    }
}

impl Client for Connection {
    fn wait_for<'a>(&'a self, room: usize, waiting: &mut Vec<PollFd<'a>>) {
        if self.gone {
            return;
        }
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, self.takes_more(room));
        events.set(PollFlags::OUT, !self.out.is_empty());
        waiting.push(PollFd::new(&self.stream, events));
    }

    fn take_events(&mut self, ready: &[PollFlags], room: usize, scratch: &mut [u8], store: &Store) {
        let flags = ready.first().copied().unwrap_or(PollFlags::empty());
        if flags.contains(PollFlags::OUT) {
            self.send(store);
        }
        // It may have been lost while sending, or have come to its limit.
        if flags.contains(PollFlags::IN) && self.takes_more(room) {
            self.receive(scratch);
        } else if flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            self.lose();
        }
    }

    fn held(&self) -> usize {
        self.bytes + self.session.reserved() + self.out.memory()
    }

    fn has_begun(&self) -> bool {
        self.session.has_begun()
    }

    fn is_over(&mut self, now: Nanos, pressed: bool) -> bool {
        if !self.gone && !self.leaving {
            self.follow(now);
            if self.is_late(now, pressed) {
                self.lose();
            }
        }
        (self.gone || self.leaving) && self.requests == 0 && self.out.is_empty()
    }

    fn next_request(&mut self, room: usize) -> Option<(u64, Request)> {
        if !self.takes_more(room) {
            return None;
        }
        match self.session.next(room, self.out.tail()) {
            Ok(Some(Incoming::Request(cookie, request))) => {
                self.moved.taken += 1;
                self.requests += 1;
                self.bytes += request.payload();
                Some((cookie, request))
            }
            Ok(Some(Incoming::End)) => {
                self.leaving = true;
                None
            }
            Ok(None) => None,
            Err(_) => {
                self.lose();
                None
            }
        }
    }

    fn reply(&mut self, done: &Done, store: &Store) {
        self.requests -= 1;
        self.bytes -= done.payload();
        if !self.gone {
            self.session.reply(done, store, &mut self.out);
        }
    }

    fn send(&mut self, store: &Store) {
        if !self.out.is_empty() && self.out.send(&mut self.stream, store).is_err() {
            self.lose();
        }
    }
}
