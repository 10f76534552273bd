//! The fullness sweep: what a drive with a shrinking cache does at every 5 % of its capacity, filled in order and at random,
//! with and without idle time between operations. Its parameters are `precondition` and `job.thinktime`, its points are
//! those of any other sweep. The result has a curve for each of the four cases, and the threshold: where latency rises
//! most.
//!
//! A sweep does not need all of a large drive's blocks: a drive above 128 GB is measured on a copy of it whose blocks have
//! fewer word lines, with capacity and cache in proportion; these values are parameters of the sweep, too. Dies,
//! channels, times, numbers of blocks and all shares stay as they are, and so do the curves.

use crate::plan::{Plan, SweepSpec};
use crate::point::PointError;
use crate::sample::Sampling;
use crate::space::{Key, Parameter, Values};
use crate::table::Outcome;
use nandscope_device::profile::Profile;
use nandscope_experiment::overrides::{OVER_PROVISIONING, apply};
use nandscope_experiment::{OpenError, Precondition, ProfileOverride, device_source};
use nandscope_result::{
    Curve, Figure, ModeInfo, Notice, Operation, ResultDocument, StepResult, StopReason, procedure,
    run_figure, step_id,
};
use nandscope_suite::spec::target_info;

/// Points of the curve: 0, 5, … 100 %.
const POINTS: u32 = 21;
/// Percent between two points.
const STRIDE: u32 = 5;
/// The largest capacity that is measured whole.
const WHOLE: u64 = 128_000_000_000;
/// Quotient of a larger capacity and its measured span, such as 2 TB and 64 GB.
const SPAN: f64 = 32.0;
/// Operations of the measured mix.
const OPERATIONS: u64 = 40_000;
/// Idle time after every 16 operations in the curves with idle time, ms.
const IDLE_MS: u32 = 5;
/// A rise of latency between two neighbouring points that counts as a threshold.
const RISE: f64 = 1.25;
/// Name of the job file, which is not a file.
const JOB: &str = "fullness";
/// Name of the only job in the job file.
const MIX: &str = "mix";

/// One of the four curves: sequential or random filling, with or without idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    random: bool,
    idle: bool,
}

impl Case {
    const ALL: [Case; 4] = [
        Case {
            random: false,
            idle: false,
        },
        Case {
            random: false,
            idle: true,
        },
        Case {
            random: true,
            idle: false,
        },
        Case {
            random: true,
            idle: true,
        },
    ];

    fn id(self) -> String {
        format!(
            "{}.{}",
            if self.random { "random" } else { "sequential" },
            if self.idle { "idle" } else { "busy" }
        )
    }

    fn title(self) -> String {
        format!(
            "filled {}, {} idle time",
            if self.random { "at random" } else { "in order" },
            if self.idle { "with" } else { "without" }
        )
    }
}

/// Mean latency in microseconds and bandwidth in MB/s at one point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    latency_us: f64,
    mb_per_s: f64,
}

impl Load {
    /// Mean latency, and bandwidth relative to the time under load, which is the sum of the latencies, since commands
    /// come one at a time. `None` if the run was not completed.
    fn of(outcome: &Outcome) -> Option<Load> {
        if outcome.failure.is_some() {
            return None;
        }
        let (mut per_s, mut busy_us, mut mb_per_s) = (0.0, 0.0, 0.0);
        let mean = run_figure::latency(run_figure::LATENCY, run_figure::MEAN);
        for operation in [Operation::Read, Operation::Write] {
            let figure = |quantity: &str| {
                let id = run_figure::of(&step_id::group(1), MIX, &operation, quantity);
                outcome.figures.get(&id).copied()
            };
            let iops = figure(run_figure::IOPS)?;
            per_s += iops;
            busy_us += iops * figure(&mean)?;
            mb_per_s += figure(run_figure::BANDWIDTH)?;
        }
        (busy_us > 0.0).then(|| Load {
            latency_us: busy_us / per_s,
            mb_per_s: mb_per_s * 1e6 / busy_us,
        })
    }
}

/// The sweep over the fullness of a drive.
#[derive(Clone, Debug)]
pub struct FullnessSweep {
    /// Points of the sweep.
    pub spec: SweepSpec,
    /// The drive's profile before it is made smaller, and its text.
    profile: Profile,
    text: String,
    /// Factor by which the blocks of the measured copy are smaller than those of the drive.
    factor: u32,
}

impl FullnessSweep {
    /// The sweep of a simulated drive, `sim:NAME` or `sim:./FILE.toml`. It is attached to the first host that its profile
    /// names, and its profile has these overrides.
    ///
    /// # Errors
    /// Returns [`PointError`] if there is no such device, or its profile has faults.
    pub fn new(
        target: &str,
        seed: u64,
        overrides: &[ProfileOverride],
    ) -> Result<FullnessSweep, PointError> {
        let place = target.strip_prefix("sim:");
        let place = place.filter(|place| !place.starts_with("saved:"));
        let place = place.ok_or_else(|| PointError::Target(target.to_string()))?;
        let source = device_source(place).map_err(OpenError::from)?;
        let source = apply(source, overrides).map_err(OpenError::from)?;
        let (small, factor) = smaller(&source.profile);
        let mut parameters = match factor {
            1 => Vec::new(),
            _ => changes(&source.profile, &small),
        };
        // The copy has its own values of what it changes, in which the overrides are included.
        let is_changed = |key: &Key| parameters.iter().any(|p| p.key == *key);
        let sets_capacity =
            |key: &Key| factor > 1 && *key == Key::Profile(OVER_PROVISIONING.to_string());
        let others = overrides.iter().filter_map(|change| {
            let key = Key::Profile(change.key.clone());
            let own = (!is_changed(&key) && !sets_capacity(&key)).then_some(key);
            own.map(|key| list(key, std::iter::once(change.value.clone())))
        });
        parameters.splice(..0, others.collect::<Vec<_>>());
        parameters.push(list(
            Key::Precondition,
            Filling::all().map(|fill| fill.state()),
        ));
        parameters.push(list(
            Key::Job("thinktime".to_string()),
            [false, true].map(thinktime).into_iter(),
        ));
        let spec = SweepSpec {
            target: target.to_string(),
            host: source.profile.review.first().map(|r| r.host.clone()),
            precondition: Precondition::None,
            job_file: JOB.to_string(),
            job_name: JOB.to_string(),
            job_text: job(small.device.capacity_bytes),
            parameters,
            sampling: Sampling::Grid,
            seed,
            seeds: 1,
            metrics: ["read.mean", "write.mean", "waf"]
                .map(str::to_string)
                .to_vec(),
        };
        Ok(FullnessSweep {
            spec,
            profile: source.profile,
            text: source.text,
            factor,
        })
    }

    /// Name of the device.
    pub fn name(&self) -> &str {
        &self.profile.device.name
    }

    /// The result with the curves of all finished points; without a step before the first has finished.
    pub fn document(&self, plan: &Plan, outcomes: &[Option<Outcome>]) -> ResultDocument {
        let target = target_info(&self.spec.target, &self.text, &self.profile);
        let title = self.profile.device.title.clone();
        let mut document =
            ResultDocument::begin(procedure::FULLNESS, title, self.spec.seed, target);
        document.target.modes = self.modes(plan);
        if self.factor > 1 {
            document.notices.push(Notice::info(format!("Measured on a copy with 1/{} of the word lines in each block, capacity and cache in proportion; dies, channels, times and all shares are those of the drive.", self.factor)));
        }
        let measured = Case::ALL.map(|case| (case, case.curve(plan, outcomes)));
        document.complete = measured.iter().all(|(_, curve)| curve.is_whole());
        if measured.iter().any(|(_, curve)| !curve.points.is_empty()) {
            document.steps.push(step(&measured));
        }
        let mut failures = outcomes
            .iter()
            .flatten()
            .filter_map(|o| o.failure.as_deref());
        document.notices.extend(failures.next().map(Notice::error));
        document
    }

    /// Ways to attach the drive.
    fn modes(&self, plan: &Plan) -> Vec<ModeInfo> {
        let Some(point) = plan.points.first() else {
            return Vec::new();
        };
        let host = &point.about.host_source.profile.host.title;
        let name = match self.profile.review.first() {
            Some(review) => &review.mode,
            None => host,
        };
        let device = point.about.fresh(self.spec.seed);
        let path = device.map(|device| device.path().to_vec());
        vec![ModeInfo {
            name: name.clone(),
            host: host.clone(),
            path: path.unwrap_or_default(),
        }]
    }
}

fn list(key: Key, values: impl Iterator<Item = String>) -> Parameter {
    Parameter {
        key,
        values: Values::List(values.collect()),
    }
}

/// The mix of a light trace: two thirds writes, mostly small, on a span as large as what an application installs.
fn job(capacity: u64) -> String {
    let span = ((capacity as f64 / SPAN) as u64).next_multiple_of(1 << 20);
    let io = OPERATIONS * 16_384;
    format!(
        "[{MIX}]\nioengine=psync\ndirect=1\nrw=randrw\nrwmixread=33\nbssplit=4k/60:16k/20:64k/12:128k/8\nblockalign=4k\niodepth=1\nsize={span}\nio_size={io}\nnorandommap=1\nthinktime_blocks=16\n"
    )
}

/// Value of `thinktime`, the idle time after every 16 operations.
fn thinktime(idle: bool) -> String {
    match idle {
        true => format!("{IDLE_MS}ms"),
        false => "0".to_string(),
    }
}

/// Parameters of filling a drive.
#[derive(Clone, Copy, Debug)]
struct Filling {
    percent: u32,
    random: bool,
}

impl Filling {
    /// The fullest first, as they take longest; each in order, then at random.
    fn all() -> impl Iterator<Item = Filling> {
        let percents = (0..POINTS).rev().map(|n| n * STRIDE);
        percents.flat_map(|percent| [false, true].map(|random| Filling { percent, random }))
    }

    /// The filling, written as a precondition such as `random:50`.
    fn state(self) -> String {
        let how = if self.random { "random" } else { "sequential" };
        // Reads need written data: an empty drive is filled over the measured span.
        let percent = f64::from(self.percent).max(100.0 / SPAN);
        format!("{how}:{percent}")
    }
}

/// The measured part of one curve.
#[derive(Clone, Debug, Default, PartialEq)]
struct Measured {
    /// Fullness in percent, ascending, and the measurement at it.
    points: Vec<(u32, Load)>,
}

impl Measured {
    fn is_whole(&self) -> bool {
        self.points.len() == POINTS as usize
    }
}

impl Case {
    /// The finished points of this curve.
    fn curve(self, plan: &Plan, outcomes: &[Option<Outcome>]) -> Measured {
        let mut points: Vec<(u32, Load)> = Vec::new();
        for (point, outcome) in plan.points.iter().zip(outcomes) {
            let (Some(load), [.., state, idle]) =
                (outcome.as_ref().and_then(Load::of), &point.values[..])
            else {
                continue;
            };
            let own = |fill: &Filling| fill.random == self.random && fill.state() == *state;
            if let (Some(fill), true) = (Filling::all().find(own), *idle == thinktime(self.idle)) {
                points.push((fill.percent, load));
            }
        }
        points.sort_by_key(|p| p.0);
        Measured { points }
    }
}

/// The values in which the profile of the smaller copy differs, as parameters with one value.
fn changes(whole: &Profile, small: &Profile) -> Vec<Parameter> {
    let mut changes = vec![
        (
            "device.capacity_bytes",
            small.device.capacity_bytes.to_string(),
        ),
        ("nand.word_lines", small.nand.word_lines.to_string()),
        (
            "nand.slc.erase_us",
            format!("{:?}", small.nand.slc.erase_us),
        ),
    ];
    if let Some(native) = &small.nand.native {
        changes.push(("nand.native.erase_us", format!("{:?}", native.erase_us)));
    }
    let caches = |profile: &Profile| {
        let cache = profile.ftl.as_ref().and_then(|f| f.slc_cache.as_ref());
        cache.map(|c| [c.static_gb, c.dynamic_gb, c.reserve_gb])
    };
    const CACHE: [&str; 3] = [
        "ftl.slc_cache.static_gb",
        "ftl.slc_cache.dynamic_gb",
        "ftl.slc_cache.reserve_gb",
    ];
    if let (Some(whole), Some(small)) = (caches(whole), caches(small)) {
        for ((name, whole), small) in CACHE.into_iter().zip(whole).zip(small) {
            if whole != small {
                changes.push((name, format!("{small:?}")));
            }
        }
    }
    let parameter =
        |(key, value): (&str, String)| list(Key::Profile(key.to_string()), std::iter::once(value));
    changes.into_iter().map(parameter).collect()
}

/// A copy of the profile with the same proportions and a smaller capacity, which is cheaper to copy, and the factor by
/// which it is smaller.
fn smaller(profile: &Profile) -> (Profile, u32) {
    let mut small = profile.clone();
    let mut factor = 1;
    // Profiles without a page map are not made smaller: a card's map takes little memory at any capacity.
    let Some(ftl) = &profile.ftl else {
        return (small, factor);
    };
    let unit = u64::from(ftl.mapping_unit_bytes);
    while small.device.capacity_bytes > WHOLE && small.nand.word_lines.is_multiple_of(2) {
        factor *= 2;
        small.nand.word_lines /= 2;
        small.device.capacity_bytes =
            profile.device.capacity_bytes / u64::from(factor) / unit * unit;
        let share = f64::from(factor);
        let slc = small.ftl.as_mut().and_then(|f| f.slc_cache.as_mut());
        if let (Some(slc), Some(whole)) = (slc, &ftl.slc_cache) {
            slc.static_gb = whole.static_gb / share;
            slc.dynamic_gb = whole.dynamic_gb / share;
            slc.reserve_gb = whole.reserve_gb / share;
        }
        // The same number of erases per block frees fewer bytes, so the time of an erase is divided by the factor.
        small.nand.slc.erase_us = profile.nand.slc.erase_us / share;
        if let (Some(native), Some(whole)) = (&mut small.nand.native, &profile.nand.native) {
            native.erase_us = whole.erase_us / share;
        }
    }
    (small, factor)
}

/// The step with the measured parts of all curves, those of latency first.
fn step(measured: &[(Case, Measured)]) -> StepResult {
    let mut figures = Vec::new();
    let mut latency = Vec::new();
    let mut bandwidth = Vec::new();
    for (case, curve) in measured
        .iter()
        .filter(|(_, curve)| !curve.points.is_empty())
    {
        // A curve with missing points has no threshold, since latency may rise most at one of the missing points.
        let found = curve.is_whole().then(|| threshold(&curve.points)).flatten();
        figures.extend(case_figures(*case, &curve.points, found));
        latency.push(case_curve(
            *case,
            ("mean latency", "µs"),
            curve,
            |p| p.latency_us,
            found,
        ));
        bandwidth.push(case_curve(
            *case,
            ("bandwidth", "MB/s"),
            curve,
            |p| p.mb_per_s,
            None,
        ));
    }
    latency.extend(bandwidth);
    let whole = measured.iter().all(|(_, curve)| curve.is_whole());
    StepResult {
        id: step_id::FULLNESS.to_string(),
        title: "Performance by fullness".to_string(),
        section: "Fullness".to_string(),
        description: format!(
            "Reads (a third) and writes of 4 to 128 KiB at queue depth 1 over a 32nd of the drive, at every {STRIDE} % of fullness; with idle time, {IDLE_MS} ms after every 16 operations. The threshold is the end of the step over which latency rises most, where it rises by a quarter or more."
        ),
        figures,
        curves: latency,
        incomplete: (!whole).then_some(StopReason::Interrupted),
        ..StepResult::default()
    }
}

fn case_curve(
    case: Case,
    (name, unit): (&str, &str),
    measured: &Measured,
    value: impl Fn(&Load) -> f64,
    threshold: Option<u32>,
) -> Curve {
    Curve {
        name: case.title(),
        x_name: "fullness".to_string(),
        x_unit: "%".to_string(),
        y_name: name.to_string(),
        y_unit: unit.to_string(),
        x: measured.points.iter().map(|p| f64::from(p.0)).collect(),
        y: measured.points.iter().map(|p| value(&p.1)).collect(),
        threshold: threshold.map(f64::from),
        ..Curve::default()
    }
}

/// Latency on the empty, the half-full and the full drive, and the threshold; the curve has the rest.
fn case_figures(case: Case, points: &[(u32, Load)], found: Option<u32>) -> Vec<Figure> {
    let id = format!("fullness.{}", case.id());
    let figure = |id: String, title: String, unit: &str, value: f64| Figure {
        id,
        title,
        value,
        unit: unit.to_string(),
        ..Figure::default()
    };
    let ends = [0, 50, 100].into_iter().filter_map(|percent| {
        let (_, point) = points.iter().find(|p| p.0 == percent)?;
        let title = format!("Mean latency at {percent} %, {}", case.title());
        Some(figure(
            format!("{id}.{percent}.latency"),
            title,
            "µs",
            point.latency_us,
        ))
    });
    let threshold = found.map(|percent| {
        figure(
            format!("{id}.threshold"),
            format!("Threshold, {}", case.title()),
            "%",
            f64::from(percent),
        )
    });
    ends.chain(threshold).collect()
}

/// The fullness at the end of the step over which latency rises most, in percent; `None` where it
/// rises by less than a quarter at every step.
fn threshold(curve: &[(u32, Load)]) -> Option<u32> {
    let rises = curve
        .windows(2)
        .map(|w| (w[1].0, w[1].1.latency_us / w[0].1.latency_us.max(1e-9)));
    let (percent, rise) = rises.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (rise >= RISE).then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn curve(latencies: &[f64]) -> Vec<(u32, Load)> {
        let load = |us: &f64| Load {
            latency_us: *us,
            mb_per_s: 1.0,
        };
        (0..)
            .step_by(STRIDE as usize)
            .zip(latencies.iter().map(load))
            .collect()
    }

    /// Outcome of a run of one second: one read and three writes of 1 MB, all with this latency.
    fn outcome(latency_us: f64) -> Outcome {
        let mut figures = BTreeMap::new();
        for (direction, count) in [("read", 1.0), ("write", 3.0)] {
            for (name, value) in [
                ("iops", count),
                ("bandwidth", count),
                ("latency.mean", latency_us),
            ] {
                figures.insert(format!("group-1.mix.{direction}.{name}"), value);
            }
        }
        Outcome {
            metrics: vec![None; 3],
            figures,
            failure: None,
        }
    }

    #[test]
    fn an_interrupted_sweep_keeps_the_points_that_were_measured() {
        let sweep = FullnessSweep::new("sim:reference-nvme-64gb", 1, &[]).unwrap();
        let plan = Plan::new(&sweep.spec).unwrap();
        // A drive for each fullness and way to fill it, with and without idle time.
        assert_eq!((plan.points.len(), plan.devices), (84, 42));
        let mut outcomes: Vec<Option<Outcome>> = vec![None; 84];
        // Filled in order to 100 %, at random to 100 %, in order to 95 %.
        for (number, latency) in [50.0, 20.0, 90.0, 80.0, 10.0, 5.0].into_iter().enumerate() {
            outcomes[number] = Some(outcome(latency));
        }
        let document = sweep.document(&plan, &outcomes);
        let [step] = &document.steps[..] else {
            panic!("{} steps", document.steps.len());
        };
        let curve = |number: usize| (step.curves[number].x.clone(), step.curves[number].y.clone());
        assert_eq!(step.curves.len(), 8);
        assert_eq!(curve(0), (vec![95.0, 100.0], vec![10.0, 50.0]));
        assert_eq!(curve(1).1, [5.0, 20.0]);
        assert_eq!(curve(3), (vec![100.0], vec![80.0]));
        // 4 MB in the 200 µs that four operations of 50 µs take.
        assert_eq!(curve(4).1[1], 20_000.0);
        // The greatest rise may be between points that are missing.
        assert!(step.curves.iter().all(|c| c.threshold.is_none()));
        assert_eq!(step.incomplete, Some(StopReason::Interrupted));
        assert!(!document.complete && !document.target.modes[0].path.is_empty());
        assert!(sweep.document(&plan, &[]).steps.is_empty());
    }

    #[test]
    fn a_large_drive_is_measured_on_a_copy() {
        let sweep = FullnessSweep::new("sim:sm2262en-2tb", 1, &[]).unwrap();
        let plan = Plan::new(&sweep.spec).unwrap();
        let profile = &plan.points[0].about.device_source.profile;
        let (small, factor) = smaller(&sweep.profile);
        assert_eq!(
            (factor, &profile.nand, &profile.ftl),
            (16, &small.nand, &small.ftl)
        );
        assert_eq!(profile.device.capacity_bytes, small.device.capacity_bytes);
        assert!(sweep.document(&plan, &[]).notices[0].text.contains("1/16"));
    }

    #[test]
    fn the_threshold_is_where_latency_rises_most() {
        for (latencies, expected) in [
            (&[10.0, 10.0, 50.0, 55.0][..], Some(10)),
            (&[10.0, 12.0, 14.0, 16.0], None),
            (&[50.0, 10.0, 10.0, 13.0], Some(15)),
            (&[10.0], None),
            (&[], None),
            (&[10.0, 20.0, 40.0], Some(5)),
        ] {
            assert_eq!(threshold(&curve(latencies)), expected, "{latencies:?}");
        }
    }

    #[test]
    fn the_smaller_copy_keeps_the_proportions() {
        let whole = device_source("sm2262en-2tb").unwrap().profile;
        let (small, factor) = smaller(&whole);
        assert_eq!(factor, 16);
        assert!(small.device.capacity_bytes <= WHOLE);
        let share = |p: &Profile| {
            let raw = f64::from(p.nand.word_lines) * f64::from(p.nand.blocks_per_plane);
            raw / p.device.capacity_bytes as f64
        };
        assert!((share(&small) / share(&whole) - 1.0).abs() < 1e-6);
        let (slc, whole) = (
            small.ftl.unwrap().slc_cache.unwrap(),
            whole.ftl.unwrap().slc_cache.unwrap(),
        );
        assert_eq!(slc.dynamic_gb * 16.0, whole.dynamic_gb);
        let (same, one) = smaller(&device_source("reference-nvme-64gb").unwrap().profile);
        assert_eq!((same.nand.word_lines, one), (64, 1));
    }
}
