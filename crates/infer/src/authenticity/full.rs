//! Writes and reads every block, at the speed of the device, to find what a few tags cannot show. Destroys the contents of the
//! device; can be interrupted, and continues.

use super::medium::{Medium, MediumError};
use super::tag::{Salt, Seen, judge, write_tag};
use super::work::VerifyError;
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Pass over the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// Every block is written.
    Writing,
    /// Every block is read.
    Reading,
    /// The last block has been reached.
    Done,
}

/// Progress and results, sufficient to continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Full {
    /// Description of the device.
    pub identity: String,
    /// Size of the device in blocks.
    pub blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: usize,
    /// The salt of the tags.
    pub salt: [u8; 16],
    /// Current pass.
    pub pass: Pass,
    /// The next block of the pass.
    pub next: u64,
    /// Number of blocks that held their tag.
    pub right: u64,
    /// Number of blocks that held the tag of another block, because they share memory with it.
    pub elsewhere: u64,
    /// Number of blocks with wrong bits in their tag.
    pub damaged: u64,
    /// Number of blocks with other contents than a tag.
    pub foreign: u64,
    /// Number of blocks that could not be read.
    pub unreadable: u64,
    /// Number of blocks that could not be written.
    pub refused: u64,
    /// Number of the first block that was not right.
    pub first_wrong: Option<u64>,
    /// Write rates along the device: offset, bytes, and bytes per second.
    pub write_rates: Vec<(u64, f64)>,
    /// Read rates along the device: offset, bytes, and bytes per second.
    pub read_rates: Vec<(u64, f64)>,
}

/// Length of one operation.
const PIECE: Bytes = Bytes::mib(1);
/// Number of random blocks that are searched for a tag of an earlier run.
const LOOKS: usize = 64;
/// Number of points in a curve of rates.
const POINTS: u64 = 256;

impl Full {
    /// Initial state.
    pub fn new(identity: String, blocks: u64, block_bytes: usize, salt: Salt) -> Self {
        Full {
            identity,
            blocks,
            block_bytes,
            salt: salt.0,
            pass: Pass::Writing,
            next: 0,
            right: 0,
            elsewhere: 0,
            damaged: 0,
            foreign: 0,
            unreadable: 0,
            refused: 0,
            first_wrong: None,
            write_rates: Vec::new(),
            read_rates: Vec::new(),
        }
    }

    /// Completed share of both passes, 0 to 1.
    pub fn share(&self) -> f64 {
        let half = self.next as f64 / self.blocks.max(1) as f64 / 2.0;
        match self.pass {
            Pass::Writing => half,
            Pass::Reading => 0.5 + half,
            Pass::Done => 1.0,
        }
    }

    /// Real capacity, blocks: the number of blocks that hold their own data. If several blocks share memory, only the last one
    /// written does.
    pub fn real_blocks(&self) -> u64 {
        self.right + self.damaged
    }

    /// Continues to the end, or until `stop` returns true. Calls `save` with the state after every point of the curve.
    ///
    /// # Errors
    /// `VerifyError::Stopped` if it was interrupted; `VerifyError::Gone` if the device is gone; the error of `save` if
    /// the state could not be saved.
    pub fn go_on<M: Medium>(
        &mut self,
        medium: &mut M,
        stop: &dyn Fn() -> bool,
        save: &mut dyn FnMut(&Full) -> Result<(), VerifyError>,
    ) -> Result<(), VerifyError> {
        if (medium.blocks(), medium.block_bytes()) != (self.blocks, self.block_bytes) {
            return Err(VerifyError::Unfit(format!(
                "the state is of a device of {} blocks of {} bytes, this one has {} of {}",
                self.blocks,
                self.block_bytes,
                medium.blocks(),
                medium.block_bytes()
            )));
        }
        let counted = [
            self.right,
            self.elsewhere,
            self.damaged,
            self.foreign,
            self.unreadable,
        ];
        let counted = counted.iter().try_fold(0_u64, |sum, n| sum.checked_add(*n));
        if self.next > self.blocks || counted.is_none_or(|n| n > self.blocks) {
            return Err(VerifyError::Unfit(
                "the state of the earlier run counts more blocks than there are; remove it to start over".to_string(),
            ));
        }
        if !self.is_of(medium)? {
            return Err(VerifyError::Unfit(
                "no block holds a tag of the earlier run: this is another device, or it keeps nothing; put the right one in, or remove the state to start over".to_string(),
            ));
        }
        while self.pass != Pass::Done {
            self.section(medium, stop)?;
            if self.next >= self.blocks {
                self.next = 0;
                self.pass = match self.pass {
                    Pass::Writing => Pass::Reading,
                    Pass::Reading | Pass::Done => Pass::Done,
                };
                medium
                    .settle()
                    .map_err(|e| VerifyError::Gone(e.to_string()))?;
            }
            save(self)?;
        }
        Ok(())
    }

    /// Whether the device holds a tag of this run, if it was written at all: model and size are no proof.
    fn is_of<M: Medium>(&self, medium: &mut M) -> Result<bool, VerifyError> {
        let written = match self.pass {
            Pass::Writing => self.next,
            Pass::Reading | Pass::Done => self.blocks,
        };
        let Some(last) = written.checked_sub(1) else {
            return Ok(true);
        };
        let mut generator = SplitMix64::new(Salt(self.salt).seed());
        let looks = (0..LOOKS).map(|_| generator.below(written));
        let mut block = vec![0; self.block_bytes];
        for place in looks.chain([0, last]) {
            match medium.read(place, &mut block) {
                Ok(()) if block.starts_with(&self.salt) => return Ok(true),
                Ok(()) | Err(MediumError::Failed(_)) => {}
                Err(MediumError::Gone(why)) => return Err(VerifyError::Gone(why)),
            }
        }
        Ok(false)
    }

    /// Runs one section of the current pass: one point of the curve.
    fn section<M: Medium>(
        &mut self,
        medium: &mut M,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), VerifyError> {
        let piece = (PIECE.0 as usize / self.block_bytes).max(1) as u64;
        let length = (self.blocks / POINTS).next_multiple_of(piece).max(piece);
        let end = (self.next + length).min(self.blocks);
        let (began, first) = (medium.now(), self.next);
        while self.next < end {
            if stop() {
                return Err(VerifyError::Stopped);
            }
            let count = piece.min(end - self.next);
            match self.pass {
                Pass::Writing => self.write(medium, count)?,
                _ => self.read(medium, count)?,
            }
            self.next += count;
        }
        let spent = medium.now().saturating_sub(began);
        self.note(first, spent);
        Ok(())
    }

    fn note(&mut self, first: u64, spent: Nanos) {
        let bytes = (self.next - first) * self.block_bytes as u64;
        let rate = bytes as f64 / spent.as_secs_f64().max(1e-9);
        let rates = match self.pass {
            Pass::Writing => &mut self.write_rates,
            _ => &mut self.read_rates,
        };
        rates.push((first * self.block_bytes as u64, rate));
    }

    fn write<M: Medium>(&mut self, medium: &mut M, count: u64) -> Result<(), VerifyError> {
        let mut data = vec![0; count as usize * self.block_bytes];
        for (place, block) in (self.next..).zip(data.chunks_mut(self.block_bytes)) {
            write_tag(block, Salt(self.salt), place, 1);
        }
        match medium.write(self.next, &data) {
            Ok(()) => Ok(()),
            Err(MediumError::Gone(why)) => Err(VerifyError::Gone(why)),
            Err(MediumError::Failed(_)) => {
                self.refused += count;
                Ok(())
            }
        }
    }

    fn read<M: Medium>(&mut self, medium: &mut M, count: u64) -> Result<(), VerifyError> {
        let mut data = vec![0; count as usize * self.block_bytes];
        match medium.read(self.next, &mut data) {
            Ok(()) => {
                let blocks = (self.next..).zip(data.chunks(self.block_bytes));
                let salt = Salt(self.salt);
                let seen = blocks.map(|(place, block)| (place, judge(block, salt, place, 1)));
                seen.for_each(|(place, seen)| self.count(place, seen));
                return Ok(());
            }
            Err(MediumError::Gone(why)) => return Err(VerifyError::Gone(why)),
            Err(MediumError::Failed(_)) => {}
        }
        let mut block = vec![0; self.block_bytes];
        for place in self.next..self.next + count {
            let seen = match medium.read(place, &mut block) {
                Ok(()) => judge(&block, Salt(self.salt), place, 1),
                Err(MediumError::Failed(_)) => Seen::Unreadable,
                Err(MediumError::Gone(why)) => return Err(VerifyError::Gone(why)),
            };
            self.count(place, seen);
        }
        Ok(())
    }

    fn count(&mut self, place: u64, seen: Seen) {
        match seen {
            Seen::Right => self.right += 1,
            Seen::Tag { .. } => self.elsewhere += 1,
            Seen::Damaged { .. } => self.damaged += 1,
            Seen::Foreign => self.foreign += 1,
            Seen::Unreadable | Seen::Refused => self.unreadable += 1,
        }
        if !seen.right() {
            self.first_wrong.get_or_insert(place);
        }
    }
}
