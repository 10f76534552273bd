//! What is known of a device besides its rates: sizes that measurements show directly, and that a search need not find.

use nandscope_experiment::overrides::apply_with_remarks;
use nandscope_experiment::{DeviceSource, ProfileOverride};
use nandscope_units::Bytes;

/// Replaced values with their remarks.
type Values = Vec<(ProfileOverride, String)>;

/// Values of a base that a known size replaces; none if it is unknown or the base has it already.
type OfSize = fn(&Clues, &DeviceSource) -> Values;

/// Known sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clues {
    /// Capacity.
    pub capacity: Option<Bytes>,
    /// Size of the allocation unit of a card.
    pub au: Option<Bytes>,
    /// Size of the page of a card, as reads see it.
    pub page: Option<Bytes>,
    /// Data that fits the SLC cache, GB (10^9 bytes).
    pub slc_gb: Option<f64>,
}

impl Clues {
    /// Adds what another source knows; this one prevails.
    pub fn or(self, other: Clues) -> Clues {
        Clues {
            capacity: self.capacity.or(other.capacity),
            au: self.au.or(other.au),
            page: self.page.or(other.page),
            slc_gb: self.slc_gb.or(other.slc_gb),
        }
    }

    /// The base with these sizes, as far as a profile with its structure can have them; the second value says which it
    /// cannot have.
    pub fn apply(&self, base: DeviceSource) -> (DeviceSource, Vec<String>) {
        let mut refused = Vec::new();
        let mut source = base;
        let sizes: [(&str, OfSize); 4] = [
            ("allocation unit", Clues::of_au),
            ("page", Clues::of_page),
            ("SLC cache", Clues::of_cache),
            ("capacity", Clues::of_capacity),
        ];
        for (what, of_size) in sizes {
            let values = of_size(self, &source);
            if values.is_empty() {
                continue;
            }
            match apply_with_remarks(source.clone(), &values) {
                Ok(changed) => source = changed,
                Err(error) => refused.push(format!(
                    "{}: the measured {what} does not fit its structure: {error}",
                    source.profile.device.name
                )),
            }
        }
        (source, refused)
    }

    /// Blocks keep their share of an AU.
    fn of_au(&self, source: &DeviceSource) -> Values {
        let (Some(au), Some(card)) = (self.au, &source.profile.card) else {
            return Vec::new();
        };
        let kib = au.0 / 1024;
        if kib == 0 || kib == u64::from(card.au_kib) {
            return Vec::new();
        }
        let nand = &source.profile.nand;
        let ratio = kib as f64 / f64::from(card.au_kib);
        let lines = (f64::from(nand.word_lines) * ratio).round().max(1.0);
        let blocks = f64::from(nand.blocks_per_plane) * f64::from(nand.word_lines) / lines;
        vec![
            value(
                "card.au_kib",
                kib,
                "measured: step of reads across its boundary",
            ),
            value(
                "nand.word_lines",
                lines,
                "derived: of the measured allocation unit",
            ),
            value(
                "nand.blocks_per_plane",
                blocks.ceil(),
                "derived: the flash keeps its size",
            ),
        ]
    }

    fn of_page(&self, source: &DeviceSource) -> Values {
        let (Some(page), Some(card)) = (self.page, &source.profile.card) else {
            return Vec::new();
        };
        let kib = page.0 / 1024;
        if kib == 0 || Some(kib) == card.page_kib.map(u64::from) {
            return Vec::new();
        }
        vec![value(
            "card.page_kib",
            kib,
            "measured: step of reads across its boundary",
        )]
    }

    fn of_cache(&self, source: &DeviceSource) -> Values {
        let cache = source
            .profile
            .ftl
            .as_ref()
            .and_then(|f| f.slc_cache.as_ref());
        let (Some(gb), Some(cache)) = (self.slc_gb, cache) else {
            return Vec::new();
        };
        let before = cache.static_gb + cache.dynamic_gb - cache.reserve_gb;
        if before <= 0.0 {
            return Vec::new();
        }
        let scaled = |part: f64| nandscope_units::number::round_significant(part * gb / before, 4);
        let part = |key: &str, gb: f64| {
            value(
                key,
                format!("{gb:?}"),
                "measured: data until a fill slows down",
            )
        };
        vec![
            part("ftl.slc_cache.static_gb", scaled(cache.static_gb)),
            part("ftl.slc_cache.dynamic_gb", scaled(cache.dynamic_gb)),
            part("ftl.slc_cache.reserve_gb", scaled(cache.reserve_gb)),
        ]
    }

    fn of_capacity(&self, source: &DeviceSource) -> Values {
        let before = source.profile.device.capacity_bytes;
        let Some(capacity) = self.capacity.filter(|c| c.0 > 0 && c.0 != before) else {
            return Vec::new();
        };
        let unit = match (&source.profile.card, &source.profile.ftl) {
            (Some(card), _) => u64::from(card.au_kib) * 1024,
            (None, Some(ftl)) => u64::from(ftl.mapping_unit_bytes),
            (None, None) => 4096,
        };
        let capacity = capacity.0 / unit.max(1) * unit.max(1);
        let ratio = capacity as f64 / before.max(1) as f64;
        let blocks = (f64::from(source.profile.nand.blocks_per_plane) * ratio).ceil();
        vec![
            value("device.capacity_bytes", capacity, "measured"),
            value(
                "nand.blocks_per_plane",
                blocks,
                "derived: over-provisioning of the base",
            ),
        ]
    }
}

fn value(key: &str, value: impl std::fmt::Display, remark: &str) -> (ProfileOverride, String) {
    (ProfileOverride::new(key, value), remark.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_experiment::device_source;

    #[test]
    fn known_sizes_change_the_base() {
        let clues = Clues {
            au: Some(Bytes(8 << 20)),
            page: Some(Bytes(32 << 10)),
            capacity: Some(Bytes(8_000_000_000)),
            slc_gb: Some(20.0),
        };
        let (card, refused) = clues.apply(device_source("sandisk-extreme-pro-16gb").unwrap());
        assert!(refused.is_empty(), "{refused:?}");
        assert_eq!(card.profile.card.as_ref().unwrap().au_kib, 8192);
        assert_eq!(card.profile.card.unwrap().page_kib, Some(32));
        assert!(card.profile.device.capacity_bytes > 7_900_000_000);
        let only = Clues {
            slc_gb: Some(20.0),
            ..Clues::default()
        };
        let (drive, refused) = only.apply(device_source("hp-ex920-1tb").unwrap());
        assert!(refused.is_empty(), "{refused:?}");
        let cache = drive.profile.ftl.unwrap().slc_cache.unwrap();
        let size = cache.static_gb + cache.dynamic_gb - cache.reserve_gb;
        assert!((size / 20.0 - 1.0).abs() < 0.01, "{size}");
    }
}
