//! Quantities in the text of a requirement file: rates, sizes, times, shares.

use super::{Area, Sync};
use nandscope_units::{Bytes, Nanos, SizeBase, parse_duration, parse_size};

/// Forms of a rate, for messages.
const RATES: &str = "write a number with a unit, such as \"5 MB/s\", \"40 Mbit/s\" or \"1000/s\"";

/// A rate as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WrittenRate {
    /// Bytes per second.
    Bytes(f64),
    /// Blocks per second.
    Blocks(f64),
}

/// Reads `5 MB/s`, `40 Mbit/s` (decimal), `4 MiB/s`, or `1000/s`, which counts blocks.
pub(super) fn rate(text: &str) -> Result<WrittenRate, String> {
    let Some(amount) = text.trim().strip_suffix("/s") else {
        return Err(format!("`{text}` is not a rate: {RATES}"));
    };
    if let Ok(number) = amount.trim().parse::<f64>() {
        return positive(number, text).map(WrittenRate::Blocks);
    }
    let (amount, share) = match amount.trim().strip_suffix("bit") {
        Some(bits) => (bits, 8.0),
        None => (amount, 1.0),
    };
    let number = amount.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = amount[number.len()..].trim();
    let number = number.trim().parse::<f64>().map_err(|_| text);
    let factor = factor(unit, share > 1.0);
    match (number, factor) {
        (Ok(number), Some(factor)) => {
            positive(number * factor / share, text).map(WrittenRate::Bytes)
        }
        _ => Err(format!("`{text}` is not a rate: {RATES}")),
    }
}

/// Bytes (or bits) of a unit; SI prefixes are decimal.
fn factor(unit: &str, bits: bool) -> Option<f64> {
    Some(match (unit, bits) {
        ("", true) | ("B", false) => 1.0,
        ("k", true) | ("kB" | "KB", false) => 1e3,
        ("M", true) | ("MB", false) => 1e6,
        ("G", true) | ("GB", false) => 1e9,
        ("KiB", false) => 1024.0,
        ("MiB", false) => 1024.0 * 1024.0,
        ("GiB", false) => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

fn positive(number: f64, text: &str) -> Result<f64, String> {
    match number.is_finite() && number > 0.0 && number <= 1e12 {
        true => Ok(number),
        false => Err(format!("`{text}` is not above 0 and up to 10^12")),
    }
}

/// Reads a size with a unit; `kB`, `MB` and `GB` are decimal.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    let size = parse_size(text, SizeBase::Decimal).map_err(|e| e.to_string())?;
    match size.0 {
        0 => Err(format!("`{text}` is no bytes")),
        _ => Ok(size),
    }
}

/// Reads a time with a unit, up to 100 years.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    if text.trim().parse::<f64>().is_ok() {
        return Err(format!(
            "`{text}` has no unit: write a time such as \"10 ms\""
        ));
    }
    let time = parse_duration(text, 1).map_err(|e| e.to_string())?;
    match time.is_zero() || time > Nanos::from_secs(100 * 366 * 86_400) {
        true => Err(format!("`{text}` is not above 0 and up to 100 years")),
        false => Ok(time),
    }
}

/// Reads a share such as `0.1 %`, as 0.001; from 0 to 100 %.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim);
    let number = number.and_then(|n| n.parse::<f64>().ok());
    number
        .filter(|n| (0.0..=100.0).contains(n))
        .map(|n| n / 100.0)
        .ok_or_else(|| format!("`{text}` is not a share: write a percentage such as \"0.1 %\""))
}

/// Reads `rest`, a share or a size.
pub(super) fn area(text: &str) -> Result<Area, String> {
    match text.trim() {
        "rest" => Ok(Area::Rest),
        t if t.ends_with('%') => match share(t)? {
            0.0 => Err(format!("`{text}` is no part of the device")),
            share => Ok(Area::Share(share)),
        },
        t => size(t)
            .map(Area::Size)
            .map_err(|e| format!("{e}; or write a share such as \"80 %\", or \"rest\"")),
    }
}

/// Reads `never`, `each`, a time or a size.
pub(super) fn sync(text: &str) -> Result<Sync, String> {
    match text.trim() {
        "never" => Ok(Sync::Never),
        "each" => Ok(Sync::Each),
        t => time(t)
            .map(Sync::Interval)
            .or_else(|_| {
                let has_unit = t.ends_with(['B', 'b']);
                has_unit.then(|| size(t).ok()).flatten().map(Sync::Bytes).ok_or(())
            })
            .map_err(|()| {
                format!("`{text}` is not a sync pattern: write \"never\", \"each\", a time such as \"1 s\", or a size such as \"8 MiB\"")
            }),
    }
}
