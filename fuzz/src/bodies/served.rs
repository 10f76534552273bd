//! What clients, guests and kernels send to a served device.

use nandscope_export::nbd::session::{Incoming, Session};
use nandscope_export::nbd::{Export, LARGEST_BLOCK};
use nandscope_export::request::{Action, Request};
use nandscope_units::{Bytes, Nanos};
use std::rc::Rc;

/// The size of a served device.
pub(super) const SERVED: Bytes = Bytes::mib(1);

/// Bytes of an NBD client: cut into pieces or whole, they give the same requests and replies; requests stay within the device;
/// the buffer holds no more than the bytes received.
pub fn nbd(data: &[u8]) {
    let whole = converse(data, data.len());
    for piece in [1, 7, 29] {
        assert_eq!(whole, converse(data, piece), "in pieces of {piece}");
    }
}

/// The requests and answers of a client that sends its bytes in pieces, and how it broke off.
fn converse(data: &[u8], piece: usize) -> (Vec<Incoming>, Vec<u8>, Option<&'static str>) {
    let export = Rc::new(Export {
        name: "fuzz".to_string(),
        description: "for fuzzing".to_string(),
        size: SERVED,
        read_only: data.len() % 5 == 1,
        discards: data.len() % 5 != 2,
    });
    let mut out = Vec::new();
    let mut session = Session::new(export.clone(), &mut out);
    let mut requests = Vec::new();
    for bytes in data.chunks(piece.max(1)) {
        session.feed(bytes);
        loop {
            match session.next(usize::MAX, &mut out) {
                Ok(None) => break,
                Ok(Some(incoming)) => requests.push(incoming),
                Err(broken) => return (requests, out, Some(broken.0)),
            }
        }
        assert!(session.buffered() <= data.len());
    }
    for incoming in &requests {
        let Incoming::Request(_, request) = incoming else {
            continue;
        };
        check_request(request, export.read_only);
        assert!(request.offset % 512 == 0 && request.length % 512 == 0);
        assert!(request.payload() <= LARGEST_BLOCK as usize);
    }
    (requests, out, None)
}

/// Whether a request of any protocol lies within a device of [`SERVED`] and holds what it says.
fn check_request(request: &Request, read_only: bool) {
    let end = request.offset.checked_add(u64::from(request.length));
    assert!(end.is_some_and(|end| end <= SERVED.0), "{request:?}");
    assert_eq!(request.length == 0, request.action == Action::Flush);
    assert!(!(read_only && request.action.changes()));
    let written = usize::from(request.action == Action::Write) * request.length as usize;
    assert_eq!(request.data.len(), written);
}

/// Messages of the kernel's FUSE: each has its length (16 bits, little-endian) before it.
pub fn fuse(data: &[u8]) {
    use nandscope_export::fuse::session::{Incoming, take};
    use nandscope_export::fuse::{File, LARGEST_TRANSFER};

    let mut file = File::new("card.img", SERVED, data.len() % 3 == 1, data.len() % 5 != 2);
    file.owner = (0, 0);
    let mut rest = data;
    while let Some((length, after)) = rest.split_first_chunk() {
        let (message, after) = after.split_at(after.len().min(u16::from_le_bytes(*length).into()));
        rest = after;
        match take(&file, message) {
            Incoming::Request(_, request) => {
                check_request(&request, file.read_only);
                let payload = request.payload();
                assert!(payload <= LARGEST_TRANSFER as usize, "{request:?}");
            }
            Incoming::Answer(_, bytes) => assert!(bytes.len() <= 1 << 16),
            Incoming::Nothing | Incoming::Error(..) => {}
        }
    }
}

/// The disk that virtual machines see.
#[cfg(target_os = "linux")]
fn disk(number: usize) -> nandscope_export::vhost::Disk {
    nandscope_export::vhost::Disk {
        size: SERVED,
        read_only: number % 3 == 1,
        discards: number % 5 != 2,
        unit: None,
    }
}

/// Takes and answers the requests of a guest, up to so many.
#[cfg(target_os = "linux")]
fn serve_guest(client: &mut nandscope_export::vhost::VhostClient, read_only: bool, most: usize) {
    use nandscope_blockio::store::Store;
    use nandscope_export::client::Client;
    use nandscope_export::request::{Done, Origin, Refusal};

    let store = Store::memory(SERVED);
    for _ in 0..most {
        let Some((cookie, request)) = client.next_request(usize::MAX) else {
            break;
        };
        check_request(&request, read_only);
        let origin = Origin {
            connection: 0,
            cookie,
        };
        let outcome = match cookie % 7 {
            6 => Err(Refusal::Unreadable),
            _ => Ok(()),
        };
        let done = Done {
            origin,
            action: request.action,
            offset: request.offset,
            length: request.length,
            outcome,
            due: Nanos::ZERO,
            latency: Nanos::ZERO,
        };
        client.reply(&done, &store);
    }
    assert_eq!(client.held(), 0);
}

/// Bytes of a virtual machine monitor, through a socket: whatever they are, it comes to an end.
#[cfg(target_os = "linux")]
pub fn vhost(data: &[u8]) {
    use nandscope_blockio::store::Store;
    use nandscope_export::client::Client;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    let disk = disk(data.len());
    let (mut monitor, server) = UnixStream::pair().expect("a pair of sockets");
    // More than fits into a socket would wait for a server that answers.
    let data = &data[..data.len().min(16 << 10)];
    let mut client =
        nandscope_export::vhost::accept(server, disk, Default::default()).expect("a thread");
    // It may have been hung up on already.
    let _ = monitor.write_all(data);
    let _ = monitor.shutdown(std::net::Shutdown::Write);
    monitor.set_nonblocking(true).expect("a socket");
    let (store, began) = (Store::memory(SERVED), Instant::now());
    let mut answers = [0; 4096];
    while !client.is_over(Nanos::ZERO, false) {
        assert!(began.elapsed() < Duration::from_secs(10), "it goes on");
        client.take_events(&[], usize::MAX, &mut [], &store);
        serve_guest(&mut client, disk.read_only, 300);
        while monitor.read(&mut answers).is_ok_and(|length| length > 0) {}
        std::thread::yield_now();
    }
}

/// A guest's queue and the memory around it: the size of the queue, where its three parts lie, memory.
#[cfg(target_os = "linux")]
pub fn virtio(data: &[u8]) {
    let Some((head, image)) = data.split_first_chunk::<8>() else {
        return;
    };
    if image.is_empty() {
        return;
    }
    let place = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let size = 1 << (place(0) % 9);
    let disk = disk(usize::from(head[1]));
    let parts = [place(2), place(4), place(6)];
    let client = nandscope_export::vhost::VhostClient::without_monitor(disk, image, size, parts);
    serve_guest(&mut client.expect("memory"), disk.read_only, 600);
}

#[cfg(not(target_os = "linux"))]
pub fn vhost(_: &[u8]) {}

#[cfg(not(target_os = "linux"))]
pub fn virtio(_: &[u8]) {}

/// Data from a user-mode Linux: messages of both protocols, a request queue in its memory, the structures of a file system on
/// the disk that it wrote, and the output of its script.
pub fn linux(data: &[u8]) {
    use nandscope_blockio::image::Image;
    use nandscope_uml::filesystem::FileSystem;
    use nandscope_uml::layout::Layout;
    use nandscope_uml::time_travel::{MESSAGE_BYTES, Message};
    use nandscope_uml::vhost::{HEADER_BYTES, Header, LONGEST_PAYLOAD, Request};
    use nandscope_uml::{calls, guest};

    for bytes in data.as_chunks::<MESSAGE_BYTES>().0 {
        if let Ok(message) = Message::decode(bytes) {
            assert_eq!(message.encode(), *bytes);
        }
    }
    if let Some((bytes, payload)) = data.split_first_chunk::<HEADER_BYTES>()
        && let Ok(header) = Header::decode(bytes)
    {
        assert!(header.size <= LONGEST_PAYLOAD);
        let payload = &payload[..payload.len().min(header.size as usize)];
        let _ = Request::decode(&header, payload);
    }
    requests_in_shared_memory(data);
    let mut contents = Image::bounded(8 << 20);
    let _ = contents.write(0, &data[..data.len().min(1 << 20)]);
    for fs in FileSystem::ALL {
        let layout = Layout::read(fs, &contents, 0);
        layout.kind(data.len() as u64);
    }
    assert_eq!(calls::read(data).len(), data.len() / 32);
    let text = String::from_utf8_lossy(data);
    guest::phase_starts(&text);
    guest::values(&text);
}

/// Requests in a queue of 16 whose rings lie in a file that begins with these bytes.
#[cfg(target_os = "linux")]
fn requests_in_shared_memory(data: &[u8]) {
    use nandscope_blockio::virtio::{Access, BlockRequest, GuestMemory, Region, RequestQueue};
    use std::os::unix::fs::FileExt;

    const SIZE: u64 = 1 << 16;
    let path = std::env::temp_dir().join(format!("nandscope-fuzz-{}", std::process::id()));
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .expect("a file");
    let _ = std::fs::remove_file(&path);
    file.set_len(SIZE).expect("room for the memory");
    file.write_all_at(&data[..data.len().min(SIZE as usize)], 0)
        .expect("room for the memory");
    let region = Region {
        guest: 0,
        user: 0,
        size: SIZE,
        offset: 0,
        file,
    };
    let memory = GuestMemory::map(vec![region], Access::File).expect("memory");
    let mut queue = RequestQueue::new::<16>();
    queue.set_size(16).expect("a power of two");
    queue.set_addresses([0, 256, 512]).expect("aligned");
    queue.set_ready(true);
    // At most 16 requests wait in it.
    for _ in 0..16 {
        let Ok(Some(chain)) = queue.take(&memory) else {
            break;
        };
        let head = chain.head;
        if let Ok(request) = BlockRequest::read(&memory, chain) {
            assert_eq!(request.head, head);
            let _ = request.range(&memory);
            let _ = request.scatter(&memory, &[0x5a; 4096]);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn requests_in_shared_memory(_: &[u8]) {}
