//! A client: its socket, the state of its protocol, and what waits to be sent; with the limits
//! that keep one client from taking the memory of the machine or the time of the others.

use super::Export;
use super::output::Output;
use super::session::{Incoming, Session};
use super::socket::Stream;
use crate::client::Client;
use crate::request::{Done, Request};
use crate::store::Store;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags};
use std::rc::Rc;

/// Requests that a client may have under way; what comes beyond waits in its socket.
const MOST_REQUESTS: usize = 256;
/// Bytes of requests and answers under way beyond which nothing more is taken from a client.
const MOST_BYTES: usize = 64 << 20;
/// A client that has not chosen an export by then is dropped.
const NEGOTIATION: Nanos = Nanos::from_secs(10);

/// One client.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    session: Session,
    out: Output,
    requests: usize,
    bytes: usize,
    since: Nanos,
    /// The client said goodbye.
    leaving: bool,
    /// The client is gone; what it asked for is still under way.
    gone: bool,
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
            leaving: false,
            gone: false,
        }
    }

    /// Whether more may be taken from the client. Where the server is `crowded`, from those only
    /// who have nothing under way.
    fn takes_more(&self, crowded: bool) -> bool {
        let most = if crowded { 1 } else { MOST_BYTES };
        !self.leaving && !self.gone && self.requests < MOST_REQUESTS && self.held() < most
    }

    /// The client is gone, or has to go: nothing is read from it or sent to it any more.
    fn lose(&mut self) {
        self.gone = true;
        self.out.clear();
    }

    /// Reads once from the socket.
    fn receive(&mut self, scratch: &mut [u8]) {
        match self.stream.receive(scratch) {
            Ok(Some(length)) => self.session.feed(&scratch[..length]),
            Ok(None) => {}
            Err(_) => self.lose(),
        }
    }
}

impl Client for Connection {
    fn wait_for<'a>(&'a self, crowded: bool, waiting: &mut Vec<PollFd<'a>>) {
        if self.gone {
            return;
        }
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, self.takes_more(crowded));
        events.set(PollFlags::OUT, !self.out.is_empty());
        waiting.push(PollFd::new(&self.stream, events));
    }

    fn take_events(
        &mut self,
        ready: &[PollFlags],
        crowded: bool,
        scratch: &mut [u8],
        store: &Store,
    ) {
        let flags = ready.first().copied().unwrap_or(PollFlags::empty());
        if flags.contains(PollFlags::OUT) {
            self.send(store);
        }
        // It may have been lost while sending, or have come to its limit.
        if flags.contains(PollFlags::IN) && self.takes_more(crowded) {
            self.receive(scratch);
        } else if flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            self.lose();
        }
    }

    fn held(&self) -> usize {
        self.bytes + self.out.len()
    }

    fn is_over(&self, now: Nanos) -> bool {
        if self.gone || self.leaving {
            return self.requests == 0 && self.out.is_empty();
        }
        !self.session.has_begun() && now > self.since + NEGOTIATION
    }

    fn next_request(&mut self, crowded: bool) -> Option<(u64, Request)> {
        if !self.takes_more(crowded) {
            return None;
        }
        match self.session.next(self.out.tail()) {
            Ok(Some(Incoming::Request(cookie, request))) => {
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
