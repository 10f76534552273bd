//! virtio-blk as the device sees it (virtio 1.2, 2.7 and 5.2): shared memory, the split ring, the
//! configuration of the disk, and requests.
//!
//! Nothing in the guest's memory is trusted. What cannot be right is an error, never a panic or an endless
//! loop. There is no FUA in virtio-blk; file systems flush instead.

mod config;
mod error;
mod memory;
mod queue;
mod request;

pub use config::{BlockConfig, DiscardConfig, EVENT_INDEX, PROTOCOL_FEATURES, ZeroConfig};
pub use error::VirtioError;
pub use memory::{Access, GuestMemory, Region};
pub use queue::{Buffer, Chain, RequestQueue};
pub use request::{BlockRequest, Kind, SectorRange, Status, UNMAP};
