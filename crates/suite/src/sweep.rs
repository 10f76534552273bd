//! The fullness sweep: what a drive with a shrinking cache does at every 5 % of its capacity, with
//! and without idle time between operations, filled in order and at random. The result holds a
//! curve for each of the four cases, and the threshold: where latency rises most.
//!
//! A sweep does not need all of a large drive's blocks: a drive above 128 GB is measured on a copy
//! of it whose blocks have fewer word lines, with capacity and cache in proportion. Dies, channels,
//! times, numbers of blocks and all shares stay as they are, and so do the curves.

use crate::at_once::shared;
use crate::document::blank;
use crate::review::{ReviewObserver, ReviewOptions};
use crate::session::SuiteError;
use crate::spec::SimSpec;
use nandscope_device::profile::Profile;
use nandscope_device::{Device, Fill, memory_estimate};
use nandscope_measure::recorder::IntervalPlan;
use nandscope_measure::runner::{Ending, Observer, Progress, Thread, run_group};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_result::{Curve, Figure, Notice, ResultDocument, StepResult, StopReason};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;
use std::sync::atomic::{AtomicU64, Ordering};

/// Points of the curve: 0, 5, … 100 %.
const POINTS: u32 = 21;
/// Percent between two points.
const STRIDE: u32 = 5;
/// The largest capacity that is measured whole.
const WHOLE: u64 = 128_000_000_000;
/// The measured span is this part of the capacity, as 64 GB are of 2 TB.
const SPAN: f64 = 32.0;
/// Operations of the measured mix.
const OPERATIONS: u64 = 40_000;
/// Idle time behind every 16 operations in the curves with idle time, ms.
const IDLE_MS: u32 = 5;
/// A rise of latency between two neighbouring points that counts as a threshold.
const RISE: f64 = 1.25;

/// One of the four curves.
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

/// What was measured at one point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    latency_us: f64,
    mb_per_s: f64,
}

/// Memory of the drive that [`fullness`] measures: the copy if it is a large one.
#[must_use]
pub fn device_memory(spec: &SimSpec) -> Bytes {
    memory_estimate(&smaller(&spec.profile).0)
}

/// Sweeps the fullness of a simulated drive, with `threads` threads. The document is the same for any number.
///
/// # Errors
/// Where the drive cannot be made or attached.
pub fn fullness(
    spec: &SimSpec,
    options: &ReviewOptions,
    threads: usize,
    observer: &mut dyn ReviewObserver,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<ResultDocument, SuiteError> {
    let mut document = blank(spec, options, "fullness sweep", "");
    let (profile, factor) = smaller(&spec.profile);
    let mode = spec
        .modes
        .first()
        .ok_or_else(|| SuiteError::Target(format!("{} is attached to no host", spec.name)))?;
    let fresh = Device::new(&profile, &mode.host, options.seed)
        .map_err(|e| SuiteError::Target(e.to_string()))?;
    document
        .target
        .modes
        .push(SimSpec::mode_info(mode, fresh.path()));
    if factor > 1 {
        document.notices.push(Notice::info(format!("Measured on a copy with 1/{factor} of the word lines in each block, capacity and cache in proportion; dies, channels, times and all shares are those of the drive."),
        ));
    }
    let points = measure(&fresh, options.seed, threads, observer, &mode.name, stop)?;
    let measured = Case::ALL.map(|case| (case, case.curve(&points)));
    document.complete = measured.iter().all(|(_, curve)| curve.is_whole());
    if measured.iter().any(|(_, curve)| !curve.points.is_empty()) {
        document.steps.push(step(&measured));
    }
    Ok(document)
}

/// One curve as far as it was measured.
#[derive(Clone, Debug, Default, PartialEq)]
struct Measured {
    /// Fullness in percent, ascending, and what was measured there.
    points: Vec<(u32, Point)>,
}

impl Measured {
    fn is_whole(&self) -> bool {
        self.points.len() == POINTS as usize
    }
}

impl Case {
    /// The points of the curve among those of all pieces.
    fn curve(self, pieces: &[Option<Point>]) -> Measured {
        let numbered = pieces
            .iter()
            .enumerate()
            .map(|(n, point)| (Piece(n), point));
        let own = numbered.filter(|(piece, _)| piece.case() == self);
        let points = own.filter_map(|(piece, point)| Some((piece.percent(), (*point)?)));
        let mut points: Vec<_> = points.collect();
        points.sort_by_key(|p| p.0);
        Measured { points }
    }
}

/// Number of a piece of work: the fullest first, as they take longest; each filled in order, then at random; each
/// without, then with idle time.
#[derive(Clone, Copy, Debug)]
struct Piece(usize);

impl Piece {
    const ALL: usize = 4 * POINTS as usize;

    /// Number of the filled drive, which two pieces share.
    fn drive(self) -> usize {
        self.0 / 2
    }

    fn percent(self) -> u32 {
        (POINTS - 1 - (self.0 / 4) as u32) * STRIDE
    }

    fn case(self) -> Case {
        Case {
            random: self.drive() % 2 == 1,
            idle: self.0 % 2 == 1,
        }
    }
}

/// A profile of the same proportions small enough to be copied often, and by how much smaller.
fn smaller(profile: &Profile) -> (Profile, u32) {
    let mut small = profile.clone();
    let mut factor = 1;
    // A card's map is small enough whatever its capacity.
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
        // As many erases for fewer bytes: each takes its share of the time.
        small.nand.slc.erase_us = profile.nand.slc.erase_us / share;
        if let (Some(native), Some(whole)) = (&mut small.nand.native, &profile.nand.native) {
            native.erase_us = whole.erase_us / share;
        }
    }
    (small, factor)
}

/// Parts of a measurement that are counted, for the progress.
const PARTS: u64 = 1000;

/// Counts how far the measurements of all pieces have come, in [`PARTS`] of each.
struct Count<'a> {
    all: &'a AtomicU64,
    mine: u64,
}

impl Count<'_> {
    fn reach(&mut self, parts: u64) {
        let parts = parts.min(PARTS);
        self.all
            .fetch_add(parts.saturating_sub(self.mine), Ordering::Relaxed);
        self.mine = self.mine.max(parts);
    }
}

impl Observer for Count<'_> {
    fn progress(&mut self, progress: &Progress) {
        if let Some(share) = progress.fraction {
            self.reach((share.clamp(0.0, 1.0) * PARTS as f64) as u64);
        }
    }
}

/// What each piece measured; those that were not done before `stop` are `None`.
fn measure(
    fresh: &Device,
    seed: u64,
    threads: usize,
    observer: &mut dyn ReviewObserver,
    mode: &str,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Option<Point>>, SuiteError> {
    let count = AtomicU64::new(0);
    let drives: Vec<Option<usize>> = (0..Piece::ALL).map(|n| Some(Piece(n).drive())).collect();
    let mut points = vec![None; Piece::ALL];
    let done = shared::run(
        &drives,
        threads,
        stop,
        |number| filled(fresh, Piece(number), seed),
        |number, drive| {
            let mut counted = Count {
                all: &count,
                mine: 0,
            };
            let point = one(drive, Piece(number).case().idle, seed, &mut counted, stop)?;
            counted.reach(PARTS);
            Ok(point)
        },
        |news| {
            if let Some((number, point)) = news {
                points[number] = point;
            }
            let all = Piece::ALL as u64 * PARTS;
            let share = count.load(Ordering::Relaxed) as f64 / all as f64;
            observer.progress(share, mode, "fullness", Nanos::ZERO);
        },
    );
    done.map_err(|failed| failed.error)?;
    Ok(points)
}

/// A copy of the drive, filled as the piece wants it.
fn filled(fresh: &Device, piece: Piece, seed: u64) -> Result<Device, SuiteError> {
    let mut filled = fresh.clone();
    let fill = match piece.case().random {
        true => Fill::Random { seed },
        false => Fill::Sequential,
    };
    // What is read must have been written, on an empty drive too.
    let share = (f64::from(piece.percent()) / 100.0).max(1.0 / SPAN);
    match filled.precondition(share, fill) {
        true => Ok(filled),
        false => Err(SuiteError::Target(
            "the drive is not idle and cannot be filled".to_string(),
        )),
    }
}

/// The mix of a light trace on a copy of the filled drive: two thirds writes, mostly small, after
/// as much data as an application installs.
fn one(
    device: Device,
    idle: bool,
    seed: u64,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Point>, SuiteError> {
    let mut target = SimTarget::new(device);
    let capacity = target.capacity();
    let idle_options = if idle {
        format!("thinktime={IDLE_MS}ms\nthinktime_blocks=16\n")
    } else {
        String::new()
    };
    let span = ((capacity.0 as f64 / SPAN) as u64).next_multiple_of(1 << 20);
    let io = OPERATIONS * 16_384;
    let text = format!(
        "[mix]\nrw=randrw\nrwmixread=33\nbssplit=4k/60:16k/20:64k/12:128k/8\nblockalign=4k\niodepth=1\nsize={span}\nio_size={io}\nnorandommap=1\n{idle_options}"
    );
    let fault = |problem: String| SuiteError::Step {
        step: "fullness".to_string(),
        problem,
    };
    let file = JobFile::parse("fullness", &text).map_err(|e| fault(e.to_string()))?;
    let mut threads = Vec::new();
    for job in &file.jobs {
        let source =
            Generator::new(job, 0, Bytes(capacity.0), seed).map_err(|e| fault(e.to_string()))?;
        threads.push(Thread::new(Box::new(source), job.pacing.clone(), 0));
    }
    let plan = Some(IntervalPlan::with_interval(Nanos::from_secs(1)));
    let outcome =
        run_group(&mut target, threads, plan, observer, stop).map_err(|e| fault(e.to_string()))?;
    match &outcome.ending {
        Ending::Complete => {}
        Ending::Interrupted => return Ok(None),
        Ending::Failed(why) => return Err(fault(why.clone())),
    }
    let result = nandscope_measure::build::step_result(&outcome, Default::default(), &[]);
    let directions = || result.jobs.iter().flat_map(|j| &j.directions);
    let operations: f64 = directions().map(|d| d.operations as f64).sum();
    let bytes: f64 = directions().map(|d| d.bytes as f64).sum();
    let ns: f64 = directions()
        .map(|d| d.latency.mean_ns * d.operations as f64)
        .sum();
    // One command at a time: the time under load is the sum of the latencies.
    Ok((ns > 0.0).then(|| Point {
        latency_us: ns / operations / 1e3,
        mb_per_s: bytes * 1e3 / ns,
    }))
}

/// The step that holds all curves as far as they were measured, those of latency first.
fn step(measured: &[(Case, Measured)]) -> StepResult {
    let mut figures = Vec::new();
    let mut latency = Vec::new();
    let mut bandwidth = Vec::new();
    for (case, curve) in measured
        .iter()
        .filter(|(_, curve)| !curve.points.is_empty())
    {
        // Where points are missing, the greatest rise may be between two of them.
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
        id: "fullness".to_string(),
        title: "Performance by fullness".to_string(),
        section: "Fullness".to_string(),
        description: format!(
            "Reads (a third) and writes of 4 to 128 KiB at queue depth 1 over a 32nd of the drive, at every {STRIDE} % of fullness; with idle time, {IDLE_MS} ms behind every 16 operations. The threshold is the end of the step over which latency rises most, where it rises by a quarter or more."
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
    value: impl Fn(&Point) -> f64,
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
    }
}

/// Latency on the empty, the half-full and the full drive, and the threshold; the curve has the rest.
fn case_figures(case: Case, points: &[(u32, Point)], found: Option<u32>) -> Vec<Figure> {
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
fn threshold(curve: &[(u32, Point)]) -> Option<u32> {
    let rises = curve
        .windows(2)
        .map(|w| (w[1].0, w[1].1.latency_us / w[0].1.latency_us.max(1e-9)));
    let (percent, rise) = rises.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (rise >= RISE).then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(latencies: &[f64]) -> Vec<(u32, Point)> {
        let point = |us: &f64| Point {
            latency_us: *us,
            mb_per_s: 1.0,
        };
        (0..)
            .step_by(STRIDE as usize)
            .zip(latencies.iter().map(point))
            .collect()
    }

    #[test]
    fn an_interrupted_sweep_keeps_the_points_that_were_measured() {
        let point = |us: f64| Point {
            latency_us: us,
            mb_per_s: 1.0,
        };
        let mut pieces: Vec<Option<Point>> = vec![None; Piece::ALL];
        // Filled in order to 100 and 95 %, at random to 100 %.
        for (drive, latencies) in [[50.0, 20.0], [90.0, 80.0], [10.0, 5.0]]
            .into_iter()
            .enumerate()
        {
            for (idle, latency) in latencies.into_iter().enumerate() {
                pieces[2 * drive + idle] = Some(point(latency));
            }
        }
        let measured = Case::ALL.map(|case| (case, case.curve(&pieces)));
        let step = step(&measured);
        assert_eq!(step.curves.len(), 8);
        assert_eq!(step.curves[0].x, [95.0, 100.0]);
        assert_eq!(step.curves[0].y, [10.0, 50.0]);
        assert_eq!(step.curves[1].y, [5.0, 20.0]);
        assert_eq!(
            (&step.curves[3].x[..], &step.curves[3].y[..]),
            (&[100.0][..], &[80.0][..])
        );
        // The greatest rise may be between points that are missing.
        assert!(step.curves.iter().all(|c| c.threshold.is_none()));
        assert_eq!(step.incomplete, Some(StopReason::Interrupted));
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
        let spec = SimSpec::library("sm2262en-2tb").unwrap();
        let (small, factor) = smaller(&spec.profile);
        assert_eq!(factor, 16);
        assert!(small.device.capacity_bytes <= WHOLE);
        let share = |p: &Profile| {
            let raw = f64::from(p.nand.word_lines) * f64::from(p.nand.blocks_per_plane);
            raw / p.device.capacity_bytes as f64
        };
        assert!((share(&small) / share(&spec.profile) - 1.0).abs() < 1e-6);
        let (slc, whole) = (
            small.ftl.unwrap().slc_cache.unwrap(),
            spec.profile.ftl.unwrap().slc_cache.unwrap(),
        );
        assert_eq!(slc.dynamic_gb * 16.0, whole.dynamic_gb);
        let (same, one) = smaller(&SimSpec::library("reference-nvme-64gb").unwrap().profile);
        assert_eq!((same.nand.word_lines, one), (64, 1));
    }
}
