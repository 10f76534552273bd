//! The result document of a procedure: creates it, and looks up figures. The runner fills it.

use crate::options::ReviewOptions;
use crate::spec::SimSpec;
use nandscope_result::{Notice, ResultDocument, TargetInfo};

/// A document without measurements. `shortened` describes what a quick run leaves out; a quick run
/// has it as a notice.
pub(crate) fn blank(
    spec: &SimSpec,
    options: &ReviewOptions,
    procedure: &str,
    shortened: &str,
) -> ResultDocument {
    let title = spec.profile.device.title.clone();
    empty(title, spec.target_info(), options, procedure, shortened)
}

/// The document of a procedure in parts that are independent of each other, and how many of them are
/// done: what an earlier run left, or a blank one.
pub(crate) fn begun(
    spec: &SimSpec,
    options: &ReviewOptions,
    procedure: &str,
    shortened: &str,
) -> (ResultDocument, usize) {
    match &options.earlier {
        Some(earlier) => (earlier.document.clone(), earlier.parts as usize),
        None => (blank(spec, options, procedure, shortened), 0),
    }
}

/// A blank document for a target of any kind.
pub(crate) fn empty(
    title: String,
    target: TargetInfo,
    options: &ReviewOptions,
    procedure: &str,
    shortened: &str,
) -> ResultDocument {
    let quick = options.quick && !shortened.is_empty();
    let notices = quick.then(|| Notice::warning(shortened));
    ResultDocument {
        quick,
        notices: notices.into_iter().collect(),
        ..ResultDocument::begin(procedure, title, options.seed, target)
    }
}

/// The value of the figure with that identifier, wherever it is in the document.
pub(crate) fn value(document: &ResultDocument, id: &str) -> Option<f64> {
    document.all_figures().find(|f| f.id == id).map(|f| f.value)
}
