//! The vhost-user messages of a block device with in-band notifications (QEMU's
//! `docs/interop/vhost-user.rst`): a header of three numbers, a payload of bounded length, and file
//! descriptors. [`crate::machine`] handles them.
//!
//! The crate `vhost` (0.18) does not serve here: its handler rejects VRING_KICK, the in-band notification of the kernel, and it
//! cannot send VRING_CALL. Notifications by event descriptors would not be ordered with the messages of time travel.

use thiserror::Error;

/// Request, flags and size, 32 bits each.
pub const HEADER_BYTES: usize = 12;
/// The longest payload that we take: a memory table of eight regions needs 264.
pub const LONGEST_PAYLOAD: u32 = 4096;
/// The most regions of memory in a table.
pub const MOST_REGIONS: u32 = 8;

/// Protocol features that we need and offer: REPLY_ACK (3), backend requests (5), CONFIG (9),
/// IN-BAND NOTIFICATIONS (14).
pub const OFFERED: u64 = (1 << 3) | (1 << 5) | (1 << 9) | (1 << 14);

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;
/// Code of the backend's request VRING_CALL.
const BACKEND_VRING_CALL: u32 = 4;

/// A message of the kernel that breaks the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// Another version of the protocol.
    #[error("the kernel sent a vhost-user message of version {0}; {VERSION} is supported")]
    Version(u32),
    /// A payload that is too long.
    #[error(
        "the kernel sent a vhost-user message with a payload of {0} bytes; {LONGEST_PAYLOAD} is the most"
    )]
    Payload(u32),
    /// A payload that ends early.
    #[error("the payload of vhost-user request {0} is too short")]
    Short(u32),
    /// A request that was not offered.
    #[error("the kernel sent vhost-user request {0}, which was not offered")]
    Unknown(u32),
    /// Too many regions of memory.
    #[error("the kernel shares {0} regions of memory; {MOST_REGIONS} is the most")]
    Regions(u32),
    /// The accepted protocol features differ from the offered ones.
    #[error(
        "the kernel accepts the vhost-user features {0:#x}; in-band notifications need {OFFERED:#x}"
    )]
    Features(u64),
    /// A queue that does not exist.
    #[error("the kernel uses queue {0}; queue 0 is the only one")]
    Queue(u32),
    /// A number of a request that does not exist.
    #[error("the kernel begins its queue with request {0}; 65535 is the highest")]
    Base(u32),
    /// A part of the configuration that does not exist.
    #[error("the kernel reads {size} bytes of configuration at {offset}; 256 is the most")]
    Config {
        /// First byte.
        offset: u32,
        /// Bytes.
        size: u32,
    },
    /// A message came without its file.
    #[error("a file descriptor is missing in a vhost-user message")]
    NoFile,
    /// A notification was not answered as it has to be.
    #[error("the kernel answered a notification with an error or unexpectedly")]
    Answer,
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Code of the request.
    pub request: u32,
    /// The sender waits for a reply.
    pub need_reply: bool,
    /// It is a reply itself.
    pub is_reply: bool,
    /// Bytes of payload.
    pub size: u32,
}

impl Header {
    /// Parses a header.
    ///
    /// # Errors
    /// `Malformed::Version` if its version is not 1; `Malformed::Payload` if the payload is too long.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Malformed> {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
        let header = Header {
            request: u32::from_ne_bytes([a, b, c, d]),
            need_reply: u32::from_ne_bytes([e, f, g, h]) & NEED_REPLY != 0,
            is_reply: u32::from_ne_bytes([e, f, g, h]) & REPLY != 0,
            size: u32::from_ne_bytes([i, j, k, l]),
        };
        let version = u32::from_ne_bytes([e, f, g, h]) & VERSION_MASK;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        if header.size > LONGEST_PAYLOAD {
            return Err(Malformed::Payload(header.size));
        }
        Ok(header)
    }
}

/// A reply to the request of that code.
pub fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

/// The backend's request that notifies the kernel of used buffers in a queue; it requires a reply.
pub fn vring_call(queue: u32) -> Vec<u8> {
    let mut payload = [0; 8];
    payload[0..4].copy_from_slice(&queue.to_ne_bytes());
    message(BACKEND_VRING_CALL, VERSION | NEED_REPLY, &payload)
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    // All payloads sent here are short.
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    for number in [request, flags, length] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// One region of a memory table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionEntry {
    /// Address as descriptors name it.
    pub guest: u64,
    /// Bytes.
    pub size: u64,
    /// Address as vring addresses name it.
    pub user: u64,
    /// Offset of the region in its file.
    pub offset: u64,
}

/// A request of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Request for the offered features.
    GetFeatures,
    /// Accepted features.
    SetFeatures(u64),
    /// The connection begins.
    SetOwner,
    /// Request for the offered protocol features.
    GetProtocolFeatures,
    /// Accepted protocol features.
    SetProtocolFeatures(u64),
    /// The socket for our own requests comes with it.
    SetBackendSocket,
    /// Memory; a file comes for each region.
    SetMemory(Vec<RegionEntry>),
    /// Descriptors of a queue.
    SetQueueSize(u32, u32),
    /// Rings of a queue (user addresses): descriptors, available, used.
    SetQueueAddresses(u32, [u64; 3]),
    /// First request of a queue.
    SetQueueBase(u32, u32),
    /// Stop a queue, and say how far it was.
    GetQueueBase(u32),
    /// A descriptor for kicks, calls or errors; ours are in band, so that none should come.
    SetQueueDescriptor,
    /// On or off.
    EnableQueue(u32, bool),
    /// A piece of the configuration: offset and length.
    GetConfig(u32, u32),
    /// A piece of the configuration is written.
    SetConfig,
    /// There are new requests in a queue.
    Kick(u32),
}

/// Numbers from a payload, each checked to be there.
struct Fields<'a>(&'a [u8], u32);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self
            .0
            .split_first_chunk::<N>()
            .ok_or(Malformed::Short(self.1))?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_ne_bytes)
    }
}

impl Request {
    /// Parses a request from its header and payload.
    ///
    /// # Errors
    /// [`Malformed`] if the protocol features do not include the request, or its payload does not fit.
    pub fn decode(header: &Header, payload: &[u8]) -> Result<Request, Malformed> {
        let mut fields = Fields(payload, header.request);
        Ok(match header.request {
            1 => Request::GetFeatures,
            2 => Request::SetFeatures(fields.u64()?),
            3 => Request::SetOwner,
            5 => Request::SetMemory(regions(&mut fields)?),
            8 => Request::SetQueueSize(fields.u32()?, fields.u32()?),
            9 => {
                let (queue, _flags) = (fields.u32()?, fields.u32()?);
                // The order on the wire: descriptors, used, available.
                let (descriptors, used, available) = (fields.u64()?, fields.u64()?, fields.u64()?);
                Request::SetQueueAddresses(queue, [descriptors, available, used])
            }
            10 => Request::SetQueueBase(fields.u32()?, fields.u32()?),
            11 => Request::GetQueueBase(fields.u32()?),
            12..=14 => Request::SetQueueDescriptor,
            15 => Request::GetProtocolFeatures,
            16 => Request::SetProtocolFeatures(fields.u64()?),
            18 => Request::EnableQueue(fields.u32()?, fields.u32()? != 0),
            21 => Request::SetBackendSocket,
            24 => Request::GetConfig(fields.u32()?, fields.u32()?),
            25 => Request::SetConfig,
            35 => Request::Kick(fields.u32()?),
            other => return Err(Malformed::Unknown(other)),
        })
    }
}

fn regions(fields: &mut Fields<'_>) -> Result<Vec<RegionEntry>, Malformed> {
    let (count, _padding) = (fields.u32()?, fields.u32()?);
    if count > MOST_REGIONS {
        return Err(Malformed::Regions(count));
    }
    (0..count)
        .map(|_| {
            Ok(RegionEntry {
                guest: fields.u64()?,
                size: fields.u64()?,
                user: fields.u64()?,
                offset: fields.u64()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(request: u32, size: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&request.to_ne_bytes());
        bytes[4..8].copy_from_slice(&9u32.to_ne_bytes());
        bytes[8..12].copy_from_slice(&size.to_ne_bytes());
        bytes
    }

    #[test]
    fn headers_with_a_wrong_version_or_length_are_refused() {
        assert!(Header::decode(&header(1, 0)).unwrap().need_reply);
        assert!(Header::decode(&header(1, LONGEST_PAYLOAD + 1)).is_err());
        let mut wrong = header(1, 0);
        wrong[4] = 2;
        let error = Header::decode(&wrong).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
    }

    #[test]
    fn ring_addresses_come_in_the_order_of_the_wire() {
        let mut payload = Vec::new();
        payload.extend(0u32.to_ne_bytes());
        payload.extend(0u32.to_ne_bytes());
        for address in [10u64, 30, 20, 0] {
            payload.extend(address.to_ne_bytes());
        }
        let header = Header::decode(&header(9, 40)).unwrap();
        let request = Request::decode(&header, &payload);
        assert_eq!(request, Ok(Request::SetQueueAddresses(0, [10, 20, 30])));
    }

    #[test]
    fn what_is_cut_short_unknown_or_too_much_is_refused() {
        for (request, payload) in [
            (2, vec![0; 7]),
            (9, vec![0; 39 - 8]),
            (5, 9u64.to_ne_bytes().to_vec()),
            (5, 1u64.to_ne_bytes().to_vec()),
            (99, vec![]),
        ] {
            let header = Header::decode(&header(request, payload.len() as u32)).unwrap();
            assert!(Request::decode(&header, &payload).is_err(), "{request}");
        }
    }

    #[test]
    fn a_call_names_its_queue_and_wants_a_reply() {
        let bytes = vring_call(0);
        let header = Header::decode(bytes[..HEADER_BYTES].try_into().unwrap()).unwrap();
        assert_eq!(
            (header.request, header.size, header.need_reply),
            (4, 8, true)
        );
    }
}
