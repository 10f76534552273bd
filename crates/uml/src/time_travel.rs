//! The messages of the time-travel protocol, as `include/uapi/linux/um_timetravel.h` of Linux
//! defines them: 16 bytes each, in both directions, every one acknowledged with the same sequence
//! number. What they mean for the run is the business of [`crate::machine`].

use nandscope_units::Nanos;
use thiserror::Error;

/// Length of a [`Message`] on the socket.
pub const MESSAGE_BYTES: usize = 16;

/// Operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The other side has taken the message of that number; to [`Op::Get`] the time is the answer.
    Ack,
    /// The kernel is there.
    Start,
    /// The kernel wants to run at the time; a later request replaces it.
    Request,
    /// The kernel sleeps until the next [`Op::Run`].
    Wait,
    /// The kernel requests the time.
    Get,
    /// The kernel's time has moved to the time.
    Update,
    /// To the kernel: the time that it asked for has come, and it may run.
    Run,
    /// To the kernel: it may advance its time without asking, up to just before the given time.
    FreeUntil,
    /// The kernel requests the time of day.
    TimeOfDay,
}

/// A code that the protocol does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the kernel sent a time-travel message with the unknown code {0}")]
pub struct UnknownOp(pub u32);

/// `struct um_timetravel_msg` of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Operation.
    pub op: Op,
    /// The sender's number; its acknowledgement has the same.
    pub sequence: u32,
    /// The time that it is about, from the start of the kernel.
    pub time: Nanos,
}

const OPS: [Op; 9] = [
    Op::Ack,
    Op::Start,
    Op::Request,
    Op::Wait,
    Op::Get,
    Op::Update,
    Op::Run,
    Op::FreeUntil,
    Op::TimeOfDay,
];

impl Message {
    /// The message in the form of the wire: both sides are on one machine, so in native order.
    pub fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let mut codes = (0u32..).zip(OPS);
        let code = codes
            .find(|(_, op)| *op == self.op)
            .map_or(0, |(code, _)| code);
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0..4].copy_from_slice(&code.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.time.0.to_ne_bytes());
        bytes
    }

    /// Parses a message.
    ///
    /// # Errors
    /// [`UnknownOp`] if the code is unknown.
    pub fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Result<Message, UnknownOp> {
        let [a, b, c, d, e, f, g, h, time @ ..] = *bytes;
        let code = u32::from_ne_bytes([a, b, c, d]);
        let op = OPS.get(code as usize).ok_or(UnknownOp(code))?;
        Ok(Message {
            op: *op,
            sequence: u32::from_ne_bytes([e, f, g, h]),
            time: Nanos(u64::from_ne_bytes(time)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_kernels_header() {
        // UM_TIMETRAVEL_ACK = 0 … UM_TIMETRAVEL_GET_TOD = 8.
        let codes = [
            (Op::Ack, 0u32),
            (Op::Start, 1),
            (Op::Request, 2),
            (Op::Wait, 3),
            (Op::Get, 4),
            (Op::Update, 5),
            (Op::Run, 6),
            (Op::FreeUntil, 7),
            (Op::TimeOfDay, 8),
        ];
        for (op, code) in codes {
            let message = Message {
                op,
                sequence: 0x0102_0304,
                time: Nanos(0x1122_3344_5566_7788),
            };
            let bytes = message.encode();
            assert_eq!(bytes[0..4], code.to_ne_bytes());
            assert_eq!(bytes[4..8], 0x0102_0304u32.to_ne_bytes());
            assert_eq!(bytes[8..16], 0x1122_3344_5566_7788u64.to_ne_bytes());
            assert_eq!(Message::decode(&bytes), Ok(message));
        }
    }

    #[test]
    fn other_codes_are_refused() {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0..4].copy_from_slice(&9u32.to_ne_bytes());
        assert_eq!(Message::decode(&bytes), Err(UnknownOp(9)));
    }
}
