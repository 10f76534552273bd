//! Procedures on an existing target, in real time: a file or a block device.

use crate::figures;
use crate::options::{ReviewObserver, ReviewOptions};
use crate::progress::StepWatcher;
use crate::step_runner::{Flow, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::ResultDocument;

/// Measures on an existing target; returns the document with its figures. Steps finished by an earlier run are not
/// repeated, since their changes are on the target. An error in a later step does not lose the earlier steps: it
/// becomes a notice of the document, which is then incomplete.
///
/// # Errors
/// The error of `measure`, if nothing was measured before it.
pub(crate) fn in_own_time<T: Target>(
    target: T,
    document: ResultDocument,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
    measure: impl FnOnce(&mut StepRunner<'_, T>) -> Result<Flow, SuiteError>,
) -> Result<ResultDocument, SuiteError> {
    let earlier = options.earlier.as_ref().map(|e| e.document.clone());
    let mut document = earlier.unwrap_or(document);
    let mut watcher = StepWatcher::new(observer, "", 0, 1);
    let mut runner = StepRunner::new(
        target,
        options.seed,
        &mut document,
        None,
        stop,
        &mut watcher,
    );
    runner.resume();
    let flow = measure(&mut runner);
    let flow = runner.keep_measured(flow)?;
    drop(runner);
    figures::add(&mut document, None);
    if flow != Flow::Continue {
        document.complete = false;
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::empty;
    use nandscope_result::TargetInfo;
    use nandscope_test_support::MockTarget;
    use nandscope_units::{Bytes, Nanos};

    /// A procedure with one successful step if `succeeds`, then a step that fails.
    fn broken_off(succeeds: bool) -> Result<ResultDocument, SuiteError> {
        let target = MockTarget::new(Bytes::mib(1), 1, Nanos::from_secs_f64(1e-6));
        let options = ReviewOptions::default();
        let document = empty("a test".into(), TargetInfo::default(), &options, "test", "");
        let stop = || false;
        in_own_time(target, document, &options, &mut (), &stop, |runner| {
            if succeeds {
                runner.begin_step("first", "First", "Test", String::new(), 1);
                let _: Flow = runner.idle(Nanos::from_secs(1))?;
                runner.end_step();
            }
            Err(SuiteError::Step {
                step: "Second".to_string(),
                problem: "the card is gone".to_string(),
            })
        })
    }

    #[test]
    fn an_error_of_a_later_step_does_not_cost_the_earlier_ones() {
        let document = broken_off(true).unwrap();
        assert!(!document.complete);
        assert_eq!(document.steps.len(), 1);
        assert_eq!(document.steps[0].incomplete, None);
        let last = document.notices.last().unwrap();
        assert_eq!(last.level, nandscope_result::Level::Error);
        assert_eq!(last.text, "Second: the card is gone");
        assert!(broken_off(false).is_err());
    }
}
