//! Sizes and times in the form that fio reads with its default units.

use super::extent::Extent;
use nandscope_units::Nanos;

/// A size such as `4k`, `32m`, `1000`, in the largest power of 1024 in which it is whole.
pub(crate) fn size_text(bytes: u64) -> String {
    for (shift, unit) in [(40, "t"), (30, "g"), (20, "m"), (10, "k")] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// `30s`, `200ms`, `50us`: fio resolves microseconds.
pub(crate) fn time_text(time: Nanos) -> String {
    let us = time.0 / 1_000;
    match us {
        _ if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        _ if us.is_multiple_of(1_000) => format!("{}ms", us / 1_000),
        _ => format!("{us}us"),
    }
}

/// A size such as `4k` or `80%`.
pub(crate) fn extent_text(extent: Extent) -> String {
    match extent {
        Extent::Bytes(bytes) => size_text(bytes.0),
        Extent::Percent(p) => format!("{p}%"),
    }
}
