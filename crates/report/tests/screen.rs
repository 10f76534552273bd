//! The terminal summary of a whole review: width, content, ASCII.

use crate::fixture;
use nandscope_report::terminal::{Options, summary};

#[test]
fn fits_its_width_and_a_screen() {
    for width in [60, 80, 120] {
        let text = summary(
            &fixture::document(),
            &[],
            &Options {
                width,
                ascii: false,
            },
        );
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    let lines = summary(&fixture::document(), &[], &Options::default())
        .lines()
        .count();
    assert!(lines <= 44, "{lines} lines");
}

#[test]
fn says_what_matters() {
    let text = summary(&fixture::document(), &[], &Options::default());
    for part in [
        "sim:sm2708-250gb",
        "WARNING: The device throttled",
        "✗ not met",
        "+20.0 %",
        "seed 42",
        "█",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn ascii_is_ascii() {
    let text = summary(
        &fixture::document(),
        &[],
        &Options {
            width: 80,
            ascii: true,
        },
    );
    assert!(text.is_ascii());
    assert!(text.contains("NOT MET") && text.contains('#'));
}
