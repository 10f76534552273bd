//! The event loop against a kernel that is a few lines of a test: here it speaks both protocols as
//! Linux does, in `broken` it does not.

mod broken;
mod fake;

use super::*;
use fake::{DATA, Fake};
use nandscope_device::FixedLatencyDevice;
use nandscope_units::Bytes;
use nandscope_workload::OpKind;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const SIZE: u64 = 1 << 20;

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

/// Runs `kernel` against a machine; returns the outcome and the commands of the device.
fn against(
    contents: &mut Image,
    kernel: impl FnOnce(&mut Fake) + Send,
) -> (Result<Ended, MachineError>, Vec<Event>) {
    against_early(contents, |_| (), kernel)
}

/// The same for a kernel that does `early` before the machine runs.
fn against_early(
    contents: &mut Image,
    early: impl FnOnce(&mut Fake),
    kernel: impl FnOnce(&mut Fake) + Send,
) -> (Result<Ended, MachineError>, Vec<Event>) {
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
    let config = BlockConfig {
        capacity: Bytes(SIZE),
        read_only: false,
        segments_max: 1024,
        block_exponent: 0,
        minimum_io: Bytes::ZERO,
        optimal_io: Bytes::ZERO,
        discard: None,
        write_zeroes: None,
    };
    let mut device = FixedLatencyDevice::new(Bytes(SIZE), Nanos(100));
    let mut machine = Machine::new(
        &mut device,
        Nanos::ZERO,
        contents,
        config,
        limits,
        one,
        other,
    );
    let mut fake = Fake::new(&time, &disk);
    early(&mut fake);
    std::thread::scope(|scope| {
        scope.spawn(move || kernel(&mut fake));
        let ended = machine.run(&mut || true, &|| false);
        // With this its sockets are closed, and the kernel's side wakes up.
        (ended, machine.into_record().0)
    })
}

#[test]
fn a_write_completes_when_the_device_says_so_and_the_kernel_runs_then() {
    let mut contents = Image::bounded(SIZE);
    let (ended, events) = against(&mut contents, |kernel| {
        kernel.set_up();
        kernel.memory.write_all_at(&[0xab; 4096], DATA).unwrap();
        kernel.put(1, 16, 4096, false);
        kernel.say(Op::Update, 50);
        kernel.kick();
        kernel.sleep(1000);
        assert_eq!(
            kernel.interrupted(),
            Nanos(150),
            "not the time of the completion"
        );
        assert_eq!(kernel.status(), 0);
        // Nothing is outstanding, so it may run without a limit.
        assert_eq!(kernel.told(), (Op::FreeUntil, Nanos(i64::MAX as u64)));
        assert_eq!(kernel.told(), (Op::Run, Nanos(150)));
        // A timer with nothing outstanding.
        kernel.wake_at(400);
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
    contents.read(8191, &mut read).unwrap();
    assert_eq!((read[0], read[1], read[4096]), (0, 0xab, 0xab));
}

#[test]
fn a_kernel_that_runs_freely_is_held_back_before_its_kick_is_answered() {
    let mut contents = Image::bounded(SIZE);
    contents.write(0, &[0x5a; 512]).unwrap();
    let (ended, _) = against(&mut contents, |kernel| {
        kernel.set_up();
        kernel.wake_at(10);
        kernel.put(0, 0, 512, true);
        kernel.say(Op::Update, 20);
        kernel.kick_only();
        let message = kernel.hear();
        assert_eq!((message.op, message.time), (Op::FreeUntil, Nanos(120)));
        kernel
            .disk
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let early = kernel.disk.read(&mut [0; 1]);
        assert!(
            early.is_err(),
            "the kick was answered before the limit was acknowledged"
        );
        kernel.disk.set_read_timeout(None).unwrap();
        kernel.acknowledge(&message);
        Fake::reply(&mut kernel.disk);
        kernel.sleep(5000);
        assert_eq!(kernel.interrupted(), Nanos(120));
        let mut data = [0; 512];
        kernel.memory.read_exact_at(&mut data, DATA).unwrap();
        assert_eq!(data, [0x5a; 512]);
    });
    assert_eq!(ended.unwrap(), Ended::Closed);
}

#[test]
fn a_request_beyond_the_end_fails_and_reaches_no_device() {
    let mut contents = Image::bounded(SIZE);
    let (_, events) = against(&mut contents, |kernel| {
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
    let mut contents = Image::bounded(SIZE);
    let (ended, _) = against(&mut contents, |kernel| {
        kernel.set_up();
        kernel.wake_at(10);
        kernel.put(99, 0, 512, false);
        kernel.say(Op::Update, 20);
        kernel.kick_only();
        assert_eq!(kernel.told(), (Op::FreeUntil, Nanos(20)));
        Fake::reply(&mut kernel.disk);
        kernel.sleep(5000);
        assert_eq!(kernel.interrupted(), Nanos(20));
        assert_eq!(kernel.status(), 2);
    });
    assert_eq!(ended.unwrap(), Ended::Closed);
}

#[test]
fn a_kernel_that_leaves_before_it_is_answered_has_closed() {
    let mut contents = Image::bounded(SIZE);
    let (ended, _) = against_early(
        &mut contents,
        |kernel| {
            let start = Message {
                op: Op::Start,
                sequence: 1,
                time: Nanos::ZERO,
            };
            kernel.time_travel.write_all(&start.encode()).unwrap();
            kernel.time_travel.shutdown(Shutdown::Both).unwrap();
        },
        |_| (),
    );
    assert_eq!(ended.unwrap(), Ended::Closed);
}
