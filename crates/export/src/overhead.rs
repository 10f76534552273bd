//! What the path between a client and the service costs: round trips of a small read through the
//! real server over a real socket or mount, to a device that takes no time at all.

use crate::clock::Speed;
#[cfg(target_os = "linux")]
use crate::fuse::{File, FuseClient};
use crate::model::Even;
use crate::nbd::Export;
use crate::nbd::socket::Stream;
use crate::nbd::wire;
use crate::server::Server;
use crate::service::Service;
use crate::store::Store;
use nandscope_units::{Bytes, Nanos};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Round trips before those that count.
const WARM_UP: usize = 100;
/// Round trips that count.
const ROUNDS: usize = 500;
/// Bytes of each read, as a typical client's.
const BLOCK: u32 = 4096;
const CAPACITY: Bytes = Bytes::mib(1);

/// The median of a round trip through a local socket.
///
/// # Errors
/// Where the system gives no sockets or threads.
pub fn of_socket() -> io::Result<Nanos> {
    let (client, server) = UnixStream::pair()?;
    while_serving(
        move |echo| echo.adopt(Stream::Unix(server)),
        move || nbd_reads(client),
    )
}

/// The median of a round trip through a file that is mounted in a folder, for a moment.
///
/// # Errors
/// Where it cannot be mounted, or the system gives no threads.
#[cfg(target_os = "linux")]
pub fn of_mount(folder: &Path) -> io::Result<Nanos> {
    let file = File::new("overhead", CAPACITY, true, true);
    let mounted = FuseClient::mount(folder, file).map_err(io::Error::other)?;
    let path = folder.join("overhead");
    while_serving(
        move |echo| {
            echo.add(Box::new(mounted));
            Ok(())
        },
        move || file_reads(&path),
    )
}

/// Serves a device without any latency on a thread of its own while the client runs.
fn while_serving(
    add: impl FnOnce(&mut Server<Even>) -> io::Result<()> + Send,
    client: impl FnOnce() -> io::Result<Nanos> + Send,
) -> io::Result<Nanos> {
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

fn echo() -> Server<Even> {
    let model = Even::new(CAPACITY, Nanos::ZERO);
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
fn file_reads(path: &Path) -> io::Result<Nanos> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open(path)?;
    let mut block = vec![0; BLOCK as usize];
    median(|| file.read_exact_at(&mut block, 0))
}

/// The median of a small act, after some that do not count.
fn median(mut act: impl FnMut() -> io::Result<()>) -> io::Result<Nanos> {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..WARM_UP + ROUNDS {
        let began = Instant::now();
        act()?;
        if round >= WARM_UP {
            times.push(began.elapsed().as_nanos() as u64);
        }
    }
    times.sort_unstable();
    Ok(Nanos(times[ROUNDS / 2]))
}

fn nbd_reads(mut client: UnixStream) -> io::Result<Nanos> {
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

    let mut request = wire::REQUEST_MAGIC.to_be_bytes().to_vec();
    request.extend([0; 20]);
    request.extend(BLOCK.to_be_bytes());
    let mut reply = vec![0; 16 + BLOCK as usize];
    median(|| {
        client.write_all(&request)?;
        client.read_exact(&mut reply)
    })
}
