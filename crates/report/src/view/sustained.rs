//! The long sequential write of each mode: its regions as the procedure found them, or else its start and its end.
//! A write cache is named only where one run of sequential writing slows down by more than its noise, and the
//! device does not report that it has none.

use super::regions::{self, Region};
use super::statements::{Overview, Paragraph, tile};
use crate::names::capital;
use crate::number::{short, with_unit};
use nandscope_result::StepResult;
use nandscope_result::throughput_profile::{self, ThroughputProfile};

/// A fast write cache shows as a first region so much faster than the second.
const CACHE_FACTOR: f64 = 1.5;
/// A write of this share of the longest one is as long to a reader; the first is described.
const AS_LONG: f64 = 0.9;

/// The long write of one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Sustained {
    /// Name of the mode; `None` where the document has none.
    pub mode: Option<String>,
    /// Title of the step.
    pub title: String,
    /// All that was written, 10^9 bytes.
    pub written_gb: f64,
    /// Course of the speed.
    pub shape: Shape,
    /// Size of a fast write cache with which the change of speed is consistent, 10^9 bytes.
    pub cache_gb: Option<f64>,
}

/// Course of the speed of a write.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Regions of about equal speed.
    Regions(Vec<Region>),
    /// Start and end.
    Profile(ThroughputProfile),
}

/// The first of the longest sequential writes of a mode.
pub fn of(mode: Option<&str>, steps: &[&StepResult]) -> Option<Sustained> {
    longest_write(mode, steps).map(|(_, write)| write)
}

/// The first of the longest sequential writes of a mode, with its step.
pub fn longest_write<'a>(
    mode: Option<&str>,
    steps: &[&'a StepResult],
) -> Option<(&'a StepResult, Sustained)> {
    let found: Vec<(&StepResult, Sustained)> = steps
        .iter()
        .filter_map(|s| Some((*s, one(mode, s)?)))
        .collect();
    let longest = found.iter().map(|(_, w)| w.written_gb).fold(0.0, f64::max);
    found
        .into_iter()
        .find(|(_, w)| w.written_gb >= longest * AS_LONG && longest > 0.0)
}

fn one(mode: Option<&str>, step: &StepResult) -> Option<Sustained> {
    let series = throughput_profile::sequential_write(step)?;
    let samples = throughput_profile::weighted(series);
    let written_gb = samples.iter().map(|(v, dt)| v * dt).sum::<f64>() / 1e3;
    let regions = regions::of_step(step);
    let (shape, cache_gb) = if regions.is_empty() {
        let profile = throughput_profile::of_series(series)?;
        let cache = profile.fast_gb.filter(|_| profile.slows());
        (Shape::Profile(profile), cache)
    } else {
        let cache = cache_gb(&regions, &samples);
        (Shape::Regions(regions), cache)
    };
    Some(Sustained {
        mode: mode.map(str::to_string),
        title: step.title.clone(),
        written_gb,
        shape,
        cache_gb: cache_gb.filter(|_| !throughput_profile::without_cache(step)),
    })
}

/// Size of the first region, where it looks like a cache: much faster than the second, beyond their noise.
fn cache_gb(regions: &[Region], samples: &[(f64, f64)]) -> Option<f64> {
    let (first, second) = (regions.first()?, regions.get(1)?);
    let end = first
        .end_gb
        .filter(|_| first.mb_s > CACHE_FACTOR * second.mb_s)?;
    let until = second.end_gb.unwrap_or(f64::INFINITY);
    let (mut fast, mut slow, mut written) = (Vec::new(), Vec::new(), 0.0);
    for (v, dt) in samples {
        // A sample belongs to the region in which its middle lies.
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
    let speeds = match &write.shape {
        Shape::Regions(regions) => regions::in_words(regions),
        Shape::Profile(profile) => profile_in_words(profile),
    };
    let cache = match write.cache_gb {
        Some(gb) => format!(
            ", consistent with a fast write cache of about {}",
            with_unit(gb, "GB")
        ),
        None => String::new(),
    };
    let all = with_unit(write.written_gb, "GB");
    format!("{place}{speeds}, over {all} written without pause{cache}")
}

/// The rate below which an end is slower than its start.
const DROP: f64 = 0.9;

fn profile_in_words(profile: &ThroughputProfile) -> String {
    let burst = with_unit(profile.burst_mb_s, "MB/s");
    let sustained = with_unit(profile.sustained_mb_s, "MB/s");
    match profile.fast_gb {
        Some(gb) if profile.slows() => format!(
            "{burst} for about the first {} and {sustained} in the last quarter of the time",
            with_unit(gb, "GB")
        ),
        _ if profile.sustained_mb_s >= DROP * profile.burst_mb_s => {
            format!("{burst} at the start and {sustained} at the end, with no lasting drop")
        }
        _ => format!("{burst} at the start and {sustained} in the last quarter of the time"),
    }
}

/// The tile of a long write: its speed in the region that holds most of the data.
pub fn tiles(overview: &mut Overview, write: &Sustained, label: &dyn Fn(&str) -> String) {
    let (mb_s, note) = match &write.shape {
        Shape::Profile(profile) => (
            profile.sustained_mb_s,
            format!("last quarter of the time; {}", write.title),
        ),
        Shape::Regions(regions) => match longest(regions) {
            Some((region, start, end)) if regions.len() > 1 => (
                region.mb_s,
                format!(
                    "from {} to {}; {}",
                    short(start),
                    with_unit(end, "GB"),
                    write.title
                ),
            ),
            _ => (
                regions.first().map_or(f64::NAN, |r| r.mb_s),
                write.title.clone(),
            ),
        },
    };
    overview
        .tiles
        .push(tile(label("sustained write"), mb_s, "MB/s", note));
}

/// The region that holds most of the data, with its start and end.
fn longest(regions: &[Region]) -> Option<(&Region, f64, f64)> {
    let starts = std::iter::once(0.0).chain(regions.iter().filter_map(|r| r.end_gb));
    regions
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
            "400 MB/s for about the first 8.00 GB and 40.0 MB/s in the last quarter of the time, over 12.0 GB written without pause, consistent with a fast write cache of about 8.00 GB."
        );
        // A fill and random writes after it are two runs, whatever profile they form together.
        for rw in [&["write", "randwrite"][..], &["randwrite"], &[]] {
            assert_eq!(text(&step(rw, falling())), "", "{rw:?}");
        }
        let steady = text(&step(&["write"], vec![60.0; 100]));
        assert!(
            steady.contains("no lasting drop") && !steady.contains("cache"),
            "{steady}"
        );
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
        assert!(
            text(&step).starts_with("400 MB/s for the first 4.00 GB and 90.0 MB/s for the rest")
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
