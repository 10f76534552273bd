//! The journal of a served device: every command since its state was last saved, with its virtual time.
//! The device is deterministic, so saved state and journal together give the state at the last entry,
//! however the server ended. Commands are in the file before a request is answered.
//!
//! Contents are not included. After a kill, blocks of requests in flight have old or new data, except
//! for discards and zeroes, which can be repeated ([`Replayed::lost_discards`]).
//!
//! Format: a header with the device's start time and the number of committed entries, then entries of 32 bytes
//! with a checksum each. Entries are committed together before any of their requests is answered: those after the
//! committed ones are ignored, since the server was killed while it wrote them. A file with fewer entries than were
//! committed was cut. That, like a wrong checksum, is damage and an error: acknowledged commands are lost, and the
//! contents may be newer than what is left.

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
