//! A device driven command by command: `submit`, `advance`, and the clock.

use super::Device;
use crate::error::Failure;
use crate::python::to_python;
use nandscope_device::{self as device, Command, CommandKind, Payload, Status};
use nandscope_units::{Lba, Nanos};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Longest time that one call advances while it holds the interpreter.
const SHORT: Nanos = Nanos::from_secs(1);

/// A finished command.
#[pyclass(frozen, module = "nandscope", name = "Completion")]
#[derive(Debug)]
pub struct Completion(device::Completion);

#[pymethods]
impl Completion {
    /// Tag of the command, as `submit` gave it.
    #[getter]
    fn tag(&self) -> u64 {
        self.0.tag
    }

    /// `ok`, `lba-out-of-range`, `uncorrectable-read`, `read-only` or `unsupported`.
    #[getter]
    fn status(&self) -> &'static str {
        match self.0.status {
            Status::Ok => "ok",
            Status::LbaOutOfRange => "lba-out-of-range",
            Status::UncorrectableRead => "uncorrectable-read",
            Status::ReadOnly => "read-only",
            Status::Unsupported => "unsupported",
        }
    }

    /// When the host submitted it, ns.
    #[getter]
    fn submitted_ns(&self) -> u64 {
        self.0.submitted.0
    }

    /// When the host saw the completion, ns.
    #[getter]
    fn completed_ns(&self) -> u64 {
        self.0.completed.0
    }

    /// From submission to completion, ns.
    #[getter]
    fn latency_ns(&self) -> u64 {
        self.0.latency().0
    }

    /// The answer to `identify` and `health`; `None` for other commands.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let payload = match self.0.payload.as_deref() {
            None => return Ok(None),
            Some(Payload::Identity(identity)) => to_python(py, identity),
            Some(Payload::Health(health)) => to_python(py, health),
        };
        payload.map(Some)
    }

    fn __repr__(&self) -> String {
        format!(
            "<nandscope.Completion {}: {}, {}>",
            self.0.tag,
            self.status(),
            self.0.latency()
        )
    }
}

fn kind_of(name: &str, fua: bool) -> Result<CommandKind, Failure> {
    let kind = match name {
        "read" => CommandKind::Read,
        "write" => CommandKind::Write { fua },
        "flush" => CommandKind::Flush,
        "discard" | "trim" => CommandKind::Discard,
        "identify" => CommandKind::Identify,
        "health" => CommandKind::Health,
        _ => {
            return Err(Failure::Input(format!(
                "unknown command `{name}`; use read, write, flush, discard, identify or health"
            )));
        }
    };
    match fua && name != "write" {
        true => Err(Failure::Input(format!(
            "fua is for writes, and this is a {name}"
        ))),
        false => Ok(kind),
    }
}

#[pymethods]
impl Device {
    /// Present time on the device's clock, ns.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.shared.take()?.device()?.now().0)
    }

    /// Time of the next event in the device, ns; `None` if nothing happens without a new command.
    #[getter]
    fn next_event_ns(&self) -> PyResult<Option<u64>> {
        Ok(self.shared.take()?.device()?.next_event().map(|at| at.0))
    }

    /// Submits a command and gives its tag: `read`, `write`, `flush`, `discard`, `identify` or `health`.
    ///
    /// `lba` and `sectors` count blocks of 512 bytes. `at` is a time in ns, from the present up to the next
    /// event; now by default. Any number of commands may be outstanding.
    #[pyo3(signature = (command, lba=0, sectors=0, *, fua=false, tag=None, at=None))]
    fn submit(
        &self,
        command: &str,
        lba: u64,
        sectors: u32,
        fua: bool,
        tag: Option<u64>,
        at: Option<u64>,
    ) -> PyResult<u64> {
        let kind = kind_of(command, fua)?;
        let mut slot = self.shared.take()?;
        let tag = tag.unwrap_or(slot.next_tag);
        let device = slot.device()?;
        let at = at.map_or(device.now(), Nanos);
        let command = Command {
            tag,
            kind,
            lba: Lba(lba),
            sectors,
        };
        device.submit(command, at).map_err(Failure::input)?;
        slot.next_tag = slot.next_tag.max(tag.wrapping_add(1));
        slot.outstanding += 1;
        Ok(tag)
    }

    /// Advances the clock to `until` (ns), or to the first instant at which commands complete, and gives
    /// these. Without `until` it advances to the next completions; with nothing outstanding it does nothing then.
    #[pyo3(signature = (until=None))]
    fn advance(&self, py: Python<'_>, until: Option<u64>) -> PyResult<Vec<Completion>> {
        let mut slot = self.shared.take()?;
        let (now, outstanding) = (slot.device()?.now(), slot.outstanding);
        let until = match until.map(Nanos) {
            None if outstanding == 0 => return Ok(Vec::new()),
            None => Nanos::MAX,
            Some(until) if until < now => {
                let text = format!("until is {until}, and the device is at {now} already");
                return Err(Failure::Input(text).into());
            }
            Some(until) => until,
        };
        let completions = if until.saturating_sub(now) <= SHORT || until == Nanos::MAX {
            advance(slot.device()?, until)
        } else {
            drop(slot);
            let completions = self.work(py, move |slot| Ok(advance(slot.device()?, until)))?;
            slot = self.shared.take()?;
            completions
        };
        slot.outstanding = slot.outstanding.saturating_sub(completions.len() as u64);
        Ok(completions.into_iter().map(Completion).collect())
    }
}

/// Advances until commands complete or the time is reached.
fn advance(device: &mut device::Device, until: Nanos) -> Vec<device::Completion> {
    let mut completions = Vec::new();
    loop {
        let reached = device.advance(until, &mut completions);
        let is_idle = until == Nanos::MAX && device.next_event().is_none();
        if !completions.is_empty() || reached >= until || is_idle {
            return completions;
        }
    }
}
