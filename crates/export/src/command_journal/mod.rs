//! The journal of a served device: every command since its state was last saved, with its virtual time.
//! The device is deterministic, so saved state and journal together give the state at the last entry,
//! however the server ended. Commands are in the file before a request is answered.
//!
//! Contents are not included. After a kill, blocks of requests in flight have old or new data, except
//! for discards and zeroes, which can be repeated ([`Replayed::lost_discards`]).
//!
//! Format: a header with the device's start time, then entries of 32 bytes with a checksum each. A
//! truncated last entry was never acted upon and is ignored: the server was killed while writing it.
//! Anything else is damage and an error, since acknowledged commands are lost.

mod entry;
mod error;
mod file;
pub(crate) mod keeping;
mod replay;

pub use entry::{ENTRY, Entry, Held};
pub use error::{CommandJournalError, Damage};
pub use file::{CommandJournal, JournalFile};
pub use keeping::CommandJournals;
pub use replay::{Replay, Replayed};
