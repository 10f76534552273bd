//! The job files that come with the project, and the tables of docs/jobs.md.

use nandscope_units::Bytes;
use nandscope_workload::OpSource;
use nandscope_workload::job::{ACCEPTED, ALIASES, JobFile, JobOption, REFUSED, supported};
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

/// The tables of docs/jobs.md under the names of their places there.
fn tables() -> [(&'static str, String); 5] {
    let row = |o: &JobOption| {
        let default = o.default().map(|d| format!("`{d}`")).unwrap_or_default();
        format!(
            "| `{}` | {} | {default} | {} |\n",
            o.name,
            o.form(),
            o.meaning
        )
    };
    let (ours, fios): (Vec<_>, Vec<_>) =
        supported().partition(|o| o.name.starts_with("nandscope_"));
    let head = "| option | value | default | meaning |\n|---|---|---|---|\n";
    let ticked = |names: &mut dyn Iterator<Item = &str>| {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let accepted = ACCEPTED.iter().map(|group| {
        let values = match group.values {
            [] => "any".to_string(),
            values => ticked(&mut values.iter().copied()),
        };
        format!(
            "| {} | {values} | {} |\n",
            ticked(&mut group.names()),
            group.reason
        )
    });
    let refused = REFUSED
        .iter()
        .map(|group| format!("| {} | {} |\n", ticked(&mut group.names()), group.remedy));
    let aliases = ALIASES
        .iter()
        .map(|(alias, main)| format!("| `{alias}` | `{main}` |\n"));
    [
        (
            "supported",
            fios.into_iter()
                .map(row)
                .fold(head.to_string(), |a, b| a + &b),
        ),
        (
            "extensions",
            ours.into_iter()
                .map(row)
                .fold(head.to_string(), |a, b| a + &b),
        ),
        (
            "aliases",
            "| name | option |\n|---|---|\n".to_string() + &aliases.collect::<String>(),
        ),
        (
            "accepted",
            "| options | values | why they have no effect |\n|---|---|---|\n".to_string()
                + &accepted.collect::<String>(),
        ),
        (
            "refused",
            "| options | instead |\n|---|---|\n".to_string() + &refused.collect::<String>(),
        ),
    ]
}

#[test]
fn the_tables_of_the_book_are_up_to_date() {
    let path = root().join("docs/jobs.md");
    let committed = std::fs::read_to_string(&path).expect("docs/jobs.md");
    let mut book = committed.clone();
    for (name, table) in tables() {
        let begin = format!("<!-- options: {name} -->\n\n");
        let start = book.find(&begin).expect("the place of the table") + begin.len();
        let length = book[start..]
            .find("\n<!-- end -->")
            .expect("the end of the table");
        book.replace_range(start..start + length, &table);
    }
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, &book).expect("writable");
    }
    assert!(
        book == committed,
        "docs/jobs.md is out of date; run `UPDATE=1 cargo test -p nandscope-workload tables`"
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
