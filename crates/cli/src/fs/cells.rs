//! Runs cells on all processors. Each has its own device and kernel; the order of running has no influence on the
//! results.

use super::Subject;
use super::board::{Board, Watched};
use super::kept::Kept;
use super::plan::Plan;
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::threads::ThreadArguments;
use nandscope_device::{DeviceError, Fill, FillError, break_if};
use nandscope_suite::at_once;
use nandscope_uml::cell::{self, Card, Cell};
use nandscope_uml::kernel_run::KernelRunError;
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
    kernel: &Path,
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
    let cells = at_once::run(
        plans.len(),
        threads.wanted(),
        &|| interrupt.asked(),
        |number| {
            let plan = &plans[number];
            // Each cell is taken by one thread, once.
            if let Some(cell) = earlier[number].lock().ok().and_then(|mut cell| cell.take()) {
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
            let plan = &plans[done.number];
            if let Ok(cell) = done.outcome {
                kept[plan.subject].keep(plan, &subjects[plan.subject], cell);
            }
            board.end(done.number);
        },
    );
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
    kernel: &Path,
    subject: &Subject,
    plan: &Plan,
    watched: &Watched,
) -> Result<Cell, CellError> {
    let mut device = match plan.open {
        None => subject.device(1)?,
        Some(open) => subject.device_with_open(1, open)?,
    };
    watched.board.begin(watched.number, device.capacity());
    let settings = plan.settings(subject);
    if plan.used {
        device.fill(1.0, Fill::Sequential, &mut |_| break_if(watched.stop()))?;
    }
    let card = Card {
        open: plan.open.unwrap_or(subject.card.open),
        ..subject.card
    };
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
