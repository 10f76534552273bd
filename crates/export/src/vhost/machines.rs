//! The socket for monitors of virtual machines.

use super::bell::MOST_THREADS;
use super::control::converse;
use super::disk::Disk;
use super::ring::VhostClient;
use crate::nbd::socket::{Listener, Stream};
use nandscope_units::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use thiserror::Error;

/// Changes that wait for the server's thread; a monitor that sends more waits itself.
const MOST_CHANGES: usize = 64;

/// A virtual machine that cannot be served.
#[derive(Debug, Error)]
#[error("cannot serve a virtual machine: {0}")]
pub struct VhostError(#[from] std::io::Error);

/// The listening socket for monitors.
#[derive(Debug)]
pub(crate) struct Machines {
    listener: Listener,
    disk: Disk,
    /// Held by every thread that works for a monitor.
    token: Arc<()>,
}

impl Machines {
    pub fn new(listener: Listener, disk: Disk) -> Self {
        Machines {
            listener,
            disk,
            token: Arc::default(),
        }
    }

    /// Monitors that come from now on are offered a disk that takes no writes.
    pub const fn set_read_only(&mut self) {
        self.disk.read_only = true;
    }

    /// The descriptor to be waited for.
    pub fn descriptor(&self) -> PollFd<'_> {
        PollFd::new(&self.listener, PollFlags::IN)
    }

    /// Returns the next waiting monitor, if any.
    ///
    /// # Errors
    /// [`VhostError`] if there are too many monitors, or no thread or event descriptor can be created.
    pub fn accept(&self, now: Nanos) -> Option<Result<VhostClient, VhostError>> {
        let Ok(Stream::Unix(stream)) = self.listener.accept() else {
            return None;
        };
        if Arc::strong_count(&self.token) > MOST_THREADS {
            return Some(Err(io::Error::other("too many monitors").into()));
        }
        let client = accept(stream, self.disk, self.token.clone());
        Some(client.map(|client| client.since(now)))
    }
}

/// Serves a connected monitor: a separate thread reads its messages, the returned client its requests.
/// All its threads hold `token`.
///
/// # Errors
/// [`VhostError`] if no thread or event descriptor can be created.
pub fn accept(stream: UnixStream, disk: Disk, token: Arc<()>) -> Result<VhostClient, VhostError> {
    stream.set_nonblocking(false)?;
    let wake =
        eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(io::Error::from)?;
    let wake = Arc::new(wake);
    let (changes, incoming) = sync_channel(MOST_CHANGES);
    let hangup = stream.try_clone()?;
    converse(stream, disk, changes, wake.clone(), token.clone())?;
    Ok(VhostClient::new(disk, wake, incoming, hangup, token))
}
