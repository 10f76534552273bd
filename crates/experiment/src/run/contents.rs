//! Contents of a simulated device in `run --contents`: writes are stored, reads are compared where a job
//! verifies, and faults change both as on a served card. The device decides how long everything takes.

use nandscope_blockio::fault::{FaultCommand, Faults, InvalidCommand, NotFake};
use nandscope_blockio::store::Store;
use nandscope_measure::data_source::DataSource;
use nandscope_measure::target::{Load, Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use thiserror::Error;

/// A target without contents of its own, and contents for it if the run wants them.
#[derive(Debug)]
pub struct ContentTarget<T> {
    device: T,
    contents: Option<Contents>,
}

/// See the module's text.
#[derive(Debug)]
pub struct Contents {
    store: Store,
    faults: Faults,
    data: DataSource,
    /// Operations in flight, by tag.
    flights: Vec<Flight>,
    /// Replies that a fault delays or makes, ordered by time.
    delayed: Vec<Reply>,
    /// Number of writes so far, by thread.
    writes: Vec<u64>,
    /// Data of the last read.
    read: Vec<u8>,
}

/// An operation in flight, and what it writes.
#[derive(Debug, Default)]
struct Flight {
    request: Option<Request>,
    data: Vec<u8>,
}

/// A fault of the contents that a run cannot have.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ContentsError {
    /// The text is not a fault command.
    #[error(transparent)]
    Command(#[from] InvalidCommand),
    /// The fault concerns unpersisted writes.
    #[error(
        "--fault `{0}`: a job cannot verify contents across a power cut, because it does not know which writes the device may lose; use `nandscope serve` or `nandscope fs --cuts`"
    )]
    PowerCut(String),
    /// The fake card would not hold less than the device.
    #[error("--fault `{fault}`: {error}")]
    NotFake {
        /// Fault command as given.
        fault: String,
        /// Cause.
        error: NotFake,
    },
}

impl Contents {
    /// Zeroes with these faults, as commands of `nandscope ctl`. Beyond 128 MiB they are in a temporary
    /// file.
    ///
    /// # Errors
    /// Returns [`ContentsError`] if a command is invalid or makes no sense in a run.
    pub fn new(capacity: Bytes, faults: &[String], seed: u64) -> Result<Self, ContentsError> {
        let mut contents = Contents {
            store: Store::bounded(capacity),
            faults: Faults::new(seed),
            data: DataSource::default(),
            flights: Vec::new(),
            delayed: Vec::new(),
            writes: Vec::new(),
            read: Vec::new(),
        };
        for text in faults {
            let command: FaultCommand = text.parse()?;
            if needs_power_cuts(&command) {
                return Err(ContentsError::PowerCut(text.clone()));
            }
            let injected = contents.inject(command);
            injected.map_err(|error| ContentsError::NotFake {
                fault: text.clone(),
                error,
            })?;
        }
        Ok(contents)
    }

    fn inject(&mut self, command: FaultCommand) -> Result<(), NotFake> {
        self.faults.apply(command, &mut self.store).map(|_| ())
    }

    /// Takes an operation in; the outcome of one that does not reach the device.
    fn begin(&mut self, request: &Request) -> Result<Option<Outcome>, TargetError> {
        if matches!(request.kind, OpKind::Write | OpKind::Trim) {
            for command in self.faults.count_write() {
                let injected = self.inject(command);
                injected.map_err(|error| TargetError::Other(error.to_string()))?;
            }
            if self.faults.read_only {
                return Ok(Some(Outcome::Failed("the device is read-only")));
            }
        }
        let tag = request.tag as usize;
        if tag >= self.flights.len() {
            self.flights.resize_with(tag + 1, Flight::default);
        }
        let flight = &mut self.flights[tag];
        flight.request = Some(*request);
        if request.kind == OpKind::Write {
            let thread = request.thread as usize;
            if thread >= self.writes.len() {
                self.writes.resize(thread + 1, 0);
            }
            self.writes[thread] += 1;
            flight.data.resize(request.length as usize, 0);
            self.data
                .make(&mut flight.data, request, self.writes[thread]);
        }
        Ok(None)
    }

    /// An operation has come back from the device: it takes effect on the contents.
    fn end(&mut self, reply: &mut Reply) {
        let flight = self.flights.get_mut(reply.tag as usize);
        let Some(flight) = flight else {
            return;
        };
        let Some(request) = flight.request.take() else {
            return;
        };
        let mut data = std::mem::take(&mut flight.data);
        self.read.clear();
        if reply.outcome == Outcome::Done {
            reply.outcome = self.take_effect(&request, &mut data);
        }
        reply.outcome = self.data.ended(&request, &self.read, reply.outcome);
        self.flights[reply.tag as usize].data = data;
        reply.completed += self.faults.delay();
    }

    fn take_effect(&mut self, request: &Request, data: &mut [u8]) -> Outcome {
        let (offset, length) = (request.offset.0, u64::from(request.length));
        let stored = match request.kind {
            OpKind::Flush => return Outcome::Done,
            OpKind::Read if self.faults.fails_read(&(offset..offset + length)) => {
                return Outcome::Failed("unreadable");
            }
            OpKind::Read if self.data.verifier().is_none() => return Outcome::Done,
            OpKind::Read => self.store.append_to(&mut self.read, offset, length),
            OpKind::Trim => self.store.discard(offset, length),
            OpKind::Write => {
                if self.faults.corrupts() {
                    self.faults.corrupt(data);
                }
                self.store.write(offset, data)
            }
        };
        match stored {
            Ok(()) => Outcome::Done,
            Err(_) => Outcome::Failed("the contents reach no further"),
        }
    }

    /// Delivers what a fault delayed until now.
    fn deliver(&mut self, now: Nanos, replies: &mut Vec<Reply>) {
        let due = self.delayed.partition_point(|r| r.completed <= now);
        replies.extend(self.delayed.drain(..due));
    }

    fn delay(&mut self, reply: Reply) {
        let place = self
            .delayed
            .partition_point(|r| r.completed <= reply.completed);
        self.delayed.insert(place, reply);
    }

    /// The temporary file has failed: what is read is not what was written.
    fn check(&self) -> Result<(), TargetError> {
        match self.store.fault() {
            None => Ok(()),
            Some(error) => Err(TargetError::Other(format!(
                "the contents of the device: {error}"
            ))),
        }
    }
}

/// Whether a fault is about unpersisted writes.
fn needs_power_cuts(command: &FaultCommand) -> bool {
    match command {
        FaultCommand::PowerOff | FaultCommand::PowerOn | FaultCommand::PowerCycle => true,
        FaultCommand::Lie(_) => true,
        FaultCommand::AfterWrites(_, command) => needs_power_cuts(command),
        _ => false,
    }
}

impl<T> ContentTarget<T> {
    /// A target with or without contents.
    pub fn new(device: T, contents: Option<Contents>) -> Self {
        ContentTarget { device, contents }
    }

    /// The target without the contents.
    pub fn device(&self) -> &T {
        &self.device
    }

    /// The same, to change it between runs.
    pub fn device_mut(&mut self) -> &mut T {
        &mut self.device
    }

    /// Gives the target back; the contents are gone.
    pub fn into_device(self) -> T {
        self.device
    }

    /// From now on writes carry data of this source, and it compares what is read.
    pub fn write_from(&mut self, data: DataSource) {
        if let Some(contents) = &mut self.contents {
            contents.writes.clear();
            contents.data = data;
        }
    }
}

impl<T: Target> Target for ContentTarget<T> {
    fn now(&self) -> Nanos {
        self.device.now()
    }

    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        self.device.prepare(load)
    }

    fn longest_wait(&self) -> Nanos {
        self.device.longest_wait()
    }

    #[inline]
    fn expect(&mut self, offset: Bytes) {
        self.device.expect(offset);
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let Some(contents) = &mut self.contents else {
            return self.device.submit(request);
        };
        let Some(outcome) = contents.begin(&request)? else {
            return self.device.submit(request);
        };
        let now = self.device.now();
        contents.delay(Reply {
            tag: request.tag,
            submitted: now,
            completed: now,
            outcome,
        });
        Ok(())
    }

    #[inline]
    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let Some(contents) = &mut self.contents else {
            return self.device.wait(until, replies);
        };
        let first = contents.delayed.first().map_or(until, |r| r.completed);
        let before = replies.len();
        self.device.wait(until.min(first), replies)?;
        let now = self.device.now();
        for mut reply in replies.split_off(before) {
            contents.end(&mut reply);
            contents.delay(reply);
        }
        contents.deliver(now, replies);
        contents.check()
    }

    fn reading(&mut self) -> Reading {
        self.device.reading()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::FixedLatencyDevice;
    use nandscope_measure::sim::SimTarget;
    use nandscope_measure::verify::{Check, Verifier};
    use nandscope_workload::job::Job;
    use std::sync::Arc;

    const CAPACITY: Bytes = Bytes::mib(1);
    const BLOCK: u32 = 4096;

    fn target(faults: &[&str]) -> (ContentTarget<SimTarget<FixedLatencyDevice>>, Arc<Verifier>) {
        let faults: Vec<String> = faults.iter().map(|text| text.to_string()).collect();
        let contents = Contents::new(CAPACITY, &faults, 1).unwrap();
        let device = SimTarget::new(FixedLatencyDevice::new(CAPACITY, Nanos(10)));
        let mut target = ContentTarget::new(device, Some(contents));
        let verifier = Arc::new(Verifier::new(
            1,
            BLOCK,
            false,
            vec![Check::of_job(&Job::new("a"))],
        ));
        target.write_from(DataSource::new(Some(verifier.clone()), Vec::new()));
        (target, verifier)
    }

    /// Executes an operation; returns its outcome and duration.
    fn operate<T: Target>(target: &mut T, kind: OpKind, block: u64) -> (Outcome, Nanos) {
        let request = Request {
            tag: 0,
            kind,
            offset: Bytes(block * u64::from(BLOCK)),
            length: BLOCK,
            durable: false,
            thread: 0,
        };
        let begun = target.now();
        target.submit(request).unwrap();
        let mut replies = Vec::new();
        while replies.is_empty() {
            target.wait(Nanos::MAX, &mut replies).unwrap();
        }
        assert_eq!((replies.len(), replies[0].completed), (1, target.now()));
        (replies[0].outcome, target.now() - begun)
    }

    fn is_wrong(outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Failed(reason) if reason.starts_with("verify: "))
    }

    #[test]
    fn what_was_written_is_read_and_faults_are_found() {
        use OpKind::{Read, Trim, Write};
        let (mut genuine, verifier) = target(&[]);
        for block in [0, 200, 255, 0] {
            assert_eq!(operate(&mut genuine, Write, block).0, Outcome::Done);
        }
        for block in [0, 200, 255, 7] {
            let (outcome, time) = operate(&mut genuine, Read, block);
            assert_eq!((outcome, time), (Outcome::Done, Nanos(10)), "{block}");
        }
        operate(&mut genuine, Trim, 200);
        assert_eq!(operate(&mut genuine, Read, 200).0, Outcome::Done);
        assert_eq!(verifier.mismatches().0, 0);
        // Half of what it reports: the second half is the first one again.
        let (mut fake, _) = target(&["fake 512k wrap"]);
        operate(&mut fake, Write, 3);
        operate(&mut fake, Write, 131);
        assert!(is_wrong(operate(&mut fake, Read, 3).0));
        assert_eq!(operate(&mut fake, Read, 131).0, Outcome::Done);
        for faults in [&["corrupt 1"][..], &["after 1 writes corrupt 1"]] {
            let (mut corrupt, verifier) = target(faults);
            operate(&mut corrupt, Write, 3);
            assert!(is_wrong(operate(&mut corrupt, Read, 3).0), "{faults:?}");
            assert_eq!(verifier.mismatches().0, 1);
        }
    }

    #[test]
    fn operations_fail_and_take_longer() {
        use OpKind::{Flush, Read, Trim, Write};
        let (mut unreadable, _) = target(&["unreadable 4k 512"]);
        assert_eq!(operate(&mut unreadable, Write, 1).0, Outcome::Done);
        assert_eq!(
            operate(&mut unreadable, Read, 1).0,
            Outcome::Failed("unreadable")
        );
        assert_eq!(operate(&mut unreadable, Read, 0).0, Outcome::Done);
        let (mut locked, _) = target(&["after 2 writes read-only on"]);
        assert_eq!(operate(&mut locked, Write, 1).0, Outcome::Done);
        for kind in [Write, Trim] {
            assert!(matches!(
                operate(&mut locked, kind, 1).0,
                Outcome::Failed(_)
            ));
        }
        assert_eq!(operate(&mut locked, Read, 1).0, Outcome::Done);
        let (mut slow, _) = target(&["slow 1 2"]);
        for kind in [Write, Read, Flush] {
            let (outcome, time) = operate(&mut slow, kind, 0);
            assert_eq!((outcome, time), (Outcome::Done, Nanos(2_000_010)));
        }
    }

    #[test]
    fn faults_that_a_run_cannot_have_are_refused() {
        for (text, reason) in [
            ("power cycle", "nandscope serve"),
            ("after 5 writes power off", "nandscope serve"),
            ("lie on", "nandscope serve"),
            ("fake 1m wrap", "reported capacity"),
            ("after 3 writes fake 2m drop", "reported capacity"),
            ("break", "unknown fault command"),
        ] {
            let refused = Contents::new(CAPACITY, &[text.to_string()], 1);
            let error = refused.map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
