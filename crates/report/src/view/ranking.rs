//! Order of importance of figures: rates of well-known tests before those of single intervals, and speed before power,
//! temperature and the rest.

use nandscope_result::Figure;

/// Parts of identifiers, in the order of their figures; the first that matches decides.
const ORDER: [&[&str]; 9] = [
    // Extremes and regions come late, whatever test they are of.
    &["high", "low"],
    &["cdm"],
    &["iometer", "burst", "sustained"],
    &["fio", "fill", "across"],
    &["speed-class", "folders", "traces", "trace", "atsb", "ext"],
    &["fullness", "fs", "probe", "verify"],
    &["power", "energy", "efficiency"],
    &["temperature", "throttle", "heat"],
    &["format"],
];
/// Place of the extremes: after the tests, before power.
const EXTREMES: usize = 6;

/// Last parts of the identifiers of secondary figures: other units of the rate of a test, its latency, or its
/// comparison with another mode.
const SECONDARY: [&str; 4] = ["iops", "latency", "difference", "loss"];

/// Place of a figure; the lower, the earlier.
pub fn rank(id: &str) -> usize {
    let parts: Vec<&str> = id.split('.').collect();
    let is_secondary = parts.last().is_some_and(|last| SECONDARY.contains(last));
    let found = ORDER
        .iter()
        .position(|words| parts.iter().any(|part| words.contains(part)));
    match found {
        Some(0) => EXTREMES * 2 - 1,
        Some(group) => group * 2 + usize::from(is_secondary),
        // A figure of a run of jobs, whose identifier has none of these parts.
        None => 9,
    }
}

/// Tests by which drives are known.
const HEADLINES: [&str; 7] = [
    "cdm",
    "iometer",
    "sustained",
    "burst",
    "fill",
    "plain",
    "speed-class",
];

/// Whether a figure of a step is also listed with those of the whole document: rates of well-known tests.
pub fn is_headline(figure: &Figure) -> bool {
    let rate = matches!(figure.unit.as_str(), "MB/s" | "IOPS");
    let mut parts = figure.id.split('.');
    // CrystalDiskMark is shown in its first state.
    let first = !figure.id.contains(".used.") && !figure.id.contains(".refreshed.");
    rate && first && parts.any(|part| HEADLINES.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_every_suite_are_headlines() {
        let figure = |id: &str, unit: &str| Figure {
            id: id.into(),
            unit: unit.into(),
            ..Figure::default()
        };
        for (id, unit, expected) in [
            ("e.fill.pass-1", "MB/s", true),
            ("speed-class.fragmented.64k", "MB/s", true),
            ("speed-class.update.longest", "ms", false),
            ("plain.read", "MB/s", true),
            ("e.fill.pass-1.plateau-1.end", "GB", false),
            ("e.cdm.used.seq1m-q8t1.read", "MB/s", false),
            ("power.min", "W", false),
        ] {
            assert_eq!(is_headline(&figure(id, unit)), expected, "{id}");
        }
    }

    #[test]
    fn crystaldiskmark_comes_before_power() {
        let mut ids = [
            "e.format.gain",
            "e.temperature.device.max",
            "e.power.min",
            "e.fio.fresh.write.low",
            "e.fio.fresh.write",
            "e.cdm.fresh.rnd4k-q1t1.read.iops",
            "e.cdm.fresh.seq1m-q8t1.read",
            "u.iometer.read.difference",
            "u.iometer.read",
            "load.read.bandwidth",
        ];
        ids.sort_by_key(|id| rank(id));
        assert_eq!(
            ids,
            [
                "e.cdm.fresh.seq1m-q8t1.read",
                "e.cdm.fresh.rnd4k-q1t1.read.iops",
                "u.iometer.read",
                "u.iometer.read.difference",
                "e.fio.fresh.write",
                "load.read.bandwidth",
                "e.fio.fresh.write.low",
                "e.power.min",
                "e.temperature.device.max",
                "e.format.gain",
            ]
        );
    }
}
