//! The result document of a procedure: creates it, and looks up figures. The runner fills it.

use crate::options::ReviewOptions;
use crate::spec::SimSpec;
use nandscope_result::{Notice, ResultDocument, TargetInfo};

/// A document without measurements. `shortened` is the notice of a quick run: what it leaves out.
pub(crate) fn blank(
    spec: &SimSpec,
    options: &ReviewOptions,
    procedure: &str,
    shortened: &str,
) -> ResultDocument {
    let title = spec.profile.device.title.clone();
    empty(title, spec.target_info(), options, procedure, shortened)
}

/// Document of a procedure of independent parts, and the number of finished parts: those of an earlier run, or a blank
/// document.
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

/// Value of the figure with this identifier, in any step of the document.
pub(crate) fn value(document: &ResultDocument, id: &str) -> Option<f64> {
    document.all_figures().find(|f| f.id == id).map(|f| f.value)
}
