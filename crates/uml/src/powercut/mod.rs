//! Power cuts in virtual time: how much of the data confirmed by `fsync` survives, on honest, tearing
//! and lying cards.
//!
//! A program appends lines to a log with `fsync` after each, and creates files, synced with their
//! folder. At many moments of that run an image of the card after a power cut is taken. From each image
//! a kernel starts, repairs and mounts the file system, and counts.

mod moments;

use crate::calls::Call;
use crate::filesystem::FileSystem;
use crate::guest;
use crate::job::{self, Settings};
use crate::kernel_run::{KernelRunError, Run};
use crate::machine::MachineError;
use crate::observer::Observer;
use crate::post_crash::{self, Torn};
use crate::workload::{self, Workload};
use moments::{Moment, Watched};
use nandscope_blockio::image::Image;
use nandscope_device::Device;
use nandscope_units::Nanos;
use std::collections::BTreeMap;
use std::path::Path;

/// Flush semantics of a card, and its handling of interrupted pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushSemantics {
    /// Flushed data is durable. A page whose programming is interrupted is detected, and its older copy
    /// is used.
    Honest,
    /// It flushes, but returns an interrupted page as if it were valid: what was being overwritten is lost with the new.
    Tearing,
    /// Flushes are acknowledged but not performed, and interrupted pages are accepted as valid.
    Lying,
}

impl FlushSemantics {
    /// All of them.
    pub const ALL: [FlushSemantics; 3] = [
        FlushSemantics::Honest,
        FlushSemantics::Tearing,
        FlushSemantics::Lying,
    ];

    /// A name for people.
    pub const fn name(self) -> &'static str {
        match self {
            FlushSemantics::Honest => "honest",
            FlushSemantics::Tearing => "tearing",
            FlushSemantics::Lying => "lying",
        }
    }

    const fn torn(self) -> Torn {
        match self {
            FlushSemantics::Honest => Torn::Old,
            FlushSemantics::Tearing | FlushSemantics::Lying => Torn::Garbage,
        }
    }
}

/// Data confirmed to a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promises {
    /// Lines of the log.
    pub lines: u32,
    /// Number that `fsync` acknowledged.
    pub files: u32,
}

impl Promises {
    /// Confirmed data after this many calls of fsync: one for the log's name, then repeatedly four for
    /// lines and two for a file.
    fn after(calls: usize) -> Promises {
        let calls = u32::try_from(calls.saturating_sub(1)).unwrap_or(u32::MAX);
        let rest = calls % 6;
        let lines = if rest < 4 { rest } else { 4 };
        Promises {
            lines: calls / 6 * 4 + lines,
            files: calls / 6,
        }
    }
}

/// Outcome of a power cut at one moment.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When the power went, on the kernel's clock.
    pub at: Nanos,
    /// Data confirmed before the cut.
    pub promised: Promises,
    /// Data found after it.
    pub kept: Promises,
    /// Exit code of the repair; `None` if there is no such program.
    pub repair: Option<i32>,
    /// The file system could be mounted.
    pub mounted: bool,
    /// Exit code of the final check; `None` if there is no such program.
    pub check: Option<i32>,
    /// Output of the programs, or the error of the kernel.
    pub said: String,
    /// The kernel came to the end of the check.
    pub finished: bool,
}

impl Outcome {
    /// True if all confirmed data survived.
    pub fn is_kept(&self) -> bool {
        self.finished && self.mounted && self.kept == self.promised
    }

    /// True if the file system was mounted and the final check passed.
    pub fn is_clean(&self) -> bool {
        self.finished && self.mounted && self.check.unwrap_or(0) == 0
    }
}

/// Parameters of a series of cuts.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// Executable of the kernel.
    pub kernel: &'a Path,
    /// The file system.
    pub fs: FileSystem,
    /// Flush semantics of the card.
    pub flush: FlushSemantics,
    /// Number of power cuts.
    pub points: u32,
    /// Lines that the program writes.
    pub lines: u32,
}

impl Series<'_> {
    fn settings(&self) -> Settings {
        Settings {
            variables: vec![("CUT_LINES".to_string(), self.lines.to_string())],
            flushes_lie: self.flush == FlushSemantics::Lying,
            torn: self.flush.torn(),
            ..Settings::default()
        }
    }

    /// Runs the series on copies of `device`, which is fresh. The cuts are spread evenly from the first
    /// operation of the program to the end of the `sync` after its last.
    ///
    /// # Errors
    /// [`KernelRunError`] if the run without a cut does not end. Errors after a cut are outcomes.
    pub fn run(
        &self,
        device: &Device,
        observer: &dyn Observer,
    ) -> Result<Vec<Outcome>, KernelRunError> {
        let (scout, _) = self.work(device, &[], observer)?;
        let starts = guest::phase_starts(&scout.console);
        let at = |name: &str| starts.iter().find(|m| m.name == name).map_or(0, |m| m.at.0);
        let (from, to) = (at("work"), at("idle"));
        let times: Vec<Nanos> = (0..u64::from(self.points))
            .map(|n| Nanos(from + (to - from) * (2 * n + 1) / (2 * u64::from(self.points))))
            .collect();
        let (run, moments) = self.work(device, &times, observer)?;
        let starts = guest::phase_starts(&run.console);
        let began = starts.iter().find(|m| m.name == "work").map(|m| m.at);
        let synced = |at: Nanos| {
            let is_ours = |c: &&Call| {
                c.name() == "fsync" && c.result == 0 && began.is_some_and(|b| c.start >= b)
            };
            let calls = run.calls.iter().filter(is_ours);
            Promises::after(calls.filter(|c| c.end <= at).count())
        };
        let mut outcomes = Vec::new();
        // The same image with the same promises has the same outcome; between two writes cuts are equal.
        let mut known: BTreeMap<(u32, u32, u32), Outcome> = BTreeMap::new();
        for moment in &moments {
            if observer.stop() {
                break;
            }
            let image = self.image(device, &run, moment)?;
            let promised = synced(moment.at);
            let outcome = known
                .entry((image.checksum(), promised.lines, promised.files))
                .or_insert_with(|| self.after(device, image, moment.at, promised, observer));
            outcomes.push(Outcome {
                at: moment.at,
                ..outcome.clone()
            });
        }
        Ok(outcomes)
    }

    /// The program's run, watched at `times`.
    fn work(
        &self,
        device: &Device,
        times: &[Nanos],
        observer: &dyn Observer,
    ) -> Result<(Run, Vec<Moment>), KernelRunError> {
        let settings = self.settings();
        let script = job::script(self.fs, &work(), &settings);
        let mut run = job::kernel_run(self.kernel, &script, &settings, device.capacity());
        run.keep_changes = true;
        let mut device = device.clone();
        let mut contents = Image::bounded(device.capacity().0);
        let now = device.now();
        let ahead: Vec<Nanos> = times.iter().map(|at| *at + now).collect();
        let mut watched = Watched::new(&mut device, &ahead);
        let run = run.run(&mut watched, now, &mut contents, observer)?;
        let mut moments = watched.into_moments();
        for moment in &mut moments {
            moment.at = moment.at.saturating_sub(now);
        }
        Ok((run, moments))
    }

    /// Contents of the card after the cut.
    fn image(&self, device: &Device, run: &Run, moment: &Moment) -> Result<Image, KernelRunError> {
        let mut contents = Image::bounded(device.capacity().0);
        let changes = &run.changes[..moment.changes.min(run.changes.len())];
        post_crash::apply(&mut contents, changes, &moment.cut, self.flush.torn())
            .map_err(|error| KernelRunError::of(MachineError::from(error)))?;
        Ok(contents)
    }

    fn after(
        &self,
        device: &Device,
        mut image: Image,
        at: Nanos,
        promised: Promises,
        observer: &dyn Observer,
    ) -> Outcome {
        let ran = job::run_script(
            self.kernel,
            &check_script(self.fs, promised),
            &Settings::default(),
            &mut device.clone(),
            &mut image,
            observer,
        );
        let (said, finished) = match &ran {
            Ok(run) => (run.console.clone(), true),
            Err(error) => (error.to_string(), false),
        };
        let values = guest::values(&said);
        let value = |name: &str| {
            values
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| *v as i32)
        };
        let count = |name: &str| value(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        Outcome {
            at,
            promised,
            kept: Promises {
                lines: count("lines"),
                files: count("files"),
            },
            repair: value("repair"),
            mounted: value("mounted").is_some(),
            check: value("check"),
            said,
            finished,
        }
    }
}

/// The program that makes promises.
fn work() -> Workload {
    workload::own("promises", include_str!("../guest/powercut/work.sh"))
}

fn check_script(fs: FileSystem, promised: Promises) -> String {
    let on_disk = |command: Option<&str>| command.unwrap_or_default().replace("$DEV", "/dev/vda");
    let variables = [
        ("FS", fs.name().to_string()),
        ("REPAIR", on_disk(fs.repair())),
        ("CHECK", on_disk(fs.check())),
        ("LINES_PROMISED", promised.lines.to_string()),
        ("FILES_PROMISED", promised.files.to_string()),
    ];
    guest::script(&variables, include_str!("../guest/powercut/after.sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_follow_the_order_of_the_calls() {
        let after = |calls| {
            let p = Promises::after(calls);
            (p.lines, p.files)
        };
        let expected = [
            (0, 0),
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 0),
            (4, 0),
            (4, 0),
            (4, 1),
            (5, 1),
        ];
        for (calls, expected) in expected.into_iter().enumerate() {
            assert_eq!(after(calls), expected, "{calls} calls");
        }
    }
}
