//! The blind test on some drawn devices and on the library. `BLIND_VERBOSE` prints every wrong conclusion. The series of
//! docs/inference.md are in `blind_series`.

use nandscope_infer::probe::{Question, Report, Value};
use nandscope_suite::blind::{
    Drawn, Half, Outcome, Table, Tried, draw, library_pairs, try_drawn, try_out,
};
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds with which every library device is probed on every host.
const LIBRARY_SEEDS: RangeInclusive<u64> = 1..=5;
/// Threads that probe; the order of the devices does not matter.
const THREADS: usize = 2;

fn tell(number: u64, tried: &Tried) {
    if std::env::var_os("BLIND_VERBOSE").is_none() {
        return;
    }
    let (drawn, report) = (&tried.drawn, &tried.report);
    let mut text = format!(
        "{number} {} on {}, begin {}: {:.2} GB, {:.0} s {:?}; {:?}\n",
        drawn.profile.device.name,
        drawn.host.host.name,
        drawn.begin,
        report.written as f64 / 1e9,
        report.elapsed_s,
        report.cut_short,
        drawn.disturbance
    );
    for j in tried.judged.iter().filter(|j| j.outcome != Outcome::Right) {
        let finding = report.finding(j.question);
        let seen = if j.visible { ", visible" } else { "" };
        text += &format!("  {:?}{seen} {}: {finding:?}\n", j.outcome, j.question.id());
    }
    if tried.judged.iter().any(|j| j.outcome != Outcome::Right) {
        text += &format!("  {:?} {:?}\n", drawn.truth, drawn.profile.card);
    }
    println!("{text}");
}

/// Checks the sentences of a probe: a time that rises is larger afterwards, no plural follows 1, and no median is of 0 values.
fn sentences_hold(report: &Report) {
    for finding in &report.findings {
        let text = format!("{}; {}", finding.answer, finding.evidence);
        let words: Vec<&str> = text.split_whitespace().collect();
        for w in words.windows(5) {
            if let ["rises", "from", from, "to", to] = w {
                let number = |text: &str| text.parse::<f64>().unwrap();
                assert!(number(from) < number(to), "{finding:?}");
            }
        }
        let many = [
            "units", "AUs", "rows", "trials", "times", "pieces", "writes", "reads", "pairs",
        ];
        let is_many = |word: &str| many.contains(&word.trim_end_matches([',', ':', ';', '.']));
        let plural_of_one = words.windows(2).any(|w| w[0] == "1" && is_many(w[1]));
        assert!(!plural_of_one, "{finding:?}");
        assert!(!text.contains("medians of 0"), "{finding:?}");
    }
    answers_agree(report);
}

/// Checks that no two answers contradict each other.
fn answers_agree(report: &Report) {
    let bytes = |question| report.bytes(question);
    let sizes = [Question::Page, Question::LargePage, Question::Unit].map(bytes);
    let sizes: Vec<u64> = sizes.into_iter().flatten().collect();
    assert!(sizes.is_sorted(), "{:?}", report.findings);
    if let (Some(page), Some(large)) = (bytes(Question::Page), bytes(Question::LargePage)) {
        assert_eq!(large % page, 0, "{:?}", report.findings);
    }
    if let (Some(unit), Some(offset)) = (bytes(Question::Unit), bytes(Question::Offset)) {
        assert!(offset < unit, "{:?}", report.findings);
    }
    let value = |question| report.finding(question).and_then(|f| f.value);
    if value(Question::Discard) == Some(Value::Flag(false)) {
        for question in [Question::DiscardReads, Question::DiscardSpeed] {
            assert_eq!(value(question), None, "{:?}", report.findings);
        }
    }
    if let Some(Value::Factor(factor)) = value(Question::Worst) {
        let count = report.count(Question::OpenLinear).unwrap_or(0);
        assert!(factor >= 1.5 || count == 0, "{:?}", report.findings);
    }
}

#[test]
fn every_sentence_of_a_probe_holds() {
    for number in 0..16 {
        let tried = try_out(number, 201, &|| false).unwrap().unwrap();
        sentences_hold(&tried.report);
    }
}

/// Tries devices on several threads.
pub fn table(range: std::ops::Range<u64>, one: impl Fn(u64) -> Option<Tried> + Sync) -> Table {
    let (next, all) = (AtomicU64::new(range.start), Mutex::new(Table::default()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= range.end {
                return;
            }
            let Some(tried) = one(number) else { continue };
            tell(number, &tried);
            sentences_hold(&tried.report);
            let mut all = all.lock().unwrap();
            all.add(Half::of(number), &tried);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    all.into_inner().unwrap()
}

#[test]
fn drawn_devices_are_the_same_each_time_and_of_every_kind() {
    let all: Vec<_> = (0..60).map(|n| draw(n, 1).unwrap()).collect();
    for (n, drawn) in (0..60).zip(&all) {
        let again = draw(n, 1).unwrap();
        assert_eq!((again.begin, &again.truth), (drawn.begin, &drawn.truth));
        assert_eq!(again.disturbance, drawn.disturbance);
    }
    let cards: Vec<_> = all.iter().filter(|d| d.truth.card).collect();
    assert!(cards.len() > 40 && cards.len() < 60);
    assert!(
        cards
            .iter()
            .any(|d| d.truth.unit.is_some_and(|u| u > 16 << 20))
    );
    assert!(
        cards
            .iter()
            .any(|d| d.truth.unit.is_some_and(|u| !u.is_power_of_two()))
    );
    assert!(cards.iter().any(|d| d.truth.pages[0] > 128 << 10));
    assert!(cards.iter().any(|d| d.truth.open.is_some_and(|o| o > 16)));
    let mut hosts: Vec<&str> = all.iter().map(|d| d.host.host.name.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    assert!(hosts.len() >= 8, "{hosts:?}");
}

#[test]
fn a_unit_that_reads_do_not_show_is_told_by_writes() {
    // Reads across an AU of this card take no longer than others.
    let card = |d: &Drawn| d.profile.device.name == "recorded-samsung-sd-16gb";
    let on = |d: &Drawn| d.host.host.name == "direct";
    let mut pairs = library_pairs().unwrap().into_iter();
    let drawn = pairs.find(|d| card(d) && on(d)).unwrap();
    let tried = try_drawn(drawn, 1, &|| false).unwrap().unwrap();
    let judged = tried
        .judged
        .iter()
        .find(|j| j.question == Question::Unit)
        .unwrap();
    assert!(judged.visible);
    let finding = tried.report.finding(Question::Unit).unwrap();
    assert_eq!(judged.outcome, Outcome::Right, "{finding:?}");
    assert!(
        finding.evidence.contains("of writes in order"),
        "{finding:?}"
    );
}

#[test]
fn a_unit_is_placed_to_the_sector_where_no_page_shows() {
    // Probed from a sector after a track of 63 on; reads show neither pages nor AUs.
    let tried = try_out(36, 201, &|| false).unwrap().unwrap();
    assert_eq!(tried.drawn.begin, 63 * 512);
    assert_eq!(tried.report.finding(Question::Page).unwrap().value, None);
    let judged = tried
        .judged
        .iter()
        .find(|j| j.question == Question::Offset)
        .unwrap();
    let finding = tried.report.finding(Question::Offset).unwrap();
    assert_eq!(judged.outcome, Outcome::Right, "{finding:?}");
}

/// Smallest percentage of right answers among the visible ones.
pub const RIGHT: u32 = 85;
/// Longest time of a probe: its limit and two percent, seconds.
pub const TIME_MAX_S: f64 = 1.02 * 1200.0;
/// Most bytes that a probe writes.
pub const WRITTEN_MAX: u64 = 4_000_000_000;

/// Number of devices of the quick test, and their seed, which is not among the documentation's.
const QUICK: (u64, u64) = (160, 21);
#[test]
fn some_drawn_devices_are_answered_within_the_targets() {
    let (count, seed) = QUICK;
    let table = table(0..count, |number| try_out(number, seed, &|| false).unwrap());
    println!("{}", table.markdown());
    assert!(table.longest_s <= TIME_MAX_S, "{}", table.longest_s);
    assert!(table.most_written <= WRITTEN_MAX);
    for (id, row) in &table.rows {
        // One percent, as for all drawn devices, and one device by chance.
        assert!(100 * row.wrong <= row.asked + 100, "{id}: {row:?}");
        // "Cannot tell" must not be too frequent. With so few devices the share may be lower by chance.
        let chance = row.visible.chance(f64::from(RIGHT) / 100.0);
        assert!(
            *id == Question::LargePage.id() || chance >= 0.005,
            "{id}: {row:?}"
        );
        for (percent, class) in &row.classes {
            let chance = class.chance(f64::from(*percent) / 100.0);
            assert!(chance >= 0.005, "{id}, stated at {percent} %: {class:?}");
        }
    }
}

#[test]
#[ignore = "slow: probes every device of the library on every host that it fits"]
fn slow_library_devices_are_right_at_95_percent_on_every_host() {
    for seed in LIBRARY_SEEDS {
        let pairs = library_pairs().unwrap();
        let count = pairs.len() as u64;
        assert!(count > 150, "{count}");
        let pairs: Vec<_> = pairs.into_iter().map(|p| Mutex::new(Some(p))).collect();
        let table = table(0..count, |number| {
            let drawn = pairs[number as usize].lock().unwrap().take()?;
            try_drawn(drawn, seed, &|| false).unwrap()
        });
        println!("{}", table.markdown());
        for (id, row) in &table.rows {
            let sure = row.classes.iter().filter(|c| *c.0 >= 95);
            let wrong: u32 = sure.map(|(_, c)| c.stated - c.right).sum();
            assert_eq!(wrong, 0, "seed {seed}, {id}: {row:?}");
        }
    }
}
