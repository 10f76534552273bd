//! The simulated devices of the library as rivals of a drive: their headline figures in the whole and the quick card review,
//! which `library.tsv` holds. A figure is compared only where the test is the same, the devices are of one kind, and the host
//! of the drive does not limit it.

use super::tests_of::is_quick;
use crate::compare::rows::{Row, test_id};
use crate::number::short;
use crate::view::published::{self, Placed};
use nandscope_result::{ModeInfo, ResultDocument, TargetKind, figure_id};
use nandscope_units::number::round_significant;
use std::fmt::Write as _;

/// Fewest rivals that have a figure.
pub(super) const FEWEST: usize = 3;
/// Share of the rate of the path from which on the path may limit a figure.
const NEAR_LIMIT: f64 = 0.8;
/// Headline figures: identifier without the mode, and unit.
const FIGURES: [(&str, &str); 14] = [
    ("cdm.fresh.seq1m-q8t1.read", "MB/s"),
    ("cdm.fresh.seq1m-q8t1.write", "MB/s"),
    ("cdm.fresh.seq1m-q1t1.read", "MB/s"),
    ("cdm.fresh.seq1m-q1t1.write", "MB/s"),
    ("cdm.fresh.rnd4k-q32t1.read", "MB/s"),
    ("cdm.fresh.rnd4k-q32t1.write", "MB/s"),
    ("cdm.fresh.rnd4k-q1t1.read", "MB/s"),
    ("cdm.fresh.rnd4k-q1t1.write", "MB/s"),
    ("fio.fresh.read", "MB/s"),
    ("fio.fresh.write", "MB/s"),
    ("folders.home.read", "MB/s"),
    ("folders.home.write", "MB/s"),
    (figure_id::POWER_PEAK, "W"),
    (figure_id::ENERGY_PER_GB, "J/GB"),
];
/// The reviews of all devices of the library, as [`library_table`] writes them.
const TABLE: &str = include_str!("library.tsv");
/// Columns before the figures: run, name, kind, mode, title.
const COLUMNS: &str = "run\tname\tkind\tmode\ttitle";

/// Devices that are compared with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// SD cards and eMMC.
    Card,
    /// Drives with SATA or PCIe.
    Ssd,
}

impl Kind {
    /// As in the table.
    fn name(self) -> &'static str {
        match self {
            Kind::Card => "card",
            Kind::Ssd => "ssd",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Card => "cards and eMMCs",
            Kind::Ssd => "SSDs",
        }
    }

    /// The kind of a target: by the first interface of a simulated device, by the transport of a block device. `None` for
    /// files, folders, and what is connected by USB, which can be either.
    fn of(document: &ResultDocument) -> Option<Kind> {
        let transport = match document.target.kind {
            TargetKind::Simulated => first_interface(document),
            TargetKind::BlockDevice => document.environment.get("transport").map(String::as_str),
            _ => None,
        };
        let starts =
            |words: &[&str]| transport.is_some_and(|t| words.iter().any(|w| t.starts_with(w)));
        // A card with SD Express has PCIe, too.
        if starts(&["uhs2-", "emmc-", "SD", "eMMC"]) || has_card_interface(document) {
            Some(Kind::Card)
        } else if starts(&["pcie-", "sata-", "NVMe", "ATA"]) {
            Some(Kind::Ssd)
        } else {
            None
        }
    }
}

/// Links of the interfaces of a simulated device, the one that it prefers first.
fn interfaces(document: &ResultDocument) -> impl Iterator<Item = &str> {
    let parameters = document.target.parameters.iter();
    let links = parameters.filter(|p| p.group == "interface" && p.name == "link");
    links.map(|p| p.value.trim_matches('"'))
}

fn first_interface(document: &ResultDocument) -> Option<&str> {
    interfaces(document).next()
}

fn has_card_interface(document: &ResultDocument) -> bool {
    interfaces(document).any(|link| link.starts_with("sd-"))
}

/// MB/s that a stage of a path carries: its text ends with `1576 MB/s)`.
fn stage_rate(stage: &str) -> Option<f64> {
    let text = stage.strip_suffix(" MB/s)")?;
    let (_, number) = text.rsplit_once([' ', '('])?;
    number.parse().ok()
}

/// MB/s that a path carries: those of its slowest stage.
fn path_rate(mode: &ModeInfo) -> Option<f64> {
    let rates = mode.path.iter().filter_map(|stage| stage_rate(stage));
    rates.reduce(f64::min)
}

/// The way of attachment that carries most, of several the most direct one; `None` for a real device, which has one
/// without a name.
fn widest(document: &ResultDocument) -> Option<&ModeInfo> {
    let is_better = |mode: &ModeInfo, best: &ModeInfo| {
        let rate = |mode: &ModeInfo| path_rate(mode).unwrap_or(0.0);
        let order = rate(mode).total_cmp(&rate(best));
        order.then(best.path.len().cmp(&mode.path.len())).is_gt()
    };
    let modes = document.target.modes.iter();
    modes.reduce(|best, mode| if is_better(mode, best) { mode } else { best })
}

/// MB/s beyond which not the device but its host is measured; `None` if the link is the best that the device has and no
/// stage before it is slower, or if nothing is known.
fn host_limit(document: &ResultDocument) -> Option<f64> {
    let Some(mode) = widest(document) else {
        return document.target.link_bytes_per_s.map(|rate| rate / 1e6);
    };
    let limit = path_rate(mode)?;
    let (best, link) = (first_interface(document)?, mode.path.last()?);
    let is_best = link.starts_with(&format!("{best} "));
    (!is_best || stage_rate(link)? > limit).then_some(limit)
}

/// The figure of this identifier in the mode that is compared.
fn figure<'a>(
    all: &[Placed<'a>],
    mode: Option<&str>,
    (id, unit): (&str, &str),
) -> Option<Placed<'a>> {
    let is_it = |p: &&Placed| {
        let f = p.figure;
        f.mode.as_deref() == mode && f.unit == unit && test_id(f) == id && f.value.is_finite()
    };
    all.iter().find(is_it).copied()
}

/// A line of the table.
struct Entry<'a> {
    run: &'a str,
    name: &'a str,
    kind: &'a str,
    mode: &'a str,
    title: &'a str,
    values: Vec<Option<f64>>,
}

impl<'a> Entry<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut cells = line.split('\t');
        Some(Entry {
            run: cells.next()?,
            name: cells.next()?,
            kind: cells.next()?,
            mode: cells.next()?,
            title: cells.next()?,
            values: cells.map(|cell| cell.parse().ok()).collect(),
        })
    }

    fn is(&self, document: &ResultDocument) -> bool {
        let name = document.target.name.strip_prefix("sim:");
        name == Some(self.name) || document.title == self.title
    }
}

fn run(document: &ResultDocument) -> &'static str {
    if is_quick(document) { "quick" } else { "whole" }
}

/// The drives among which a result is ranked.
pub(super) struct Field {
    /// What they are, in the plural.
    pub kind: &'static str,
    /// The mode of the result that is compared.
    pub mode: Option<String>,
    /// Figures; the first value is that of the result.
    pub rows: Vec<Row>,
    /// Titles in the order of the values.
    pub titles: Vec<String>,
    /// Titles of the rivals, with mode.
    pub names: Vec<String>,
    /// Which figures are left out because the host limits them.
    pub limited: Option<String>,
}

/// The rivals of a result and the figures that it has in common with them; `None` if it is no card review, or of a
/// simulated device of a kind that the library does not have; a sentence if it cannot be told what kind of device it is.
pub(super) fn field(document: &ResultDocument) -> Option<Result<Field, String>> {
    if document.procedure != "card review" {
        return None;
    }
    let Some(kind) = Kind::of(document) else {
        let reason = "Not ranked among the simulated devices of the library: the result does not say whether this is a memory card or an SSD. --shelf DIR ranks it among the drives of a shelf.";
        return (!document.target.is_simulated()).then(|| Err(reason.to_string()));
    };
    let entries = TABLE.lines().skip(1).filter_map(Entry::read);
    let rivals: Vec<Entry> = entries
        .filter(|e| e.run == run(document) && e.kind == kind.name() && !e.is(document))
        .collect();
    let (rows, limited) = rows(document, &rivals);
    let own = std::iter::once(document.title.clone());
    Some(Ok(Field {
        kind: kind.plural(),
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

/// The figures that the host does not limit, and a sentence on the others. A limited figure that is the best is kept: its
/// rank does not depend on the limit.
fn rows(document: &ResultDocument, rivals: &[Entry]) -> (Vec<Row>, Option<String>) {
    let mode = widest(document).map(|m| m.name.as_str());
    let all = published::all_figures(document);
    let limit = host_limit(document);
    let (mut rows, mut limited) = (Vec::new(), Vec::new());
    for (column, (id, unit)) in FIGURES.into_iter().enumerate() {
        let Some(placed) = figure(&all, mode, (id, unit)) else {
            continue;
        };
        let own = placed.figure.value;
        let others: Vec<Option<f64>> = rivals
            .iter()
            .map(|e| e.values.get(column).copied().flatten())
            .collect();
        let is_near = unit == "MB/s" && limit.is_some_and(|limit| own >= NEAR_LIMIT * limit);
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

/// The table of some reviews of library devices, a line each, in their order: values have six significant digits, and a figure
/// that a review does not have is `-`.
pub fn library_table(documents: &[ResultDocument]) -> String {
    let mut table = COLUMNS.to_string();
    for (id, unit) in FIGURES {
        let _ = write!(table, "\t{id} {unit}");
    }
    table.push('\n');
    for document in documents {
        let name = document
            .target
            .name
            .strip_prefix("sim:")
            .unwrap_or(&document.target.name);
        let mode = widest(document).map(|m| m.name.as_str());
        let kind = Kind::of(document).map_or("-", Kind::name);
        let (run, title) = (run(document), &document.title);
        let _ = write!(
            table,
            "{run}\t{name}\t{kind}\t{}\t{title}",
            mode.unwrap_or("-")
        );
        let all = published::all_figures(document);
        for column in FIGURES {
            let _ = match figure(&all, mode, column) {
                Some(placed) => write!(table, "\t{}", round_significant(placed.figure.value, 6)),
                None => write!(table, "\t-"),
            };
        }
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Figure, Notice, Parameter};

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
                path: path.iter().map(|p| (*p).to_string()).collect(),
            });
            document.figures.push(Figure {
                id: format!("{}.cdm.fresh.seq1m-q8t1.read", crate::names::slug(name)),
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
        let field = field(&document).unwrap().unwrap();
        assert_eq!(field.kind, "cards and eMMCs");
    }

    #[test]
    fn a_figure_that_the_host_limits_has_no_rank() {
        let limited = |interface: &str, path: &[&str], value: f64| {
            let document = review(&[interface], &[("Host", path, value)]);
            field(&document).unwrap().unwrap().limited
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
    fn a_device_is_compared_with_its_kind_and_its_test() {
        let of = |document: &ResultDocument| field(document).unwrap().unwrap();
        let drive = review(
            &["pcie-3.0-x4"],
            &[("NVMe", &["pcie-3.0-x4 link (3565 MB/s)"], 3000.0)],
        );
        assert_eq!(of(&drive).kind, "SSDs");
        let mut quick = drive.clone();
        quick.notices.push(Notice {
            text: "Quick review".into(),
            ..Notice::default()
        });
        assert_ne!(of(&drive).rows[0].values, of(&quick).rows[0].values);
        let mut itself = drive.clone();
        itself.target.name = "sim:hp-ex920-1tb".into();
        assert_eq!(of(&itself).names.len(), of(&drive).names.len() - 1);
        let mut other = drive.clone();
        other.procedure = "fill".into();
        assert!(field(&other).is_none());
        let mut usb = drive;
        usb.target.kind = TargetKind::BlockDevice;
        usb.environment.insert("transport".into(), "USB".into());
        assert!(field(&usb).unwrap().is_err());
        usb.environment.insert("transport".into(), "SD".into());
        usb.target.modes.clear();
        assert_eq!(of(&usb).kind, "cards and eMMCs");
    }
}
