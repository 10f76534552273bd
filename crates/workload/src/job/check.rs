//! Checks the options of one job against each other, without the size of the target.

use super::error::Problem;
use super::extent::Extent;
use super::model::{BlockSizes, Distribution, Job};
use crate::RateLimit;

/// Faults of a job with the option to which each belongs.
pub(crate) fn check(job: &Job) -> Vec<(&'static str, Problem)> {
    let mut faults = Vec::new();
    region(job, &mut faults);
    pattern(job, &mut faults);
    zones(job, &mut faults);
    trace(job, &mut faults);
    ending(job, &mut faults);
    faults
}

type Faults = Vec<(&'static str, Problem)>;

fn region(job: &Job, faults: &mut Faults) {
    for (key, extent) in [
        ("size", job.size),
        ("io_size", job.io_size),
        ("offset", Some(job.offset)),
        ("offset_increment", Some(job.offset_increment)),
    ] {
        if let Some(Extent::Bytes(bytes)) = extent
            && !bytes.0.is_multiple_of(512)
            && key.starts_with("offset")
        {
            faults.push((
                key,
                Problem::new(
                    format!(
                        "`{key}={}` is not a whole number of 512-byte sectors",
                        bytes.0
                    ),
                    "use a multiple of 512",
                ),
            ));
        }
    }
    for (key, extent) in [("size", job.size), ("io_size", job.io_size)] {
        if extent.is_some_and(|e| e.of(u64::MAX) == 0) {
            faults.push((
                key,
                Problem::new(
                    format!("`{key}` is nothing"),
                    "give a size, or leave it out",
                ),
            ));
        }
    }
}

fn pattern(job: &Job, faults: &mut Faults) {
    let ranges = job.bs.iter().any(|b| matches!(b, BlockSizes::Range { .. }));
    let splits = job.bs.iter().any(|b| matches!(b, BlockSizes::Split(_)));
    if ranges && splits {
        faults.push((
            "bssplit",
            Problem::new(
                "some directions have bsrange and others bssplit",
                "use one of the two",
            ),
        ));
    }
    if job.rw.identical && !job.rw.random {
        faults.push((
            "rw_sequencer",
            Problem::new(
                "`rw_sequencer=identical` needs random offsets",
                "use it with rw=randread:8 or the like",
            ),
        ));
    }
    let skewed = job.distribution != Distribution::Uniform;
    if skewed && !job.rw.random {
        faults.push((
            "random_distribution",
            Problem::new(
                "`random_distribution` with sequential offsets",
                "use a random rw, or remove it",
            ),
        ));
    }
}

fn zones(job: &Job, faults: &mut Faults) {
    let Some(zones) = job.strides else {
        return;
    };
    if !zones.is_on {
        let problem = Problem::new(
            "`zonesize` without `zonemode=strided`, which fio refuses as well",
            "add zonemode=strided, or remove zonesize",
        );
        faults.extend((zones.size > 0).then_some(("zonesize", problem)));
        return;
    }
    let whole = |bytes: u64| bytes.is_multiple_of(512);
    if zones.size == 0 || !whole(zones.range.unwrap_or(zones.size)) || !whole(zones.skip) {
        faults.push((
            "zonesize",
            Problem::new(
                "zones need a `zonesize`, and sizes and gaps of whole sectors",
                "write such as zonesize=256m and zoneskip=1g",
            ),
        ));
    }
    if !job.distribution.is_uniform() {
        faults.push((
            "random_distribution",
            Problem::new(
                "`random_distribution` together with `zonemode=strided`",
                "keep one of them",
            ),
        ));
    }
}

fn trace(job: &Job, faults: &mut Faults) {
    if job.trace.as_ref().is_some_and(|t| t.path.is_empty()) {
        faults.push((
            "read_iolog",
            Problem::new(
                "options of a replay, but no `read_iolog`",
                "name the trace with read_iolog",
            ),
        ));
    }
}

fn ending(job: &Job, faults: &mut Faults) {
    faults.extend(super::verify_parts::check(job));
    if job.verify.only && !job.verify.is_wanted() {
        faults.push((
            "verify_only",
            Problem::new(
                "`verify_only` without `verify` does nothing",
                "add the `verify` of the job that wrote the contents",
            ),
        ));
    }
    let p = &job.pacing;
    let limits = [p.read_limit, p.write_limit, p.trim_limit];
    for (limit, (bytes, operations)) in limits
        .into_iter()
        .zip(p.lowest.bytes.into_iter().zip(p.lowest.operations))
    {
        let (key, limited) = match limit {
            RateLimit::BytesPerSecond(most) => ("rate_min", most < bytes),
            RateLimit::OpsPerSecond(most) => ("rate_iops_min", most < operations),
            RateLimit::Unlimited => continue,
        };
        if limited {
            faults.push((
                key,
                Problem::new(
                    format!("`{key}` is above the rate that limits the job"),
                    "reduce it",
                ),
            ));
        }
    }
}
