//! Cards with allocation units against closed forms.

mod areas;
mod mapping;
mod merging;
mod reading;
mod sharing;
mod wearing;
mod writing;

use crate::support::plain::{FAST_LINK, link_ns};
use crate::support::{device_on, one, read, write};
use nandscope_device::profile::Profile;
use nandscope_device::{Device, Fill, Status};

/// A full card at rest.
fn full(p: &Profile) -> Device {
    let mut d = device_on(p, FAST_LINK);
    assert!(d.precondition(1.0, Fill::Sequential));
    d
}

/// Time of one write, µs.
fn write_us(d: &mut Device, offset: u64, length: u64) -> f64 {
    let done = one(d, write(0, offset, length as u32));
    assert_eq!(done.status, Status::Ok);
    done.latency().as_micros_f64()
}

/// Time of one read, µs.
fn read_us(d: &mut Device, offset: u64, length: u64) -> f64 {
    let done = one(d, read(0, offset, length as u32));
    assert_eq!(done.status, Status::Ok);
    done.latency().as_micros_f64()
}

fn link_us(bytes: u64) -> f64 {
    link_ns(FAST_LINK, bytes) as f64 / 1e3
}

/// Exact except for rounding to whole nanoseconds.
#[track_caller]
fn exactly(what: &str, got: f64, expected: f64) {
    assert!(
        (got - expected).abs() < 0.01,
        "{what}: {got} instead of {expected} µs"
    );
}
