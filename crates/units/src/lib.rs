//! Quantities that carry their unit in their type: [`Nanos`] of time, [`Bytes`], [`Lba`] (512-byte
//! logical blocks) and [`Rate`] in bytes per second; plus the text forms that job files, profiles
//! and the command line share (`4k`, `32MiB`, `1.5s`), the escaped form of
//! foreign text, the spelling that was meant, fields of CSV, checksums, and medians.
//!
//! [`random`] has the generators of random numbers, [`number`] the text forms of numbers with units. This crate does no I/O, and knows nothing of devices or jobs.

mod bytes;
mod crc7;
mod csv;
mod fnv;
mod median;
mod nanos;
mod narrow;
mod nearest;
pub mod number;
mod printable;
pub mod random;
mod rate;
mod text;

pub use bytes::{Bytes, Lba, SECTOR_BYTES};
pub use crc7::crc7;
pub use csv::{csv_field, csv_line};
pub use fnv::Fnv1a;
pub use median::median;
pub use nanos::Nanos;
pub use narrow::{saturating_u32, saturating_usize};
pub use nearest::nearest;
pub use printable::{printable, printable_line};
pub use rate::Rate;
pub use text::{ParseQuantityError, SizeBase, parse_duration, parse_size};
