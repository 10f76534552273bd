//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod advise;
mod beside_fio;
#[path = "../../../fuzz/src/bodies.rs"]
mod bodies;
mod calc;
mod cards;
mod documents;
mod emit;
mod fio_numbers;
mod fio_rates;
mod fio_tools;
mod fio_verify;
mod foreign;
mod fs;
mod fs_host;
mod fs_served;
mod hostile_input;
mod inspect;
mod interrupted;
mod json_forms;
mod mutate;
mod mutate_all;
mod outputs;
mod pages;
mod probe;
mod real;
mod real_faults;
mod reference;
mod resume;
mod review;
mod run;
mod run_contents;
mod run_notices;
mod run_options;
mod run_ties;
mod same_as_library;
mod sentences;
mod serve;
mod serve_faults;
mod serve_file;
mod serve_fio;
mod serve_guest;
mod serve_hostile;
mod serve_killed;
mod shelf;
mod shelf_serve;
mod signals;
mod support;
mod sweep_fullness;
mod sweep_points;
mod verify;
mod verify_journal;
mod verify_served;
mod wrong_input;
