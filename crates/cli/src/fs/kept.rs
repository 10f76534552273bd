//! Measured cells, saved at once in the journal next to the result of their target, and the cells saved by an
//! interrupted command.

use super::options::Chosen;
use super::plan::Plan;
use super::{Arguments, Subject, result_document, version_of};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{self, Made};
use crate::steps::{self, Keeper, Place};
use nandscope_measure::steps::Attachment;
use nandscope_result::ResultDocument;
use nandscope_uml::build::Kernel;
use nandscope_uml::cell::Cell;
use nandscope_uml::document;
use nandscope_uml::job::Settings;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The cells of a target that are kept.
pub struct Kept {
    keeper: Keeper,
    /// The result so far: a step for every cell of the table.
    document: ResultDocument,
    /// Cells of an interrupted command, by their plans.
    earlier: BTreeMap<String, Vec<u8>>,
    /// Cells that are in the journal.
    count: u64,
    first_seed: u64,
    /// The folder of the result, if it was made for it.
    _made: Option<Made>,
}

impl Kept {
    /// A store of cells for every target.
    ///
    /// # Errors
    /// `Exit::Usage` if there are cells of an interrupted run without `--resume`, or `--resume` finds none that fit.
    pub fn all(
        arguments: &Arguments,
        chosen: &Chosen,
        subjects: &[Subject],
        kernel: Option<&Kernel>,
        console: &Console,
    ) -> Result<Vec<Kept>, Failure> {
        if arguments.resume {
            let mut folders = subjects.iter().filter_map(|s| arguments.folder(s.short()));
            if subjects.len() > 1 && !folders.any(|f| f.join(steps::IN_FOLDER).exists()) {
                return Err(Failure::usage(format!(
                    "nothing to resume: no target has a {} in its folder; start again without --resume",
                    steps::IN_FOLDER
                )));
            }
        }
        let one = |subject: &Subject| {
            let version = version_of(subject, kernel);
            Kept::begin(
                arguments,
                chosen,
                subject,
                subjects.len(),
                &version,
                console,
            )
        };
        subjects.iter().map(one).collect()
    }

    fn begin(
        arguments: &Arguments,
        chosen: &Chosen,
        subject: &Subject,
        subjects: usize,
        version: &str,
        console: &Console,
    ) -> Result<Kept, Failure> {
        let folder = arguments.folder(subject.short());
        let made = arguments.output.as_deref().zip(folder.as_deref());
        let made = made.map(|(output, folder)| {
            let inside = folder.strip_prefix(output).unwrap_or(Path::new(""));
            output::check_folder_in(output, inside)
        });
        let made = made.transpose()?;
        let path: Option<PathBuf> = folder.as_deref().map(|f| f.join(steps::IN_FOLDER));
        // With several targets, only those whose measurement has begun have a journal.
        let there = path.as_ref().is_some_and(|path| path.exists());
        let resume = arguments.resume && (there || subjects == 1);
        let blank = result_document(subject, &[], chosen, version);
        let asked = subject
            .asked(&blank)
            .and("cells", chosen.asked())
            .and("kernel", version);
        let mut keeper = Place::look(path, resume, console)?.begin(asked)?;
        let earlier = keeper.earlier();
        let count = earlier.as_ref().map_or(0, |earlier| earlier.parts);
        let attachments = earlier.iter().flat_map(|e| e.attachments.clone());
        Ok(Kept {
            earlier: attachments.map(|a| (a.name, a.bytes)).collect(),
            document: earlier.map_or(blank, |earlier| earlier.document),
            keeper,
            count,
            first_seed: chosen.seed(),
            _made: made,
        })
    }

    /// The cell of this plan, if it was measured before.
    pub fn cell(&self, plan: &Plan, subject: &Subject) -> Option<Cell> {
        let bytes = self.earlier.get(&name(plan))?;
        let settings = plan.settings(subject);
        // A cell that cannot be read is measured again.
        Cell::from_bytes(bytes, plan.fs, &plan.workload.name, settings).ok()
    }

    /// Saves a measured cell.
    pub fn keep(&mut self, plan: &Plan, subject: &Subject, cell: &Cell) {
        let name = name(plan);
        if self.earlier.contains_key(&name) {
            return;
        }
        let Ok(bytes) = cell.to_bytes() else { return };
        if plan.group.is_empty() {
            let step = document::step(cell, subject.card, self.first_seed);
            self.document.steps.push(step);
        }
        self.count += 1;
        let cell = Attachment { name, bytes };
        self.keeper
            .record(&self.document, &[cell], Some(self.count));
    }

    /// The result of the target is on the disk.
    pub fn finish(self, complete: bool) {
        // The notice is dropped: the command prints one for all targets.
        let _ = self.keeper.finish(complete);
    }
}

/// Key of a cell among those of a target; the time limit is not part of it.
fn name(plan: &Plan) -> String {
    let settings = Settings {
        wall: Settings::default().wall,
        ..plan.settings.clone()
    };
    let plan = Plan {
        subject: 0,
        settings,
        ..plan.clone()
    };
    format!("{plan:?}")
}
