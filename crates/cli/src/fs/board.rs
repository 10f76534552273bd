//! Progress of the running cells, for the terminal: number of finished cells, progress of the others, estimated time
//! left.

use super::Subject;
use super::plan::Plan;
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_uml::observer::{Observer, Progress};
use nandscope_units::Bytes;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Share of a cell's progress at which its file system has been filled; the work and the check follow.
const FILLED: f64 = 0.95;

/// Progress of all cells. Each is reported by the thread that runs the cell.
pub struct Board<'a> {
    subjects: &'a [Subject],
    plans: &'a [Plan],
    console: &'a Console,
    state: Mutex<State>,
}

struct State {
    line: Line,
    done: usize,
    running: BTreeMap<usize, Running>,
}

/// A cell that runs.
struct Running {
    /// Bytes that fill its file system; zero if it is not filled.
    to_fill: u64,
    progress: Option<Progress>,
}

impl Running {
    /// Finished share, 0 to 1. The amount that a workload will write is unknown.
    fn share(&self) -> f64 {
        let written = self.progress.map_or(0, |p| p.written.0);
        match self.to_fill {
            0 => 0.0,
            all => (written as f64 / all as f64).min(1.0) * FILLED,
        }
    }
}

impl<'a> Board<'a> {
    /// A board for these cells.
    pub fn new(subjects: &'a [Subject], plans: &'a [Plan], console: &'a Console) -> Self {
        Board {
            subjects,
            plans,
            console,
            state: Mutex::new(State {
                line: Line::new("fs"),
                done: 0,
                running: BTreeMap::new(),
            }),
        }
    }

    /// The cell `number` begins, on a device of that capacity.
    pub fn begin(&self, number: usize, capacity: Bytes) {
        let running = Running {
            to_fill: to_fill(&self.plans[number], capacity),
            progress: None,
        };
        let mut state = self.state();
        state.running.insert(number, running);
        self.show(&mut state);
    }

    /// The cell `number` has ended.
    pub fn end(&self, number: usize) {
        let mut state = self.state();
        state.running.remove(&number);
        state.done += 1;
        self.show(&mut state);
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        self.state().line.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &mut State) {
        let cells = self.plans.len();
        let running: f64 = state.running.values().map(Running::share).sum();
        let share = (state.done as f64 + running) / cells as f64;
        let mut text = format!("{} of {cells} cells done", state.done);
        if let Some((number, first)) = state.running.first_key_value() {
            text.push_str(&self.first(*number, first));
        }
        match state.running.len() {
            0 | 1 => {}
            more => text.push_str(&format!(" ({} more at once)", more - 1)),
        }
        state.line.tell(Some(share), text, self.console);
    }

    fn first(&self, number: usize, running: &Running) -> String {
        let plan = &self.plans[number];
        let (card, fs) = (self.subjects[plan.subject].short(), plan.fs.name());
        let mut text = format!("; {card}, {fs}, {}", plan.workload.name);
        if let Some(progress) = running.progress {
            let written = progress.written.as_gb();
            let clock = match self.subjects[plan.subject].as_real() {
                Some(_) => "",
                None => " virtual",
            };
            let at = progress.at;
            text.push_str(&match running.to_fill {
                0 => format!(": {written:.1} GB, {at}{clock}"),
                all => format!(
                    ": {written:.1} GB, {:.1} GB fill it, {at}{clock}",
                    Bytes(all).as_gb()
                ),
            });
        }
        text
    }
}

/// Approximate number of bytes that fill the file system of a cell before its work.
fn to_fill(plan: &Plan, capacity: Bytes) -> u64 {
    let settings = &plan.settings;
    let start = settings.partition_start.map_or(0, |at| at.0);
    let size = settings
        .partition_size
        .map_or(capacity.0 - start.min(capacity.0), |s| s.0);
    let once = size / 100 * u64::from(settings.fullness);
    // Each round of aging deletes a third of the data and fills up again.
    once + once / 3 * u64::from(settings.age_rounds)
}

/// The run of one cell, as its kernel's observer.
pub struct Watched<'a> {
    /// Board that shows its progress.
    pub board: &'a Board<'a>,
    /// Number of the cell among all cells.
    pub number: usize,
    /// Whether to stop.
    pub interrupt: &'a Interrupt,
}

impl Observer for Watched<'_> {
    fn stop(&self) -> bool {
        self.interrupt.asked()
    }

    fn progress(&self, progress: Progress) {
        let mut state = self.board.state();
        if let Some(running) = state.running.get_mut(&self.number) {
            running.progress = Some(progress);
        }
        self.board.show(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_uml::filesystem::FileSystem;
    use nandscope_uml::job::Settings;
    use nandscope_uml::workload;
    use nandscope_units::Nanos;

    #[test]
    fn the_share_of_a_cell_follows_from_what_fills_it() {
        let settings = Settings {
            fullness: 80,
            age_rounds: 3,
            partition_start: Some(Bytes::mib(50)),
            ..Settings::default()
        };
        let own = workload::own("x", "");
        let plan = Plan::new(0, FileSystem::Ext4, own, settings);
        let to_fill = to_fill(&plan, Bytes::mib(150));
        assert!(to_fill.abs_diff(Bytes::mib(160).0) < 1000, "{to_fill}");
        let at = |written| Running {
            to_fill,
            progress: Some(Progress {
                at: Nanos(1),
                written,
            }),
        };
        assert!((at(Bytes::mib(80)).share() - FILLED / 2.0).abs() < 1e-6);
        assert!((at(Bytes::mib(800)).share() - FILLED).abs() < 1e-6);
    }
}
