//! The page docs/filesystems.md: five file systems on the cards of the talk, and the talk's findings
//! compared with the traces. Every number on it comes from the cells.

mod traces;
mod verdicts;

use super::Subject;
use super::cells::Measured;
use super::options::Chosen;
use super::plan::Plan;
use super::rows::Rows;
use super::variants;
use nandscope_uml::cell::Cell;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::job::Settings;
use nandscope_uml::workload;
use nandscope_units::{Bytes, Nanos};
use std::fmt::Write;

/// Groups of cells outside the table that the findings need, named after their purpose.
const CREATE: &str = "create";
const CREATE_FSYNC: &str = "create with fsync";
const OWN_OPEN: &str = "aged, open units of the card";
const MORE_OPEN: &str = "aged, more open units";
const EMPTY: &str = "nearly empty";
const FULL: &str = "full";
const ALIGNED: &str = "aligned";
const MISALIGNED: &str = "misaligned";
const COPY_ALIGNED: &str = "aligned, copy";
const COPY_MISALIGNED: &str = "misaligned, copy";
const STALLS: &str = "stalls";

/// Number of open allocation units of the card that is compared with the unchanged one.
const MANY_OPEN: u32 = 8;
/// Size of the partition of the cells about fullness: filling it takes seconds.
const SMALL: Bytes = Bytes::mib(512);
/// Size of the partition for the cells on alignment: from 512 MiB on, mkfs.ext4 uses blocks of 4 KiB.
const MEDIUM: Bytes = Bytes::mib(768);
/// Offset of old tools' partitions from an allocation unit's start: 63 sectors, a track of a disk.
const OFF_BY: Bytes = Bytes(63 * 512);

/// Cells in addition to the table: on the first card, and those on stalls on the last one.
pub fn plans(subjects: &[Subject], chosen: &Chosen) -> Vec<Plan> {
    let mut plans = Vec::new();
    let Some(first) = subjects.first() else {
        return plans;
    };
    for fs in chosen.file_systems() {
        let mut add = |subject: usize,
                       group: &'static str,
                       name: &str,
                       change: &dyn Fn(Settings) -> Settings| {
            let discard = subjects[subject].discard;
            let settings = change(chosen.settings_for(*fs, discard));
            if let Some(workload) = workload::named(name) {
                plans.push(Plan {
                    group,
                    used: !matches!(group, CREATE | CREATE_FSYNC | STALLS),
                    open: (group == MORE_OPEN).then_some(MANY_OPEN),
                    ..Plan::new(subject, *fs, workload, settings)
                });
            }
        };
        let filled = |fullness: u32| {
            let start = first.card.unit;
            move |s: Settings| Settings {
                partition_start: Some(start),
                partition_size: Some(SMALL),
                fullness,
                age_rounds: 1,
                cleaner_s: Some(0),
                ..s
            }
        };
        // Long enough for NILFS2 to use up the free space. Two clients only, or FAT32's clusters have no room for the files.
        let long = |s: Settings| Settings {
            variables: [("DBENCH_CLIENTS", "2"), ("DBENCH_ROUNDS", "800")]
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .to_vec(),
            ..s
        };
        // Aligned and misaligned partitions end at the same place, so that structures at the end make no difference.
        let off_by = |distance: Bytes| {
            let start = Bytes(first.card.unit.0 + distance.0);
            move |s: Settings| Settings {
                partition_start: Some(start),
                partition_size: Some(Bytes(MEDIUM.0 - distance.0)),
                ..s
            }
        };
        add(0, CREATE, "create", &|s| s);
        add(0, CREATE_FSYNC, "create", &|s| Settings {
            variables: vec![("CREATE_FSYNC".to_string(), "1".to_string())],
            ..s
        });
        add(0, OWN_OPEN, "postmark", &filled(70));
        add(0, MORE_OPEN, "postmark", &filled(70));
        add(0, EMPTY, "dbench", &|s| long(filled(10)(s)));
        add(0, FULL, "dbench", &|s| long(filled(80)(s)));
        add(0, ALIGNED, "untar", &off_by(Bytes::ZERO));
        add(0, MISALIGNED, "untar", &off_by(OFF_BY));
        add(0, COPY_ALIGNED, "copy", &off_by(Bytes::ZERO));
        add(0, COPY_MISALIGNED, "copy", &off_by(OFF_BY));
        add(subjects.len() - 1, STALLS, "dbench", &|s| s);
    }
    plans
}

/// The page with a link to the rows, and the rows.
pub fn write(
    subjects: &[Subject],
    measured: &[Measured],
    version: &str,
    link: &str,
) -> (String, Rows) {
    let mut rows = Rows::new();
    let mut page = format!(
        "# Which file system for which card\n\n\
         Made by `make fs`; do not edit. File systems of Linux {version} on the simulated cards of the talk \
         \"Which SD card?\" (P. Chubb, linux.conf.au 2015), in virtual time; processor time is zero. \
         [fs.md](fs.md) explains the workloads.\n\n\
         WA: bytes in flash per byte to the card. Reopened: AUs reopened with those that the card keeps open. Times are in seconds, with a final `sync`. Further columns and \
         variants: {link}.\n\n"
    );
    tables(&mut page, subjects, measured);
    page.push_str("## The talk's findings\n\n");
    traces::per_file(&mut page, measured);
    traces::fat_creation(&mut page, measured);
    traces::ext4_late_writes(&mut page, measured);
    open_units(&mut page, subjects, measured);
    let mut ratios = String::new();
    let mut pairs = |page: &mut String, comparison: &Pair| {
        pairs(page, &mut ratios, &mut rows, measured, comparison);
    };
    pairs(
        &mut page,
        &Pair {
            title: "The same card with more open allocation units",
            name: "more open AUs",
            text: "Postmark on the first card, in use, on an aged partition of 512 MiB, 70 % full; and on the same card with 8 open AUs. \
                   A file system that causes as much writing either way pays for pages out of order inside its AUs, not for interleaved AUs.",
            groups: [OWN_OPEN, MORE_OPEN],
            cases: ["as it is", "8 open"],
        },
    );
    latency(&mut page, subjects, measured);
    pairs(
        &mut page,
        &Pair {
            title: "Full file systems",
            name: "80 % full",
            text: "The talk: all file systems get worse when the card is full. Here: the file server's load of two clients on a partition of 512 MiB, \
                   filled to 10 % and to 80 % with files of all sizes, a third of them deleted and replaced, on a fully written card without discards. \
                   (On a fresh card scattered writes into fresh AUs cost more.) NILFS2's cleaner frees deleted data at once.\n\n\
                   Full file systems write more and smaller pieces into more AUs than the card keeps open. NILFS2 still writes one log, but its \
                   cleaner copies valid data.",
            groups: [EMPTY, FULL],
            cases: ["10 % full", "80 % full"],
        },
    );
    pairs(
        &mut page,
        &Pair {
            title: "Partitions off the erase-block boundary",
            name: "tree off the boundary",
            text: "The talk: partitions must begin with an erase block. A tree is extracted to a partition that begins with an AU, and to one that begins \
                   63 sectors later, on a card in use. Structures of the file system then lie in two pages or AUs, and the card copies the rest.",
            groups: [ALIGNED, MISALIGNED],
            cases: ["aligned", "63 sectors off"],
        },
    );
    verdicts::without_loss(&mut page, measured);
    pairs(
        &mut page,
        &Pair {
            title: "Folders of photos off the erase-block boundary",
            name: "photos off the boundary",
            text: "Four folders are copied at once; files of megabytes fill whole AUs if they begin with one.",
            groups: [COPY_ALIGNED, COPY_MISALIGNED],
            cases: ["aligned", "63 sectors off"],
        },
    );
    comparisons(&mut page, &ratios, measured);
    variants::section(&mut page, &mut rows, subjects, measured);
    failures(&mut page, measured);
    (page, rows)
}

fn ok<'a>(measured: &'a [Measured], group: &'a str) -> impl Iterator<Item = (&'a Plan, &'a Cell)> {
    measured
        .iter()
        .filter(move |m| m.plan.group == group)
        .filter_map(|m| Some((&m.plan, m.cell.as_ref().ok()?)))
}

/// Cell of a file system in a group with one cell per file system.
fn of<'a>(measured: &'a [Measured], group: &'a str, fs: FileSystem) -> Option<&'a Cell> {
    ok(measured, group).find_map(|(plan, cell)| (plan.fs == fs).then_some(cell))
}

/// The file systems of the table, in its order.
fn systems(measured: &[Measured]) -> Vec<FileSystem> {
    let mut systems: Vec<FileSystem> = Vec::new();
    for m in measured.iter().filter(|m| m.plan.group.is_empty()) {
        if !systems.contains(&m.plan.fs) {
            systems.push(m.plan.fs);
        }
    }
    systems
}

/// The cards, then a table for each workload, the fastest of each card in bold, and the reasons below.
fn tables(page: &mut String, subjects: &[Subject], measured: &[Measured]) {
    page.push_str("| card | open AUs | AU |\n|---|---|---|\n");
    for subject in subjects {
        let (name, card) = (subject.short(), &subject.card);
        let _ = writeln!(page, "| {name} | {} | {} |", card.open, card.unit);
    }
    page.push('\n');
    let mut workloads: Vec<&str> = Vec::new();
    let systems = systems(measured);
    for m in measured.iter().filter(|m| m.plan.group.is_empty()) {
        if !workloads.contains(&m.plan.workload.name.as_str()) {
            workloads.push(&m.plan.workload.name);
        }
    }
    for name in workloads {
        let title = workload::named(name).map_or(String::new(), |w| w.title);
        let _ = writeln!(page, "## {name}\n\n{title}.\n");
        let heads: Vec<_> = systems.iter().map(|fs| fs.title()).collect();
        let _ = writeln!(page, "| card | {} |", heads.join(" | "));
        let _ = writeln!(page, "|---|{}", "---|".repeat(heads.len()));
        for (number, subject) in subjects.iter().enumerate() {
            let cell = |fs: FileSystem| {
                ok(measured, "")
                    .find(|(p, _)| p.subject == number && p.fs == fs && p.workload.name == name)
                    .map(|(_, cell)| cell)
            };
            let best = systems
                .iter()
                .filter_map(|fs| cell(*fs))
                .map(|c| c.time)
                .min();
            let columns: Vec<String> = systems
                .iter()
                .map(|fs| match cell(*fs) {
                    None => "failed".to_string(),
                    Some(c) if Some(c.time) == best => format!("**{}**", seconds(c)),
                    Some(c) => seconds(c),
                })
                .collect();
            let _ = writeln!(page, "| {} | {} |", subject.short(), columns.join(" | "));
        }
        let ends = (0..subjects.len()).filter_map(|number| {
            let mut mine: Vec<&Cell> = ok(measured, "")
                .filter(|(p, _)| p.subject == number && p.workload.name == name)
                .map(|(_, cell)| cell)
                .collect();
            mine.sort_by_key(|c| c.time);
            match mine[..] {
                [first, .., last] => Some((first, last)),
                _ => None,
            }
        });
        let (first, last): (Vec<&Cell>, Vec<&Cell>) = ends.unzip();
        page.push('\n');
        for (place, cells) in [("first", &first), ("last", &last)] {
            for fs in &systems {
                let of: Vec<&Cell> = cells.iter().copied().filter(|c| c.fs == *fs).collect();
                page.push_str(&at_the_end(*fs, place, &of, cells.len()));
            }
        }
        page.push('\n');
    }
}

/// Number of cards on which a file system is the first or the last, and what it wrote there.
fn at_the_end(fs: FileSystem, place: &str, cells: &[&Cell], cards: usize) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let span = |of: &dyn Fn(&Cell) -> f64, decimals: usize| {
        let values = cells.iter().map(|cell| of(cell));
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let [low, high] = [low, high].map(|v| format!("{v:.decimals$}"));
        match low == high {
            true => low,
            false => format!("{low} to {high}"),
        }
    };
    format!(
        "- {} is {place} on {} of {cards} cards: {} writes of {} KiB, {} % in sequence; flushes {}; reopened AUs {}; WA {}.\n",
        fs.title(),
        cells.len(),
        span(&|c| c.pattern.writes.commands as f64, 0),
        span(&mean_write_kib, 0),
        span(&|c| c.pattern.sequential * 100.0, 0),
        span(&|c| c.pattern.flushes as f64, 0),
        span(&|c| c.pattern.reopened_units() as f64, 0),
        span(&|c| c.counters.write_amplification(), 1),
    )
}

fn seconds(cell: &Cell) -> String {
    let seconds = cell.time.as_secs_f64();
    if seconds < 10.0 {
        format!("{seconds:.2}")
    } else {
        format!("{seconds:.1}")
    }
}

fn open_units(page: &mut String, subjects: &[Subject], measured: &[Measured]) {
    page.push_str(
        "### F2FS, and cards with two open allocation units\n\n\
         The talk expects F2FS to suffer on a card that keeps fewer AUs open than its six logs need. A fresh F2FS \
         begins its logs in neighbouring segments of 2 MiB, several of which share an AU of 4 or 8 MiB. Postmark: open AUs \
         that are enough / reopened / WA.\n\n",
    );
    let shown = [FileSystem::Ext4, FileSystem::F2fs, FileSystem::Nilfs2];
    let heads: Vec<_> = shown.iter().map(|fs| fs.title()).collect();
    let _ = writeln!(page, "| card | {} |\n|---|---|---|---|", heads.join(" | "));
    let mut without = 0;
    for (number, subject) in subjects.iter().enumerate() {
        let cells = shown.map(|fs| {
            let mut cells = ok(measured, "");
            let found = cells
                .find(|(p, _)| p.subject == number && p.fs == fs && p.workload.name == "postmark");
            found.map(|(_, cell)| cell)
        });
        let reopens = |cell: &Option<&Cell>| cell.is_some_and(|c| c.pattern.reopened_units() > 0);
        if !cells.iter().any(reopens) {
            without += 1;
            continue;
        }
        let words = cells.map(|cell| {
            cell.map_or("-".to_string(), |cell| {
                format!(
                    "{}/{}/{:.2}",
                    cell.pattern.units_needed,
                    cell.pattern.reopened_units(),
                    cell.counters.write_amplification()
                )
            })
        });
        let _ = writeln!(page, "| {} | {} |", subject.short(), words.join(" | "));
    }
    let _ = writeln!(
        page,
        "\nOn the other {without} cards these three reopen no AU.\n"
    );
}

fn latency(page: &mut String, subjects: &[Subject], measured: &[Measured]) {
    let _ = writeln!(
        page,
        "### NILFS2, latency and throughput\n\n\
         The talk: NILFS2 trades latency for throughput, and F2FS makes programs wait for more than 6 s. Here: the file server's load of four clients on {}, empty, so that NILFS2's cleaner has nothing to do.\n\n\
         | file system | s | MB/s of programs | mean call | 99 % | longest call | mean write to the card |\n|---|---|---|---|---|---|---|",
        subjects.last().map_or("", |s| s.title())
    );
    for (plan, cell) in ok(measured, STALLS) {
        let c = &cell.pattern;
        let _ = writeln!(
            page,
            "| {} | {} | {:.2} | {:.0} µs | {} | {} | {:.0} KiB |",
            plan.fs.title(),
            seconds(cell),
            c.throughput() / 1e6,
            c.call_latency.mean_ns() / 1e3,
            match c.call_latency.percentile(99.0) {
                Nanos::ZERO => "0 (in memory)".to_string(),
                time => time.to_string(),
            },
            c.longest
                .map_or("-".to_string(), |(name, time)| format!("{time} ({name})")),
            mean_write_kib(cell)
        );
    }
    page.push('\n');
    verdicts::trade(page, measured);
}

/// Mean size of a write to the card, KiB.
fn mean_write_kib(cell: &Cell) -> f64 {
    let mean = cell.pattern.writes.mean();
    mean.map_or(0.0, |bytes| bytes.0 as f64 / 1024.0)
}

/// Bytes that the file system wrote to the card, MB.
fn megabytes(cell: &Cell) -> f64 {
    cell.pattern.writes.bytes as f64 / 1e6
}

/// Longest call of a program.
fn longest(cell: &Cell) -> Nanos {
    cell.pattern.longest.map_or(Nanos::ZERO, |(_, time)| time)
}

/// Duration of a cell divided by that of another cell.
fn over(cell: &Cell, other: &Cell) -> f64 {
    cell.time.as_secs_f64() / other.time.as_secs_f64().max(1e-9)
}

/// Two groups of cells that differ in one condition.
struct Pair<'a> {
    title: &'a str,
    /// Name in the table of all comparisons.
    name: &'a str,
    text: &'a str,
    groups: [&'a str; 2],
    /// The condition of each group.
    cases: [&'a str; 2],
}

/// The text about two groups of cells, and the second over the first as a row of the table of all comparisons.
fn pairs(
    page: &mut String,
    ratios: &mut String,
    rows: &mut Rows,
    measured: &[Measured],
    pair: &Pair,
) {
    let _ = writeln!(page, "### {}\n\n{}\n", pair.title, pair.text);
    let _ = write!(ratios, "| {} |", pair.name);
    for fs in systems(measured) {
        let cells = pair.groups.map(|group| of(measured, group, fs));
        for (case, cell) in pair.cases.into_iter().zip(cells) {
            if let Some(cell) = cell {
                rows.push(&[
                    pair.title,
                    case,
                    fs.title(),
                    &seconds(cell),
                    &format!("{:.0}", megabytes(cell)),
                    &format!("{:.2}", cell.counters.write_amplification()),
                    &cell.pattern.units_needed.to_string(),
                    &cell.pattern.reopened_units().to_string(),
                    &longest(cell).to_string(),
                ]);
            }
        }
        let _ = match cells {
            [Some(before), Some(after)] => write!(
                ratios,
                " {:.2} ({:.2}/{:.2}) |",
                over(after, before),
                before.counters.write_amplification(),
                after.counters.write_amplification(),
            ),
            _ => write!(ratios, " failed |"),
        };
    }
    ratios.push('\n');
}

/// The table of all comparisons.
fn comparisons(page: &mut String, ratios: &str, measured: &[Measured]) {
    let heads: Vec<&str> = systems(measured).iter().map(|fs| fs.title()).collect();
    let _ = writeln!(
        page,
        "### The four comparisons in numbers\n\n\
         Time in the second case / in the first (WA in the first/second).\n\n| case | {} |\n|{}\n{ratios}",
        heads.join(" | "),
        "---|".repeat(heads.len() + 1),
    );
}

fn failures(page: &mut String, measured: &[Measured]) {
    let complaints: Vec<_> = measured.iter().filter_map(Measured::complaint).collect();
    if complaints.is_empty() {
        page.push_str(
            "mkfs, mount, umount and fsck (NILFS2: reading everything) reported no error in any cell.\n",
        );
        return;
    }
    page.push_str("## Cells that failed\n\n");
    for complaint in complaints {
        let _ = writeln!(page, "- {}", complaint.lines().next().unwrap_or_default());
    }
}
