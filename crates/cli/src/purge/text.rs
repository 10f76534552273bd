//! The outcome of `nandscope purge` as text.

use super::check::{Check, WriteSpeed};
use super::{Outcome, Purged};
use crate::console::{Console, lines_of};
use nandscope_inspect::decimal_size;
use nandscope_inspect::purge::{Contents, Method, Offer};
use nandscope_units::number::{duration, short};

/// Ratio of the rates before and after from which they differ.
const DIFFERENT: f64 = 1.25;

/// All of it: the methods, and the purge if there was one.
pub fn words(outcome: &Outcome, preferred: Option<Method>, console: &Console) -> String {
    let device = &outcome.device;
    let model = device.model.as_deref().unwrap_or("unknown model");
    let size = decimal_size(device.size);
    let head = format!("/dev/{}: {model}, {size}\n", device.name);
    match &outcome.purged {
        Some(purged) => head + &done(purged, console),
        None => {
            let next = match preferred {
                Some(_) => format!(
                    "To purge it: nandscope purge /dev/{0} --destroy-data={0}",
                    device.name
                ),
                None => "The device offers no way to purge it.".to_string(),
            };
            let table = methods(&outcome.methods, preferred, console);
            format!("{head}\n{table}\n{}", console.paragraph(&next, ""))
        }
    }
}

fn methods(offers: &[Offer], preferred: Option<Method>, console: &Console) -> String {
    let mut table = console.table(&["METHOD", "COMMAND", "POSSIBLE"]);
    for offer in offers {
        let possible = match &offer.why_not {
            Some(why) => format!("no: {why}"),
            None => {
                let chosen = if preferred == Some(offer.method) {
                    ", the default"
                } else {
                    ""
                };
                let minutes = offer.minutes.map(|m| format!(", {m} min stated"));
                format!("yes{chosen}{}", minutes.unwrap_or_default())
            }
        };
        table.add_row([offer.method.name(), offer.method.effect(), &possible]);
    }
    lines_of(&table)
}

fn done(purged: &Purged, console: &Console) -> String {
    let Check {
        contents,
        before,
        after,
    } = &purged.check;
    let mut sentences = vec![
        format!(
            "Command: {}, {}.",
            purged.method.effect(),
            duration(purged.elapsed_s)
        ),
        verdict(contents),
    ];
    if let (Some(before), Some(after)) = (before, after) {
        sentences.push(speeds(before, after));
        if !purged.clean {
            sentences.push(
                "The second measurement wrote to the device, which was not purged again."
                    .to_string(),
            );
        }
    }
    let paragraphs = sentences.iter().map(|s| console.paragraph(s, ""));
    paragraphs.collect::<String>()
}

/// Whether the device was purged, from the contents of the samples.
fn verdict(contents: &Contents) -> String {
    let all = contents.samples();
    if contents.kept > 0 {
        return format!(
            "Not purged: {} of {all} samples still return the data that was written before.",
            contents.kept
        );
    }
    let parts = [
        (contents.zeros, "zeros"),
        (contents.ones, "ones"),
        (contents.other, "other data"),
        (contents.unreadable, "read errors"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(n, what)| format!("{n} {what}")).collect();
    format!(
        "Contents: none of {all} samples returns the data that was written before ({}).",
        parts.join(", ")
    )
}

fn speeds(before: &WriteSpeed, after: &WriteSpeed) -> String {
    let rate = |speed: &WriteSpeed| short(speed.sequential_bytes_per_s / 1e6);
    let time = |speed: &WriteSpeed| short(speed.random_us);
    let sequential = after.sequential_bytes_per_s / before.sequential_bytes_per_s.max(1e-9);
    let random = before.random_us / after.random_us.max(1e-9);
    let conclusion = if sequential.max(random) >= DIFFERENT {
        "Writes became faster."
    } else if sequential.min(random) <= 1.0 / DIFFERENT {
        "Writes became slower."
    } else {
        "Writes are as fast as before: the contents did not slow them, or the purge freed no blocks."
    };
    format!(
        "Writes: {} MB/s in sequence before and {} MB/s after; {} and {} µs for 4 KiB at random. {conclusion}",
        rate(before),
        rate(after),
        time(before),
        time(after),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_old_sample_is_enough_for_a_failure() {
        let contents = Contents {
            kept: 1,
            zeros: 255,
            ..Contents::default()
        };
        assert!(verdict(&contents).starts_with("Not purged: 1 of 256 samples"));
        let contents = Contents {
            zeros: 200,
            unreadable: 56,
            ..Contents::default()
        };
        let text = verdict(&contents);
        assert!(text.ends_with("(200 zeros, 56 read errors)."), "{text}");
    }

    #[test]
    fn a_gain_is_one_of_either_rate() {
        let speed = |mb_per_s: f64, random_us: f64| WriteSpeed {
            sequential_bytes_per_s: mb_per_s * 1e6,
            random_us,
        };
        let said = |before, after| speeds(&before, &after);
        assert!(said(speed(100.0, 50.0), speed(100.0, 20.0)).ends_with("became faster."));
        assert!(said(speed(100.0, 50.0), speed(60.0, 50.0)).ends_with("became slower."));
        assert!(said(speed(100.0, 50.0), speed(110.0, 45.0)).contains("as fast as before"));
    }
}
