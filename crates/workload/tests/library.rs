//! The job files of the project, and the tables of docs/jobs.md.

use nandscope_units::Bytes;
use nandscope_workload::OpSource;
use nandscope_workload::job::{
    ACCEPTED, ALIASES, AS_IN_FIO, JobFile, JobOption, REFUSED, supported,
};
use nandscope_workload::pattern::Generator;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn job_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "fio"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_job_of_the_library_is_valid_and_explained() {
    let plain = job_files(&root().join("jobs"));
    let extended = job_files(&root().join("jobs/extensions"));
    assert!(plain.len() >= 8 && !extended.is_empty());
    for path in plain.iter().chain(&extended) {
        let text = std::fs::read_to_string(path).expect("readable");
        assert!(text.starts_with("; "), "{}: no comment", path.display());
        let name = path.display().to_string();
        let file = JobFile::parse(&name, &text).unwrap_or_else(|e| panic!("{e}"));
        for job in &file.jobs {
            if job.trace.is_none() {
                let mut g = Generator::new(job, 0, Bytes::gib(64), 1).expect("fits a 64 GiB card");
                assert!(g.next_op().is_some(), "{name}");
            }
            let ours = job.options().keys().any(|k| k.starts_with("nandscope_"));
            assert_eq!(ours, extended.contains(path), "{name}");
        }
    }
}

/// Values that an option accepts, with the default in brackets: `flag`, `1 to 65536 [1]`.
fn value(option: &JobOption) -> String {
    let (form, default) = (option.form(), option.default());
    let (form, off) = match form.as_str() {
        "`0` or `1`" => ("flag", Some("0")),
        form => (form.strip_prefix("number from ").unwrap_or(form), None),
    };
    let form = match form.parse::<u64>() {
        Ok(least) => format!("from {least}"),
        Err(_) => form.to_string(),
    };
    match default {
        Some(default) if off != Some(default.as_str()) => format!("{form} [{default}]"),
        _ => form,
    }
}

/// The lists of docs/jobs.md, by the names of their markers.
fn lists() -> [(&'static str, String); 2] {
    let list = |options: Vec<&JobOption>| -> String {
        let options = options.iter().filter(|o| o.meaning != AS_IN_FIO);
        options
            .map(|o| format!("- `{}` ({}): {}\n", o.name, value(o), o.meaning))
            .collect()
    };
    let (ours, fios): (Vec<_>, Vec<_>) =
        supported().partition(|o| o.name.starts_with("nandscope_"));
    [("supported", list(fios)), ("extensions", list(ours))]
}

/// docs/job-options.csv: fio options not in these lists, each with its treatment by nandscope.
fn other_options() -> String {
    let quoted = |text: &str| match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    };
    let mut csv = String::from("option,treatment,reason or remedy\n");
    let mut row = |option: &str, treatment: &str, text: &str| {
        csv.push_str(&format!(
            "{},{treatment},{}\n",
            quoted(option),
            quoted(text)
        ));
    };
    for option in supported().filter(|o| o.meaning == AS_IN_FIO) {
        row(option.name, "as in fio", "");
    }
    for (alias, main) in ALIASES {
        row(alias, "second name", &format!("of {main}"));
    }
    for group in ACCEPTED {
        for name in group.names() {
            let option = match group.values {
                [] => name.to_string(),
                values => format!("{name}={}", values.join("|")),
            };
            row(&option, "without effect", group.reason);
        }
    }
    for group in REFUSED {
        for name in group.names() {
            row(name, "refused", group.remedy);
        }
    }
    csv
}

#[test]
fn the_lists_of_the_book_are_up_to_date() {
    let (path, csv) = (
        root().join("docs/jobs.md"),
        root().join("docs/job-options.csv"),
    );
    let committed = std::fs::read_to_string(&path).expect("docs/jobs.md");
    let mut book = committed.clone();
    for (name, list) in lists() {
        let begin = format!("<!-- options: {name} -->\n\n");
        let start = book.find(&begin).expect("the place of the list") + begin.len();
        let length = book[start..]
            .find("\n<!-- end -->")
            .expect("the end of the list");
        book.replace_range(start..start + length, &list);
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &book).expect("writable");
        return std::fs::write(&csv, other_options()).expect("writable");
    }
    let is_current = std::fs::read_to_string(csv).is_ok_and(|text| text == other_options());
    assert!(
        book == committed && is_current,
        "docs/jobs.md or docs/job-options.csv is out of date; run `UPDATE=1 cargo test -p nandscope-workload lists`"
    );
}

#[test]
fn every_option_is_in_one_table() {
    let mut names: Vec<&str> = supported()
        .map(|o| o.name)
        .chain(ACCEPTED.iter().flat_map(|group| group.names()))
        .chain(ALIASES.iter().map(|alias| alias.0))
        .chain(REFUSED.iter().flat_map(|group| group.names()))
        .collect();
    let count = names.len();
    assert!(count > 200, "{count}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
