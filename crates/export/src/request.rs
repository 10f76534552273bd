//! What a client asks of a served device, and what comes of it, in whatever protocol it asked.

use nandscope_blockio::store::StoreError;
use nandscope_units::Nanos;

/// Who asked: a connection, and the client's own number of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Number of the connection; never used twice.
    pub connection: u64,
    /// What the client calls the request.
    pub cookie: u64,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read and return the data.
    Read,
    /// Read, and keep the data to yourself (a hint to a cache).
    Fetch,
    /// Write the data of the request.
    Write,
    /// Everything completed before is on the medium.
    Flush,
    /// The range holds nothing of value any more.
    Discard,
    /// The range shall read as zeroes; discarding it will do.
    Zero,
    /// The range shall read as zeroes and stay allocated: zeroes are written.
    WriteZeroes,
}

impl Action {
    /// Whether it changes what is stored.
    pub const fn changes(self) -> bool {
        matches!(
            self,
            Action::Write | Action::Discard | Action::Zero | Action::WriteZeroes
        )
    }
}

/// A request, checked by the protocol: within the device. The device works on every sector that it
/// touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub action: Action,
    /// First byte.
    pub offset: u64,
    /// How many bytes; zero for a flush.
    pub length: u32,
    /// What to write; empty for all but [`Action::Write`].
    pub data: Vec<u8>,
    /// It is on the medium when it completes (FUA).
    pub durable: bool,
}

impl Action {
    /// Bytes of data that pass with a request of that length in either direction.
    const fn payload(self, length: u32) -> usize {
        match self {
            Action::Read | Action::Write => length as usize,
            _ => 0,
        }
    }
}

/// Discards and zeroes of more than this become several commands, as block layers cut them.
pub(crate) const LARGEST_COMMAND: u64 = 32 << 20;

impl Request {
    /// How many commands of a device it becomes.
    pub(crate) fn commands(&self) -> u64 {
        if self.payload() > 0 {
            return 1;
        }
        u64::from(self.length).div_ceil(LARGEST_COMMAND).max(1)
    }

    /// Bytes of data that pass with it in either direction.
    pub const fn payload(&self) -> usize {
        self.action.payload(self.length)
    }
}

impl Done {
    /// Bytes of data that passed with the request in either direction.
    pub const fn payload(&self) -> usize {
        self.action.payload(self.length)
    }
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The medium could not be read there.
    Unreadable,
    /// The device takes no more writes.
    ReadOnly,
    /// The device or the way to it knows no such thing.
    Unsupported,
    /// The range reaches beyond the device.
    OutOfRange,
    /// Something other than the device failed, in words.
    Failed(String),
}

impl From<&StoreError> for Refusal {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::OutOfRange(_) => Refusal::OutOfRange,
            StoreError::Unfit { .. } | StoreError::Io(_) => Refusal::Failed(error.to_string()),
        }
    }
}

/// A finished request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Who asked.
    pub origin: Origin,
    /// What was asked.
    pub action: Action,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// What came of it. The data of a read is in the store.
    pub outcome: Result<(), Refusal>,
    /// When it is due, on the wall.
    pub due: Nanos,
    /// How long the model took for it, on the wall.
    pub latency: Nanos,
}
