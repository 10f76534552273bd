//! One cell of the table, measured: a file system and a workload on a fresh device, with what follows
//! from the run.

use crate::access_pattern::{AccessPattern, Window};
use crate::filesystem::FileSystem;
use crate::guest;
use crate::job::{self, Settings};
use crate::kernel_run::KernelRunError;
use crate::layout::{Kind, Layout};
use crate::machine::MachineError;
use crate::observer::Observer;
use crate::recording::{self, Event};
use crate::variants::Variant;
use crate::workload::Workload;
use nandscope_blockio::image::Image;
use nandscope_device::{Counters, Device};
use nandscope_result::recording::{CAMERA, LATE};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Quantities that a run could measure. A figure that needs another one is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Number and bytes of the commands to the device.
    pub commands: bool,
    /// Each command with its time: the trace.
    pub trace: bool,
    /// Bytes that the programs wrote.
    pub program_bytes: bool,
    /// Each call of the programs.
    pub calls: bool,
    /// Bytes programmed in the flash, and the card's number of open AUs.
    pub flash: bool,
}

impl Known {
    /// All is known of a simulated device.
    pub const ALL: Known = Known {
        commands: true,
        trace: true,
        program_bytes: true,
        calls: true,
        flash: true,
    };
}

/// A measured cell.
#[derive(Debug)]
pub struct Cell {
    /// The file system.
    pub fs: FileSystem,
    /// Name of the workload.
    pub workload: String,
    /// Settings of the run.
    pub settings: Settings,
    /// Time from the first operation of the work to the end of the `sync` after it.
    pub time: Nanos,
    /// Part of this time that the `sync` took.
    pub sync: Nanos,
    /// Quantities that the run could measure.
    pub known: Known,
    /// Statistics of the trace.
    pub pattern: AccessPattern,
    /// Card: bytes programmed and moved, from mkfs to the end of the run.
    pub counters: Counters,
    /// The whole trace, from mkfs to the check.
    pub events: Vec<Event>,
    /// Kind of each write of the trace, in order.
    pub kinds: Vec<Kind>,
    /// Numbers that the script said.
    pub values: Vec<(String, f64)>,
    /// Equal in two runs that gave the same commands at the same times.
    pub fingerprint: u32,
    /// Real time that the run took.
    pub took: Duration,
    /// Messages of the kernel.
    pub messages: u64,
}

/// Properties of the card that a cell needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its allocation unit (erase block).
    pub unit: Bytes,
    /// Number of open AUs.
    pub open: u32,
}

/// Runs a cell on `device`, which is fresh or prepared by the caller.
///
/// # Errors
/// [`KernelRunError`] if the run does not end.
pub fn measure(
    kernel: &Path,
    fs: FileSystem,
    workload: &Workload,
    settings: &Settings,
    card: Card,
    device: &mut Device,
    observer: &dyn Observer,
) -> Result<Cell, KernelRunError> {
    let mut contents = Image::bounded(device.capacity().0);
    let before = device.counters();
    let run = job::run(
        kernel,
        fs,
        workload,
        settings,
        device,
        &mut contents,
        observer,
    )?;
    let counters = device.counters().since(&before);
    let starts = guest::phase_starts(&run.console);
    let missing = || KernelRunError {
        reason: crate::reason::Reason::Script(
            "the script did not report the phases `work` and `idle`".to_string(),
        ),
        log: run.console.clone(),
        kept: None,
    };
    let window = Window::between(&starts, "work", "idle").ok_or_else(missing)?;
    let sync = Window::between(&starts, "sync", "idle").ok_or_else(missing)?;
    let start = settings.partition_start.map_or(0, |at| at.0);
    let layout = Layout::read(fs, &contents, start);
    if let Some(fault) = contents.fault() {
        return Err(KernelRunError::of(MachineError::from(fault)));
    }
    let mut pattern = AccessPattern::of(
        window,
        &run.events,
        &run.calls,
        &layout,
        card.unit,
        card.open,
    );
    // In other workloads, calls of fsync do not correspond to files.
    if workload.name != "create" {
        pattern.per_file = None;
    }
    let writes = run.events.iter().filter(|e| e.kind == OpKind::Write);
    Ok(Cell {
        fs,
        workload: workload.name.clone(),
        settings: settings.clone(),
        time: window.length(),
        sync: sync.length(),
        known: Known::ALL,
        pattern,
        counters,
        kinds: writes.map(|e| layout.kind(e.offset)).collect(),
        values: guest::values(&run.console),
        fingerprint: recording::fingerprint(&run.events),
        took: run.took,
        messages: run.messages,
        events: run.events,
    })
}

impl Cell {
    /// Identifier of its steps and files: workload, file system, and the variant in a sweep.
    pub fn id(&self) -> String {
        format!(
            "{}-{}{}",
            self.workload,
            self.fs.name(),
            self.variant_suffix()
        )
    }

    /// Suffix of its names in a sweep: `-` and the variant, unless that is the default.
    pub fn variant_suffix(&self) -> String {
        let variant = self.settings.variant.as_ref();
        variant.map_or(String::new(), Variant::suffix)
    }

    /// The usual name of the file system, with the variant in a sweep.
    pub fn title(&self) -> String {
        match &self.settings.variant {
            Some(variant) => format!("{}, {}", self.fs.title(), variant.name),
            None => self.fs.title().to_string(),
        }
    }

    /// Whether it ran on a simulated device, in virtual time.
    pub fn is_simulated(&self) -> bool {
        self.known.flash
    }

    /// How late a piece of video was written at most, seconds; `None` for workloads without a schedule.
    pub fn late_s(&self) -> Option<f64> {
        let late = self.values.iter().find(|(name, _)| name == LATE);
        late.map(|(_, seconds)| *seconds)
            .filter(|_| self.workload == CAMERA)
    }

    /// Why it took as long as it did, in a line.
    pub fn reason(&self, card: Card) -> String {
        let c = &self.pattern;
        if !self.known.commands {
            return "the commands to the device are not known".to_string();
        }
        let (open, reopened) = c.reopened.first().copied().unwrap_or((card.open, 0));
        if c.writes.commands == 0 {
            return format!("{}, {} flushes", c.writes.of_writes(), c.flushes);
        }
        if !self.known.trace {
            return format!("{}, {} flushes", c.writes.of_writes(), c.flushes);
        }
        let mut text = format!(
            "{}, {:.0} % in sequence, {} flushes",
            c.writes.of_writes(),
            c.sequential * 100.0,
            c.flushes,
        );
        if !self.known.flash {
            text.push_str(&format!(
                "; {} open allocation units of {} would suffice",
                c.units_needed, card.unit
            ));
            return text;
        }
        text.push_str(&if c.units_needed > open {
            format!(
                "; it writes to more than {} interleaved allocation units and the card keeps {open} open: {reopened} were reopened",
                c.units_needed - 1
            )
        } else {
            format!("; the card's {open} open allocation units are enough ({reopened} were reopened)")
        });
        text.push_str(&format!(
            "; the card wrote {:.1} bytes for each",
            self.counters.write_amplification()
        ));
        text
    }
}
