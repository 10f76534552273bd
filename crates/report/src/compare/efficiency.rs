//! Bytes written per energy: the rate of the first long sequential write of a document divided by its power.

use nandscope_result::throughput_profile::{sequential_write, weighted};
use nandscope_result::{ResultDocument, StepResult, series};

/// Identifier of the figure in a comparison.
pub const ID: &str = "efficiency.sequential-write";
/// Heading of the row and the chart.
pub const TITLE: &str = "Sequential write, power efficiency";
/// Unit of efficiency; 1 MB/s/W is 1 MB/J.
pub const UNIT: &str = "MB/s/W";
/// Fewest samples of rate and of power.
const FEWEST: usize = 3;

/// Mean rate over mean power of the first step of a mode that is one run of sequential writing, MB/s/W; `None` if no such
/// step recorded both.
pub fn of(document: &ResultDocument, mode: Option<&str>) -> Option<f64> {
    let steps = document.steps.iter();
    let mut of_mode = steps.filter(|s| s.mode.as_deref() == mode);
    of_mode.find_map(of_step)
}

fn of_step(step: &StepResult) -> Option<f64> {
    let rate = mean(&weighted(sequential_write(step)?, step.start_s))?;
    let power = mean(&weighted(step.find_series(series::POWER)?, step.start_s))?;
    (power > 0.0 && rate > 0.0).then(|| rate / power)
}

/// Mean over time.
fn mean(samples: &[(f64, f64)]) -> Option<f64> {
    let time: f64 = samples.iter().map(|(_, dt)| dt).sum();
    let sum: f64 = samples.iter().map(|(v, dt)| v * dt).sum();
    (samples.len() >= FEWEST && time > 0.0).then(|| sum / time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::series;
    use nandscope_result::JobResult;

    #[test]
    fn it_is_what_is_written_per_joule() {
        let job = |rw: &str| JobResult {
            options: [("rw".to_string(), rw.to_string())].into(),
            ..JobResult::default()
        };
        let step = |rw: &str, mode: &str| StepResult {
            mode: Some(mode.into()),
            jobs: vec![job(rw)],
            series: vec![
                series("write bandwidth", "MB/s", vec![300.0, 300.0, 60.0, 60.0]),
                series("power", "W", vec![3.0, 3.0, 2.0, 2.0, 2.0]),
            ],
            ..StepResult::default()
        };
        let mut document = crate::blank::document();
        document.steps = vec![
            step("randwrite", "a"),
            step("write", "a"),
            step("write", "b"),
        ];
        document.steps[2].series.pop();
        // 720 MB in 4 s, at 12 J in 5 s.
        assert_eq!(of(&document, Some("a")), Some(180.0 / 2.4));
        assert_eq!(of(&document, Some("b")), None);
        assert_eq!(of(&document, None), None);
    }
}
