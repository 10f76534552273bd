//! `nandscope fs --cuts`: power cuts in virtual time at many moments of a program's run, for every file system, on cards
//! that perform flushes and on one that only acknowledges them. Makes the table of losses.

use super::Subject;
use super::cells::CellError;
use crate::console::{Console, lines_of};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::threads::ThreadArguments;
use nandscope_suite::at_once;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::powercut::{FlushSemantics, Outcome, Series};
use nandscope_units::csv_line;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Lines that the program writes to its log; every fourth is followed by a file.
const LINES: u32 = 40;

/// Outcome of the cuts in one file system's life on one kind of card.
#[derive(Debug)]
pub struct Row {
    fs: FileSystem,
    flush: FlushSemantics,
    outcomes: Result<Vec<Outcome>, CellError>,
}

/// Cuts the power at `points` moments for each file system on each kind of card.
pub fn run(
    kernel: &Path,
    subject: &Subject,
    systems: &[FileSystem],
    points: u32,
    threads: ThreadArguments,
    interrupt: &Interrupt,
    console: &Console,
) -> Vec<Row> {
    let plans: Vec<(FileSystem, FlushSemantics)> = systems
        .iter()
        .flat_map(|fs| FlushSemantics::ALL.map(|flush| (*fs, flush)))
        .collect();
    let mut line = Line::new("fs --cuts");
    let stop = || interrupt.asked();
    let rows = at_once::run(
        plans.len(),
        threads.wanted(),
        &stop,
        |number| {
            let (fs, flush) = plans[number];
            let series = Series {
                kernel,
                fs,
                flush,
                points,
                lines: LINES,
            };
            let device = subject.device(1, None);
            let outcomes = device.and_then(|device| Ok(series.run(&device, &stop)?));
            Row {
                fs,
                flush,
                outcomes,
            }
        },
        |done| {
            let (fs, flush) = (done.outcome.fs.name(), done.outcome.flush.name());
            let text = format!("{} of {}: {fs}, {flush} card", done.count, plans.len());
            line.tell(Some(done.share(plans.len())), text, console);
        },
    );
    line.clear();
    rows.into_iter().flatten().collect()
}

/// The columns of the table.
const COLUMNS: [&str; 8] = [
    "file system",
    "card",
    "cuts",
    "repair said",
    "not mounted",
    "not clean after",
    "lines lost",
    "files lost",
];

impl Row {
    fn cells(&self) -> [String; 8] {
        let outcomes = match &self.outcomes {
            Ok(outcomes) => outcomes.as_slice(),
            Err(_) => &[],
        };
        let count = |test: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| test(o)).count();
        // Lost and confirmed items, and the number of cuts with losses.
        let lost = |numbers: &dyn Fn(&Outcome) -> (u32, u32)| {
            let (mut gone, mut all, mut cuts) = (0, 0, 0);
            for (kept, promised) in outcomes.iter().map(numbers) {
                let missing = promised.saturating_sub(kept);
                (gone, all) = (gone + missing, all + promised);
                cuts += u32::from(missing > 0);
            }
            match gone {
                0 => format!("0/{all}"),
                _ => format!("{gone}/{all} ({cuts} cuts)"),
            }
        };
        [
            self.fs.title().to_string(),
            self.flush.name().to_string(),
            outcomes.len().to_string(),
            self.verdicts(outcomes),
            count(&|o| !o.mounted).to_string(),
            count(&|o| !o.is_clean()).to_string(),
            lost(&|o| (o.kept.lines, o.promised.lines)),
            lost(&|o| (o.kept.files, o.promised.files)),
        ]
    }

    /// Exit codes of the repair, and how often each.
    fn verdicts(&self, outcomes: &[Outcome]) -> String {
        if self.fs.repair().is_none() {
            return "- (mount repairs)".to_string();
        }
        let mut codes: Vec<Option<i32>> = outcomes.iter().map(|o| o.repair).collect();
        codes.sort_unstable();
        let parts: Vec<String> = codes
            .chunk_by(|a, b| a == b)
            .map(|same| match same[0] {
                Some(code) => format!("{code}: {}×", same.len()),
                None => format!("no end: {}×", same.len()),
            })
            .collect();
        parts.join(", ")
    }

    /// Describes a failure, if there is one: on the honest card, the first outcome that lost confirmed data or left a
    /// damaged file system; on any card, the error that stopped the series.
    pub fn complaint(&self) -> Option<String> {
        let name = format!("{} on the {} card", self.fs.name(), self.flush.name());
        let outcomes = match &self.outcomes {
            Err(error) => return Some(format!("{name}: {error}")),
            Ok(outcomes) => outcomes,
        };
        let bad =
            |o: &&Outcome| self.flush == FlushSemantics::Honest && !(o.is_kept() && o.is_clean());
        let worst = outcomes.iter().find(bad)?;
        Some(format!(
            "{name}, cut at {}: {} of {} lines and {} of {} files are there, mounted {}, repair {:?}, check {:?}\n{}",
            worst.at,
            worst.kept.lines,
            worst.promised.lines,
            worst.kept.files,
            worst.promised.files,
            worst.mounted,
            worst.repair,
            worst.check,
            worst.said.trim_end()
        ))
    }
}

/// One cut in `cuts.json`.
#[derive(Debug, Serialize)]
struct Record<'a> {
    file_system: &'a str,
    card: &'a str,
    /// Time of the power cut on the kernel's clock.
    at_ns: u64,
    lines_promised: u32,
    lines_kept: u32,
    files_promised: u32,
    files_kept: u32,
    /// Exit code of the repair; null if mounting repairs, or if the repair did not end.
    repair: Option<i32>,
    mounted: bool,
    /// Exit code of the check at the end; null if there is no such program.
    check: Option<i32>,
    finished: bool,
    /// Output of the programs.
    said: &'a str,
}

/// Records of every power cut, as JSON, with the output of the programs.
///
/// # Errors
/// The serializer's error, which does not occur with these types.
pub fn records(rows: &[Row]) -> Result<String, serde_json::Error> {
    let mut records = Vec::new();
    for row in rows {
        for outcome in row.outcomes.iter().flatten() {
            records.push(Record {
                file_system: row.fs.name(),
                card: row.flush.name(),
                at_ns: outcome.at.0,
                lines_promised: outcome.promised.lines,
                lines_kept: outcome.kept.lines,
                files_promised: outcome.promised.files,
                files_kept: outcome.kept.files,
                repair: outcome.repair,
                mounted: outcome.mounted,
                check: outcome.check,
                finished: outcome.finished,
                said: outcome.said.trim_end(),
            });
        }
    }
    serde_json::to_string_pretty(&records)
}

/// The table for a terminal.
pub fn table(subject: &Subject, rows: &[Row], console: &Console) -> String {
    let mut table = console.table(&COLUMNS);
    for row in rows {
        table.add_row(row.cells());
    }
    format!("{}\n{}\n\n", subject.title(), lines_of(&table))
}

/// Indices of the columns on the page; the file next to it has all.
const SHOWN: [usize; 5] = [0, 1, 4, 6, 7];

/// The page docs/power-cuts.md, with a link to the rows: the honest card in a sentence if it loses nothing, the others in a table.
pub fn page(subject: &Subject, rows: &[Row], points: u32, version: &str, link: &str) -> String {
    let mut page = format!(
        "# What a power cut leaves\n\n\
         Made by `make cuts CUTS={points}`; do not edit. On Linux {version} a program appends {LINES} lines to a log and makes a file after\n\
         every fourth, with `fsync` after each, on {}. The power goes at {points} moments spread evenly in virtual time. A kernel then\n\
         repairs (`e2fsck -f -y`, `yes | fsck.f2fs -f -y`, `fsck.vfat -a -w`, `fsck.exfat -y`, or by mounting), mounts, counts what\n\
         `fsync` had confirmed, unmounts, and checks again.\n\n\
         - The **honest** card flushes, and uses the previous copy of a page whose programming was interrupted.\n\
         - The **tearing** card flushes, but returns an interrupted page as if it were valid; what it overwrote is lost.\n\
         - The **lying** card ignores flushes and takes interrupted pages for good.\n\n\
         {link} also has the exit codes of the repair (0: nothing to do, or done; 1: repaired; others: see its\n\
         manual), and how many were not clean at the end.\n\n",
        subject.title(),
    );
    let honest = |row: &&Row| row.flush == FlushSemantics::Honest;
    let keeps = rows
        .iter()
        .filter(honest)
        .all(|row| row.complaint().is_none());
    if keeps && rows.iter().any(|row| honest(&row)) {
        page.push_str(
            "On the honest card no file system loses a confirmed line or file, and each is mounted and clean at the end.\n\n",
        );
    }
    let _ = writeln!(page, "| {} |", SHOWN.map(|c| COLUMNS[c]).join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(SHOWN.len()));
    for row in rows.iter().filter(|row| !(keeps && honest(row))) {
        let cells = row.cells();
        let _ = writeln!(page, "| {} |", SHOWN.map(|c| cells[c].as_str()).join(" | "));
    }
    page
}

/// The file docs/power-cuts.csv: every row with all columns.
pub fn csv(rows: &[Row]) -> String {
    let mut text = csv_line(&COLUMNS);
    for row in rows {
        text.push_str(&csv_line(&row.cells().each_ref().map(String::as_str)));
    }
    text
}
