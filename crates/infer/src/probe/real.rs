//! Limits the confidences of answers about real targets. Confidences were counted on simulated devices, which have no
//! host cache and no other users, and are upper limits on a real target. It measures nothing.

use super::Report;
use super::confidence::{LEVELS, LIKELY, level};

/// Runs recorded on real cards with an inferred AU, and how many of them agree with the human reading (docs/probe.md, "From
/// flashbench"): no answer about a real device has a higher confidence.
const RECORDED: (u32, u32) = (16, 16);
/// Interquartile range of equal reads, as a share of their median, up to which a target counts as quiet: the three pages of a TLC
/// word line take 49 to 67 µs to read.
const QUIET: f64 = 0.35;
/// Interquartile range, as a share of the median, above which times say little about the device.
const NOISY: f64 = 1.0;
/// Limit of the confidences if the spread is between `QUIET` and `NOISY`.
const NOISY_MOST: f64 = 0.8;

/// Lowers the confidences for a real target and records why. `layers` are reasons why times may not be those of the flash, such
/// as a cache, a file system or the host of a virtual machine.
pub fn doubt(report: &mut Report, layers: &[String]) {
    let mut doubts = vec![
        "confidences were counted on simulated devices and are upper limits for real ones"
            .to_string(),
    ];
    let mut most = level(RECORDED.0, RECORDED.1).min(LIKELY);
    if let Some((share, limit)) = report.scatter.and_then(limit) {
        most = most.min(limit);
        doubts.push(format!(
            "equal reads scatter by {:.0} % of their time: confidences are {:.0} % at most",
            100.0 * share,
            100.0 * limit
        ));
    }
    if !layers.is_empty() {
        most = LEVELS[LEVELS.len() - 1];
        let least = 100.0 * most;
        doubts.push(format!(
            "the times may not be those of flash, and confidences are {least:.0} % at most: {}",
            layers.join("; ")
        ));
    }
    for finding in report.findings.iter_mut().filter(|f| f.value.is_some()) {
        finding.confidence = finding.confidence.min(most);
    }
    report.doubts = doubts;
}

/// The spread and the limit of the confidences for it; `None` if the spread is small enough to see differences between pages.
fn limit(spread: f64) -> Option<(f64, f64)> {
    match spread {
        s if s <= QUIET => None,
        s if s <= NOISY => Some((s, NOISY_MOST)),
        s => Some((s, LEVELS[LEVELS.len() - 1])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::confidence::{SURE, Strength};
    use crate::probe::finding::Value;
    use crate::probe::question::Question;

    fn report(scatter: Option<f64>) -> Report {
        let unit = Question::Unit.answer(
            Value::Bytes(4 << 20),
            "4 MiB".to_string(),
            Strength::Strong,
            "seen".to_string(),
        );
        assert_eq!(unit.confidence, SURE);
        Report {
            findings: vec![unit, Question::Page.unknown("not seen")],
            scatter,
            ..Report::default()
        }
    }

    fn doubted(scatter: Option<f64>, layers: &[&str]) -> (f64, String) {
        let mut report = report(scatter);
        let layers: Vec<String> = layers.iter().map(|l| l.to_string()).collect();
        doubt(&mut report, &layers);
        assert_eq!(report.findings[1].confidence, 0.0);
        (report.findings[0].confidence, report.doubts.join("\n"))
    }

    #[test]
    fn a_real_target_is_never_as_certain_as_a_simulated_one() {
        let (quiet, said) = doubted(Some(0.05), &[]);
        assert_eq!(quiet, LIKELY);
        assert!(said.contains("simulated devices"), "{said}");
        assert_eq!(doubted(None, &[]).0, LIKELY);
    }

    #[test]
    fn scatter_and_what_lies_in_front_lower_the_confidence() {
        let (noisy, said) = doubted(Some(0.6), &[]);
        assert_eq!(noisy, 0.8);
        assert!(said.contains("scatter by 60 %"), "{said}");
        assert_eq!(doubted(Some(3.0), &[]).0, 0.5);
        let (file, said) = doubted(Some(0.05), &["the device is a file"]);
        assert_eq!(file, 0.5);
        assert!(said.contains("the device is a file"), "{said}");
    }
}
