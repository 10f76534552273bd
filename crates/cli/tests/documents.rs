//! The documents are up to date with the program: required lists are complete.

use crate::support::Folder;
use nandscope_device::profile::{explain, library};
use std::path::Path;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn every_key_of_a_profile_is_explained() {
    let text = document("docs/profiles.md");
    for entry in library::DEVICES.iter().chain(library::HOSTS) {
        for row in explain(entry.text) {
            let key = format!("`{}", row.key);
            assert!(
                text.contains(&key),
                "{}: {} is not in docs/profiles.md",
                entry.name,
                row.key
            );
        }
    }
}

#[test]
fn every_command_is_explained() {
    let folder = Folder::new("documents");
    let text = document("docs/cli.md");
    let help = folder.run(&["--help"]);
    // The options follow the commands.
    let list = help.out.split("\n  -").next().unwrap();
    let entries: Vec<&str> = list.lines().filter(|l| l.starts_with("  ")).collect();
    assert!(entries.len() > 20, "the list of commands is not found");
    for line in entries {
        let name = line.split_whitespace().next().unwrap();
        let explained = text.contains(&format!("`{name}")) || text.contains(&format!("## {name}"));
        assert!(explained || name == "help", "{name} is not in docs/cli.md");
    }
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let contents = document("docs/SUMMARY.md");
    for folder in ["", "tutorials/", "explanations/"] {
        for entry in std::fs::read_dir(docs.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let listed = contents.contains(&format!("({folder}{name})"));
            let is_page = name.ends_with(".md") && name != "SUMMARY.md";
            assert!(
                listed || !is_page,
                "docs/{folder}{name} is not in docs/SUMMARY.md"
            );
        }
    }
}

#[test]
fn every_exit_code_is_explained() {
    let (codes, text) = (
        document("crates/cli/src/failure.rs"),
        document("docs/exit-codes.md"),
    );
    let codes = codes.lines().filter_map(|line| {
        let (_, code) = line.trim().strip_prefix("Exit::")?.split_once(" => ")?;
        code.strip_suffix(',')
    });
    assert!(codes.clone().count() >= 10);
    for code in codes {
        assert!(
            text.contains(&format!("| {code} |")),
            "{code} is not in docs/exit-codes.md"
        );
    }
}

/// The crates of this project that a manifest names under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or("");
    let section = section.split("\n[").next().unwrap();
    let names = section
        .lines()
        .filter_map(|line| line.strip_prefix("nandscope-"));
    let names = names.map(|rest| rest.split('.').next().unwrap().to_string());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_map_shows_how_crates_depend_on_each_other() {
    let text = document("ARCHITECTURE.md");
    let map = text.split("```text\n").nth(1).unwrap();
    let map = map.split("```").next().unwrap();
    let mut above = Vec::new();
    for line in map.lines() {
        let (name, uses) = line.split_once('→').unwrap();
        let name = name.trim().to_string();
        let uses: Vec<&str> = uses.split_whitespace().collect();
        let folder = match name.as_str() {
            "python" => "python",
            _ => &format!("crates/{name}"),
        };
        let manifest = document(&format!("{folder}/Cargo.toml"));
        assert_eq!(dependencies(&manifest), uses, "{name}");
        above.push(name);
        for used in uses {
            assert!(!above.iter().any(|n| n == used), "{used} is not below");
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all: Vec<String> = std::fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    all.push("python".to_string());
    all.sort();
    above.sort();
    assert_eq!(above, all);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, folder) in [
        ("README.md", "."),
        ("ARCHITECTURE.md", "."),
        ("docs/cli.md", "docs"),
        ("docs/exit-codes.md", "docs"),
        ("docs/profiles.md", "docs"),
    ] {
        let text = document(name);
        for part in text.split("](").skip(1) {
            let link = part.split(')').next().unwrap();
            // Pictures are made by hand and may be missing.
            if link.contains("://") || link.starts_with('#') || link.ends_with(".png") {
                continue;
            }
            let path = root.join(folder).join(link.split('#').next().unwrap());
            assert!(path.exists(), "{name} points to {link}");
        }
    }
}

#[test]
fn every_test_file_is_in_the_binary_of_its_crate() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in std::fs::read_dir(crates).unwrap() {
        let tests = folder.unwrap().path().join("tests");
        let Ok(main) = std::fs::read_to_string(tests.join("main.rs")) else {
            continue;
        };
        for file in std::fs::read_dir(&tests).unwrap() {
            let file = file.unwrap().path();
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(
                name == "main"
                    || file.extension().is_none_or(|e| e != "rs")
                    || main.contains(&format!("mod {name};")),
                "{} is not run: main.rs beside it has no `mod {name};`",
                file.display()
            );
        }
    }
}
