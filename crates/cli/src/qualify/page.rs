//! The verdict of `nandscope qualify` as a page.

use super::text::{circumstances, decides, stream_rows};
use super::{Arguments, Examined};
use nandscope_fitness::requirement::Requirement;
use nandscope_fitness::verdict::{Answer, Finding, StreamSummary};
use nandscope_report::qualification::{Line, Met, Qualification};
use nandscope_units::number;

/// The page of a verdict.
pub fn page(
    arguments: &Arguments,
    target: &str,
    requirement: &Requirement,
    examined: &Examined,
) -> Qualification {
    let verdict = &examined.verdict;
    let deciding = verdict.decides.and_then(|i| verdict.findings.get(i));
    let host = examined.host.as_ref();
    let host = host.map_or_else(String::new, |host| format!(", host {host}"));
    let (heads, rows) = stream_rows(&verdict.streams);
    Qualification {
        application: requirement.title.clone(),
        device: format!("{}{host}", examined.device),
        verdict: met(verdict.answer),
        decides: deciding.map_or_else(String::new, decides),
        stall: deciding.map_or_else(String::new, |f| stall(f, &verdict.streams)),
        circumstances: circumstances(examined),
        findings: verdict.findings.iter().map(line).collect(),
        streams: (heads.iter().map(ToString::to_string).collect(), rows),
        commands: commands(arguments, target, requirement),
        notes: examined.remarks.clone(),
    }
}

fn met(answer: Answer) -> Met {
    match answer {
        Answer::Yes => Met::Yes,
        Answer::No => Met::No,
        Answer::NotKnown => Met::NotKnown,
    }
}

fn line(finding: &Finding) -> Line {
    let remedy = match finding.remedy.is_empty() {
        true => String::new(),
        false => format!("would be met: {}", finding.remedy),
    };
    let remarks = [finding.reason.clone(), remedy];
    let remarks: Vec<String> = remarks.into_iter().filter(|r| !r.is_empty()).collect();
    Line {
        requirement: finding.requirement.clone(),
        met: met(finding.answer),
        limit: finding.limit.clone(),
        found: finding.found.clone(),
        margin: finding.margin,
        state: finding.state.clone(),
        remark: remarks.join("; "),
    }
}

/// The longest operation of the stream and the state of a finding; of all streams for a finding on none of them.
fn stall(finding: &Finding, streams: &[StreamSummary]) -> String {
    let is_of = |s: &&StreamSummary| {
        let stream = finding.requirement.split_once(": ");
        stream.is_none_or(|(name, _)| name == s.stream)
            && (finding.state.is_empty() || finding.state == s.state)
    };
    let stalls = streams.iter().filter(is_of);
    let stalls = stalls.filter_map(|s| Some((s, s.stall?)));
    let Some((stream, stall)) = stalls.max_by_key(|(_, stall)| stall.took) else {
        return String::new();
    };
    format!(
        "The longest operation of {} ({}): a {} of {} at {}, {} after the start. The buffer was fullest after {}.",
        stream.stream,
        stream.state,
        stall.kind,
        number::latency(stall.took.0 as f64),
        number::binary_bytes(stall.offset.0),
        number::duration(stall.at.as_secs_f64()),
        number::duration(stream.fullest_at_s),
    )
}

/// Commands that repeat the examination, examine others, and record longer.
fn commands(arguments: &Arguments, target: &str, requirement: &Requirement) -> Vec<String> {
    let wanted = arguments.requirement.as_deref().unwrap_or_default();
    let mut this = format!("nandscope qualify {target} --for {wanted}");
    if let Some(host) = &arguments.host {
        this.push_str(&format!(" --host {host}"));
    }
    for change in &arguments.params.params {
        this.push_str(&format!(" --param {}={}", change.key, change.value));
    }
    let mut all = vec![
        this.clone(),
        format!("{this} --length 24h"),
        format!("nandscope qualify --library --for {wanted}"),
    ];
    if requirement.years.is_some() && crate::target::real::is_real(target) {
        all.push(format!("nandscope health {target} --log health.jsonl"));
    }
    all
}
