//! The blind test of what is inferred: devices drawn at random, whose truth is known to nobody but
//! the one who draws; each is probed from outside, and the answers are counted: right, wrong, or
//! not given. The tables in docs/inference.md come from [`wide`], which draws far beyond the library.

mod dice;
mod draw;
mod error;
mod noise;
mod part;
mod score;
pub mod wide;

pub use draw::{Drawn, Truth, draw};
pub use error::BlindError;
pub use noise::{Noise, Noisy};
pub use part::Part;
pub use score::{Judged, Outcome, Row, Table, judge};

use nandscope_device::Device;
use nandscope_device::profile::library;
use nandscope_infer::probe::{Options, Report, probe};
use nandscope_infer::timed::ProbeError;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_units::Bytes;

const HOST: &str = "direct";

/// A drawn device that was probed.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Drawn device with its true answers.
    pub drawn: Drawn,
    /// Report of the probe.
    pub report: Report,
    /// Judgement of each answer.
    pub judged: Vec<Judged>,
}

/// Probes the drawn device with that number; the report and how each answer fares. `None` if it was
/// interrupted.
///
/// # Errors
/// [`BlindError`] if the device cannot be drawn, made or probed.
pub fn try_out(
    number: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Tried>, BlindError> {
    let drawn = draw(number, seed)?;
    let host = library::host(HOST).ok_or(BlindError::NoHost(HOST))?;
    let host = host
        .host_profile()
        .map_err(|_| BlindError::FaultyHost(HOST))?;
    let device = Device::new(&drawn.profile, &host, seed ^ number)
        .map_err(|e| BlindError::from(e).of(number, seed))?;
    let part = Part::new(SimTarget::new(device), Bytes(drawn.begin));
    let target = Noisy::new(part, drawn.noise, seed ^ number ^ 0x5eed);
    let options = Options {
        seed: seed ^ number,
        ..Options::for_capacity(target.capacity())
    };
    match probe(target, &options, stop, &mut |_, _| {}) {
        Ok(_) if stop() => Ok(None),
        Ok(report) => {
            let judged = judge(&drawn.truth, &report);
            Ok(Some(Tried {
                drawn,
                report,
                judged,
            }))
        }
        Err(ProbeError::Stopped) => Ok(None),
        Err(ProbeError::Failed(why)) => Err(BlindError::Probe(why).of(number, seed)),
    }
}
