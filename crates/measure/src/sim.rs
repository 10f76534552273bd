//! A simulated device as a target: virtual time advances only to the next completion.
//!
//! One [`Request`] is one [`Command`]: nothing is split or merged.

use crate::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_device::{Command, CommandKind, Completion, Device, SimulatedDevice, Status};
use nandscope_units::{Bytes, Lba, Nanos, SECTOR_BYTES};
use nandscope_workload::OpKind;

/// The target that drives a [`SimulatedDevice`].
#[derive(Debug)]
pub struct SimTarget<D = Device> {
    device: D,
    now: Nanos,
    outstanding: u64,
    completions: Vec<Completion>,
}

impl<D: SimulatedDevice> SimTarget<D> {
    /// A target for a device, new or used, at the present time of the device's clock.
    pub fn new(device: D) -> Self {
        let now = device.now();
        Self::at(device, now)
    }

    /// A target over a device that has been driven up to `now` already.
    pub fn at(device: D, now: Nanos) -> Self {
        SimTarget {
            device,
            now,
            outstanding: 0,
            completions: Vec::new(),
        }
    }

    /// The device, at the present of [`Target::now`].
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, for changes between runs (attach it to another host, cut its power).
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Returns the device, advanced to [`Target::now`].
    pub fn into_device(self) -> D {
        self.device
    }

    fn deliver(&mut self, replies: &mut Vec<Reply>) {
        for completion in &self.completions {
            self.outstanding = self.outstanding.saturating_sub(1);
            // Tags are submitted as u32; a larger one belongs to a command of someone else.
            let Ok(tag) = u32::try_from(completion.tag) else {
                continue;
            };
            replies.push(Reply {
                tag,
                submitted: completion.submitted,
                completed: completion.completed,
                outcome: outcome(completion.status),
            });
        }
        self.completions.clear();
    }
}

impl<D: SimulatedDevice> Target for SimTarget<D> {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let command = Command {
            tag: u64::from(request.tag),
            kind: match request.kind {
                OpKind::Read => CommandKind::Read,
                OpKind::Write => CommandKind::Write {
                    fua: request.durable,
                },
                OpKind::Trim => CommandKind::Discard,
                OpKind::Flush => CommandKind::Flush,
            },
            lba: Lba::containing(request.offset),
            sectors: request.length / SECTOR_BYTES as u32,
        };
        self.device
            .submit(command, self.now)
            .map_err(|e| TargetError::Other(e.to_string()))?;
        self.outstanding += 1;
        Ok(())
    }

    #[inline]
    fn expect(&mut self, offset: Bytes) {
        self.device.prefetch(Lba::containing(offset));
    }

    fn longest_wait(&self) -> Nanos {
        Nanos::MAX
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        if self.outstanding == 0 && until == Nanos::MAX {
            return Ok(());
        }
        loop {
            let reached = self.device.advance(until, &mut self.completions);
            if !self.completions.is_empty() {
                self.now = self.now.max(reached);
                self.deliver(replies);
                return Ok(());
            }
            if self.outstanding > 0 && self.device.next_event().is_none() {
                return Err(TargetError::Other(format!(
                    "the simulated device holds {} commands at {} but has nothing left to do; this is a bug of the model",
                    self.outstanding, self.now
                )));
            }
            if reached >= until {
                self.now = self.now.max(until);
                return Ok(());
            }
            if reached <= self.now {
                return Err(TargetError::Other(format!(
                    "the simulated device does not advance beyond {} towards {until}; this is a bug of the model",
                    self.now
                )));
            }
            self.now = reached;
        }
    }

    fn reading(&mut self) -> Reading {
        let telemetry = self.device.telemetry();
        Reading {
            energy_j: Some(telemetry.energy_j),
            host_energy_j: None,
            transferred: None,
            device_temperature_c: Some(telemetry.smart_temperature_c),
            surface_temperature_c: Some(telemetry.surface_temperature_c),
            throttle: Some(telemetry.throttle),
            slc_used: Some(telemetry.counters.slc_used),
            read_only_since: telemetry.read_only_since,
            counters: Some(telemetry.counters),
        }
    }
}

fn outcome(status: Status) -> Outcome {
    match status {
        Status::Ok => Outcome::Done,
        Status::LbaOutOfRange => Outcome::Failed("the range reaches beyond the end of the target"),
        Status::UncorrectableRead => Outcome::Failed("uncorrectable read"),
        Status::ReadOnly => Outcome::Failed("the device reached its end of life and is read-only"),
        Status::Unsupported => Outcome::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::{Cut, FixedLatencyDevice, SubmitError};

    const CAPACITY: Bytes = Bytes::mib(1);

    /// Completes every command after 10 ns, loses trims, and cannot read sector 7.
    struct Faulty(FixedLatencyDevice);

    impl Faulty {
        fn new() -> Self {
            Faulty(FixedLatencyDevice::new(CAPACITY, Nanos(10)))
        }
    }

    impl SimulatedDevice for Faulty {
        fn now(&self) -> Nanos {
            self.0.now()
        }

        fn capacity(&self) -> Bytes {
            self.0.capacity()
        }

        fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
            if command.kind == CommandKind::Discard {
                return Ok(());
            }
            let tag = command.tag | u64::from(command.lba == Lba(7)) << 32;
            self.0.submit(Command { tag, ..command }, at)
        }

        fn next_event(&self) -> Option<Nanos> {
            self.0.next_event()
        }

        fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
            let reached = self.0.advance(until, completions);
            for completion in completions.iter_mut().filter(|c| c.tag >> 32 == 1) {
                completion.tag &= u64::from(u32::MAX);
                completion.status = Status::UncorrectableRead;
            }
            reached
        }

        fn cut_power(&mut self) -> Cut {
            self.0.cut_power()
        }
    }

    /// The text of a step on a fresh reference device.
    fn simulated_step(seed: u64) -> String {
        use crate::build::{StepMeta, step_result};
        use crate::runner::{Ending, Thread, run_group};
        use nandscope_device::profile::library;
        use nandscope_workload::{Op, OpSource, Pacing, TimedOp};

        /// Writes 64 MiB, then reads every third of its blocks.
        struct WriteThenRead(u64);
        impl OpSource for WriteThenRead {
            fn next_op(&mut self) -> Option<TimedOp> {
                let (kind, block) = match self.0 {
                    0..1024 => (OpKind::Write, self.0),
                    1024 => (OpKind::Flush, 0),
                    1025..1400 => (OpKind::Read, (self.0 * 3) % 1024),
                    _ => return None,
                };
                self.0 += 1;
                let length = if kind == OpKind::Flush { 0 } else { 65_536 };
                let offset = Bytes(block * 65_536);
                let op = Op {
                    kind,
                    offset,
                    length,
                };
                Some(TimedOp { op, due: None })
            }
        }

        let profile = library::device("reference-nvme-64gb").unwrap();
        let host = library::host("direct").unwrap();
        let profile = profile.profile().unwrap();
        let device = Device::new(&profile, &host.host_profile().unwrap(), seed).unwrap();
        let mut target = SimTarget::new(device);
        let pacing = Pacing {
            iodepth: 8,
            ..Pacing::default()
        };
        let threads = vec![Thread::new(Box::new(WriteThenRead(0)), pacing, 0)];
        let outcome = run_group(&mut target, threads, None, &mut (), &|| false).unwrap();
        assert_eq!(outcome.ending, Ending::Complete);
        let step = step_result(&outcome, StepMeta::default(), &[]);
        let kinds = step.jobs[0].directions.iter();
        let operations: Vec<_> = kinds.map(|d| (d.kind.as_str(), d.operations)).collect();
        assert_eq!(operations, [("read", 375), ("write", 1024), ("flush", 1)]);
        assert_eq!(step.counters["host_written_bytes"], 67_108_864.0);
        assert!(step.counters["flash_programmed_bytes"] >= 67_108_864.0);
        serde_json::to_string(&step).unwrap()
    }

    #[test]
    fn the_simulated_device_gives_the_same_step_twice() {
        assert_eq!(simulated_step(7), simulated_step(7));
    }

    fn request(tag: u32, kind: OpKind, offset: u64) -> Request {
        Request {
            tag,
            kind,
            offset: Bytes(offset),
            length: 512,
            durable: false,
            thread: 0,
        }
    }

    #[test]
    fn stops_at_the_first_completion_and_at_the_given_time() {
        let mut target = SimTarget::new(Faulty::new());
        let mut replies = Vec::new();
        target.submit(request(1, OpKind::Read, 0)).unwrap();
        target.wait(Nanos(4), &mut replies).unwrap();
        assert_eq!((target.now(), replies.len()), (Nanos(4), 0));
        target.submit(request(2, OpKind::Read, 7 * 512)).unwrap();
        target.wait(Nanos::MAX, &mut replies).unwrap();
        assert_eq!(target.now(), Nanos(10));
        target.wait(Nanos::MAX, &mut replies).unwrap();
        assert_eq!(target.now(), Nanos(14));
        let seen: Vec<_> = replies.iter().map(|r| (r.tag, r.outcome)).collect();
        assert_eq!(
            seen,
            [
                (1, Outcome::Done),
                (2, Outcome::Failed("uncorrectable read"))
            ]
        );
        target.wait(Nanos::MAX, &mut replies).unwrap();
        assert_eq!(target.now(), Nanos(14));
        target.wait(Nanos(50), &mut replies).unwrap();
        assert_eq!(target.now(), Nanos(50));
    }

    #[test]
    fn a_lost_command_is_an_error_and_no_endless_wait() {
        let mut target = SimTarget::new(Faulty::new());
        target.submit(request(1, OpKind::Trim, 0)).unwrap();
        let error = target.wait(Nanos::MAX, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("1 commands"), "{error}");
    }
}
