//! A probe of a target that is too small for some of its measurements: their answers are "cannot tell", and the others
//! continue.

use nandscope_infer::probe::{Options, Question, probe};
use nandscope_test_support::MockTarget;
use nandscope_units::{Bytes, Nanos};

#[test]
fn a_target_of_64_mib_is_probed_to_the_end() {
    // Operations are executed one after another, as on cards, and there is no boundary.
    let target = MockTarget::new(Bytes::mib(64), 1, Nanos::from_micros(100));
    let options = Options {
        time: Nanos::from_secs(60),
        ..Options::for_capacity(Bytes::mib(64))
    };
    let report = probe(target, &options, &|| false, &mut |_, _| {}).unwrap();
    assert_eq!(report.cut_short, None);
    let open = report.finding(Question::OpenLinear).unwrap();
    assert!(open.evidence.contains("too small"), "{open:?}");
    assert!(report.finding(Question::Discard).is_some());
}
