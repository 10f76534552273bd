//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command_line;
mod corpus;
mod fio;
mod fio_random;
mod grammar;
mod grammar_random;
mod grammar_refusals;
mod grammar_surroundings;
mod layout;
mod library;
mod operations;
