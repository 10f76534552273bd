//! Sockets of the server and its connections.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// Address to listen at: `unix:PATH` or `tcp:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, for its owner alone.
    Unix(PathBuf),
    /// A port on loopback; 0 lets the system choose one.
    Tcp(u16),
}

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidAddress {
    /// A port that does not exist.
    #[error("`{0}` is not a port; write a number up to 65535")]
    Port(String),
    /// Neither a path nor a port.
    #[error("`{0}` is not an address; write unix:PATH or tcp:PORT")]
    Form(String),
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Address::Unix(path.into())),
            Some(("tcp", port)) => port
                .parse()
                .map(Address::Tcp)
                .map_err(|_| InvalidAddress::Port(port.to_string())),
            _ => Err(InvalidAddress::Form(text.to_string())),
        }
    }
}

/// The server cannot listen at an address.
#[derive(Debug, Error)]
#[error("cannot listen at {at}: {reason}")]
pub struct ListenError {
    at: String,
    reason: Reason,
}

/// Why the server cannot listen somewhere.
#[derive(Debug, Error)]
enum Reason {
    #[error("a file of that name exists; name another")]
    NotASocket,
    #[error("another server uses it; end it, or name another")]
    Taken,
    #[error("cannot check for another server: {0}; name another")]
    Unclear(Errno),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An open place where clients come in. A socket in the file system is removed with it.
#[derive(Debug)]
pub struct Listener {
    socket: Accepting,
    uri: String,
    /// Its socket in the file system: the name, and what that named at first.
    remove: Option<(PathBuf, (u64, u64))>,
}

#[derive(Debug)]
enum Accepting {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Starts to listen. A Unix socket has mode 0600. It replaces a stale socket, but not one on which a
    /// server answers.
    ///
    /// # Errors
    /// [`ListenError`] if the address is in use or a system call fails.
    pub fn open(address: &Address) -> Result<Self, ListenError> {
        match address {
            Address::Unix(path) => Self::unix(path).map_err(|reason| ListenError {
                at: format!("unix:{}", path.display()),
                reason,
            }),
            Address::Tcp(port) => Self::tcp(*port).map_err(|error| ListenError {
                at: format!("tcp:{port}"),
                reason: error.into(),
            }),
        }
    }

    fn unix(path: &Path) -> Result<Self, Reason> {
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(Reason::NotASocket);
            }
            match answers(path) {
                Ok(false) => std::fs::remove_file(path)?,
                Ok(true) => return Err(Reason::Taken),
                Err(error) => return Err(Reason::Unclear(error)),
            }
        }
        // Set before the socket appears, so that there is no moment at which others could connect.
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let listening = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = listening?;
        listener.set_nonblocking(true)?;
        let full = std::path::absolute(path)?;
        let uri = format!("nbd+unix:///?socket={}", full.display());
        let node = node(&full)?;
        Ok(Listener {
            socket: Accepting::Unix(listener),
            uri,
            remove: Some((full, node)),
        })
    }

    fn tcp(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        listener.set_nonblocking(true)?;
        let uri = format!("nbd://{}", listener.local_addr()?);
        Ok(Listener {
            socket: Accepting::Tcp(listener),
            uri,
            remove: None,
        })
    }

    /// The URI by which clients connect.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The next client that waits, if any.
    pub(crate) fn accept(&self) -> io::Result<Stream> {
        let stream = match &self.socket {
            Accepting::Unix(listener) => Stream::Unix(listener.accept()?.0),
            Accepting::Tcp(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
        };
        stream.prepare()?;
        Ok(stream)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, own)) = &self.remove
            && node(path).is_ok_and(|found| found == *own)
        {
            // It may have been removed already, which is harmless.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Device and inode of a name.
fn node(path: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// True if a server listens on the Unix socket, even if its queue is full.
fn answers(path: &Path) -> rustix::io::Result<bool> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(Errno::CONNREFUSED) => Ok(false),
        Err(other) => Err(other),
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Accepting::Unix(listener) => listener.as_fd(),
            Accepting::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Bytes that the system may take from the server before the client has read them: with what it
/// gives unasked, an answer of 1 MiB takes five wakeups on either side.
const SEND_BUFFER: usize = 2 << 20;

/// The connection of a client.
#[derive(Debug)]
pub enum Stream {
    /// Through the file system.
    Unix(UnixStream),
    /// Through TCP.
    Tcp(TcpStream),
}

impl Stream {
    pub(crate) fn prepare(&self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => {
                // If the system limits the buffers, it is slower.
                let _ = rustix::net::sockopt::set_socket_send_buffer_size(stream, SEND_BUFFER);
                stream.set_nonblocking(true)
            }
            // TCP sizes its buffers itself.
            Stream::Tcp(stream) => stream.set_nonblocking(true),
        }
    }

    /// Reads available bytes; `None` if no bytes are available, an error if the client has disconnected.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        };
        match read {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(Some(length)),
            Err(e) if waits(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Writes without blocking; returns the number of bytes written.
    pub(crate) fn send(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = match self {
            Stream::Unix(stream) => stream.write_vectored(pieces),
            Stream::Tcp(stream) => stream.write_vectored(pieces),
        };
        match written {
            Ok(0) => Err(ErrorKind::WriteZero.into()),
            Err(e) if waits(&e) => Ok(0),
            other => other,
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
