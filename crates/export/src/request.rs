//! Requests of clients to a served device and their outcomes, independent of the protocol.

use nandscope_blockio::store::StoreError;
use nandscope_units::Nanos;

/// Origin of a request: a connection, and the client's request number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Number of the connection; never used twice.
    pub connection: u64,
    /// The client's identifier of the request.
    pub cookie: u64,
}

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read and return the data.
    Read,
    /// Reads without returning the data (a cache hint).
    Fetch,
    /// Write the data of the request.
    Write,
    /// Everything completed before is on the medium.
    Flush,
    /// The range is no longer needed.
    Discard,
    /// The range shall read as zeroes; discarding it will do.
    Zero,
    /// The range shall read as zeroes and stay allocated: zeroes are written.
    WriteZeroes,
}

impl Action {
    /// True if the request changes the contents.
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
    /// Operation.
    pub action: Action,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; zero for a flush.
    pub length: u32,
    /// Data of an [`Action::Write`]; empty otherwise.
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
    /// Number of device commands of the request.
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
    /// The device or the host path does not support the operation.
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
    /// Origin of the request.
    pub origin: Origin,
    /// Operation of the request.
    pub action: Action,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Result. Data of reads is in the store.
    pub outcome: Result<(), Refusal>,
    /// When it is due, on the wall.
    pub due: Nanos,
    /// Latency of the model, in real time.
    pub latency: Nanos,
}
