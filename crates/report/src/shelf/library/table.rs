//! Tables of the library: one per test, with a line for each device, whole and quick. A test of the whole program runs
//! the tests and writes the tables.

use super::host::widest;
use super::kind::Kind;
use crate::compare::rows::test_id;
use crate::view::published::{self, Placed};
use nandscope_result::{ResultDocument, figure_id, procedure};
use nandscope_units::number::round_significant;
use std::fmt::Write as _;

/// Identifier of a figure without the mode, and its unit.
type Column = (&'static str, &'static str);

/// A test that the library has gone through.
pub struct LibraryTest {
    /// Procedure of its results.
    pub procedure: &'static str,
    /// Headline figures of the test: identifier without the mode, and unit.
    pub figures: &'static [(&'static str, &'static str)],
    /// Run, name, kind, mode and title of each device, and the figures: cells divided by tabs, below a heading.
    pub table: &'static str,
}

const PEAK: Column = (figure_id::POWER_PEAK, "W");
const ENERGY: Column = (figure_id::ENERGY_PER_GB, "J/GB");

/// The tests whose results are ranked among the devices of the library.
pub const LIBRARY_TESTS: [LibraryTest; 6] = [
    LibraryTest {
        procedure: procedure::CARD_REVIEW,
        figures: &[
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
            PEAK,
            ENERGY,
        ],
        table: include_str!("card-review.tsv"),
    },
    LibraryTest {
        procedure: "fill",
        figures: &[
            ("fill.pass-1", "MB/s"),
            ("fill.pass-1.low", "MB/s"),
            ("fill.pass-1.last-third", "MB/s"),
            ("fill.pass-2", "MB/s"),
            ("fill.pass-2.low", "MB/s"),
            ("fill.pass-2.last-third", "MB/s"),
        ],
        table: include_str!("fill.tsv"),
    },
    LibraryTest {
        procedure: procedure::IOMETER,
        figures: &[
            ("iometer.read", "MB/s"),
            ("iometer.write", "MB/s"),
            PEAK,
            ENERGY,
        ],
        table: include_str!("iometer.tsv"),
    },
    LibraryTest {
        procedure: procedure::PLAIN,
        figures: &[
            ("plain.read", "MB/s"),
            ("plain.write", "MB/s"),
            ("plain.random-read", "MB/s"),
            ("plain.random-write", "MB/s"),
            PEAK,
            ENERGY,
        ],
        table: include_str!("plain.tsv"),
    },
    LibraryTest {
        procedure: procedure::DRIVE,
        figures: &[
            ("burst.read", "MB/s"),
            ("burst.write", "MB/s"),
            ("sustained.read.score", "MB/s"),
            ("sustained.write.score", "MB/s"),
            ("sustained.read.qd1", "MB/s"),
            ("sustained.write.qd1", "MB/s"),
            ("sustained.read.qd32", "MB/s"),
            ("sustained.write.qd32", "MB/s"),
            ("sustained.read.efficiency", "MB/s/W"),
            ("sustained.write.efficiency", "MB/s/W"),
            ("atsb.light.empty.latency", "µs"),
            ("atsb.light.full.latency", "µs"),
            ("atsb.heavy.empty.latency", "µs"),
            ("atsb.heavy.full.latency", "µs"),
        ],
        table: include_str!("solid-state-drive.tsv"),
    },
    LibraryTest {
        procedure: procedure::SPEED_CLASS,
        figures: &[
            ("speed-class.unfragmented", "MB/s"),
            ("speed-class.fragmented.64k", "MB/s"),
            ("speed-class.fragmented.16k", "MB/s"),
            ("speed-class.a1-like.read", "IOPS"),
            ("speed-class.a1-like.write", "IOPS"),
            ("speed-class.a2-like.read", "IOPS"),
            ("speed-class.a2-like.write", "IOPS"),
            ("speed-class.update.mean", "ms"),
            ("speed-class.update.longest", "ms"),
            PEAK,
            ENERGY,
        ],
        table: include_str!("speed-class.tsv"),
    },
];

/// Columns before the figures: run, name, kind, mode, title.
const COLUMNS: &str = "run\tname\tkind\tmode\ttitle";

/// The figure of this identifier in the mode that is compared.
pub(super) fn figure<'a>(
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
pub(super) struct Entry<'a> {
    pub(super) run: &'a str,
    pub(super) name: &'a str,
    pub(super) kind: Option<Kind>,
    pub(super) mode: &'a str,
    pub(super) title: &'a str,
    pub(super) values: Vec<Option<f64>>,
}

impl<'a> Entry<'a> {
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let mut cells = line.split('\t');
        Some(Entry {
            run: cells.next()?,
            name: cells.next()?,
            kind: Kind::find(cells.next()?),
            mode: cells.next()?,
            title: cells.next()?,
            values: cells.map(|cell| cell.parse().ok()).collect(),
        })
    }

    /// Whether this is the device of a result.
    pub(super) fn is(&self, document: &ResultDocument) -> bool {
        let name = document.target.name.strip_prefix("sim:");
        name == Some(self.name) || document.title == self.title
    }
}

/// Name of the run in the tables: quick or whole.
pub(super) fn run(document: &ResultDocument) -> &'static str {
    if document.quick { "quick" } else { "whole" }
}

/// The table of some results of a test on library devices, a line each, in their order: values have six significant digits,
/// and a figure that a result does not have is `-`.
pub fn library_table(test: &LibraryTest, documents: &[ResultDocument]) -> String {
    let mut table = COLUMNS.to_string();
    for (id, unit) in test.figures {
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
        for column in test.figures {
            let _ = match figure(&all, mode, *column) {
                Some(placed) => write!(table, "\t{}", round_significant(placed.figure.value, 6)),
                None => write!(table, "\t-"),
            };
        }
        table.push('\n');
    }
    table
}
