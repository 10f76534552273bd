//! A verification interrupted at any moment leaves a journal from which the data is restored byte for byte.

use crate::support::{Device, Fault, Folder};
use nandscope_infer::authenticity::{
    JournaledDevice, Medium, Options, Original, Restored, Salt, Since, UndoJournal, VerifyError,
    restore, verify,
};
use nandscope_units::random::SplitMix64;
use std::cell::Cell;

const CLAIMS: u64 = 1 << 21;
const FAULTS: [Fault; 4] = [
    Fault::None,
    Fault::Wrap { real: 777_777 },
    Fault::Wrap { real: 3001 },
    Fault::Drop {
        real: 1_500_000,
        byte: Some(0),
    },
];

fn journaled() -> JournaledDevice {
    JournaledDevice {
        identity: "a test".into(),
        blocks: CLAIMS,
        block_bytes: 512,
    }
}

/// Verifies until power fails; returns true if it did not fail.
fn attempt(device: &mut Device, folder: &Folder, seed: u8) -> bool {
    let path = folder.0.join("journal");
    let mut journal = UndoJournal::create(&path, journaled(), Salt([seed; 16])).unwrap();
    let options = Options::default();
    let result = verify(device, &mut journal, &options, &|| false, &mut |_, _, _| {});
    match result {
        Ok(_) => true,
        Err(VerifyError::Gone(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

fn come_back(device: &mut Device, folder: &Folder) -> Option<Restored> {
    let mut journal = UndoJournal::open(&folder.0.join("journal")).unwrap();
    restore(device, &mut journal, Since::LeftBehind).ok()
}

fn operations_of_a_whole_run(fault: Fault) -> u64 {
    let mut device = Device::new(CLAIMS, fault, 7);
    device.operations_left = 1 << 20;
    assert!(attempt(&mut device, &Folder::new(), 9));
    // The number of places that are sampled hardly varies.
    ((1 << 20) - device.operations_left) * 95 / 100
}

#[test]
fn data_comes_back_after_two_hundred_kills() {
    let mut random = SplitMix64::new(3);
    let operations = FAULTS.map(operations_of_a_whole_run);
    for number in 0..200_u64 {
        let fault = FAULTS[number as usize % FAULTS.len()];
        let folder = Folder::new();
        let mut device = Device::new(CLAIMS, fault, number);
        let before = device.snapshot();
        device.operations_left = random.below(operations[number as usize % FAULTS.len()]);
        assert!(!attempt(&mut device, &folder, 9), "{number}");
        // The second run is killed as well, in the middle of putting the data back.
        device.operations_left = random.below(300);
        let restored = come_back(&mut device, &folder);
        device.operations_left = u64::MAX;
        let restored = restored
            .or_else(|| come_back(&mut device, &folder))
            .unwrap();
        device.same_as(&before);
        if fault == Fault::None {
            assert!(
                restored.lost.is_empty() && restored.foreign.is_empty(),
                "{restored:?}"
            );
        }
    }
}

#[test]
fn data_comes_back_when_somebody_asks_to_stop() {
    for after in [0, 1, 5, 9, 40, 200, 500, 900] {
        let folder = Folder::new();
        let mut device = Device::new(CLAIMS, Fault::None, after);
        let before = device.snapshot();
        let path = folder.0.join("journal");
        let mut journal = UndoJournal::create(&path, journaled(), Salt([1; 16])).unwrap();
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > after
        };
        let options = Options::default();
        let result = verify(
            &mut device,
            &mut journal,
            &options,
            &stop,
            &mut |_, _, _| {},
        );
        assert!(matches!(result, Err(VerifyError::Stopped)), "{after}");
        device.same_as(&before);
    }
}

#[test]
fn what_somebody_else_wrote_since_is_left_alone() {
    let folder = Folder::new();
    let mut device = Device::new(CLAIMS, Fault::None, 1);
    device.operations_left = 900;
    assert!(!attempt(&mut device, &folder, 9));
    device.operations_left = u64::MAX;
    let mut journal = UndoJournal::open(&folder.0.join("journal")).unwrap();
    let place = journal.originals()[3].place;
    device.write(place, &[0x42; 512]).unwrap();
    let restored = restore(&mut device, &mut journal, Since::LeftBehind).unwrap();
    assert_eq!(restored.foreign, [place]);
    let mut block = vec![0; 512];
    device.read(place, &mut block).unwrap();
    assert_eq!(block, [0x42; 512]);
}

#[test]
fn a_journal_cut_off_anywhere_gives_whole_records_only() {
    let folder = Folder::new();
    let path = folder.0.join("journal");
    let mut journal = UndoJournal::create(&path, journaled(), Salt([5; 16])).unwrap();
    let batch = |from: u64| {
        let original = |place: u64| Original {
            place,
            contents: vec![place as u8; 512],
        };
        (from..from + 3).map(original).collect::<Vec<_>>()
    };
    journal.append(batch(10)).unwrap();
    let first = std::fs::metadata(&path).unwrap().len();
    journal.append(batch(20)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let other = folder.0.join("cut");
    for length in 0..=whole.len() {
        std::fs::write(&other, &whole[..length]).unwrap();
        let Ok(journal) = UndoJournal::open(&other) else {
            assert!((length as u64) < first, "{length}");
            continue;
        };
        let there = journal.originals().len();
        let right = match length as u64 {
            l if l == whole.len() as u64 => there == 6,
            l if l >= first => (3..=6).contains(&there),
            l => there < 3 || l + 36 >= first,
        };
        assert!(right, "{length}: {there}");
        for original in journal.originals() {
            assert_eq!(original.contents, [original.place as u8; 512]);
        }
        // The block of a truncated record is known if its label is complete.
        assert!(journal.damaged().iter().all(|d| d.block.is_some()));
        assert_eq!(journal.journaled(), &journaled());
    }
    // A new journal never replaces an existing one.
    assert!(UndoJournal::create(&path, journaled(), Salt([5; 16])).is_err());
}
