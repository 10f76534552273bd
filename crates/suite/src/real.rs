//! The card review on an existing target, in real time: a file or a block device. Stages and figures are those of the
//! simulated review; there is one mode, the target's own attachment.

use crate::document::empty;
use crate::options::{ReviewObserver, ReviewOptions};
use crate::own_time::in_own_time;
use crate::review::{SHORTENED, all_stages};
use crate::step_runner::SuiteError;
use nandscope_measure::target::Target;
use nandscope_result::{ResultDocument, TargetInfo, procedure};
use std::collections::BTreeMap;

/// Reviews the target. `environment` is added to the result; all data on the target is lost.
///
/// # Errors
/// [`SuiteError::Step`] if a step cannot be done on the target at all, such as a test file that does not fit.
pub fn review_target<T: Target>(
    target: T,
    info: TargetInfo,
    environment: BTreeMap<String, String>,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let title = info.model.clone();
    let mut document = empty(title, info, options, procedure::CARD_REVIEW, SHORTENED);
    document.environment = environment;
    in_own_time(target, document, options, observer, stop, |runner| {
        all_stages(runner, options.quick)
    })
}
