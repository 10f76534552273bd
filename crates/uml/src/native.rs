//! File systems on real block devices, in real time, by the running kernel and its tools: the same scripts as inside the
//! kernel of virtual time, in namespaces of mounts and processes of their own.
//!
//! Whatever happens, nothing stays mounted: the kernel unmounts the file system when the processes of its namespace have
//! ended, and they end with this process (`setpriv --pdeathsig`, `unshare --kill-child`). Nothing but the held device is
//! formatted: the script makes its node from the number of the device ([`Disk`]).

mod disk;
mod process;
mod script;
mod systems;
mod trace;

pub use disk::{Disk, DiskError};
pub use process::PROGRAMS;
pub use systems::is_in_kernel;

use crate::access_pattern::{AccessPattern, Amount, Window};
use crate::cell::{Card, Cell, Known};
use crate::filesystem::FileSystem;
use crate::guest::{self, PhaseStart};
use crate::job::Settings;
use crate::layout::{Kind, Layout};
use crate::observer::{Observer, Progress};
use crate::reason::Reason;
use crate::recording::{self, Event};
use crate::scratch::Scratch;
use crate::workload::Workload;
use nandscope_device::Counters;
use nandscope_files::{Access, begin_unsynced};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use process::Namespaces;
use rustix::time::{ClockId, clock_gettime};
use script::Counts;
use std::io;
use std::time::{Duration, Instant};
use thiserror::Error;
use trace::{BlockTrace, Requests};

/// Prefix of the folders of runs.
const FOLDER: &str = "nandscope-native";
/// Longest time for the kernel to write what an ended run left, and to unmount.
const UNMOUNT: Duration = Duration::from_secs(600);
/// Number of times that the two clocks are read, of which the closest pair counts.
const CLOCK_READS: usize = 16;
/// Longest change of the time of day against the monotonic clock in a run.
const CLOCK_STEP: Nanos = Nanos::from_millis(1);
/// Lines of output in an error.
const LAST_LINES: usize = 8;

/// Why a run did not come to its end.
#[derive(Debug, Error)]
pub enum NativeError {
    /// The device cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The script cannot be started.
    #[error("cannot start the script: {0}")]
    Start(io::Error),
    /// A program failed, or the script ended early.
    #[error("{0}{said}", said = said(.1))]
    Script(String, String),
    /// It took too long.
    #[error("it took longer than {0} s and was ended; --time-limit allows more")]
    TimeLimit(u64),
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// Its times cannot be known.
    #[error("the clock of this machine was set during the run; repeat it")]
    ClockSet,
}

fn said(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|l| !l.starts_with('@')).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    match last.is_empty() {
        true => String::new(),
        false => format!("; its last output:\n  {}", last.join("\n  ")),
    }
}

/// Why the requests of a device cannot be recorded here; `None` if they can.
pub fn why_no_trace() -> Option<String> {
    trace::place().err()
}

/// Runs a cell on `disk`. All that it contains is lost.
///
/// # Errors
/// [`NativeError`] if the run does not end. The file system is unmounted then, unless the error is
/// [`DiskError::StillInUse`].
pub fn measure(
    disk: &Disk,
    fs: FileSystem,
    workload: &Workload,
    settings: &Settings,
    card: Card,
    observer: &dyn Observer,
) -> Result<Cell, NativeError> {
    disk.check()?;
    let began = Instant::now();
    let folder = Scratch::new(&std::env::temp_dir(), FOLDER).map_err(NativeError::Start)?;
    let file = folder.path().join("script");
    let text = script::script(disk, fs, workload, settings);
    begin_unsynced(&file, text.as_bytes(), Access::Owner)
        .map_err(|error| NativeError::Start(error.into_io()))?;
    let recording = disk
        .whole_number()
        .and_then(|(major, minor)| BlockTrace::begin(major, minor).ok());
    let clock = Clock::now();
    let ran = Namespaces::start(&file).map_err(NativeError::Start);
    let ran = ran.and_then(|mut run| {
        let before = disk.written().unwrap_or(0);
        let ended = run.wait(settings.wall, observer, &mut |elapsed| {
            // Its programs may wait for the device, or go on with errors.
            if disk.is_gone() {
                return Err(DiskError::Gone(disk.name().to_string()).into());
            }
            let written = disk.written().unwrap_or(0).saturating_sub(before);
            observer.progress(Progress {
                at: Nanos::from_millis(elapsed.as_millis() as u64),
                written: Bytes(written),
            });
            Ok(())
        });
        let console = run.end();
        ended.map(|()| console)
    });
    let requests = recording.map(BlockTrace::finish);
    // Even after an error: only now nothing is mounted any more.
    disk.wait_until_free(UNMOUNT)?;
    let console = ran?;
    if let Err(error) = check_end(&console) {
        // If the device was removed, the failure of the script is a consequence.
        return Err(match disk.is_gone() {
            true => DiskError::Gone(disk.name().to_string()).into(),
            false => error,
        });
    }
    if !clock.is_in_step() {
        return Err(NativeError::ClockSet);
    }
    let missing = || {
        NativeError::Script(
            "the script did not report its phases".to_string(),
            String::new(),
        )
    };
    let run = Run {
        starts: script::starts(&console, clock.real),
        requests: requests.and_then(|r| clock.since(r, disk.range())),
        console,
    };
    let measured = run.measured(disk, fs, workload, card);
    let (window, sync, known, pattern, kinds) = measured.ok_or_else(missing)?;
    let events = run.requests.filter(|_| known.trace).unwrap_or_default();
    Ok(Cell {
        fs,
        workload: workload.name.clone(),
        settings: settings.clone(),
        time: window.length(),
        sync: sync.length(),
        known,
        pattern,
        counters: counters(&run.console),
        kinds,
        values: guest::values(&run.console),
        fingerprint: recording::fingerprint(&events),
        took: began.elapsed(),
        messages: 0,
        events,
    })
}

/// Checks that the script came to its end.
fn check_end(console: &str) -> Result<(), NativeError> {
    let script = |text| Err(NativeError::Script(text, console.to_string()));
    match guest::check_end(console, "") {
        Ok(()) => Ok(()),
        Err(Reason::Script(what)) => script(what),
        Err(_) => script("the script ended early".to_string()),
    }
}

/// Output of a run: its console, phases and requests.
struct Run {
    console: String,
    /// Starts of phases since the start of the run.
    starts: Vec<PhaseStart>,
    /// Requests of the device since the start of the run, if all were recorded.
    requests: Option<Vec<Event>>,
}

impl Run {
    /// The measured part, its `sync`, what is known, the statistics, and the kind of each recorded write.
    #[allow(
        clippy::type_complexity,
        reason = "the parts of a cell, for one caller"
    )]
    fn measured(
        &self,
        disk: &Disk,
        fs: FileSystem,
        workload: &Workload,
        card: Card,
    ) -> Option<(Window, Window, Known, AccessPattern, Vec<Kind>)> {
        let window = Window::between(&self.starts, "work", "idle")?;
        let sync = Window::between(&self.starts, "sync", "idle")?;
        let at = |phase| Counts::at(&self.console, phase);
        let counts = at("idle").zip(at("work")).map(|(to, from)| to.since(&from));
        let empty = Vec::new();
        let recorded = self.requests.as_ref();
        let events = recorded.filter(|events| agrees(events, window, counts.as_ref()));
        let layout = match events {
            Some(_) => Layout::read(fs, disk, 0),
            None => Layout::default(),
        };
        let events = events.unwrap_or(&empty);
        let known_trace = !events.is_empty();
        let mut pattern = AccessPattern::of(window, events, &[], &layout, card.unit, card.open);
        pattern.per_file = None;
        let by_counts = counts.filter(|c| !known_trace && c.flushes.is_some());
        if let Some(counts) = &by_counts {
            let amount = |(commands, bytes)| Amount { commands, bytes };
            pattern.reads = amount(counts.reads);
            pattern.writes = amount(counts.writes);
            pattern.discards = amount(counts.discards);
            pattern.flushes = counts.flushes.unwrap_or(0);
        }
        // Programs of a user's script may write elsewhere, such as into pipes.
        let bytes = script::written_between(&self.console, "work", "sync");
        let bytes =
            bytes.filter(|_| crate::workload::named(&workload.name).as_ref() == Some(workload));
        pattern.program_bytes = bytes.unwrap_or(0);
        let known = Known {
            commands: known_trace || by_counts.is_some(),
            trace: known_trace,
            program_bytes: bytes.is_some(),
            calls: false,
            flash: false,
        };
        let writes = events.iter().filter(|e| e.kind == OpKind::Write);
        let kinds = writes.map(|e| layout.kind(e.offset)).collect();
        Some((window, sync, known, pattern, kinds))
    }
}

/// Whether the recorded writes of the measured part are those that the kernel counted, but for requests under way at its
/// start and end. Without counts (`queue/iostats` is 0) nothing contradicts the record.
fn agrees(events: &[Event], window: Window, counts: Option<&Counts>) -> bool {
    let Some(counts) = counts.filter(|c| c.writes.0 + c.reads.0 > 0) else {
        return true;
    };
    let ended = |e: &&Event| {
        e.kind == OpKind::Write && window.from <= e.completed && e.completed < window.to
    };
    let recorded: u64 = events.iter().filter(ended).map(|e| e.length).sum();
    recorded.abs_diff(counts.writes.1) <= (1 << 20) + counts.writes.1 / 50
}

/// Counts of the kernel's block layer from mkfs to the end of the run.
fn counters(console: &str) -> Counters {
    let at = |phase| Counts::at(console, phase);
    let counts = at("end").zip(at("mkfs")).map(|(to, from)| to.since(&from));
    let counts = counts.unwrap_or_default();
    Counters {
        host_read: Bytes(counts.reads.1),
        host_written: Bytes(counts.writes.1),
        host_discarded: Bytes(counts.discards.1),
        ..Counters::default()
    }
}

/// The clocks of the machine at the start of a run: the script reads the time of day, the kernel's trace has the
/// monotonic clock.
struct Clock {
    monotonic: Nanos,
    /// Time of day, since 1970.
    real: Nanos,
}

impl Clock {
    fn now() -> Clock {
        Clock::closest(|| read(ClockId::Monotonic), || read(ClockId::Realtime))
    }

    /// Both clocks at the same moment. On a busy machine this program may lose the processor between two reads, which would look
    /// as if the clock had been set.
    fn closest(mut monotonic: impl FnMut() -> Nanos, mut real: impl FnMut() -> Nanos) -> Clock {
        let mut read = || {
            let before = monotonic();
            let real = real();
            let apart = monotonic().saturating_sub(before);
            let clock = Clock {
                monotonic: before + Nanos(apart.0 / 2),
                real,
            };
            (apart, clock)
        };
        let mut best = read();
        for _ in 1..CLOCK_READS {
            let next = read();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// Whether the time of day was not set since. Both clocks follow the same corrections of their rate.
    fn is_in_step(&self) -> bool {
        let now = Clock::now();
        let passed = now.monotonic.0.saturating_sub(self.monotonic.0);
        let shown = now.real.0.saturating_sub(self.real.0);
        passed.abs_diff(shown) <= CLOCK_STEP.0
    }

    /// Recorded requests of a part of the disk, times since the start; `None` if some were lost.
    fn since(&self, requests: Requests, (start, size): (u64, u64)) -> Option<Vec<Event>> {
        if requests.lost {
            return None;
        }
        let end = start.saturating_add(size);
        let inside = |e: &Event| {
            e.kind == OpKind::Flush
                || (start <= e.offset && e.offset.saturating_add(e.length) <= end)
        };
        let events = requests.events.into_iter().filter(inside);
        let moved = events.map(|e| Event {
            offset: e.offset.saturating_sub(start),
            submitted: e.submitted.saturating_sub(self.monotonic),
            completed: e.completed.saturating_sub(self.monotonic),
            ..e
        });
        Some(moved.collect())
    }
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let part = |n: i64| u64::try_from(n).unwrap_or(0);
    Nanos(part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The first reads of the clocks are 5 ms apart, as on a machine with other work.
    #[test]
    fn a_pause_between_reads_of_the_clocks_is_not_a_set_clock() {
        let passed = Cell::new(0);
        let reads = Cell::new(0);
        let read = |base: u64| {
            reads.set(reads.get() + 1);
            passed.set(passed.get() + if reads.get() < 8 { 5_000_000 } else { 100 });
            Nanos(base + passed.get())
        };
        let clock = Clock::closest(|| read(0), || read(1_000_000_000_000));
        let apart = clock.real.0 - clock.monotonic.0;
        assert!(apart.abs_diff(1_000_000_000_000) <= 100, "{apart}");
    }
}
