//! virtio-blk from the device's side (virtio 1.2, 2.7 and 5.2): shared memory, the split ring, the
//! configuration of the disk, and requests.
//!
//! The guest's memory is not trusted: invalid contents cause an error, never a panic or an endless loop.
//! virtio-blk has no FUA; file systems flush instead.

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
