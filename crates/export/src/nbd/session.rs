//! One NBD connection without its socket: bytes in, requests and bytes out.
//!
//! A client that violates the protocol gets [`Broken`], and the rest of its input is ignored.
//! Well-formed but impossible requests are answered here.

use super::negotiation::{self, Choices, Step};
use super::output::Output;
use super::wire::{
    self, Broken, OPTION_BYTES, REQUEST_BYTES, RequestHead, Words, command, command_flag,
};
use super::{Export, LARGEST_BLOCK, SMALLEST_BLOCK};
use crate::request::{Action, Done, Refusal, Request};
use nandscope_blockio::store::Store;
use std::rc::Rc;

/// Most data of an option; the names in it have at most 4096 bytes.
const LARGEST_OPTION: u32 = 8192;
/// Options before the client has to begin.
const MOST_OPTIONS: u32 = 64;

/// Input from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A request, with the client's number.
    Request(u64, Request),
    /// The client disconnects.
    End,
}

#[derive(Debug)]
enum State {
    ClientFlags,
    Options(u32),
    Requests,
    /// Header of a write, and its data so far.
    Data(RequestHead, Vec<u8>),
    Ended,
}

/// The state of one connection.
#[derive(Debug)]
pub struct Session {
    export: Rc<Export>,
    choices: Choices,
    state: State,
    /// Unparsed input from `used` on.
    input: Vec<u8>,
    used: usize,
}

impl Session {
    /// A new connection; appends the greeting to `out`.
    pub fn new(export: Rc<Export>, out: &mut Vec<u8>) -> Self {
        negotiation::greeting(out);
        Session {
            export,
            choices: Choices::default(),
            state: State::ClientFlags,
            input: Vec::new(),
            used: 0,
        }
    }

    /// True if the client has selected its export.
    pub const fn has_begun(&self) -> bool {
        matches!(self.state, State::Requests | State::Data(..))
    }

    /// Bytes of memory that the data of the write take that has begun.
    pub const fn reserved(&self) -> usize {
        match &self.state {
            State::Data(head, _) => head.length as usize,
            _ => 0,
        }
    }

    /// Bytes of data that pass with the next request, where its head is here.
    pub fn wanted(&self) -> usize {
        let State::Requests = self.state else {
            return 0;
        };
        let head = self.input[self.used..].first_chunk::<REQUEST_BYTES>();
        match head.and_then(RequestHead::read) {
            Some(head)
                if matches!(head.command, command::READ | command::WRITE)
                    && head.length <= LARGEST_BLOCK =>
            {
                head.length as usize
            }
            _ => 0,
        }
    }

    /// True if the input ends within a message.
    pub fn is_half(&self) -> bool {
        match self.state {
            State::Data(..) => true,
            State::Requests => (1..REQUEST_BYTES).contains(&(self.input.len() - self.used)),
            _ => false,
        }
    }

    /// Discards the input and stops reading.
    pub fn end(&mut self) {
        self.state = State::Ended;
        self.input = Vec::new();
        self.used = 0;
    }

    /// Bytes that wait here.
    pub fn buffered(&self) -> usize {
        let data = match &self.state {
            State::Data(_, data) => data.len(),
            _ => 0,
        };
        self.input.len() - self.used + data
    }

    /// Takes bytes of the client.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        if self.used == self.input.len()
            && let State::Data(head, data) = &mut self.state
        {
            let (part, rest) = bytes.split_at(bytes.len().min(head.length as usize - data.len()));
            data.extend_from_slice(part);
            bytes = rest;
        }
        self.input.drain(..self.used);
        self.used = 0;
        self.input.extend_from_slice(bytes);
    }

    /// Returns the next complete request; writes immediate replies to `out`. A request whose data do not
    /// fit into `room` waits, and so does everything after it.
    ///
    /// # Errors
    /// [`Broken`] if the client violated the protocol.
    pub fn next(&mut self, room: usize, out: &mut Vec<u8>) -> Result<Option<Incoming>, Broken> {
        loop {
            match &mut self.state {
                State::Ended => return Ok(None),
                State::ClientFlags => {
                    let Some(flags) = Words(&self.input[self.used..]).u32() else {
                        return Ok(None);
                    };
                    self.used += 4;
                    self.choices = negotiation::client_flags(flags)?;
                    self.state = State::Options(0);
                }
                State::Options(count) => {
                    let count = *count;
                    if !self.next_option(count, out)? {
                        return Ok(None);
                    }
                    if matches!(self.state, State::Ended) {
                        return Ok(Some(Incoming::End));
                    }
                }
                State::Requests => {
                    if self.wanted() > room {
                        return Ok(None);
                    }
                    let Some(head) = self.input[self.used..].first_chunk::<REQUEST_BYTES>() else {
                        return Ok(None);
                    };
                    let head = RequestHead::read(head)
                        .ok_or(Broken("a request without the magic number"))?;
                    self.used += REQUEST_BYTES;
                    if let Some(incoming) = self.take_head(head, out)? {
                        return Ok(Some(incoming));
                    }
                }
                State::Data(head, data) => {
                    let waiting = &self.input[self.used..];
                    let part = waiting.len().min(head.length as usize - data.len());
                    data.extend_from_slice(&waiting[..part]);
                    self.used += part;
                    if data.len() < head.length as usize {
                        return Ok(None);
                    }
                    let (head, data) = (*head, std::mem::take(data));
                    self.state = State::Requests;
                    if let Some(request) = self.check(head, data, out) {
                        return Ok(Some(request));
                    }
                }
            }
        }
    }

    /// Answers an option, if all of it is here.
    fn next_option(&mut self, count: u32, out: &mut Vec<u8>) -> Result<bool, Broken> {
        let waiting = &self.input[self.used..];
        let mut words = Words(waiting);
        let (Some(magic), Some(option), Some(length)) = (words.u64(), words.u32(), words.u32())
        else {
            return Ok(false);
        };
        if magic != wire::OPTION_MAGIC {
            return Err(Broken("an option without the magic number"));
        }
        if length > LARGEST_OPTION {
            return Err(Broken("an option of more than 8192 bytes"));
        }
        if count >= MOST_OPTIONS {
            return Err(Broken("more than 64 options"));
        }
        let Some(data) = words.bytes(length as usize) else {
            return Ok(false);
        };
        let step = negotiation::option(&self.export, &mut self.choices, option, data, out)?;
        self.used += OPTION_BYTES + length as usize;
        self.state = match step {
            Step::Stay => State::Options(count + 1),
            Step::Begin => State::Requests,
            Step::End => State::Ended,
        };
        Ok(true)
    }

    fn take_head(
        &mut self,
        head: RequestHead,
        out: &mut Vec<u8>,
    ) -> Result<Option<Incoming>, Broken> {
        match head.command {
            command::DISCONNECT => {
                self.state = State::Ended;
                Ok(Some(Incoming::End))
            }
            command::WRITE if head.length > LARGEST_BLOCK => {
                // Its data would have to be read before the next request can be found.
                Err(Broken("a write of more than 32 MiB"))
            }
            command::WRITE => {
                // Memory that was not written to is not taken yet.
                let data = Vec::with_capacity(head.length as usize);
                self.state = State::Data(head, data);
                Ok(None)
            }
            _ => Ok(self.check(head, Vec::new(), out)),
        }
    }

    /// Converts a header into a request, or into an error reply.
    fn check(&self, head: RequestHead, data: Vec<u8>, out: &mut Vec<u8>) -> Option<Incoming> {
        match request_of(&self.export, head, data) {
            Ok(request) => Some(Incoming::Request(head.cookie, request)),
            Err((error, message)) => {
                self.refuse(out, head.cookie, error, message);
                None
            }
        }
    }

    fn refuse(&self, out: &mut Vec<u8>, cookie: u64, error: u32, message: &str) {
        if self.choices.structured {
            wire::error_chunk(out, cookie, error, message);
        } else {
            wire::simple_reply(out, cookie, error);
        }
    }

    /// Answers a finished request; the data of a read comes from the store.
    pub fn reply(&self, done: &Done, store: &Store, out: &mut Output) {
        let cookie = done.origin.cookie;
        let start = out.tail().len();
        let replied = done.outcome.clone().and_then(|()| {
            let tail = out.tail();
            if done.action == Action::Read && self.choices.structured {
                wire::data_chunk(tail, cookie, done.offset, done.length);
            } else {
                wire::simple_reply(tail, cookie, 0);
            }
            if done.action != Action::Read || out.push_stored(store, done.offset, done.length) {
                return Ok(());
            }
            let read = store.append_to(out.tail(), done.offset, u64::from(done.length));
            read.map_err(|e| Refusal::from(&e))
        });
        if let Err(refusal) = replied {
            out.tail().truncate(start);
            let (error, message) = error_of(&refusal, done.action);
            self.refuse(out.tail(), cookie, error, message);
        }
    }
}

type Fault = (u32, &'static str);

fn request_of(export: &Export, head: RequestHead, data: Vec<u8>) -> Result<Request, Fault> {
    let invalid = |message| Err((wire::error::EINVAL, message));
    let flags = head.flags;
    let (action, allowed) = match head.command {
        command::READ => (Action::Read, command_flag::DF),
        command::CACHE => (Action::Fetch, 0),
        command::WRITE => (Action::Write, 0),
        command::FLUSH => (Action::Flush, 0),
        command::TRIM => (Action::Discard, 0),
        command::WRITE_ZEROES if flags & command_flag::NO_HOLE != 0 => (
            Action::WriteZeroes,
            command_flag::NO_HOLE | command_flag::FAST_ZERO,
        ),
        command::WRITE_ZEROES => (Action::Zero, command_flag::FAST_ZERO),
        _ => return invalid("no such command"),
    };
    // FUA is allowed with any command, even if it has no effect.
    if flags & !(allowed | command_flag::FUA) != 0 {
        return invalid("a flag that this command does not know");
    }
    if export.read_only && action.changes() {
        return Err((wire::error::EPERM, "the export is read-only"));
    }
    if action == Action::Discard && !export.discards {
        return Err((wire::error::ENOTSUP, "the host path passes no discards on"));
    }
    if flags & command_flag::FAST_ZERO != 0 && (action != Action::Zero || !export.discards) {
        return Err((
            wire::error::ENOTSUP,
            "writing zeroes is no faster than writing data here",
        ));
    }
    check_range(export, action, head)?;
    Ok(Request {
        action,
        offset: head.offset,
        length: head.length,
        data,
        durable: flags & command_flag::FUA != 0,
    })
}

fn check_range(export: &Export, action: Action, head: RequestHead) -> Result<(), Fault> {
    let invalid = |message| Err((wire::error::EINVAL, message));
    if action == Action::Flush {
        return match (head.offset, head.length) {
            (0, 0) => Ok(()),
            _ => invalid("a flush has no range"),
        };
    }
    if head.length == 0 {
        return invalid("a range of no bytes");
    }
    let block = u64::from(SMALLEST_BLOCK);
    if !head.offset.is_multiple_of(block) || !u64::from(head.length).is_multiple_of(block) {
        return invalid("the range is not in whole sectors of 512 bytes");
    }
    if matches!(action, Action::Read | Action::Fetch) && head.length > LARGEST_BLOCK {
        return invalid("a read of more than 32 MiB");
    }
    match head.offset.checked_add(u64::from(head.length)) {
        Some(end) if end <= export.size.0 => Ok(()),
        _ if action.changes() && action != Action::Discard => {
            Err((wire::error::ENOSPC, "the range reaches beyond the end"))
        }
        _ => invalid("the range reaches beyond the end"),
    }
}

fn error_of(refusal: &Refusal, action: Action) -> (u32, &str) {
    match refusal {
        Refusal::Unreadable => (wire::error::EIO, "uncorrectable read"),
        Refusal::ReadOnly => (wire::error::EPERM, "the device has become read-only"),
        Refusal::Unsupported => (wire::error::ENOTSUP, "the device knows no such command"),
        Refusal::OutOfRange if action == Action::Write => {
            (wire::error::ENOSPC, "the range reaches beyond the end")
        }
        Refusal::OutOfRange => (wire::error::EINVAL, "the range reaches beyond the end"),
        Refusal::Failed(what) => (wire::error::EIO, what),
    }
}
