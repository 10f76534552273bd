use super::*;
use nandscope_result::TargetInfo;
use nandscope_result::json::{from_json, to_json};
use std::path::{Path, PathBuf};

fn document(steps: usize) -> ResultDocument {
    let target = TargetInfo {
        name: "sim:x".to_string(),
        ..TargetInfo::default()
    };
    let mut document = ResultDocument::begin("run", "A test".to_string(), 7, target);
    document.target.modes.push(ModeInfo::default());
    for number in 1..=steps {
        let text = format!("notice {number}");
        document.notices.push(Notice::info(text));
        document.steps.push(StepResult {
            id: format!("step-{number}"),
            end_s: 0.1 + 0.2 * number as f64,
            ..StepResult::default()
        });
    }
    document
}

fn asked() -> BTreeMap<String, String> {
    [("seed".to_string(), "7".to_string())].into()
}

/// An empty folder for each test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("nandscope-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn logs(number: usize) -> Vec<Attachment> {
    vec![Attachment {
        name: "log".to_string(),
        bytes: vec![number as u8; 100],
    }]
}

/// A journal of `steps` steps, each a point to resume at.
fn journal(path: &Path, steps: usize) -> StepJournal {
    let mut journal = StepJournal::create(path, &Head::new(asked(), &document(0))).unwrap();
    let mut cursor = Cursor::default();
    for number in 1..=steps {
        let entry = cursor.advance(&document(number), Some(number as u64));
        journal.append(&logs(number), &entry).unwrap();
    }
    journal
}

#[test]
fn what_was_appended_reads_back_as_the_document() {
    let folder = folder("steps-whole");
    let path = folder.join("r.steps");
    drop(journal(&path, 3));
    let contents = read(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((contents.steps(), contents.written), (3, false));
    assert_eq!(contents.records[1].attachments, logs(2));
    let (resumed, parts, records) = contents.resume_point().unwrap();
    assert_eq!((resumed, parts, records), (document(3), 3, 3));
    let recovered = contents.recovered("r.steps");
    assert!(!recovered.complete);
    assert_eq!(recovered.steps, document(3).steps);
    let text = to_json(&recovered).unwrap();
    assert_eq!(from_json(&text, Path::new("x")).unwrap(), recovered);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_journal_torn_anywhere_keeps_what_was_synced_and_goes_on() {
    let folder = folder("steps-torn");
    let path = folder.join("r.steps");
    drop(journal(&path, 3));
    let whole = std::fs::read(&path).unwrap();
    let ends: Vec<u64> = read(&whole).unwrap().records[1..]
        .iter()
        .map(|r| r.start)
        .chain([whole.len() as u64])
        .collect();
    let first = read(&whole).unwrap().records[0].start as usize;
    // Each place costs two syncs.
    for length in (first..whole.len()).step_by(37).chain([whole.len()]) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let (mut journal, contents) = StepJournal::open(&path).unwrap();
        let steps = ends.iter().filter(|end| **end <= length as u64).count();
        assert_eq!(contents.steps(), steps, "{length}");
        assert!(contents.holes().next().is_none(), "{length}");
        let mut cursor = Cursor::at(&document(steps));
        let next = cursor.advance(&document(steps + 1), None);
        journal.append(&[], &next).unwrap();
        drop(journal);
        let contents = read(&std::fs::read(&path).unwrap()).unwrap();
        assert!(contents.damages.is_empty(), "{length}");
        let steps = contents.recovered("x").steps;
        assert_eq!(steps, document(steps.len()).steps, "{length}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_damaged_record_is_named_and_the_others_are_used() {
    let folder = folder("steps-damaged");
    let path = folder.join("r.steps");
    drop(journal(&path, 3));
    let whole = std::fs::read(&path).unwrap();
    let records = read(&whole).unwrap().records;
    let (from, to) = (records[1].start as usize, records[2].start as usize);
    for at in (from..to).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let contents = read(&bytes).unwrap();
        let ids: Vec<_> = contents
            .recovered("x")
            .steps
            .iter()
            .map(|s| s.id.clone())
            .collect();
        assert!(
            ids == ["step-1", "step-3"] || ids == ["step-1", "step-2", "step-3"],
            "{ids:?}"
        );
        assert_eq!(contents.holes().count(), 1, "{at}");
        assert_eq!(contents.records.last().unwrap().attachments, logs(3));
    }
    // There are two copies of the head.
    for at in [FIRST_LINE.len() + 3, FIRST_LINE.len() + 80] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert_eq!(read(&bytes).unwrap().steps(), 3);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_comes_out_as_before_is_not_written_again() {
    let folder = folder("steps-again");
    let path = folder.join("r.steps");
    drop(journal(&path, 3));
    let before = std::fs::read(&path).unwrap();
    let (mut journal, contents) = StepJournal::open(&path).unwrap();
    journal.rewind(&contents, 0);
    let mut cursor = Cursor::default();
    for number in 1..=2 {
        let entry = cursor.advance(&document(number), Some(number as u64));
        journal.append(&logs(number), &entry).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // Another third step replaces the old one.
    let mut other = document(3);
    other.steps[2].id = "other".to_string();
    journal.append(&[], &cursor.advance(&other, None)).unwrap();
    drop(journal);
    let contents = read(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(contents.recovered("x").steps, other.steps);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nothing_that_is_there_is_overwritten_or_followed() {
    let folder = folder("steps-foreign");
    let path = folder.join("r.steps");
    let head = Head::new(asked(), &document(0));
    std::fs::write(&path, "a letter").unwrap();
    assert!(StepJournal::create(&path, &head).is_err());
    let error = StepJournal::open(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("is not a step journal of nandscope"),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    #[cfg(unix)]
    {
        let link = folder.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(StepJournal::create(&link, &head).is_err());
        assert!(matches!(
            StepJournal::open(&link),
            Err(StepJournalError::NotRegular { .. })
        ));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn two_cannot_write_one_journal() {
    let folder = folder("steps-two");
    let path = folder.join("r.steps");
    let first = journal(&path, 1);
    assert!(matches!(
        StepJournal::open(&path),
        Err(StepJournalError::InUse { .. })
    ));
    drop(first);
    let (mut second, _) = StepJournal::open(&path).unwrap();
    second.mark_written().unwrap();
    drop(second);
    let (third, contents) = StepJournal::open(&path).unwrap();
    assert!(contents.written && contents.steps() == 1);
    third.remove().unwrap();
    assert!(!path.exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_arguments_are_named() {
    let head = Head::new(asked(), &document(0));
    assert!(head.differences(&asked()).is_empty());
    let mut other = asked();
    other.insert("seed".to_string(), "8".to_string());
    other.insert("job".to_string(), "x".repeat(100));
    assert_eq!(
        head.differences(&other),
        ["job: not the same", "seed: was `7`, is `8`"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_journal_whose_head_finds_no_room_is_not_left_in_the_way() {
    let folder = folder("steps-full");
    let at = folder.to_str().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4k", "tmpfs", at])
        .output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        eprintln!("SKIPPED: mounting a tmpfs is not allowed here");
        return std::fs::remove_dir_all(&folder).unwrap();
    }
    let (path, filler) = (folder.join("r.steps"), folder.join("filler"));
    std::fs::write(&filler, [0; 4096]).unwrap();
    let head = Head::new(asked(), &document(0));
    let refused = StepJournal::create(&path, &head).map(drop);
    let left = path.exists();
    std::fs::remove_file(&filler).unwrap();
    let begun = StepJournal::create(&path, &head).map(drop);
    let unmounted = std::process::Command::new("umount").arg(at).status();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(refused.is_err() && !left, "{refused:?}");
    begun.unwrap();
    assert!(unmounted.unwrap().success());
}
