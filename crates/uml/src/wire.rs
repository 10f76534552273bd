//! A stream socket from which whole messages are taken as they arrive, with their file descriptors. It
//! never blocks: the caller polls.

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Bytes taken at once.
const CHUNK: usize = 8192;
/// Longest time that the other side may leave our messages unread.
const WRITE_LIMIT: Duration = Duration::from_secs(20);

/// The socket with what has arrived and was not taken yet.
#[derive(Debug)]
pub struct Wire {
    stream: UnixStream,
    arrived: Vec<u8>,
    taken: usize,
    files: VecDeque<File>,
}

impl Wire {
    /// Wraps a connected socket.
    ///
    /// # Errors
    /// `io::Error` if the write timeout cannot be set.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(WRITE_LIMIT))?;
        Ok(Wire {
            stream,
            arrived: Vec::new(),
            taken: 0,
            files: VecDeque::new(),
        })
    }

    /// Reads available data; false if the other side has closed. Call it when the socket is readable.
    ///
    /// # Errors
    /// `io::Error` if reading fails, or more descriptors arrived than fit.
    pub fn receive(&mut self) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut chunk = [0; CHUNK];
        let got = loop {
            let mut slices = [IoSliceMut::new(&mut chunk)];
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            match recvmsg(&self.stream, &mut slices, &mut control, flags) {
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(true),
                Err(rustix::io::Errno::CONNRESET) => return Ok(false),
                other => break other?,
            }
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.files.extend(descriptors.map(File::from));
            }
        }
        if got.flags.contains(ReturnFlags::CTRUNC) {
            return Err(io::Error::other(
                "more file descriptors than a message may have",
            ));
        }
        if self.taken > CHUNK {
            self.arrived.drain(..self.taken);
            self.taken = 0;
        }
        self.arrived.extend_from_slice(&chunk[..got.bytes]);
        Ok(got.bytes > 0)
    }

    /// Received bytes that have not been taken.
    pub fn waiting(&self) -> &[u8] {
        &self.arrived[self.taken..]
    }

    /// Takes the first `count` bytes, or all if there are fewer.
    pub fn take(&mut self, count: usize) {
        self.taken = (self.taken + count).min(self.arrived.len());
    }

    /// The oldest file that came and was not taken.
    pub fn file(&mut self) -> Option<File> {
        self.files.pop_front()
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// `io::Error` if the other side has disconnected or does not read for 20 s.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
