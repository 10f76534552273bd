//! Options of a procedure, and the observer of its progress.

use crate::spec::{Mode, SimSpec};
use crate::step_runner::SuiteError;
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;

/// Options of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewOptions {
    /// Names of the selected modes (case-insensitive); all if empty.
    pub modes: Vec<String>,
    /// Seed of the random number generator.
    pub seed: u64,
    /// Whether the run is shortened: a tenth of the data, and one pass instead of three.
    pub quick: bool,
    /// Finished part of an interrupted review with the same options, to be continued.
    pub earlier: Option<Earlier>,
}

/// Point at which an interrupted review stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// Document at that point; every step in it is finished.
    pub document: ResultDocument,
    /// Number of finished parts (simulated devices only), as in [`ReviewObserver::part_done`].
    pub parts: u64,
}

/// Receives the progress and the results of a procedure.
pub trait ReviewObserver {
    /// Called with the finished share of the whole review (0 to 1), the current mode and step, and the time of the
    /// target's clock.
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos) {
        let _ = (fraction, mode, step, at);
    }

    /// Called when a step is finished: the last one of the document.
    fn step_done(&mut self, document: &ResultDocument) {
        let _ = document;
    }

    /// Called when the first `parts` parts of a procedure are complete. The next part starts with a fresh device, so
    /// that an interrupted procedure can be resumed there.
    fn part_done(&mut self, document: &ResultDocument, parts: u64) {
        let _ = (document, parts);
    }
}

/// Ignores all calls.
impl ReviewObserver for () {}

/// The modes named in the options; all if none are named.
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
