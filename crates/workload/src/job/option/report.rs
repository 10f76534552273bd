//! Options that name a job, group its results and select what is recorded.

use super::Kind::{Count, Flag, Other, Text};
use super::{AS_IN_FIO, JobOption, flag, number, option, word_of};
use crate::job::error::Problem;
use crate::job::model::UnifiedRw;
use crate::job::value::Value;
use nandscope_units::Nanos;

/// Remark on options whose effect only `--output-format` shows.
const IN_FIOS_FORMATS: &str =
    "In fio's output formats; the result has the percentiles of all latencies";

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "name",
        AS_IN_FIO,
        Other("text", |j, v| {
            let name = v.text()?;
            if name.starts_with("global") {
                return Err(v.bad(
                    "fio takes a section of this name for `[global]`",
                    "rename the job",
                ));
            }
            j.name = name.to_string();
            Ok(())
        }),
        |_| None,
    ),
    option(
        "description",
        AS_IN_FIO,
        Text(|j, text| j.description = Some(text)),
        |j| j.description.clone(),
    ),
    option(
        "kb_base",
        AS_IN_FIO,
        // The reader of the section has applied it already: it holds for the options above it as well.
        Other("`1024` or `1000`", |_, _| Ok(())),
        |_| None,
    ),
    option(
        "group_reporting",
        AS_IN_FIO,
        Flag(|j, on| j.group_reporting = on),
        |j| flag(j.group_reporting),
    ),
    option(
        "new_group",
        AS_IN_FIO,
        Flag(|j, on| j.new_group = on),
        |j| flag(j.new_group),
    ),
    option(
        "unified_rw_reporting",
        AS_IN_FIO,
        Other("`none`, `mixed` or `both`", |j, v| {
            j.unified_rw = v.word(UNIFIED, "write none, mixed or both")?;
            Ok(())
        }),
        |j| word_of(UNIFIED, j.unified_rw),
    ),
    option(
        "write_bw_log",
        "Goes to `--log-dir`, as do `write_iops_log` and `write_lat_log`",
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.bandwidth = prefix(v);
            Ok(())
        }),
        |j| j.logs.bandwidth.clone(),
    ),
    option(
        "write_iops_log",
        AS_IN_FIO,
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.iops = prefix(v);
            Ok(())
        }),
        |j| j.logs.iops.clone(),
    ),
    option(
        "write_lat_log",
        AS_IN_FIO,
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.latency = prefix(v);
            Ok(())
        }),
        |j| j.logs.latency.clone(),
    ),
    option(
        "log_avg_msec",
        AS_IN_FIO,
        Count(0, u32::MAX, |j, n| {
            j.logs.interval = Nanos::from_millis(n.into())
        }),
        |j| number(j.logs.interval.0 / 1_000_000),
    ),
    option(
        "log_offset",
        AS_IN_FIO,
        Flag(|j, on| j.logs.offsets = on),
        |j| flag(j.logs.offsets),
    ),
    option(
        "log_prio",
        "The priority is always 0",
        Flag(|j, on| j.logs.priorities = on),
        |j| flag(j.logs.priorities),
    ),
    option(
        "log_max_value",
        AS_IN_FIO,
        Flag(|j, on| j.logs.largest = on),
        |j| flag(j.logs.largest),
    ),
    option(
        "write_hist_log",
        AS_IN_FIO,
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.histogram = prefix(v);
            Ok(())
        }),
        |j| j.logs.histogram.clone(),
    ),
    option(
        "log_hist_msec",
        AS_IN_FIO,
        Count(0, u32::MAX, |j, n| {
            j.logs.histogram_interval = Nanos::from_millis(n.into());
        }),
        |j| number(j.logs.histogram_interval.0 / 1_000_000),
    ),
    option(
        "log_hist_coarseness",
        AS_IN_FIO,
        Count(0, 6, |j, n| j.logs.coarseness = n),
        |j| number(j.logs.coarseness),
    ),
    option(
        "per_job_logs",
        "0: all threads whose log has the same prefix share one file, one after the other",
        Flag(|j, on| j.logs.shared = !on),
        |j| j.logs.shared.then(|| "0".to_string()),
    ),
    option(
        "write_iolog",
        "Trace for `read_iolog` in `--log-dir`; clones and jobs with the same file share it",
        Other("file", |j, v| {
            j.logs.operations = Some(v.text()?.to_string());
            Ok(())
        }),
        |j| j.logs.operations.clone(),
    ),
    option(
        "clat_percentiles",
        IN_FIOS_FORMATS,
        Flag(|j, on| j.shown.completion = on),
        |j| (!j.shown.completion).then(|| "0".to_string()),
    ),
    option(
        "lat_percentiles",
        IN_FIOS_FORMATS,
        Flag(|j, on| j.shown.total = on),
        |j| flag(j.shown.total),
    ),
    option(
        "slat_percentiles",
        IN_FIOS_FORMATS,
        Flag(|j, on| j.shown.submission = on),
        |j| flag(j.shown.submission),
    ),
    option(
        "significant_figures",
        IN_FIOS_FORMATS,
        Count(1, 10, |j, n| j.shown.digits = n),
        |j| number(j.shown.digits),
    ),
    option(
        "percentile_list",
        AS_IN_FIO,
        Other("numbers from 0 to 100, separated by `:`", |j, v| {
            j.percentiles = percentiles(v)?;
            Ok(())
        }),
        |j| {
            let list: Vec<String> = j.percentiles.iter().map(f64::to_string).collect();
            Some(list.join(":"))
        },
    ),
];

const UNIFIED: &[(&str, UnifiedRw)] = &[
    ("none", UnifiedRw::None),
    ("mixed", UnifiedRw::Mixed),
    ("both", UnifiedRw::Both),
    ("0", UnifiedRw::None),
    ("1", UnifiedRw::Mixed),
    ("2", UnifiedRw::Both),
];

fn prefix(v: Value<'_>) -> Option<String> {
    Some(v.text.unwrap_or_default().to_string())
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
