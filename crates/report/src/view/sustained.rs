//! The long sequential write of each mode: its mean rate, the rate in the slowest tenth of the time, and its stretches
//! of about equal rate. Every rate is data divided by time. A write cache is named only if one run of sequential
//! writing slows down by more than its noise, and the device does not report that it has none.

use super::regions::{self, Region};
use super::statements::{Overview, Paragraph, tile};
use crate::names::capital;
use crate::number::{bytes, duration, short, with_unit};
use nandscope_result::StepResult;
use nandscope_result::throughput_profile::{
    self, LEAST_GB, SHORTEST_S, ThroughputProfile, weighted,
};

/// Ratio of the first stretch's rate to the second's above which the first shows a fast write cache.
const CACHE_FACTOR: f64 = 1.5;
/// Share of the longest write from which on a write counts as equally long; the first such write is described.
const AS_LONG: f64 = 0.9;
/// Largest difference from the mean of the slowest and of the fastest tenth of the time, as a share of the mean,
/// for which one rate describes the whole write.
const SCATTER: f64 = 0.1;

/// The long write of one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Sustained {
    /// Name of the mode; `None` where the document has none.
    pub mode: Option<String>,
    /// Title of the step.
    pub title: String,
    /// Total data written, 10^9 bytes.
    pub written_gb: f64,
    /// Time that it took, seconds.
    pub time_s: f64,
    /// Course of the rate; `None` if the write was too short.
    pub course: Option<Course>,
}

/// Course of the rate of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Rates of the whole.
    pub profile: ThroughputProfile,
    /// Stretches of about equal rate, at least one.
    pub stretches: Vec<Region>,
    /// Size of a fast write cache with which the change of rate is consistent, 10^9 bytes.
    pub cache_gb: Option<f64>,
}

/// The first of the longest sequential writes of a mode, even if too short for a course.
pub fn of(mode: Option<&str>, steps: &[&StepResult]) -> Option<Sustained> {
    let told = longest_write(mode, steps).map(|(_, write)| write);
    let untold = || {
        let all = steps.iter().filter_map(|s| one(mode, s));
        all.max_by(|a, b| a.time_s.total_cmp(&b.time_s))
    };
    told.or_else(untold)
}

/// The first of the longest sequential writes of a mode that are long enough, with its step.
pub fn longest_write<'a>(
    mode: Option<&str>,
    steps: &[&'a StepResult],
) -> Option<(&'a StepResult, Sustained)> {
    let found: Vec<(&StepResult, Sustained)> = steps
        .iter()
        .filter_map(|s| Some((*s, one(mode, s).filter(|w| w.course.is_some())?)))
        .collect();
    let longest = found.iter().map(|(_, w)| w.written_gb).fold(0.0, f64::max);
    found
        .into_iter()
        .find(|(_, w)| w.written_gb >= longest * AS_LONG && longest > 0.0)
}

fn one(mode: Option<&str>, step: &StepResult) -> Option<Sustained> {
    let samples = weighted(throughput_profile::sequential_write(step)?, step.start_s);
    Some(Sustained {
        mode: mode.map(str::to_string),
        title: step.title.clone(),
        written_gb: samples.iter().map(|(v, dt)| v * dt).sum::<f64>() / 1e3,
        time_s: samples.iter().map(|(_, dt)| dt).sum(),
        course: course(step, &samples),
    })
}

/// The stretches of a step with a single sequential write; empty for other steps and short writes.
pub fn stretches(step: &StepResult) -> Vec<Region> {
    one(None, step)
        .and_then(|write| write.course)
        .map_or(Vec::new(), |course| course.stretches)
}

/// Course of the rate; `None` if the write was too short.
fn course(step: &StepResult, samples: &[(f64, f64)]) -> Option<Course> {
    let profile = throughput_profile::of_step(step)?;
    // The procedure looks for regions; elsewhere the write is fast until it slows down for good.
    let found = regions::of_step(step);
    let last = found.len().saturating_sub(1);
    let mut ends: Vec<f64> = found.iter().take(last).filter_map(|r| r.end_gb).collect();
    if found.is_empty() {
        ends.extend(profile.fast_gb.filter(|_| profile.slows()));
    }
    let stretches = between(samples, &ends);
    let cache = match found.is_empty() {
        true => profile.fast_gb.filter(|_| profile.slows()),
        false => cache_gb(&stretches, samples),
    };
    Some(Course {
        cache_gb: cache.filter(|_| !throughput_profile::without_cache(step)),
        profile,
        stretches,
    })
}

/// Mean rates of the data between these ends, 10^9 bytes, and of the rest. An interval in which a stretch ends belongs to
/// both, in part.
fn between(samples: &[(f64, f64)], ends: &[f64]) -> Vec<Region> {
    let mut stretches = Vec::new();
    let (mut start, mut begin_s) = (0.0, 0.0);
    for end in ends.iter().copied().chain([f64::INFINITY]) {
        let (gb, time_s) = until(samples, end);
        if gb > start && time_s > begin_s {
            stretches.push(Region {
                mb_s: (gb - start) * 1e3 / (time_s - begin_s),
                end_gb: Some(gb),
            });
        }
        (start, begin_s) = (gb, time_s);
    }
    stretches
}

/// Data, at most `gb`, and the time after which it was written, seconds.
fn until(samples: &[(f64, f64)], gb: f64) -> (f64, f64) {
    let (mut written, mut time_s) = (0.0, 0.0);
    for (v, dt) in samples {
        let more = v * dt / 1e3;
        if written + more > gb {
            return (gb, time_s + dt * (gb - written) / more);
        }
        written += more;
        time_s += dt;
    }
    (written, time_s)
}

/// Size of the first stretch if it looks like a cache: much faster than the second, beyond their noise.
fn cache_gb(stretches: &[Region], samples: &[(f64, f64)]) -> Option<f64> {
    let (first, second) = (stretches.first()?, stretches.get(1)?);
    let end = first
        .end_gb
        .filter(|_| first.mb_s > CACHE_FACTOR * second.mb_s)?;
    let until = second.end_gb.unwrap_or(f64::INFINITY);
    let (mut fast, mut slow, mut written) = (Vec::new(), Vec::new(), 0.0);
    for (v, dt) in samples {
        // A sample belongs to the stretch in which its middle lies.
        let middle = written + v * dt / 2e3;
        written += v * dt / 1e3;
        match middle {
            m if m < end => fast.push(*v),
            m if m < until => slow.push(*v),
            _ => {}
        }
    }
    throughput_profile::faster_beyond_noise(&fast, &slow).then_some(end)
}

/// The paragraph of the overview: a sentence about all modes.
pub fn paragraph(all: &[Sustained]) -> Option<Paragraph> {
    let several = all.len() > 1;
    let clauses: Vec<String> = all.iter().map(|s| clause(s, several)).collect();
    let text = capital(&clauses.join("; "));
    (!clauses.is_empty()).then(|| Paragraph::new("Sustained write", format!("{text}.")))
}

fn clause(write: &Sustained, several: bool) -> String {
    let place = match &write.mode {
        Some(mode) if several => format!("in {mode} "),
        _ => String::new(),
    };
    let (gb, time) = (with_unit(write.written_gb, "GB"), duration(write.time_s));
    let Some(course) = &write.course else {
        let least = (LEAST_GB * 1e9) as u64;
        let (least_s, least) = (duration(SHORTEST_S), bytes(least));
        return format!(
            "{place}cannot tell, as the longest sequential write was {gb} in {time}, and it takes {least_s} and {least} at least"
        );
    };
    let cache = match course.cache_gb {
        Some(gb) => format!(
            ", consistent with a fast write cache of about {}",
            with_unit(gb, "GB")
        ),
        None => String::new(),
    };
    format!("{place}{}, over {gb} in {time}{cache}", rates(course))
}

/// Rates of the stretches or of the whole, and of the slowest tenth of the time.
fn rates(course: &Course) -> String {
    let profile = &course.profile;
    let (mean, end) = (profile.mean_mb_s(), profile.sustained_mb_s);
    let rate = |mb_s: f64| with_unit(mb_s, "MB/s");
    let slowest = format!(
        "{} in the slowest tenth of the time",
        rate(profile.slowest_mb_s)
    );
    if course.stretches.len() > 1 {
        return format!("{}, {slowest}", regions::in_words(&course.stretches));
    }
    if is_even(profile) {
        return format!("{} throughout, {slowest}", rate(mean));
    }
    let end = match (end / mean - 1.0).abs() > SCATTER {
        true => format!(", {} in the last quarter", rate(end)),
        false => String::new(),
    };
    format!("{} on average, {slowest}{end}", rate(mean))
}

/// Whether a rate lasts throughout the write.
fn is_even(profile: &ThroughputProfile) -> bool {
    let mean = profile.mean_mb_s();
    let near = |mb_s: f64| (mb_s - mean).abs() <= SCATTER * mean;
    near(profile.slowest_mb_s) && near(profile.fastest_mb_s)
}

/// Adds the tile of a long write: its rate in the stretch with most of the data.
pub fn tiles(overview: &mut Overview, write: &Sustained, label: &dyn Fn(&str) -> String) {
    let Some(course) = &write.course else {
        return;
    };
    let title = &write.title;
    let (mb_s, note) = match longest(&course.stretches) {
        Some((stretch, start, end)) if course.stretches.len() > 1 => {
            let (start, end) = (short(start), with_unit(end, "GB"));
            (stretch.mb_s, format!("from {start} to {end}; {title}"))
        }
        _ => {
            let slowest = with_unit(course.profile.slowest_mb_s, "MB/s");
            let note = format!("slowest tenth {slowest}; {title}");
            (course.profile.mean_mb_s(), note)
        }
    };
    overview
        .tiles
        .push(tile(label("sustained write"), mb_s, "MB/s", note));
}

/// The stretch that holds most of the data, with its start and end.
fn longest(stretches: &[Region]) -> Option<(&Region, f64, f64)> {
    let starts = std::iter::once(0.0).chain(stretches.iter().filter_map(|r| r.end_gb));
    stretches
        .iter()
        .zip(starts)
        .filter_map(|(r, start)| r.end_gb.map(|end| (r, start, end)))
        .max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::series;
    use nandscope_result::{Figure, JobResult};

    fn step(rw: &[&str], v: Vec<f64>) -> StepResult {
        let job = |rw: &&str| JobResult {
            options: [("rw".to_string(), (*rw).to_string())].into(),
            ..JobResult::default()
        };
        StepResult {
            title: "write".into(),
            jobs: rw.iter().map(job).collect(),
            series: vec![series("write bandwidth", "MB/s", v)],
            ..StepResult::default()
        }
    }

    fn falling() -> Vec<f64> {
        let mut v = vec![400.0; 20];
        v.extend(vec![40.0; 100]);
        v
    }

    fn text(step: &StepResult) -> String {
        let all: Vec<Sustained> = of(None, &[step]).into_iter().collect();
        paragraph(&all).map_or(String::new(), |p| p.text.replace('\u{202f}', " "))
    }

    #[test]
    fn a_cache_is_named_for_one_sequential_write_only() {
        assert_eq!(
            text(&step(&["write"], falling())),
            "400 MB/s for the first 8.00 GB and 40.0 MB/s for the rest, 40.0 MB/s in the slowest tenth of the time, over 12.0 GB in 2 min 00 s, consistent with a fast write cache of about 8.00 GB."
        );
        // A fill and random writes after it are two runs, whatever profile they form together.
        for rw in [&["write", "randwrite"][..], &["randwrite"], &[]] {
            assert_eq!(text(&step(rw, falling())), "", "{rw:?}");
        }
    }

    #[test]
    fn only_an_even_rate_lasts_throughout() {
        let steady = text(&step(&["write"], vec![60.0; 100]));
        assert_eq!(
            steady,
            "60.0 MB/s throughout, 60.0 MB/s in the slowest tenth of the time, over 6.00 GB in 1 min 40 s."
        );
        // A fluctuating rate is stated as a mean; its fastest intervals are not sustained.
        let swings = (0..100).map(|i| if i % 3 == 0 { 10.7 } else { 17.6 });
        assert_eq!(
            text(&step(&["write"], swings.collect())),
            "15.3 MB/s on average, 10.7 MB/s in the slowest tenth of the time, over 1.53 GB in 1 min 40 s."
        );
        let declines = (0..100).map(|i| 100.0 - 0.3 * f64::from(i)).collect();
        let declines = text(&step(&["write"], declines));
        assert!(
            declines.contains("73.9 MB/s in the last quarter"),
            "{declines}"
        );
    }

    #[test]
    fn a_short_write_gives_no_verdict() {
        let mut short = step(&["write"], vec![1_406.0]);
        short.series[0].t_s = vec![0.08];
        assert_eq!(
            text(&short),
            "Cannot tell, as the longest sequential write was 0.11 GB in 80.0 ms, and it takes 20.0 s and 50.0 MB at least."
        );
        assert!(longest_write(None, &[&short]).is_none());
    }

    #[test]
    fn a_device_that_reports_an_empty_cache_has_none() {
        let mut step = step(&["write"], falling());
        step.series
            .push(series("SLC cache used", "GB", vec![0.0; 120]));
        let text = text(&step);
        assert!(
            text.contains("40.0 MB/s") && !text.contains("cache"),
            "{text}"
        );
    }

    #[test]
    fn a_first_region_within_the_noise_is_no_cache() {
        let figure = |id: &str, value: f64| Figure {
            id: id.into(),
            value,
            ..Figure::default()
        };
        let noisy: Vec<f64> = (0..200)
            .map(|i| if i % 3 == 0 { 400.0 } else { 90.0 })
            .collect();
        let mut step = step(&["write"], noisy);
        step.figures = vec![
            figure("fill.pass-1.plateau-1", 400.0),
            figure("fill.pass-1.plateau-1.end", 4.0),
            figure("fill.pass-1.plateau-2", 90.0),
            figure("fill.pass-1.plateau-2.end", 38.0),
        ];
        // The rates are those of the data, not the medians of the figures.
        let noise = text(&step);
        assert!(
            noise.starts_with("197 MB/s for the first 4.00 GB and 194 MB/s for the rest"),
            "{noise}"
        );
        assert!(!text(&step).contains("cache"));
        step.series[0].v = falling();
        step.figures[1].value = 8.0;
        assert!(
            text(&step).contains("a fast write cache of about 8.00 GB"),
            "{}",
            text(&step)
        );
    }
}
