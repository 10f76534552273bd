//! Rated program/erase cycles of a device, as an interval.

use nandscope_device::profile::{Profile, Provenance, explain};
use serde::Serialize;

/// Means of brands in the public microSD survey of July 2025 (bahjeez.com, "The great microSD card survey, one year
/// later", 181 cards): cycles of whole-card overwrites until the first error, Lenovo 291, SanDisk 4,634. Off-brand cards
/// failed after 27.
const SURVEY: (f64, f64) = (291.0, 4634.0);

/// Rated cycles of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// The value of the profile, native mode.
    pub cycles: f64,
    /// Least plausible value.
    pub low: f64,
    /// Greatest plausible value.
    pub high: f64,
    /// Source of the interval of rated cycles, for the text of a result.
    pub source: String,
}

impl Rating {
    /// The rating of a profile. The interval is that of an assumed value; for SD cards with a published value, that of the
    /// brands in the public survey; otherwise the published value alone.
    pub fn of(profile: &Profile, text: &str) -> Rating {
        let native = profile.nand.native.as_ref();
        let table = if native.is_some() {
            "nand.native"
        } else {
            "nand.slc"
        };
        let cycles = f64::from(native.map_or(profile.nand.slc.cycles, |n| n.cycles));
        let rows = explain(text);
        let row = rows.iter().find(|r| r.table == table && r.key == "cycles");
        let provenance = row.and_then(|r| r.provenance());
        let (low, high, source) = match provenance {
            Some((Provenance::Assumed { low, high }, why)) => {
                (low, high, format!("assumed in the profile: {why}"))
            }
            _ if is_sd_card(profile) => (
                SURVEY.0.min(cycles),
                SURVEY.1.max(cycles),
                "brand means in the public microSD survey of 2025, first error".to_string(),
            ),
            _ => (
                cycles,
                cycles,
                "the profile's value; no range is known".to_string(),
            ),
        };
        Rating {
            cycles,
            low,
            high,
            source,
        }
    }
}

/// Whether the device is an SD card with a translation layer of a card.
fn is_sd_card(profile: &Profile) -> bool {
    profile.card.is_some() && profile.interface.iter().any(|i| i.link.starts_with("sd-"))
}
