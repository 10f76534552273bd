//! The buffer that loses nothing: against cases that can be computed by hand, against the runner of jobs, and in simulated
//! recordings with that buffer and with half of it.

use crate::serial_target::SerialTarget;
use nandscope_device::profile::library;
use nandscope_device::{Device, Fill};
use nandscope_fitness::recording::{Limit, Recording, RecordingOptions, record};
use nandscope_fitness::requirement::{Requirement, parse};
use nandscope_measure::listened::{Listened, Listener};
use nandscope_measure::runner::{Thread, run_group};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Reply, Request, Target};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;

const MS: u64 = 1_000_000;

fn requirement(stream: &str) -> Requirement {
    let text = format!("format = 1\ntitle = \"t\"\n[[stream]]\nname = \"s\"\n{stream}\n");
    parse("t.toml", &text).unwrap()
}

fn recorded(
    target: &mut dyn Target,
    requirement: &Requirement,
    seconds: u64,
    limit: Limit,
) -> Recording {
    let options = RecordingOptions {
        duration: Nanos::from_secs(seconds),
        seed: 1,
        limit,
    };
    record(target, requirement, &options, &mut |_| true).unwrap()
}

/// A write takes 1 ms, the one that begins at 1 s takes 500 ms.
fn one_stall(request: &Request, at: Nanos) -> Nanos {
    match (request.kind, at) {
        (OpKind::Flush, _) => Nanos(3 * MS),
        (_, Nanos(1_000_000_000)) => Nanos(500 * MS),
        _ => Nanos(MS),
    }
}

const PER_10_MS: &str =
    "rate = \"100/s\"\nblock = \"4 KiB\"\npattern = \"sequential\"\narea = \"1 MiB\"";

#[test]
fn a_stall_of_half_a_second_needs_a_buffer_for_what_arrives_in_it() {
    let requirement = requirement(PER_10_MS);
    let run = |limit| {
        let mut target = SerialTarget::new(one_stall);
        recorded(&mut target, &requirement, 10, limit)
            .streams
            .remove(0)
    };
    let free = run(Limit::None);
    // Blocks arrive at 1.00, 1.01 … 1.50 s, the last as the first one completes.
    assert_eq!(free.peak, Bytes(51 * 4096));
    assert_eq!(free.peak_at, Nanos(1500 * MS));
    assert_eq!((free.arrived, free.lost, free.done), (1000, 0, 1000));
    assert_eq!(free.latency.max(), Nanos(500 * MS));
    let stall = free.stall.unwrap();
    assert_eq!(
        (stall.kind, stall.at, stall.took),
        ("write", Nanos(1000 * MS), Nanos(500 * MS))
    );
    assert!(free.emptied_at > Nanos::from_secs(9));
    for (blocks, lost) in [(51, 0), (50, 1), (25, 26), (1, 50)] {
        let limited = run(Limit::Of(Bytes(blocks * 4096)));
        assert_eq!(limited.lost, lost, "{blocks}");
    }
}

#[test]
fn a_device_that_is_too_slow_never_empties_the_buffer() {
    let requirement = requirement(PER_10_MS);
    let mut target = SerialTarget::new(|_, _| Nanos(20 * MS));
    let record = recorded(&mut target, &requirement, 20, Limit::None)
        .streams
        .remove(0);
    assert_eq!((record.arrived, record.done), (2000, 1000));
    assert_eq!(record.emptied_at, Nanos::ZERO);
    assert_eq!(record.done_in_last_quarter, 250);
    // All that arrived is completed in the end: it takes as long again.
    assert_eq!(record.latency.count(), 2000);
}

#[test]
fn flushes_hold_the_stream_back_and_with_each_block_the_buffer_too() {
    let kinds = |sync: &str| {
        let requirement = requirement(&format!(
            "{PER_10_MS}\nsync = \"{sync}\"\ndeadline = \"3 ms\""
        ));
        let mut target = SerialTarget::new(one_stall);
        let record = recorded(&mut target, &requirement, 1, Limit::None)
            .streams
            .remove(0);
        let flushes = target
            .requests
            .iter()
            .filter(|r| r.0.kind == OpKind::Flush)
            .count();
        (flushes, record.latency.percentile(50.0).0 / MS, record.late)
    };
    // 100 blocks in a second.
    assert_eq!(kinds("never"), (0, 1, 0));
    assert_eq!(kinds("each"), (100, 4, 100));
    assert_eq!(kinds("40 KiB").0, 10);
    let (flushes, _, late) = kinds("100 ms");
    // At 100, 200 … 900 ms the block that arrives waits for the flush.
    assert_eq!((flushes, late), (9, 9));
}

#[test]
fn places_stay_in_the_areas() {
    let two = "rate = \"100/s\"\nblock = \"4 KiB\"\npattern = \"random\"\narea = \"25 %\"\n[[stream]]\nname = \"b\"\nrate = \"100/s\"\nblock = \"64 KiB\"\npattern = \"sequential\"\narea = \"1 MiB\"";
    let requirement = requirement(two);
    let mut target = SerialTarget::new(|_, _| Nanos(MS));
    recorded(&mut target, &requirement, 10, Limit::None);
    let quarter = Bytes::gib(2).0;
    let (mut random, mut ring) = (0, 0);
    for (request, _) in &target.requests {
        match request.length {
            4096 => {
                assert!(request.offset.0 < quarter && request.offset.0.is_multiple_of(4096));
                random += 1;
            }
            _ => {
                assert_eq!(request.offset.0, quarter + ring % 16 * 65_536);
                ring += 1;
            }
        }
    }
    assert_eq!((random, ring), (1000, 1000));
}

fn card(name: &str) -> Device {
    let profile = library::device(name).unwrap().profile().unwrap();
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let mut device = Device::new(&profile, &host, 1).unwrap();
    assert!(device.precondition(1.0, Fill::Sequential));
    device
}

/// Completions of writes.
struct Completions(Vec<Nanos>);

impl Listener for Completions {
    fn finished(&mut self, _: &Request, _: Nanos, reply: &Reply) {
        self.0.push(reply.completed);
    }
}

/// The same stream as a job of the runner, which knows nothing of buffers: the backlog is computed from its completions.
#[test]
fn the_runner_of_jobs_gives_the_same_backlog() {
    for name in ["kingston-8gb", "sandisk-ultra-16gb", "reference-nvme-64gb"] {
        let stream = requirement(
            "rate = \"80/s\"\nblock = \"32 KiB\"\npattern = \"sequential\"\narea = \"64 MiB\"",
        );
        let mut target = SimTarget::new(card(name));
        let ours = recorded(&mut target, &stream, 60, Limit::None)
            .streams
            .remove(0);

        let text = "[s]\nrw=write\nbs=32k\nrate_iops=80\nsize=64m\nio_size=157286400\nioengine=libaio\ndirect=1\n";
        let job = JobFile::parse("s.fio", text).unwrap().jobs.remove(0);
        let device = card(name);
        let source = Generator::new(&job, 0, device.capacity(), 1).unwrap();
        let thread = Thread::new(Box::new(source), job.pacing.clone(), 0);
        let mut target = Listened::new(SimTarget::new(device), Completions(Vec::new()));
        let start = target.now();
        run_group(&mut target, vec![thread], None, &mut (), &|| false).unwrap();
        let completions = &target.listener.0;
        assert_eq!(completions.len(), 4800, "{name}");
        let backlog = |completed: &Nanos, index: usize| {
            // Arrivals up to the completion, less the blocks completed before.
            let arrived = ((*completed - start).0 as f64 * 80.0 / 1e9).floor() as usize + 1;
            arrived.min(4800) - index
        };
        let peaks = completions.iter().zip(0..).map(|(c, i)| backlog(c, i));
        assert_eq!(ours.peak.0, peaks.max().unwrap() as u64 * 32_768, "{name}");
        assert_eq!(ours.arrived, 4800);
    }
}

#[test]
fn the_predicted_buffer_loses_nothing_in_a_recording_and_half_of_it_does() {
    let camera = requirement(
        "rate = \"1 MB/s\"\nblock = \"64 KiB\"\npattern = \"sequential\"\narea = \"90 %\"\n[[stream]]\nname = \"t\"\nrate = \"0.5/s\"\nblock = \"4 KiB\"\npattern = \"random\"\narea = \"256 MiB\"\nsync = \"1 s\"",
    );
    let mut stalled = 0;
    for name in [
        "kingston-8gb",
        "toshiba-class10-16gb",
        "samsung-evo-16gb",
        "sandisk-ultra-16gb",
    ] {
        let run = |limit| {
            let mut target = SimTarget::new(card(name));
            recorded(&mut target, &camera, 120, limit).streams.remove(0)
        };
        let free = run(Limit::None);
        assert!(free.emptied_at > Nanos::from_secs(90), "{name} keeps up");
        println!("{name}: {}", free.peak);
        stalled += u32::from(free.peak.0 >= 2 * 65_536);
        assert_eq!(run(Limit::Of(free.peak)).lost, 0, "{name}");
        assert!(run(Limit::Of(Bytes(free.peak.0 / 2))).lost > 0, "{name}");
    }
    assert!(stalled >= 2, "too few devices have stalls");
}
