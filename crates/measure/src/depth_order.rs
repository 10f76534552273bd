//! Queue depths that were measured in rising order on one device: writes change its state, so that a rate that falls with the
//! depth may be an effect of the runs before.

use nandscope_result::{JobResult, Notice, Operation, ResultDocument, StepResult};
use nandscope_units::number::count;

/// Share of the best rate at a smaller depth below which a rate has fallen. More operations in the queue cost a few percent.
const FALLEN: f64 = 0.8;
/// Options that may differ between the depths of a series.
const APART: [&str; 12] = [
    "description",
    "io_size",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_low",
    "number_ios",
    "numjobs",
    "randseed",
    "runtime",
    "stonewall",
    "wait_for",
];

/// Writes at one queue depth.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Operations outstanding at a time.
    depth: u64,
    iops: f64,
}

/// Adds a notice to a document if the writes of its last step have fallen, or differ from those at the same depth before.
pub fn check_last(document: &mut ResultDocument) {
    let Some((last, before)) = document.steps.split_last() else {
        return;
    };
    let Some((job, now)) = written_by(last) else {
        return;
    };
    let of_series = |step: &StepResult| {
        let (other, point) = written_by(step)?;
        (step.mode == last.mode && is_series(other, job)).then_some(point)
    };
    let series: Vec<Point> = before.iter().filter_map(of_series).collect();
    let found = again(&series, now).or_else(|| fallen(&series, now));
    let step = Some(last.id.clone());
    document.notices.extend(found.map(|text| Notice {
        step,
        ..Notice::warning(text)
    }));
}

/// The job of a step, and the rate of its writes. Clones that report apart are one job.
fn written_by(step: &StepResult) -> Option<(&JobResult, Point)> {
    let (job, others) = step.jobs.split_first()?;
    if step.preparation || others.iter().any(|other| other.options != job.options) {
        return None;
    }
    let number = |name: &str| {
        let text = job.options.get(name)?;
        text.parse::<u64>().ok()
    };
    let all = step.jobs.iter().flat_map(|job| &job.directions);
    let written = all.filter(|d| d.kind == Operation::Write);
    let iops: f64 = written.map(|d| d.iops).sum();
    let depth = number("iodepth")
        .unwrap_or(1)
        .saturating_mul(number("numjobs").unwrap_or(1));
    (iops > 0.0).then_some((job, Point { depth, iops }))
}

/// Whether two jobs differ in their queue depth, length and seed at most.
fn is_series(one: &JobResult, other: &JobResult) -> bool {
    let options = |job: &JobResult| {
        let kept = job.options.clone();
        let kept = kept.into_iter();
        kept.filter(|(name, _)| !APART.contains(&name.as_str()) && !name.ends_with("_log"))
            .collect::<Vec<_>>()
    };
    options(one) == options(other)
}

/// The first rate in a rising order that is far below that of a smaller depth.
fn fallen(series: &[Point], now: Point) -> Option<String> {
    let is_rising = |points: &[Point], last: &Point| {
        let all = points.iter().chain([last]);
        all.is_sorted_by(|a, b| a.depth < b.depth)
    };
    let best_of = |points: &[Point]| {
        points
            .iter()
            .copied()
            .max_by(|a, b| a.iops.total_cmp(&b.iops))
    };
    let is_fallen = |points: &[Point], last: &Point| {
        is_rising(points, last)
            && best_of(points).is_some_and(|best| last.iops < FALLEN * best.iops)
    };
    let is_known = (1..series.len()).any(|n| is_fallen(&series[..n], &series[n]));
    if is_known || !is_fallen(series, &now) {
        return None;
    }
    let best = best_of(series)?;
    Some(format!(
        "the writes fall from {} IOPS at queue depth {} to {} at {}. The depths were measured in rising order on one device, so the writes before may be the cause (a full cache, few free blocks), not the depth: measure depth {} again at the end, or begin in a steady state",
        whole(best.iops),
        best.depth,
        whole(now.iops),
        now.depth,
        best.depth
    ))
}

/// A depth that was measured before other ones, and now again.
fn again(series: &[Point], now: Point) -> Option<String> {
    let first = series.iter().position(|point| point.depth == now.depth)?;
    if series[first..].iter().all(|point| point.depth == now.depth) {
        return None;
    }
    let before = series[first].iops;
    let share = now.iops / before;
    if (FALLEN..=1.0 / FALLEN).contains(&share) {
        return None;
    }
    Some(format!(
        "queue depth {} was measured twice: {} IOPS before the other depths, {} after them. The writes between have changed the state of the device, so the depths cannot be compared: begin in a steady state, or measure each depth on a device in the same state",
        now.depth,
        whole(before),
        whole(now.iops)
    ))
}

fn whole(iops: f64) -> String {
    count(iops.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{DirectionResult, TargetInfo};

    /// A document of writes at these queue depths and rates, in this order, after the check of each.
    fn document(points: &[(u32, f64)], more: &[(&str, &str)]) -> ResultDocument {
        let mut document = ResultDocument::begin("run", String::new(), 1, TargetInfo::default());
        for (depth, iops) in points {
            let depth = depth.to_string();
            let options = [("rw", "randwrite"), ("bs", "4k"), ("iodepth", &depth)];
            let options = options.iter().chain(more);
            let written = DirectionResult {
                kind: Operation::Write,
                iops: *iops,
                ..DirectionResult::default()
            };
            document.steps.push(StepResult {
                id: format!("step-{}", document.steps.len() + 1),
                jobs: vec![JobResult {
                    options: options
                        .map(|(k, v)| (k.to_string(), v.to_string()))
                        .collect(),
                    directions: vec![written],
                    ..JobResult::default()
                }],
                ..StepResult::default()
            });
            check_last(&mut document);
        }
        document
    }

    /// The steps with a notice, and what it says.
    fn said(document: &ResultDocument) -> Vec<(&str, &str)> {
        let notices = document.notices.iter();
        notices
            .map(|n| (n.step.as_deref().unwrap(), n.text.as_str()))
            .collect()
    }

    /// A drive whose cache is full after the third depth.
    const FALLING: [(u32, f64); 6] = [
        (1, 21_000.0),
        (2, 40_500.0),
        (4, 72_000.0),
        (8, 18_200.0),
        (16, 17_900.0),
        (32, 18_100.0),
    ];

    #[test]
    fn a_fall_in_rising_order_is_named_once() {
        let document = document(&FALLING, &[]);
        let [(step, text)] = said(&document)[..] else {
            panic!("{:?}", document.notices);
        };
        assert_eq!(step, "step-4");
        assert!(text.contains("at queue depth 4 to 18"), "{text}");
        assert!(text.contains("measure depth 4 again at the end"), "{text}");
    }

    #[test]
    fn other_orders_and_rising_rates_are_not() {
        let rising: Vec<_> = FALLING
            .iter()
            .map(|(depth, _)| (*depth, f64::from(*depth)))
            .collect();
        let mut downwards = FALLING;
        downwards.reverse();
        let mut mixed = FALLING;
        mixed.swap(0, 3);
        for points in [&rising[..], &downwards, &mixed, &FALLING[..3], &[]] {
            assert_eq!(said(&document(points, &[])), [], "{points:?}");
        }
        // Runs of two patterns are two series.
        let mut two = document(&FALLING[..3], &[]);
        two.steps
            .extend(document(&FALLING[3..4], &[("fsync", "1")]).steps);
        check_last(&mut two);
        assert_eq!(said(&two), []);
    }

    #[test]
    fn a_depth_measured_again_says_whether_the_device_has_changed() {
        let same = [(1, 21_000.0), (2, 40_000.0), (4, 72_000.0), (1, 20_500.0)];
        assert_eq!(said(&document(&same, &[])), []);
        let changed = [(1, 21_000.0), (2, 40_000.0), (4, 72_000.0), (1, 9_000.0)];
        let document = document(&changed, &[]);
        let [(step, text)] = said(&document)[..] else {
            panic!("{:?}", document.notices);
        };
        assert_eq!(step, "step-4");
        assert!(text.contains("queue depth 1 was measured twice"), "{text}");
        // Without another depth between them they are repeats.
        assert_eq!(said(&self::document(&[(1, 9.0), (1, 90.0)], &[])), []);
    }
}
