//! The split virtqueue of virtio 1 (section 2.7), as the device sees it: takes chains of
//! descriptors that the driver made available, and hands them back as used. Everything that the
//! driver writes is checked; a ring that cannot be right is an error, never an endless loop.

use crate::memory::{Memory, MemoryError};
use thiserror::Error;

/// The most descriptors that a queue may have (virtio 1, 2.7).
const LARGEST: u16 = 32_768;
/// Bytes of a descriptor.
const DESCRIPTOR: u64 = 16;
/// The most descriptors in a chain that we follow, indirect ones included.
const LONGEST_CHAIN: usize = 4_096;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// What is wrong with a queue.
#[derive(Debug, Error)]
pub enum QueueError {
    /// An address that is not shared.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The ring breaks a rule of virtio.
    #[error("the kernel's request queue is broken: {0}")]
    Broken(&'static str),
}

/// A piece of memory of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// The device writes it (otherwise it reads it).
    pub writable: bool,
}

/// A request: its first descriptor and its pieces, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Number of its first descriptor, by which it is handed back.
    pub head: u16,
    /// Its pieces.
    pub buffers: Vec<Buffer>,
}

/// A queue as the driver has set it up so far.
#[derive(Debug, Default)]
pub struct Queue {
    size: u16,
    descriptors: u64,
    available: u64,
    used: u64,
    next_available: u16,
    next_used: u16,
    enabled: bool,
}

impl Queue {
    /// The driver says how many descriptors there are.
    ///
    /// # Errors
    /// Where that is no power of two up to 32768.
    pub fn set_size(&mut self, size: u32) -> Result<(), QueueError> {
        match u16::try_from(size) {
            Ok(size) if size.is_power_of_two() && size <= LARGEST => {
                self.size = size;
                Ok(())
            }
            _ => Err(QueueError::Broken(
                "its size is no power of two up to 32768",
            )),
        }
    }

    /// The driver says where the three rings are.
    pub fn set_addresses(&mut self, descriptors: u64, available: u64, used: u64) {
        (self.descriptors, self.available, self.used) = (descriptors, available, used);
    }

    /// The driver says with which request to begin.
    pub fn set_base(&mut self, base: u16) {
        self.next_available = base;
        self.next_used = base;
    }

    /// The next request that we will take.
    pub fn base(&self) -> u16 {
        self.next_available
    }

    /// The driver switches the queue on or off.
    pub fn enable(&mut self, on: bool) {
        self.enabled = on;
    }

    /// Takes the next request, if there is one.
    ///
    /// # Errors
    /// Where the rings cannot be right.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<Chain>, QueueError> {
        if self.size == 0 || !self.enabled {
            return Ok(None);
        }
        let last = memory.read_u16(self.available.saturating_add(2))?;
        let waiting = last.wrapping_sub(self.next_available);
        if waiting == 0 {
            return Ok(None);
        }
        if waiting > self.size {
            return Err(QueueError::Broken("more requests than descriptors"));
        }
        let slot = u64::from(self.next_available % self.size);
        let head = memory.read_u16(self.available.saturating_add(4 + 2 * slot))?;
        self.next_available = self.next_available.wrapping_add(1);
        let buffers = self.follow(memory, head)?;
        Ok(Some(Chain { head, buffers }))
    }

    fn follow(&self, memory: &Memory, head: u16) -> Result<Vec<Buffer>, QueueError> {
        let mut buffers = Vec::new();
        let mut table = (self.descriptors, u32::from(self.size));
        let mut number = head;
        let mut steps = 0;
        loop {
            steps += 1;
            if steps > LONGEST_CHAIN {
                return Err(QueueError::Broken("a chain of descriptors without an end"));
            }
            if u32::from(number) >= table.1 {
                return Err(QueueError::Broken("a descriptor beyond the table"));
            }
            let mut raw = [0; DESCRIPTOR as usize];
            let at = table.0.saturating_add(u64::from(number) * DESCRIPTOR);
            memory.read(at, &mut raw)?;
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = raw;
            let address = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let length = u32::from_le_bytes([i, j, k, l]);
            let flags = u16::from_le_bytes([m, n]);
            if flags & INDIRECT != 0 {
                if table.0 != self.descriptors || flags & NEXT != 0 {
                    return Err(QueueError::Broken("an indirect descriptor within a chain"));
                }
                table = (address, length / DESCRIPTOR as u32);
                number = 0;
                continue;
            }
            buffers.push(Buffer {
                address,
                length,
                writable: flags & WRITE != 0,
            });
            if flags & NEXT == 0 {
                return Ok(buffers);
            }
            number = u16::from_le_bytes([o, p]);
        }
    }

    /// Hands a request back; `written` bytes of its buffers were written.
    ///
    /// # Errors
    /// Where the used ring is not in shared memory.
    pub fn give_back(
        &mut self,
        memory: &Memory,
        head: u16,
        written: u32,
    ) -> Result<(), QueueError> {
        if self.size == 0 {
            return Err(QueueError::Broken("it has no descriptors"));
        }
        let slot = u64::from(self.next_used % self.size);
        let mut element = [0; 8];
        element[0..4].copy_from_slice(&u32::from(head).to_le_bytes());
        element[4..8].copy_from_slice(&written.to_le_bytes());
        memory.write(self.used.saturating_add(4 + 8 * slot), &element)?;
        self.next_used = self.next_used.wrapping_add(1);
        memory.write(self.used.saturating_add(2), &self.next_used.to_le_bytes())?;
        Ok(())
    }
}
