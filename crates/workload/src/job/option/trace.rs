//! Options that replay a trace instead of a pattern.

use super::Kind::Other;
use super::{AS_IN_FIO, JobOption, flag, number, option, word_of};
use crate::OpKind;
use crate::job::model::{Job, TraceRef};
use crate::job::text::size_text;
use crate::trace::BlockEvent;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "read_iolog",
        "Trace to replay, in any of the [formats](traces.md)",
        Other("path", |j, v| {
            let path = v.text()?;
            if path.contains(':') {
                return Err(v.bad("several traces in one job", "write one job for each"));
            }
            of(j).path = path.to_string();
            Ok(())
        }),
        |j| shown(j, |trace| Some(trace.path.clone())),
    ),
    option(
        "replay_no_stall",
        AS_IN_FIO,
        Other("`0` or `1`", |j, v| {
            of(j).no_stall = v.flag()?;
            Ok(())
        }),
        |j| shown(j, |trace| flag(trace.no_stall).filter(|_| trace.no_stall)),
    ),
    option(
        "replay_time_scale",
        AS_IN_FIO,
        Other("number from 1", |j, v| {
            of(j).time_scale_percent = v.number_of(v.text()?, 1..=u32::MAX)?;
            Ok(())
        }),
        |j| {
            shown(j, |trace| Some(trace.time_scale_percent))
                .filter(|percent| *percent != 100)
                .and_then(number)
        },
    ),
    option(
        "replay_scale",
        AS_IN_FIO,
        Other("number from 1", |j, v| {
            of(j).offset_divisor = v.number_of(v.text()?, 1..=u64::MAX)?;
            Ok(())
        }),
        |j| {
            shown(j, |trace| Some(trace.offset_divisor))
                .filter(|divisor| *divisor > 1)
                .and_then(number)
        },
    ),
    option(
        "replay_align",
        AS_IN_FIO,
        Other("size", |j, v| {
            of(j).align = v.block_or_none()?;
            Ok(())
        }),
        |j| shown(j, |trace| trace.align).map(|align| size_text(align.into())),
    ),
    option(
        "replay_skip",
        AS_IN_FIO,
        Other(
            "`read`, `write`, `trim`, `sync`, separated by commas",
            |j, v| {
                let mut skip = Vec::new();
                for word in v.text()?.split(',') {
                    let kind = v
                        .with(word.trim())
                        .word(SKIPPED, "write read, write, trim or sync")?;
                    skip.push(kind);
                }
                of(j).skip = skip;
                Ok(())
            },
        ),
        |j| {
            let skip = j.trace.as_ref().map(|trace| &trace.skip)?;
            let words: Vec<String> = skip.iter().filter_map(|k| word_of(SKIPPED, *k)).collect();
            Some(words.join(",")).filter(|text| !text.is_empty())
        },
    ),
    option(
        "nandscope_trace_format",
        "Format of the trace; by its content by default",
        Other("`iolog`, `blkparse`, `msr`, …", |j, v| {
            of(j).format = Some(v.text()?.to_string());
            Ok(())
        }),
        |j| shown(j, |trace| trace.format.clone()),
    ),
    option(
        "nandscope_trace_device",
        "Only the requests of this device of the trace; without it a trace of several is an error",
        Other("`8,0`, a disk number or device id", |j, v| {
            of(j).device = Some(v.text()?.to_string());
            Ok(())
        }),
        |j| shown(j, |trace| trace.device.clone()),
    ),
    option(
        "nandscope_trace_event",
        "Event of blkparse's text that is taken for a request: queued, issued or complete; issued by default",
        Other("`Q`, `D` or `C`", |j, v| {
            of(j).event = v.word(EVENTS, "write Q, D or C")?;
            Ok(())
        }),
        |j| shown(j, |trace| word_of(EVENTS, trace.event)).filter(|event| event != "D"),
    ),
    option(
        "nandscope_trace_sort",
        "Sort records that are out of order by time; without it they are an error",
        Other("`0` or `1`", |j, v| {
            of(j).sort = v.flag()?;
            Ok(())
        }),
        |j| shown(j, |trace| flag(trace.sort).filter(|_| trace.sort)),
    ),
];

const SKIPPED: &[(&str, OpKind)] = &[
    ("read", OpKind::Read),
    ("write", OpKind::Write),
    ("trim", OpKind::Trim),
    ("sync", OpKind::Flush),
];

const EVENTS: &[(&str, BlockEvent)] = &[
    ("D", BlockEvent::Issue),
    ("Q", BlockEvent::Queue),
    ("C", BlockEvent::Complete),
    ("issue", BlockEvent::Issue),
    ("queue", BlockEvent::Queue),
    ("complete", BlockEvent::Complete),
];

fn of(job: &mut Job) -> &mut TraceRef {
    job.trace.get_or_insert_with(|| TraceRef::new(""))
}

fn shown<T>(job: &Job, of_trace: impl Fn(&TraceRef) -> Option<T>) -> Option<T> {
    job.trace.as_ref().and_then(of_trace)
}
