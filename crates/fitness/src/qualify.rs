//! The streams of a requirement on a simulated device in the states in which a device is met (new, half full, full, and
//! in use), or on a real device as it is.

use crate::cuts::{CutTarget, Cuts};
use crate::lifetime::{Rating, Years};
use crate::recording::{
    Limit, Recording, RecordingError, RecordingOptions, operations_per_s, record,
};
use crate::requirement::{Area, Direction, Pattern, Requirement};
use nandscope_device::Device;
use nandscope_experiment::{Precondition, PreconditionError};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;
use std::ops::ControlFlow;
use thiserror::Error;

/// Operations of a recording whose length is not given: they take seconds of processor time.
const OPERATIONS: f64 = 100_000.0;
/// Shortest and longest recording whose length is not given, s.
const SECONDS: (f64, f64) = (60.0, 86_400.0);
/// Longest recording on a real device whose length is not given, s: a command that ends while the user waits.
const LONGEST_REAL_S: f64 = 600.0;
/// Overwrites in a state are drawn with the seed of the recording and this number.
const OVERWRITES: u64 = 0x6f76_6572;

/// A state of the device before the streams begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Name in reports.
    pub name: &'static str,
    /// How it is made.
    pub precondition: Precondition,
}

/// The states in which a device is examined.
pub const STATES: [State; 4] = [
    State {
        name: "new",
        precondition: Precondition::None,
    },
    State {
        name: "half full",
        precondition: Precondition::Sequential(50.0),
    },
    State {
        name: "full",
        precondition: Precondition::Sequential(100.0),
    },
    State {
        name: "in use",
        precondition: Precondition::Overwritten(1.0),
    },
];

/// A device as it is, such as a saved one.
pub const AS_IT_IS: State = State {
    name: "as it is",
    precondition: Precondition::None,
};

/// A device cannot be examined.
#[derive(Debug, Error)]
pub enum QualifyError {
    /// It cannot be brought into a state.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// The streams cannot be recorded.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl QualifyError {
    /// Whether the caller ended it.
    pub fn is_interruption(&self) -> bool {
        matches!(
            self,
            QualifyError::Precondition(PreconditionError::Stopped)
                | QualifyError::Recording(RecordingError::Stopped)
        )
    }
}

/// How to examine a device.
#[derive(Clone, Copy, Debug)]
pub struct QualifyOptions {
    /// Length of each recording; `None` for [`default_duration`].
    pub duration: Option<Nanos>,
    /// Seed of random places.
    pub seed: u64,
}

/// Recordings of the streams on the device in one state.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Name of the state.
    pub state: &'static str,
    /// Streams with buffers without limit.
    pub free: Recording,
    /// Streams with the buffers of the requirement, if one of them was too small.
    pub limited: Option<Recording>,
    /// Power cuts, if the requirement has them.
    pub cuts: Option<Cuts>,
    /// Inside of the device; `None` for a real one.
    pub inside: Option<Inside>,
}

/// Properties of a simulated device that a recording on a real one does not show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inside {
    /// Time of the recording.
    pub duration: Nanos,
    /// Wear of the mean block, cycles per day of 24 hours of recording.
    pub cycles_per_day: f64,
    /// Cycles of superblocks during the recording, on which the wear rests.
    pub cycles: f64,
    /// Superblocks in use.
    pub blocks: u64,
    /// Least share of full speed that thermal throttling left at the end of the recording.
    pub throttle: f64,
    /// Whether the device became read-only.
    pub is_read_only: bool,
}

impl Inside {
    /// Years to the rated cycles at this duty, and whether the wear rests on 20 or more cycles of superblocks; with fewer, one
    /// cycle more is added, so that the years are a lower bound.
    pub fn years(&self, rating: &Rating, hours_per_day: f64) -> (Years, bool) {
        let is_counted = self.cycles >= LEAST_CYCLES;
        let (per_day, error) = match is_counted {
            true => (self.cycles_per_day, 1.0 / self.cycles),
            false => {
                let days = self.duration.as_secs_f64() / 86_400.0;
                let cycles = (self.cycles + 1.0) / self.blocks.max(1) as f64;
                (cycles / days.max(1e-9), 0.0)
            }
        };
        (
            Years::of(rating, per_day * hours_per_day / 24.0, error),
            is_counted,
        )
    }
}

/// Cycles of superblocks on which a wear rests.
const LEAST_CYCLES: f64 = 20.0;

/// Length of a recording: the time in which each sequential stream that writes passes its area once, within 1 minute and
/// 24 hours, and at most 100,000 operations, but at least 1 minute.
pub fn default_duration(requirement: &Requirement, capacity: nandscope_units::Bytes) -> Nanos {
    let pass = |s: &crate::requirement::Stream| {
        let area = match s.area {
            Area::Size(size) => size.0 as f64,
            Area::Share(share) => capacity.0 as f64 * share,
            Area::Rest => capacity.0 as f64,
        };
        area / s.bytes_per_s()
    };
    let writes = requirement.streams.iter();
    let writes =
        writes.filter(|s| s.direction == Direction::Write && s.pattern == Pattern::Sequential);
    let longest = writes.map(pass).fold(0.0, f64::max);
    let by_work = OPERATIONS / operations_per_s(requirement).max(1e-9);
    let by_pass = if longest > 0.0 { longest } else { by_work };
    Nanos::from_secs_f64(by_pass.min(by_work).clamp(SECONDS.0, SECONDS.1))
}

/// Examines a copy of the device in one state. `progress` is called with the finished share, and ends the work by
/// returning false.
///
/// # Errors
/// [`QualifyError`] if the device cannot be brought into the state, or the streams do not fit it.
pub fn measure(
    device: &Device,
    requirement: &Requirement,
    state: State,
    options: &QualifyOptions,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Measured, QualifyError> {
    let mut device = device.clone();
    let seed = options.seed ^ OVERWRITES;
    state
        .precondition
        .apply_in_steps(&mut device, seed, &mut |_| match progress(0.0) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })?;
    let duration = options.duration;
    let duration = duration.unwrap_or_else(|| default_duration(requirement, device.capacity()));
    let recording = |limit| RecordingOptions {
        duration,
        seed: options.seed,
        limit,
    };
    let before = device.wear();
    let conditioned = device.clone();
    let (free, device, cuts) = match requirement.power_cuts {
        false => {
            let mut target = SimTarget::new(device);
            let free = record(&mut target, requirement, &recording(Limit::None), progress)?;
            (free, target.into_device(), None)
        }
        true => {
            let mut target = CutTarget::new(device, duration);
            let free = record(&mut target, requirement, &recording(Limit::None), progress)?;
            let found = target.found;
            (free, target.into_device(), Some(found))
        }
    };
    let (after, telemetry) = (device.wear(), device.telemetry());
    let limited = match is_short(requirement, &free) {
        true => {
            let mut target = SimTarget::new(conditioned);
            let options = recording(Limit::AsRequired);
            Some(record(&mut target, requirement, &options, progress)?)
        }
        false => None,
    };
    let mean = (after.mean - before.mean).max(0.0);
    Ok(Measured {
        state: state.name,
        free,
        limited,
        cuts,
        inside: Some(Inside {
            duration,
            cycles_per_day: mean / duration.as_secs_f64().max(1e-9) * 86_400.0,
            cycles: mean * after.blocks as f64,
            blocks: after.blocks,
            throttle: telemetry.throttle,
            is_read_only: telemetry.read_only_since.is_some(),
        }),
    })
}

/// Whether a stream needed more than the buffer of the application.
fn is_short(requirement: &Requirement, free: &Recording) -> bool {
    let mut both = requirement.streams.iter().zip(&free.streams);
    both.any(|(s, r)| s.buffer.is_some_and(|b| r.peak > b))
}

/// Examines a target as it is, without looking inside: a real device. `progress` is called at least once a second with the
/// finished share of a recording, and ends the work by returning false. There is a second recording if a buffer of the
/// requirement is too small.
///
/// # Errors
/// [`QualifyError`] if the streams do not fit the target, or it fails as a whole.
pub fn measure_as_it_is<T: Target + ?Sized>(
    target: &mut T,
    requirement: &Requirement,
    options: &QualifyOptions,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Measured, QualifyError> {
    let duration = options.duration;
    let duration = duration.unwrap_or_else(|| {
        let longest = Nanos::from_secs_f64(LONGEST_REAL_S);
        default_duration(requirement, target.capacity()).min(longest)
    });
    let mut recorded = |limit| {
        let options = RecordingOptions {
            duration,
            seed: options.seed,
            limit,
        };
        record(target, requirement, &options, progress)
    };
    let free = recorded(Limit::None)?;
    let limited = match is_short(requirement, &free) {
        true => Some(recorded(Limit::AsRequired)?),
        false => None,
    };
    Ok(Measured {
        state: AS_IT_IS.name,
        free,
        limited,
        cuts: None,
        inside: None,
    })
}
