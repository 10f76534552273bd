//! The result document of a procedure: how it begins, and looking a figure up in it. What stands in
//! it comes from the session.

use crate::review::ReviewOptions;
use crate::spec::SimSpec;
use nandscope_measure::result::{
    FORMAT, FORMAT_VERSION, Notice, ResultDocument, TargetInfo, WallClock,
};

/// A document in which nothing has been measured yet. `shortened` says what a quick run leaves out;
/// it stands in the document where the run is one.
pub(crate) fn blank(
    spec: &SimSpec,
    options: &ReviewOptions,
    procedure: &str,
    shortened: &str,
) -> ResultDocument {
    let title = spec.profile.device.title.clone();
    empty(title, spec.target_info(), options, procedure, shortened)
}

/// The same for a target of any kind.
pub(crate) fn empty(
    title: String,
    target: TargetInfo,
    options: &ReviewOptions,
    procedure: &str,
    shortened: &str,
) -> ResultDocument {
    let notices = if options.quick && !shortened.is_empty() {
        vec![notice("warning", shortened.to_string())]
    } else {
        Vec::new()
    };
    ResultDocument {
        format: FORMAT.to_string(),
        version: FORMAT_VERSION,
        generator: concat!("nandscope ", env!("CARGO_PKG_VERSION")).to_string(),
        procedure: procedure.to_string(),
        title,
        seed: options.seed,
        target,
        environment: Default::default(),
        wall: WallClock::default(),
        complete: true,
        steps: Vec::new(),
        figures: Vec::new(),
        notices,
    }
}

/// A remark on the document as a whole.
pub(crate) fn notice(level: &str, text: String) -> Notice {
    Notice {
        level: level.to_string(),
        text,
        step: None,
    }
}

/// The value of the figure of that identifier, wherever in the document it stands.
pub(crate) fn value(document: &ResultDocument, id: &str) -> Option<f64> {
    let steps = document.steps.iter().flat_map(|s| &s.figures);
    let mut figures = steps.chain(&document.figures);
    figures.find(|f| f.id == id).map(|f| f.value)
}
