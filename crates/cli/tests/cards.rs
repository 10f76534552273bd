//! `nandscope validate --cards`: tables and profiles of users, their errors, and this project's own page.

use crate::support::Folder;
use std::path::{Path, PathBuf};

fn facts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../facts")
}

/// The rows of one run of a recorded card, with the heading.
fn rows(table: &str) -> String {
    let text = std::fs::read_to_string(facts().join("flashbench").join(table)).unwrap();
    let chosen = text
        .lines()
        .enumerate()
        .filter(|(i, line)| *i == 0 || line.contains(",wb-card06,2,"));
    chosen.map(|(_, line)| format!("{line}\n")).collect()
}

/// A folder with a card's own profile, its table and its recorded open units and FAT search.
fn own_card(name: &str) -> Folder {
    let folder = Folder::new(name);
    let profile = nandscope_device::profile::library::device("recorded-phison-sd-4gb").unwrap();
    std::fs::create_dir_all(folder.0.join("mine/flashbench")).unwrap();
    folder.file("mine/own.toml", profile.text);
    folder.file("mine/flashbench/openau.csv", &rows("openau.csv"));
    folder.file("mine/flashbench/findfat.csv", &rows("findfat.csv"));
    folder.file("mine/cards.toml", TABLE);
    folder
}

const TABLE: &str = "\
[[card]]
profile = \"own.toml\"
recorded = \"wb-card06\"
host = \"recorded-usb-reader\"
run = [2]
request = \"120k\"
";

#[test]
fn a_profile_of_the_user_is_compared_with_the_users_recording() {
    let folder = own_card("cards-own");
    let ran = folder.run(&["validate", "--cards", "mine/cards.toml"]);
    let page = &ran.out;
    assert!(page.contains("| wb-card06 | `own.toml` |"), "{ran:?}");
    assert!(
        page.contains("| error, open units | error, FAT search |"),
        "{page}"
    );
    let row = page.lines().find(|l| l.contains("`own.toml`")).unwrap();
    assert_eq!(row.matches(" % ").count(), 2, "{row}");
    // The exit code agrees with the last column of the page.
    let met = row.ends_with("| yes |");
    assert_eq!(ran.code, Some(if met { 0 } else { 1 }), "{ran:?}");
    folder
        .run(&["validate", "--cards", "mine/cards.toml", "other.toml"])
        .fails(2, &["no card of `other.toml`"]);
}

#[test]
fn what_is_wrong_with_a_table_of_cards_is_named() {
    let folder = own_card("cards-wrong");
    let fails = |parts: &[&str]| {
        let ran = folder.run(&["validate", "--cards", "mine/cards.toml"]);
        ran.fails(
            ran.code.filter(|c| [1, 2, 3].contains(c)).unwrap_or(2),
            parts,
        );
    };
    for (old, new, part) in [
        ("run = ", "rum = ", "rum"),
        ("\"wb-card06\"", "\"nobody\"", "nothing was recorded"),
        ("\"120k\"", "\"1x\"", "request = \"1x\""),
        ("\"own.toml\"", "\"absent.toml\"", "absent.toml"),
        ("\"own.toml\"", "\"kingstom-8gb\"", "kingston-8gb"),
        (
            "\"recorded-usb-reader\"",
            "\"nowhere\"",
            "unknown host `nowhere`",
        ),
    ] {
        folder.file("mine/cards.toml", &TABLE.replace(old, new));
        fails(&[part]);
    }
    folder.file("mine/cards.toml", TABLE);
    let broken = rows("openau.csv").replacen(",run,", ",rum,", 1);
    folder.file("mine/flashbench/openau.csv", &broken);
    fails(&["openau.csv"]);
    for name in ["openau.csv", "findfat.csv"] {
        std::fs::remove_file(folder.0.join("mine/flashbench").join(name)).unwrap();
    }
    fails(&["no recorded tables in mine/flashbench"]);
}

/// The project's own page; a card that misses its recording states a reason.
#[test]
#[ignore = "slow: all recorded runs on all cards"]
fn slow_the_page_of_cards_is_up_to_date() {
    let folder = Folder::new("cards-page");
    let path = |name: &str| facts().join(name).display().to_string();
    let (table, page) = (path("cards.toml"), path("../docs/cards.md"));
    folder
        .run(&["validate", "--cards", &table, "--check", &page])
        .succeeds();
}
