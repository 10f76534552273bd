//! Sets one option on a job. What options must fit together is checked elsewhere, once all are set.

use super::catalogue::{Inert, inert_entry};
use super::distribution;
use super::error::Problem;
use super::kinds::PerKind;
use super::model::{Access, BlockSizes, Job, Rw, TraceRef, UnifiedRw};
use super::value::Value;
use crate::{DutyCycle, RateLimit};
use nandscope_units::Nanos;

const SECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1_000;

/// How an option was taken.
pub(crate) enum Taken {
    /// It was set.
    Set,
    /// It is none that is known here.
    Unknown,
}

/// Sets the option `v.key` (a main name) on `job`.
pub(crate) fn set(job: &mut Job, v: Value<'_>) -> Result<Taken, Problem> {
    let taken = [set_pattern, set_region, set_pace, set_report, set_trace]
        .iter()
        .try_fold(Taken::Unknown, |taken, group| match taken {
            Taken::Set => Ok(Taken::Set),
            Taken::Unknown => group(job, v),
        })?;
    if let (Taken::Unknown, Some(entry)) = (&taken, inert_entry(v.key)) {
        set_inert(job, v, entry)?;
        return Ok(Taken::Set);
    }
    Ok(taken)
}

fn set_pattern(job: &mut Job, v: Value<'_>) -> Result<Taken, Problem> {
    match v.key {
        "rw" => set_rw(&mut job.rw, v)?,
        "rw_sequencer" => {
            job.rw.identical = match v.text()? {
                "sequential" => false,
                "identical" => true,
                _ => return Err(v.bad("unknown", "write sequential or identical")),
            }
        }
        "bs" => v.by_kind(&mut job.bs, |t| Ok(BlockSizes::Fixed(v.block(t)?)))?,
        "bsrange" => v.by_kind(&mut job.bs, |t| block_range(v, t))?,
        "bssplit" => v.by_kind(&mut job.bs, |t| block_split(v, t))?,
        "ba" => v.by_kind(&mut job.block_align, |t| Ok(Some(v.block(t)?)))?,
        "rwmixread" => job.rwmix_read = v.small(0, 100)?,
        "rwmixwrite" => job.rwmix_read = 100 - v.small(0, 100)?,
        "percentage_random" => v.by_kind(&mut job.percentage_random, |t| {
            Ok(v.number_of(t, 0, 100)? as u32)
        })?,
        "random_distribution" => job.distribution = distribution::parse(v)?,
        "norandommap" => job.random_map = !v.flag()?,
        "randseed" => job.rand_seed = Some(v.number(0, u64::MAX)?),
        "fsync" => job.fsync = v.number(0, u64::MAX)?,
        "fdatasync" => job.fdatasync = v.number(0, u64::MAX)?,
        "end_fsync" => job.end_fsync = v.flag()?,
        "fsync_on_close" => job.fsync_on_close = v.flag()?,
        "verify" => job.verify.method = verify_method(v)?,
        "do_verify" => job.verify.read_back = v.flag()?,
        _ => return Ok(Taken::Unknown),
    }
    Ok(Taken::Set)
}

fn set_region(job: &mut Job, v: Value<'_>) -> Result<Taken, Problem> {
    match v.key {
        "size" => job.size = Some(v.extent()?),
        "io_size" => job.io_size = Some(v.extent()?),
        "offset" => job.offset = v.extent()?,
        "offset_align" => {
            job.offset_align = match v.text()? {
                "0" => None,
                text => Some(v.block(text)?),
            }
        }
        "offset_increment" => job.offset_increment = v.extent()?,
        "number_ios" => job.number_ios = Some(v.number(0, u64::MAX)?).filter(|n| *n > 0),
        "nandscope_fullness" => {
            let text = v.text()?;
            let percent = text.strip_suffix('%').unwrap_or(text);
            job.fullness_percent = Some(v.number_of(percent, 0, 100)? as u32);
        }
        _ => return Ok(Taken::Unknown),
    }
    Ok(Taken::Set)
}

fn set_pace(job: &mut Job, v: Value<'_>) -> Result<Taken, Problem> {
    let pacing = &mut job.pacing;
    match v.key {
        "iodepth" => pacing.iodepth = v.small(1, 65_536)?,
        "runtime" => pacing.runtime = Some(v.time(SECOND)?).filter(|t| !t.is_zero()),
        "time_based" => pacing.time_based = v.flag()?,
        "ramp_time" => pacing.ramp_time = v.time(SECOND)?,
        "startdelay" => {
            if v.text()?.contains('-') {
                return Err(v.bad("a range of delays is not supported", "give one time"));
            }
            pacing.start_delay = v.time(SECOND)?;
        }
        "loops" => pacing.loops = v.small(1, u32::MAX)?,
        "thinktime" => pacing.thinktime = v.time(MICROSECOND)?,
        "thinktime_blocks" => pacing.thinktime_blocks = v.small(1, u32::MAX)?,
        "rate" => set_rates(job, v, |text| {
            Ok(RateLimit::BytesPerSecond(v.size_of(text)?.0))
        })?,
        "rate_iops" => set_rates(job, v, |text| {
            Ok(RateLimit::OpsPerSecond(v.number_of(text, 0, u64::MAX)?))
        })?,
        "nandscope_duty_cycle" => pacing.duty_cycle = Some(duty_cycle(v)?),
        "nandscope_idle_cap" => pacing.idle_cap = Some(v.time(SECOND)?),
        "numjobs" => job.numjobs = v.small(1, 65_536)?,
        "stonewall" => job.stonewall = v.flag()?,
        _ => return Ok(Taken::Unknown),
    }
    Ok(Taken::Set)
}

fn set_report(job: &mut Job, v: Value<'_>) -> Result<Taken, Problem> {
    match v.key {
        "name" => job.name = v.text()?.to_string(),
        "description" => job.description = Some(v.text()?.to_string()),
        "group_reporting" => job.group_reporting = v.flag()?,
        "new_group" => job.new_group = v.flag()?,
        "write_bw_log" => job.logs.bandwidth = Some(v.text.unwrap_or_default().to_string()),
        "write_iops_log" => job.logs.iops = Some(v.text.unwrap_or_default().to_string()),
        "write_lat_log" => job.logs.latency = Some(v.text.unwrap_or_default().to_string()),
        "log_avg_msec" => {
            job.logs.interval = Nanos::from_millis(v.number(0, u64::from(u32::MAX))?);
        }
        "percentile_list" => job.percentiles = percentiles(v)?,
        "unified_rw_reporting" => {
            job.unified_rw = match v.text()? {
                "none" | "0" => UnifiedRw::None,
                "mixed" | "1" => UnifiedRw::Mixed,
                "both" | "2" => UnifiedRw::Both,
                _ => return Err(v.bad("unknown", "write none, mixed or both")),
            }
        }
        // Already taken into account while the values of the section are read.
        "kb_base" => {}
        _ => return Ok(Taken::Unknown),
    }
    Ok(Taken::Set)
}

fn set_trace(job: &mut Job, v: Value<'_>) -> Result<Taken, Problem> {
    let set: fn(&mut TraceRef, Value<'_>) -> Result<(), Problem> = match v.key {
        "read_iolog" => |trace, v| {
            let path = v.text()?;
            if path.contains(':') {
                return Err(v.bad("several traces in one job", "write one job for each"));
            }
            trace.path = path.to_string();
            Ok(())
        },
        "replay_no_stall" => |trace, v| {
            trace.no_stall = v.flag()?;
            Ok(())
        },
        "replay_time_scale" => |trace, v| {
            trace.time_scale_percent = v.small(1, u32::MAX)?;
            Ok(())
        },
        "replay_scale" => |trace, v| {
            trace.offset_divisor = v.number(1, u64::MAX)?;
            Ok(())
        },
        "replay_align" => |trace, v| {
            trace.align = match v.text()? {
                "0" => None,
                text => Some(v.block(text)?),
            };
            Ok(())
        },
        "nandscope_trace_format" => |trace, v| {
            trace.format = Some(v.text()?.to_string());
            Ok(())
        },
        _ => return Ok(Taken::Unknown),
    };
    set(job.trace.get_or_insert_with(|| TraceRef::new("")), v)?;
    Ok(Taken::Set)
}

fn set_inert(job: &mut Job, v: Value<'_>, entry: &Inert) -> Result<(), Problem> {
    let text = v.text.unwrap_or("1");
    if !entry.only.is_empty() && !entry.only.contains(&text) {
        return Err(v.bad(
            format!("not honoured: {}", entry.reason),
            format!(
                "remove it, or write `{}={}`",
                entry.name,
                entry.only.join("` or `")
            ),
        ));
    }
    job.inert.insert(entry.name.to_string(), text.to_string());
    Ok(())
}

fn set_rw(rw: &mut Rw, v: Value<'_>) -> Result<(), Problem> {
    let text = v.text()?;
    let (word, modifier) = match text.split_once(':') {
        Some((word, modifier)) => (word, Some(modifier)),
        None => (text, None),
    };
    let (access, random) = match word {
        "read" => (Access::Read, false),
        "write" => (Access::Write, false),
        "trim" => (Access::Trim, false),
        "rw" | "readwrite" => (Access::ReadWrite, false),
        "trimwrite" => (Access::TrimWrite, false),
        "randread" => (Access::Read, true),
        "randwrite" => (Access::Write, true),
        "randtrim" => (Access::Trim, true),
        "randrw" => (Access::ReadWrite, true),
        "randtrimwrite" => (Access::TrimWrite, true),
        _ => {
            return Err(v.bad(
                "no such access",
                "write read, write, trim, rw, trimwrite, or the same with `rand` before it",
            ));
        }
    };
    rw.modifier = match modifier {
        None => None,
        Some(text) if text.starts_with('-') => {
            return Err(v.bad("going backwards is not supported", "use a positive number"));
        }
        Some(text) if random => Some(v.number_of(text, 1, u64::from(u32::MAX))?),
        Some(text) => match v.size_of(text)?.0 {
            n if n.is_multiple_of(512) => Some(n).filter(|n| *n > 0),
            _ => return Err(v.bad("no whole number of sectors", "use a multiple of 512")),
        },
    };
    (rw.access, rw.random) = (access, random);
    Ok(())
}

fn block_range(v: Value<'_>, text: &str) -> Result<BlockSizes, Problem> {
    let Some((low, high)) = text.split_once(['-', ':']) else {
        return Ok(BlockSizes::Fixed(v.block(text)?));
    };
    let (min, max) = (v.block(low)?, v.block(high)?);
    match min.cmp(&max) {
        std::cmp::Ordering::Less => Ok(BlockSizes::Range { min, max }),
        std::cmp::Ordering::Equal => Ok(BlockSizes::Fixed(min)),
        std::cmp::Ordering::Greater => Err(v.bad("the range is reversed", "put the smaller first")),
    }
}

/// Reads `4k/60:64k/40`; parts without a share divide what is left, as fio does it.
fn block_split(v: Value<'_>, text: &str) -> Result<BlockSizes, Problem> {
    let mut parts: Vec<(u32, Option<u32>)> = Vec::new();
    for part in text.split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(v.number_of(share, 0, 100)? as u32),
        };
        parts.push((v.block(size)?, share));
    }
    let given: u64 = parts.iter().filter_map(|p| p.1).map(u64::from).sum();
    let open = parts.iter().filter(|p| p.1.is_none()).count() as u64;
    if given > 100 || (open == 0 && given != 100) {
        return Err(v.bad(
            format!("the shares sum to {given} percent"),
            "make them sum to 100",
        ));
    }
    let mut left = 100 - given as u32;
    let mut waiting = open as u32;
    let mut shares = Vec::with_capacity(parts.len());
    for (size, share) in parts {
        let share = share.unwrap_or_else(|| {
            let part = left / waiting.max(1);
            left -= part;
            waiting -= 1;
            part
        });
        shares.push((size, share));
    }
    shares.retain(|(_, share)| *share > 0);
    match shares[..] {
        [(size, _)] => Ok(BlockSizes::Fixed(size)),
        [] => Err(v.bad("no size has a share", "write such as 4k/60:64k/40")),
        _ => Ok(BlockSizes::Split(shares)),
    }
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
            // Zero means no limit of this sort; one of the other sort stays.
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
        busy_percent: v.number_of(busy, 1, 100)? as u32,
    })
}

fn percentiles(v: Value<'_>) -> Result<Vec<f64>, Problem> {
    let mut list = Vec::new();
    for text in v.text()?.split(':') {
        list.push(v.float(text.trim(), 0.0, 100.0)?);
    }
    list.sort_by(f64::total_cmp);
    list.dedup();
    Ok(list)
}

const VERIFY_METHODS: &[&str] = &[
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "xxhash",
    "sha256",
    "sha512",
    "sha1",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
];

fn verify_method(v: Value<'_>) -> Result<Option<String>, Problem> {
    match v.text()? {
        "0" | "none" => Ok(None),
        name if VERIFY_METHODS.contains(&name) => Ok(Some(name.to_string())),
        _ => Err(v.bad(
            "not a method that is supported",
            format!("write one of {}", VERIFY_METHODS.join(", ")),
        )),
    }
}
