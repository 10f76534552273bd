//! The split ring (virtio 1.2, 2.7): takes chains of descriptors that the driver made available, and
//! returns them as used.

use super::error::VirtioError;
use super::memory::GuestMemory;
use virtio_queue::{DescriptorChain, Error, Queue, QueueOwnedT as _, QueueT as _};
use vm_memory::{GuestAddress, GuestMemoryMmap};

/// A piece of memory of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// First address of the buffer.
    pub address: u64,
    /// Length in bytes.
    pub length: u32,
}

/// A request in the ring: a chain of descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Number of the chain's first descriptor, with which the request is returned to the driver.
    pub head: u16,
    /// Buffers that the device reads.
    pub readable: Vec<Buffer>,
    /// Buffers that the device writes.
    pub writable: Vec<Buffer>,
    /// First error in the chain's descriptors.
    pub fault: Option<&'static str>,
}

impl Chain {
    fn follow(chain: DescriptorChain<&GuestMemoryMmap<()>>) -> Self {
        let head = chain.head_index();
        let (mut readable, mut writable) = (Vec::new(), Vec::new());
        let mut fault = None;
        // The iterator ends early at a loop, past the table, or outside memory.
        let mut goes_on = true;
        for descriptor in chain {
            goes_on = descriptor.has_next();
            let buffer = Buffer {
                address: descriptor.addr().0,
                length: descriptor.len(),
            };
            if descriptor.is_write_only() {
                writable.push(buffer);
            } else {
                readable.push(buffer);
                if !writable.is_empty() {
                    fault = Some("a device-readable buffer follows a device-writable one");
                }
            }
        }
        if goes_on {
            fault = Some("an endless chain of descriptors");
        }
        Chain {
            head,
            readable,
            writable,
            fault,
        }
    }
}

/// A queue in the state that the driver has set up.
#[derive(Debug)]
pub struct RequestQueue(Queue);

impl RequestQueue {
    /// A queue of up to `LARGEST` descriptors, a power of two.
    pub fn new<const LARGEST: u16>() -> Self {
        const { assert!(LARGEST.is_power_of_two()) };
        // Powers of two are all that the library requires.
        #[allow(clippy::unwrap_used, reason = "checked when it is compiled")]
        let queue = Queue::new(LARGEST).unwrap();
        RequestQueue(queue)
    }

    /// Sets the number of descriptors.
    ///
    /// # Errors
    /// `Broken` if it is not a power of two or too large.
    pub fn set_size(&mut self, size: u32) -> Result<(), VirtioError> {
        let size = u16::try_from(size).unwrap_or(0);
        let set = self.0.try_set_size(size);
        set.map_err(|_| VirtioError::Broken("its size is not a power of two, or too large"))
    }

    /// Sets the addresses of the three rings: descriptors, available, used.
    ///
    /// # Errors
    /// `Ring` if one is not aligned.
    pub fn set_addresses(&mut self, [table, available, used]: [u64; 3]) -> Result<(), VirtioError> {
        self.0.try_set_desc_table_address(GuestAddress(table))?;
        self.0.try_set_avail_ring_address(GuestAddress(available))?;
        Ok(self.0.try_set_used_ring_address(GuestAddress(used))?)
    }

    /// Sets the number of the next request, both in the available and in the used ring.
    pub fn set_base(&mut self, base: u16) {
        self.0.set_next_avail(base);
        self.0.set_next_used(base);
    }

    /// Number of the next request that will be taken from the available ring.
    pub fn base(&self) -> u16 {
        self.0.next_avail()
    }

    /// Sets whether requests may be taken.
    pub fn set_ready(&mut self, ready: bool) {
        self.0.set_ready(ready);
    }

    /// True if requests may be taken.
    pub fn is_ready(&self) -> bool {
        self.0.ready()
    }

    /// Sets whether the driver uses event indices to suppress notifications.
    pub fn set_event_index(&mut self, accepted: bool) {
        self.0.set_event_idx(accepted);
    }

    /// Takes the next request, if there is one and the queue is ready.
    ///
    /// # Errors
    /// `Broken` or `Ring` if the rings cannot be right.
    pub fn take(&mut self, memory: &GuestMemory) -> Result<Option<Chain>, VirtioError> {
        if !self.0.ready() {
            return Ok(None);
        }
        let map = memory.mapped();
        if !self.0.is_valid(map) {
            return Err(VirtioError::Broken(
                "the rings of the queue are not in memory that the guest shares",
            ));
        }
        let mut waiting = self.0.iter(map).map_err(|error| match error {
            Error::InvalidAvailRingIndex => VirtioError::Broken("more requests than descriptors"),
            other => other.into(),
        })?;
        Ok(waiting.next().map(Chain::follow))
    }

    /// Returns a request to the driver; `written` bytes of its buffers were written.
    ///
    /// # Errors
    /// `Ring` if `head` is not the number of a descriptor, or the used ring is not in shared memory.
    pub fn give_back(
        &mut self,
        memory: &GuestMemory,
        head: u16,
        written: u32,
    ) -> Result<(), VirtioError> {
        Ok(self.0.add_used(memory.mapped(), head, written)?)
    }

    /// Requests a notification of the next request; returns true if one is already waiting.
    ///
    /// # Errors
    /// `Ring` if the rings are not in shared memory.
    pub fn enable_notification(&mut self, memory: &GuestMemory) -> Result<bool, VirtioError> {
        Ok(self.0.enable_notification(memory.mapped())?)
    }

    /// True if the driver wants a notification of completed requests.
    ///
    /// # Errors
    /// `Ring` if the rings are not in shared memory.
    pub fn needs_notification(&mut self, memory: &GuestMemory) -> Result<bool, VirtioError> {
        Ok(self.0.needs_notification(memory.mapped())?)
    }
}
