//! Information of the machine about a real target: its identity ([`identity`], [`registers`]), the
//! conditions of the machine ([`conditions`]), instruments during a measurement ([`telemetry`]), and
//! permission to open and write it ([`guard`]); and the commands by which it erases itself ([`purge`]).
//!
//! Readers take the locations of `/sys`, `/proc` and `/dev` from [`Roots`], so that a test can present
//! any machine. This crate drives no operations, prints nothing and does not interact with the user: it
//! makes the text of a prompt, the caller shows it. It is for Linux.

pub mod card_health;
pub mod conditions;
pub mod disks;
pub mod guard;
pub mod identity;
pub mod loops;
pub mod mounts;
pub mod place;
pub mod purge;
pub mod registers;
pub mod signature;
pub mod telemetry;

mod layers;
mod lossy;
mod number;
mod program;
mod roots;
mod size;

pub use number::DeviceNumber;
pub use roots::Roots;
pub use size::decimal_size;
