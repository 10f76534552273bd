//! Verdicts on streams: whether the device keeps up, the buffer, the deadline, failed operations.

use super::{Answer, Finding, margin, worst};
use crate::qualify::Measured;
use crate::recording::{Recording, Stall, StreamRecord};
use crate::requirement::{Requirement, Stream};
use nandscope_units::{Bytes, number};
use serde::Serialize;

/// Share of the rate in the last quarter of a recording from which the device counts as keeping up.
const KEEPS_UP: f64 = 0.99;

/// One stream in one state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamSummary {
    /// Name of the stream.
    pub stream: String,
    /// State of the device.
    pub state: String,
    /// Whether everything that arrived was completed before the end.
    pub keeps_up: Answer,
    /// Rate of the completed blocks, bytes per second.
    pub bytes_per_s: f64,
    /// Buffer that loses nothing, bytes; `None` if the device does not keep up.
    pub buffer: Option<u64>,
    /// When the buffer was fullest, s since the start.
    pub fullest_at_s: f64,
    /// Median, 99th percentile and maximum of the time from arrival to completion, ns.
    pub latency_ns: [u64; 3],
    /// The longest operation.
    pub stall: Option<Stall>,
    /// Length of the recording, s.
    pub recorded_s: f64,
}

/// The streams in every state.
pub(super) fn summaries(requirement: &Requirement, measured: &[Measured]) -> Vec<StreamSummary> {
    let mut all = Vec::new();
    for (index, stream) in requirement.streams.iter().enumerate() {
        for m in measured {
            let record = &m.free.streams[index];
            let keeps_up = keeps_up(stream, record, &m.free);
            let latency = |p| record.latency.percentile(p).0;
            all.push(StreamSummary {
                stream: stream.name.clone(),
                state: m.state.to_string(),
                keeps_up,
                bytes_per_s: rate(stream, record.done, m.free.duration.as_secs_f64()),
                buffer: (keeps_up == Answer::Yes).then_some(record.peak.0),
                fullest_at_s: record.peak_at.as_secs_f64(),
                latency_ns: [latency(50.0), latency(99.0), record.latency.max().0],
                stall: record.stall,
                recorded_s: m.free.duration.as_secs_f64(),
            });
        }
    }
    all
}

fn rate(stream: &Stream, blocks: u64, seconds: f64) -> f64 {
    blocks as f64 * stream.block.0 as f64 / seconds.max(1e-9)
}

/// Whether the backlog was empty in the last quarter of the recording; if not, whether the rate was kept in it.
fn keeps_up(stream: &Stream, record: &StreamRecord, recording: &Recording) -> Answer {
    let whole = recording.duration.as_secs_f64();
    if record.emptied_at.as_secs_f64() >= whole * 0.75 {
        return Answer::Yes;
    }
    let kept = rate(stream, record.done_in_last_quarter, whole / 4.0);
    match kept < KEEPS_UP * stream.bytes_per_s() {
        true => Answer::No,
        false => Answer::NotKnown,
    }
}

/// Verdicts on one stream.
pub(super) fn findings(stream: &Stream, index: usize, measured: &[Measured]) -> Vec<Finding> {
    let each =
        |judge: &dyn Fn(&Measured) -> Option<Finding>| worst(measured.iter().filter_map(judge));
    let all = [
        each(&|m| Some(rate_finding(stream, &m.free.streams[index], m))),
        each(&|m| buffer_finding(stream, index, m)),
        each(&|m| deadline_finding(stream, &m.free.streams[index], m)),
        each(&|m| failure_finding(stream, &m.free.streams[index], m)),
    ];
    all.into_iter().flatten().collect()
}

fn rate_finding(stream: &Stream, record: &StreamRecord, m: &Measured) -> Finding {
    let answer = keeps_up(stream, record, &m.free);
    let wanted = stream.bytes_per_s();
    let seconds = m.free.duration.as_secs_f64();
    let kept = rate(stream, record.done, seconds);
    // A cache may have taken more at the beginning.
    let last = kept.min(rate(stream, record.done_in_last_quarter, seconds / 4.0));
    Finding {
        requirement: format!("{}: rate", stream.name),
        answer,
        limit: rate_text(wanted),
        found: match answer {
            Answer::Yes => "kept".to_string(),
            _ => rate_text(kept),
        },
        // A stream arrives at its rate, so how much faster the device could be is not measured.
        margin: (answer == Answer::No).then(|| kept / wanted - 1.0),
        state: m.state.to_string(),
        reason: match answer {
            Answer::Yes => String::new(),
            Answer::No => "data waits longer and longer: no buffer is large enough".to_string(),
            Answer::NotKnown => {
                "data waited until the end of the recording without growing".to_string()
            }
        },
        remedy: match answer {
            Answer::Yes => String::new(),
            Answer::No => format!("a rate of at most {}", rate_text(last)),
            Answer::NotKnown => "record longer (--length)".to_string(),
        },
    }
}

fn buffer_finding(stream: &Stream, index: usize, m: &Measured) -> Option<Finding> {
    let record = &m.free.streams[index];
    let buffer = stream.buffer?;
    let keeps_up = keeps_up(stream, record, &m.free);
    let lost = m.limited.as_ref().map_or((0, record.arrived), |l| {
        let r = &l.streams[index];
        (r.lost, r.arrived)
    });
    let lost = lost.0 as f64 / lost.1.max(1) as f64;
    // A stall of a real device need not come again when the recording is repeated with the buffer; at least what the
    // fullest moment had beyond the buffer would have been lost.
    let beyond = record.peak.0.saturating_sub(buffer.0) as f64;
    let lost = lost.max(beyond / (record.arrived.max(1) as f64 * stream.block.0 as f64));
    let answer = match (keeps_up, record.peak <= buffer) {
        (Answer::Yes, true) => Answer::Yes,
        _ if lost > stream.loss => Answer::No,
        (Answer::NotKnown, _) => Answer::NotKnown,
        // Less is lost than is allowed.
        _ => Answer::Yes,
    };
    Some(Finding {
        requirement: format!("{}: buffer", stream.name),
        answer,
        limit: number::bytes(buffer.0),
        found: match keeps_up {
            Answer::Yes => number::bytes(record.peak.0),
            _ => "no buffer".to_string(),
        },
        margin: (keeps_up == Answer::Yes)
            .then(|| margin(buffer.0 as f64, record.peak.0 as f64))
            .flatten(),
        state: m.state.to_string(),
        reason: match lost > 0.0 {
            true => format!(
                "{} % of the data is lost, {} % are allowed{}",
                number::short(lost * 100.0),
                number::short(stream.loss * 100.0),
                stall_text(record)
            ),
            false => String::new(),
        },
        remedy: match (answer, keeps_up) {
            (Answer::Yes, _) => String::new(),
            (_, Answer::Yes) => format!(
                "a buffer of {}, or a loss of {} %",
                number::bytes(record.peak.0),
                number::short(lost * 100.0)
            ),
            _ => String::new(),
        },
    })
}

fn deadline_finding(stream: &Stream, record: &StreamRecord, m: &Measured) -> Option<Finding> {
    let deadline = stream.deadline?;
    let met = 1.0 - record.late as f64 / record.arrived.max(1) as f64;
    let answer = match met >= deadline.share {
        true => Answer::Yes,
        false => Answer::No,
    };
    let percentile = deadline.share * 100.0;
    let found = record.latency.percentile(percentile);
    Some(Finding {
        requirement: format!("{}: deadline", stream.name),
        answer,
        limit: format!(
            "{} for {} %",
            number::latency(deadline.time.0 as f64),
            number::short(percentile)
        ),
        found: number::latency(found.0 as f64),
        margin: margin(deadline.time.0 as f64, found.0 as f64),
        state: m.state.to_string(),
        reason: match answer {
            Answer::No => format!(
                "{} % of the blocks are in time{}",
                number::short(met * 100.0),
                stall_text(record)
            ),
            _ => String::new(),
        },
        remedy: match answer {
            Answer::No => format!(
                "a deadline of {}, or this deadline for {} % of the blocks",
                number::latency(found.0 as f64),
                number::short(met * 100.0)
            ),
            _ => String::new(),
        },
    })
}

fn failure_finding(stream: &Stream, record: &StreamRecord, m: &Measured) -> Option<Finding> {
    let why = record.failure?;
    Some(Finding {
        requirement: format!("{}: operations", stream.name),
        answer: Answer::No,
        limit: "none fails".to_string(),
        found: format!("{} failed", number::count(record.failed)),
        margin: None,
        state: m.state.to_string(),
        reason: why.to_string(),
        remedy: String::new(),
    })
}

/// The longest operation, for a reason.
fn stall_text(record: &StreamRecord) -> String {
    let text = |stall: Stall| {
        format!(
            "; the longest {} took {}, {} after the start",
            stall.kind,
            number::latency(stall.took.0 as f64),
            number::duration(stall.at.as_secs_f64())
        )
    };
    record.stall.map(text).unwrap_or_default()
}

fn rate_text(bytes_per_s: f64) -> String {
    format!("{}/s", number::bytes(Bytes(bytes_per_s as u64).0))
}
