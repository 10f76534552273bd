//! The report as files: names, contents, no leftovers, nothing outside the folder.

use crate::fixture;
use nandscope_report::write_all;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A separate folder for one test, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("nandscope-report-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder is writable");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn all_files(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(dir).expect("the folder was written") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.append(&mut all_files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

#[test]
fn writes_what_it_says_and_nothing_else() {
    let folder = Folder::new("all");
    let document = fixture::document();
    let written: BTreeSet<PathBuf> = write_all(&document, &folder.0)
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(written, all_files(&folder.0));
    let series: usize = document.steps.iter().map(|s| s.series.len()).sum();
    let index = std::fs::read_to_string(folder.0.join("series-index.csv")).unwrap();
    assert_eq!(index.lines().count(), series + 1);
    let line = index
        .lines()
        .find(|l| l.contains("sde-across-write,") && l.contains(",write bandwidth,"))
        .unwrap();
    let number = |i: usize| line.split(',').nth(i).unwrap().parse::<usize>().unwrap();
    assert_eq!(number(2), 2000);
    let numbers: Vec<&str> = index
        .lines()
        .filter(|l| l.contains("sde-across-write,"))
        .filter_map(|l| l.split(',').next())
        .collect();
    let page = std::fs::read_to_string(folder.0.join("report.html")).unwrap();
    let step = page.split("id=\"step-sde-across-write\"").nth(1).unwrap();
    let link = format!(
        "Data: series {} to {} in <a href=\"series.csv\">",
        numbers[0],
        numbers[numbers.len() - 1]
    );
    assert!(step.split("</details>").any(|part| part.contains(&link)));
    let values = std::fs::read_to_string(folder.0.join("series.csv")).unwrap();
    let mine: Vec<&str> = values.lines().skip(number(1)).take(number(2)).collect();
    assert!(
        mine.iter()
            .all(|l| l.starts_with(&format!("{},", number(0))))
    );
    let others = values
        .lines()
        .filter(|l| l.starts_with(&format!("{},", number(0))));
    assert_eq!(others.count(), 2000);
    let plot =
        std::fs::read_to_string(folder.0.join("plots/sde-across-write-temperature.svg")).unwrap();
    for text in [
        "Temperature (°C)",
        "Time since start of step (min)",
        "surface temperature",
        "SD Express",
    ] {
        assert!(plot.contains(text), "{text}");
    }
}

#[test]
fn names_of_steps_cannot_leave_the_folder() {
    let folder = Folder::new("hostile");
    let inside = folder.0.join("inside");
    let mut document = fixture::document();
    document.steps.truncate(3);
    for step in &mut document.steps {
        step.id = "../../../x/\0..".into();
        step.series
            .iter_mut()
            .for_each(|s| s.name = "/etc/passwd".into());
    }
    let written: BTreeSet<PathBuf> = write_all(&document, &inside).unwrap().into_iter().collect();
    assert_eq!(written, all_files(&folder.0));
}

#[test]
fn a_report_is_replaced_whole_and_a_failure_names_the_file() {
    let folder = Folder::new("replace");
    let mut document = fixture::document();
    document.steps.truncate(1);
    let written: BTreeSet<PathBuf> = write_all(&document, &folder.0)
        .unwrap()
        .into_iter()
        .collect();
    let page = folder.0.join("report.html");
    std::fs::write(&page, "old").unwrap();
    write_all(&document, &folder.0).unwrap();
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .starts_with("<!doctype")
    );
    assert_eq!(written, all_files(&folder.0));
    std::fs::remove_file(&page).unwrap();
    std::fs::create_dir(&page).unwrap();
    let error = write_all(&document, &folder.0).unwrap_err().to_string();
    assert!(error.contains("report.html"), "{error}");
}

/// Links that somebody planted in the folder of a report lead nowhere.
#[cfg(unix)]
#[test]
fn nothing_outside_the_folder_is_overwritten_through_links() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    let (inside, outside) = (folder.0.join("inside"), folder.0.join("outside"));
    for dir in [&inside, &outside] {
        std::fs::create_dir(dir).unwrap();
    }
    let foreign = outside.join("report.html");
    std::fs::write(&foreign, "foreign").unwrap();
    symlink(&foreign, inside.join("report.html")).unwrap();
    let document = fixture::document();
    write_all(&document, &inside).unwrap_err();
    std::fs::remove_file(inside.join("report.html")).unwrap();
    symlink(&outside, inside.join("plots")).unwrap();
    write_all(&document, &inside).unwrap_err();
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "foreign");
    assert_eq!(all_files(&outside).len(), 1);
}
