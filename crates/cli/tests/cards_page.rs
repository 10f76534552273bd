//! The page that holds simulated cards against recorded ones is up to date.

use std::path::Path;
use std::process::Command;

#[test]
fn the_page_of_the_cards_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_nandscope"))
        .current_dir(root)
        .args(["validate", "--cards", "facts", "--check", "docs/cards.md"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

#[test]
fn a_folder_without_cards_names_what_is_missing() {
    let output = Command::new(env!("CARGO_BIN_EXE_nandscope"))
        .args(["validate", "--cards", "/nowhere"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("/nowhere/cards.toml"), "{error}");
}
