//! The journal of finished steps next to a result ([`nandscope_measure::steps`]): how a command finds the journal of an
//! interrupted run, continues from it, and removes it.

use crate::console::Console;
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use nandscope_measure::real::{Recognition, Sampler, Samples, Volume};
use nandscope_measure::steps::{Attachment, Contents, Cursor, Head, StepJournal, StepJournalError};
use nandscope_result::{Notice, ResultDocument, TargetInfo};
use nandscope_units::Nanos;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Name of the attachment with the samples of a real target.
#[cfg(target_os = "linux")]
const SAMPLES: &str = "samples of the target";

/// Name of the journal in the folder of a report.
pub const IN_FOLDER: &str = "result.steps";

/// Everything on which the result of a command depends, by name. A resumed command must be given the same.
#[derive(Clone, Debug)]
pub struct Asked(BTreeMap<String, String>);

impl Asked {
    /// Starts with the name of the command and the version of nandscope.
    pub fn new(command: &str) -> Asked {
        let asked = Asked(BTreeMap::new());
        asked
            .and("command", command)
            .and("version", env!("CARGO_PKG_VERSION"))
    }

    /// Adds a value.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl ToString) -> Asked {
        self.0.insert(name.to_string(), value.to_string());
        self
    }

    /// Adds the name, kind, model and profile of a target.
    #[must_use]
    pub fn on(self, target: &TargetInfo) -> Asked {
        let profile = target.profile_sha256.clone().unwrap_or_default();
        self.and("target", &target.name)
            .and("kind of target", target.kind.as_str())
            .and("model", &target.model)
            .and("profile", profile)
    }

    /// Adds the name of the machine, for results that depend on it.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn here(self) -> Asked {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        self.and("machine", name.trim())
    }
}

/// The journal that belongs to a result file: its name followed by `.steps`. `None` if the result goes to
/// something that is not a regular file, such as a pipe.
pub fn beside(result: &Path) -> Option<PathBuf> {
    if std::fs::metadata(result).is_ok_and(|about| !about.is_file()) {
        return None;
    }
    let mut name = result.file_name()?.to_os_string();
    name.push(".steps");
    Some(result.with_file_name(name))
}

/// Path of a journal, checked before a target is opened or measured.
#[derive(Debug)]
pub struct Place {
    path: Option<PathBuf>,
    found: Option<(StepJournal, Contents)>,
    resume: bool,
    console: Console,
}

impl Place {
    /// Checks that a run can save its steps at `path` or, with `resume`, continue from the steps there. Without a path
    /// no steps are saved.
    ///
    /// # Errors
    /// `Exit::Usage` if another file has that name, if it has steps of an interrupted run without `--resume`, or if
    /// there is nothing to resume; `Exit::File` if it cannot be read or is in use.
    pub fn look(path: Option<PathBuf>, resume: bool, console: &Console) -> Result<Place, Failure> {
        let found = match &path {
            None => None,
            Some(path) => find(path)?,
        };
        let shown = path.as_deref().unwrap_or(Path::new("")).display();
        match (&found, resume) {
            (None, true) => Err(Failure::usage(match path {
                Some(_) => format!(
                    "nothing to resume: {shown} does not exist; start again without --resume"
                ),
                None => "--resume needs the steps next to a result; name the result with --result"
                    .to_string(),
            })),
            (Some((_, contents)), false) if !contents.records.is_empty() && !contents.written => {
                Err(Failure::usage(format!(
                    "{shown} has {} of an interrupted run; continue with --resume, make a report with `nandscope report --recover {shown} -o DIR`, or delete the file to start again",
                    steps(contents.steps())
                )))
            }
            (Some((_, contents)), true) if contents.holes().next().is_some() => {
                Err(Failure::usage(format!(
                    "{shown} is damaged in the middle and cannot be resumed; `nandscope report --recover {shown} -o DIR` makes a report of {} that can be read",
                    steps(contents.steps())
                )))
            }
            _ => Ok(Place {
                path,
                found,
                resume,
                console: *console,
            }),
        }
    }

    /// Compares the options of a command with those of the run to resume, before the target is opened, which may change
    /// it.
    ///
    /// # Errors
    /// `Exit::Usage` if the run to resume had other options.
    pub fn check(&self, asked: &Asked) -> Result<(), Failure> {
        match &self.found {
            Some((_, contents)) if self.resume => {
                let mut all = contents.head.asked.clone();
                all.extend(asked.0.clone());
                self.same(contents, &all)
            }
            _ => Ok(()),
        }
    }

    /// Whether a run is resumed, on a target that must not be prepared again.
    #[cfg(target_os = "linux")]
    pub fn resumes(&self) -> bool {
        self.resume
    }

    fn same(&self, contents: &Contents, asked: &BTreeMap<String, String>) -> Result<(), Failure> {
        let differences = contents.head.differences(asked);
        if differences.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} belongs to another measurement: {}; use --resume with the same command line and device",
            self.path.as_deref().unwrap_or(Path::new("")).display(),
            differences.join("; ")
        )))
    }

    /// Binds the journal to the values in `asked`; with `resume`, returns to the last point from which the run can continue.
    ///
    /// # Errors
    /// `Exit::Usage` if the run to resume had other options.
    pub fn begin(self, asked: Asked) -> Result<Keeper, Failure> {
        if let Some((_, contents)) = self.found.as_ref().filter(|_| self.resume) {
            self.same(contents, &asked.0)?;
        }
        let mut keeper = Keeper {
            path: self.path,
            asked: asked.0,
            console: self.console,
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            journal: None,
            stale: None,
            cursor: Cursor::default(),
            earlier: None,
            #[cfg(target_os = "linux")]
            sampler: None,
        };
        match self.found {
            Some((journal, contents)) if self.resume => keeper.resume(journal, contents),
            found => keeper.stale = found.map(|(journal, _)| journal),
        }
        Ok(keeper)
    }
}

fn find(path: &Path) -> Result<Option<(StepJournal, Contents)>, Failure> {
    match StepJournal::open(path) {
        Ok(found) => Ok(Some(found)),
        Err(StepJournalError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Ok(None)
        }
        Err(e @ (StepJournalError::Io { .. } | StepJournalError::InUse { .. })) => {
            Err(Failure::file(e))
        }
        Err(e @ (StepJournalError::Foreign { .. } | StepJournalError::NotRegular { .. })) => {
            Err(Failure::usage(format!(
                "{e}, but the journal of finished steps goes there; move it, or name another result"
            )))
        }
    }
}

fn steps(count: usize) -> String {
    match count {
        1 => "1 finished step".to_string(),
        count => format!("{count} finished steps"),
    }
}

/// Point at which a run continues.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The document at that point.
    pub document: ResultDocument,
    /// Number of finished parts.
    pub parts: u64,
    /// Attachments of all finished parts.
    pub attachments: Vec<Attachment>,
    /// Time since the last step was kept.
    ago: Option<Duration>,
}

impl Earlier {
    /// Adds a notice of the interruption to the document.
    #[cfg(target_os = "linux")]
    fn note(&mut self) {
        let last = self.document.steps.last();
        let ago = self.ago.map_or_else(String::new, |ago| {
            let seconds = Duration::from_secs(ago.as_secs());
            format!(", {} later", humantime::format_duration(seconds))
        });
        let text = format!(
            "the measurement was interrupted after the step \"{}\" and resumed{ago}; the time axis omits the interruption, in which the device may have been idle, cooled down or lost power",
            last.map_or("", |step| step.title.as_str())
        );
        self.document.notices.push(Notice::warning(text));
    }

    /// Time at which the clock of a target in real time continues.
    #[cfg(target_os = "linux")]
    pub fn end(&self) -> Nanos {
        let last = self.document.steps.last();
        last.map_or(Nanos::ZERO, |step| Nanos::from_secs_f64(step.end_s))
    }
}

/// Keeps finished steps while a run is under way.
#[derive(Debug)]
pub struct Keeper {
    /// `None` if no steps are kept.
    path: Option<PathBuf>,
    asked: BTreeMap<String, String>,
    console: Console,
    started: String,
    /// Created with the first step.
    journal: Option<StepJournal>,
    /// An obsolete journal at `path`, removed when the first step is kept or at the end.
    stale: Option<StepJournal>,
    cursor: Cursor,
    earlier: Option<Earlier>,
    /// Reads samples of a real target, by which a resumed run recognises it.
    #[cfg(target_os = "linux")]
    sampler: Option<Sampler>,
}

impl Keeper {
    fn resume(&mut self, mut journal: StepJournal, contents: Contents) {
        let shown = self.path.as_deref().unwrap_or(Path::new("")).display();
        for damage in &contents.damages {
            self.console.note(&format!(
                "{shown}: the last step is incomplete; {} bytes are dropped",
                damage.end - damage.start
            ));
        }
        let ago = journal.modified().and_then(|at| at.elapsed().ok());
        let point = contents.resume_point();
        let records = point.as_ref().map_or(0, |point| point.2);
        journal.rewind(&contents, records);
        let count = steps(contents.steps());
        match point {
            Some((document, parts, _)) => {
                let done = steps(document.steps.len());
                self.console
                    .note(&format!("{shown}: resuming after {done}"));
                self.cursor = Cursor::at(&document);
                let records = contents.records.into_iter().take(records);
                self.earlier = Some(Earlier {
                    document,
                    parts,
                    attachments: records.flat_map(|r| r.attachments).collect(),
                    ago,
                });
            }
            None => self.console.note(&format!(
                "{shown}: {count}; they are simulated again with the same results"
            )),
        }
        self.journal = Some(journal);
    }

    /// Compares a real target with the samples of the interrupted run, and keeps samples of it with every step from now
    /// on.
    ///
    /// # Errors
    /// `Exit::Usage` if the target is empty and the one of the interrupted run was not.
    #[cfg(target_os = "linux")]
    pub fn recognize(&mut self, volume: &Volume) -> Result<(), Failure> {
        // Samples only serve to recognise the target on `--resume`; the measurement needs none.
        self.sampler = Sampler::of(volume).ok();
        let Some(earlier) = &self.earlier else {
            return Ok(());
        };
        let mut kept = earlier.attachments.iter().rev();
        let then = kept.find(|attachment| attachment.name == SAMPLES);
        let then = then.and_then(|attachment| Samples::from_bytes(&attachment.bytes));
        let now = self
            .sampler
            .as_ref()
            .and_then(|sampler| sampler.take().ok());
        let name = volume.path().display();
        match then.zip(now).map(|(then, now)| then.recognize(&now)) {
            Some(Recognition::Same) => Ok(()),
            Some(Recognition::Another) => Err(Failure::usage(format!(
                "{name} is empty, but the target of the interrupted run held data, so it is another one; insert that one, or delete {} to start again",
                self.path
                    .as_deref()
                    .unwrap_or(Path::new("the journal"))
                    .display()
            ))),
            Some(Recognition::Unknown) | None => {
                let text = format!(
                    "cannot check whether {name} is the target of the interrupted run: no sampled block has its former contents"
                );
                self.doubt(&text);
                Ok(())
            }
        }
    }

    /// Warns on standard error and in the result that a resumed run may have another target than before.
    #[cfg(target_os = "linux")]
    pub fn doubt(&mut self, text: &str) {
        if let Some(earlier) = &mut self.earlier {
            self.console.note(&format!("warning: {text}"));
            earlier.document.notices.push(Notice::warning(text));
        }
    }

    /// Samples of the present contents of a real target.
    #[cfg(target_os = "linux")]
    fn samples(&self) -> Option<Attachment> {
        let samples = self.sampler.as_ref()?.take().ok()?;
        Some(Attachment {
            name: SAMPLES.to_string(),
            bytes: samples.to_bytes(),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn samples(&self) -> Option<Attachment> {
        None
    }

    /// Point at which an interrupted run continues; `None` for the beginning.
    pub fn earlier(&mut self) -> Option<Earlier> {
        self.earlier.take()
    }

    /// As [`Self::earlier`] for a target in real time; adds a notice of the interruption to the result.
    #[cfg(target_os = "linux")]
    pub fn interrupted(&mut self) -> Option<&Earlier> {
        let earlier = self.earlier.as_mut()?;
        earlier.note();
        Some(earlier)
    }

    /// Appends the additions to the document since the last call, and `attachments`, to the journal. `resume` is the number
    /// of finished parts if a run can continue from here.
    pub fn record(
        &mut self,
        document: &ResultDocument,
        attachments: &[Attachment],
        resume: Option<u64>,
    ) {
        let Some(path) = self.path.clone() else {
            return;
        };
        let entry = self.cursor.advance(document, resume);
        let mut attachments = attachments.to_vec();
        attachments.extend(self.samples());
        let kept = self
            .journal(&path, document)
            .and_then(|journal| journal.append(&attachments, &entry));
        if let Err(e) = kept {
            // The measurement continues: it is worth more than its journal.
            self.console.note(&format!(
                "{e}; the measurement continues without a journal of finished steps"
            ));
            self.path = None;
        }
    }

    fn journal(
        &mut self,
        path: &Path,
        document: &ResultDocument,
    ) -> Result<&mut StepJournal, StepJournalError> {
        if let Some(stale) = self.stale.take() {
            stale.remove()?;
        }
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => {
                let mut head = Head::new(self.asked.clone(), document);
                head.document.wall.started = Some(self.started.clone());
                StepJournal::create(path, &head)?
            }
        };
        Ok(self.journal.insert(journal))
    }

    /// Called when the result is on the disk. Removes the journal of a complete result; keeps that of an incomplete one
    /// for `--resume`, and returns a notice about it.
    pub fn finish(mut self, complete: bool) -> Option<String> {
        if let Some(stale) = self.stale.take() {
            self.tell(stale.remove().err());
        }
        let mut journal = self.journal.take()?;
        if complete {
            self.tell(journal.remove().err());
            return None;
        }
        self.tell(journal.mark_written().err());
        Some("--resume continues from the finished steps".to_string())
    }

    fn tell(&self, error: Option<StepJournalError>) {
        if let Some(e) = error {
            self.console.note(&e.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_of_a_result_is_named_after_it() {
        let named = |path: &str| beside(Path::new(path)).map(|p| p.display().to_string());
        assert_eq!(named("a/r.json").as_deref(), Some("a/r.json.steps"));
        assert_eq!(named("/dev/null"), None);
        assert_eq!(named("/"), None);
    }
}
