//! The same conclusions from a recorded output of flashbench: the text that `flashbench -a`,
//! `flashbench --open-au` and `flashbench --find-fat` print, copied from a terminal. Rates do not include the number
//! of units and their order; the command lines above them do, and must be kept.

use super::confidence::Strength;
use super::fat::{FACTOR, compare};
use super::finding::{Finding, Value};
use super::{Report, flash, open_answers};
use crate::flashbench::{
    AlignRow, Certainty, Order, RecordError, SHORTEST, boundaries, medians, open_units,
};
use nandscope_units::{SizeBase, parse_size};

/// Everything that a file holds.
#[derive(Default)]
struct Transcript {
    align: Vec<AlignRow>,
    /// Order, interleaved AUs, length, bytes per second.
    open: Vec<(Order, u32, u64, f64)>,
    /// Length, and a rate for each unit.
    fat: Vec<(u64, Vec<f64>)>,
}

/// Parameters of the last command line.
#[derive(Clone, Copy, Default)]
struct Said {
    units: Option<u32>,
    at_random: bool,
}

/// Reads what flashbench printed: `align 4194304  pre 1.1ms  on 1.4ms  post 1.1ms  diff 300µs` of `-a`,
/// `4MiB  8.79M/s` of `--open-au` below its command line, and `4MiB  22.7M/s  19.1M/s …` of `--find-fat`.
///
/// # Errors
/// [`RecordError`] if no line of flashbench is found, or with the line that cannot be read.
pub fn from_flashbench(name: &str, text: &str) -> Result<Report, RecordError> {
    let all = read(name, text)?;
    let mut report = Report::default();
    let found = boundaries(&[medians(&all.align)]);
    if all.align.is_empty() {
        for (id, question) in [("page", "Page"), ("unit", "Allocation unit")] {
            let why = "the file holds no output of `flashbench -a`";
            report
                .findings
                .push(Finding::cannot_tell(id, question, why));
        }
    } else {
        let mut add = |id, question, step| report.findings.push(flash::answer(id, question, step));
        add("page", "Page", found.page);
        add("unit", "Allocation unit", found.unit);
    }
    for order in [Order::Linear, Order::Random] {
        report.findings.push(open(&all, order));
        let curve = points(&all, order);
        report.curves.extend(open_answers::curve_of(order, &curve));
    }
    report.findings.push(fat(&all.fat));
    Ok(report)
}

/// Rates of the length that decides: the shortest of 64 KiB or more. It is the same for every card, so that no length is
/// chosen by what it shows; longer pieces hide the cost of a merge.
fn decisive(all: &Transcript, order: Order) -> Vec<(u32, u64, f64)> {
    let rates = all.open.iter().filter(|r| r.0 == order);
    let long = rates.clone().map(|r| r.2).filter(|l| *l >= SHORTEST);
    let length = long.min().or(rates.clone().map(|r| r.2).max());
    let rates = rates.filter(|r| Some(r.2) == length);
    rates.map(|r| (r.1, r.2, r.3)).collect()
}

/// The number of open units from the rates of one order.
fn open(all: &Transcript, order: Order) -> Finding {
    let (id, question) = open_answers::question(order);
    let rates = decisive(all, order);
    if rates.is_empty() {
        let why = format!(
            "the file holds no output of `flashbench --open-au` with units written in {} order",
            order.name()
        );
        return Finding::cannot_tell(id, question, why);
    }
    let found = open_units(&rates);
    let finding = open_answers::answer(id, question, found);
    // One measurement of each number: a step that is not clear may be chance.
    match found.map(|f| f.knee.certainty()) {
        Some(Certainty::Weak) => {
            let why = format!("{}: too small a step for one measurement", finding.evidence);
            Finding::cannot_tell(id, question, why)
        }
        _ => finding,
    }
}

/// Rates at the length that decides.
fn points(all: &Transcript, order: Order) -> Vec<(u32, f64)> {
    let rates = decisive(all, order).into_iter();
    rates.map(|r| (r.0, r.2)).collect()
}

/// A unit is treated otherwise if it differs in so many of the rows.
const MOST: f64 = 0.75;
/// Fewer units give no scatter.
const LEAST: usize = 4;

fn fat(rows: &[(u64, Vec<f64>)]) -> Finding {
    let (id, question) = ("fat", "First units treated otherwise");
    let cannot = |why: &str| Finding::cannot_tell(id, question, why);
    if rows.is_empty() {
        return cannot("the file holds no output of `flashbench --find-fat`");
    }
    let units = rows.iter().map(|r| r.1.len()).min().unwrap_or(0);
    if units < LEAST {
        return cannot("four units or more are needed for a comparison: `--fat-nr`");
    }
    // Short pieces are gathered by some cards, wherever they go.
    let long = rows.iter().filter(|r| r.0 >= SHORTEST);
    let mut rates: Vec<Vec<f64>> = long.map(|r| r.1.clone()).collect();
    if rates.is_empty() {
        rates = rows.iter().map(|r| r.1.clone()).collect();
    }
    let found = compare(&rates, MOST);
    let said: Vec<String> = found
        .different
        .iter()
        .map(|(unit, ratio)| format!("unit {unit} at {ratio:.2} of the rate of the others"))
        .collect();
    let counted = rates.len();
    if !said.is_empty() {
        let evidence = format!("{}, in {counted} rows", said.join("; "));
        let answer = "yes".to_string();
        return Finding::new(
            id,
            question,
            Value::Flag(true),
            answer,
            Strength::Fair,
            evidence,
        );
    }
    if let Some(unit) = found.doubtful.first() {
        return cannot(&format!(
            "unit {unit} differs from the others by more than their scatter in some of {counted} rows only"
        ));
    }
    if found.resolution >= FACTOR * FACTOR || counted < 2 {
        return cannot("the rates of the units scatter too much, or there are too few rows");
    }
    Finding::new(
        id,
        question,
        Value::Flag(false),
        format!("no, of the first {units}"),
        Strength::Weak,
        format!("{units} units are written alike in {counted} rows"),
    )
}

fn read(name: &str, text: &str) -> Result<Transcript, RecordError> {
    let mut all = Transcript::default();
    let mut said = Said::default();
    let mut carried = String::new();
    for (i, line) in text.lines().enumerate() {
        // A command may go on in the next line.
        if let Some(head) = line.trim_end().strip_suffix('\\') {
            carried.push_str(head);
            carried.push(' ');
            continue;
        }
        let line = std::mem::take(&mut carried) + line;
        let fault = |why: &str| RecordError(format!("{name}, line {}: {why}", i + 1));
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"align") {
            let row = row(&words).ok_or_else(|| {
                fault("no line of `flashbench -a`, which has `align N pre T on T post T diff T`")
            })?;
            all.align.push(row);
        } else if words.iter().any(|w| w.ends_with("flashbench")) {
            said = command(&words);
        } else if let Some((length, rates)) = rates(&words) {
            match (&rates[..], said.units) {
                (&[rate], Some(units)) => {
                    let order = if said.at_random {
                        Order::Random
                    } else {
                        Order::Linear
                    };
                    all.open.push((order, units, length, rate));
                }
                (&[_], None) => {
                    return Err(fault(
                        "a rate of `flashbench --open-au`, and no command line with `--open-au-nr=N` above it says of how many units",
                    ));
                }
                _ => all.fat.push((length, rates)),
            }
        }
    }
    if all.align.is_empty() && all.open.is_empty() && all.fat.is_empty() {
        return Err(RecordError(format!(
            "{name} holds no output of flashbench: lines of `-a` begin with `align`, those of `--open-au` and `--find-fat` with a size and rates"
        )));
    }
    Ok(all)
}

/// Parses a command line of flashbench.
fn command(words: &[&str]) -> Said {
    let open =
        |w: &&&str| w.starts_with("--open-au") && !w.starts_with("--open-au-nr") || **w == "-O";
    let mut said = Said {
        units: None,
        at_random: words.iter().any(|w| *w == "--random" || *w == "-R"),
    };
    if words.iter().any(|w| open(&w)) {
        // Without a number flashbench takes two.
        said.units = Some(2);
    }
    for (i, word) in words.iter().enumerate() {
        if let Some(rest) = word.strip_prefix("--open-au-nr") {
            let number = rest.strip_prefix('=').or(words.get(i + 1).copied());
            said.units = number.and_then(|n| n.parse().ok()).filter(|n| *n > 0);
        }
    }
    said
}

/// A line of a size and rates; `None` where it is something else.
fn rates(words: &[&str]) -> Option<(u64, Vec<f64>)> {
    let (first, rest) = words.split_first()?;
    if rest.is_empty() || !first.ends_with('B') {
        return None;
    }
    let length = parse_size(first, SizeBase::Binary).ok()?;
    let rates: Option<Vec<f64>> = rest.iter().map(|w| rate(w)).collect();
    Some((length.0, rates?))
}

/// A rate of flashbench: `8.79M/s`, `912K/s`, `1.2G/s`, `500B/s`.
fn rate(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s")?;
    let at = text.find(|c: char| c.is_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    let factor = match &text[at..] {
        "B" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

fn row(words: &[&str]) -> Option<AlignRow> {
    let after = |name: &str| {
        let at = words.iter().position(|w| *w == name)?;
        Some(words.get(at + 1).and_then(|w| micros(w)))
    };
    // A time that the edge of a screen cut off is missing with its name; the difference is the last column.
    let time = |name: &str| after(name).unwrap_or(Some(f64::NAN));
    Some(AlignRow {
        align: words.get(1)?.parse().ok().filter(|a| *a > 0)?,
        pre_us: time("pre")?,
        on_us: time("on")?,
        post_us: time("post")?,
        diff_us: after("diff")??,
        off_boundary: 0,
    })
}

/// A time of flashbench: `-12ns`, `858µs`, `1.27ms`, `2s`.
fn micros(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    let factor = match &text[at..] {
        "ns" => 1e-3,
        "us" | "µs" | "\u{3bc}s" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    number.is_finite().then_some(number * factor)
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
        assert_eq!(report.bytes("unit"), Some(4 << 20));
        assert_eq!(report.bytes("page"), Some(16 << 10));
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
    fn rates_count_with_the_command_above_them() {
        let report = from_flashbench("a", OPEN).unwrap();
        assert_eq!(report.count("open-linear"), Some(2));
        assert_eq!(report.count("open-random"), None);
        assert_eq!(report.bytes("unit"), None);
        let random = OPEN.replace("-O ", "-O --random ");
        let report = from_flashbench("a", &random).unwrap();
        assert_eq!(report.count("open-random"), Some(2));
        // Without the command nobody knows of how many units a rate is.
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
        let fat = report.finding("fat").unwrap();
        assert_eq!(fat.value, Some(Value::Flag(true)), "{fat:?}");
        assert!(fat.evidence.contains("unit 0"), "{fat:?}");
        let alike = text.replace("2.15M/s", "5.15M/s").replace("1.1M/s", "3M/s");
        let report = from_flashbench("a", &alike).unwrap();
        let fat = report.finding("fat").unwrap();
        assert_eq!(fat.value, Some(Value::Flag(false)), "{fat:?}");
    }
}
