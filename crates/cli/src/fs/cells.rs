//! Runs cells. Those of simulated devices run on all processors: each has its own device and kernel, and the order of
//! running has no influence on the results. Those of real devices run before, one after the other.

use super::Subject;
use super::board::{Board, Watched};
use super::kept::Kept;
use super::plan::Plan;
use super::real::RealDevice;
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::threads::ThreadArguments;
use nandscope_device::{DeviceError, Fill, FillError, break_if};
use nandscope_suite::at_once;
use nandscope_uml::cell::{self, Card, Cell};
use nandscope_uml::kernel_run::KernelRunError;
use nandscope_uml::native::{self, DiskError, NativeError};
use nandscope_uml::observer::Observer as _;
use std::path::Path;
use std::sync::Mutex;
use thiserror::Error;

/// Why a cell, or a series of power cuts, was not measured.
#[derive(Debug, Error)]
pub enum CellError {
    /// Its device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Its device cannot be filled.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// Its run did not come to its end.
    #[error("{0}{logs}", logs = logs(.0))]
    KernelRun(#[from] KernelRunError),
    /// Its run on a real device did not come to its end.
    #[error(transparent)]
    Native(#[from] NativeError),
    /// Its device is real, and only simulated ones can do this.
    #[error("{0} is a real device; name a simulated one")]
    Real(String),
}

fn logs(error: &KernelRunError) -> String {
    let folder = error.kept.as_ref();
    folder.map_or_else(String::new, |path| format!("\n  logs: {}", path.display()))
}

/// A cell that was run.
#[derive(Debug)]
pub struct Measured {
    /// Plan of the cell.
    pub plan: Plan,
    /// The measured cell, or the error.
    pub cell: Result<Cell, CellError>,
}

impl Measured {
    /// The error with the cell's name.
    pub fn complaint(&self) -> Option<String> {
        let reason = self.cell.as_ref().err()?;
        let variant = match &self.plan.settings.variant {
            Some(variant) => format!(", {}", variant.label()),
            None => String::new(),
        };
        Some(format!(
            "{} on {}{variant}: {reason}",
            self.plan.workload.name,
            self.plan.fs.name()
        ))
    }
}

/// Measures all cells; cells skipped because of an interruption are missing.
pub fn measure_all(
    kernel: Option<&Path>,
    subjects: &[Subject],
    plans: &[Plan],
    kept: &mut [Kept],
    threads: ThreadArguments,
    interrupt: &Interrupt,
    console: &Console,
) -> Vec<Measured> {
    let board = Board::new(subjects, plans, console);
    let earlier = plans.iter().map(|plan| {
        let cell = kept[plan.subject].cell(plan, &subjects[plan.subject]);
        Mutex::new(cell)
    });
    let earlier: Vec<Mutex<Option<Cell>>> = earlier.collect();
    let is_real = |number: &usize| subjects[plans[*number].subject].as_real().is_some();
    let (real, simulated): (Vec<usize>, Vec<usize>) = (0..plans.len()).partition(is_real);
    let mut cells: Vec<Option<Result<Cell, CellError>>> = Vec::new();
    cells.resize_with(plans.len(), || None);
    // Nothing else may run beside a real device: it would take processor time from its programs.
    for (numbers, threads) in [(real, 1), (simulated, threads.wanted())] {
        let done = at_once::run(
            numbers.len(),
            threads,
            &|| interrupt.asked(),
            |task| {
                let number = numbers[task];
                let plan = &plans[number];
                // Each cell is taken by one thread, once.
                let cell = earlier[number].lock().ok().and_then(|mut cell| cell.take());
                if let Some(cell) = cell {
                    return Ok(cell);
                }
                let watched = Watched {
                    board: &board,
                    number,
                    interrupt,
                };
                measure(kernel, &subjects[plan.subject], plan, &watched)
            },
            |done| {
                let number = numbers[done.number];
                let plan = &plans[number];
                if let Ok(cell) = done.outcome {
                    kept[plan.subject].keep(plan, &subjects[plan.subject], cell);
                }
                board.end(number);
            },
        );
        for (number, cell) in numbers.iter().zip(done) {
            cells[*number] = cell;
        }
    }
    board.clear();
    let measured = plans.iter().zip(cells).filter_map(|(plan, cell)| {
        let (plan, cell) = (plan.clone(), cell?);
        Some(Measured { plan, cell })
    });
    // After an interruption, failed cells are skipped: the interruption may be the cause.
    let stopped = interrupt.asked();
    measured.filter(|m| m.cell.is_ok() || !stopped).collect()
}

fn measure(
    kernel: Option<&Path>,
    subject: &Subject,
    plan: &Plan,
    watched: &Watched,
) -> Result<Cell, CellError> {
    if let Some(device) = subject.as_real() {
        return measure_real(device, subject, plan, watched);
    }
    let mut device = subject.device(1, plan.open)?;
    watched.board.begin(watched.number, device.capacity());
    let settings = plan.settings(subject);
    if plan.used {
        device.fill(1.0, Fill::Sequential, &mut |_| break_if(watched.stop()))?;
    }
    let card = Card {
        open: plan.open.unwrap_or(subject.card.open),
        ..subject.card
    };
    // The needs of simulated targets are checked before: there is a kernel.
    let kernel = kernel.unwrap_or(Path::new(""));
    Ok(cell::measure(
        kernel,
        plan.fs,
        &plan.workload,
        &settings,
        card,
        &mut device,
        watched,
    )?)
}

fn measure_real(
    device: &RealDevice,
    subject: &Subject,
    plan: &Plan,
    watched: &Watched,
) -> Result<Cell, CellError> {
    watched.board.begin(watched.number, device.capacity());
    let gone = || NativeError::Disk(DiskError::Gone(device.title().to_string()));
    let disk = device.disk().ok_or_else(gone)?;
    let settings = plan.settings(subject);
    Ok(native::measure(
        disk,
        plan.fs,
        &plan.workload,
        &settings,
        subject.card,
        watched,
    )?)
}
