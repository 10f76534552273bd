//! Interface between the runner and its target. A simulated device in virtual time and a real one driven by io_uring
//! implement the same trait; the runner does not know which one it drives.

use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use thiserror::Error;

/// One operation, ready to go to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number chosen by the runner, returned in the [`Reply`].
    pub tag: u32,
    /// Number of the thread that issues the operation, from 0.
    pub thread: u32,
    /// Operation.
    pub kind: OpKind,
    /// Offset in bytes from the start of the target; a multiple of 512.
    pub offset: Bytes,
    /// Length in bytes; a multiple of 512; zero for a flush.
    pub length: u32,
    /// The write is durable on completion (forced unit access, `O_DSYNC`).
    pub durable: bool,
}

/// Outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes were transferred.
    Done,
    /// The target reported an error; the text is a static description such as `uncorrectable read`.
    Failed(&'static str),
    /// The target (or its host path) does not support the operation, such as a discard.
    Unsupported,
}

/// A finished operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The tag of the request.
    pub tag: u32,
    /// Time of submission to the target.
    pub submitted: Nanos,
    /// Time of completion.
    pub completed: Nanos,
    /// Outcome of the operation.
    pub outcome: Outcome,
}

/// Bytes that went over the link of a device since some fixed instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// From device to host.
    pub read: Bytes,
    /// From host to device.
    pub written: Bytes,
    /// Reads that the device completed.
    pub reads: u64,
    /// Writes that the device completed.
    pub writes: u64,
}

/// One reading of the instruments. Absent instruments are `None`, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Energy drawn since some fixed instant, joules.
    pub energy_j: Option<f64>,
    /// Energy that the computing of the host drew since some fixed instant (RAPL), joules.
    pub host_energy_j: Option<f64>,
    /// Bytes that the system counts as read from and written to the device.
    pub transferred: Option<Transferred>,
    /// Temperature the device reports (SMART), degrees Celsius.
    pub device_temperature_c: Option<f64>,
    /// Temperature of the device's surface, degrees Celsius.
    pub surface_temperature_c: Option<f64>,
    /// Share of full speed that thermal throttling leaves, 0 to 1.
    pub throttle: Option<f64>,
    /// Valid bytes in the SLC cache.
    pub slc_used: Option<Bytes>,
    /// When the device reached its end of life and became read-only, on the target's clock.
    pub read_only_since: Option<Nanos>,
    /// Internal counters of the device, if it has any; only differences are meaningful.
    pub counters: Option<nandscope_device::Counters>,
}

/// The target failed as a whole: it is gone, or does not behave as the trait requires.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The target vanished (removed, host controller reset).
    #[error("the target is gone: {0}")]
    Gone(String),
    /// Another failure, described for the user.
    #[error("{0}")]
    Other(String),
}

/// Forecast of a run's operations, from which a real target allocates memory and queues before the first one. An
/// operation beyond the forecast is still served, but slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Operations outstanding at once, over all threads.
    pub depth: u32,
    /// The longest operation, bytes.
    pub largest: u32,
    /// Number of operations submitted together; 0 and 1 submit each one separately.
    pub batch: u32,
}

/// Thread and options that a queue is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueRequest {
    /// Number of the thread, from 0.
    pub number: usize,
    /// Processors on which the thread may run; any if empty.
    pub cpus: Vec<u32>,
}

/// Independent queues of one target, each for a thread of the operating system.
pub trait ThreadQueues: Send + Sync {
    /// Opens a queue. Called on the thread that will use it, so that the queue may belong to that thread. All queues
    /// share the clock of the target.
    ///
    /// # Errors
    /// [`TargetError`] if the system lacks what a queue needs, such as memory.
    fn open(&self, request: &QueueRequest) -> Result<Box<dyn Target>, TargetError>;
}

/// Accepts operations and completes them, with its own clock.
///
/// All times are on the target's clock, which starts at zero when the target is opened. It is virtual for a simulated
/// device and monotonic real time for a real one. Operations are submitted at the present; to submit later, the runner
/// waits with [`Target::wait`].
pub trait Target {
    /// Present time on the target's clock.
    fn now(&self) -> Nanos;

    /// Addressable bytes.
    fn capacity(&self) -> Bytes;

    /// Prepares for a run. No operation is outstanding when it is called.
    ///
    /// # Errors
    /// [`TargetError`] if the system lacks what the target needs, such as memory.
    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        let _ = load;
        Ok(())
    }

    /// Queues for threads that run in parallel in real time; `None` if one loop drives all threads, as in virtual time.
    fn thread_queues(&self) -> Option<Box<dyn ThreadQueues>> {
        None
    }

    /// Submits one operation at the present time. A target may gather operations and submit them together at the next
    /// [`Target::wait`].
    ///
    /// # Errors
    /// [`TargetError`] if the target as a whole has failed; an operation that fails by itself comes back as a [`Reply`].
    fn submit(&mut self, request: Request) -> Result<(), TargetError>;

    /// Announces that an operation will probably be submitted at `offset` next. A target may prefetch memory for it;
    /// nothing measurable changes.
    #[inline]
    fn expect(&mut self, offset: Bytes) {
        let _ = offset;
    }

    /// Waits until at least one operation is finished or the clock reaches `until`, whichever is
    /// first, and appends finished ones to `replies` in the order of completion. It returns with
    /// the clock at the instant of the earliest completion, so that a closed loop can answer at
    /// once; several may complete at that instant. With nothing outstanding it sleeps until `until`;
    /// with nothing outstanding and `until` at [`Nanos::MAX`] it returns at once.
    ///
    /// # Errors
    /// [`TargetError`] if the target as a whole has failed.
    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError>;

    /// Longest time that one [`Target::wait`] may sleep, so that an interruption is noticed. In virtual time there is
    /// no limit.
    fn longest_wait(&self) -> Nanos {
        Nanos::from_secs(1)
    }

    /// Reads `length` bytes at `offset` from the medium, bypassing the host's caches; `None` if the target keeps no
    /// contents, as in virtual time. Both numbers are aligned as those of operations on the target must be, and no
    /// operation is outstanding.
    ///
    /// # Errors
    /// [`TargetError`] if it cannot be read.
    fn contents(&mut self, offset: Bytes, length: u32) -> Result<Option<Vec<u8>>, TargetError> {
        let _ = (offset, length);
        Ok(None)
    }

    /// Reads the instruments at the present time. It must not disturb the I/O.
    fn reading(&mut self) -> Reading;
}

impl<T: Target + ?Sized> Target for &mut T {
    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        (**self).prepare(load)
    }

    fn thread_queues(&self) -> Option<Box<dyn ThreadQueues>> {
        (**self).thread_queues()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        (**self).submit(request)
    }

    fn expect(&mut self, offset: Bytes) {
        (**self).expect(offset);
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        (**self).wait(until, replies)
    }

    fn longest_wait(&self) -> Nanos {
        (**self).longest_wait()
    }

    fn contents(&mut self, offset: Bytes, length: u32) -> Result<Option<Vec<u8>>, TargetError> {
        (**self).contents(offset, length)
    }

    fn reading(&mut self) -> Reading {
        (**self).reading()
    }
}
