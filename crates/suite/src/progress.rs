//! Converts progress within a step to progress of the whole procedure: a procedure is a sequence of parts (a mode, a
//! port, a drive), a part a sequence of stages, a stage a number of steps of equal weight.

use crate::options::ReviewObserver;
use crate::step_runner::Watcher;
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;

/// Reports progress of the whole procedure to an observer while one part is under way.
pub(crate) struct StepWatcher<'a> {
    observer: &'a mut dyn ReviewObserver,
    mode: String,
    /// Share of the procedure before this part; then the share of this part.
    part: (f64, f64),
    title: String,
    /// Share of the part before the stage; then the share of the stage.
    stage: (f64, f64),
    /// Number of finished steps of the stage; then number of all its steps.
    steps: (u32, u32),
}

impl<'a> StepWatcher<'a> {
    /// The watcher of part `number` of `count` of equal weight.
    pub(crate) fn new(
        observer: &'a mut dyn ReviewObserver,
        mode: &str,
        number: usize,
        count: usize,
    ) -> Self {
        let mut watcher = StepWatcher {
            observer,
            mode: mode.to_string(),
            part: (0.0, 1.0),
            title: String::new(),
            stage: (0.0, 1.0),
            steps: (0, 1),
        };
        watcher.part(number, count);
        watcher
    }
}

impl Watcher for StepWatcher<'_> {
    fn part(&mut self, number: usize, count: usize) {
        let share = 1.0 / count.max(1) as f64;
        self.part = (number as f64 * share, share);
    }

    fn stage(&mut self, title: &str, base: f64, share: f64, steps: u32) {
        self.title = title.to_string();
        self.stage = (base, share);
        self.steps = (0, steps.max(1));
    }

    fn step_done(&mut self, document: &ResultDocument) {
        self.steps.0 += 1;
        let last = document.steps.last();
        if last.is_some_and(|step| step.incomplete.is_none()) {
            self.observer.step_done(document);
        }
    }

    fn step_skipped(&mut self) {
        self.steps.0 += 1;
    }

    fn phase_progress(&mut self, fraction: f64, at: Nanos) {
        let (done, steps) = self.steps;
        let of_stage = (f64::from(done) + fraction.clamp(0.0, 1.0)) / f64::from(steps);
        let of_session = self.stage.0 + self.stage.1 * of_stage.min(1.0);
        let whole = self.part.0 + self.part.1 * of_session;
        self.observer.progress(whole, &self.mode, &self.title, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Last(Vec<f64>);

    impl ReviewObserver for Last {
        fn progress(&mut self, fraction: f64, _: &str, _: &str, _: Nanos) {
            self.0.push(fraction);
        }
    }

    #[test]
    fn shares_of_sessions_stages_and_steps_multiply() {
        let mut last = Last(Vec::new());
        let mut watcher = StepWatcher::new(&mut last, "b", 1, 2);
        watcher.stage("half", 0.5, 0.5, 2);
        watcher.phase_progress(0.0, Nanos::ZERO);
        watcher.phase_progress(1.0, Nanos::ZERO);
        watcher.step_skipped();
        watcher.phase_progress(1.0, Nanos::ZERO);
        watcher.step_skipped();
        // More steps than announced do not exceed the stage.
        watcher.phase_progress(1.0, Nanos::ZERO);
        assert_eq!(last.0, [0.75, 0.875, 1.0, 1.0]);
    }
}
