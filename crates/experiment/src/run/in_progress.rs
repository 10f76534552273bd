//! A run that is going on: group after group on the target, and the result so far.

use super::interim::InterimResults;
use super::level;
use super::logs::{self, Watch};
use super::plan::{self, Plan};
use super::target::RunTarget;
use super::unwritten::{Empty, reads};
use super::{EarlierRun, Phase, Prepared, Run, RunError, RunObserver, dumps, figures};
use crate::precondition::Precondition;
use nandscope_device::break_if;
use nandscope_measure::build::{JobMeta, StepMeta, add_step, findings, step_result_freeing};
use nandscope_measure::depth_order;
use nandscope_measure::listened::Listened;
use nandscope_measure::runner::{Ending, GroupOutcome, Thread, run_group};
use nandscope_measure::steps::Attachment;
use nandscope_measure::target::Target;
use nandscope_measure::unwritten::{Unwritten, notice};
use nandscope_result::{FioReport, Notice, ResultDocument, WallClock, procedure, step_id};
use nandscope_workload::job::Job;
use std::time::{Instant, SystemTime};

/// See the module's text.
pub(super) struct RunInProgress<'a, T: RunTarget> {
    prepared: &'a Prepared<'a>,
    target: &'a mut T,
    observer: &'a mut dyn RunObserver,
    stop: &'a dyn Fn() -> bool,
    document: ResultDocument,
    /// Number of the document's notices that were made before the target was prepared.
    first_notices: usize,
    /// Groups that an interrupted run has done.
    earlier: usize,
    ending: Ending,
    /// `exitall` with `exit_what=all` has ended the jobs of the file.
    ends_file: bool,
    logs: Vec<(String, String)>,
    /// The files of `verify_dump`.
    dumps: Vec<Attachment>,
    /// Ranges that jobs of this run trimmed on a real target.
    trimmed: Empty,
    began: Instant,
}

impl<'a, T: RunTarget> RunInProgress<'a, T> {
    /// The target in its state before the run.
    pub(super) fn begin(
        prepared: &'a Prepared<'a>,
        target: &'a mut T,
        earlier: Option<EarlierRun>,
        observer: &'a mut dyn RunObserver,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, RunError> {
        let options = prepared.options;
        let groups = earlier.as_ref().map_or(0, |earlier| earlier.groups);
        let attachments = || earlier.iter().flat_map(|e| &e.attachments);
        let logs = attachments().filter_map(log_of).collect();
        let dumps = attachments().filter_map(dump_of).collect();
        let fresh = || {
            let mut document = empty(prepared, target);
            let known = plan::notices(&prepared.jobs, target.abilities());
            let placed = prepared.notice.iter().cloned().map(Notice::info);
            document.notices.extend(placed);
            document.notices.extend(known);
            document
        };
        let mut document = earlier.map_or_else(fresh, |e| e.document);
        let first_notices = document.notices.len();
        let began = Instant::now();
        if let Some(state) = options.precondition.describe() {
            if !options.is_conditioned {
                let state = (options.precondition, options.seed);
                prepare(target, state, observer, stop)?;
            }
            note(
                &mut document,
                format!("before the run the device was {state}"),
            );
        }
        Ok(RunInProgress {
            prepared,
            target,
            observer,
            stop,
            document,
            first_notices,
            earlier: groups,
            ending: Ending::Complete,
            ends_file: false,
            logs,
            dumps,
            trimmed: Empty::default(),
            began,
        })
    }

    /// Runs the groups one after the other, until the last or one that does not come to its end.
    ///
    /// # Errors
    /// [`RunError`] if a group cannot be started.
    pub(super) fn run(&mut self) -> Result<(), RunError> {
        let groups = self.prepared.jobs.groups();
        let mut first_thread = 1;
        for (index, group) in groups.iter().enumerate() {
            if index < self.earlier {
                let threads = group.iter().map(|job| job.numjobs as usize);
                first_thread += threads.sum::<usize>();
                continue;
            }
            match self.fill(group) {
                Err(error) if error.is_interruption() && !self.document.steps.is_empty() => {
                    self.ending = Ending::Interrupted;
                    self.note_left(groups.len() - index);
                    break;
                }
                filled => filled?,
            }
            let phase = Phase::Group {
                number: index + 1,
                of: groups.len(),
            };
            first_thread += self.run_group(index, group, first_thread, phase)?;
            if self.ending != Ending::Complete || self.ends_file {
                self.note_left(groups.len() - index - 1);
                break;
            }
        }
        Ok(())
    }

    /// Adds a notice with the number of groups that were not begun.
    fn note_left(&mut self, groups: usize) {
        if groups > 0 {
            note(
                &mut self.document,
                format!("{groups} further groups were not begun"),
            );
        }
    }

    /// Takes an error that ended the run for its end, so that what was measured before is kept.
    ///
    /// # Errors
    /// Returns the error if nothing was measured.
    pub(super) fn break_off(&mut self, error: RunError) -> Result<(), RunError> {
        if self.document.steps.is_empty() {
            return Err(error);
        }
        let text = error.to_string();
        self.document.notices.push(Notice::error(text.clone()));
        self.ending = Ending::Failed(text);
        Ok(())
    }

    /// Ends the run and returns its result.
    pub(super) fn finish(mut self) -> Run {
        self.document.complete &= self.ending == Ending::Complete;
        self.document.environment.extend(self.target.closing());
        self.document.disks = (self.target.disks())();
        self.document.wall.elapsed_s = Some(self.began.elapsed().as_secs_f64());
        Run {
            document: self.document,
            first_notices: self.first_notices,
            logs: logs::whole(self.logs),
            dumps: self.dumps,
            ending: self.ending,
        }
    }

    /// `nandscope_fullness`: the device is filled before the group of the job.
    fn fill(&mut self, group: &[Job]) -> Result<(), RunError> {
        let Some(percent) = group.iter().filter_map(|j| j.fullness_percent).max() else {
            return Ok(());
        };
        if percent > 0 {
            let state = Precondition::Sequential(f64::from(percent));
            let state = (state, self.prepared.options.seed);
            prepare(self.target, state, self.observer, self.stop)?;
            let names: Vec<_> = group.iter().map(|j| j.name.as_str()).collect();
            let text = format!(
                "before {} the device was filled to {percent} % in order",
                names.join(", ")
            );
            note(&mut self.document, text);
        }
        Ok(())
    }

    /// Runs one group; gives the number of its threads.
    fn run_group(
        &mut self,
        index: usize,
        group: &[Job],
        first_thread: usize,
        phase: Phase,
    ) -> Result<usize, RunError> {
        let mut watch = group.iter().any(|job| job.logs.any()).then(Watch::default);
        let watching = watch.as_mut().map(|w| (w, self.target.target().now()));
        let mut plan = plan::of_group(group, &self.prepared.context, first_thread, watching)?;
        plan.number_groups(self.reporting_group(group.first()));
        let threads = plan.threads.len();
        let empty = self.empty_for(group);
        self.target.begin_group(group, self.prepared.options.seed);
        let room = self.target.room();
        let disks = self.target.disks();
        self.observer.begin(phase);
        let meta = meta_of(index, group);
        let observer = &mut InterimResults {
            observer: &mut *self.observer,
            document: &self.document,
            meta: &meta,
            jobs: &plan.jobs,
            disks: &disks,
            began: self.began,
        };
        let outcome = match &mut watch {
            None => run_group(
                self.target.target(),
                plan.threads,
                None,
                observer,
                self.stop,
            ),
            Some(watch) => {
                let mut target = Listened::new(self.target.target(), watch);
                run_group(&mut target, plan.threads, None, observer, self.stop)
            }
        };
        self.observer.end();
        let mut outcome = outcome?;
        let level = match self.prepared.options.precondition {
            Precondition::Steady => level::notice(&outcome, (room, self.target.room())),
            _ => None,
        };
        let kept = (self.logs.len(), self.dumps.len());
        if let Some(watch) = watch {
            logs::add(&mut self.logs, watch.files());
        }
        let plan = Plan {
            threads: Vec::new(),
            ..plan
        };
        let warnings = empty.into_iter().chain(level).collect();
        self.keep(meta, &mut outcome, &plan, warnings);
        self.ending = outcome.ending;
        self.ends_file = outcome.ends_file;
        if self.ending == Ending::Complete
            && let Some((thread, job)) = self.target.read_back(group)
        {
            self.observer.record(&self.document, &[], None);
            let reported = self.reporting_group(group.last());
            let job = JobMeta {
                fio: job.fio.map(|fio| FioReport {
                    group: reported,
                    ..fio
                }),
                ..job
            };
            self.read_back(index, thread, job)?;
        }
        let found = self.target.dumps();
        if !found.is_empty() {
            dumps::add(&mut self.dumps, &self.target.info().name, found);
        }
        if self.ending == Ending::Complete {
            self.record(index + 1, kept);
        }
        Ok(threads)
    }

    /// Number of the group in which fio reports a job.
    fn reporting_group(&self, job: Option<&Job>) -> u32 {
        let groups = self.prepared.jobs.reporting_groups();
        let found = job.and_then(|job| groups.get(job.ordinal as usize));
        found.copied().unwrap_or_default()
    }

    /// Keeps the steps of a group that is over, with its logs and dumps, which are those from these numbers on.
    fn record(&mut self, groups: usize, (logs, dumps): (usize, usize)) {
        if !self.target.is_resumable() {
            self.observer.record(&self.document, &[], None);
            return;
        }
        let logs = self.logs[logs..].iter().map(|(name, text)| Attachment {
            name: format!("{LOG}{name}"),
            bytes: text.clone().into_bytes(),
        });
        let dumps = self.dumps[dumps..].iter().map(|dump| Attachment {
            name: format!("{DUMP}{}", dump.name),
            bytes: dump.bytes.clone(),
        });
        let files: Vec<_> = logs.chain(dumps).collect();
        self.observer
            .record(&self.document, &files, Some(groups as u64));
    }

    /// Reads back and checks what a group wrote, as a step of its own.
    fn read_back(&mut self, index: usize, thread: Thread, job: JobMeta) -> Result<(), RunError> {
        self.observer.begin(Phase::Verifying);
        let target = self.target.target();
        let outcome = run_group(target, vec![thread], None, self.observer, self.stop);
        self.observer.end();
        let mut outcome = outcome?;
        let meta = StepMeta {
            id: step_id::read_back(index + 1),
            title: job.name.clone(),
            section: "Jobs".to_string(),
            mode: None,
            description: "What the group wrote is read and compared.".to_string(),
        };
        let plan = Plan {
            threads: Vec::new(),
            jobs: vec![job],
            notices: Vec::new(),
        };
        self.keep(meta, &mut outcome, &plan, Vec::new());
        self.ending = outcome.ending;
        Ok(())
    }

    /// Warnings of reads of a real target that will find nothing; what the group writes and trims is noted for the
    /// groups after it.
    fn empty_for(&mut self, group: &[Job]) -> Vec<Notice> {
        if !self.target.abilities().has_page_cache {
            return Vec::new();
        }
        let capacity = self.target.target().capacity();
        let mut warnings = Vec::new();
        if group.iter().any(reads) {
            let Unwritten { ranges, is_sampled } = self.target.unwritten();
            warnings = Empty::of(ranges).warnings(group, capacity, is_sampled);
        }
        if warnings.is_empty() {
            warnings = self.trimmed.warnings(group, capacity, false);
        }
        self.trimmed.follow(group, capacity);
        warnings
    }

    /// Adds the step of a run to the document. The records of the outcome are empty afterwards.
    fn keep(
        &mut self,
        meta: StepMeta,
        outcome: &mut GroupOutcome,
        plan: &Plan,
        warnings: Vec<Notice>,
    ) {
        let mut step = step_result_freeing(outcome, meta, &plan.jobs);
        figures::add(&mut step);
        let mut notices = outcome.notices.clone();
        notices.extend(plan.notices.iter().map(|text| Notice::info(text.clone())));
        notices.extend(findings(outcome, &plan.jobs));
        notices.extend(notice(outcome));
        notices.extend(warnings);
        notices.extend(short(outcome));
        let (_, mismatches) = self.target.mismatches();
        notices.extend(mismatches.into_iter().map(Notice::error));
        notices.retain(|n| {
            self.document
                .notices
                .iter()
                .all(|known| known.text != n.text)
        });
        add_step(&mut self.document, step, &notices);
        // In a steady state the writes before change nothing.
        if self.prepared.options.precondition != Precondition::Steady {
            depth_order::check_last(&mut self.document);
        }
    }
}

/// Description of the step of a group.
fn meta_of(index: usize, group: &[Job]) -> StepMeta {
    let names: Vec<_> = group.iter().map(|j| j.name.as_str()).collect();
    let described: Vec<_> = group.iter().filter_map(|j| j.description.clone()).collect();
    StepMeta {
        id: step_id::group(index + 1),
        title: names.join(", "),
        section: "Jobs".to_string(),
        mode: None,
        description: described.join(" "),
    }
}

/// Brings the target into a state, drawn with a seed.
fn prepare<T: RunTarget>(
    target: &mut T,
    (state, seed): (Precondition, u64),
    observer: &mut dyn RunObserver,
    stop: &dyn Fn() -> bool,
) -> Result<(), RunError> {
    observer.begin(Phase::Filling);
    let done = target.fill(state, seed, &mut |progress| {
        observer.preparing(progress);
        break_if(stop())
    });
    observer.end();
    done
}

/// Prefixes of the names of logs and dumps among the attachments of a journal.
const LOG: &str = "log ";
const DUMP: &str = "dump ";

/// The log that an attachment is.
fn log_of(attachment: &Attachment) -> Option<(String, String)> {
    let name = attachment.name.strip_prefix(LOG)?;
    let text = String::from_utf8(attachment.bytes.clone()).ok()?;
    Some((name.to_string(), text))
}

/// The dump that an attachment is.
fn dump_of(attachment: &Attachment) -> Option<Attachment> {
    let name = attachment.name.strip_prefix(DUMP)?.to_string();
    let bytes = attachment.bytes.clone();
    Some(Attachment { name, bytes })
}

/// A notice if the run is shorter than one interval of its time line.
fn short(outcome: &GroupOutcome) -> Option<Notice> {
    let length = outcome.end.saturating_sub(outcome.timeline.origin());
    let interval = outcome.timeline.interval();
    (!length.is_zero() && length < interval).then(|| {
        Notice::info(format!(
            "the jobs ran for {length}, less than one interval of the series ({interval}): run them longer to get values over time"
        ))
    })
}

fn note(document: &mut ResultDocument, text: String) {
    document.notices.push(Notice::info(text));
}

fn empty<T: RunTarget>(prepared: &Prepared<'_>, target: &T) -> ResultDocument {
    let options = prepared.options;
    let started = humantime::format_rfc3339_seconds(SystemTime::now());
    let title = format!("{} on {}", options.job_name, target.title());
    ResultDocument {
        environment: target.environment(),
        wall: WallClock {
            started: Some(started.to_string()),
            elapsed_s: None,
        },
        notices: target.notices(),
        ..ResultDocument::begin(procedure::RUN, title, options.seed, target.info())
    }
}
