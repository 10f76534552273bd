//! The operations that follow from a job: order, bounds, coverage, shares, repeatability.

use nandscope_units::{Bytes, Fnv1a};
use nandscope_workload::job::{Job, JobFile};
use nandscope_workload::pattern::Generator;
use nandscope_workload::{Op, OpKind, OpSource};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn job(options: &str) -> Job {
    let text = format!("[job]\n{options}\n");
    match JobFile::parse("job.fio", &text) {
        Ok(mut file) => file.jobs.remove(0),
        Err(error) => panic!("{text}\n{error}"),
    }
}

fn generator(options: &str, capacity: u64) -> Generator {
    Generator::new(&job(options), 0, Bytes(capacity), 1).expect("the job fits")
}

fn run(options: &str, capacity: u64) -> Vec<Op> {
    let mut generator = generator(options, capacity);
    std::iter::from_fn(|| generator.next_op().map(|t| t.op))
        .take(1_000_000)
        .collect()
}

fn places(ops: &[Op]) -> Vec<(char, u64)> {
    ops.iter()
        .map(|op| {
            let letter = match op.kind {
                OpKind::Read => 'r',
                OpKind::Write => 'w',
                OpKind::Trim => 't',
                OpKind::Flush => 'f',
            };
            (letter, op.offset.0 / 1024)
        })
        .collect()
}

/// Expectations taken from fio 3.33 with its null engine and write_iolog.
#[test]
fn sequential_jobs_follow_fio() {
    let cases: &[(&str, &[(char, u64)])] = &[
        (
            "rw=read:8k\nsize=64k",
            &[
                ('r', 0),
                ('r', 12),
                ('r', 24),
                ('r', 36),
                ('r', 48),
                ('r', 60),
            ],
        ),
        (
            "rw=read\nsize=30k",
            &[
                ('r', 0),
                ('r', 4),
                ('r', 8),
                ('r', 12),
                ('r', 16),
                ('r', 20),
                ('r', 24),
                // Beyond the region, as fio does where the target continues.
                ('r', 28),
            ],
        ),
        (
            "rw=read\nsize=8k\nio_size=20k",
            &[('r', 0), ('r', 4), ('r', 0), ('r', 4), ('r', 0)],
        ),
        (
            "rw=read\nsize=16k\noffset=128k",
            &[('r', 128), ('r', 132), ('r', 136), ('r', 140)],
        ),
        (
            "rw=trimwrite\nsize=8k",
            &[('t', 0), ('w', 0), ('t', 4), ('w', 4)],
        ),
        (
            "rw=write\nsize=16k\nend_fsync=1",
            &[('w', 0), ('w', 4), ('w', 8), ('w', 12), ('f', 0)],
        ),
        (
            "rw=write\nsize=32k\nfsync=3\nfdatasync=2",
            &[
                ('w', 0),
                ('w', 4),
                ('f', 0),
                ('w', 8),
                ('f', 0),
                ('w', 12),
                ('f', 0),
                ('w', 16),
                ('w', 20),
                ('f', 0),
                ('w', 24),
                ('w', 28),
            ],
        ),
        ("rw=read\nsize=64k\nnumber_ios=2", &[('r', 0), ('r', 4)]),
        (
            "rw=read:-8k\nsize=16k\nio_size=24k",
            &[('r', 0), ('r', 8), ('r', 4), ('r', 0), ('r', 8), ('r', 4)],
        ),
        (
            "rw=read\nzonemode=strided\nzonesize=8k\nzonerange=16k\nzoneskip=496k\nsize=24k",
            &[
                ('r', 0),
                ('r', 4),
                ('r', 512),
                ('r', 516),
                ('r', 0),
                ('r', 4),
            ],
        ),
        ("rw=trim\nbs=,,8k\nsize=16k", &[('t', 0), ('t', 8)]),
    ];
    for (options, expected) in cases {
        assert_eq!(places(&run(options, MIB)), *expected, "{options}");
    }
}

#[test]
fn a_percentage_is_one_of_the_whole_target() {
    let ops = run("rw=read\nsize=50%\noffset=128k", MIB);
    assert_eq!(ops.len(), 128);
    let ops = run("rw=read\nsize=75%\noffset=50%", MIB);
    assert_eq!(ops.len(), 128, "cut at the end of the target");
    let ops = run("rw=read\noffset=13%", MIB);
    assert_eq!(
        ops[0].offset,
        Bytes(34 * 4096),
        "rounded up to whole blocks"
    );
    assert_eq!(ops.len(), 256 - 34);
}

#[test]
fn clones_start_further_on() {
    let job = job("rw=read\nsize=64k\noffset_increment=256k");
    for clone in 0..4 {
        let mut g = Generator::new(&job, clone, Bytes(MIB), 1).expect("fits");
        let first = g.next_op().expect("one").op.offset;
        assert_eq!(first, Bytes(u64::from(clone) * 256 * 1024));
    }
    let error = Generator::new(&job, 4, Bytes(MIB), 1).expect_err("beyond the end");
    assert_eq!(
        error.to_string(),
        "job.fio:1: job `job` begins at byte 1048576 (clone 4), but the target has 1 MiB (1048576 bytes); reduce offset, offset_increment or numjobs"
    );
}

#[test]
fn a_job_larger_than_the_device_is_refused() {
    let job = job("rw=read\nsize=2m");
    let error = Generator::new(&job, 0, Bytes(MIB), 1).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "job.fio:3: job `job` wants 2097152 bytes (2 MiB) from byte 0 on, but the target has only 1048576 bytes (1 MiB) there; reduce size, or give it as a percentage such as `size=100%`"
    );
}

#[test]
fn a_file_larger_than_the_device_is_refused() {
    let job = job("rw=read\nfilesize=128g\nsize=999g");
    let error = Generator::new(&job, 0, Bytes::gib(64), 1).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "job.fio:3: job `job` has a file of 137438953472 bytes (128 GiB), but the target has 64 GiB (68719476736 bytes); reduce filesize"
    );
}

/// As fio 3.33 spreads the places by a hash: each tenth of the region has a tenth of the accesses.
#[test]
fn a_normal_distribution_is_spread_over_the_region() {
    for distribution in ["normal:10", "normal:1", "normal:10:0.3", "zipf:0"] {
        let options = format!("rw=randread\nsize=64m\nrandom_distribution={distribution}");
        let mut tenths = [0u32; 10];
        let ops = run(&options, 64 * MIB);
        for op in &ops {
            tenths[(op.offset.0 * 10 / (64 * MIB)) as usize] += 1;
        }
        let even = ops.len() as f64 / 10.0;
        let is_even = |n: &u32| (f64::from(*n) / even - 1.0).abs() < 0.15;
        assert!(tenths.iter().all(is_even), "{distribution}: {tenths:?}");
        // The middle fifth of the ranks has most accesses, unless all ranks are equal.
        let mut visits = std::collections::BTreeMap::<u64, u32>::new();
        ops.iter()
            .for_each(|op| *visits.entry(op.offset.0).or_default() += 1);
        let blocks = 64 * MIB / 4096;
        let visited = visits.len() as f64 / blocks as f64;
        let expected = match distribution {
            "zipf:0" => 0.6..0.66,
            "normal:1" => 0.0..0.08,
            _ => 0.3..0.45,
        };
        assert!(expected.contains(&visited), "{distribution}: {visited}");
    }
}

#[test]
fn a_run_starts_over_where_fio_would() {
    let mut g = generator("rw=read\nsize=64k\nio_size=16k", MIB);
    let mut offsets = Vec::new();
    for _ in 0..5 {
        while let Some(timed) = g.next_op() {
            offsets.push(timed.op.offset.0 / 4096);
        }
        g.restart();
    }
    let expected: Vec<u64> = (0..20).map(|i| i % 16).collect();
    assert_eq!(offsets, expected);
    assert!(g.next_op().is_some());
}

#[test]
fn a_time_based_job_goes_on_for_ever() {
    for rw in [
        "read",
        "randread",
        "rw",
        "randrw",
        "trimwrite",
        "randtrimwrite",
        "read:64k",
    ] {
        let options = format!("rw={rw}\nsize=256k\ntime_based\nruntime=1\nnumber_ios=3");
        let mut g = generator(&options, MIB);
        assert!((0..10_000).all(|_| g.next_op().is_some()), "{rw}");
        assert_eq!(g.expected_bytes(), None);
    }
}

#[test]
fn random_writes_after_trims_hit_the_same_blocks() {
    let ops = run("rw=randtrimwrite\nsize=1m", MIB);
    assert_eq!(ops.len(), 512);
    for pair in ops.chunks(2) {
        assert_eq!((pair[0].kind, pair[1].kind), (OpKind::Trim, OpKind::Write));
        assert_eq!(pair[0].offset, pair[1].offset);
    }
}

#[test]
fn runs_behind_random_offsets() {
    let ops = run("rw=randread:4\nsize=64m\nnumber_ios=4000", 64 * MIB);
    for run in ops.chunks(4) {
        for (i, op) in run.iter().enumerate() {
            assert_eq!(op.offset.0, run[0].offset.0 + 4096 * i as u64);
        }
    }
    let ops = run(
        "rw=randread:4\nrw_sequencer=identical\nnumber_ios=4000",
        64 * MIB,
    );
    assert!(
        ops.chunks(4)
            .all(|c| c.iter().all(|op| op.offset == c[0].offset))
    );
}

#[test]
fn percentage_random_is_kept() {
    let ops = run(
        "rw=randread\npercentage_random=30\nnorandommap\nnumber_ios=100000",
        1 << 36,
    );
    let jumps = ops
        .windows(2)
        .filter(|w| w[1].offset.0 != w[0].offset.0 + 4096)
        .count();
    assert!((jumps as f64 / 1e5 - 0.3).abs() < 0.01, "{jumps}");
}

#[test]
fn a_mix_keeps_its_ratio_and_its_total() {
    for percent in [0, 30, 65, 100] {
        let ops = run(
            &format!("rw=randrw\nrwmixread={percent}\nsize=256m"),
            256 * MIB,
        );
        assert_eq!(ops.len(), 65_536, "size counts both directions");
        let reads = ops.iter().filter(|op| op.kind == OpKind::Read).count();
        let share = reads as f64 / ops.len() as f64;
        assert!(
            (share - f64::from(percent) / 100.0).abs() < 0.01,
            "{percent}: {share}"
        );
    }
}

#[test]
fn zones_get_their_shares() {
    let options = "rw=randread\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\nnumber_ios=100000";
    let capacity = 1000 * MIB;
    let ops = run(options, capacity);
    let mut counts = [0u32; 4];
    for op in &ops {
        let share = op.offset.0 * 100 / capacity;
        let zone = [10, 30, 60, 100]
            .iter()
            .position(|end| share < *end)
            .expect("inside");
        counts[zone] += 1;
    }
    for (count, expected) in counts.iter().zip([0.6, 0.3, 0.08, 0.02]) {
        assert!(
            (f64::from(*count) / 1e5 - expected).abs() < 0.006,
            "{counts:?}"
        );
    }
}

#[test]
fn clones_and_jobs_differ_and_repeat() {
    let job = job("rw=randread\nnorandommap\nnumber_ios=100");
    let ops = |job: &Job, clone, seed| -> Vec<Op> {
        let mut g = Generator::new(job, clone, Bytes(1 << 36), seed).expect("fits");
        std::iter::from_fn(|| g.next_op().map(|t| t.op)).collect()
    };
    let first = ops(&job, 0, 1);
    assert_eq!(first, ops(&job, 0, 1));
    assert_ne!(first, ops(&job, 1, 1));
    assert_ne!(first, ops(&job, 0, 2));
    let mut second = job.clone();
    second.ordinal = 1;
    assert_ne!(first, ops(&second, 0, 1));
    let mut own = job.clone();
    own.rand_seed = Some(5);
    assert_eq!(
        ops(&own, 0, 1),
        ops(&own, 0, 2),
        "randseed comes before the run's seed"
    );
}

/// FNV-1a over kind, offset and length of the first 10,000 operations.
fn fingerprint(options: &str) -> u64 {
    let mut g = generator(options, 1 << 33);
    let mut hash = Fnv1a::new();
    for _ in 0..10_000 {
        let Some(timed) = g.next_op() else { break };
        let op = timed.op;
        for word in [op.kind as u64, op.offset.0, u64::from(op.length)] {
            for byte in word.to_le_bytes() {
                hash.add(byte.into());
            }
        }
    }
    hash.sum()
}

/// These numbers define the meaning of recorded seeds; a change alters old results.
#[test]
fn the_operations_of_a_seed_never_change() {
    let cases = [
        ("rw=read", 73_069_643_472_322_085),
        ("rw=randread", 11_043_235_988_334_601_157),
        ("rw=randwrite\nnorandommap", 299_691_749_822_409_467),
        (
            "rw=randrw\nrwmixread=70\nbssplit=4k/60:64k/40\nfsync=8",
            9_222_221_674_307_277_879,
        ),
        (
            "rw=randread\nrandom_distribution=zipf:1.2",
            10_392_883_308_628_682_449,
        ),
        (
            "rw=randread\nrandom_distribution=pareto:0.2",
            5_618_512_150_414_189_924,
        ),
        (
            "rw=randread\nrandom_distribution=normal:5",
            17_156_457_253_842_837_702,
        ),
        (
            "rw=randwrite\nbsrange=512-64k\nbs_unaligned=0",
            1_869_526_270_661_636_033,
        ),
    ];
    let found: Vec<(&str, u64)> = cases.iter().map(|c| (c.0, fingerprint(c.0))).collect();
    assert_eq!(found, cases);
}

#[test]
fn a_trace_has_no_pattern() {
    let job = job("read_iolog=x");
    let error = Generator::new(&job, 0, Bytes(MIB), 1).expect_err("a trace");
    assert_eq!(error.faults[0].line, 2);
}

proptest! {
    #[test]
    fn the_map_covers_every_block_once_in_each_pass(
        blocks in 1u64..3000, passes in 1u64..4, seed: u64, mixed: bool,
    ) {
        let rw = if mixed { "randrw" } else { "randwrite" };
        let size = blocks * 4096;
        let job = job(&format!("rw={rw}\nsize={size}\nio_size={}", size * passes));
        let mut g = Generator::new(&job, 0, Bytes(1 << 30), seed).expect("fits");
        for _ in 0..passes {
            let mut seen = vec![false; blocks as usize];
            for _ in 0..blocks {
                let op = g.next_op().expect("the pass is not over").op;
                let block = (op.offset.0 / 4096) as usize;
                prop_assert!(!seen[block]);
                seen[block] = true;
            }
        }
        prop_assert!(g.next_op().is_none());
    }

    #[test]
    fn mixed_sizes_cover_every_byte_once(kib in 64u64..2000, seed: u64) {
        let job = job(&format!("rw=randwrite\nbssplit=4k/50:12k/30:32k/20\nsize={kib}k"));
        let mut g = Generator::new(&job, 0, Bytes(1 << 30), seed).expect("fits");
        let mut seen = vec![false; kib as usize / 4];
        while let Some(timed) = g.next_op() {
            let first = timed.op.offset.0 / 4096;
            for block in first..first + u64::from(timed.op.length) / 4096 {
                prop_assert!(!seen[block as usize]);
                seen[block as usize] = true;
            }
        }
        prop_assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn operations_stay_inside_and_aligned(
        rw in prop::sample::select(vec!["read", "randread", "randrw", "rw", "randtrimwrite", "trim", "randread:3"]),
        sizes in prop::sample::select(vec!["bs=4k", "bs=512,8k,4k", "bssplit=4k/60:64k/40", "bsrange=4k-32k", "bs=8k\nba=4k", "bs=4k\nba=16k"]),
        map in prop::sample::select(vec!["norandommap", "norandommap=0", "percentage_random=40"]),
        offset in 0u64..50, kib in 64u64..4000, seed: u64,
    ) {
        let text = format!("rw={rw}\n{sizes}\n{map}\noffset={}k\nsize={kib}k\nio_size=8m", offset * 4);
        let job = job(&text);
        let mut g = Generator::new(&job, 0, Bytes(16 << 20), seed).expect("fits");
        // With one size, the last operation may extend beyond the region.
        let whole = !["bssplit", "bsrange"].iter().any(|s| sizes.starts_with(s));
        let reach = match whole {
            true => (kib * 1024).next_multiple_of(8192),
            false => kib * 1024,
        };
        let mut count = 0;
        while let Some(timed) = g.next_op() {
            let op = timed.op;
            prop_assert!(op.length > 0);
            prop_assert!(op.offset.0 >= offset * 4096);
            prop_assert!(op.offset.0 + u64::from(op.length) <= offset * 4096 + reach);
            prop_assert!(op.offset.0.is_multiple_of(512) && op.length.is_multiple_of(512));
            count += 1;
            prop_assert!(count < 100_000, "it ends");
        }
        prop_assert!(count > 0);
    }

    #[test]
    fn no_job_and_no_target_makes_it_panic(capacity: u64, clone: u32, percent in 0u32..=100, size: u64) {
        for options in ["rw=randread\nnorandommap", "rw=randrw\nrandom_distribution=zipf:1.3", "rw=write"] {
            let mut job = job(&format!("{options}\noffset={percent}%\noffset_increment=1g"));
            job.size = Some(nandscope_workload::job::Extent::Bytes(Bytes(size)));
            if let Ok(mut g) = Generator::new(&job, clone, Bytes(capacity), 1) {
                for _ in 0..100 {
                    let _ = g.next_op();
                }
            }
        }
    }
}

#[test]
fn what_is_read_often_is_written_often() {
    for distribution in ["zipf:1.2", "pareto:0.1"] {
        let text = format!("rw=randrw\nrandom_distribution={distribution}\ntime_based\nruntime=1");
        let mut hottest = Vec::new();
        for wanted in [OpKind::Read, OpKind::Write] {
            let mut visits = std::collections::HashMap::new();
            let mut source = generator(&text, 64 << 20);
            for op in std::iter::from_fn(|| source.next_op()).take(20_000) {
                if op.op.kind == wanted {
                    *visits.entry(op.op.offset).or_insert(0) += 1;
                }
            }
            hottest.push(visits.into_iter().max_by_key(|v| v.1).unwrap().0);
        }
        assert_eq!(hottest[0], hottest[1], "{distribution}");
    }
}
