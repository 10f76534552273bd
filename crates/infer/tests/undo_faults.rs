//! Verifications with a fault at a random moment: no data is lost that the journal could have saved, no journal is
//! removed before its data is restored, and all statements about the data are true.

use crate::support::troubled::{Trouble, Troubled};
use crate::support::{Device, Fault, Folder};
use nandscope_infer::authenticity::{
    Finding, JournaledDevice, Options, Original, Progress, Restored, Salt, Since, UndoJournal,
    UndoJournalError, Verdict, VerifyError, restore, verify,
};
use nandscope_units::random::SplitMix64;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) const CLAIMS: u64 = 1 << 21;
const TROUBLES: [Trouble; 5] = [
    Trouble::ReadOnly,
    Trouble::SilentlyReadOnly,
    Trouble::ReadErrors,
    Trouble::LostPower,
    Trouble::Removed,
];

/// Event between the run and its restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    /// The journal is restored on another device first.
    WrongCard,
    /// Bits of the journal change.
    Flips(u64),
    /// The last append was cut off: its blocks were not written.
    Torn,
}

const BETWEEN: [Between; 5] = [
    Between::Nothing,
    Between::WrongCard,
    Between::Flips(1),
    Between::Flips(9),
    Between::Torn,
];

pub(crate) fn journaled() -> JournaledDevice {
    JournaledDevice {
        identity: "a test".into(),
        blocks: CLAIMS,
        block_bytes: 512,
    }
}

/// Number of rounds; the environment variable NANDSCOPE_UNDO_FAULTS sets another number.
fn rounds(otherwise: u64) -> u64 {
    let given = std::env::var("NANDSCOPE_UNDO_FAULTS").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

struct Round {
    number: u64,
    folder: Folder,
    troubled: Troubled,
    before: BTreeMap<u64, Vec<u8>>,
}

impl Round {
    fn new(number: u64, fault: Fault, trouble: Trouble) -> Self {
        let device = Device::new(CLAIMS, fault, number);
        Round {
            number,
            folder: Folder::new(),
            before: device.snapshot(),
            troubled: Troubled::new(device, trouble, number),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.0.join("journal")
    }

    fn changed(&self) -> Vec<u64> {
        self.troubled.device.changed(&self.before)
    }

    /// Runs a verification; returns its findings, or `None` if it ended early.
    fn verify(&mut self, leave: bool) -> Option<Finding> {
        let mut salt = [7; 16];
        salt[..8].copy_from_slice(&self.number.to_le_bytes());
        let mut journal = UndoJournal::create(&self.path(), journaled(), Salt(salt)).unwrap();
        let options = Options {
            leave,
            ..Options::default()
        };
        let device = &mut self.troubled;
        let result = verify(device, &mut journal, &options, &|| false, &mut |_, _, _| {});
        match result {
            Ok(finding) => {
                if finding.left.is_empty() {
                    self.closed(journal, &finding.restored);
                }
                Some(finding)
            }
            Err(VerifyError::Gone(_)) => {
                journal.discard_empty().unwrap();
                None
            }
            Err(VerifyError::Unrestored { restored, .. }) => {
                self.closed(journal, &restored);
                None
            }
            Err(other) => panic!("{}: {other}", self.number),
        }
    }

    /// Checks that either the data is restored and the journal removed, or neither is claimed.
    fn closed(&self, journal: UndoJournal, restored: &Restored) {
        let kept = journal.close(restored).unwrap();
        assert_eq!(kept.is_some(), self.path().exists(), "{}", self.number);
        assert_eq!(kept.is_none(), restored.is_complete(), "{}", self.number);
        if restored.is_complete() {
            let changed = self.changed();
            assert!(
                changed.is_empty(),
                "{}: said to be back: {changed:?}",
                self.number
            );
        }
    }

    /// Restores an interrupted run; `None` if the device is gone or the head is damaged.
    fn restore(&mut self) -> Option<Restored> {
        let mut journal = match UndoJournal::open(&self.path()) {
            Ok(journal) => journal,
            Err(UndoJournalError::Damaged) => return None,
            Err(other) => panic!("{}: {other}", self.number),
        };
        let restored = restore(&mut self.troubled, &mut journal, Since::LeftBehind).ok()?;
        self.closed(journal, &restored);
        Some(restored)
    }

    /// Another device of the same size and name is not accepted for the journal, and is not written.
    fn wrong_card(&mut self) {
        let (path, number) = (self.path(), self.number);
        // Different contents, then a copy of the same contents.
        for seed in [number + 1000, number] {
            let mut device = Device::new(CLAIMS, Fault::None, seed);
            let mut journal = UndoJournal::open(&path).unwrap();
            // The first batch at most is tagged: a copy of the device looks like the device then.
            let first_batch =
                journal.batches().len() <= 1 || journal.progress() == Progress::FirstBatchLeft;
            let restored = restore(&mut device, &mut journal, Since::LeftBehind).unwrap();
            assert_eq!(device.writes, 0, "{number}");
            if seed == number && first_batch {
                if !journal.tags_put_back() {
                    assert!(restored.unseen.is_some(), "{number}: {restored:?}");
                    let kept = journal.close(&restored).unwrap();
                    assert!(kept.is_some() && path.exists(), "{number}");
                }
                continue;
            }
            let Some(evidence) = &restored.unrecognized else {
                panic!(
                    "{number} {seed}: {restored:?}, {:?} {}",
                    journal.progress(),
                    journal.batches().len()
                );
            };
            assert_eq!(evidence.tags, 0, "{number}");
            let kept = journal.close(&restored).unwrap();
            assert!(kept.is_some() && path.exists(), "{number}");
        }
    }
}

fn flip(path: &Path, bits: u64, random: &mut SplitMix64) {
    let mut bytes = std::fs::read(path).unwrap();
    for _ in 0..bits {
        let bit = random.below(bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    std::fs::write(path, bytes).unwrap();
}

/// Appends half a record or zeros after the last record.
fn tear(path: &Path, random: &mut SplitMix64) {
    let mut bytes = std::fs::read(path).unwrap();
    let length = random.below(500) as usize;
    let from = bytes.len() - 500;
    match random.below(2) {
        0 => bytes.resize(bytes.len() + length, 0),
        _ => bytes.extend_from_within(from..from + length),
    }
    std::fs::write(path, bytes).unwrap();
}

fn operations_of_a_whole_run(fault: Fault) -> u64 {
    let mut round = Round::new(0, fault, Trouble::Removed);
    round.verify(false).unwrap();
    round.troubled.operations
}

#[test]
fn no_data_is_lost_in_four_hundred_faults() {
    let faults = [
        Fault::None,
        Fault::None,
        Fault::None,
        Fault::Wrap { real: 777_777 },
        Fault::Drop {
            real: 1_500_000,
            byte: Some(0),
        },
    ];
    let operations = faults.map(operations_of_a_whole_run);
    let (mut kept, mut named) = (0, 0);
    for number in 0..rounds(400) {
        let mut choice = SplitMix64::new(number ^ 0x5eed);
        let which = choice.below(faults.len() as u64) as usize;
        let trouble = TROUBLES[(number % 5) as usize];
        let between = BETWEEN[(number / 5 % 5) as usize];
        let leave = choice.below(8) == 0;
        let mut round = Round::new(number, faults[which], trouble);
        let length = match choice.below(3) {
            0 => 1 + choice.below(20),
            1 => 1 + choice.below(3000),
            _ => u64::MAX,
        };
        round
            .troubled
            .in_trouble(choice.below(operations[which]), length);
        let said = format!(
            "{number}: {trouble:?} for {length}, {:?}, {between:?}",
            faults[which]
        );
        let finding = round.verify(leave);
        if let (Some(finding), Fault::None) = (&finding, faults[which]) {
            assert_ne!(finding.verdict(), Verdict::Fake, "{said} {finding:?}");
        }
        round.troubled.repaired();
        if !round.path().exists() {
            assert!(round.changed().is_empty(), "{said}");
            continue;
        }
        kept += 1;
        match between {
            Between::Nothing => {}
            Between::WrongCard => round.wrong_card(),
            Between::Flips(bits) => flip(&round.path(), bits, &mut choice),
            Between::Torn => tear(&round.path(), &mut choice),
        }
        // The first attempt meets trouble as well.
        if choice.below(2) == 0 {
            let after = choice.below(700);
            round.troubled.in_trouble(after, choice.below(500));
            round.restore();
            round.troubled.repaired();
        }
        if !round.path().exists() {
            continue;
        }
        let restored = round.restore();
        let changed = round.changed();
        let Between::Flips(bits) = between else {
            let restored = restored.unwrap();
            let proven = restored.unrecognized.is_none() || faults[which] != Fault::None;
            assert!(
                proven && changed.is_empty(),
                "{said} {restored:?} {changed:?}"
            );
            assert_eq!(restored.is_complete(), !round.path().exists(), "{said}");
            // If the last tag was restored before the fault, nothing identifies the device.
            let untagged = restored.unseen.is_some();
            assert!(
                restored.is_complete() || untagged || faults[which] != Fault::None,
                "{said} {restored:?}"
            );
            continue;
        };
        let Some(restored) = restored else {
            assert!(bits > 1 && round.path().exists(), "{said}");
            continue;
        };
        named += u32::from(!restored.is_complete());
        // Each flipped bit damages at most one record, and a wrap-around may hide another block.
        assert!(changed.len() as u64 <= 2 * bits, "{said} {changed:?}");
        if faults[which] == Fault::None {
            let missing = restored.missing_blocks();
            let unnamed = changed.iter().filter(|place| !missing.contains(place));
            assert!(
                unnamed.count() <= restored.unnamed.len(),
                "{said} {restored:?} {changed:?}"
            );
        }
        assert_eq!(restored.is_complete(), !round.path().exists(), "{said}");
    }
    println!("{kept} journals kept for a while, {named} with damage that was named");
    if rounds(400) >= 400 {
        assert!(kept > 100 && named > 10, "{kept} {named}");
    }
}

#[test]
fn a_single_flip_anywhere_is_repaired_or_named() {
    let mut round = Round::new(3, Fault::None, Trouble::Removed);
    round.troubled.in_trouble(1200, u64::MAX);
    assert!(round.verify(false).is_none());
    round.troubled.repaired();
    let whole = std::fs::read(round.path()).unwrap();
    let tagged = round.troubled.device.snapshot();
    assert!(round.changed().len() > 300);
    let (mut repaired, mut named) = (0, 0);
    let mut random = SplitMix64::new(1);
    for number in 0..60 {
        // One flipped bit in three is in the heads.
        let room = if number % 3 == 0 {
            16 << 10
        } else {
            whole.len()
        };
        let at = random.below(room as u64) as usize;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.below(8);
        std::fs::write(round.path(), &bytes).unwrap();
        for (place, block) in &tagged {
            round.troubled.device.force(*place, block);
        }
        let restored = round.restore().unwrap();
        let changed = round.changed();
        if restored.is_complete() {
            assert!(changed.is_empty(), "{at}");
            repaired += 1;
        } else {
            assert_eq!(changed, restored.missing_blocks(), "{at}");
            assert!(changed.len() <= 1, "{at}");
            assert_eq!(std::fs::read(round.path()).unwrap()[..bytes.len()], bytes);
            named += 1;
        }
    }
    assert!(repaired > 10 && named > 10, "{repaired} {named}");
}

#[test]
fn a_part_of_the_journal_that_is_missing_is_noticed() {
    let mut round = Round::new(5, Fault::None, Trouble::Removed);
    round.troubled.in_trouble(1200, u64::MAX);
    assert!(round.verify(false).is_none());
    round.troubled.repaired();
    let whole = std::fs::read(round.path()).unwrap();
    std::fs::write(round.path(), &whole[..whole.len() / 2]).unwrap();
    let restored = round.restore().unwrap();
    assert!(!restored.is_complete() && round.path().exists());
    assert!(restored.unrecorded.len() > 50);
    assert_eq!(restored.missing_blocks(), round.changed());
    std::fs::write(round.path(), &whole).unwrap();
    assert!(round.restore().unwrap().is_complete());
}

#[test]
fn files_that_are_no_journals_are_refused_and_stay() {
    let folder = Folder::new();
    let path = folder.0.join("file");
    for bytes in [
        &b""[..],
        b"a letter",
        &[0; 20_000],
        b"nandscope-undo-1 and more",
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = UndoJournal::open(&path).unwrap_err();
        let version = bytes.starts_with(b"nandscope-undo-1");
        assert_eq!(
            matches!(error, UndoJournalError::Version('1')),
            version,
            "{error}"
        );
        assert!(UndoJournal::create(&path, journaled(), Salt([1; 16])).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    let (journal, link) = (folder.0.join("journal"), folder.0.join("link"));
    drop(UndoJournal::create(&journal, journaled(), Salt([1; 16])).unwrap());
    std::os::unix::fs::symlink(&journal, &link).unwrap();
    assert!(matches!(
        UndoJournal::open(&link),
        Err(UndoJournalError::Foreign(_))
    ));
    std::os::unix::fs::symlink(folder.0.join("nowhere"), folder.0.join("dangling")).unwrap();
    assert!(UndoJournal::create(&folder.0.join("dangling"), journaled(), Salt([1; 16])).is_err());
    assert!(!folder.0.join("nowhere").exists());
    let mode = std::fs::metadata(&journal).unwrap().permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o600
    );
}

#[test]
fn a_blank_card_of_the_same_size_does_not_take_the_journal_of_another() {
    for (blank, stop_after) in [(true, 1200), (true, 70), (false, 1200)] {
        let mut round = Round::new(9, Fault::None, Trouble::Removed);
        let blank_device = |device: &mut Device| {
            device.blank = blank;
        };
        blank_device(&mut round.troubled.device);
        round.troubled.in_trouble(stop_after, u64::MAX);
        assert!(round.verify(false).is_none());
        round.troubled.repaired();
        let mut other = Device::new(CLAIMS, Fault::None, 10);
        blank_device(&mut other);
        let mut journal = UndoJournal::open(&round.path()).unwrap();
        let restored = restore(&mut other, &mut journal, Since::LeftBehind).unwrap();
        assert!(
            journal.close(&restored).unwrap().is_some(),
            "{blank} {stop_after}"
        );
        assert_eq!(other.writes, 0);
        let said = restored.unrecognized.unwrap().to_string();
        assert!(said.starts_with("0 of "), "{said}");
        assert!(round.restore().unwrap().is_complete());
        assert!(!round.path().exists());
    }
}

#[test]
fn a_device_that_takes_no_writes_is_failing_and_not_a_fake_that_ends_at_nothing() {
    for trouble in [Trouble::ReadOnly, Trouble::SilentlyReadOnly] {
        for after in [0, 60, 200, 700] {
            let mut round = Round::new(after, Fault::None, trouble);
            round.troubled.in_trouble(after, u64::MAX);
            let finding = round.verify(false).unwrap();
            assert_eq!(
                finding.verdict(),
                Verdict::Failing,
                "{trouble:?} {after} {finding:?}"
            );
            let back = round.changed().is_empty();
            assert_eq!(back, !round.path().exists(), "{trouble:?} {after}");
        }
    }
}

#[test]
fn a_run_that_ended_early_removes_its_journal_only_where_the_data_is_known_to_be_back() {
    let folder = Folder::new();
    let path = folder.0.join("journal");
    let original = Original {
        place: 5,
        contents: vec![1; 512],
    };
    let mut journal = UndoJournal::create(&path, journaled(), Salt([3; 16])).unwrap();
    journal.append(vec![original]).unwrap();
    assert!(journal.end().unwrap().is_some() && path.exists());
    std::fs::remove_file(&path).unwrap();
    let journal = UndoJournal::create(&path, journaled(), Salt([3; 16])).unwrap();
    assert!(journal.end().unwrap().is_none() && !path.exists());
    let mut journal = UndoJournal::create(&path, journaled(), Salt([3; 16])).unwrap();
    let mut device = Device::new(CLAIMS, Fault::None, 4);
    let calls = std::cell::Cell::new(0);
    let stop = || calls.replace(calls.get() + 1) > 200;
    let options = Options::default();
    let result = verify(
        &mut device,
        &mut journal,
        &options,
        &stop,
        &mut |_, _, _| {},
    );
    assert!(matches!(result, Err(VerifyError::Stopped)));
    assert!(device.writes > 0 && journal.end().unwrap().is_none() && !path.exists());
}

#[test]
fn an_upper_part_that_turns_read_only_in_silence_keeps_the_journal() {
    // The device accepts the first tag, and no later one.
    let real = CLAIMS / 2;
    let mut round = Round::new(6, Fault::First { real }, Trouble::Removed);
    let mut journal = UndoJournal::create(&round.path(), journaled(), Salt([6; 16])).unwrap();
    let device = &mut round.troubled;
    let options = Options::default();
    let finding = verify(device, &mut journal, &options, &|| false, &mut |_, _, _| {}).unwrap();
    let tagged = |place: &u64| round.troubled.device.now_in(*place).starts_with(&[6; 16]);
    let tagged: Vec<u64> = journal.places().into_iter().filter(tagged).collect();
    assert!(tagged.len() > 300, "{}", tagged.len());
    assert_eq!(finding.restored.missing_blocks(), tagged);
    assert!(round.changed().is_empty());
    assert!(journal.close(&finding.restored).unwrap().is_some());
}
