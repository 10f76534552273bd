//! A client: its socket, the state of its protocol, and what waits to be sent; with the limits
//! that keep one client from taking the memory of the machine or the time of the others.

use super::Export;
use super::output::Output;
use super::session::{Incoming, Session};
use super::socket::Stream;
use crate::request::{Done, Request};
use crate::store::Store;
use nandscope_units::Nanos;
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
    pub(super) stream: Stream,
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
    pub(super) fn new(stream: Stream, export: Rc<Export>, now: Nanos) -> Self {
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
    pub(super) fn takes_more(&self, crowded: bool) -> bool {
        let most = if crowded { 1 } else { MOST_BYTES };
        !self.leaving && !self.gone && self.requests < MOST_REQUESTS && self.held() < most
    }

    /// Bytes of its requests and answers under way.
    pub(super) fn held(&self) -> usize {
        self.bytes + self.out.len()
    }

    /// Whether there is a client at the other end.
    pub(super) const fn is_here(&self) -> bool {
        !self.gone
    }

    /// The client is gone, or has to go: nothing is read from it or sent to it any more.
    pub(super) fn lose(&mut self) {
        self.gone = true;
        self.out.clear();
    }

    /// Whether there is something to send.
    pub(super) fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Whether it can be forgotten: the client is gone or said goodbye and nothing is under way,
    /// or it never came to the point.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        if self.gone || self.leaving {
            return self.requests == 0 && self.out.is_empty();
        }
        !self.session.has_begun() && now > self.since + NEGOTIATION
    }

    /// Reads once from the socket.
    pub(super) fn receive(&mut self, scratch: &mut [u8]) {
        match self.stream.receive(scratch) {
            Ok(Some(length)) => self.session.feed(&scratch[..length]),
            Ok(None) => {}
            Err(_) => self.lose(),
        }
    }

    /// The next request that is whole. A client that breaks the protocol is lost.
    pub(super) fn next_request(&mut self, crowded: bool) -> Option<(u64, Request)> {
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

    /// Puts the answer to a request behind what waits to be sent.
    pub(super) fn reply(&mut self, done: &Done, store: &Store) {
        self.requests -= 1;
        self.bytes -= done.payload();
        if !self.gone {
            self.session.reply(done, store, &mut self.out);
        }
    }

    /// Sends what goes.
    pub(super) fn send(&mut self, store: &Store) {
        if self.has_output() && self.out.send(&mut self.stream, store).is_err() {
            self.lose();
        }
    }
}
