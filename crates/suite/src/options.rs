//! Options of a procedure, and the observer of its progress.

use crate::spec::{Mode, SimSpec};
use crate::step_runner::SuiteError;
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;

/// Options of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewOptions {
    /// Only these modes, by name (without regard to case); all where empty.
    pub modes: Vec<String>,
    /// Seed of the random number generator.
    pub seed: u64,
    /// A tenth of the data and one pass instead of three.
    pub quick: bool,
    /// Finished part of an interrupted review with the same options, to be continued.
    pub earlier: Option<Earlier>,
}

/// Point at which an interrupted review stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// Its document at that place; every step in it is finished.
    pub document: ResultDocument,
    /// Of a simulated device: the parts that are done, as in [`ReviewObserver::part_done`].
    pub parts: u64,
}

/// Receives the progress and the results of a procedure.
pub trait ReviewObserver {
    /// Share of the whole review that is done (0 to 1), the mode and step under way, and the time
    /// on the target's clock.
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos) {
        let _ = (fraction, mode, step, at);
    }

    /// A step is finished: the last one of the document.
    fn step_done(&mut self, document: &ResultDocument) {
        let _ = document;
    }

    /// The first `parts` parts of a procedure are complete. The next one starts with a fresh device, so that an
    /// interrupted procedure can be resumed there.
    fn part_done(&mut self, document: &ResultDocument, parts: u64) {
        let _ = (document, parts);
    }
}

/// Observes nothing.
impl ReviewObserver for () {}

/// The modes that were asked for; all where none were.
pub(crate) fn chosen_modes<'a>(
    spec: &'a SimSpec,
    options: &ReviewOptions,
) -> Result<Vec<&'a Mode>, SuiteError> {
    let mut chosen: Vec<&Mode> = Vec::new();
    for name in &options.modes {
        let found = spec
            .modes
            .iter()
            .find(|m| m.name.eq_ignore_ascii_case(name));
        let known = || {
            spec.modes
                .iter()
                .map(|m| format!("`{}`", m.name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        chosen.push(found.ok_or_else(|| {
            SuiteError::Target(format!(
                "unknown mode `{name}` of {}; it has {}",
                spec.name,
                known()
            ))
        })?);
    }
    Ok(if chosen.is_empty() {
        spec.modes.iter().collect()
    } else {
        chosen
    })
}
