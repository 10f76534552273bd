//! Conclusions from a recorded output of `flashbench -a`, `flashbench --open-au` and `flashbench --find-fat`, copied from a
//! terminal. The rates do not include the number of AUs and their order: the command lines above them must be kept.
//!
//! Nothing can be measured again. Answers need effects above the scatter of the file's own trials and rows; the confidences are
//! those of recorded runs of real cards: how often several runs of a card agree.

pub mod transcript;

use super::confidence::Strength;
use super::fat::{FACTOR, compare};
use super::finding::{Finding, Value, counted, size};
use super::flash::LARGER;
use super::{Basis, Report, contradictions, open_answers};
use crate::flashbench::{
    Certainty, Order, RecordError, SHORTEST, Split, median, open_units, splits, trials,
};
use crate::probe::question::Question;
use std::collections::BTreeMap;
use transcript::{OpenRate, Transcript, read};

/// Smallest and largest page size, and largest AU size, bytes.
const PAGES: (u64, u64) = (1 << 10, 128 << 10);
const UNIT_MAX: u64 = 128 << 20;
/// Least rise at the AU, as a share of the largest rise.
const FULL: f64 = 0.7;
/// Number of agreeing trials that make the strongest evidence.
const TRIALS: usize = 3;

/// Reads the output of flashbench and draws conclusions.
///
/// # Errors
/// [`RecordError`] if no line of flashbench is found, or with the line that cannot be read.
pub fn from_flashbench(name: &str, text: &str) -> Result<Report, RecordError> {
    let all = read(name, text)?;
    let mut report = Report {
        basis: Basis::Recorded,
        ..Report::default()
    };
    report.findings.extend(boundaries(&all));
    for order in [Order::Linear, Order::Random] {
        report.findings.push(open(&all, order));
        let curve = points(&all, order);
        report.curves.extend(open_answers::curve_of(order, &curve));
    }
    report.findings.push(fat(&all.fat));
    for finding in &mut report.findings {
        finding.count_on(Basis::Recorded);
    }
    contradictions::withdraw(&mut report);
    Ok(report)
}

/// Page and allocation unit.
fn boundaries(all: &Transcript) -> [Finding; 2] {
    let questions = [Question::Page, Question::Unit];
    if all.align.is_empty() {
        let why = "the file holds no output of `flashbench -a`";
        return questions.map(|question| question.unknown(why));
    }
    let pages = splits(&all.align, PAGES);
    let most = pages.iter().map(Split::rise_us).fold(0.0, f64::max);
    // The largest visible page, if it consists of several program units: runs of one card disagree on smaller ones.
    let page = pages.into_iter().rfind(|s| s.rise_us() >= LARGER * most);
    let from = page.as_ref().map_or(PAGES.1, |p| PAGES.1.max(p.at)) + 1;
    let units = splits(&all.align, (from, UNIT_MAX));
    let most = units.iter().map(Split::rise_us).fold(0.0, f64::max);
    // Multiples of an AU look like AUs; places of a row that coincide with a boundary by chance show a part of the step.
    let unit = units.into_iter().find(|s| s.rise_us() >= FULL * most);
    let [of_page, of_unit] = questions;
    let powers = all.align.iter().all(|r| r.align.is_power_of_two());
    let mut unit = step(of_unit, unit, all);
    if powers && unit.value.is_some() {
        unit.evidence +=
            "; its boundaries are powers of two, at which a unit of three times this looks alike";
    }
    [step(of_page, page, all), unit]
}

/// The finding for a page or AU from its step.
fn step(question: Question, found: Option<Split>, all: &Transcript) -> Finding {
    let trials = trials(&all.align);
    let counted = counted(trials as u64, "trial", "trials");
    let Some(split) = found else {
        let why = format!("no step beyond the scatter of the rows, in {counted}");
        return question.unknown(why);
    };
    let evidence = format!(
        "the extra time of a read across is {:.1} µs at multiples of {} and {:.1} µs at other boundaries near it; rows and trials scatter by {:.1} µs, in {counted}",
        split.to_us,
        size(split.at),
        split.from_us,
        split.scatter_us,
    );
    if !split.alternatives.is_empty() {
        let others: Vec<String> = split.alternatives.iter().map(|a| size(*a)).collect();
        let why = format!(
            "{evidence}; {} or {}: the file has no boundary that distinguishes them",
            size(split.at),
            others.join(" or ")
        );
        return question.unknown(why);
    }
    let strength = match (trials, split.certainty()) {
        (TRIALS.., Certainty::Clear) => Strength::Strong,
        (0 | 1, _) => Strength::Weak,
        _ => Strength::Fair,
    };
    let value = Value::Bytes(split.at);
    question.answer(value, size(split.at), strength, evidence)
}

/// Rates of one piece length: the shortest of 64 KiB or more. The rule is the same for every card, so that no length is chosen by
/// its result; longer pieces hide the cost of a merge.
fn decisive(all: &Transcript, order: Order) -> Vec<OpenRate> {
    let rates = all.open.iter().filter(|r| r.order == order);
    let long = rates.clone().map(|r| r.length).filter(|l| *l >= SHORTEST);
    let length = long.min().or(rates.clone().map(|r| r.length).max());
    rates
        .filter(|r| Some(r.length) == length)
        .copied()
        .collect()
}

/// Median, lowest and highest rate of each number of AUs, bytes per second.
fn by_units(rates: &[OpenRate]) -> BTreeMap<u32, (f64, f64, f64)> {
    let mut all: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for rate in rates {
        all.entry(rate.units).or_default().push(rate.bytes_per_s);
    }
    let of = |rates: Vec<f64>| {
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        (median(&rates), least, most)
    };
    all.into_iter()
        .map(|(units, rates)| (units, of(rates)))
        .collect()
}

/// The finding for open AUs from the rates of one order.
fn open(all: &Transcript, order: Order) -> Finding {
    let question = open_answers::question(order);
    let rates = decisive(all, order);
    let Some(length) = rates.first().map(|r| r.length) else {
        let why = format!(
            "the file holds no output of `flashbench --open-au` with units written in {} order",
            order.name()
        );
        return question.unknown(why);
    };
    let of_each = by_units(&rates);
    let middle: Vec<_> = of_each.iter().map(|(n, r)| (*n, length, r.0)).collect();
    let found = open_units(&middle);
    let finding = open_answers::answer(question, found);
    let Some(Value::Count(units)) = finding.value else {
        return finding;
    };
    let cannot = |why: &str| question.unknown(format!("{}: {why}", finding.evidence));
    // With a single measurement of each number, a weak step may be chance.
    if found.map(|f| f.knee.certainty()) == Some(Certainty::Weak) {
        return cannot("too small a step for one measurement");
    }
    // The next measured number may be larger by more than one.
    let next = of_each.range(units + 1..).next();
    let Some((next, after)) = next else {
        return finding;
    };
    let lowest = of_each.get(&units).map_or(0.0, |r| r.1);
    match () {
        () if after.2 >= lowest => cannot("the rates of several trials overlap"),
        () if *next != units + 1 => question.answer(
            Value::Range(units, next - 1),
            format!("{units} to {}", next - 1),
            Strength::Fair,
            format!(
                "{}; the next number that was measured is {next}",
                finding.evidence
            ),
        ),
        () if rates.len() >= TRIALS * of_each.len() => finding,
        () => finding.resting_on(Strength::Fair),
    }
}

/// Median rates by number of AUs, in bytes per second, for the piece length of `decisive`.
fn points(all: &Transcript, order: Order) -> Vec<(u32, f64)> {
    let rates = by_units(&decisive(all, order)).into_iter();
    rates.map(|(units, rates)| (units, rates.0)).collect()
}

/// Least share of the rows in which an AU must differ to count as treated specially.
const MOST: f64 = 0.75;
/// Smallest number of AUs for an estimate of the scatter.
const LEAST: usize = 4;

fn fat(trials: &[Vec<(u64, Vec<f64>)>]) -> Finding {
    let question = Question::Fat;
    let cannot = |why: &str| question.unknown(why);
    let rows = || trials.iter().flatten();
    let Some(units) = rows().map(|r| r.1.len()).min() else {
        return cannot("the file holds no output of `flashbench --find-fat`");
    };
    if units < LEAST {
        return cannot("four units or more are needed for a comparison: `--fat-nr`");
    }
    // Some cards buffer short pieces wherever they are written.
    let long = rows().any(|r| r.0 >= SHORTEST);
    let of_trial = |trial: &Vec<(u64, Vec<f64>)>| {
        let rows = trial.iter().filter(|r| !long || r.0 >= SHORTEST);
        rows.map(|r| r.1.clone()).collect::<Vec<Vec<f64>>>()
    };
    let rates: Vec<Vec<Vec<f64>>> = trials.iter().map(of_trial).collect();
    let trials_counted = counted(trials.len() as u64, "trial", "trials");
    let rows = rates.iter().map(Vec::len).sum::<usize>();
    let counted = counted(rows as u64, "row", "rows");
    let all = compare(&rates.concat(), MOST);
    // A difference in only one of several trials is scatter.
    let in_each = |unit: usize| {
        let of_trial =
            |rates: &Vec<Vec<f64>>| compare(rates, MOST).different.iter().any(|d| d.0 == unit);
        rates.iter().filter(|rates| !rates.is_empty()).all(of_trial)
    };
    let (each, some): (Vec<_>, Vec<_>) = all.different.iter().partition(|(unit, _)| in_each(*unit));
    let strength = match trials.len() {
        TRIALS.. => Strength::Strong,
        1 => Strength::Weak,
        _ => Strength::Fair,
    };
    if !each.is_empty() {
        let told: Vec<String> = each
            .iter()
            .map(|(unit, ratio)| format!("unit {unit} at {ratio:.2} of the rate of the others"))
            .collect();
        let evidence = format!("{}, in {counted} of {}", told.join("; "), trials_counted);
        let value = Value::Flag(true);
        return question.answer(value, "yes".to_string(), strength, evidence);
    }
    let doubtful = some.first().map(|d| d.0).or(all.doubtful.first().copied());
    if let Some(unit) = doubtful {
        return cannot(&format!(
            "unit {unit} differs from the others by more than their scatter in some of {counted} only"
        ));
    }
    if all.resolution >= FACTOR * FACTOR || rows < 2 {
        return cannot("the rates of the units scatter too much, or there are too few rows");
    }
    let answer = format!("no, of the first {units}");
    let evidence = format!("{units} units are written alike in {counted}");
    question.answer(Value::Flag(false), answer, strength, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_flashbench_prints() {
        let text = "\
align 16777216\tpre 1.01ms\ton 1.87ms\tpost 1.01ms\tdiff 858µs
align 8388608\tpre 1.01ms\ton 1.87ms\tpost 1.01ms\tdiff 858µs
align 4194304\tpre 1.01ms\ton 1.87ms\tpost 1.01ms\tdiff 858µs
align 2097152\tpre 1.01ms\ton 1.38ms\tpost 1.01ms\tdiff 378µs
align 1048576\tpre 1.01ms\ton 1.38ms\tpost 1.01ms\tdiff 378us
align 524288\tpre 1.01ms\ton 1.38ms\tpost 1.01ms\tdiff 378µs
align 16384\tpre 1.01ms\ton 1.38ms\tpost 1.01ms\tdiff 378µs
align 8192\tpre 1.01ms\ton 1.01ms\tpost 1.01ms\tdiff -120ns
";
        let report = from_flashbench("a", text).unwrap();
        assert_eq!(report.bytes(Question::Unit), Some(4 << 20));
        assert_eq!(report.bytes(Question::Page), Some(16 << 10));
        assert!(from_flashbench("a", "nothing").is_err());
        let error = from_flashbench("a", "align 12 pre x").unwrap_err();
        assert!(error.to_string().contains("a, line 1"), "{error}");
    }

    const OPEN: &str = "\
$ sudo ./flashbench -O --erasesize=$[4 * 1024 * 1024] \\
\t--blocksize=$[256 * 1024] /dev/mmcblk0  --open-au-nr=2
4MiB    8.79M/s
512KiB  6.39M/s
256KiB  6.27M/s
$ sudo ./flashbench -O --erasesize=$[4 * 1024 * 1024] \\
\t--blocksize=$[256 * 1024] /dev/mmcblk0  --open-au-nr=3
4MiB    7.75M/s
512KiB  1.76M/s
256KiB  912K/s
";

    #[test]
    fn rates_may_have_any_order_and_gaps() {
        // More AUs first, small blocks first, one size missing, another odd.
        let other = "\
$ ./flashbench -O --erasesize=$[4 * 1024 * 1024] --blocksize=$[256 * 1024] /dev/sdb --open-au-nr=3
256KiB  912K/s
4MiB    7.75M/s
$ ./flashbench -O --erasesize=$[4 * 1024 * 1024] --blocksize=$[256 * 1024] /dev/sdb --open-au-nr=2
256KiB  6.27M/s
768KiB  6.4M/s
4MiB    8.79M/s
";
        let report = from_flashbench("a", other).unwrap();
        assert_eq!(report.count(Question::OpenLinear), Some(2));
    }

    #[test]
    fn rates_count_with_the_command_above_them() {
        let report = from_flashbench("a", OPEN).unwrap();
        assert_eq!(report.count(Question::OpenLinear), Some(2));
        assert_eq!(report.count(Question::OpenRandom), None);
        assert_eq!(report.bytes(Question::Unit), None);
        let random = OPEN.replace("-O ", "-O --random ");
        let report = from_flashbench("a", &random).unwrap();
        assert_eq!(report.count(Question::OpenRandom), Some(2));
        // Without a command line, the number of AUs of a rate is unknown.
        let error = from_flashbench("a", "4MiB 8.79M/s\n").unwrap_err();
        assert!(error.to_string().contains("a, line 1"), "{error}");
        assert!(error.to_string().contains("--open-au-nr"), "{error}");
    }

    #[test]
    fn first_units_are_compared_over_all_lengths() {
        let text = "\
# ./flashbench --find-fat --fat-nr=6 /dev/sdb
4MiB    2.15M/s 5.35M/s 5.3M/s  5.4M/s  5.3M/s  5.2M/s
64KiB   1.1M/s  3.1M/s  3.1M/s  3M/s    3.2M/s  3.1M/s
";
        let report = from_flashbench("a", text).unwrap();
        let fat = report.finding(Question::Fat).unwrap();
        assert_eq!(fat.value, Some(Value::Flag(true)), "{fat:?}");
        assert!(fat.evidence.contains("unit 0"), "{fat:?}");
        let alike = text.replace("2.15M/s", "5.15M/s").replace("1.1M/s", "3M/s");
        let report = from_flashbench("a", &alike).unwrap();
        let fat = report.finding(Question::Fat).unwrap();
        assert_eq!(fat.value, Some(Value::Flag(false)), "{fat:?}");
    }
}
