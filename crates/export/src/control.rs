//! The control socket: a fault command ([`nandscope_blockio::fault`]) on each line, and a line of answer to each:
//! `ok: …` or `error: …`.

use crate::nbd::socket::{Listener, Stream};
use rustix::event::{PollFd, PollFlags};
use std::io::IoSlice;

/// Longest line.
const LONGEST: usize = 4096;
/// Connections at a time; the next one takes the place of the one that has been silent for
/// longest.
const MOST_CONTROLS: usize = 64;
/// Connections that are accepted in one turn.
const ACCEPTED_IN_TURN: usize = 16;

/// A connection that sends fault commands.
#[derive(Debug)]
pub struct Control {
    stream: Stream,
    input: Vec<u8>,
    gone: bool,
}

impl Control {
    const fn new(stream: Stream) -> Self {
        Control {
            stream,
            input: Vec::new(),
            gone: false,
        }
    }

    fn descriptor(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, PollFlags::IN)
    }

    /// Reads what came.
    fn receive(&mut self, scratch: &mut [u8]) {
        // No more than that, so that carrying it all out stays short.
        let most = LONGEST.min(scratch.len());
        match self.stream.receive(&mut scratch[..most]) {
            Ok(Some(length)) => self.input.extend_from_slice(&scratch[..length]),
            Ok(None) => {}
            Err(_) => self.gone = true,
        }
        let rest = self.input.iter().rev().position(|b| *b == b'\n');
        self.gone |= rest.unwrap_or(self.input.len()) > LONGEST;
    }

    fn has_line(&self) -> bool {
        self.input.contains(&b'\n')
    }

    pub(crate) fn next_line(&mut self) -> Option<String> {
        let end = self.input.iter().position(|b| *b == b'\n')?;
        let line: Vec<u8> = self.input.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim().to_string())
    }

    /// Sends an answer, without waiting for a client that does not read.
    pub(crate) fn answer(&mut self, text: &str) {
        let line = format!("{}\n", text.replace('\n', "\n  "));
        let sent = self.stream.send(&[IoSlice::new(line.as_bytes())]);
        self.gone |= !sent.is_ok_and(|sent| sent == line.len());
    }
}

/// The listening socket and its connections, the longest silent one first.
#[derive(Debug, Default)]
pub(crate) struct Controls {
    listener: Option<Listener>,
    all: Vec<Control>,
}

impl Controls {
    pub fn at(listener: Listener) -> Self {
        Controls {
            listener: Some(listener),
            all: Vec::new(),
        }
    }

    /// Appends the descriptors to be waited for.
    pub fn wait_for<'a>(&'a self, waiting: &mut Vec<PollFd<'a>>) {
        if let Some(listener) = &self.listener {
            waiting.push(PollFd::new(listener, PollFlags::IN));
            waiting.extend(self.all.iter().map(Control::descriptor));
        }
    }

    /// Handles the events of the descriptors, in the same order.
    pub fn take_events(&mut self, ready: &[PollFlags], scratch: &mut [u8]) {
        let Some((door, ready)) = ready.split_first() else {
            return;
        };
        let (mut silent, mut heard) = (Vec::new(), Vec::new());
        for (mut control, flags) in self.all.drain(..).zip(ready) {
            if flags.is_empty() {
                silent.push(control);
            } else {
                control.receive(scratch);
                heard.push(control);
            }
        }
        self.all = silent;
        self.all.append(&mut heard);
        if !door.is_empty() {
            self.accept(scratch);
        }
    }

    fn accept(&mut self, scratch: &mut [u8]) {
        let Some(listener) = &self.listener else {
            return;
        };
        for _ in 0..ACCEPTED_IN_TURN {
            let Ok(stream) = listener.accept() else {
                return;
            };
            if self.all.len() >= MOST_CONTROLS {
                let silent = self.all.iter().position(|c| !c.has_line());
                // If all have something to say, the newest one is hung up on.
                let Some(silent) = silent else { return };
                self.all.remove(silent);
            }
            let mut control = Control::new(stream);
            // Mostly its command has come with it.
            control.receive(scratch);
            self.all.push(control);
        }
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Control> {
        self.all.iter_mut()
    }

    pub fn forget_gone(&mut self) {
        self.all.retain(|c| !c.gone);
    }
}
