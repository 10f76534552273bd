//! What flash can do, and when it is done.
//!
//! - Timing: parallel dies on channels that carry one transfer at a time ([`array`]). Operations queue per die; host
//!   reads go first, and suspend programs and erases if the part can do so.
//! - Blocks: which superblocks there are, their states and wear ([`blocks`], [`superblock_id`]).
//! - Errors: bit errors by wear, age and reads ([`reliability`], [`retention`]).
//!
//! It does not know where data of the host lies; the translation layers do ([`crate::mapping`]).

mod array;
pub(crate) mod blocks;
mod channel;
mod die;
mod op;
mod plane;
pub(crate) mod reliability;
pub(crate) mod retention;
pub(crate) mod superblock_id;

pub(crate) use array::{Array, ArrayTimes, Live, Transfer};
pub use die::Die;
pub(crate) use op::{FlashOp, OpClass, Owner, PagesRead, Progress};
pub use plane::Plane;
pub(crate) use plane::PlaneSet;
