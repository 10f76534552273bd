//! Every command that the README and the documentation show is run, and prints what the page shows.
//!
//! A block that begins with ```` ```console ```` holds commands (`$ command`, continued on lines that begin with `> `) and what they print
//! on both outputs; an exit code other than 0 is a line `? CODE` after the command. A line `...` matches any
//! number of lines, `[..]` for any text in a line. Figures of `nandscope fs` may differ by 5 %.
//! The commands of a page run in one folder, one after the other. A command that cannot be run here is in a block of another language, whose first line has the reason: `# not run: needs a card`.
//! `UPDATE=1` writes what the commands print into the pages. A command that ends with ` &` serves the following ones: its first
//! lines are compared, and Ctrl-C ends it at the end of the page.
//!
//! `NANDSCOPE_PROGRAMS=DIR` runs the program of a folder, such as an unpacked archive of a release (scripts/check-package.sh).
//!
//! A picture of a page is compared with the file of the same name that the commands of the page make.

use crate::support::Folder;
#[cfg(target_os = "linux")]
use crate::support::guest::kernel;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Parts of the project that commands on the pages read; a tutorial needs only the program.
const SHOWN: [&str; 4] = ["facts", "jobs", "profiles", "traces"];
const NOT_RUN: &str = "# not run: ";
/// Environment variable with the folder of another program than the one that was built with the tests.
const PROGRAMS: &str = "NANDSCOPE_PROGRAMS";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and all pages of docs/, relative to the root.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_string()];
    let mut folders = vec!["docs".to_string()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                folders.push(name);
            } else if name.ends_with(".md") {
                pages.push(name);
            }
        }
    }
    pages.sort();
    pages
}

/// A block between fences: its info string, its first line and the line after its last.
struct Block {
    info: String,
    lines: std::ops::Range<usize>,
}

fn blocks(lines: &[&str]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        open = match open.take() {
            None => Some((info.to_string(), at + 1)),
            Some((info, first)) => {
                let lines = first..at;
                blocks.push(Block { info, lines });
                None
            }
        };
    }
    assert!(open.is_none(), "a block has no end");
    blocks
}

/// A command with its output on the page.
#[derive(Debug, PartialEq)]
struct Example {
    command: Vec<String>,
    code: i32,
    output: Vec<String>,
}

fn examples(lines: &[&str]) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (None, Some(last)) if line.starts_with("> ") && last.output.is_empty() => {
                last.command.push(line[2..].to_string());
            }
            (Some(command), _) => found.push(Example {
                command: vec![command.to_string()],
                code: 0,
                output: Vec::new(),
            }),
            (None, Some(last)) => match line.strip_prefix("? ") {
                Some(code) => last.code = code.parse().unwrap(),
                None => last.output.push(line.to_string()),
            },
            (None, None) => panic!("a block of commands begins with `{line}`"),
        }
    }
    for example in &mut found {
        while example.output.last().is_some_and(String::is_empty) {
            example.output.pop();
        }
    }
    found
}

/// A shell that runs a command as on a terminal of 80 columns, with both outputs merged.
fn shell(folder: &Folder, command: &str) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_nandscope")).parent();
    let programs = std::env::var_os(PROGRAMS).map_or_else(|| built.unwrap().into(), PathBuf::from);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(&folder.0)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("XDG_STATE_HOME", folder.state())
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    shell
}

fn run(folder: &Folder, command: &str) -> (i32, Vec<String>) {
    let output = shell(folder, command).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(|l| l.trim_end().to_string()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    (output.status.code().unwrap_or(-1), lines)
}

/// A command in the background, ended by Ctrl-C with the page.
struct Server {
    child: Child,
    lines: Receiver<String>,
}

impl Server {
    fn start(folder: &Folder, command: &str) -> Self {
        let mut child = shell(folder, &format!("exec {command}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (heard, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if heard.send(line.trim_end().to_string()).is_err() {
                    return;
                }
            }
        });
        Server { child, lines }
    }

    /// The first `count` lines of the server's output.
    fn says(&self, count: usize) -> Vec<String> {
        let next = || self.lines.recv_timeout(Duration::from_secs(60)).ok();
        std::iter::from_fn(next).take(count.max(1)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-s", "INT", &id]).status();
        let _ = self.child.wait();
    }
}

/// Without a kernel, file systems are not run.
fn can_run(folder: &Folder, command: &str) -> bool {
    #[cfg(target_os = "linux")]
    let is_missing = || kernel(folder, "file systems on a page").is_none();
    #[cfg(not(target_os = "linux"))]
    let is_missing = || true;
    !(command.starts_with("nandscope fs ") && is_missing())
}

/// Pictures of a page that its commands have made with other contents; `UPDATE=1` replaces them.
fn differing_pictures(page: &str, text: &str, folder: &Folder) -> Vec<String> {
    let mut wrong = Vec::new();
    for link in text.split("](").skip(1) {
        let link = link.split(')').next().unwrap();
        let made = folder.0.join(link.rsplit('/').next().unwrap());
        if !link.ends_with(".svg") || !made.is_file() {
            continue;
        }
        let shown = root().join(page).parent().unwrap().join(link);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::copy(&made, &shown).unwrap();
        } else if std::fs::read(&made).unwrap() != std::fs::read(&shown).unwrap_or_default() {
            wrong.push(format!("{page}: {link} is not what the commands make\n"));
        }
    }
    wrong
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether two lines have the same words, and numbers that differ by at most 5 %.
fn is_near(shown: &str, line: &str) -> bool {
    let number = |word: &str| {
        let end = word.trim_end_matches(|c: char| !c.is_ascii_digit()).len();
        let value: Option<f64> = word[..end].parse().ok();
        value.map(|value| (value, word[end..].to_string()))
    };
    let near = |a: &str, b: &str| match (number(a), number(b)) {
        (Some((a, unit)), Some((b, of))) => unit == of && (a - b).abs() <= 0.05 * a.abs(),
        _ => a == b,
    };
    let (shown, line) = (shown.split_whitespace(), line.split_whitespace());
    shown.clone().count() == line.clone().count() && shown.zip(line).all(|(a, b)| near(a, b))
}

/// Whether the lines are those of the pattern, with figures that may be `near` ones.
fn matches(pattern: &[String], lines: &[String], near: bool) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any == "..." => {
            (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..], near))
        }
        Some((first, rest)) => lines.split_first().is_some_and(|(line, others)| {
            let same = line_matches(first, line) || (near && is_near(first, line));
            same && matches(rest, others, near)
        }),
    }
}

/// Runs the blocks of a page; returns the expected page, and the differences.
fn check(page: &str, text: &str) -> (String, Vec<String>) {
    let name = page.replace(['/', '.'], "-");
    let folder = Folder::new(&format!("pages-{name}"));
    #[cfg(unix)]
    for shown in SHOWN {
        if page.starts_with("docs/tutorials/") {
            break;
        }
        std::os::unix::fs::symlink(root().join(shown), folder.0.join(shown)).unwrap();
    }
    let lines: Vec<&str> = text.lines().collect();
    let (mut right, mut wrong, mut copied) = (Vec::new(), Vec::new(), 0);
    let mut servers: Vec<Server> = Vec::new();
    for block in blocks(&lines) {
        if block.info != "console" {
            continue;
        }
        right.extend(
            lines[copied..block.lines.start]
                .iter()
                .map(|l| l.to_string()),
        );
        copied = block.lines.end;
        for (place, example) in examples(&lines[block.lines.clone()]).iter().enumerate() {
            let command = example.command.join("\n");
            let (code, output) = match command.strip_suffix(" &") {
                Some(server) => {
                    servers.push(Server::start(&folder, server));
                    let said = servers.last().map(|s| s.says(example.output.len()));
                    (0, said.unwrap_or_default())
                }
                None if can_run(&folder, &command) => run(&folder, &command),
                None => (example.code, example.output.clone()),
            };
            // Runs that fill the guest's memory differ a little from machine to machine (docs/fs.md).
            let near = command.starts_with("nandscope fs ");
            let same = code == example.code && matches(&example.output, &output, near);
            if !same {
                let (shown, printed) = (example.output.join("\n"), output.join("\n"));
                wrong.push(format!(
                    "{page}:{}: `{command}` ends with {code} and prints\n{printed}\n--- but the page shows ({})\n{shown}\n",
                    block.lines.start + 1,
                    example.code,
                ));
            }
            if place > 0 && !right.last().is_some_and(|l| l.starts_with("$ ")) {
                right.push(String::new());
            }
            right.push(format!("$ {}", example.command.join("\n> ")));
            if code != 0 {
                right.push(format!("? {code}"));
            }
            right.extend(if same { example.output.clone() } else { output });
        }
    }
    drop(servers);
    right.extend(lines[copied..].iter().map(|l| l.to_string()));
    wrong.extend(differing_pictures(page, text, &folder));
    (right.join("\n") + "\n", wrong)
}

#[test]
fn commands_print_what_the_pages_show() {
    let update = std::env::var_os("UPDATE").is_some();
    let check_page = &|page: &String| {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        if !text.contains("```console\n") {
            return Vec::new();
        }
        let (right, wrong) = check(page, &text);
        if !update {
            return wrong;
        }
        std::fs::write(root().join(page), right).unwrap();
        Vec::new()
    };
    let pages = pages();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(move || check_page(page)))
            .collect();
        running
            .into_iter()
            .flat_map(|page| page.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every command shown is run, unless the page gives a reason.
#[test]
fn what_is_not_run_has_a_reason() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut inside = vec![false; lines.len()];
        for block in blocks(&lines) {
            inside[block.lines.clone()].fill(true);
            let first = lines[block.lines.clone()].first();
            let reason = first.and_then(|line| line.strip_prefix(NOT_RUN));
            let reason = reason.unwrap_or_default();
            if block.info == "console" || !reason.trim().is_empty() || page == "docs/options.md" {
                continue;
            }
            for at in block.lines {
                let shown = lines[at].trim_start_matches("$ ").trim_start();
                if shown.starts_with("nandscope ") || shown.starts_with("cargo run") {
                    wrong.push(format!("{page}:{}: {shown}", at + 1));
                }
            }
        }
        for (at, line) in lines.iter().enumerate() {
            if !inside[at] && line.starts_with("    nandscope ") {
                wrong.push(format!("{page}:{}: {line}", at + 1));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "neither run nor `{NOT_RUN}REASON`:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_page_that_differs_is_caught() {
    let page = "# A\n\n```console\n$ echo one; echo two\none\ntwo\n\n$ echo a b c\na [..] c\n\n$ exit 3\n? 3\n```\n";
    assert_eq!(check("same", page), (page.to_string(), Vec::new()));
    let (right, wrong) = check("differs", &page.replace("one\ntwo", "one\n"));
    assert_eq!((right.as_str(), wrong.len()), (page, 1));
    let (right, wrong) = check("code", &page.replace("? 3\n", ""));
    assert_eq!((right.as_str(), wrong.len()), (page, 1));
    let served = page.replace(
        "exit 3\n? 3",
        "yes served &\nserved\nserved\n\n$ echo after\nafter",
    );
    assert_eq!(check("served", &served), (served.clone(), Vec::new()));
    let dots = page.replace("one\ntwo", "...\ntwo");
    assert_eq!(check("dots", &dots), (dots.clone(), Vec::new()));
}
