//! Purpose of each suite: the tests whose rates its verdict names. A preparing run is no test, whatever its rate.

use nandscope_result::{JobResult, StepResult, procedure};

/// The tests that decide about the verdict of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// Its tests in the order of the verdict.
    pub tests: &'static [Headline],
    /// Whether the suite has long writes on purpose: its verdict then names the sustained rate, or says that it is
    /// unknown.
    pub long_writes: bool,
}

/// A test of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Name of the test, with what distinguishes its value.
    pub name: &'static str,
    /// Name for a key figure, without `read` or `write`.
    pub short: &'static str,
    /// Figures of reading and writing, without the mode.
    pub read: Option<&'static str>,
    /// Figure of the write test, like `read`.
    pub write: Option<&'static str>,
    /// Unit of both figures.
    pub unit: &'static str,
}

const fn both(
    name: &'static str,
    short: &'static str,
    (read, write): (&'static str, &'static str),
    unit: &'static str,
) -> Headline {
    Headline {
        name,
        short,
        read: Some(read),
        write: Some(write),
        unit,
    }
}

const fn written(name: &'static str, short: &'static str, write: &'static str) -> Headline {
    Headline {
        name,
        short,
        read: None,
        write: Some(write),
        unit: "MB/s",
    }
}

const CARD: [Headline; 2] = [
    both(
        "SEQ1M Q8T1, fresh, best run",
        "sequential",
        ("cdm.fresh.seq1m-q8t1.read", "cdm.fresh.seq1m-q8t1.write"),
        "MB/s",
    ),
    both(
        "RND4K Q1T1, fresh, best run",
        "random 4 KiB, QD1",
        (
            "cdm.fresh.rnd4k-q1t1.read.iops",
            "cdm.fresh.rnd4k-q1t1.write.iops",
        ),
        "IOPS",
    ),
];
const FOLDERS: [Headline; 2] = [
    both(
        "folder copy, Home",
        "folder Home",
        ("folders.home.read", "folders.home.write"),
        "MB/s",
    ),
    both(
        "folder copy, ISOs",
        "folder ISOs",
        ("folders.isos.read", "folders.isos.write"),
        "MB/s",
    ),
];
const FILL: [Headline; 2] = [
    written("first fill, mean", "first fill", "fill.pass-1"),
    written("second fill, mean", "second fill", "fill.pass-2"),
];
const IOMETER: [Headline; 1] = [both(
    "128 KiB sequential, QD32",
    "128 KiB sequential, QD32",
    ("iometer.read", "iometer.write"),
    "MB/s",
)];
const PLAIN: [Headline; 2] = [
    both(
        "sequential",
        "sequential",
        ("plain.read", "plain.write"),
        "MB/s",
    ),
    both(
        "4 KiB random",
        "random 4 KiB, QD1",
        ("plain.random-read", "plain.random-write"),
        "MB/s",
    ),
];
const SSD: [Headline; 2] = [
    both(
        "4 KiB random, queue depth 32",
        "random 4 KiB, QD32",
        ("sustained.read.qd32", "sustained.write.qd32"),
        "MB/s",
    ),
    both(
        "4 KiB random, queue depth 1",
        "random 4 KiB, QD1",
        ("sustained.read.qd1", "sustained.write.qd1"),
        "MB/s",
    ),
];
const SPEED_CLASS: [Headline; 3] = [
    written(
        "recording into empty areas, slowest",
        "recording, empty areas",
        "speed-class.unfragmented",
    ),
    written(
        "recording into areas half in use, 64 KiB, slowest",
        "recording, half in use",
        "speed-class.fragmented.64k",
    ),
    both(
        "4 KiB random, queue depth 1",
        "random 4 KiB, QD1",
        ("speed-class.a1-like.read", "speed-class.a1-like.write"),
        "IOPS",
    ),
];

/// The purpose of the suite of this name; `None` for a run, whose purpose its jobs define.
pub fn purpose(name: &str) -> Option<Purpose> {
    let (tests, long_writes): (&[Headline], bool) = match name {
        procedure::CARD_REVIEW => (&CARD, true),
        procedure::FOLDER_REVIEW => (&FOLDERS, false),
        procedure::FILL => (&FILL, true),
        procedure::IOMETER => (&IOMETER, false),
        procedure::PLAIN => (&PLAIN, false),
        procedure::DRIVE | procedure::DRIVES => (&SSD, false),
        procedure::SPEED_CLASS => (&SPEED_CLASS, false),
        // Suites about the internals of a device.
        procedure::FLASHBENCH | procedure::FLASHBENCH_WHOLE | procedure::PROBE => (&[], false),
        _ => return None,
    };
    Some(Purpose { tests, long_writes })
}

/// Words in the names of jobs that prepare a test; the names are those of the job file.
const PREPARES: [&str; 4] = ["warm-up", "warmup", "prepare", "make test file"];

/// Whether a job is a test rather than the preparation of one.
pub fn is_test(step: &StepResult, job: &JobResult) -> bool {
    let name = job.name.to_lowercase();
    !step.preparation && !PREPARES.iter().any(|word| name.contains(word))
}
