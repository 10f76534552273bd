//! Running cells on all processors. Each has a device and a kernel of its own; the order in which
//! they are run has no influence on what comes out.

use super::Subject;
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_device::Fill;
use nandscope_kernel::cell::{self, Card, Cell};
use nandscope_kernel::filesystem::FileSystem;
use nandscope_kernel::job::Settings;
use nandscope_kernel::workload::Workload;
use nandscope_units::Bytes;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A cell to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of the target.
    pub subject: usize,
    /// The file system.
    pub fs: FileSystem,
    /// The workload.
    pub workload: Workload,
    /// How it is run.
    pub settings: Settings,
    /// For which part of the page; empty for the table.
    pub group: &'static str,
    /// The card was written in full before, in ascending order, and hears of no discards.
    pub used: bool,
    /// The card keeps so many allocation units open, instead of its own number.
    pub open: Option<u32>,
}

impl Plan {
    /// A cell of the table.
    pub fn new(subject: usize, fs: FileSystem, workload: Workload, settings: Settings) -> Plan {
        Plan {
            subject,
            fs,
            workload,
            settings,
            group: "",
            used: false,
            open: None,
        }
    }
}

/// A cell that was run.
#[derive(Debug)]
pub struct Measured {
    /// What was planned.
    pub plan: Plan,
    /// What came out, or what went wrong.
    pub cell: Result<Cell, String>,
}

impl Measured {
    /// What went wrong, with the cell's name.
    pub fn complaint(&self) -> Option<String> {
        let reason = self.cell.as_ref().err()?;
        Some(format!(
            "{} on {}: {reason}",
            self.plan.workload.name,
            self.plan.fs.name()
        ))
    }
}

/// How often the progress is told where there is no terminal.
const TELL: Duration = Duration::from_secs(30);

/// How many are run at once: what was asked for, or one for each processor.
pub fn jobs_at_once(asked: Option<usize>, plans: usize) -> usize {
    asked
        .filter(|n| *n > 0)
        .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
        .unwrap_or(1)
        .min(plans.max(1))
}

/// Measures all cells; those that an interruption left out are missing.
pub fn measure_all(
    kernel: &Path,
    subjects: &[Subject],
    plans: &[Plan],
    jobs: Option<usize>,
    interrupt: &Interrupt,
    console: &Console,
) -> Vec<Measured> {
    let jobs = jobs_at_once(jobs, plans.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let line = Line::new("fs");
    let mut told = Instant::now();
    let mut done: Vec<(usize, Measured)> = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = plans.get(number).filter(|_| !interrupt.asked()) else {
                        return;
                    };
                    let cell = measure(kernel, &subjects[plan.subject], plan, interrupt);
                    if sender.send((number, cell)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (number, cell) in receiver {
            let plan = plans[number].clone();
            let short = subjects[plan.subject].short();
            let text = format!(
                "{} of {}: {short}, {}, {}",
                done.len() + 1,
                plans.len(),
                plan.fs.name(),
                plan.workload.name
            );
            done.push((number, Measured { plan, cell }));
            if !line.is_seen() && told.elapsed() > TELL {
                told = Instant::now();
                console.note(&text);
            }
            line.show(Some(done.len() as f64 / plans.len() as f64), text);
        }
    });
    line.clear();
    if interrupt.asked() {
        done.retain(|(_, measured)| measured.cell.is_ok());
    }
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, measured)| measured).collect()
}

fn measure(
    kernel: &Path,
    subject: &Subject,
    plan: &Plan,
    interrupt: &Interrupt,
) -> Result<Cell, String> {
    let mut device = match plan.open {
        None => subject.device(1)?,
        Some(open) => subject.device_with_open(1, open)?,
    };
    let settings = Settings {
        discard_granularity: subject.card.unit,
        discard: plan.settings.discard && !plan.used,
        ..plan.settings.clone()
    };
    if plan.used {
        device.precondition(1.0, Fill::Sequential);
    }
    let card = Card {
        open: plan.open.unwrap_or(subject.card.open),
        ..subject.card
    };
    let cell = cell::measure(
        kernel,
        plan.fs,
        &plan.workload,
        &settings,
        card,
        &mut device,
        &|| interrupt.asked(),
    );
    cell.map_err(|error| match &error.kept {
        Some(folder) => format!("{error}\n  logs: {}", folder.display()),
        None => error.to_string(),
    })
}

/// The smallest write that needs no reading, and the best, as a device may tell them.
pub fn topology(subject: &Subject) -> (Bytes, Bytes) {
    let card = subject.simulated.device_source.profile.card.as_ref();
    let page = card.and_then(|card| card.page_kib).unwrap_or(16);
    (Bytes::kib(u64::from(page)), subject.card.unit)
}
