//! The same conclusions from a recorded output of flashbench: the text that `flashbench -a`,
//! `flashbench --open-au` and `flashbench --find-fat` print.

use super::finding::Finding;
use super::{Report, flash};
use crate::flashbench::{AlignRow, RecordError, boundaries};

/// Reads the lines `align 4194304  pre 1.1ms  on 1.4ms  post 1.1ms  diff 300µs` of `flashbench -a`.
///
/// # Errors
/// Where no such line is found, or one cannot be read: which.
pub fn from_flashbench(name: &str, text: &str) -> Result<Report, RecordError> {
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() != Some(&"align") {
            continue;
        }
        let row = row(&words).ok_or_else(|| {
            RecordError(format!(
                "{name}, line {}: no line of `flashbench -a`, which has `align N pre T on T post T diff T`",
                i + 1
            ))
        })?;
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(RecordError(format!(
            "{name} holds no line of `flashbench -a`: they begin with `align`"
        )));
    }
    let found = boundaries(&[rows]);
    let mut report = Report::default();
    report
        .findings
        .push(flash::answer("page", "Page", found.page));
    report
        .findings
        .push(flash::answer("unit", "Allocation unit", found.unit));
    for (id, question) in [
        ("open-linear", "Open allocation units, written in order"),
        ("fat", "First units treated otherwise"),
    ] {
        let why = "the file holds reads only";
        report
            .findings
            .push(Finding::cannot_tell(id, question, why));
    }
    Ok(report)
}

fn row(words: &[&str]) -> Option<AlignRow> {
    let behind = |name: &str| {
        let at = words.iter().position(|w| *w == name)?;
        micros(words.get(at + 1)?)
    };
    Some(AlignRow {
        align: words.get(1)?.parse().ok().filter(|a| *a > 0)?,
        pre_us: behind("pre")?,
        on_us: behind("on")?,
        post_us: behind("post")?,
        diff_us: behind("diff")?,
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
}
