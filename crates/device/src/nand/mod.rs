//! The flash array in time: dies that work in parallel behind channels that carry one transfer at
//! a time. Operations queue per die; reads of the host go first; programs and erases may be
//! suspended for them where the part can. What the data is, and whether a read succeeds, is not
//! known here.

mod array;
mod die;
mod op;

pub(crate) use array::{Array, ArrayTimes};
pub use die::Die;
pub(crate) use op::{FlashOp, OpClass, Owner, Progress};
