//! Measures what the path between a client and the service costs: round trips of small and of large requests
//! through the real server over a real socket or mount, to a device that takes no time at all.
//!
//! The client of the socket makes the system calls that libnbd makes, with which most clients are built.

use crate::clock::Speed;
#[cfg(target_os = "linux")]
use crate::fuse::{File, FuseClient};
use crate::nbd::Export;
use crate::nbd::socket::Stream;
use crate::nbd::wire;
use crate::overhead::{LARGE, Overhead, SMALL};
use crate::server::Server;
use crate::service::Service;
use nandscope_blockio::store::Store;
use nandscope_device::FixedLatencyDevice;
use nandscope_units::{Bytes, Nanos};
use rustix::event::{PollFd, PollFlags};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Number of unmeasured round trips before the measured ones.
const WARM_UP: usize = 100;
/// Number of round trips that are measured.
const ROUNDS: usize = 500;
const CAPACITY: Bytes = Bytes::mib(1);

/// Median round trips through a local socket.
///
/// # Errors
/// `io::Error` if a socket or thread cannot be created.
pub fn of_socket() -> io::Result<Overhead> {
    let (client, server) = UnixStream::pair()?;
    while_serving(
        move |echo| echo.adopt(Stream::Unix(server)),
        move || nbd_requests(client),
    )
}

/// Median round trips through a file that is mounted in `folder` for the measurement.
///
/// # Errors
/// `io::Error` if the file cannot be mounted or a thread cannot be created.
#[cfg(target_os = "linux")]
pub fn of_mount(folder: &Path) -> io::Result<Overhead> {
    let file = File::new("overhead", CAPACITY, false, true);
    let mounted = FuseClient::mount(folder, file).map_err(io::Error::other)?;
    let path = folder.join("overhead");
    while_serving(
        move |echo| {
            echo.add(Box::new(mounted));
            Ok(())
        },
        move || file_requests(&path),
    )
}

/// Serves a device without latency in another thread while the client runs.
fn while_serving(
    add: impl FnOnce(&mut Server<FixedLatencyDevice>) -> io::Result<()> + Send,
    client: impl FnOnce() -> io::Result<Overhead> + Send,
) -> io::Result<Overhead> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let measuring = std::thread::Builder::new()
            .name("overhead".to_string())
            .spawn_scoped(scope, || {
                let measured = client();
                stop.store(true, Ordering::Relaxed);
                measured
            })?;
        let mut server = echo();
        let served = add(&mut server).and_then(|()| server.serve(&|| stop.load(Ordering::Relaxed)));
        // With it goes what the client may still be waiting for.
        drop(server);
        match measuring.join() {
            Ok(measured) => served.and(measured),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn echo() -> Server<FixedLatencyDevice> {
    let model = FixedLatencyDevice::new(CAPACITY, Nanos::ZERO);
    let export = Export {
        name: String::new(),
        description: String::new(),
        size: CAPACITY,
        read_only: false,
        discards: true,
    };
    let service = Service::new(model, Store::memory(CAPACITY), Speed::Max);
    Server::new(service, export, Vec::new())
}

#[cfg(target_os = "linux")]
fn file_requests(path: &Path) -> io::Result<Overhead> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().read(true).write(true).open(path)?;
    let mut data = vec![0; LARGE as usize];
    Ok(Overhead {
        small: median_time(|| file.read_exact_at(&mut data[..SMALL as usize], 0))?,
        large_read: median_time(|| file.read_exact_at(&mut data, 0))?,
        large_write: median_time(|| file.write_all_at(&data, 0))?,
    })
}

/// Median time of an action over [`ROUNDS`] rounds, after [`WARM_UP`] rounds that are not counted.
fn median_time(mut act: impl FnMut() -> io::Result<()>) -> io::Result<Nanos> {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..WARM_UP + ROUNDS {
        let began = Instant::now();
        act()?;
        if round >= WARM_UP {
            let nanos = began.elapsed().as_nanos();
            times.push(u64::try_from(nanos).unwrap_or(u64::MAX));
        }
    }
    times.sort_unstable();
    Ok(Nanos(times[ROUNDS / 2]))
}

/// A client that waits for its socket before it reads, and reads each part of a reply separately.
struct Asking(UnixStream);

impl Asking {
    fn take(&mut self, mut part: &mut [u8]) -> io::Result<()> {
        while !part.is_empty() {
            match self.0.read(part) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => part = &mut part[length..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::IN)?,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn put(&mut self, mut part: &[u8]) -> io::Result<()> {
        while !part.is_empty() {
            match self.0.write(part) {
                Ok(length) => part = &part[length..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::OUT)?,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn wait(&self, what: PollFlags) -> io::Result<()> {
        rustix::event::poll(&mut [PollFd::new(&self.0, what)], None)?;
        Ok(())
    }

    fn round(&mut self, request: &[u8], sent: &[u8], got: &mut [u8]) -> io::Result<()> {
        self.put(request)?;
        self.put(sent)?;
        // There is no answer yet, which libnbd finds out as well.
        self.wait(PollFlags::IN)?;
        self.take(&mut [0; 16])?;
        self.take(got)
    }
}

fn nbd_requests(mut client: UnixStream) -> io::Result<Overhead> {
    let mut greeting = [0; 18];
    client.read_exact(&mut greeting)?;
    let mut hello = u32::from(wire::FIXED_NEWSTYLE | wire::NO_ZEROES)
        .to_be_bytes()
        .to_vec();
    hello.extend(wire::OPTION_MAGIC.to_be_bytes());
    hello.extend(wire::OPT_EXPORT_NAME.to_be_bytes());
    hello.extend(0u32.to_be_bytes());
    client.write_all(&hello)?;
    client.read_exact(&mut [0; 10])?;
    client.set_nonblocking(true)?;

    let request = |command: u16, length: u32| {
        let mut request = wire::REQUEST_MAGIC.to_be_bytes().to_vec();
        request.extend([0; 2]);
        request.extend(command.to_be_bytes());
        request.extend([0; 16]);
        request.extend(length.to_be_bytes());
        request
    };
    let (read, write) = (wire::command::READ, wire::command::WRITE);
    let mut client = Asking(client);
    let mut data = vec![0; LARGE as usize];
    let small = request(read, SMALL);
    let (large, written) = (request(read, LARGE), request(write, LARGE));
    Ok(Overhead {
        small: median_time(|| client.round(&small, &[], &mut data[..SMALL as usize]))?,
        large_read: median_time(|| client.round(&large, &[], &mut data))?,
        large_write: median_time(|| client.round(&written, &data, &mut []))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_request_is_answered_and_costs_time() {
        let found = of_socket().unwrap();
        for cost in [found.small, found.large_read, found.large_write] {
            assert!(cost > Nanos::ZERO, "{found:?}");
        }
    }
}
