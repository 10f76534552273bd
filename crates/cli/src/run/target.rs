//! Extends the targets of a run for the command: the properties that a journal depends on, resuming an interrupted run, and
//! saving the target. Also the observer that draws the progress and keeps the finished steps.

use super::Arguments;
use super::preparation::PreparationLine;
use super::printer::Printer;
use super::progress::Line;
use crate::console::Console;
use crate::failure::Failure;
use crate::steps::{Asked, Keeper};
use crate::target::Precondition;
use nandscope_experiment::Preparation;
use nandscope_experiment::run::{
    EarlierRun, Observer, Phase, Progress, RunError, RunObserver, RunTarget, SimulatedTarget,
};
use nandscope_measure::steps::Attachment;
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;

/// Operations on a target that only the `run` command needs: resuming and saving it, and identifying it in a journal.
pub trait CommandTarget: RunTarget {
    /// Whether the target runs in real time, not in virtual time.
    const IN_REAL_TIME: bool;

    /// Adds the properties of the target on which the result depends.
    fn asked(&self, asked: Asked) -> Asked;

    /// Checks that this is the target of the run that is being resumed.
    ///
    /// # Errors
    /// `Exit::Usage` if it is another target.
    fn recognize(&self, keeper: &mut Keeper) -> Result<(), Failure> {
        let _ = keeper;
        Ok(())
    }

    /// Continues an interrupted run: from its beginning, unless the target has persistent state.
    fn resume(&mut self, keeper: &mut Keeper) -> Option<EarlierRun> {
        let _ = keeper;
        None
    }

    /// Serializes the target, so that the run can be continued later.
    ///
    /// # Errors
    /// `Exit::Internal` if the target cannot be kept in a file.
    fn save(&self) -> Result<Vec<u8>, Failure>;
}

impl CommandTarget for SimulatedTarget {
    const IN_REAL_TIME: bool = false;

    fn asked(&self, asked: Asked) -> Asked {
        let about = self.about();
        asked
            .on(&self.info())
            .and("profile of the host", &about.host_source.text)
            .and("state before", about.state.unwrap_or_default())
            .and("contents", self.contents().unwrap_or_default())
    }

    fn save(&self) -> Result<Vec<u8>, Failure> {
        SimulatedTarget::save(self).map_err(Failure::internal)
    }
}

/// Draws the progress of each phase, prints results in between, and keeps finished steps in the journal.
pub struct CommandObserver<'a> {
    keeper: Keeper,
    printer: Printer,
    console: &'a Console,
    in_real_time: bool,
    line: Option<Line>,
    preparation: Option<PreparationLine>,
}

impl<'a> CommandObserver<'a> {
    /// An observer of a target in virtual or real time.
    pub fn new(keeper: Keeper, printer: Printer, in_real_time: bool, console: &'a Console) -> Self {
        CommandObserver {
            keeper,
            printer,
            console,
            in_real_time,
            line: None,
            preparation: None,
        }
    }

    /// Gives the journal and the printer back.
    pub fn into_parts(self) -> (Keeper, Printer) {
        (self.keeper, self.printer)
    }
}

impl Observer for CommandObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        if let Some(line) = &mut self.line {
            line.progress(progress);
        }
    }

    fn interim_interval(&self) -> Option<Nanos> {
        self.printer.interval()
    }
}

impl RunObserver for CommandObserver<'_> {
    fn begin(&mut self, phase: Phase) {
        let title = match phase {
            Phase::Filling => {
                self.preparation = Some(PreparationLine::new(self.console));
                return;
            }
            Phase::Group { of: 1, .. } => "run".to_string(),
            Phase::Group { number, of } => format!("group {number} of {of}"),
            Phase::Verifying => "verify".to_string(),
        };
        let line = Line::new(&title);
        self.line = Some(match self.in_real_time {
            true => line.in_real_time(),
            false => line,
        });
    }

    fn preparing(&mut self, progress: &Preparation) {
        if let Some(line) = &mut self.preparation {
            line.show(progress);
        }
    }

    fn end(&mut self) {
        if let Some(line) = self.preparation.take() {
            line.clear();
        }
        if let Some(line) = self.line.take() {
            line.clear();
        }
    }

    fn interim_result(&mut self, document: &ResultDocument) {
        // The run continues: if printing fails again, it is an error at the end.
        if let Err(failure) = self.printer.print(document, self.console) {
            self.console.note(&failure.text);
        }
    }

    fn record(
        &mut self,
        document: &ResultDocument,
        attachments: &[Attachment],
        resume: Option<u64>,
    ) {
        self.keeper.record(document, attachments, resume);
    }
}

#[cfg(target_os = "linux")]
pub use real::RealRunTarget;

#[cfg(target_os = "linux")]
mod real {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::target::real::{DiskWatch, Real, generator_cost};
    use nandscope_experiment::PreparationStep;
    use nandscope_experiment::run::{DiskReader, TargetAbilities, group_data};
    use nandscope_measure::real::RealTarget;
    use nandscope_measure::target::Target;
    use nandscope_measure::unwritten::Unwritten;
    use nandscope_measure::verify::Verifier;
    use nandscope_result::{Notice, TargetInfo};
    use nandscope_workload::job::Job;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// A file or block device.
    pub struct RealRunTarget {
        real: Real,
        cost: Option<String>,
        verifier: Option<Arc<Verifier>>,
        /// Watched from the first group on.
        disk: Option<DiskWatch>,
    }

    impl RealRunTarget {
        /// A run target of an open real target, for jobs of up to this queue depth.
        ///
        /// # Errors
        /// `Exit::Usage` if an option applies to simulated devices only.
        pub fn new(
            real: Real,
            arguments: &Arguments,
            depth: u32,
            interrupt: &Interrupt,
        ) -> Result<Self, Failure> {
            let given = [
                (arguments.host.is_some(), "--host"),
                (!arguments.params.params.is_empty(), "--param"),
                (arguments.save.is_some(), "--save"),
                (arguments.contents, "--contents"),
                (
                    arguments.precondition != Precondition::None,
                    "--precondition",
                ),
            ];
            if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
                return Err(Failure::usage(format!(
                    "{option} works with simulated devices only, and {} is a real target; omit it",
                    real.name
                )));
            }
            Ok(RealRunTarget::open(real, depth, interrupt))
        }

        /// A run target of an open real target, without options of simulated devices.
        pub fn open(real: Real, depth: u32, interrupt: &Interrupt) -> Self {
            RealRunTarget {
                real,
                cost: generator_cost(depth, interrupt),
                verifier: None,
                disk: None,
            }
        }
    }

    impl RunTarget for RealRunTarget {
        type Target = RealTarget;

        fn target(&mut self) -> &mut RealTarget {
            &mut self.real.target
        }

        fn title(&self) -> String {
            self.real.name.clone()
        }

        fn info(&self) -> TargetInfo {
            self.real.info()
        }

        fn abilities(&self) -> TargetAbilities {
            TargetAbilities {
                stores_contents: true,
                can_be_filled: false,
                has_page_cache: true,
            }
        }

        fn is_resumable(&self) -> bool {
            true
        }

        fn unwritten(&self) -> Unwritten {
            self.real.target.unwritten()
        }

        fn begin_group(&mut self, group: &[Job], seed: u64) {
            let data = group_data(group, seed, self.real.target.capacity());
            self.verifier = data.verifier().cloned();
            if self.disk.is_none() {
                self.disk = self.real.watch_disk();
            }
            self.real.target.write_from(data);
        }

        fn verifier(&self) -> Option<&Arc<Verifier>> {
            self.verifier.as_ref()
        }

        fn environment(&self) -> BTreeMap<String, String> {
            let mut all = self.real.environment();
            if let Some(cost) = &self.cost {
                all.insert("generator cost".to_string(), cost.clone());
            }
            all
        }

        fn closing(&self) -> Vec<(String, String)> {
            self.real.panel.since_then()
        }

        fn disks(&self) -> DiskReader {
            let watch = self.disk.clone();
            Box::new(move || watch.iter().filter_map(DiskWatch::so_far).collect())
        }

        fn notices(&self) -> Vec<Notice> {
            let engine = format!("driven by {}", self.real.target.describe_engine());
            let cost = self.cost.iter().map(|c| format!("the generator costs {c}"));
            let infos = self
                .real
                .remarks
                .iter()
                .cloned()
                .chain([engine])
                .chain(cost);
            let warnings = self.real.warnings.iter().cloned().map(Notice::warning);
            infos.map(Notice::info).chain(warnings).collect()
        }

        /// Returns an error: jobs with a precondition are refused before the run.
        fn fill(
            &mut self,
            _: Precondition,
            _: u64,
            _: &mut PreparationStep<'_>,
        ) -> Result<(), RunError> {
            Err(RunError::NotFillable)
        }
    }

    impl CommandTarget for RealRunTarget {
        const IN_REAL_TIME: bool = true;

        fn asked(&self, asked: Asked) -> Asked {
            self.real.asked(asked)
        }

        fn recognize(&self, keeper: &mut Keeper) -> Result<(), Failure> {
            keeper.recognize(self.real.target.volume())
        }

        fn resume(&mut self, keeper: &mut Keeper) -> Option<EarlierRun> {
            if let Some(earlier) = keeper.interrupted() {
                self.real.target.set_clock(earlier.end());
            }
            let earlier = keeper.earlier()?;
            Some(EarlierRun {
                document: earlier.document,
                groups: earlier.parts as usize,
                attachments: earlier.attachments,
            })
        }

        fn save(&self) -> Result<Vec<u8>, Failure> {
            Err(Failure::internal("a real target cannot be kept in a file"))
        }
    }
}
