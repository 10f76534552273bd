//! Options that name a job, group its results and select what is recorded.

use super::Kind::{Count, Flag, Other, Text};
use super::{JobOption, flag, number, option, word_of};
use crate::job::error::Problem;
use crate::job::model::UnifiedRw;
use crate::job::value::Value;
use nandscope_units::Nanos;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "name",
        "Name of the job instead of that of its section",
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
        "Kept in the result",
        Text(|j, text| j.description = Some(text)),
        |j| j.description.clone(),
    ),
    option(
        "kb_base",
        "What `k` is, for the whole section",
        // The reader of the section has applied it already: it holds for the options above it as well.
        Other("`1024` or `1000`", |_, _| Ok(())),
        |_| None,
    ),
    option(
        "group_reporting",
        "Report the clones as one job",
        Flag(|j, on| j.group_reporting = on),
        |j| flag(j.group_reporting),
    ),
    option(
        "new_group",
        "Begin a new group of reports",
        Flag(|j, on| j.new_group = on),
        |j| flag(j.new_group),
    ),
    option(
        "unified_rw_reporting",
        "With `mixed` reads, writes and trims are reported as one, with `both` also apart",
        Other("`none`, `mixed` or `both`", |j, v| {
            j.unified_rw = v.word(UNIFIED, "write none, mixed or both")?;
            Ok(())
        }),
        |j| word_of(UNIFIED, j.unified_rw),
    ),
    option(
        "write_bw_log",
        "Log of the bandwidth; the prefix is the name of the job by default",
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.bandwidth = prefix(v);
            Ok(())
        }),
        |j| j.logs.bandwidth.clone(),
    ),
    option(
        "write_iops_log",
        "The same for operations per second",
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.iops = prefix(v);
            Ok(())
        }),
        |j| j.logs.iops.clone(),
    ),
    option(
        "write_lat_log",
        "The same for latency",
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.latency = prefix(v);
            Ok(())
        }),
        |j| j.logs.latency.clone(),
    ),
    option(
        "log_avg_msec",
        "Interval of the logs, ms; 0 logs every operation",
        Count(0, u32::MAX, |j, n| {
            j.logs.interval = Nanos::from_millis(n.into())
        }),
        |j| number(j.logs.interval.0 / 1_000_000),
    ),
    option(
        "log_offset",
        "Log the offset of each operation as well",
        Flag(|j, on| j.logs.offsets = on),
        |j| flag(j.logs.offsets),
    ),
    option(
        "log_prio",
        "Log the priority in hexadecimal; it is always 0",
        Flag(|j, on| j.logs.priorities = on),
        |j| flag(j.logs.priorities),
    ),
    option(
        "log_max_value",
        "Log the largest value of each interval instead of the mean",
        Flag(|j, on| j.logs.largest = on),
        |j| flag(j.logs.largest),
    ),
    option(
        "write_hist_log",
        "Log of histograms of the completion latency, one each `log_hist_msec`, with fio's bins",
        Other("prefix of the file, or nothing", |j, v| {
            j.logs.histogram = prefix(v);
            Ok(())
        }),
        |j| j.logs.histogram.clone(),
    ),
    option(
        "log_hist_msec",
        "Time between two histograms of `write_hist_log`, ms; 0 logs none",
        Count(0, u32::MAX, |j, n| {
            j.logs.histogram_interval = Nanos::from_millis(n.into());
        }),
        |j| number(j.logs.histogram_interval.0 / 1_000_000),
    ),
    option(
        "log_hist_coarseness",
        "Add up bins of `write_hist_log`, 2 to this power each",
        Count(0, 6, |j, n| j.logs.coarseness = n),
        |j| number(j.logs.coarseness),
    ),
    option(
        "write_iolog",
        "Write the operations to this file of the folder of the logs, as a trace for `read_iolog`; clones and jobs with the same file share it",
        Other("file", |j, v| {
            j.logs.operations = Some(v.text()?.to_string());
            Ok(())
        }),
        |j| j.logs.operations.clone(),
    ),
    option(
        "percentile_list",
        "Percentiles of the latency to report",
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
