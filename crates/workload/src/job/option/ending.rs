//! Options that end a job before its work and its time end, or that pace it by its measurements.

use super::Kind::{Count, Flag, Other, Time};
use super::{AS_IN_FIO, JobOption, MICROSECOND, SECOND, flag, number, option, word_of};
use crate::SteadyState;
use crate::job::error::Problem;
use crate::job::kinds::PerKind;
use crate::job::model::{ContinueOnError, Job};
use crate::job::relation::ExitScope;
use crate::job::text::{size_text, time_text};
use crate::job::value::Value;
use nandscope_units::Nanos;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "rate_min",
        AS_IN_FIO,
        Other("size, by direction", |j, v| {
            by_kind(&mut j.pacing.lowest.bytes, v, |text| Ok(v.size_of(text)?.0))
        }),
        |j| bounds_text(&j.pacing.lowest.bytes, |n| size_text(*n)),
    ),
    option(
        "rate_iops_min",
        AS_IN_FIO,
        Other("number, by direction", |j, v| {
            by_kind(&mut j.pacing.lowest.operations, v, |text| {
                v.number_of(text, 0..=u64::MAX)
            })
        }),
        |j| bounds_text(&j.pacing.lowest.operations, u64::to_string),
    ),
    option(
        "rate_cycle",
        AS_IN_FIO,
        Count(0, u32::MAX, |j, n| {
            j.pacing.lowest.cycle = Nanos::from_millis(n.into());
        }),
        |j| number(j.pacing.lowest.cycle.0 / 1_000_000),
    ),
    option(
        "latency_target",
        AS_IN_FIO,
        Time(MICROSECOND, |j, t| j.pacing.latency_target.latency = t),
        |j| Some(time_text(j.pacing.latency_target.latency)),
    ),
    option(
        "latency_window",
        AS_IN_FIO,
        Time(MICROSECOND, |j, t| j.pacing.latency_target.window = t),
        |j| Some(time_text(j.pacing.latency_target.window)),
    ),
    option(
        "latency_percentile",
        AS_IN_FIO,
        Other("number from 0 to 100", |j, v| {
            j.pacing.latency_target.percentile = v.float(v.text()?, 0.0, 100.0)?;
            Ok(())
        }),
        |j| number(j.pacing.latency_target.percentile),
    ),
    option(
        "latency_run",
        AS_IN_FIO,
        Flag(|j, on| j.pacing.latency_target.keeps_searching = on),
        |j| flag(j.pacing.latency_target.keeps_searching),
    ),
    option(
        "steadystate",
        AS_IN_FIO,
        Other(
            "`iops:2%`, `iops_slope:0.3%`, `bw:1m`, `bw_slope:1m`",
            |j, v| {
                let (seconds, ramp) = (j.pacing.steady.seconds, j.pacing.steady.ramp);
                j.pacing.steady = SteadyState {
                    seconds,
                    ramp,
                    ..steady(v)?
                };
                Ok(())
            },
        ),
        |j| Some(steady_text(&j.pacing.steady)),
    ),
    option(
        "steadystate_duration",
        AS_IN_FIO,
        Other("time (s)", |j, v| {
            let time = v.time(SECOND)?;
            if !time.0.is_multiple_of(SECOND.0) {
                return Err(v.bad("not a whole number of seconds", "write such as 30s"));
            }
            j.pacing.steady.seconds = v.number_of(&(time.0 / SECOND.0).to_string(), 0..=86_400)?;
            Ok(())
        }),
        |j| number(j.pacing.steady.seconds),
    ),
    option(
        "steadystate_ramp_time",
        AS_IN_FIO,
        Time(SECOND, |j, t| j.pacing.steady.ramp = t),
        |j| Some(time_text(j.pacing.steady.ramp)),
    ),
    option(
        "continue_on_error",
        "Applies to input and output errors (EIO, EILSEQ) and those of `ignore_error`",
        Other(
            "`none`, `read`, `write`, `io`, `verify` or `all`",
            |j, v| {
                // As in fio, the bare name means `all`.
                let v = Value {
                    text: v.text.or(Some("all")),
                    ..v
                };
                j.continue_on_error =
                    v.word(ON_ERROR, "write none, read, write, io, verify or all")?;
                Ok(())
            },
        ),
        |j| word_of(ON_ERROR, j.continue_on_error),
    ),
    option(
        "ignore_error",
        AS_IN_FIO,
        Other("names or numbers such as `EIO:ENOSPC`, by kind", |j, v| {
            ignore(j, v)
        }),
        |j| {
            let lists = j.ignored_errors.iter().map(|list| {
                let words: Vec<String> = list.iter().map(u32::to_string).collect();
                words.join(":")
            });
            let text = lists.collect::<Vec<_>>().join(",");
            Some(text.trim_end_matches(',').to_string()).filter(|text| !text.is_empty())
        },
    ),
    option(
        "exitall",
        AS_IN_FIO,
        Flag(|j, on| j.relation.exit_all = on),
        |j| flag(j.relation.exit_all),
    ),
    option(
        "exitall_on_error",
        AS_IN_FIO,
        Flag(|j, on| j.relation.exit_on_error = on),
        |j| flag(j.relation.exit_on_error),
    ),
    option(
        "exit_what",
        AS_IN_FIO,
        Other("`group`, `stonewall` or `all`", |j, v| {
            j.relation.exit_what = v.word(SCOPES, "write group, stonewall or all")?;
            Ok(())
        }),
        |j| word_of(SCOPES, j.relation.exit_what),
    ),
    option(
        "wait_for",
        AS_IN_FIO,
        Other("name of a job", |j, v| {
            j.relation.wait_for = Some(v.text()?.to_string());
            Ok(())
        }),
        |j| j.relation.wait_for.clone(),
    ),
    option(
        "flow",
        AS_IN_FIO,
        Other("number to 1000", |j, v| {
            let text = v.text()?;
            let weight = match text.strip_prefix('-') {
                Some(number) => v.number_of::<u32>(number, 0..=1000)?.wrapping_neg(),
                None => v.number_of(text, 0..=1000)?,
            };
            j.relation.flow = weight;
            Ok(())
        }),
        |j| number(j.relation.flow as i32),
    ),
    option(
        "flow_id",
        AS_IN_FIO,
        Count(0, u32::MAX, |j, n| j.relation.flow_id = n),
        |j| number(j.relation.flow_id),
    ),
    option(
        "flow_sleep",
        AS_IN_FIO,
        Count(0, u32::MAX, |j, n| {
            j.relation.flow_sleep = Nanos::from_micros(n.into());
        }),
        |j| number(j.relation.flow_sleep.0 / 1_000),
    ),
];

/// Words of `continue_on_error`, and the two numbers that fio accepts as words.
const ON_ERROR: &[(&str, ContinueOnError)] = &[
    ("none", ContinueOnError::None),
    ("read", ContinueOnError::Read),
    ("write", ContinueOnError::Write),
    ("io", ContinueOnError::Io),
    ("verify", ContinueOnError::Verify),
    ("all", ContinueOnError::All),
    ("0", ContinueOnError::None),
    ("1", ContinueOnError::All),
];

const SCOPES: &[(&str, ExitScope)] = &[
    ("group", ExitScope::Group),
    ("stonewall", ExitScope::Stonewall),
    ("all", ExitScope::All),
];

/// Criteria of a steady state: bandwidth instead of IOPS, and slope instead of deviation.
const CRITERIA: &[(&str, (bool, bool))] = &[
    ("iops", (false, false)),
    ("iops_slope", (false, true)),
    ("bw", (true, false)),
    ("bw_slope", (true, true)),
];

/// Names of errors that fio knows, in the order of their numbers from 1 on.
const ERRORS: &str = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES \
    EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
    ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE";

fn by_kind(
    bounds: &mut [u64; 3],
    v: Value<'_>,
    read: impl FnMut(&str) -> Result<u64, Problem>,
) -> Result<(), Problem> {
    let [read_, write, trim] = *bounds;
    let mut kinds = PerKind {
        read: read_,
        write,
        trim,
    };
    v.by_kind(&mut kinds, read)?;
    *bounds = [kinds.read, kinds.write, kinds.trim];
    Ok(())
}

fn bounds_text(bounds: &[u64; 3], text: impl Fn(&u64) -> String) -> Option<String> {
    let [read, write, trim] = *bounds;
    let any = bounds.iter().any(|bound| *bound > 0);
    any.then(|| PerKind { read, write, trim }.text(text))
}

fn steady(v: Value<'_>) -> Result<SteadyState, Problem> {
    const REMEDY: &str = "write such as iops:2% or bw_slope:1m";
    let text = v.text()?;
    let Some((criterion, limit)) = text.split_once(':') else {
        return Err(v.bad("no limit", REMEDY));
    };
    let (bandwidth, slope) = v.with(criterion).word(CRITERIA, REMEDY)?;
    let (limit, percent) = match limit.strip_suffix('%') {
        Some(percent) => (v.float(percent, 0.0, 100.0)?, true),
        None => match limit.parse::<f64>() {
            Ok(number) if number >= 0.0 && number.is_finite() => (number, false),
            _ => (v.size_of(limit)?.0 as f64, false),
        },
    };
    Ok(SteadyState {
        bandwidth,
        slope,
        limit,
        percent,
        ..SteadyState::default()
    })
}

fn steady_text(steady: &SteadyState) -> String {
    let word = word_of(CRITERIA, (steady.bandwidth, steady.slope)).unwrap_or_default();
    let unit = if steady.percent { "%" } else { "" };
    format!("{word}:{}{unit}", steady.limit)
}

fn ignore(job: &mut Job, v: Value<'_>) -> Result<(), Problem> {
    let lists: Vec<&str> = v.text()?.split(',').collect();
    if lists.len() > job.ignored_errors.len() {
        return Err(v.bad(
            "more than three lists",
            "give those of reads, writes and verification",
        ));
    }
    for (list, into) in lists.into_iter().zip(&mut job.ignored_errors) {
        let names = list
            .split(':')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        *into = names
            .map(|name| error_number(v, name))
            .collect::<Result<_, _>>()?;
    }
    Ok(())
}

fn error_number(v: Value<'_>, name: &str) -> Result<u32, Problem> {
    let position = ERRORS.split_whitespace().position(|known| known == name);
    match position {
        Some(position) => Ok(position as u32 + 1),
        None => name.parse().map_err(|_| {
            v.bad(
                format!("`{name}` is not an error that fio knows"),
                "write its number",
            )
        }),
    }
}
