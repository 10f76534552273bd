//! Metrics in the text format of Prometheus, for the textfile collector of its node exporter.

use super::Health;

/// All values that are known, with the device as label.
pub fn metrics(health: &Health) -> String {
    let reading = &health.reading;
    let mut text = String::new();
    let label = escaped(&reading.device);
    let mut put = |name: &str, help: &str, labels: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            let head = format!(
                "# HELP nandscope_health_{name} {help}\n# TYPE nandscope_health_{name} gauge\n"
            );
            if !text.contains(&head) {
                text.push_str(&head);
            }
            text.push_str(&format!(
                "nandscope_health_{name}{{device=\"{label}\"{labels}}} {value}\n"
            ));
        }
    };
    let alarm = if health.alarms.is_empty() { 0.0 } else { 1.0 };
    put(
        "alarm",
        "1 if the device is at its end or close to it.",
        "",
        Some(alarm),
    );
    let share = |percent: Option<f64>| percent.map(|p| p / 100.0);
    put(
        "used_ratio",
        "Used part of the rated life; may exceed 1.",
        "",
        share(reading.used_percent),
    );
    put(
        "spare_ratio",
        "Spare blocks that are left.",
        "",
        share(reading.spare_percent),
    );
    put(
        "host_written_bytes",
        "Bytes written by the host.",
        "",
        reading.host_written.map(|b| b as f64),
    );
    put(
        "media_errors",
        "Errors of the medium.",
        "",
        reading.media_errors.map(|n| n as f64),
    );
    put(
        "temperature_celsius",
        "Temperature.",
        "",
        reading.temperature_c,
    );
    let end = "Time at which the rated life is used up, seconds since 1970.";
    let forecast = health.forecast.as_ref();
    put(
        "end_time_seconds",
        end,
        ",bound=\"earliest\"",
        forecast.map(|f| f.earliest as f64),
    );
    put(
        "end_time_seconds",
        end,
        ",bound=\"latest\"",
        forecast.and_then(|f| f.latest).map(|t| t as f64),
    );
    put(
        "time_seconds",
        "Time of the reading.",
        "",
        Some(reading.time as f64),
    );
    text
}

/// A label value: backslash, quote and line feed are escaped; other control characters are left out.
fn escaped(text: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        match c {
            '\\' | '"' => all.extend(['\\', c]),
            '\n' => all.push_str("\\n"),
            c if c.is_control() => {}
            c => all.push(c),
        }
    }
    all
}
