//! Health as text of 80 columns.

use super::Health;
use crate::console::{Console, lines_of};
use nandscope_units::number;
use std::time::{Duration, UNIX_EPOCH};

/// Verdict, values, forecast.
pub fn words(health: &Health, console: &Console) -> String {
    let reading = &health.reading;
    let verdict = match (&health.alarms[..], reading.used_percent) {
        ([], Some(_)) => "healthy".to_string(),
        ([], None) => "not known".to_string(),
        (alarms, _) => format!("ALARM: {}", alarms.join("; ")),
    };
    let mut text = console.paragraph(&format!("{}: {verdict}", reading.device), "");
    text.push('\n');
    let percent = |p: Option<f64>| p.map(|p| format!("{} %", number::short(p)));
    let step = reading.step_percent.filter(|s| *s > 1.0);
    let used = percent(reading.used_percent).map(|used| match step {
        Some(step) => format!("{used}, in steps of {} %", number::short(step)),
        None => used,
    });
    let rows = [
        ("used part of the rated life", used),
        ("rated life used up", forecast(health)),
        ("spare blocks left", percent(reading.spare_percent)),
        (
            "written by the host",
            reading.host_written.map(number::bytes),
        ),
        (
            "errors of the medium",
            reading.media_errors.map(number::count),
        ),
        (
            "temperature",
            reading
                .temperature_c
                .map(|t| format!("{} °C", number::short(t))),
        ),
        (
            "hours of operation",
            reading.power_on_hours.map(number::count),
        ),
    ];
    let mut table = console.table(&[]);
    for (name, value) in rows {
        if let Some(value) = value {
            table.add_row([name.to_string(), value]);
        }
    }
    text.push_str(&lines_of(&table));
    for absent in &health.absent {
        text.push_str(&console.paragraph(&format!("Not known: {absent}."), ""));
    }
    text
}

fn forecast(health: &Health) -> Option<String> {
    let f = health.forecast.as_ref()?;
    let latest = f.latest.map_or_else(
        || "no latest date yet".to_string(),
        |latest| format!("{} at the latest", date(latest)),
    );
    Some(format!(
        "{} at the earliest, {latest} ({} readings since {})",
        date(f.earliest),
        f.readings,
        date(f.since)
    ))
}

/// Date of a time in seconds since 1970 UTC, at the latest of the year 9999.
fn date(seconds: i64) -> String {
    const LATEST: i64 = 253_402_300_799;
    let seconds = u64::try_from(seconds.min(LATEST)).unwrap_or(0);
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.split('T').next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_767_225_599), "2025-12-31");
        assert_eq!(date(1_767_225_600), "2026-01-01");
        assert_eq!(date(i64::MAX), "9999-12-31");
    }
}
