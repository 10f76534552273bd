//! Variants of mkfs options and alignment on the terminal and on the page docs/filesystems.md. The crate `uml` defines them
//! and evaluates their cells; this file plans the cells and shows the results.

use super::Subject;
use super::cells::Measured;
use super::options::Chosen;
use super::plan::Plan;
use super::rows::Rows;
use crate::console::{Console, lines_of};
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::job::Settings;
use nandscope_uml::variant_comparison::{self, Outcome, Row};
use nandscope_uml::variants::AT_ONE_AU;
use nandscope_uml::workload;
use nandscope_units::Nanos;
use std::error::Error;
use std::fmt::Write;

/// The group of the page's cells.
const GROUP: &str = "mkfs options";
/// The workload of the page.
const WORKLOAD: &str = "untar";

/// The variants of one file system with one workload on one target.
#[derive(Debug)]
pub struct Group<'a> {
    /// Number of the target.
    pub subject: usize,
    /// The workload's name.
    pub workload: &'a str,
    /// The file system.
    pub fs: FileSystem,
    /// A row for each variant.
    pub rows: Vec<Row<'a>>,
}

/// Groups the cells of sweeps, in the order of their first cells; other cells are skipped.
pub fn groups<'a>(measured: impl IntoIterator<Item = &'a Measured>) -> Vec<Group<'a>> {
    let mut found: Vec<(usize, &str, FileSystem, Vec<Outcome>)> = Vec::new();
    for Measured { plan, cell } in measured {
        let Some(variant) = &plan.settings.variant else {
            continue;
        };
        let (subject, name, fs) = (plan.subject, plan.workload.name.as_str(), plan.fs);
        let outcome = Outcome {
            variant,
            result: cell.as_ref().map_err(|error| error as &dyn Error),
        };
        match found
            .iter_mut()
            .find(|f| (f.0, f.1, f.2) == (subject, name, fs))
        {
            Some(group) => group.3.push(outcome),
            None => found.push((subject, name, fs, vec![outcome])),
        }
    }
    found
        .into_iter()
        .map(|(subject, workload, fs, outcomes)| Group {
            subject,
            workload,
            fs,
            rows: variant_comparison::rows(&outcomes),
        })
        .collect()
}

/// The cells of the page's section: all variants on the first card, and on the card with the largest allocation unit those
/// without misaligned partitions.
pub fn plans(subjects: &[Subject], chosen: &Chosen) -> Vec<Plan> {
    let Some(workload) = workload::named(WORKLOAD) else {
        return Vec::new();
    };
    let largest = (1..subjects.len()).max_by_key(|n| subjects[*n].card.unit);
    let mut plans = Vec::new();
    for number in [0].into_iter().chain(largest) {
        let Some(subject) = subjects.get(number) else {
            continue;
        };
        for fs in chosen.file_systems() {
            let wanted = |settings: &Settings| {
                let variant = settings.variant.as_ref();
                number == 0 || variant.is_none_or(|v| v.partition.is_none() || v.name == AT_ONE_AU)
            };
            let all = chosen.variants_for(*fs, subject);
            for settings in all.into_iter().filter(wanted) {
                plans.push(Plan {
                    group: GROUP,
                    ..Plan::new(number, *fs, workload.clone(), settings)
                });
            }
        }
    }
    plans
}

/// The tables of a target for the terminal, one for each workload and file system.
pub fn tables(subject: &Subject, measured: &[&Measured], console: &Console) -> String {
    let mut text = format!("{}\n\n", subject.heading());
    for group in groups(measured.iter().copied()) {
        let mut table = console.table(&["VARIANT", "OPTIONS", "TIME", "RATIO", "CARD", "REOPENED"]);
        let best = variant_comparison::best(&group.rows).map(|row| row.variant);
        for row in &group.rows {
            let done = |text: String| match row.seconds {
                Some(_) if row.is_simulated => text,
                _ => "-".to_string(),
            };
            let mark = if Some(row.variant) == best { " *" } else { "" };
            table.add_row([
                row.variant.name.clone(),
                row.variant.options(),
                match row.seconds {
                    Some(seconds) => format!("{}{mark}", Nanos::from_secs_f64(seconds)),
                    None => "failed".to_string(),
                },
                row.ratio.map_or("-".to_string(), |r| format!("{r:.2}")),
                done(format!("{:.2}", row.card)),
                done(format!("{:.0}", row.reopened)),
            ]);
        }
        let _ = writeln!(
            text,
            "{} on {}\n{}",
            group.workload,
            group.fs.title(),
            lines_of(&table).trim_end()
        );
        if let Some(finding) = variant_comparison::finding(&group.rows) {
            let finding = format!("{}: {}", group.fs.title(), finding.replace('`', ""));
            text.push_str(&console.paragraph(&finding, "  "));
        }
        text.push('\n');
    }
    text.push_str(
        "*: the fastest; RATIO: time over the default's; CARD: bytes in flash per byte to the card;\n\
         REOPENED: allocation units reopened with as many open as the card keeps.\n\n",
    );
    text
}

/// A page with nothing but the section and a link to the rows, and the rows.
pub fn page(
    subjects: &[Subject],
    measured: &[Measured],
    version: &str,
    link: &str,
) -> (String, Rows) {
    let mut page = format!(
        "# File systems and the options they are made with\n\n\
         Made by `nandscope fs --sweep --page`; do not edit. Linux {version} on simulated cards, in virtual time. {link} has every variant.\n\n"
    );
    let mut rows = Rows::new();
    section(&mut page, &mut rows, subjects, measured);
    (page, rows)
}

/// The section about mkfs options and alignment: a table for each card and workload, with the best variants.
pub fn section(page: &mut String, rows: &mut Rows, subjects: &[Subject], measured: &[Measured]) {
    let groups = groups(measured);
    if groups.is_empty() {
        return;
    }
    page.push_str(
        "## mkfs options\n\n\
         The default of each file system on the whole card, and the fastest variant: options derived from AU and page, and partitions that begin \
         elsewhere. Ignore differences below 5 %: the places of files alone make as much. `nandscope fs --sweep` makes such tables \
         for any card and workload.\n\n",
    );
    let mut met: Vec<(usize, &str)> = Vec::new();
    for group in &groups {
        let head = (group.subject, group.workload);
        if met.contains(&head) {
            continue;
        }
        met.push(head);
        let mine: Vec<_> = groups
            .iter()
            .filter(|g| (g.subject, g.workload) == head)
            .collect();
        card(page, rows, &subjects[group.subject], &mine);
    }
}

/// Largest relative difference from the default's time at which a variant counts as equally fast.
const ALIKE: f64 = 0.05;

fn card(page: &mut String, rows: &mut Rows, subject: &Subject, groups: &[&Group]) {
    let workload = groups.first().map_or("", |group| group.workload);
    let title = format!(
        "{workload} on {}, {} open AUs of {}",
        subject.title(),
        subject.card.open,
        subject.card.unit
    );
    let _ = writeln!(
        page,
        "### {title}\n\n| file system | default, s | fastest variant | s | WA |\n|---|---|---|---|---|"
    );
    // The same reason is not repeated for another card.
    let known = page.clone();
    let mut remarks = String::new();
    for group in groups {
        let fs = group.fs.title();
        for row in &group.rows {
            variant(rows, &title, fs, row);
            if let Some(failure) = &row.failure {
                let _ = writeln!(
                    remarks,
                    "- {fs}, {}, failed: {}",
                    row.variant.name,
                    in_a_line(failure)
                );
            }
        }
        let default = group.rows.iter().find(|row| row.variant.is_default());
        let default = default.and_then(|row| row.seconds);
        let default = default.map_or("failed".to_string(), |seconds| format!("{seconds:.2}"));
        let best = variant_comparison::best(&group.rows).filter(|row| !is_alike(row));
        let _ = match best.and_then(|row| Some((row, row.seconds?))) {
            Some((row, seconds)) => writeln!(
                page,
                "| {fs} | {default} | {} | {seconds:.2} | {:.2} |",
                name(row),
                row.card
            ),
            None => writeln!(page, "| {fs} | {default} | the same | | |"),
        };
        if let Some(row) = best.filter(|row| !row.variant.mkfs.is_empty()) {
            let remark = format!("- {fs}, {}: {}.\n", row.variant.name, row.variant.purpose);
            if !known.contains(&remark) {
                remarks.push_str(&remark);
            }
        }
    }
    let _ = writeln!(page, "\n{remarks}");
}

fn is_alike(row: &Row) -> bool {
    row.ratio.is_some_and(|r| (r - 1.0).abs() <= ALIKE)
}

/// The variant with its options, in Markdown.
fn name(row: &Row) -> String {
    match (row.variant.mkfs.as_str(), row.variant.partition) {
        ("", None) => row.variant.name.clone(),
        ("", Some(_)) => row.variant.options(),
        (options, _) => format!("{} `{options}`", row.variant.name),
    }
}

/// Adds the row of a variant; a variant as fast as the default has no numbers.
fn variant(rows: &mut Rows, comparison: &str, fs: &str, row: &Row) {
    if is_alike(row) && !row.variant.is_default() {
        let case = &row.variant.name;
        return rows.push(&[comparison, case, fs, "within 5 % of the default"]);
    }
    let case = name(row).replace('`', "");
    let Some(seconds) = row.seconds else {
        return rows.push(&[comparison, &case, fs, "failed"]);
    };
    let (card, reopened) = (format!("{:.2}", row.card), format!("{:.0}", row.reopened));
    let seconds = format!("{seconds:.2}");
    rows.push(&[comparison, &case, fs, &seconds, "", &card, "", &reopened]);
}

/// First line of a failure: the failed step and the tool's message, without the log and its path.
fn in_a_line(failure: &str) -> &str {
    let line = failure.lines().next().unwrap_or_default();
    line.trim_end_matches("; its last output:")
}
