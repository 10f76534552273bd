//! Verifications of devices that silently return wrong data: no journal is removed before the data is restored.

use crate::support::{Device, Fault, Folder};
use crate::undo_faults::{CLAIMS, journaled};
use nandscope_infer::authenticity::{
    Behaviour, Medium, MediumError, Options, Salt, Since, Stage, UndoJournal, Verdict, restore,
    verify,
};
use nandscope_units::Nanos;

/// Loses writes to some blocks of its upper half, and refuses writes there while `refuses` is set.
struct Half {
    device: Device,
    refuses: std::rc::Rc<std::cell::Cell<bool>>,
}

impl Half {
    fn loses(place: u64) -> bool {
        place >= CLAIMS / 2 && (place % 4 != 1 || place + 1 == CLAIMS)
    }
}

impl Medium for Half {
    fn blocks(&self) -> u64 {
        CLAIMS
    }

    fn block_bytes(&self) -> usize {
        512
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        self.device.read(first, into)?;
        for (place, block) in (first..).zip(into.chunks_mut(512)) {
            if Half::loses(place) {
                block.fill(0);
            }
        }
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        if self.refuses.get() && first >= CLAIMS / 2 {
            return Err(MediumError::Failed("input/output error".into()));
        }
        for (place, block) in (first..).zip(data.chunks(512)) {
            if !Half::loses(place) {
                self.device.write(place, block)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        self.device.settle()
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }
}

#[test]
fn a_real_block_behind_a_false_end_keeps_the_journal_until_its_data_is_back() {
    let folder = Folder::new();
    let path = folder.0.join("journal");
    let refuses = std::rc::Rc::new(std::cell::Cell::new(false));
    let mut half = Half {
        device: Device::new(CLAIMS, Fault::None, 4),
        refuses: refuses.clone(),
    };
    let before = half.device.snapshot();
    let mut journal = UndoJournal::create(&path, journaled(), Salt([9; 16])).unwrap();
    let finding = verify(
        &mut half,
        &mut journal,
        &Options::default(),
        &|| false,
        &mut |stage, _, _| refuses.set(stage == Stage::Restoring),
    );
    let finding = finding.unwrap();
    assert_eq!(finding.behaviour, Some(Behaviour::Drop), "{finding:?}");
    let changed = half.device.changed(&before);
    assert!(!changed.is_empty(), "{finding:?}");
    for place in &changed {
        assert!(finding.restored.lost.contains(place), "{place}");
    }
    assert!(journal.close(&finding.restored).unwrap().is_some());
    refuses.set(false);
    let mut journal = UndoJournal::open(&path).unwrap();
    restore(&mut half, &mut journal, Since::LeftBehind).unwrap();
    assert!(half.device.changed(&before).is_empty());
}

/// Returns the last data written for some reads of a block, as a bridge may return data left in its buffer.
struct StaleReads {
    device: Device,
    /// Number of stale answers, all for the first block that is read after a write.
    answers: u32,
    victim: Option<u64>,
    latest: Option<Vec<u8>>,
    /// Whether the next read fails.
    fails: std::rc::Rc<std::cell::Cell<bool>>,
}

impl Medium for StaleReads {
    fn blocks(&self) -> u64 {
        CLAIMS
    }

    fn block_bytes(&self) -> usize {
        512
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        if self.fails.take() {
            return Err(MediumError::Failed("input/output error".into()));
        }
        self.device.read(first, into)?;
        let Some(latest) = self.latest.as_ref().filter(|_| self.answers > 0) else {
            return Ok(());
        };
        let ours = self.victim.unwrap_or(first) == first && first + 1 != CLAIMS;
        if ours {
            self.victim = Some(first);
            self.answers -= 1;
            into[..512].copy_from_slice(latest);
        }
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        self.latest = Some(data[data.len() - 512..].to_vec());
        self.device.write(first, data)
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        self.device.settle()
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }
}

#[test]
fn a_stale_answer_is_not_taken_for_the_data_of_a_block_in_silence() {
    for answers in [0, 1, 2] {
        let folder = Folder::new();
        let mut stale = StaleReads {
            device: Device::new(CLAIMS, Fault::None, 4),
            answers,
            victim: None,
            latest: None,
            fails: Default::default(),
        };
        let before = stale.device.snapshot();
        let path = folder.0.join("journal");
        let mut journal = UndoJournal::create(&path, journaled(), Salt([3; 16])).unwrap();
        let options = Options::default();
        let stop = || false;
        let finding = verify(&mut stale, &mut journal, &options, &stop, &mut |_, _, _| {}).unwrap();
        let victim: Vec<u64> = stale.victim.into_iter().collect();
        assert_eq!(finding.tagged_before, victim, "{answers}");
        assert_eq!(finding.verdict() == Verdict::Genuine, answers == 0);
        let changed = stale.device.changed(&before);
        assert_eq!(changed.is_empty(), answers < 2, "{answers} {changed:?}");
        assert_eq!(finding.restored.missing_blocks(), changed, "{answers}");
    }
}

#[test]
fn an_error_while_the_data_is_put_back_or_before_the_first_tag_is_failing() {
    for restoring in [false, true] {
        let folder = Folder::new();
        let fails = std::rc::Rc::new(std::cell::Cell::new(!restoring));
        let mut device = StaleReads {
            device: Device::new(CLAIMS, Fault::None, 4),
            answers: 0,
            victim: None,
            latest: None,
            fails: fails.clone(),
        };
        let path = folder.0.join("journal");
        let mut journal = UndoJournal::create(&path, journaled(), Salt([3; 16])).unwrap();
        let mut tell = |stage, _: f64, _: Nanos| fails.set(restoring && stage == Stage::Restoring);
        let options = Options::default();
        let finding = verify(&mut device, &mut journal, &options, &|| false, &mut tell).unwrap();
        assert_eq!(
            (finding.verdict(), finding.errors.reads),
            (Verdict::Failing, 1)
        );
        assert!(finding.restored.is_complete());
    }
}
