//! Timing of the flash array: parallel dies on channels that carry one transfer at a time.
//! Operations queue per die; host reads go first, and suspend programs and erases if the part can do so.
//! Contents and read errors are handled elsewhere.

mod array;
mod channel;
mod die;
mod op;
mod plane;

pub(crate) use array::{Array, ArrayTimes, Transfer};
pub use die::Die;
pub(crate) use op::{FlashOp, OpClass, Owner, PagesRead, Progress};
pub use plane::Plane;
pub(crate) use plane::PlaneSet;
