//! Options that pace a job: queue depth, clones, times, repetitions, rates.

use super::Kind::{Count, Flag, Other, Time};
use super::{AS_IN_FIO, JobOption, MICROSECOND, SECOND, flag, number, option, word_of};
use crate::job::engine::{self, Engine};
use crate::job::error::Problem;
use crate::job::kinds::PerKind;
use crate::job::model::Job;
use crate::job::text::{size_text, time_text};
use crate::job::value::Value;
use crate::{DutyCycle, Pacing, RateLimit};
use std::collections::BTreeSet;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "iodepth",
        AS_IN_FIO,
        Count(1, 65_536, |j, n| j.pacing.iodepth = n),
        |j| number(j.pacing.iodepth),
    ),
    option(
        "iodepth_batch",
        "0 is the queue depth; the kernel may merge neighbours of one submission",
        Count(0, 65_536, |j, n| j.batch = n),
        |j| number(j.batch),
    ),
    option(
        "iodepth_batch_complete_min",
        "0 polls, and has the effect of 1",
        Count(0, 65_536, |j, n| j.complete_min = n),
        |j| number(j.complete_min),
    ),
    option(
        "iodepth_low",
        AS_IN_FIO,
        Count(0, 65_536, |j, n| j.depth_low = n),
        |j| number(j.depth_low),
    ),
    option(
        "ioengine",
        "nandscope's own engine runs instead; for a synchronous engine, fio's default, with queue depth 1",
        Other("name", |j, v| {
            j.engine = Some(engine(v)?);
            Ok(())
        }),
        |j| j.engine.clone(),
    ),
    option(
        "direct",
        "0 only on a real target, and with a warning",
        Flag(|j, on| j.direct = Some(on)),
        |j| j.direct.and_then(flag),
    ),
    option(
        "buffered",
        AS_IN_FIO,
        Flag(|j, on| j.direct = Some(!on)),
        |_| None,
    ),
    option(
        "numjobs",
        AS_IN_FIO,
        Count(1, 65_536, |j, n| j.numjobs = n),
        |j| number(j.numjobs),
    ),
    option(
        "stonewall",
        AS_IN_FIO,
        Flag(|j, on| j.stonewall = on),
        |j| flag(j.stonewall),
    ),
    option(
        "runtime",
        AS_IN_FIO,
        Time(SECOND, |j, t| {
            j.pacing.runtime = Some(t).filter(|t| !t.is_zero())
        }),
        |j| j.pacing.runtime.map(time_text),
    ),
    option(
        "time_based",
        AS_IN_FIO,
        Flag(|j, on| j.pacing.time_based = on),
        |j| flag(j.pacing.time_based),
    ),
    option(
        "ramp_time",
        AS_IN_FIO,
        Time(SECOND, |j, t| j.pacing.ramp_time = t),
        |j| Some(time_text(j.pacing.ramp_time)),
    ),
    option(
        "startdelay",
        AS_IN_FIO,
        Other("time (s), or a range such as `1-5`", start_delay),
        |j| {
            let from = time_text(j.pacing.start_delay);
            Some(match j.latest_start {
                Some(to) => format!("{from}-{}", time_text(to)),
                None => from,
            })
        },
    ),
    option(
        "loops",
        AS_IN_FIO,
        Count(1, u32::MAX, |j, n| j.pacing.loops = n),
        |j| number(j.pacing.loops),
    ),
    option(
        "thinktime",
        AS_IN_FIO,
        Time(MICROSECOND, |j, t| j.pacing.thinktime = t),
        |j| Some(time_text(j.pacing.thinktime)),
    ),
    option(
        "thinktime_blocks",
        AS_IN_FIO,
        Count(1, u32::MAX, |j, n| j.think_blocks = Some(n)),
        |j| j.think_blocks.and_then(number),
    ),
    option(
        "thinktime_iotime",
        AS_IN_FIO,
        Time(SECOND, |j, t| {
            j.pacing.think_after = Some(t).filter(|t| !t.is_zero())
        }),
        |j| j.pacing.think_after.map(time_text),
    ),
    option(
        "rate_ignore_thinktime",
        AS_IN_FIO,
        Flag(|j, on| j.pacing.rate_ignores_pauses = on),
        |j| flag(j.pacing.rate_ignores_pauses),
    ),
    option(
        "max_latency",
        AS_IN_FIO,
        Other("time (µs), by direction", |j, v| {
            let [read, write, trim] = j.pacing.max_latency;
            let mut limits = PerKind { read, write, trim };
            v.by_kind(&mut limits, |text| {
                let limit = v.with(text).time(MICROSECOND)?;
                Ok(Some(limit).filter(|limit| !limit.is_zero()))
            })?;
            j.pacing.max_latency = [limits.read, limits.write, limits.trim];
            Ok(())
        }),
        |j| {
            let [read, write, trim] = j.pacing.max_latency;
            let limits = PerKind { read, write, trim };
            let is_limited = limits.iter().any(Option::is_some);
            is_limited.then(|| limits.text(|limit| time_text(limit.unwrap_or_default())))
        },
    ),
    option(
        "rate_process",
        AS_IN_FIO,
        Other("`linear` or `poisson`", |j, v| {
            let is_random = v.word(PROCESSES, "write linear or poisson")?;
            j.pacing.arrivals = is_random.then_some(0);
            Ok(())
        }),
        |j| word_of(PROCESSES, j.pacing.arrivals.is_some()),
    ),
    option(
        "rate",
        AS_IN_FIO,
        Other("size, by direction", |j, v| {
            set_rates(j, v, |text| {
                Ok(RateLimit::BytesPerSecond(v.size_of(text)?.0))
            })
        }),
        |j| {
            rates_text(&j.pacing, |limit| match limit {
                RateLimit::BytesPerSecond(n) => Some(size_text(*n)),
                _ => None,
            })
        },
    ),
    option(
        "rate_iops",
        AS_IN_FIO,
        Other("number, by direction", |j, v| {
            set_rates(j, v, |text| {
                Ok(RateLimit::OpsPerSecond(v.number_of(text, 0..=u64::MAX)?))
            })
        }),
        |j| {
            rates_text(&j.pacing, |limit| match limit {
                RateLimit::OpsPerSecond(n) => number(n),
                _ => None,
            })
        },
    ),
    option(
        "cpus_allowed",
        "Real targets only",
        Other("numbers and ranges, `0,2-3`", |j, v| {
            j.cpus_allowed = processors(v)?;
            Ok(())
        }),
        |j| Some(processors_text(&j.cpus_allowed)).filter(|text| !text.is_empty()),
    ),
    option(
        "serialize_overlap",
        AS_IN_FIO,
        Flag(|j, on| j.pacing.serialize_overlap = on),
        |j| flag(j.pacing.serialize_overlap),
    ),
    option(
        "nandscope_duty_cycle",
        "Bursts of 32 MiB that take 20 percent of the time; the device is idle between them",
        Other("`32m:20`", |j, v| {
            j.pacing.duty_cycle = Some(duty_cycle(v)?);
            Ok(())
        }),
        |j| {
            let duty = j.pacing.duty_cycle?;
            Some(format!(
                "{}:{}",
                size_text(duty.burst_bytes),
                duty.busy_percent
            ))
        },
    ),
    option(
        "nandscope_idle_cap",
        "Longest pause of a trace that is kept, such as `25ms`",
        Time(SECOND, |j, t| j.pacing.idle_cap = Some(t)),
        |j| j.pacing.idle_cap.map(time_text),
    ),
];

/// The name of an engine that does block I/O.
fn engine(v: Value<'_>) -> Result<String, Problem> {
    let name = v.text()?;
    match engine::find(name) {
        Some(Engine::Foreign(what)) => Err(v.bad(
            format!("an engine that {what}, which is not I/O on a block device"),
            "run it with fio",
        )),
        Some(_) => Ok(name.to_string()),
        None => Err(v.bad(
            "fio has no such engine",
            format!("write one of {}", engine::block_engines()),
        )),
    }
}

/// Reads a time or a range of times.
fn start_delay(job: &mut Job, v: Value<'_>) -> Result<(), Problem> {
    let text = v.text()?;
    let range = text.split_once('-').filter(|_| !text.starts_with('('));
    let (low, high) = range.unwrap_or((text, text));
    let (low, high) = (v.with(low).time(SECOND)?, v.with(high).time(SECOND)?);
    if high < low {
        return Err(v.bad(
            "the range is reversed",
            "write the shorter time first, such as 1-5",
        ));
    }
    job.pacing.start_delay = low;
    job.latest_start = (high > low).then_some(high);
    Ok(())
}

const PROCESSES: &[(&str, bool)] = &[("linear", false), ("poisson", true)];

/// Maximum number of processors: Linux supports up to 8192, an affinity mask here has half of them.
const MAX_PROCESSORS: u32 = 4096;

/// Reads `0,2-3`, in ascending order.
fn processors(v: Value<'_>) -> Result<Vec<u32>, Problem> {
    let mut all = BTreeSet::new();
    for part in v.text()?.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last < MAX_PROCESSORS => {
                all.extend(first..=last);
            }
            _ => {
                return Err(v.bad(
                    format!("`{part}` is not a processor"),
                    "give numbers and ranges such as 0,2-3",
                ));
            }
        }
    }
    Ok(all.into_iter().collect())
}

/// The opposite of [`processors`].
fn processors_text(processors: &[u32]) -> String {
    let ranges = processors.chunk_by(|a, b| a + 1 == *b);
    let texts: Vec<String> = ranges
        .map(|range| match range {
            [first, .., last] => format!("{first}-{last}"),
            range => range.iter().map(u32::to_string).collect(),
        })
        .collect();
    texts.join(",")
}

/// The limits of one kind by direction, with 0 for directions without a limit; `None` if no direction has one.
fn rates_text(pacing: &Pacing, text: impl Fn(&RateLimit) -> Option<String>) -> Option<String> {
    let limits = PerKind {
        read: pacing.read_limit,
        write: pacing.write_limit,
        trim: pacing.trim_limit,
    };
    limits
        .iter()
        .any(|limit| text(limit).is_some())
        .then(|| limits.text(|limit| text(limit).unwrap_or_else(|| "0".to_string())))
}

fn set_rates(
    job: &mut Job,
    v: Value<'_>,
    read: impl Fn(&str) -> Result<RateLimit, Problem>,
) -> Result<(), Problem> {
    let pacing = &mut job.pacing;
    let mut given: PerKind<Option<RateLimit>> = PerKind::all(None);
    v.by_kind(&mut given, |text| read(text).map(Some))?;
    for (rate, limit) in [
        (given.read, &mut pacing.read_limit),
        (given.write, &mut pacing.write_limit),
        (given.trim, &mut pacing.trim_limit),
    ] {
        match (rate, *limit) {
            (None, _) => {}
            // Zero means no limit of this kind; a limit of the other kind is kept.
            (Some(RateLimit::BytesPerSecond(0)), RateLimit::OpsPerSecond(_))
            | (Some(RateLimit::OpsPerSecond(0)), RateLimit::BytesPerSecond(_)) => {}
            (Some(RateLimit::BytesPerSecond(0) | RateLimit::OpsPerSecond(0)), _) => {
                *limit = RateLimit::Unlimited;
            }
            (Some(RateLimit::BytesPerSecond(_)), RateLimit::OpsPerSecond(_))
            | (Some(RateLimit::OpsPerSecond(_)), RateLimit::BytesPerSecond(_)) => {
                return Err(v.bad(
                    "the same direction has both rate and rate_iops",
                    "keep one of them",
                ));
            }
            (Some(rate), _) => *limit = rate,
        }
    }
    Ok(())
}

fn duty_cycle(v: Value<'_>) -> Result<DutyCycle, Problem> {
    let text = v.text()?;
    let Some((burst, busy)) = text.split_once(':') else {
        return Err(v.bad("no burst:percent", "write such as 32m:20"));
    };
    let burst_bytes = v.size_of(burst)?.0;
    if burst_bytes == 0 {
        return Err(v.bad("a burst of no bytes", "write such as 32m:20"));
    }
    let busy = busy.strip_suffix('%').unwrap_or(busy);
    Ok(DutyCycle {
        burst_bytes,
        busy_percent: v.number_of(busy, 1..=100)?,
    })
}
