//! The journal of a served device: every command that it was given since its state was last kept,
//! with the device's time of it. A device does the same for the same commands at the same times, so
//! that the kept state and the journal together are the state at the last entry, however the server
//! ended. A request is answered only after its commands stand in the file.
//!
//! Contents are not in it. Of a request that was under way at the last entry the old or the new data
//! may be read, but for discards and zeroes, which can be done again ([`Replayed::lost_discards`]).
//!
//! The file: a head with the device's time at which it begins, then entries of 32 bytes, each with
//! a checksum. A part of an entry at its end has never been acted upon and is left out: the server was
//! killed while it wrote it. Whatever else is wrong is damage: commands were acknowledged that cannot
//! be read any more, which is an error.

mod entry;
mod error;
mod file;
pub(crate) mod keeping;
mod replay;

pub use entry::{ENTRY, Entry, Held};
pub use error::{Damage, JournalError};
pub use file::{Journal, JournalFile};
pub use keeping::Journals;
pub use replay::{Replay, Replayed};
