//! The simulated devices of the library as rivals of a drive: their headline figures in each test that the tables beside this
//! file hold, whole and quick. A figure is compared only where the test is the same, the devices are of one kind, and the host
//! of the drive does not limit it.

mod host;
mod kind;
mod table;

pub use host::fastest_mode;
pub use table::{LIBRARY_TESTS, LibraryTest, library_table};

use crate::compare::Row;
use crate::number::short;
use crate::view::published;
use host::{host_limit, widest};
use kind::{Family, Kind};
pub(super) use kind::{members, phrase, plural};
use nandscope_result::ResultDocument;
use table::{Entry, figure, run};

/// Fewest rivals that have a figure.
pub(super) const FEWEST: usize = 3;
/// Share of the rate of the path from which on the path may limit a figure.
const NEAR_LIMIT: f64 = 0.8;

/// Why a result is not ranked among the library's devices, though they went through the same test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotRanked {
    /// The kind of the device is unknown.
    #[error(
        "Not ranked among the simulated devices of the library: the result does not say whether this is a memory card or an SSD. --ranks all ranks it among devices of all kinds, --shelf DIR among the drives of a shelf."
    )]
    UnknownKind,
}

/// Among which devices of the library a result is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of the same kind of interface.
    Kind,
    /// All cards and eMMCs, or all SSDs.
    Family,
    /// All.
    All,
}

/// Phrase for devices of several families, a plural.
const ALL: &str = "devices of all kinds";

/// The drives among which a result is ranked.
pub(super) struct Field {
    /// Phrase for these drives in sentences, a plural.
    pub kind: &'static str,
    /// The mode of the result that is compared.
    pub mode: Option<String>,
    /// Figures; the first value is that of the result.
    pub rows: Vec<Row>,
    /// Titles in the order of the values.
    pub titles: Vec<String>,
    /// Titles of the rivals, with mode.
    pub names: Vec<String>,
    /// Sentence on the figures left out because the host limits them.
    pub limited: Option<String>,
}

/// The rivals of a result and the figures that it has in common with them; `None` if the library has not gone through its
/// test, or if it is of a simulated device of a kind that the library does not have.
pub(super) fn field(document: &ResultDocument, scope: Scope) -> Option<Result<Field, NotRanked>> {
    let test = LIBRARY_TESTS
        .iter()
        .find(|t| t.procedure == document.procedure)?;
    let family = Family::of(document).filter(|_| scope != Scope::All);
    if family.is_none() && scope != Scope::All {
        return (!document.target.is_simulated()).then_some(Err(NotRanked::UnknownKind));
    }
    let kind = Kind::of(document).filter(|_| scope == Scope::Kind);
    let entries = test.table.lines().skip(1).filter_map(Entry::read);
    let is_alike = |e: &Entry| match (kind, family) {
        (Some(kind), _) => e.kind == Some(kind),
        (None, Some(family)) => e.kind.map(Kind::family) == Some(family),
        (None, None) => true,
    };
    let rivals: Vec<Entry> = entries
        .filter(|e| e.run == run(document) && is_alike(e) && !e.is(document))
        .collect();
    let (rows, limited) = rows(document, test, &rivals);
    let own = std::iter::once(document.title.clone());
    Some(Ok(Field {
        kind: kind.map_or(family.map_or(ALL, Family::plural), Kind::plural),
        mode: widest(document).map(|m| m.name.clone()),
        rows,
        titles: own
            .chain(rivals.iter().map(|e| e.title.to_string()))
            .collect(),
        names: rivals
            .iter()
            .map(|e| format!("{}, {}", e.title, e.mode))
            .collect(),
        limited,
    }))
}

/// A figure in MB/s; `None` if it is no rate. Operations per second of the tests have 4 KiB.
fn rate(value: f64, unit: &str) -> Option<f64> {
    match unit {
        "MB/s" => Some(value),
        "IOPS" => Some(value * 4096.0 / 1e6),
        _ => None,
    }
}

/// The figures that the host does not limit, and a sentence on the others. A limited figure that is the best is kept: its
/// rank does not depend on the limit.
fn rows(
    document: &ResultDocument,
    test: &LibraryTest,
    rivals: &[Entry],
) -> (Vec<Row>, Option<String>) {
    let mode = widest(document).map(|m| m.name.as_str());
    let all = published::all_figures(document);
    let limit = host_limit(document);
    let (mut rows, mut limited) = (Vec::new(), Vec::new());
    for (column, (id, unit)) in test.figures.iter().copied().enumerate() {
        let Some(placed) = figure(&all, mode, (id, unit)) else {
            continue;
        };
        let own = placed.figure.value;
        let others: Vec<Option<f64>> = rivals
            .iter()
            .map(|e| e.values.get(column).copied().flatten())
            .collect();
        let is_near = rate(own, unit)
            .zip(limit)
            .is_some_and(|(rate, limit)| rate >= NEAR_LIMIT * limit);
        if is_near && others.iter().flatten().any(|v| *v > own) {
            limited.push(placed.title());
            continue;
        }
        rows.push(Row {
            title: placed.title(),
            unit: unit.to_string(),
            values: std::iter::once(Some(own)).chain(others).collect(),
            id: id.to_string(),
            answer: false,
            baseline: 0,
        });
    }
    let sentence = limit.filter(|_| !limited.is_empty()).map(|limit| {
        format!(
            "Not ranked: {}. The path from host to device carries {}\u{202f}MB/s and may limit them.",
            limited.join("; "),
            short(limit)
        )
    });
    (rows, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::RankScope;
    use host::path_rate;
    use nandscope_result::{Figure, ModeInfo, Parameter, TargetKind};

    /// A review of a device with these interfaces by these paths, which reads at a rate in each mode.
    fn review(interfaces: &[&str], modes: &[(&str, &[&str], f64)]) -> ResultDocument {
        let mut document = crate::blank::document();
        document.procedure = "card review".into();
        for link in interfaces {
            document.target.parameters.push(Parameter {
                group: "interface".into(),
                name: "link".into(),
                value: format!("\"{link}\""),
                ..Parameter::default()
            });
        }
        for (name, path, value) in modes {
            document.target.modes.push(ModeInfo {
                name: (*name).into(),
                host: String::new(),
                path: path.iter().map(|p| (*p).to_string()).collect(),
            });
            document.figures.push(Figure {
                id: format!("{}.cdm.fresh.seq1m-q8t1.read", nandscope_result::slug(name)),
                title: "SEQ1M Q8T1 read, fresh".into(),
                mode: Some((*name).into()),
                value: *value,
                unit: "MB/s".into(),
                ..Figure::default()
            });
        }
        document
    }

    const READER: &str = "reader (usb-2.0-bot, 40.0 MB/s)";
    const FAST: &str = "sd-sdr104 link (102 MB/s)";
    const SLOW: &str = "sd-high-speed link (24.5 MB/s)";

    #[test]
    fn the_widest_and_then_the_most_direct_path_is_compared() {
        let document = review(
            &["sd-sdr104"],
            &[
                ("Reader", &[READER, SLOW], 20.0),
                ("Slot", &[SLOW], 21.0),
                ("Narrow", &["bus (1.5 MB/s)", FAST], 1.0),
            ],
        );
        let mode = widest(&document).unwrap();
        assert_eq!((mode.name.as_str(), path_rate(mode)), ("Slot", Some(24.5)));
        let field = |scope| field(&document, scope).unwrap().unwrap();
        assert_eq!(field(Scope::Kind).kind, "UHS-I cards");
        assert_eq!(field(Scope::Family).kind, "cards and eMMCs");
    }

    #[test]
    fn a_figure_that_the_host_limits_has_no_rank() {
        let limited = |interface: &str, path: &[&str], value: f64| {
            let document = review(&[interface], &[("Host", path, value)]);
            field(&document, Scope::Family).unwrap().unwrap().limited
        };
        let text = limited("sd-sdr104", &[SLOW], 23.0).unwrap();
        assert!(text.contains("SEQ1M Q8T1 read, fresh") && text.contains("24.5\u{202f}MB/s"));
        assert!(limited("sd-sdr104", &[READER, FAST], 39.0).is_some());
        // Below the limit, at the best link of the device, and the first of all.
        assert_eq!(limited("sd-sdr104", &[SLOW], 15.0), None);
        assert_eq!(limited("sd-high-speed", &[READER, SLOW], 24.0), None);
        assert_eq!(limited("sd-sdr104", &["bus (2000 MB/s)"], 1900.0), None);
    }

    #[test]
    fn a_slow_card_has_no_fast_card_among_its_rivals() {
        let slow = review(&["sd-high-speed"], &[("Slot", &[SLOW], 20.0)]);
        let express = review(&["pcie-3.0-x1", "sd-sdr104"], &[("Slot", &[FAST], 90.0)]);
        let titles = |document, scope| field(document, scope).unwrap().unwrap().titles;
        let has_express = |titles: &[String]| titles.iter().any(|t| t.contains("SD Express"));
        assert!(!has_express(&titles(&slow, Scope::Kind)));
        assert!(has_express(&titles(&slow, Scope::Family)));
        let all = field(&slow, Scope::All).unwrap().unwrap();
        assert_eq!(all.kind, "devices of all kinds");
        assert!(all.names.iter().any(|n| n.contains("NVMe")));
        assert_eq!(Kind::of(&express), Some(Kind::SdExpress));
        let members = |i, scope| members(&[&slow, &express, &slow], i, scope);
        assert_eq!(members(0, RankScope::Kind), [0, 2]);
        assert_eq!(members(0, RankScope::All), [0, 1, 2]);
        assert_eq!(members(1, RankScope::Kind), [0, 1, 2]);
    }

    #[test]
    fn a_device_is_compared_with_its_kind_and_its_test() {
        let among = |document: &ResultDocument| field(document, Scope::Kind);
        let of = |document: &ResultDocument| among(document).unwrap().unwrap();
        let drive = review(
            &["pcie-3.0-x4"],
            &[("NVMe", &["pcie-3.0-x4 link (3565 MB/s)"], 3000.0)],
        );
        assert_eq!(of(&drive).kind, "PCIe SSDs");
        let mut quick = drive.clone();
        quick.quick = true;
        assert_ne!(of(&drive).rows[0].values, of(&quick).rows[0].values);
        let mut itself = drive.clone();
        itself.target.name = "sim:hp-ex920-1tb".into();
        assert_eq!(of(&itself).names.len(), of(&drive).names.len() - 1);
        let mut other = drive.clone();
        other.procedure = "flashbench".into();
        assert!(among(&other).is_none());
        let mut usb = drive;
        usb.target.kind = TargetKind::BlockDevice;
        usb.environment.insert("transport".into(), "USB".into());
        assert!(among(&usb).unwrap().is_err());
        assert!(field(&usb, Scope::All).unwrap().is_ok());
        usb.environment.insert("transport".into(), "SD".into());
        usb.target.modes.clear();
        // A card whose rate is not known may be of any kind.
        assert_eq!(of(&usb).kind, "cards and eMMCs");
        usb.target.link_bytes_per_s = Some(104e6);
        assert_eq!(of(&usb).kind, "UHS-I cards");
    }
}
