//! The control socket: a line per order ([`crate::fault::Order`]), a line of answer to each:
//! `ok: …` or `error: …`.

use crate::nbd::socket::Stream;
use rustix::event::{PollFd, PollFlags};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Longest line.
const LONGEST: usize = 4096;

/// One who gives orders.
#[derive(Debug)]
pub struct Control {
    stream: Stream,
    input: Vec<u8>,
    lines: VecDeque<String>,
    gone: bool,
}

impl Control {
    pub(crate) const fn new(stream: Stream) -> Self {
        Control {
            stream,
            input: Vec::new(),
            lines: VecDeque::new(),
            gone: false,
        }
    }

    pub(crate) fn descriptor(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, PollFlags::IN)
    }

    /// Reads what came.
    pub(crate) fn receive(&mut self, scratch: &mut [u8]) {
        match self.stream.receive(scratch) {
            Ok(Some(length)) => self.input.extend_from_slice(&scratch[..length]),
            Ok(None) => {}
            Err(_) => self.gone = true,
        }
        while let Some(end) = self.input.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            self.lines
                .push_back(String::from_utf8_lossy(&line).trim().to_string());
        }
        self.gone |= self.input.len() > LONGEST;
    }

    pub(crate) fn next_line(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// Answers. Who does not read the answers is not waited for.
    pub(crate) fn answer(&mut self, text: &str) {
        let line = format!("{}\n", text.replace('\n', "\n  "));
        let sent = self.stream.send(&[IoSlice::new(line.as_bytes())]);
        self.gone |= !sent.is_ok_and(|sent| sent == line.len());
    }

    pub(crate) fn is_over(&self) -> bool {
        self.gone && self.lines.is_empty()
    }
}
