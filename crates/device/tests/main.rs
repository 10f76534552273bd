//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acknowledged;
mod adapters;
mod arithmetic;
mod card_commands;
mod cards;
mod cards_random;
mod conservation;
mod decoding;
mod determinism;
mod discards;
mod durability;
mod end_of_life;
mod exact;
mod forged_snapshots;
mod gc_pacing;
mod hosts;
mod idle_timer;
mod library_geometries;
mod map_window;
mod parity;
mod plane_reads;
mod power;
mod power_cut;
mod power_states;
mod priority;
mod profiles;
mod registers;
mod reliability;
mod relocation;
mod scattered;
mod slc_cache;
mod small_io;
mod stated_speeds;
mod stepwise;
mod support;
mod victim_policy;
mod write_amplification;
