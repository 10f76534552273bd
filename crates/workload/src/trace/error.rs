//! Errors of traces and of their replay. Each message has a location and a remedy.

use nandscope_units::Bytes;
use thiserror::Error;

/// Why a trace could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// A line or field that cannot be read.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The fault, and what was expected.
        what: String,
    },
    /// A record is earlier than the one before it.
    #[error(
        "{file}:{line}: time goes backwards by {back_ns} ns; sort the file by time, or write `nandscope_trace_sort=1` into the job (`--sort` of `nandscope trace`)"
    )]
    Backwards {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Difference of the times, ns.
        back_ns: u64,
    },
    /// The file mixes several devices and none was chosen.
    #[error(
        "{file}:{line}: device {second} appears beside device {first}; choose one with `nandscope_trace_device={first}` in the job (`--device {first}` of `nandscope trace`)"
    )]
    Devices {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The device of the first record.
        first: String,
        /// Name of the second device.
        second: String,
    },
    /// No line of the file is a requested one.
    #[error("{file}: holds no request ({seen}); is it really {format}?{remedy}")]
    Empty {
        /// The name of the file.
        file: String,
        /// Format as which the file was read.
        format: &'static str,
        /// The text found instead.
        seen: String,
        /// Remedy, preceded by a blank; empty if none is known.
        remedy: String,
    },
    /// A `.nstrace` file that is damaged or of another version.
    #[error("{file}: {what}")]
    Binary {
        /// The name of the file.
        file: String,
        /// Description of the fault.
        what: String,
    },
    /// No known format fits.
    #[error(
        "{file}: is in no known trace format; known are fio iolog (2, 3), blkparse text, blktrace, MSR Cambridge CSV, Alibaba CSV, SPC, Systor '17 CSV, nstrace, each also packed by gzip"
    )]
    UnknownFormat {
        /// The name of the file.
        file: String,
    },
}

/// Longest pass of a trace in years: a run of some passes then stays within the clock of a run.
pub(super) const MOST_YEARS: u64 = 100;

/// Why a trace cannot be replayed on a device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// A request reaches beyond the device.
    #[error(
        "record {record} of the trace ends at byte {end}, beyond the device of {capacity}; use fit=scale or fit=wrap, or a larger device"
    )]
    Beyond {
        /// The record, from 1.
        record: u64,
        /// End of the request, exclusive, bytes.
        end: u64,
        /// The size of the device.
        capacity: Bytes,
    },
    /// The trace touches more than the device holds.
    #[error(
        "the trace touches {footprint} in all, the device holds {capacity}; use fit=wrap, or a larger device"
    )]
    Footprint {
        /// Bytes touched at least once, in blocks of 4 KiB.
        footprint: Bytes,
        /// The size of the device.
        capacity: Bytes,
    },
    /// An open loop needs times.
    #[error("the trace has no times; replay it in a closed loop")]
    Untimed,
    /// The speed is zero, negative or not a number.
    #[error("the replay speed must be a number above zero")]
    Speed,
    /// A request is due beyond the clock of a run.
    #[error(
        "record {record} of the trace is due {years} years after the first, and a pass may take {most}; check the unit of its times, or cut pauses with an idle cap",
        most = MOST_YEARS
    )]
    BeyondClock {
        /// The record, from 1.
        record: u64,
        /// Due time, in years from the first record.
        years: u64,
    },
    /// The device has no room for even one block of 4 KiB.
    #[error("the device of {0} is smaller than one block of 4 KiB")]
    TooSmall(Bytes),
}
