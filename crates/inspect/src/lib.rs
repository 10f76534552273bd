//! What the machine says about a real target: what it is ([`identity`], [`registers`]), what state
//! the machine is in ([`conditions`]), what instruments show while it is measured ([`telemetry`]),
//! and whether it may be opened and written at all ([`guard`]).
//!
//! Every reader of the system takes the places of `/sys`, `/proc` and `/dev` from [`Roots`], so
//! that a test can show it any machine. This crate drives no operations, prints nothing and asks
//! nobody: the text of a question is made here, the asking is left to the caller. It knows Linux.

pub mod conditions;
pub mod guard;
pub mod identity;
pub mod mounts;
pub mod place;
pub mod registers;
pub mod signature;
pub mod telemetry;

mod layers;
mod loops;
mod lossy;
mod number;
mod program;
mod roots;

pub use number::DeviceNumber;
pub use roots::Roots;
