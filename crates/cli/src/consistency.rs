//! Tests of the whole command line: an option has the same meaning in every command, helps fit a screen, and the
//! documentation names only existing options.

use clap::{Arg, ArgAction, Command};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Lines of a screen, which a short help must fit.
const SCREEN: usize = 40;
/// Columns of a screen.
const COLUMNS: usize = 80;

/// Options whose meaning differs by design, with the reason.
const DIFFERENT: [(&str, &str); 8] = [
    (
        "check",
        "a twin against what it did not see, or a page against what it would be",
    ),
    (
        "for",
        "a purpose of which advice knows, or a file of requirements",
    ),
    (
        "host",
        "a review attaches a device at every port, all others at one",
    ),
    (
        "link",
        "the link that limits a drive, or those to compare with",
    ),
    ("output", "a site has pages instead of a report"),
    (
        "shelf",
        "drives to rank among, prices to compare, or the shelf to work on",
    ),
    ("name", "a trace or a drive"),
    ("title", "of a trace or of a drive"),
];

/// Options whose default differs by design, with the reason.
const OTHER_DEFAULT: [(&str, &str); 8] = [
    ("check", "a page is named, and a twin needs no value"),
    (
        "precondition",
        "the wear of a workload is level sooner on a device that is full",
    ),
    (
        "output",
        "reviews and the fullness sweep always write a folder, others only if one is named",
    ),
    (
        "shelf",
        "commands that work on a shelf have a usual place for it, rankings are made on request",
    ),
    ("host", "a review attaches a device as its profile says"),
    (
        "link",
        "without a link the drive's rate has no limit, and nothing is compared",
    ),
    ("name", "a trace or a drive"),
    ("title", "of a trace or of a drive"),
];

/// All commands that can be run, with their words.
fn commands() -> Vec<(String, Command)> {
    let mut root = crate::command();
    root.build();
    let mut found = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((words, command)) = open.pop() {
        for below in command.get_subcommands() {
            let words = format!("{words} {}", below.get_name());
            open.push((words.trim().to_string(), below.clone()));
        }
        found.push((words, command));
    }
    found
}

/// Options of a command, without those that clap adds.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let own = |arg: &&Arg| {
        arg.get_long().is_some()
            && !matches!(
                arg.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            )
    };
    command.get_arguments().filter(own)
}

/// The text of an option without its default, and the default.
fn meaning(arg: &Arg) -> (String, String) {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let (text, stated) = match help.split_once(" [default: ") {
        Some((text, default)) => (text.to_string(), default.trim_end_matches(']').to_string()),
        None => (help, String::new()),
    };
    let set: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|v| v.to_string_lossy())
        .collect();
    (text, format!("{stated}{}", set.join(",")))
}

/// Every use of an option: the command, and the value to compare.
fn uses<T>(of: impl Fn(&Arg) -> T) -> BTreeMap<String, Vec<(String, T)>> {
    let mut all: BTreeMap<String, Vec<(String, T)>> = BTreeMap::new();
    for (words, command) in commands() {
        for arg in options(&command) {
            let name = arg.get_long().unwrap_or_default().to_string();
            all.entry(name).or_default().push((words.clone(), of(arg)));
        }
    }
    all
}

/// Options that differ between commands, without the listed exceptions.
fn differing<T: PartialEq + std::fmt::Debug>(
    of: impl Fn(&Arg) -> T,
    but: &[(&str, &str)],
) -> Vec<String> {
    let all = uses(of).into_iter();
    let differs = all.filter(|(name, uses)| {
        let is_listed = but.iter().any(|(listed, _)| listed == name);
        !is_listed && uses.iter().any(|(_, one)| *one != uses[0].1)
    });
    differs
        .map(|(name, uses)| format!("--{name}: {uses:?}"))
        .collect()
}

#[test]
fn an_option_means_the_same_in_every_command() {
    let texts = differing(|arg| meaning(arg).0, &DIFFERENT);
    assert!(texts.is_empty(), "{}", texts.join("\n"));
    let letters = differing(Arg::get_short, &[]);
    assert!(letters.is_empty(), "{}", letters.join("\n"));
    let defaults = differing(|arg| meaning(arg).1, &OTHER_DEFAULT);
    assert!(defaults.is_empty(), "{}", defaults.join("\n"));
}

#[test]
fn a_letter_means_one_option() {
    let mut letters: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    for (name, uses) in uses(Arg::get_short) {
        for letter in uses.into_iter().filter_map(|(_, letter)| letter) {
            letters.entry(letter).or_default().insert(name.clone());
        }
    }
    let twice: Vec<_> = letters
        .iter()
        .filter(|(_, names)| names.len() > 1)
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Every option listed in `DIFFERENT` or `OTHER_DEFAULT` is an option of at least two commands.
#[test]
fn the_lists_of_differences_are_needed() {
    let all = uses(|arg| meaning(arg).0);
    for (name, _) in DIFFERENT.iter().chain(&OTHER_DEFAULT) {
        let uses = all.get(*name).map_or(0, Vec::len);
        assert!(uses > 1, "--{name} has {uses} uses");
    }
}

#[test]
fn every_short_help_fits_a_screen() {
    let mut long = Vec::new();
    for (words, command) in commands() {
        let text = command.term_width(COLUMNS).render_help().to_string();
        // The line of usage is not wrapped by clap.
        let rows = |line: &str| line.chars().count().div_ceil(COLUMNS).max(1);
        let lines: usize = text.lines().map(rows).sum();
        if lines > SCREEN {
            long.push(format!("{words}: {lines} lines\n{text}"));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_command_is_in_a_group() {
    let root = crate::command();
    let grouped: Vec<&str> = crate::GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    let all: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
    assert_eq!(grouped, all);
}

/// The pages and texts that name options.
fn texts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![
        root.join("README.md"),
        root.join("CONTRIBUTING.md"),
        root.join("CHANGELOG.md"),
    ];
    let mut open = vec![root.join("docs")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// Long options of other programs that the documentation names.
const FOREIGN: &[(&str, &[&str])] = &[
    (
        "fio",
        &[
            "bs",
            "direct",
            "filename",
            "iodepth",
            "ioengine",
            "runtime",
            "rw",
            "terse-version",
            "uri",
        ],
    ),
    ("flashbench", &["blocksize", "find-fat", "open-au"]),
    ("f3probe", &["destructive"]),
    ("hdparm", &["security-disable", "user-master"]),
    ("losetup", &["direct-io", "find", "show"]),
    ("blockdev", &["getsize64"]),
    (
        "cargo",
        &[
            "example",
            "ignored",
            "include-ignored",
            "locked",
            "nocapture",
            "path",
            "release",
            "run-ignored",
            "test",
            "workspace",
        ],
    ),
    ("scripts/bench.py", &["dry-run", "pages"]),
];

/// Names of long options in a text: words that begin with `--`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("--").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_')
    });
    starts.filter_map(|(at, _)| {
        let rest = &text[at + 2..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-');
        let name = &rest[..end.unwrap_or(rest.len())];
        // Options of fio have an underscore, those of nandscope have none.
        let is_whole = !rest[name.len()..].starts_with('_');
        (is_whole && name.starts_with(|c: char| c.is_ascii_lowercase())).then_some(name)
    })
}

/// Words of a shell command line, up to the end of the command; quotes are not parsed.
fn command_lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let parts = text.split("nandscope ").skip(1);
    parts.map(|rest| {
        let end = rest
            .find(['\n', '`', '|', ';', '&', '>', ')'])
            .unwrap_or(rest.len());
        let words = rest[..end].split_whitespace();
        words.take_while(|word| *word != "--").collect()
    })
}

#[test]
fn the_documentation_names_options_that_exist() {
    let all = commands();
    let known: BTreeSet<String> = uses(|_| ()).into_keys().collect();
    let own = ["help", "version"];
    let is_foreign = |name: &str| FOREIGN.iter().any(|(_, names)| names.contains(&name));
    let mut wrong = Vec::new();
    for path in texts() {
        let text = std::fs::read_to_string(&path).unwrap().replace("\\\n", " ");
        let page = path.file_name().unwrap().to_string_lossy().into_owned();
        for name in named(&text) {
            if !known.contains(name) && !own.contains(&name) && !is_foreign(name) {
                wrong.push(format!("{page}: no command has --{name}"));
            }
        }
        for words in command_lines(&text) {
            let mut found = all.iter().find(|(name, _)| name.is_empty());
            for end in 1..=2.min(words.len()) {
                let name = words[..end].join(" ");
                found = all.iter().find(|(known, _)| *known == name).or(found);
            }
            let Some((name, command)) = found.filter(|(name, _)| !name.is_empty()) else {
                continue;
            };
            let line = words.join(" ");
            for option in self::named(&line) {
                if !options(command).any(|arg| arg.get_long() == Some(option))
                    && !own.contains(&option)
                {
                    wrong.push(format!(
                        "{page}: `nandscope {name}` has no --{option}: {line}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
