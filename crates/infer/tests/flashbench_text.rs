//! Conclusions from recorded output of flashbench, as printed text: they agree with the human reading if the step is clear, and
//! are "cannot tell" if there is no step. The recordings are those of `facts/flashbench`.

use nandscope_infer::flashbench::recorded::{Recorded, RunId};
use nandscope_infer::probe::{
    COUNTED_RECORDED, Question, Report, Strength, Value, from_flashbench,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// A time with three significant digits, as flashbench prints it.
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
    trials_text(all, run, |_| true)
}

/// The text of some of the trials.
fn trials_text(all: &Recorded, run: &RunId, printed: impl Fn(u32) -> bool) -> String {
    let mut text = String::new();
    for table in all.align[run].iter().filter(|t| printed(t.trial)) {
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

fn certain(report: &Report, question: Question) -> bool {
    report.finding(question).unwrap().confidence > 0.0
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
            assert_eq!(report.bytes(Question::Unit), expected, "{run:?}");
        } else if ratio < 1.2 {
            none += 1;
            assert!(!certain(&report, Question::Unit), "{run:?}: {report:?}");
        }
        assert!(!certain(&report, Question::OpenLinear) && !certain(&report, Question::Fat));
    }
    assert_eq!((clear, none), (16, 6));
}

#[test]
fn open_units_agree_where_the_collapse_is_clear() {
    let all = recorded();
    // Human reading by run and order: knees of single lengths, with the ratio of the fall.
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
        let question = match mode.as_str() {
            "linear" => Question::OpenLinear,
            _ => Question::OpenRandom,
        };
        match report.count(question) {
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
                // The rate never collapsed, or falls gradually.
                let clear = knees.iter().any(|k| !k.0.starts_with('>') && k.1 >= 4.0);
                assert!(!clear, "{run:?} {mode}: {knees:?} {report:?}");
            }
        }
    }
    assert!(told >= 15 && not_told >= 10, "{told} told, {not_told} not");
}

/// The text of `--find-fat`, trial by trial, as printed in the terminal.
fn fat_text(all: &Recorded, run: &RunId, printed: impl Fn(u32) -> bool) -> String {
    let mut rows: BTreeMap<(u32, Reverse<u64>), BTreeMap<u32, f64>> = BTreeMap::new();
    for r in all.find_fat[run].iter().filter(|r| printed(r.trial)) {
        let row = rows.entry((r.trial, Reverse(r.length))).or_default();
        row.insert(r.unit, r.bytes_per_s);
    }
    let mut text = "# flashbench -f --fat-nr=8 /dev/sdf\n".to_string();
    for ((_, Reverse(length)), rates) in rows {
        let rates: Vec<String> = rates.values().map(|r| rate(*r)).collect();
        let _ = writeln!(text, "{}\t{}", size(length), rates.join("\t"));
    }
    text
}

#[test]
fn first_units_are_judged_as_their_rates_are() {
    let all = recorded();
    let mut treated = Vec::new();
    for run in all.find_fat.keys() {
        let report = from_flashbench("a", &fat_text(&all, run, |_| true)).unwrap();
        if report.finding(Question::Fat).unwrap().value == Some(Value::Flag(true)) {
            treated.push(format!("{} {}", run.card, run.run));
        }
    }
    assert!(treated.contains(&"wb-card06 2".to_string()), "{treated:?}");
    assert!(treated.contains(&"wb-card21 0".to_string()), "{treated:?}");
    assert!(!treated.contains(&"wb-card03 3".to_string()), "{treated:?}");
}

/// Text of all recordings of a run, or of one trial of it.
fn all_text(all: &Recorded, run: &RunId, trial: Option<u32>) -> String {
    let printed = |t: u32| trial.is_none_or(|only| only == t);
    let mut text = String::new();
    if all.align.contains_key(run) {
        text += &trials_text(all, run, printed);
    }
    if all.open_au.contains_key(run) {
        text += &open_text(all, run, "linear");
        text += &open_text(all, run, "random");
    }
    if all.find_fat.contains_key(run) {
        text += &fat_text(all, run, printed);
    }
    text
}

fn runs(all: &Recorded) -> BTreeSet<RunId> {
    let runs = all.align.keys().chain(all.open_au.keys());
    runs.chain(all.find_fat.keys()).cloned().collect()
}

/// The answers to a question: of a run, with the strength of the evidence and whether it rests on one trial.
type Answers = Vec<(RunId, Value, Strength)>;

fn stated(all: &Recorded, trials: &[Option<u32>]) -> BTreeMap<Question, Answers> {
    let mut answers: BTreeMap<Question, Answers> = BTreeMap::new();
    for run in runs(all) {
        let mut before = None;
        for trial in trials {
            let text = all_text(all, &run, *trial);
            // A run with a single trial has the text of that trial, and counts once.
            if text.is_empty() || before.as_ref() == Some(&text) {
                continue;
            }
            let Ok(report) = from_flashbench("a", &text) else {
                continue;
            };
            for finding in &report.findings {
                if let (Some(value), Some(strength)) = (finding.value, finding.strength) {
                    let of = answers.entry(finding.question).or_default();
                    of.push((run.clone(), value, strength));
                }
            }
            before = Some(text);
        }
    }
    answers
}

#[test]
fn confidences_of_recorded_texts_are_how_often_runs_of_a_card_agree() {
    let all = recorded();
    let whole = stated(&all, &[None]);
    let each = stated(&all, &[None, Some(1), Some(2), Some(3)]);
    let mut counted: BTreeMap<(&str, Reverse<Strength>), (Question, u32, u32)> = BTreeMap::new();
    for (question, answers) in &each {
        for (run, value, strength) in answers {
            let others = whole.get(question).into_iter().flatten();
            let others: Vec<Value> = others
                .filter(|o| o.0.card == run.card && o.0.run != run.run)
                .map(|o| o.1)
                .collect();
            if others.is_empty() {
                continue;
            }
            let right = others.iter().all(|other| other == value);
            if !right {
                println!("{question:?} {run:?}: {value:?} {strength:?}, others {others:?}");
            }
            let key = (question.id(), Reverse(*strength));
            let count = counted.entry(key).or_insert((*question, 0, 0));
            *count = (count.0, count.1 + u32::from(right), count.2 + 1);
        }
    }
    let lines: Vec<_> = counted
        .into_iter()
        .map(|((_, strength), (question, right, stated))| (question, strength.0, right, stated))
        .collect();
    assert_eq!(
        lines, COUNTED_RECORDED,
        "the confidences rest on other counts"
    );
    let report = |run: &RunId, trial| from_flashbench("a", &all_text(&all, run, trial));
    for run in runs(&all) {
        for trial in [None, Some(1)] {
            let Ok(report) = report(&run, trial) else {
                continue;
            };
            let sure = report.findings.iter().find(|f| f.confidence >= 0.99);
            assert!(sure.is_none(), "{run:?}: {sure:?}");
        }
    }
}

#[test]
fn runs_of_one_card_do_not_contradict_each_other() {
    let all = recorded();
    let mut twice = 0;
    for (id, answers) in stated(&all, &[None]) {
        let mut by_card: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (run, value, _) in &answers {
            by_card.entry(&run.card).or_default().push(*value);
        }
        for (card, values) in by_card {
            twice += u32::from(values.len() > 1);
            assert!(
                values.windows(2).all(|w| w[0] == w[1]),
                "{card} {id:?}: {values:?}"
            );
        }
    }
    assert!(twice >= 5, "{twice} answers were given twice");
}

#[test]
fn a_flat_table_shows_no_page() {
    // Reads across pages of this card take no longer than others: its rows lie between 1 and 16 µs in all trials.
    let all = recorded();
    let run = RunId {
        card: "wb-card27".to_string(),
        run: 0,
    };
    for trial in [None, Some(1), Some(2), Some(3)] {
        let report = from_flashbench("a", &all_text(&all, &run, trial)).unwrap();
        assert_eq!(
            report.finding(Question::Page).unwrap().value,
            None,
            "{trial:?}"
        );
        assert_eq!(report.bytes(Question::Unit), Some(4 << 20), "{trial:?}");
    }
}

/// A USB stick with an AU of 8 MiB: boundaries at powers of two and at three times these; extra times in µs.
const STICK: [(u64, f64); 21] = [
    (3 << 28, 207.0),
    (1 << 29, 211.0),
    (3 << 27, 213.0),
    (1 << 28, 218.0),
    (3 << 25, 216.0),
    (1 << 26, 220.0),
    (3 << 24, 229.0),
    (1 << 25, 202.0),
    (3 << 23, 210.0),
    (1 << 24, 212.0),
    (3 << 22, 24.6),
    (1 << 23, 221.0),
    (3 << 21, 37.1),
    (1 << 22, 42.8),
    (3 << 20, 22.4),
    (1 << 21, 20.5),
    (3 << 19, 31.0),
    (1 << 20, 33.3),
    (1 << 19, 36.0),
    (1 << 18, 31.7),
    (1 << 17, 19.2),
];

#[test]
fn a_boundary_that_is_no_multiple_of_the_unit_is_no_larger_one() {
    let unit = |text: &str| from_flashbench("a", text).unwrap().bytes(Question::Unit);
    let line = |(align, diff): &(u64, f64)| {
        let on = time(660.0 + diff);
        let (pre, post) = (time(655.0), time(665.0));
        let diff = time(*diff);
        format!("align {align}\tpre {pre}\ton {on}\tpost {post}\tdiff {diff}\n")
    };
    let printed: Vec<String> = STICK.iter().map(line).collect();
    assert_eq!(unit(&printed.concat()), Some(8 << 20));
    let upwards: Vec<String> = printed.iter().rev().cloned().collect();
    assert_eq!(unit(&upwards.concat()), Some(8 << 20));
    // A table with commas, of any columns in any order.
    let fields = |(align, diff): &(u64, f64)| format!("{diff},1,{align},655,,665\n");
    let table = "diff_us,trial,align_bytes,pre_us,on_us,post_us\n".to_string()
        + &STICK.iter().map(fields).collect::<String>();
    assert_eq!(unit(&table), Some(8 << 20));
    // Without the rows that distinguish 8 from 16 MiB.
    let gap: String = printed
        .iter()
        .filter(|row| !row.starts_with("align 8388608\t") && !row.starts_with("align 25165824\t"))
        .map(String::as_str)
        .collect();
    let report = from_flashbench("a", &gap).unwrap();
    let found = report.finding(Question::Unit).unwrap();
    assert_eq!(found.value, None, "{found:?}");
    assert!(found.evidence.contains("8 MiB or 16 MiB"), "{found:?}");
}

#[test]
fn one_trial_is_never_almost_certain() {
    let all = recorded();
    let one = |run: &RunId| from_flashbench("a", &all_text(&all, run, Some(1)));
    let reports: Vec<Report> = runs(&all).iter().filter_map(|run| one(run).ok()).collect();
    let of = |question| reports.iter().filter_map(move |r| r.finding(question));
    for question in [Question::Page, Question::Unit] {
        assert!(of(question).any(|f| f.value.is_some()), "{question:?}");
        assert!(of(question).all(|f| f.confidence <= 0.95), "{question:?}");
    }
}
