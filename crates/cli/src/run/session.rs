//! A run that is going on: group after group on the target, the result so far, and what is kept
//! of it at the end, however it ended.

use super::figures;
use super::logs::{SharedWatch, WatchedTarget};
use super::plan::{self, Plan, Setting};
use super::progress::Line;
use super::subject::Subject;
use super::{Arguments, wants_logs};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::steps::Keeper;
use crate::target::Precondition;
use crate::{job, output};
use nandscope_measure::build::{JobMeta, StepMeta, add_step, step_result};
use nandscope_measure::runner::{Ending, GroupOutcome, Thread, run_group};
use nandscope_measure::steps::Attachment;
use nandscope_measure::target::Target;
use nandscope_measure::unwritten;
use nandscope_report::fio::Format;
use nandscope_result::{Notice, ResultDocument, WallClock, procedure};
use nandscope_workload::job::{Job, JobFile};
use std::time::{Instant, SystemTime};

/// See the module's text.
pub struct Session<S: Subject> {
    subject: S,
    document: ResultDocument,
    keeper: Keeper,
    /// Groups that an interrupted run has done.
    earlier: usize,
    interrupt: Interrupt,
    ending: Ending,
    logs: Vec<(String, String)>,
    began: Instant,
}

impl<S: Subject> Session<S> {
    /// The target in its state before the run.
    ///
    /// # Errors
    /// Where the target cannot be brought into that state.
    pub fn new(
        arguments: &Arguments,
        jobs: &JobFile,
        mut subject: S,
        mut keeper: Keeper,
        interrupt: Interrupt,
    ) -> Result<Self, Failure> {
        let earlier = subject.resume(&mut keeper);
        let groups = earlier.as_ref().map_or(0, |earlier| earlier.parts as usize);
        let attachments = earlier.iter().flat_map(|e| &e.attachments);
        let logs = attachments.filter_map(log_of).collect();
        let fresh = || {
            let mut document = empty(arguments, &subject);
            for text in job::notices(jobs) {
                note(&mut document, text.clone());
            }
            document
        };
        let mut document = earlier.map_or_else(fresh, |e| e.document);
        let began = Instant::now();
        if let Some(state) = arguments.precondition.describe() {
            let line = Line::new("prepare");
            line.say("the device is being filled");
            let prepared = subject.fill(arguments.precondition, arguments.seed);
            line.clear();
            prepared?;
            note(
                &mut document,
                format!("before the run the device was {state}"),
            );
        }
        Ok(Session {
            subject,
            document,
            keeper,
            earlier: groups,
            interrupt,
            ending: Ending::Complete,
            logs,
            began,
        })
    }

    /// Runs the groups one after the other, until the last or one that does not come to its end.
    ///
    /// # Errors
    /// Where a group cannot be begun.
    pub fn run(&mut self, jobs: &JobFile, setting: &Setting<'_>) -> Result<(), Failure> {
        let groups = jobs.groups();
        let mut first_thread = 1;
        for (index, group) in groups.iter().enumerate() {
            if index < self.earlier {
                let threads = group.iter().map(|job| job.numjobs as usize);
                first_thread += threads.sum::<usize>();
                continue;
            }
            self.fill(group, setting)?;
            let title = match groups.len() {
                1 => "run".to_string(),
                n => format!("group {} of {n}", index + 1),
            };
            first_thread += self.run_group(index, group, setting, first_thread, &title)?;
            if self.ending != Ending::Complete {
                let left = groups.len() - index - 1;
                if left > 0 {
                    note(
                        &mut self.document,
                        format!("{left} further groups were not begun"),
                    );
                }
                break;
            }
        }
        Ok(())
    }

    /// Takes an error that ended the run for its end, so that what was measured before is kept.
    ///
    /// # Errors
    /// With the error, where nothing was measured.
    pub fn break_off(&mut self, failure: Failure) -> Result<(), Failure> {
        if self.document.steps.is_empty() {
            return Err(failure);
        }
        let notice = Notice::error(failure.text.clone());
        self.document.notices.push(notice);
        self.ending = Ending::Failed(failure.text);
        Ok(())
    }

    /// `nandscope_fullness`: the device is filled before the group of the job.
    fn fill(&mut self, group: &[Job], setting: &Setting<'_>) -> Result<(), Failure> {
        let Some(percent) = group.iter().filter_map(|j| j.fullness_percent).max() else {
            return Ok(());
        };
        if percent > 0 {
            let state = Precondition::Sequential(f64::from(percent));
            self.subject.fill(state, setting.seed)?;
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
        setting: &Setting<'_>,
        first_thread: usize,
        title: &str,
    ) -> Result<usize, Failure> {
        let watch = group.iter().any(wants_logs).then(SharedWatch::default);
        let watching = watch.as_ref().map(|w| (w, self.subject.target().now()));
        let plan = plan::of_group(group, setting, first_thread, watching)?;
        let threads = plan.threads.len();
        self.subject.begin_group(group, setting.seed);
        let mut line = self.subject.line(title);
        let interrupt = self.interrupt.clone();
        let stop = move || interrupt.asked();
        let outcome = match &watch {
            None => run_group(self.subject.target(), plan.threads, None, &mut line, &stop),
            Some(watch) => {
                let mut target = WatchedTarget::new(self.subject.target(), watch.clone());
                run_group(&mut target, plan.threads, None, &mut line, &stop)
            }
        };
        line.clear();
        let outcome = outcome.map_err(Failure::usage)?;
        let logs = self.logs.len();
        if let Some(watch) = watch {
            self.logs.extend(watch.lock().files());
        }
        let plan = Plan {
            threads: Vec::new(),
            ..plan
        };
        let names: Vec<_> = group.iter().map(|j| j.name.as_str()).collect();
        let described: Vec<_> = group.iter().filter_map(|j| j.description.clone()).collect();
        let meta = StepMeta {
            id: format!("group-{}", index + 1),
            title: names.join(", "),
            section: "Jobs".to_string(),
            mode: None,
            description: described.join(" "),
        };
        self.keep(meta, &outcome, &plan);
        self.ending = outcome.ending;
        if self.ending == Ending::Complete
            && let Some((thread, job)) = self.subject.read_back(group)
        {
            self.keeper.record(&self.document, &[], None);
            self.read_back(index, thread, job)?;
        }
        if self.ending == Ending::Complete {
            self.record(index + 1, logs);
        }
        Ok(threads)
    }

    /// Keeps the steps of a group that is over, with its logs, which are those from `logs` on.
    fn record(&mut self, groups: usize, logs: usize) {
        if !self.subject.in_place() {
            self.keeper.record(&self.document, &[], None);
            return;
        }
        let logs = self.logs[logs..].iter().map(|(name, text)| Attachment {
            name: format!("{LOG}{name}"),
            bytes: text.clone().into_bytes(),
        });
        let logs: Vec<_> = logs.collect();
        self.keeper
            .record(&self.document, &logs, Some(groups as u64));
    }

    /// Reads back and checks what a group wrote, as a step of its own.
    fn read_back(&mut self, index: usize, thread: Thread, job: JobMeta) -> Result<(), Failure> {
        let mut line = self.subject.line("verify");
        let interrupt = self.interrupt.clone();
        let stop = move || interrupt.asked();
        let target = self.subject.target();
        let outcome = run_group(target, vec![thread], None, &mut line, &stop);
        line.clear();
        let outcome = outcome.map_err(Failure::usage)?;
        let meta = StepMeta {
            id: format!("group-{}-verify", index + 1),
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
        self.keep(meta, &outcome, &plan);
        self.ending = outcome.ending;
        Ok(())
    }

    fn keep(&mut self, meta: StepMeta, outcome: &GroupOutcome, plan: &Plan) {
        let mut step = step_result(outcome, meta, &plan.jobs);
        figures::add(&mut step);
        let mut notices = outcome.notices.clone();
        notices.extend(plan.notices.iter().map(|text| Notice::info(text.clone())));
        notices.extend(unwritten::notice(outcome));
        notices.extend(short(outcome));
        let (_, mismatches) = self.subject.mismatches();
        notices.extend(mismatches.into_iter().map(Notice::error));
        notices.retain(|n| {
            self.document
                .notices
                .iter()
                .all(|known| known.text != n.text)
        });
        add_step(&mut self.document, step, &notices);
    }

    /// Keeps what is to be kept, prints the summary, and says how it ended.
    ///
    /// # Errors
    /// Where something cannot be written.
    pub fn finish(mut self, arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
        self.document.complete &= self.ending == Ending::Complete;
        self.document.environment.extend(self.subject.closing());
        self.document.wall.elapsed_s = Some(self.began.elapsed().as_secs_f64());
        // The summary comes last: a reader that goes away early must not cost the result.
        let kept = self.write(arguments);
        let is_written = kept.iter().all(|(_, written)| written.is_ok());
        let is_saved = kept.iter().all(|(_, written)| match written {
            Ok(()) => true,
            Err(failure) => failure.saved,
        });
        // A whole result leaves nothing to recover; an incomplete one can still be resumed where it was.
        let is_whole = is_saved && self.document.complete;
        let resumable = match is_written || is_whole {
            true => self.keeper.finish(self.document.complete),
            false => None,
        };
        let printed = print(&self.document, &arguments.output_format, console);
        for (what, _) in kept.iter().filter(|(_, written)| written.is_ok()) {
            console.note(what);
        }
        let written = kept.into_iter().map(|(_, written)| written);
        output::all(written.chain([printed]))?;
        match &self.ending {
            Ending::Complete if has_errors(&self.document) => Ok(Exit::Partial),
            Ending::Complete => Ok(Exit::Done),
            Ending::Failed(why) => Err(Failure::new(Exit::Partial, why)),
            Ending::Interrupted => {
                let what = match &arguments.output {
                    Some(path) => format!("the partial result is kept in {}", path.display()),
                    None => "the partial result is printed above; with -o FILE it is kept".into(),
                };
                let resumable = resumable.map(|text| format!("; {text}"));
                let resumable = resumable.unwrap_or_default();
                Err(Failure::new(
                    Exit::Interrupted,
                    format!("interrupted; {what}{resumable}"),
                ))
            }
        }
    }

    /// Writes result, logs and device, each whatever became of the others; gives what each is, for people,
    /// and how it went.
    fn write(&self, arguments: &Arguments) -> Vec<(String, Result<(), Failure>)> {
        let mut kept = Vec::new();
        if let Some(path) = &arguments.output {
            let written = output::write_result(&self.document, path);
            kept.push((format!("result: {}", path.display()), written));
        }
        for (name, text) in &self.logs {
            let path = arguments.log_dir.join(name);
            let written = output::write_or_keep_in(&arguments.log_dir, name, text.as_bytes());
            kept.push((format!("log: {}", path.display()), written));
        }
        if let Some(path) = &arguments.save {
            let bytes = self.subject.save();
            let written = bytes.and_then(|bytes| output::write_or_keep(path, &bytes));
            kept.push((format!("device: {}", path.display()), written));
        }
        kept
    }
}

/// Prints the result in these formats, or a summary. Programs that read a format find nothing else in
/// it: notices go to standard error then.
fn print(document: &ResultDocument, formats: &[Format], console: &Console) -> Result<(), Failure> {
    let notices = document.notices.iter();
    let notices = notices.map(|n| console.paragraph(&format!("{}: {}", n.level, n.text), ""));
    if formats.is_empty() {
        let mut text = Format::Normal.text(document);
        text.extend(notices);
        return console.print(&text);
    }
    notices.for_each(|notice| console.note(notice.trim_end()));
    let mut texts = formats.iter().map(|format| format.text(document));
    texts.try_for_each(|text| console.print_data(&text))
}

/// What stands before the name of a log among the attachments of a journal.
const LOG: &str = "log ";

/// The log that an attachment is.
fn log_of(attachment: &Attachment) -> Option<(String, String)> {
    let name = attachment.name.strip_prefix(LOG)?;
    let text = String::from_utf8(attachment.bytes.clone()).ok()?;
    Some((name.to_string(), text))
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

fn has_errors(document: &ResultDocument) -> bool {
    let jobs = document.steps.iter().flat_map(|s| &s.jobs);
    jobs.into_iter().any(|j| !j.errors.is_empty())
}

fn note(document: &mut ResultDocument, text: String) {
    document.notices.push(Notice::info(text));
}

fn empty<S: Subject>(arguments: &Arguments, subject: &S) -> ResultDocument {
    let started = humantime::format_rfc3339_seconds(SystemTime::now());
    let notices = subject.notices();
    let title = format!("{} on {}", arguments.job_name(), subject.title());
    ResultDocument {
        environment: subject.environment(),
        wall: WallClock {
            started: Some(started.to_string()),
            elapsed_s: None,
        },
        notices,
        ..ResultDocument::begin(procedure::RUN, title, arguments.seed, subject.info())
    }
}
