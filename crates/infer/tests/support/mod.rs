//! Devices in memory that store contents, with the faults of counterfeit devices.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod troubled;

use nandscope_infer::authenticity::{Medium, MediumError, Salt};
use nandscope_units::Nanos;
use nandscope_units::random::{SplitMix64, mix};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Behaviour of blocks from `real` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Block x aliases to block x mod `real`.
    Wrap {
        real: u64,
    },
    /// Blocks from `kept` on wrap around within the remaining blocks.
    WrapBehind {
        kept: u64,
        real: u64,
    },
    /// Writes are lost; reads return a constant byte, or noise.
    Drop {
        real: u64,
        byte: Option<u8>,
    },
    /// Writes are lost; reads return the original contents.
    Keeps {
        real: u64,
    },
    /// Writes are lost; reads return the block modulo `real`.
    Mirror {
        real: u64,
    },
    /// Blocks keep their first write; later writes are lost.
    First {
        real: u64,
    },
    /// Reads return the last data written to any block.
    Echo {
        real: u64,
    },
    /// The `cache` latest blocks are kept.
    Cached {
        real: u64,
        cache: u64,
    },
    /// Reads and writes fail.
    Errors {
        real: u64,
    },
    /// One in `every` blocks, at random, loses its data.
    Scattered {
        every: u64,
    },
}

impl Fault {
    pub fn real(self) -> Option<u64> {
        match self {
            Fault::None | Fault::Scattered { .. } => None,
            Fault::Wrap { real }
            | Fault::WrapBehind { real, .. }
            | Fault::Drop { real, .. }
            | Fault::Keeps { real }
            | Fault::Mirror { real }
            | Fault::First { real }
            | Fault::Echo { real }
            | Fault::Cached { real, .. }
            | Fault::Errors { real } => Some(real),
        }
    }
}

/// A device with blocks of 512 bytes. Unwritten blocks contain noise that depends on the block number.
pub struct Device {
    pub claims: u64,
    pub fault: Fault,
    seed: u64,
    contents: BTreeMap<u64, Vec<u8>>,
    cache: VecDeque<(u64, Vec<u8>)>,
    latest: Vec<u8>,
    now: Nanos,
    /// Operations until power fails; later ones fail.
    pub operations_left: u64,
    pub writes: u64,
    /// Unwritten blocks contain zeros instead of noise.
    pub blank: bool,
    dead: bool,
}

/// A salt derived from a number.
pub fn salt(number: u64) -> Salt {
    let mut random = SplitMix64::new(number);
    let mut salt = [0; 16];
    for half in salt.chunks_mut(8) {
        half.copy_from_slice(&random.bits().to_le_bytes());
    }
    Salt(salt)
}

fn noise(seed: u64, place: u64) -> u64 {
    mix(seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn filled(seed: u64, place: u64) -> Vec<u8> {
    let mut block = vec![0; 512];
    for (i, word) in (0..).zip(block.chunks_exact_mut(8)) {
        word.copy_from_slice(&noise(seed + i, place).to_le_bytes());
    }
    block
}

impl Device {
    pub fn new(claims: u64, fault: Fault, seed: u64) -> Self {
        Device {
            claims,
            fault,
            seed,
            contents: BTreeMap::new(),
            cache: VecDeque::new(),
            latest: vec![0; 512],
            now: Nanos::ZERO,
            operations_left: u64::MAX,
            writes: 0,
            blank: false,
            dead: false,
        }
    }

    fn beyond(&self, place: u64) -> bool {
        self.fault.real().is_some_and(|real| place >= real)
    }

    fn physical(&self, place: u64) -> u64 {
        match self.fault {
            Fault::Wrap { real } => place % real,
            Fault::WrapBehind { kept, real } if place >= real => {
                kept + (place - kept) % (real - kept)
            }
            _ => place,
        }
    }

    fn stored(&self, place: u64) -> Vec<u8> {
        let place = self.physical(place);
        self.contents
            .get(&place)
            .cloned()
            .unwrap_or_else(|| self.untouched(place))
    }

    fn untouched(&self, place: u64) -> Vec<u8> {
        match self.blank {
            true => vec![0; 512],
            false => filled(self.seed, place),
        }
    }

    fn get(&self, place: u64) -> Option<Vec<u8>> {
        if !self.beyond(place) {
            return Some(self.stored(place));
        }
        Some(match self.fault {
            Fault::Drop {
                byte: Some(byte), ..
            } => vec![byte; 512],
            Fault::Drop { byte: None, .. } => filled(self.seed ^ self.now.0 ^ 1, place),
            Fault::Echo { .. } => self.latest.clone(),
            Fault::Mirror { real } => self.stored(place % real),
            Fault::Cached { .. } => {
                let cached = self.cache.iter().find(|(p, _)| *p == place);
                cached.map_or(vec![0; 512], |(_, data)| data.clone())
            }
            Fault::Errors { .. } => return None,
            _ => self.stored(place),
        })
    }

    fn put(&mut self, place: u64, data: &[u8]) -> bool {
        self.latest = data.to_vec();
        self.writes += 1;
        if let Fault::Scattered { every } = self.fault
            && noise(self.seed, place).is_multiple_of(every)
        {
            return true;
        }
        if self.beyond(place) {
            match self.fault {
                Fault::Drop { .. }
                | Fault::Keeps { .. }
                | Fault::Mirror { .. }
                | Fault::Echo { .. } => return true,
                Fault::First { .. } if self.contents.contains_key(&place) => return true,
                Fault::Errors { .. } => return false,
                Fault::Cached { cache, .. } => {
                    self.cache.retain(|(p, _)| *p != place);
                    self.cache.push_back((place, data.to_vec()));
                    if self.cache.len() as u64 > cache {
                        self.cache.pop_front();
                    }
                    return true;
                }
                _ => {}
            }
        }
        self.contents.insert(self.physical(place), data.to_vec());
        true
    }

    fn operate(&mut self, cost: u64) -> Result<(), MediumError> {
        if self.operations_left == 0 {
            return Err(MediumError::Gone("no power".into()));
        }
        self.operations_left -= 1;
        self.now += Nanos(cost);
        Ok(())
    }

    /// Present contents of all blocks written so far.
    pub fn snapshot(&self) -> BTreeMap<u64, Vec<u8>> {
        self.contents.clone()
    }

    /// Real blocks whose contents differ from `before`.
    pub fn changed(&self, before: &BTreeMap<u64, Vec<u8>>) -> Vec<u64> {
        let then = |place: u64| match before.get(&place) {
            Some(then) => then.clone(),
            None => self.untouched(place),
        };
        let changed = self
            .contents
            .iter()
            .filter(|(place, now)| !self.beyond(**place) && **now != then(**place));
        changed.map(|(place, _)| *place).collect()
    }

    /// Asserts that every real block has the same contents as `before`.
    pub fn same_as(&self, before: &BTreeMap<u64, Vec<u8>>) {
        let changed = self.changed(before);
        assert!(
            changed.is_empty(),
            "blocks {changed:?} are not as they were, {:?}",
            self.fault
        );
    }

    /// Present contents of a block, without counting an operation.
    pub fn now_in(&self, place: u64) -> Vec<u8> {
        self.get(place).unwrap_or_default()
    }

    /// Puts a block there, at no cost.
    pub fn force(&mut self, place: u64, data: &[u8]) {
        self.contents.insert(self.physical(place), data.to_vec());
    }
}

impl Medium for Device {
    fn blocks(&self) -> u64 {
        self.claims
    }

    fn block_bytes(&self) -> usize {
        512
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        self.operate(200_000 + into.len() as u64 * 20)?;
        assert!(
            first + (into.len() / 512) as u64 <= self.claims,
            "past the end"
        );
        for (place, block) in (first..).zip(into.chunks_mut(512)) {
            match self.get(place) {
                Some(data) => block.copy_from_slice(&data),
                None => return Err(MediumError::Failed("unreadable".into())),
            }
        }
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        if self.operations_left == 0 && !self.dead {
            // Power fails during the write: some whole blocks have been written.
            self.dead = true;
            let arrived = noise(self.now.0, first) as usize % (data.len() / 512 + 1);
            for (place, block) in (first..).zip(data.chunks(512)).take(arrived) {
                self.put(place, block);
            }
        }
        self.operate(30_000_000)?;
        assert!(
            first + (data.len() / 512) as u64 <= self.claims,
            "past the end"
        );
        let mut taken = true;
        for (place, block) in (first..).zip(data.chunks(512)) {
            taken &= self.put(place, block);
        }
        if taken {
            return Ok(());
        }
        Err(MediumError::Failed("not taken".into()))
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        self.operate(1_000_000)
    }

    fn now(&self) -> Nanos {
        self.now
    }
}

/// A folder that is removed when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nandscope-verify-{}-{number}", std::process::id());
        // Each run syncs its journal a dozen times, so the folder is in memory if possible.
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let folder = place.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
