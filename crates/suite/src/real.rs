//! The card review on a target that is there already, in its own time: a file or a block device.
//! Stages and figures are those of the simulated review; there is one way of attachment, the one
//! that the target has.

use crate::document::empty;
use crate::figures;
use crate::progress::SessionWatcher;
use crate::review::{ReviewObserver, ReviewOptions, SHORTENED, all_stages};
use crate::session::{Flow, Session, SuiteError};
use nandscope_measure::result::{ResultDocument, TargetInfo};
use nandscope_measure::target::Target;
use std::collections::BTreeMap;

/// Reviews the target. `environment` goes into the result; everything on the target is lost.
///
/// # Errors
/// Where a step cannot be done on the target at all, such as a test file that does not fit.
pub fn review_target<T: Target>(
    target: T,
    info: TargetInfo,
    environment: BTreeMap<String, String>,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let title = info.model.clone();
    let mut document = empty(title, info, options, "card review", SHORTENED);
    document.environment = environment;
    in_own_time(target, document, options, observer, stop, |session| {
        all_stages(session, options.quick)
    })
}

/// Measures on a target that is there already, and gives the document with its figures. Steps that an
/// earlier run has done are not done again: what they changed is on the target.
///
/// # Errors
/// As `measure`.
pub(crate) fn in_own_time<T: Target>(
    target: T,
    document: ResultDocument,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
    measure: impl FnOnce(&mut Session<'_, T>) -> Result<Flow, SuiteError>,
) -> Result<ResultDocument, SuiteError> {
    let earlier = options.earlier.as_ref().map(|e| e.document.clone());
    let mut document = earlier.unwrap_or(document);
    let mut watcher = SessionWatcher::new(observer, "", 0, 1);
    let mut session = Session::new(
        target,
        options.seed,
        &mut document,
        None,
        stop,
        &mut watcher,
    );
    session.resume();
    let flow = measure(&mut session);
    drop(session);
    figures::add(&mut document, None);
    if flow? == Flow::Stop {
        document.complete = false;
    }
    Ok(document)
}
