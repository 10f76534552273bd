//! The verdict of `nandscope qualify` as text of 80 columns.

use super::Examined;
use crate::console::{Console, lines_of};
use nandscope_fitness::requirement::Requirement;
use nandscope_fitness::verdict::{Answer, Finding, StreamSummary, years_text};
use nandscope_units::number;

/// Verdict, requirements, streams, and what fails first.
pub fn verdict(requirement: &Requirement, examined: &Examined, console: &Console) -> String {
    let verdict = &examined.verdict;
    let device = &examined.about.device_source.profile.device.title;
    let host = &examined.about.host_source.profile.host.name;
    let word = match verdict.answer {
        Answer::Yes => "Fit",
        Answer::No => "Not fit",
        Answer::NotKnown => "Not known",
    };
    let mut text = console.paragraph(
        &format!("{word}: {device}, host {host}, for {}", requirement.title),
        "",
    );
    if let Some(finding) = verdict
        .decides
        .and_then(|index| verdict.findings.get(index))
    {
        text.push_str(&console.paragraph(&decides(finding), "  "));
    }
    text.push('\n');
    text.push_str(&findings(&verdict.findings, console));
    text.push('\n');
    text.push_str(&streams(&verdict.streams, console));
    text.push('\n');
    text.push_str(&closing(requirement, examined, console));
    text
}

/// The line about the requirement that fails first, or has the least margin.
fn decides(finding: &Finding) -> String {
    let state = match finding.state.is_empty() {
        true => String::new(),
        false => format!(" ({})", finding.state),
    };
    let reason = match finding.reason.is_empty() {
        true => String::new(),
        false => format!(": {}", finding.reason),
    };
    match (finding.answer, finding.margin) {
        (Answer::Yes, Some(margin)) => format!(
            "Least margin: {}{state}, {} of {}, {:.0} % left",
            finding.requirement,
            finding.found,
            finding.limit,
            margin * 100.0
        ),
        (Answer::Yes, None) => "Every requirement is met".to_string(),
        (Answer::No, _) => format!("Fails first: {}{state}{reason}", finding.requirement),
        (Answer::NotKnown, _) => format!("Not known: {}{state}{reason}", finding.requirement),
    }
}

fn findings(all: &[Finding], console: &Console) -> String {
    let mut table = console.table(&["REQUIREMENT", "MET", "LIMIT", "FOUND", "MARGIN", "STATE"]);
    for finding in all {
        let margin = finding.margin.map(|m| match m < -9.99 {
            true => "< -999 %".to_string(),
            false => format!("{:.0} %", m * 100.0),
        });
        table.add_row([
            finding.requirement.clone(),
            finding.answer.word().to_string(),
            finding.limit.clone(),
            finding.found.clone(),
            margin.unwrap_or_default(),
            finding.state.clone(),
        ]);
    }
    lines_of(&table)
}

fn streams(all: &[StreamSummary], console: &Console) -> String {
    let heads = [
        "STREAM",
        "STATE",
        "KEEPS UP",
        "BUFFER",
        "P99",
        "LONGEST STALL",
        "AT",
    ];
    let mut table = console.table(&heads);
    for stream in all {
        let stall = stream.stall.map_or_else(String::new, |s| {
            format!("{} {}", s.kind, number::latency(s.took.0 as f64))
        });
        let at = stream
            .stall
            .map_or_else(String::new, |s| number::duration(s.at.as_secs_f64()));
        table.add_row([
            stream.stream.clone(),
            stream.state.clone(),
            stream.keeps_up.word().to_string(),
            stream
                .buffer
                .map_or_else(|| "none".to_string(), number::bytes),
            number::latency(stream.latency_ns[1] as f64),
            stall,
            at,
        ]);
    }
    lines_of(&table)
}

fn closing(requirement: &Requirement, examined: &Examined, console: &Console) -> String {
    let recorded = examined
        .measured
        .iter()
        .map(|m| m.free.duration.as_secs_f64());
    let recorded = recorded.fold(f64::INFINITY, f64::min);
    let years = examined.verdict.years;
    let rating = &examined.verdict.rating;
    let mut text = console.paragraph(
        &format!(
            "BUFFER: most bytes that waited at once, which is the buffer that loses nothing; P99: 99 % of the blocks complete in this time from their arrival. Each state was recorded for {} of virtual time at {} °C; a longer recording can show longer stalls.",
            number::duration(recorded),
            number::short(examined.ambient_c),
        ),
        "",
    );
    let hours = match requirement.hours_per_day < 24.0 {
        true => format!(" of {} h a day", number::short(requirement.hours_per_day)),
        false => String::new(),
    };
    text.push_str(&console.paragraph(
        &format!(
            "Wear{hours}: {} to {} until {} to {} cycles ({}). Retention, and blocks that fail early, are not included.",
            years_text(years.low),
            years_text(years.high),
            number::short(rating.low),
            number::short(rating.high),
            rating.source,
        ),
        "",
    ));
    text
}
