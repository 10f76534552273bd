//! What is concluded from recorded outputs of flashbench, given as the text that it prints: it agrees with
//! what people saw where the step is clear, and is "cannot tell" where there is none. The recordings are those of
//! `facts/flashbench`.

use nandscope_infer::flashbench::recorded::{Recorded, RunId};
use nandscope_infer::probe::{Report, Value, from_flashbench};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

const ALIGN: &str = include_str!("../../../facts/flashbench/align.csv");
const OPEN: &str = include_str!("../../../facts/flashbench/openau.csv");
const FAT: &str = include_str!("../../../facts/flashbench/findfat.csv");
const JUMPS: &str = include_str!("../../../facts/flashbench/align_jumps.csv");
const KNEES: &str = include_str!("../../../facts/flashbench/openau_knees.csv");

fn recorded() -> Recorded {
    let mut all = Recorded::default();
    all.read_align("align.csv", ALIGN).unwrap();
    all.read_open_au("openau.csv", OPEN).unwrap();
    all.read_find_fat("findfat.csv", FAT).unwrap();
    all
}

/// Lines of a file of derived facts: fields by heading.
fn derived(text: &str) -> Vec<HashMap<&str, &str>> {
    let mut lines = text.lines();
    let headings: Vec<&str> = lines.next().unwrap().split(',').collect();
    let fields = |l: &'static str| headings.iter().copied().zip(l.split(',')).collect();
    let text: Vec<&'static str> = lines.map(|l| &*l.to_string().leak()).collect();
    text.into_iter().map(fields).collect()
}

fn run_of(fact: &HashMap<&str, &str>) -> RunId {
    RunId {
        card: fact["card"].to_string(),
        run: fact["run"].parse().unwrap(),
    }
}

/// Three digits that count, as flashbench prints a time.
fn time(us: f64) -> String {
    let (value, unit) = match us.abs() {
        t if t >= 1e6 => (us / 1e6, "s"),
        t if t >= 1e3 => (us / 1e3, "ms"),
        t if t >= 1.0 => (us, "µs"),
        _ => (us * 1e3, "ns"),
    };
    format!("{}{unit}", digits(value))
}

fn digits(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

fn rate(bytes_per_s: f64) -> String {
    if bytes_per_s >= 1e6 {
        format!("{}M/s", digits(bytes_per_s / 1e6))
    } else {
        format!("{}K/s", digits(bytes_per_s / 1e3))
    }
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) {
        format!("{}MiB", bytes >> 20)
    } else if bytes >= 1024 {
        format!("{}KiB", bytes >> 10)
    } else {
        format!("{bytes}B")
    }
}

/// The text as printed in the terminal.
fn align_text(all: &Recorded, run: &RunId) -> String {
    let mut text = String::new();
    for table in &all.align[run] {
        let (block, tries) = (table.block, table.tries);
        let _ = writeln!(
            text,
            "# flashbench -a /dev/sdf --blocksize={block} --count={tries}"
        );
        for row in &table.rows {
            let _ = write!(text, "align {}", row.align);
            for (name, us) in [
                ("pre", row.pre_us),
                ("on", row.on_us),
                ("post", row.post_us),
            ] {
                if us.is_finite() {
                    let _ = write!(text, "\t{name} {}", time(us));
                }
            }
            let _ = writeln!(text, "\tdiff {}", time(row.diff_us));
        }
    }
    text
}

fn open_text(all: &Recorded, run: &RunId, mode: &str) -> String {
    let mut text = String::new();
    let mut units = 0;
    for r in all.open_au[run].iter().filter(|r| r.mode == mode) {
        if r.units != units {
            units = r.units;
            let random = if mode == "random" { " --random" } else { "" };
            let _ = writeln!(
                text,
                "# flashbench -O --erasesize={} --open-au-nr={units}{random} /dev/sdf",
                r.unit
            );
        }
        let _ = writeln!(text, "{}\t{}", size(r.length), rate(r.bytes_per_s));
    }
    text
}

fn certain(report: &Report, id: &str) -> bool {
    report.finding(id).unwrap().confidence > 0.0
}

#[test]
fn boundaries_agree_where_the_step_is_clear() {
    let all = recorded();
    let (mut clear, mut none) = (0, 0);
    for fact in derived(JUMPS) {
        let run = run_of(&fact);
        let report = from_flashbench("a", &align_text(&all, &run)).unwrap();
        let ratio: f64 = fact["ratio"].parse().unwrap();
        if ratio > 1.5 {
            clear += 1;
            let expected = fact["largest_jump_128K_16M"].parse().ok();
            assert_eq!(report.bytes("unit"), expected, "{run:?}");
        } else if ratio < 1.2 {
            none += 1;
            assert!(!certain(&report, "unit"), "{run:?}: {report:?}");
        }
        assert!(!certain(&report, "open-linear") && !certain(&report, "fat"));
    }
    assert_eq!((clear, none), (16, 6));
}

#[test]
fn open_units_agree_where_the_collapse_is_clear() {
    let all = recorded();
    // What people saw, by run and order: knees of single lengths, with the ratio of the fall.
    let mut seen: BTreeMap<(RunId, String), Vec<(String, f64)>> = BTreeMap::new();
    for fact in derived(KNEES) {
        let drop = fact["drop_ratio"].parse().unwrap_or(1.0);
        let key = (run_of(&fact), fact["mode"].to_string());
        let knee = fact["knee_last_fast_n"].to_string();
        seen.entry(key).or_default().push((knee, drop));
    }
    let (mut told, mut not_told) = (0, 0);
    for ((run, mode), knees) in seen {
        if mode != "linear" && mode != "random" {
            continue;
        }
        let report = from_flashbench("a", &open_text(&all, &run, &mode)).unwrap();
        let id = format!("open-{mode}");
        match report.count(&id) {
            Some(units) => {
                told += 1;
                let units = units.to_string();
                assert!(
                    knees.iter().any(|k| k.0 == units),
                    "{run:?} {mode}: {units}, {knees:?}"
                );
            }
            None => {
                not_told += 1;
                // Nothing collapsed, or it slopes.
                let clear = knees.iter().any(|k| !k.0.starts_with('>') && k.1 >= 4.0);
                assert!(!clear, "{run:?} {mode}: {knees:?} {report:?}");
            }
        }
    }
    assert!(told >= 15 && not_told >= 10, "{told} told, {not_told} not");
}

#[test]
fn first_units_are_judged_as_their_rates_are() {
    let all = recorded();
    let mut treated = Vec::new();
    for run in all.find_fat.keys() {
        let mut text = "# flashbench -f --fat-nr=6 /dev/sdf\n".to_string();
        let rows = all.find_fat_rates(run).unwrap();
        for (i, row) in rows.iter().enumerate() {
            let rates: Vec<String> = row.iter().map(|r| rate(*r)).collect();
            let _ = writeln!(text, "{}\t{}", size(4 << 20 >> i), rates.join("\t"));
        }
        let report = from_flashbench("a", &text).unwrap();
        if report.finding("fat").unwrap().value == Some(Value::Flag(true)) {
            treated.push(format!("{} {}", run.card, run.run));
        }
    }
    assert!(treated.contains(&"wb-card06 2".to_string()), "{treated:?}");
    assert!(treated.contains(&"wb-card21 0".to_string()), "{treated:?}");
    assert!(!treated.contains(&"wb-card03 3".to_string()), "{treated:?}");
}

/// Text of everything that was recorded of a run.
fn all_text(all: &Recorded, run: &RunId) -> String {
    let mut text = String::new();
    if all.align.contains_key(run) {
        text += &align_text(all, run);
    }
    if all.open_au.contains_key(run) {
        text += &open_text(all, run, "linear");
        text += &open_text(all, run, "random");
    }
    if let Some(rows) = all.find_fat_rates(run) {
        text += "# flashbench -f --fat-nr=8 /dev/sdf\n";
        for (i, row) in rows.iter().enumerate() {
            let rates: Vec<String> = row.iter().map(|r| rate(*r)).collect();
            let _ = writeln!(text, "{}\t{}", size(4 << 20 >> i), rates.join("\t"));
        }
    }
    text
}

#[test]
fn runs_of_one_card_do_not_contradict_each_other() {
    let all = recorded();
    let runs = all.align.keys().chain(all.open_au.keys());
    let runs: std::collections::BTreeSet<&RunId> = runs.chain(all.find_fat.keys()).collect();
    let mut stated: BTreeMap<(&str, &str), Vec<Value>> = BTreeMap::new();
    for run in runs {
        let Ok(report) = from_flashbench("a", &all_text(&all, run)) else {
            continue;
        };
        for finding in report.findings.iter().filter(|f| f.value.is_some()) {
            let values = stated.entry((&run.card, finding.id)).or_default();
            values.extend(finding.value);
        }
    }
    let mut twice = 0;
    for ((card, id), values) in stated {
        twice += u32::from(values.len() > 1);
        assert!(
            values.windows(2).all(|w| w[0] == w[1]),
            "{card} {id}: {values:?}"
        );
    }
    assert!(twice >= 5, "{twice} answers were given twice");
}
