//! What the path between a client and the service costs: round trips of a small read through the
//! real server over a real socket, to a device that takes no time at all.

use crate::clock::Speed;
use crate::model::Even;
use crate::nbd::Export;
use crate::nbd::server::Server;
use crate::nbd::socket::Stream;
use crate::nbd::wire;
use crate::service::Service;
use crate::store::Store;
use nandscope_units::{Bytes, Nanos};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Round trips before those that count.
const WARM_UP: usize = 100;
/// Round trips that count.
const ROUNDS: usize = 500;
/// Bytes of each read, as a typical client's.
const BLOCK: u32 = 4096;

/// The median of a round trip through a local socket.
///
/// # Errors
/// Where the system gives no sockets or threads.
pub fn measure() -> io::Result<Nanos> {
    let (client, server) = UnixStream::pair()?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = std::thread::Builder::new()
            .name("overhead".to_string())
            .spawn_scoped(scope, || echo(server, &stop))?;
        let measured = round_trips(client);
        stop.store(true, Ordering::Relaxed);
        match serving.join() {
            Ok(served) => served.and(measured),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn echo(stream: UnixStream, stop: &AtomicBool) -> io::Result<()> {
    let capacity = Bytes::mib(1);
    let model = Even::new(capacity, Nanos::ZERO);
    let export = Export {
        name: String::new(),
        description: String::new(),
        size: capacity,
        read_only: false,
        discards: true,
    };
    let service = Service::new(model, Store::memory(capacity), Speed::Max);
    let mut server = Server::new(service, export, Vec::new());
    server.adopt(Stream::Unix(stream))?;
    server.serve(&|| stop.load(Ordering::Relaxed))
}

fn round_trips(mut client: UnixStream) -> io::Result<Nanos> {
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
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..WARM_UP + ROUNDS {
        let began = Instant::now();
        client.write_all(&request)?;
        client.read_exact(&mut reply)?;
        if round >= WARM_UP {
            times.push(began.elapsed().as_nanos() as u64);
        }
    }
    times.sort_unstable();
    Ok(Nanos(times[ROUNDS / 2]))
}
