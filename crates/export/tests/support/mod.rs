//! A client of the NBD protocol that says exactly what a test wants it to say, and a server for it.

#![allow(dead_code, reason = "each test file uses its part of this")]

#[cfg(target_os = "linux")]
pub mod monitor;

use nandscope_blockio::store::Store;
use nandscope_device::FixedLatencyDevice;
use nandscope_export::clock::Speed;
use nandscope_export::nbd::Export;
use nandscope_export::nbd::socket::{Address, Listener};
use nandscope_export::nbd::wire::{self, command};
use nandscope_export::server::Server;
use nandscope_export::service::Service;
use nandscope_units::{Bytes, Nanos};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub const CAPACITY: Bytes = Bytes::mib(64);
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn export() -> Export {
    Export {
        name: "even".to_string(),
        description: "for tests".to_string(),
        size: CAPACITY,
        read_only: false,
        discards: true,
    }
}

/// A server on a thread of its own, ended with it.
pub struct Serving {
    pub path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Serving {
    /// A device that takes `latency` for everything.
    pub fn start(export: Export, latency: Nanos) -> Self {
        Self::start_with(export, latency, |server| server)
    }

    /// The same, with further ways in.
    pub fn start_with(
        export: Export,
        latency: Nanos,
        more: impl FnOnce(Server<FixedLatencyDevice>) -> Server<FixedLatencyDevice> + Send + 'static,
    ) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("nandscope-nbd-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = Listener::open(&Address::Unix(path.clone())).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let model = FixedLatencyDevice::new(CAPACITY, latency);
            let service = Service::new(model, Store::memory(CAPACITY), Speed::Times(1.0));
            let mut server = more(Server::new(service, export, vec![listener]));
            server.serve(&|| stopped.load(Ordering::Relaxed)).unwrap();
            server.into_service().outstanding()
        });
        Serving {
            path,
            stop,
            thread: Some(thread),
        }
    }

    pub fn stream(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A client that has chosen the export.
    pub fn client(&self, structured: bool) -> Client {
        Client::begin(self.stream(), structured)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nothing that was asked for is left behind, whatever the clients did.
        let left = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            assert_eq!(left.unwrap(), 0);
            assert!(!self.path.exists());
        }
    }
}

pub fn go(name: &str, facts: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend((facts.len() as u16).to_be_bytes());
    data.extend(facts.iter().flat_map(|f| f.to_be_bytes()));
    data
}

pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = wire::REQUEST_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// An answer to a request: the cookie, the error, the data.
pub type Answer = (u64, u32, Vec<u8>);

pub struct Client(pub UnixStream);

impl Client {
    /// A client that chooses the export.
    pub fn begin(stream: UnixStream, structured: bool) -> Client {
        let mut client = Client(stream);
        client.hello();
        if structured {
            client.option(wire::OPT_STRUCTURED_REPLY, &[]);
            assert_eq!(client.answers(), [(wire::REP_ACK, Vec::new())]);
        }
        client.option(wire::OPT_GO, &go("", &[]));
        assert_eq!(client.answers().last().unwrap().0, wire::REP_ACK);
        client
    }

    pub fn hello(&mut self) {
        let mut greeting = [0; 18];
        self.0.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        self.send(&3u32.to_be_bytes());
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub fn option(&mut self, option: u32, data: &[u8]) {
        self.send(&wire::OPTION_MAGIC.to_be_bytes());
        self.send(&option.to_be_bytes());
        self.send(&(data.len() as u32).to_be_bytes());
        self.send(data);
    }

    fn number<const N: usize>(&mut self) -> io::Result<u64> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    fn bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The answers to an option, up to the last one.
    pub fn answers(&mut self) -> Vec<(u32, Vec<u8>)> {
        let mut answers = Vec::new();
        loop {
            assert_eq!(self.number::<8>().unwrap(), wire::OPTION_REPLY_MAGIC);
            let _option = self.number::<4>().unwrap();
            let reply = self.number::<4>().unwrap() as u32;
            let length = self.number::<4>().unwrap();
            answers.push((reply, self.bytes(length).unwrap()));
            if !matches!(reply, wire::REP_SERVER | wire::REP_INFO) {
                return answers;
            }
        }
    }

    /// The answer to a request; `read` is how much data comes with a simple reply that is not an error.
    pub fn answer(&mut self, read: u32) -> io::Result<Answer> {
        let magic = self.number::<4>()? as u32;
        if magic == wire::SIMPLE_REPLY_MAGIC {
            let error = self.number::<4>()? as u32;
            let cookie = self.number::<8>()?;
            let read = if error == 0 { u64::from(read) } else { 0 };
            return Ok((cookie, error, self.bytes(read)?));
        }
        assert_eq!(magic, wire::STRUCTURED_REPLY_MAGIC);
        assert_eq!(self.number::<2>()?, 1, "one chunk is the whole answer");
        let kind = self.number::<2>()?;
        let cookie = self.number::<8>()?;
        let length = self.number::<4>()?;
        let content = self.bytes(length)?;
        match kind {
            1 => Ok((cookie, 0, content[8..].to_vec())),
            0x8001 => {
                let error = u32::from_be_bytes(content[..4].try_into().unwrap());
                let message = u16::from_be_bytes([content[4], content[5]]);
                assert_eq!(content.len(), 6 + usize::from(message));
                assert!(std::str::from_utf8(&content[6..]).is_ok_and(|m| !m.is_empty()));
                Ok((cookie, error, Vec::new()))
            }
            _ => panic!("a chunk of kind {kind}"),
        }
    }

    pub fn ask(&mut self, flags: u16, command: u16, offset: u64, length: u32) -> (u32, Vec<u8>) {
        let read = if command == command::READ { length } else { 0 };
        self.send(&request(flags, command, 0xc0ffee, offset, length));
        let (cookie, error, data) = self.answer(read).unwrap();
        assert_eq!(cookie, 0xc0ffee);
        (error, data)
    }

    pub fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> u32 {
        let head = request(flags, command::WRITE, 7, offset, data.len() as u32);
        self.send(&head);
        self.send(data);
        let (cookie, error, _) = self.answer(0).unwrap();
        assert_eq!(cookie, 7);
        error
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        let (error, data) = self.ask(0, command::READ, offset, length);
        assert_eq!((error, data.len()), (0, length as usize));
        data
    }

    /// Whether the server has hung up; what it said before is read away.
    pub fn is_dropped(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(e) => e.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
