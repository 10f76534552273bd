//! The event loop against a kernel that is a few lines of this file: it speaks both protocols as
//! Linux does, or breaks them.

use super::*;
use crate::calendar::{Message, Op};
use crate::vhost;
use nandscope_device::{Command, Completion, Status, Telemetry};
use nandscope_units::Bytes;
use nandscope_workload::OpKind;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const SIZE: u64 = 1 << 20;
/// Where the fake kernel keeps rings and buffers in its memory.
const DESCRIPTORS: u64 = 0x1000;
const AVAILABLE: u64 = 0x2000;
const USED: u64 = 0x3000;
const HEADER: u64 = 0x4000;
const STATUS: u64 = 0x4100;
const DATA: u64 = 0x5000;
/// The address at which the kernel says that its memory begins for vring addresses.
const USER: u64 = 0x7000_0000;

/// Does every command in 100 ns.
#[derive(Default)]
struct Toy {
    pending: Vec<Completion>,
}

impl VirtualDevice for Toy {
    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), String> {
        self.pending.push(Completion {
            tag: command.tag,
            status: Status::Ok,
            submitted: at,
            completed: at + Nanos(100),
            payload: None,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.pending.first().map(|c| c.completed)
    }

    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        match self.next_event() {
            Some(next) if next <= until => {
                completions.push(self.pending.remove(0));
                next
            }
            _ => until,
        }
    }

    fn telemetry(&mut self, _at: Nanos) -> Telemetry {
        Telemetry::default()
    }

    fn capacity(&self) -> Bytes {
        Bytes(SIZE)
    }
}

struct Sockets(PathBuf);

impl Sockets {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("nandscope-fake-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Sockets(path)
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `kernel` against a machine, and gives how that ended and what the device was asked.
fn against(
    contents: &mut Contents,
    kernel: impl FnOnce(Fake) + Send,
) -> (Result<Ended, MachineError>, Vec<Event>, Nanos) {
    let sockets = Sockets::new();
    let (time, disk) = (sockets.0.join("time"), sockets.0.join("disk"));
    let (one, other) = (
        UnixListener::bind(&time).unwrap(),
        UnixListener::bind(&disk).unwrap(),
    );
    let limits = Limits {
        silence: Duration::from_secs(2),
        wall: Duration::from_secs(20),
        virtual_time: Nanos::from_secs(100),
        start_of_day: 7,
        cut: None,
        keep_changes: false,
        flushes_lie: false,
    };
    let describe = Disk {
        capacity: Bytes(SIZE),
        discard: true,
        discard_granularity: Bytes(4096),
        minimum_io: Bytes::ZERO,
        optimal_io: Bytes::ZERO,
    };
    let mut toy = Toy::default();
    let mut machine = Machine::new(
        &mut toy,
        Nanos::ZERO,
        contents,
        describe,
        limits,
        one,
        other,
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let fake = Fake {
                calendar: UnixStream::connect(&time).unwrap(),
                disk: UnixStream::connect(&disk).unwrap(),
                backend: None,
                memory: memory(),
                sequence: 0,
            };
            kernel(fake);
        });
        let ended = machine.run(&mut || true, &|| false);
        let now = machine.now();
        // With this its sockets are closed, and the kernel's side wakes up.
        (ended, machine.into_record().0, now)
    })
}

fn memory() -> File {
    let file = rustix::fs::memfd_create("kernel", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let file = File::from(file);
    file.set_len(1 << 20).unwrap();
    file
}

/// A kernel that does what its test says.
struct Fake {
    calendar: UnixStream,
    disk: UnixStream,
    backend: Option<UnixStream>,
    memory: File,
    sequence: u32,
}

impl Fake {
    /// Sends a calendar message and waits for its acknowledgement, which it gives.
    fn say(&mut self, op: Op, time: u64) -> Message {
        self.sequence += 1;
        let message = Message {
            op,
            sequence: self.sequence,
            time: Nanos(time),
        };
        self.calendar.write_all(&message.encode()).unwrap();
        let answer = self.hear();
        assert_eq!((answer.op, answer.sequence), (Op::Ack, self.sequence));
        answer
    }

    fn hear(&mut self) -> Message {
        let mut bytes = [0; MESSAGE_BYTES];
        self.calendar.read_exact(&mut bytes).unwrap();
        Message::decode(&bytes).unwrap()
    }

    /// Takes a message of the calendar and acknowledges it.
    fn told(&mut self) -> (Op, Nanos) {
        let message = self.hear();
        self.acknowledge(&message);
        (message.op, message.time)
    }

    fn acknowledge(&mut self, message: &Message) {
        let answer = Message {
            op: Op::Ack,
            ..*message
        };
        self.calendar.write_all(&answer.encode()).unwrap();
    }

    fn send(&mut self, request: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        let mut bytes = Vec::new();
        for number in [request, 9, payload.len() as u32] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(files)));
        }
        let slices = [IoSlice::new(&bytes)];
        sendmsg(&self.disk, &slices, &mut control, SendFlags::empty()).unwrap();
    }

    /// The payload of the reply to a request.
    fn reply(stream: &mut UnixStream) -> (u32, Vec<u8>) {
        let mut bytes = [0; HEADER_BYTES];
        stream.read_exact(&mut bytes).unwrap();
        let header = Header::decode(&bytes).unwrap();
        let mut payload = vec![0; header.size as usize];
        stream.read_exact(&mut payload).unwrap();
        (header.request, payload)
    }

    fn ask(&mut self, request: u32, payload: &[u8]) -> Vec<u8> {
        self.send(request, payload, &[]);
        let (answered, payload) = Self::reply(&mut self.disk);
        assert_eq!(answered, request);
        payload
    }

    fn numbers(parts: &[u64]) -> Vec<u8> {
        parts.iter().flat_map(|n| n.to_ne_bytes()).collect()
    }

    fn pair(a: u32, b: u32) -> Vec<u8> {
        [a.to_ne_bytes(), b.to_ne_bytes()].concat()
    }

    /// What Linux does until the disk is there.
    fn set_up(&mut self) {
        self.say(Op::Start, u64::MAX);
        let offered = self.ask(1, &[]);
        assert_ne!(
            u64::from_ne_bytes(offered.try_into().unwrap()) & (1 << 30),
            0
        );
        assert_eq!(self.ask(15, &[]), vhost::PROTOCOL_FEATURES.to_ne_bytes());
        self.ask(16, &vhost::PROTOCOL_FEATURES.to_ne_bytes());
        let (ours, theirs) = UnixStream::pair().unwrap();
        self.send(21, &[], &[theirs.as_fd()]);
        Self::reply(&mut self.disk);
        self.backend = Some(ours);
        let config = self.ask(24, &[0u32, 8, 0].map(u32::to_ne_bytes).concat());
        assert_eq!(config[12..20], (SIZE / 512).to_le_bytes());
        let memory = self.memory.try_clone().unwrap();
        let mut table = Self::pair(1, 0);
        table.extend(Self::numbers(&[0, 1 << 20, USER, 0]));
        self.send(5, &table, &[memory.as_fd()]);
        Self::reply(&mut self.disk);
        self.ask(8, &Self::pair(0, 8));
        let mut addresses = Self::pair(0, 0);
        addresses.extend(Self::numbers(&[
            USER + DESCRIPTORS,
            USER + USED,
            USER + AVAILABLE,
            0,
        ]));
        self.ask(9, &addresses);
        self.ask(18, &Self::pair(0, 1));
    }

    /// Puts a request of one buffer of data into the ring.
    fn put(&mut self, kind: u32, sector: u64, length: u32, device_writes: bool) {
        let mut header = kind.to_le_bytes().to_vec();
        header.extend([0; 4]);
        header.extend(sector.to_le_bytes());
        self.memory.write_all_at(&header, HEADER).unwrap();
        let write = if device_writes { 2 } else { 0 };
        let list = [
            (HEADER, 16u32, 1u16, 1u16),
            (DATA, length, 1 | write, 2),
            (STATUS, 1, 2, 0),
        ];
        for (i, (address, length, flags, next)) in list.into_iter().enumerate() {
            let mut raw = address.to_le_bytes().to_vec();
            raw.extend(length.to_le_bytes());
            raw.extend(flags.to_le_bytes());
            raw.extend(next.to_le_bytes());
            self.memory
                .write_all_at(&raw, DESCRIPTORS + 16 * i as u64)
                .unwrap();
        }
        let mut index = [0; 2];
        self.memory
            .read_exact_at(&mut index, AVAILABLE + 2)
            .unwrap();
        let index = u16::from_le_bytes(index);
        let slot = AVAILABLE + 4 + 2 * u64::from(index % 8);
        self.memory.write_all_at(&0u16.to_le_bytes(), slot).unwrap();
        self.memory
            .write_all_at(&(index + 1).to_le_bytes(), AVAILABLE + 2)
            .unwrap();
    }

    fn kick(&mut self) {
        self.ask(35, &Self::pair(0, 0));
    }

    /// What Linux does at a notification: asks for the time, wants to run then, answers.
    fn interrupted(&mut self) -> Nanos {
        let backend = self.backend.as_mut().unwrap();
        let (request, payload) = Self::reply(backend);
        assert_eq!((request, payload), (4, vec![0; 8]));
        let now = self.say(Op::Get, 0).time;
        self.say(Op::Request, now.0);
        let mut reply = vhost::reply(4, &0u64.to_ne_bytes());
        reply[4] |= 1;
        self.backend.as_mut().unwrap().write_all(&reply).unwrap();
        now
    }

    fn status(&self) -> u8 {
        let mut status = [9];
        self.memory.read_exact_at(&mut status, STATUS).unwrap();
        status[0]
    }
}

#[test]
fn a_write_completes_when_the_device_says_so_and_the_kernel_runs_then() {
    let mut contents = Contents::new(SIZE);
    let (ended, events, _) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.memory.write_all_at(&[0xab; 4096], DATA).unwrap();
        kernel.put(1, 16, 4096, false);
        kernel.say(Op::Update, 50);
        kernel.kick();
        kernel.say(Op::Request, 1000);
        kernel.say(Op::Wait, 0);
        assert_eq!(
            kernel.interrupted(),
            Nanos(150),
            "not the time of the completion"
        );
        assert_eq!(kernel.status(), 0);
        // Nothing is outstanding: it may run as long as it likes.
        assert_eq!(kernel.told(), (Op::FreeUntil, Nanos(i64::MAX as u64)));
        assert_eq!(kernel.told(), (Op::Run, Nanos(150)));
        // A timer of its own, with nothing outstanding.
        kernel.say(Op::Request, 400);
        kernel.say(Op::Wait, 0);
        assert_eq!(kernel.told().0, Op::FreeUntil);
        assert_eq!(kernel.told(), (Op::Run, Nanos(400)));
    });
    assert_eq!(ended.unwrap(), Ended::Closed);
    let expected = Event {
        kind: OpKind::Write,
        offset: 8192,
        length: 4096,
        submitted: Nanos(50),
        completed: Nanos(150),
        done: true,
    };
    assert_eq!(events, [expected]);
    let mut read = [0; 4097];
    assert!(contents.read(8191, &mut read));
    assert_eq!((read[0], read[1], read[4096]), (0, 0xab, 0xab));
}

#[test]
fn a_kernel_that_runs_freely_is_held_back_before_its_kick_is_answered() {
    let mut contents = Contents::new(SIZE);
    contents.write(0, &[0x5a; 512]);
    let (ended, ..) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.say(Op::Request, 10);
        kernel.say(Op::Wait, 0);
        kernel.told();
        kernel.told();
        kernel.put(0, 0, 512, true);
        kernel.say(Op::Update, 20);
        kernel.send(35, &Fake::pair(0, 0), &[]);
        let message = kernel.hear();
        assert_eq!((message.op, message.time), (Op::FreeUntil, Nanos(120)));
        kernel
            .disk
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let early = kernel.disk.read(&mut [0; 1]);
        assert!(
            early.is_err(),
            "the kick was answered before the leash was acknowledged"
        );
        kernel.disk.set_read_timeout(None).unwrap();
        kernel.acknowledge(&message);
        Fake::reply(&mut kernel.disk);
        kernel.say(Op::Request, 5000);
        kernel.say(Op::Wait, 0);
        assert_eq!(kernel.interrupted(), Nanos(120));
        let mut data = [0; 512];
        kernel.memory.read_exact_at(&mut data, DATA).unwrap();
        assert_eq!(data, [0x5a; 512]);
    });
    assert_eq!(ended.unwrap(), Ended::Closed);
}

#[test]
fn a_request_beyond_the_end_fails_and_reaches_no_device() {
    let mut contents = Contents::new(SIZE);
    let (_, events, _) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.put(1, SIZE / 512, 512, false);
        kernel.kick();
        kernel.say(Op::Wait, 0);
        kernel.interrupted();
        assert_eq!(kernel.status(), 1);
    });
    assert_eq!(events, []);
}

#[test]
fn an_answer_without_the_device_holds_a_freely_running_kernel_back() {
    let mut contents = Contents::new(SIZE);
    let (ended, ..) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.say(Op::Request, 10);
        kernel.say(Op::Wait, 0);
        kernel.told();
        kernel.told();
        kernel.put(99, 0, 512, false);
        kernel.say(Op::Update, 20);
        kernel.send(35, &Fake::pair(0, 0), &[]);
        assert_eq!(kernel.told(), (Op::FreeUntil, Nanos(20)));
        Fake::reply(&mut kernel.disk);
        kernel.say(Op::Request, 5000);
        kernel.say(Op::Wait, 0);
        assert_eq!(kernel.interrupted(), Nanos(20));
        assert_eq!(kernel.status(), 2);
    });
    assert_eq!(ended.unwrap(), Ended::Closed);
}

#[test]
fn a_kernel_that_sleeps_for_ever_is_told_of() {
    let mut contents = Contents::new(SIZE);
    let (ended, ..) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.say(Op::Request, i64::MAX as u64);
        kernel.say(Op::Wait, 0);
    });
    let text = ended.unwrap_err().to_string();
    assert!(text.contains("sleeps for ever"), "{text}");
}

#[test]
fn a_silent_kernel_ends_at_the_limit() {
    let mut contents = Contents::new(SIZE);
    let began = Instant::now();
    let (ended, ..) = against(&mut contents, |mut kernel| {
        kernel.say(Op::Start, 0);
        std::thread::sleep(Duration::from_secs(4));
    });
    assert!(
        matches!(ended, Err(MachineError::Silent { .. })),
        "{ended:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(6));
}

/// Ways to break the protocols, and what the error must say.
#[test]
fn broken_messages_are_errors_that_say_so() {
    type Breaker = fn(&mut Fake);
    let cases: [(&str, Breaker); 9] = [
        ("code 77", |k| {
            let mut bytes = [0; MESSAGE_BYTES];
            bytes[0..4].copy_from_slice(&77u32.to_ne_bytes());
            k.calendar.write_all(&bytes).unwrap();
        }),
        ("only a calendar sends", |k| {
            let run = Message {
                op: Op::Run,
                sequence: 1,
                time: Nanos(1),
            };
            k.calendar.write_all(&run.encode()).unwrap();
        }),
        ("acknowledged what was not sent", |k| {
            let ack = Message {
                op: Op::Ack,
                sequence: 1,
                time: Nanos(1),
            };
            k.calendar.write_all(&ack.encode()).unwrap();
        }),
        ("request 99", |k| k.send(99, &[], &[])),
        ("payload", |k| {
            let mut bytes = Vec::new();
            for number in [1u32, 9, u32::MAX] {
                bytes.extend(number.to_ne_bytes());
            }
            k.disk.write_all(&bytes).unwrap();
        }),
        ("file descriptor is missing", |k| k.send(21, &[], &[])),
        ("power of two", |k| k.send(8, &Fake::pair(0, 7), &[])),
        ("queue 3", |k| k.send(35, &Fake::pair(3, 0), &[])),
        ("more requests than descriptors", |k| {
            k.set_up();
            k.memory
                .write_all_at(&100u16.to_le_bytes(), AVAILABLE + 2)
                .unwrap();
            k.send(35, &Fake::pair(0, 0), &[]);
        }),
    ];
    for (expected, breaker) in cases {
        let mut contents = Contents::new(SIZE);
        let (ended, ..) = against(&mut contents, |mut kernel| {
            breaker(&mut kernel);
            // The machine goes first.
            let _ = kernel.calendar.read(&mut [0; 64]);
        });
        let text = ended.expect_err(expected).to_string();
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_chain_of_descriptors_without_an_end_is_refused() {
    let mut contents = Contents::new(SIZE);
    let (ended, ..) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.put(1, 0, 512, false);
        let mut raw = DATA.to_le_bytes().to_vec();
        raw.extend(512u32.to_le_bytes());
        raw.extend(1u16.to_le_bytes());
        raw.extend(1u16.to_le_bytes());
        kernel.memory.write_all_at(&raw, DESCRIPTORS + 16).unwrap();
        kernel.send(35, &Fake::pair(0, 0), &[]);
        let _ = kernel.calendar.read(&mut [0; 64]);
    });
    let text = ended.unwrap_err().to_string();
    assert!(text.contains("without an end"), "{text}");
}

#[test]
fn memory_that_is_not_shared_is_refused() {
    let mut contents = Contents::new(SIZE);
    let (ended, ..) = against(&mut contents, |mut kernel| {
        kernel.set_up();
        kernel.put(1, 0, 512, false);
        let outside = (1u64 << 40).to_le_bytes();
        kernel
            .memory
            .write_all_at(&outside, DESCRIPTORS + 16)
            .unwrap();
        kernel.send(35, &Fake::pair(0, 0), &[]);
        let _ = kernel.calendar.read(&mut [0; 64]);
    });
    let text = ended.unwrap_err().to_string();
    assert!(text.contains("has not shared"), "{text}");
}
