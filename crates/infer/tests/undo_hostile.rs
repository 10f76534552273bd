//! Undo journals and lists of tags prepared by an attacker, and a journal that is closed with an empty result.

use crate::support::{Device, Fault, Folder};
use nandscope_infer::authenticity::{
    Contents, Finding, JournaledDevice, LeftTag, Options, Original, Restored, Salt, Since,
    UndoJournal, UndoJournalError, VerifyError, check_left, restore, verify,
};
use std::path::PathBuf;

const CLAIMS: u64 = 1 << 21;
const SALT: Salt = Salt([9; 16]);

fn journaled() -> JournaledDevice {
    JournaledDevice {
        identity: "a test".into(),
        blocks: CLAIMS,
        block_bytes: 512,
    }
}

fn journal_path(folder: &Folder) -> PathBuf {
    folder.0.join("journal")
}

/// A device with an interrupted run, and its journal.
fn interrupted(folder: &Folder) -> Device {
    let mut device = Device::new(CLAIMS, Fault::None, 1);
    device.operations_left = 900;
    let ended = run(&mut device, folder, Options::default());
    assert!(matches!(ended, Err(VerifyError::Gone(_))), "{ended:?}");
    device.operations_left = u64::MAX;
    device
}

fn run(device: &mut Device, folder: &Folder, options: Options) -> Result<Finding, VerifyError> {
    let mut journal = UndoJournal::create(&journal_path(folder), journaled(), SALT).unwrap();
    verify(device, &mut journal, &options, &|| false, &mut |_, _, _| {})
}

#[test]
fn a_journal_is_not_removed_where_nothing_was_put_back() {
    let folder = Folder::new();
    let _device = interrupted(&folder);
    let journal = UndoJournal::open(&journal_path(&folder)).unwrap();
    assert!(!Restored::default().is_complete());
    assert!(journal.close(&Restored::default()).unwrap().is_some());
    // The result of another journal does not close this one.
    let other = Folder::new();
    let mut journal = UndoJournal::create(&journal_path(&other), journaled(), SALT).unwrap();
    let mut device = Device::new(CLAIMS, Fault::None, 1);
    let nothing = restore(&mut device, &mut journal, Since::LeftBehind).unwrap();
    assert!(nothing.is_complete());
    let journal = UndoJournal::open(&journal_path(&folder)).unwrap();
    assert!(journal.close(&nothing).unwrap().is_some());
    assert!(journal_path(&folder).exists());
}

#[test]
fn a_record_of_a_block_beyond_the_end_is_damage() {
    let folder = Folder::new();
    let path = journal_path(&folder);
    let original = |place| Original {
        place,
        contents: vec![3; 512],
    };
    let mut journal = UndoJournal::create(&path, journaled(), SALT).unwrap();
    journal.append(vec![original(5)]).unwrap();
    for place in [CLAIMS, u64::MAX - 1, u64::MAX] {
        journal.append(vec![original(place)]).unwrap();
    }
    drop(journal);
    let mut journal = UndoJournal::open(&path).unwrap();
    assert_eq!(journal.originals(), [original(5)]);
    assert_eq!(journal.damaged().len(), 3);
    assert!(journal.damaged().iter().all(|d| d.block.is_none()));
    // A device of another size is not that of the journal; the test's device panics if accessed beyond its end.
    let mut smaller = Device::new(CLAIMS / 2, Fault::None, 1);
    let restored = restore(&mut smaller, &mut journal, Since::LeftBehind).unwrap();
    assert!(restored.unrecognized.is_some() && smaller.writes == 0);
    // Such a record with truncated contents also counts as damaged.
    let bytes = std::fs::read(&path).unwrap();
    let cut = Contents::read(&bytes[..bytes.len() - 100]).unwrap();
    assert!(cut.damaged().iter().all(|d| d.block.is_none()));
}

#[test]
fn a_journal_of_any_length_is_refused_before_it_takes_the_memory() {
    let folder = Folder::new();
    let path = journal_path(&folder);
    drop(UndoJournal::create(&path, journaled(), SALT).unwrap());
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = UndoJournal::open(&path).unwrap_err();
    assert!(matches!(error, UndoJournalError::TooLong), "{error}");
}

#[test]
fn what_is_created_can_be_opened() {
    for block_bytes in [0, 63, 64, 512, 64 << 10, (64 << 10) + 1, 1 << 32] {
        let folder = Folder::new();
        let path = journal_path(&folder);
        let journaled = JournaledDevice {
            block_bytes,
            identity: "ä".repeat(5000),
            ..journaled()
        };
        let created = UndoJournal::create(&path, journaled, SALT).is_ok();
        assert_eq!(UndoJournal::open(&path).is_ok(), created, "{block_bytes}");
        assert_eq!(path.exists(), created, "{block_bytes}");
        assert_eq!(created, (64..=64 << 10).contains(&block_bytes));
    }
}

#[test]
fn a_list_of_tags_that_says_nothing_gives_no_verdict() {
    let folder = Folder::new();
    let mut device = Device::new(CLAIMS, Fault::None, 1);
    let options = Options {
        leave: true,
        ..Options::default()
    };
    let finding = run(&mut device, &folder, options).unwrap();
    let mut journal = UndoJournal::open(&journal_path(&folder)).unwrap();
    let mut check = |left: &[LeftTag]| {
        check_left(
            &mut device,
            &mut journal,
            left,
            1,
            &|| false,
            &mut |_, _, _| {},
        )
    };
    let tag = |place| LeftTag {
        place,
        generation: 1,
    };
    for left in [
        vec![],
        vec![tag(CLAIMS)],
        vec![tag(1), tag(u64::MAX)],
        vec![tag(2), tag(2)],
    ] {
        let checked = check(&left);
        assert!(
            matches!(checked, Err(VerifyError::Unfit(_))),
            "{left:?} {checked:?}"
        );
    }
    assert!(check(&finding.left).is_ok());
}

#[test]
fn lost_blocks_that_look_like_those_of_somebody_else_come_back_if_the_user_says_so() {
    for restored_before in [false, true] {
        let folder = Folder::new();
        let mut device = interrupted(&folder);
        let before = Device::new(CLAIMS, Fault::None, 1).snapshot();
        let places: Vec<u64> = [3, 40, 41]
            .map(|n| open(&folder).originals()[n].place)
            .into();
        for place in &places {
            device.force(*place, &[0x42; 512]);
        }
        let mut back = |since| {
            let mut journal = open(&folder);
            let restored = restore(&mut device, &mut journal, since).unwrap();
            journal.close(&restored).unwrap();
            restored
        };
        if restored_before {
            // The first restore leaves the foreign blocks, the second finds no tag: the journal stays.
            let mut foreign = places.clone();
            foreign.sort_unstable();
            assert_eq!(back(Since::LeftBehind).foreign, foreign);
            assert!(back(Since::LeftBehind).unrecognized.is_some());
        }
        let restored = back(Since::LeftBehindOverwrite);
        assert!(restored.is_complete(), "{restored:?}");
        assert!(!journal_path(&folder).exists());
        device.same_as(&before);
    }
}

/// A copy of the device made before the run has no tag. Whatever is restored on the copy, the journal stays, and
/// restores the tagged device.
#[test]
fn a_copy_of_the_device_does_not_cost_the_journal() {
    for since in [Since::LeftBehind, Since::LeftBehindOverwrite] {
        let folder = Folder::new();
        let mut device = interrupted(&folder);
        let mut copy = Device::new(CLAIMS, Fault::None, 1);
        let before = copy.snapshot();
        let mut journal = open(&folder);
        let restored = restore(&mut copy, &mut journal, since).unwrap();
        assert!(!restored.is_complete(), "{restored:?}");
        assert!(journal.close(&restored).unwrap().is_some());
        assert!(journal_path(&folder).exists());
        let mut journal = open(&folder);
        let restored = restore(&mut device, &mut journal, Since::LeftBehind).unwrap();
        assert!(
            restored.is_complete() && restored.written > 0,
            "{restored:?}"
        );
        assert!(journal.close(&restored).unwrap().is_none());
        device.same_as(&before);
    }
}

#[test]
fn another_device_is_not_overwritten_whatever_the_user_says() {
    let folder = Folder::new();
    let _device = interrupted(&folder);
    let mut other = Device::new(CLAIMS, Fault::None, 2);
    let mut journal = open(&folder);
    let restored = restore(&mut other, &mut journal, Since::LeftBehindOverwrite).unwrap();
    assert!(restored.unrecognized.is_some() && other.writes == 0);
    assert!(journal.close(&restored).unwrap().is_some());
}

fn open(folder: &Folder) -> UndoJournal {
    UndoJournal::open(&journal_path(folder)).unwrap()
}
