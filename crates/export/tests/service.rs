//! Requests against a clock that the test moves: when they are done, and what they do.

use nandscope_blockio::store::Store;
use nandscope_device::profile::{library, parse_profile};
use nandscope_device::{Command, CommandKind, Completion, Device};
use nandscope_device::{FixedLatencyDevice, SimulatedDevice, SubmitError};
use nandscope_export::clock::Speed;
use nandscope_export::overhead::Overhead;
use nandscope_export::request::{Action, Done, Origin, Refusal, Request};
use nandscope_export::service::Service;
use nandscope_units::{Bytes, Lba, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::trace::read_nstrace;

const CAPACITY: Bytes = Bytes::mib(256);
const MS: u64 = 1_000_000;

fn origin(cookie: u64) -> Origin {
    Origin {
        connection: 1,
        cookie,
    }
}

fn request(action: Action, offset: u64, length: u32) -> Request {
    let data = match action {
        Action::Write => vec![0xa5; length as usize],
        _ => Vec::new(),
    };
    Request {
        action,
        offset,
        length,
        data,
        durable: false,
    }
}

fn even(speed: Speed) -> Service<FixedLatencyDevice> {
    let model = FixedLatencyDevice::new(CAPACITY, Nanos(MS));
    Service::new(model, Store::memory(CAPACITY), speed)
}

fn run<M: SimulatedDevice>(service: &mut Service<M>, wall: u64) -> Vec<Done> {
    let mut done = Vec::new();
    service.run(Nanos(wall), &mut done);
    done
}

#[test]
fn a_completion_comes_at_its_time_and_not_before() {
    for (speed, due) in [(1.0, 6 * MS), (10.0, 5 * MS + MS / 10), (0.5, 7 * MS)] {
        let mut service = even(Speed::Times(speed));
        assert_eq!(service.due(), None);
        service.submit(origin(9), request(Action::Read, 0, 4096), Nanos(5 * MS));
        assert_eq!(service.due(), Some(Nanos(due)), "speed {speed}");
        assert!(run(&mut service, due - 1).is_empty());
        let done = run(&mut service, due);
        assert_eq!(done.len(), 1);
        assert_eq!((done[0].due, done[0].origin), (Nanos(due), origin(9)));
        assert_eq!(done[0].latency, Nanos(due - 5 * MS));
        assert_eq!((service.due(), service.outstanding()), (None, 0));
    }
}

/// A client that needs 12 µs to be told and 8 µs to be heard sees the model's rate.
#[test]
fn the_overhead_of_the_path_is_subtracted() {
    let ten_rounds = |overhead: u64| {
        let mut service = even(Speed::Times(1.0)).with_overhead(Overhead::even(Nanos(overhead)));
        let mut made = MS;
        let began = made;
        for round in 0..10 {
            service.submit(
                origin(round),
                request(Action::Read, 0, 512),
                Nanos(made + 8_000),
            );
            let due = service.due().unwrap();
            assert_eq!(run(&mut service, due.0).len(), 1);
            made = due.0 + 12_000;
        }
        made - began
    };
    assert_eq!(ten_rounds(0), 10 * (MS + 20_000));
    assert_eq!(ten_rounds(20_000), 10 * MS);
}

#[test]
fn no_request_is_put_before_what_has_happened() {
    let mut service = even(Speed::Times(1.0)).with_overhead(Overhead::even(Nanos(20_000)));
    service.submit(origin(1), request(Action::Read, 0, 512), Nanos(20_000));
    assert_eq!(run(&mut service, MS).len(), 1);
    // It came 5 µs after the completion: it was made before, but the device is there already.
    service.submit(origin(2), request(Action::Read, 0, 512), Nanos(MS + 5_000));
    assert_eq!(service.due(), Some(Nanos(2 * MS)));
}

/// Through the service a card gives the same latencies as without it.
#[test]
fn the_latencies_are_those_of_the_model() {
    let card = || {
        let profile = library::device("talk-mmcblk1-8gb")
            .unwrap()
            .profile()
            .unwrap();
        let host = library::host("direct").unwrap().host_profile().unwrap();
        Device::new(&profile, &host, 3).unwrap()
    };
    let place = |i: u64| (i * 7919 % 1000) << 20;
    let overhead = 30_000;
    let mut service = Service::new(card(), Store::memory(card().capacity()), Speed::Times(1.0))
        .with_overhead(Overhead::even(Nanos(overhead)));
    let mut served = Vec::new();
    let mut arrival = overhead;
    for i in 0..200 {
        let action = [Action::Read, Action::Write][i as usize % 2];
        service.submit(origin(i), request(action, place(i), 16384), Nanos(arrival));
        let mut done = Vec::new();
        while done.is_empty() {
            let due = service.due().unwrap();
            service.run(due, &mut done);
        }
        served.push(done[0].latency);
        arrival = done[0].due.0 + overhead;
    }
    let mut device = card();
    let mut alone = Vec::new();
    let mut completions: Vec<Completion> = Vec::new();
    for i in 0..200 {
        let kinds = [CommandKind::Read, CommandKind::Write { fua: false }];
        let command = Command {
            tag: i,
            kind: kinds[i as usize % 2],
            lba: Lba::containing(Bytes(place(i))),
            sectors: 32,
        };
        let now = device.now();
        device.submit(command, now).unwrap();
        while completions.is_empty() {
            device.advance(Nanos::MAX, &mut completions);
        }
        alone.push(completions.remove(0).latency());
    }
    assert_eq!(served, alone);
}

#[test]
fn without_waiting_the_queue_does_not_run_dry() {
    let mut service = even(Speed::Max);
    for cookie in 0..8 {
        // One after the other, so that they are not done at one instant.
        service.submit(origin(cookie), request(Action::Read, 0, 512), Nanos(0));
    }
    assert_eq!(service.due(), Some(Nanos::ZERO));
    // The toy device completes all of them at one instant; a card only half of them.
    assert_eq!(run(&mut service, 0).len(), 8);
    let profile = library::device("talk-mmcblk1-8gb")
        .unwrap()
        .profile()
        .unwrap();
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let card = Device::new(&profile, &host, 3).unwrap();
    let store = Store::memory(card.capacity());
    let mut service = Service::new(card, store, Speed::Max);
    for cookie in 0..8 {
        service.submit(
            origin(cookie),
            request(Action::Read, cookie << 20, 512),
            Nanos(0),
        );
    }
    let counts: Vec<_> = (0..4).map(|_| run(&mut service, 0).len()).collect();
    assert_eq!(counts, [4, 2, 1, 1]);
    assert_eq!(service.due(), None);
}

/// Writes down the commands of what it drives.
struct Spy {
    inner: FixedLatencyDevice,
    discards: bool,
    seen: Vec<(CommandKind, u64, u32)>,
}

impl SimulatedDevice for Spy {
    fn now(&self) -> Nanos {
        self.inner.now()
    }
    fn capacity(&self) -> Bytes {
        Bytes::gib(64)
    }
    fn supports_discard(&self) -> bool {
        self.discards
    }
    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        self.seen
            .push((command.kind, command.lba.0, command.sectors));
        self.inner.submit(command, at)
    }
    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }
    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        self.inner.advance(until, completions)
    }

    fn cut_power(&mut self) -> nandscope_device::Cut {
        self.inner.cut_power()
    }
}

/// A command, its first sector, its sectors.
type Asked = (CommandKind, u64, u32);

#[test]
fn what_the_device_is_asked_to_do() {
    const WRITE: CommandKind = CommandKind::Write { fua: false };
    const DURABLE: CommandKind = CommandKind::Write { fua: true };
    const DISCARD: CommandKind = CommandKind::Discard;
    const FLUSH: CommandKind = CommandKind::Flush;
    let cases: [(Action, u32, bool, bool, &[Asked]); 9] = [
        (
            Action::Read,
            4096,
            false,
            true,
            &[(CommandKind::Read, 2, 8)],
        ),
        (
            Action::Fetch,
            4096,
            true,
            true,
            &[(CommandKind::Read, 2, 8)],
        ),
        (Action::Write, 512, false, true, &[(WRITE, 2, 1)]),
        (Action::Write, 512, true, true, &[(DURABLE, 2, 1)]),
        (
            Action::Discard,
            512,
            true,
            true,
            &[(DISCARD, 2, 1), (FLUSH, 0, 0)],
        ),
        (
            Action::Zero,
            80 << 20,
            false,
            true,
            &[
                (DISCARD, 2, 65536),
                (DISCARD, 65538, 65536),
                (DISCARD, 131_074, 32768),
            ],
        ),
        (Action::WriteZeroes, 4096, true, true, &[(DURABLE, 2, 8)]),
        (Action::Zero, 4096, false, false, &[(WRITE, 2, 8)]),
        (Action::Discard, 4096, false, false, &[]),
    ];
    for (action, length, durable, discards, expected) in cases {
        let spy = Spy {
            inner: FixedLatencyDevice::new(CAPACITY, Nanos(MS)),
            discards,
            seen: Vec::new(),
        };
        let mut service = Service::new(spy, Store::memory(CAPACITY), Speed::Times(1.0));
        let request = Request {
            durable,
            ..request(action, 1024, length)
        };
        service.submit(origin(0), request, Nanos(0));
        let mut done = Vec::new();
        service.drain(usize::MAX, &mut done);
        assert_eq!(service.model().seen, expected, "{action:?}");
        assert_eq!(done.len(), 1);
        let refused = Err(Refusal::Unsupported);
        let outcome = if expected.is_empty() { refused } else { Ok(()) };
        assert_eq!(done[0].outcome, outcome, "{action:?}");
    }
}

fn bytes(store: &Store, offset: u64) -> [u8; 4] {
    let mut out = Vec::new();
    store.append_to(&mut out, offset, 4).unwrap();
    out.try_into().unwrap()
}

#[test]
fn a_write_becomes_contents_when_it_is_done() {
    let mut service = even(Speed::Times(1.0));
    service.submit(origin(0), request(Action::Write, 4096, 512), Nanos(0));
    assert!(run(&mut service, MS / 2).is_empty());
    assert_eq!(bytes(service.store(), 4096), [0; 4]);
    assert_eq!(run(&mut service, MS).len(), 1);
    assert_eq!(bytes(service.store(), 4094), [0, 0, 0xa5, 0xa5]);
    assert_eq!(bytes(service.store(), 4606), [0xa5, 0xa5, 0, 0]);
    for action in [Action::Discard, Action::Zero, Action::WriteZeroes] {
        service.submit(origin(0), request(Action::Write, 4096, 512), Nanos(MS));
        service.submit(origin(1), request(action, 4096, 512), Nanos(MS));
        let mut done = Vec::new();
        service.drain(usize::MAX, &mut done);
        assert_eq!(bytes(service.store(), 4096), [0; 4], "{action:?}");
    }
}

#[test]
fn a_recording_can_be_read_as_a_trace() {
    let mut service = even(Speed::Times(2.0)).with_recording();
    for (i, action) in [Action::Read, Action::Write, Action::Discard]
        .iter()
        .enumerate()
    {
        let at = Nanos((10 + i as u64) * MS);
        service.submit(origin(0), request(*action, 8192, 4096), at);
    }
    service.submit(origin(0), request(Action::Flush, 0, 0), Nanos(13 * MS));
    let mut done = Vec::new();
    service.drain(usize::MAX, &mut done);
    let (_, _, recording) = service.into_parts();
    let file = recording.unwrap().to_nstrace("card", "A card");
    let (header, trace) = read_nstrace("t", &file).unwrap();
    assert_eq!(
        (header.name.as_str(), header.capacity),
        ("card", Some(CAPACITY))
    );
    let seen: Vec<_> = trace
        .records()
        .iter()
        .map(|r| (r.time.0, r.kind, r.offset.0, r.length))
        .collect();
    // Twice as fast: a millisecond on the wall is two of the device's.
    let expected = [
        (0, OpKind::Read, 8192, 4096),
        (2 * MS, OpKind::Write, 8192, 4096),
        (4 * MS, OpKind::Trim, 8192, 4096),
        (6 * MS, OpKind::Flush, 0, 0),
    ];
    assert_eq!(seen, expected);
    let walls: Vec<_> = (10..14).map(|ms| Nanos(ms * MS)).collect();
    assert_eq!(trace.walls(), walls);
}

/// A device at the end of its life answers every request: writes are refused, and reads go on.
#[test]
fn a_worn_out_device_hangs_nobody() {
    let text = include_str!("../../cli/tests/data/tiny.toml")
        .replace("cycles = 60000", "cycles = 1")
        .replace("cycles = 1500", "cycles = 1");
    let profile = parse_profile("worn", &text).unwrap();
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let device = Device::new(&profile, &host, 1).unwrap();
    let capacity = device.capacity();
    let mut service = Service::new(device, Store::memory(capacity), Speed::Max);
    let (mut asked, mut done) = (0, Vec::new());
    while !service.model().is_read_only() {
        assert!(asked < 1_000_000, "it does not wear out");
        for _ in 0..8 {
            let offset = asked * 7919 % (capacity.0 / 4096) * 4096;
            service.submit(
                origin(asked),
                request(Action::Write, offset, 4096),
                Nanos(0),
            );
            asked += 1;
        }
        service.run(Nanos(0), &mut done);
    }
    service.submit(origin(asked), request(Action::Write, 0, 4096), Nanos(0));
    service.submit(origin(asked + 1), request(Action::Read, 0, 4096), Nanos(0));
    assert!(service.drain(usize::MAX, &mut done));
    assert_eq!(done.len() as u64, asked + 2);
    let outcome = |cookie| {
        &done
            .iter()
            .find(|d| d.origin.cookie == cookie)
            .unwrap()
            .outcome
    };
    assert_eq!(*outcome(asked), Err(Refusal::ReadOnly));
    assert_ne!(*outcome(asked + 1), Err(Refusal::ReadOnly));
}
