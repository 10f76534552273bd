//! The verdict of `nandscope qualify` as text of 80 columns.

use super::Examined;
use crate::console::{Console, lines_of};
use nandscope_fitness::requirement::Requirement;
use nandscope_fitness::verdict::{Answer, Finding, StreamSummary, years_text};
use nandscope_units::number;

/// Verdict, requirements, streams, and what fails first.
pub fn verdict(requirement: &Requirement, examined: &Examined, console: &Console) -> String {
    let verdict = &examined.verdict;
    let device = &examined.device;
    let host = examined.host.as_ref();
    let host = host.map_or_else(String::new, |host| format!(", host {host}"));
    let word = match verdict.answer {
        Answer::Yes => "Fit",
        Answer::No => "Not fit",
        Answer::NotKnown => "Not known",
    };
    let mut text = console.paragraph(
        &format!("{word}: {device}{host}, for {}", requirement.title),
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
    text.push_str(&remedies(&verdict.findings, console));
    text.push_str(&streams(&verdict.streams, console));
    text.push('\n');
    text.push_str(&closing(requirement, examined, console));
    text
}

/// The line about the requirement that fails first, or has the least margin.
pub fn decides(finding: &Finding) -> String {
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
    let (heads, rows) = stream_rows(all);
    let mut table = console.table(&heads);
    for row in rows {
        table.add_row(row);
    }
    lines_of(&table)
}

/// Heads and rows of the table of streams.
pub fn stream_rows(all: &[StreamSummary]) -> ([&'static str; 7], Vec<Vec<String>>) {
    let heads = [
        "STREAM",
        "STATE",
        "KEEPS UP",
        "BUFFER",
        "P99",
        "LONGEST STALL",
        "AT",
    ];
    let rows = all.iter().map(|stream| {
        let stall = stream.stall.map_or_else(String::new, |s| {
            format!("{} {}", s.kind, number::latency(s.took.0 as f64))
        });
        let at = stream
            .stall
            .map_or_else(String::new, |s| number::duration(s.at.as_secs_f64()));
        vec![
            stream.stream.clone(),
            stream.state.clone(),
            stream.keeps_up.word().to_string(),
            stream
                .buffer
                .map_or_else(|| "none".to_string(), number::bytes),
            number::latency(stream.latency_ns[1] as f64),
            stall,
            at,
        ]
    });
    (heads, rows.collect())
}

/// Changes that would meet the requirements that are not met.
fn remedies(all: &[Finding], console: &Console) -> String {
    let known = all.iter().filter(|f| !f.remedy.is_empty());
    let mut text = String::new();
    for finding in known {
        let line = format!("For {}: {}.", finding.requirement, finding.remedy);
        text.push_str(&console.paragraph(&line, "  "));
    }
    match text.is_empty() {
        true => text,
        false => format!("What would be met:\n{text}\n"),
    }
}

fn closing(requirement: &Requirement, examined: &Examined, console: &Console) -> String {
    let circumstances = circumstances(examined);
    let mut text = console.paragraph(
        &format!(
            "BUFFER: most bytes that waited at once, which is the buffer that loses nothing; P99: 99 % of the blocks complete in this time from their arrival. {circumstances}",
        ),
        "",
    );
    let hours = match requirement.hours_per_day < 24.0 {
        true => format!(" of {} h a day", number::short(requirement.hours_per_day)),
        false => String::new(),
    };
    if let (Some(years), Some(rating)) = (&examined.verdict.years, &examined.verdict.rating) {
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
    }
    for remark in &examined.remarks {
        text.push_str(&console.paragraph(&format!("Note: {remark}"), ""));
    }
    text
}

/// Length and temperature of the recordings, in a sentence.
pub fn circumstances(examined: &Examined) -> String {
    let recorded = examined
        .measured
        .iter()
        .map(|m| m.free.duration.as_secs_f64());
    let recorded = number::duration(recorded.fold(f64::INFINITY, f64::min));
    let recorded = match examined.ambient_c {
        Some(ambient) => format!(
            "Each state was recorded for {recorded} of virtual time at {} °C",
            number::short(ambient)
        ),
        None => format!("The device was recorded for {recorded}, as it is"),
    };
    format!("{recorded}; a longer recording can show longer stalls.")
}
