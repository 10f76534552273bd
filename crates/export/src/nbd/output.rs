//! Pending output of a client: bytes, and ranges of contents in memory, which are sent without a copy. A
//! range is read when it is sent. A write that overtakes the reply to a read was in flight together with
//! it, so either order is correct.

use super::socket::Stream;
use nandscope_blockio::store::Store;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// Shorter data is copied, which is cheaper than a separate segment.
const WORTH_A_PIECE: u32 = 32 << 10;
/// Pieces that are sent at once: 1 MiB of pages of 4 KiB, and fewer than the 1024 that the kernel takes.
const PIECES: usize = 256;
/// A larger buffer is freed when it becomes empty.
const KEPT_BUFFER: usize = 1 << 20;

#[derive(Debug)]
enum Segment {
    Bytes(Vec<u8>),
    Stored { offset: u64, length: u64 },
}

impl Segment {
    fn len(&self) -> usize {
        match self {
            Segment::Bytes(bytes) => bytes.len(),
            Segment::Stored { length, .. } => *length as usize,
        }
    }
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Output {
    /// Segments before the tail.
    segments: VecDeque<Segment>,
    /// Bytes already sent of the first segment, or of the tail if there is no segment.
    sent: usize,
    tail: Vec<u8>,
}

impl Output {
    /// Bytes that are appended here are sent after everything else.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        let segments: usize = self.segments.iter().map(Segment::len).sum();
        segments + self.tail.len() - self.sent
    }

    /// Bytes of memory that it takes: ranges of contents take none.
    pub fn memory(&self) -> usize {
        let of = |segment: &Segment| match segment {
            Segment::Bytes(bytes) => bytes.len(),
            Segment::Stored { .. } => 0,
        };
        self.segments.iter().map(of).sum::<usize>() + self.tail.len()
    }

    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.tail.len() == self.sent
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        *self = Output::default();
    }

    /// Appends a range of the contents without copying if it is long and in memory; returns whether it did.
    /// The range has to be within the contents.
    pub fn push_stored(&mut self, store: &Store, offset: u64, length: u32) -> bool {
        if length < WORTH_A_PIECE || !store.is_in_memory() {
            return false;
        }
        if !self.tail.is_empty() {
            let tail = std::mem::take(&mut self.tail);
            self.segments.push_back(Segment::Bytes(tail));
        }
        let length = u64::from(length);
        self.segments.push_back(Segment::Stored { offset, length });
        true
    }

    /// Sends as much as possible without blocking.
    ///
    /// # Errors
    /// `io::Error` if the client has disconnected.
    pub fn send(&mut self, stream: &mut Stream, store: &Store) -> io::Result<()> {
        while !self.is_empty() {
            let mut pieces = Vec::with_capacity(PIECES);
            self.gather(store, &mut pieces);
            let mut left = match stream.send(&pieces)? {
                0 => {
                    self.compact();
                    return Ok(());
                }
                sent => self.sent + sent,
            };
            while let Some(first) = self.segments.front()
                && left >= first.len()
            {
                left -= first.len();
                self.segments.pop_front();
            }
            self.sent = left;
        }
        self.sent = 0;
        self.tail.clear();
        if self.tail.capacity() > KEPT_BUFFER {
            self.tail = Vec::new();
        }
        Ok(())
    }

    /// Gives back what a tail that is never sent to its end has sent already.
    fn compact(&mut self) {
        if self.segments.is_empty() && self.sent > KEPT_BUFFER {
            self.tail.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// The pieces to be sent next.
    fn gather<'a>(&'a self, store: &'a Store, pieces: &mut Vec<IoSlice<'a>>) {
        let mut skip = self.sent;
        for segment in &self.segments {
            match segment {
                Segment::Bytes(bytes) => pieces.push(IoSlice::new(&bytes[skip..])),
                Segment::Stored { offset, length } => {
                    let (offset, length) = (offset + skip as u64, length - skip as u64);
                    let room = PIECES - pieces.len();
                    pieces.extend(store.pieces(offset, length).take(room).map(IoSlice::new));
                }
            }
            skip = 0;
            if pieces.len() >= PIECES {
                return;
            }
        }
        if self.tail.len() > skip {
            pieces.push(IoSlice::new(&self.tail[skip..]));
        }
    }
}
