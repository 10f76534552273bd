//! The block device's side: set-up messages, requests out of the queue into the simulated device,
//! its completions back into the queue with their data.

use super::{Machine, MachineError};
use crate::post_crash::Change;
use crate::recording::Event;
use crate::vhost::{HEADER_BYTES, Header, Malformed, OFFERED, Request, vring_call};
use crate::wire::Wire;
use nandscope_blockio::image::{Image, OutOfRange, SpillError};
use nandscope_blockio::memory_len;
use nandscope_blockio::virtio::{
    Access, BlockConfig, BlockRequest, GuestMemory, Kind, PROTOCOL_FEATURES, Region, RequestQueue,
    Status as Answer, VirtioError,
};
use nandscope_device::SimulatedDevice;
use nandscope_device::{Command, CommandKind, Completion, Status};
use nandscope_units::{Bytes, Lba, Nanos, SECTOR_BYTES};
use nandscope_workload::OpKind;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;

/// The serial number that the disk answers.
const SERIAL: &str = "nandscope";
/// The most descriptors that a queue may have (virtio 1.2, 2.7).
const LARGEST_QUEUE: u16 = 32_768;
/// Longest data of one request: well over the 1280 KiB of Linux.
const LONGEST_DATA: u64 = 64 << 20;

/// A request that the device has.
#[derive(Debug)]
struct InFlight {
    request: BlockRequest,
    kind: OpKind,
    offset: u64,
    length: u64,
    /// Data to store when a write completes.
    data: Vec<u8>,
}

/// A request that is done and not yet returned.
#[derive(Debug)]
struct Finished {
    request: BlockRequest,
    status: Answer,
    data: Vec<u8>,
}

/// The block device between the queue and the simulated device.
pub struct Backend<'a> {
    contents: &'a mut Image,
    config: BlockConfig,
    memory: Option<GuestMemory>,
    queue: RequestQueue,
    in_flight: BTreeMap<u64, InFlight>,
    finished: Vec<Finished>,
    events: Vec<Event>,
    changes: Option<Vec<Change>>,
    flushes_lie: bool,
    written: u64,
    tag: u64,
    pub socket: Option<Wire>,
}

impl<'a> Backend<'a> {
    pub fn new(
        contents: &'a mut Image,
        config: BlockConfig,
        keep_changes: bool,
        flushes_lie: bool,
    ) -> Self {
        Backend {
            contents,
            config,
            memory: None,
            queue: RequestQueue::new::<LARGEST_QUEUE>(),
            in_flight: BTreeMap::new(),
            finished: Vec::new(),
            events: Vec::new(),
            changes: keep_changes.then(Vec::new),
            flushes_lie,
            written: 0,
            tag: 0,
            socket: None,
        }
    }

    pub fn outstanding(&self) -> usize {
        self.in_flight.len()
    }

    /// Bytes that were written.
    pub fn written(&self) -> Bytes {
        Bytes(self.written)
    }

    /// Why the contents are not what was written.
    pub fn contents_fault(&self) -> Option<SpillError> {
        self.contents.fault()
    }

    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    pub fn into_record(self) -> (Vec<Event>, Vec<Change>) {
        (self.events, self.changes.unwrap_or_default())
    }

    /// Takes a completion of the simulated device.
    ///
    /// # Errors
    /// [`OutOfRange`] if the completion extends past the end of the card.
    pub fn finish(&mut self, completion: &Completion, ahead: Nanos) -> Result<(), OutOfRange> {
        let Some(done) = self.in_flight.remove(&completion.tag) else {
            return Ok(());
        };
        let ok = completion.status == Status::Ok;
        self.events.push(Event {
            kind: done.kind,
            offset: done.offset,
            length: done.length,
            submitted: completion.submitted.saturating_sub(ahead),
            completed: completion.completed.saturating_sub(ahead),
            done: ok,
        });
        let mut data = Vec::new();
        if ok {
            match done.kind {
                OpKind::Write => {
                    self.contents.write(done.offset, &done.data)?;
                    self.written += done.length;
                }
                OpKind::Trim => {
                    self.contents.discard(done.offset, done.length)?;
                    if let Some(changes) = &mut self.changes {
                        changes.push(Change::Discard {
                            offset: done.offset,
                            length: done.length,
                        });
                    }
                }
                OpKind::Read => {
                    data = vec![0; memory_len(done.length)];
                    self.contents.read(done.offset, &mut data)?;
                }
                OpKind::Flush => {}
            }
        }
        self.finished.push(Finished {
            request: done.request,
            status: match completion.status {
                Status::Ok => Answer::Done,
                Status::Unsupported => Answer::Unsupported,
                _ => Answer::Failed,
            },
            data,
        });
        Ok(())
    }

    /// Returns finished requests to the kernel and notifies it.
    ///
    /// # Errors
    /// [`MachineError`] if the kernel gave no memory or socket, its rings are invalid, or it has disconnected.
    pub fn return_finished(&mut self) -> Result<(), MachineError> {
        let memory = self.memory.as_ref().ok_or(NO_MEMORY)?;
        check_rings(memory)?;
        for done in std::mem::take(&mut self.finished) {
            if done.status == Answer::Done {
                done.request.scatter(memory, &done.data)?;
            }
            // Bounded by `LONGEST_DATA`.
            let written = u32::try_from(done.data.len()).unwrap_or(u32::MAX);
            done.request
                .answer(memory, &mut self.queue, done.status, written)?;
        }
        match &mut self.socket {
            Some(wire) => Ok(wire.send(&vring_call(0))?),
            None => Err(MachineError::OutOfTurn(
                "the kernel sent no socket for notifications",
            )),
        }
    }

    fn config(&self, offset: u32, size: u32) -> Result<Vec<u8>, Malformed> {
        let part = self.config.part(offset, size);
        let part = part.ok_or(Malformed::Config { offset, size })?;
        let mut payload = Vec::new();
        for number in [offset, size, 0] {
            payload.extend(number.to_ne_bytes());
        }
        payload.extend(part);
        Ok(payload)
    }

    /// Answers a request without the device, at the next notification.
    fn answer(
        &mut self,
        request: BlockRequest,
        status: Answer,
        data: Vec<u8>,
    ) -> Result<(), MachineError> {
        self.finished.push(Finished {
            request,
            status,
            data,
        });
        Ok(())
    }

    fn refuse(&mut self, request: BlockRequest, status: Answer) -> Result<(), MachineError> {
        self.answer(request, status, Vec::new())
    }

    /// Takes the next request out of the queue.
    fn take(&mut self) -> Result<Option<BlockRequest>, VirtioError> {
        let Some(memory) = &self.memory else {
            return Ok(None);
        };
        check_rings(memory)?;
        let chain = self.queue.take(memory)?;
        chain
            .map(|chain| BlockRequest::read(memory, chain))
            .transpose()
    }
}

const NO_MEMORY: VirtioError =
    VirtioError::Broken("the rings of the queue are not in memory that the guest shares");

/// An access to a page of a file that has shrunk would end the process. The kernel has one processor and
/// waits for an answer in the meantime.
fn check_rings(memory: &GuestMemory) -> Result<(), VirtioError> {
    if memory.is_whole() {
        Ok(())
    } else {
        Err(NO_MEMORY)
    }
}

impl<D: SimulatedDevice> Machine<'_, D> {
    /// Handles a message to the block device, and answers.
    pub(super) fn on_disk(
        &mut self,
        header: &Header,
        request: Request,
    ) -> Result<(), MachineError> {
        let only_queue = |queue: u32| {
            if queue & 0xff == 0 {
                Ok(())
            } else {
                Err(Malformed::Queue(queue))
            }
        };
        let mut answer: Option<Vec<u8>> = None;
        match request {
            Request::GetFeatures => {
                let features = self.backend.config.features() | PROTOCOL_FEATURES;
                answer = Some(features.to_ne_bytes().to_vec());
            }
            Request::GetProtocolFeatures => {
                answer = Some(OFFERED.to_ne_bytes().to_vec());
            }
            Request::SetProtocolFeatures(features) if features != OFFERED => {
                return Err(Malformed::Features(features).into());
            }
            Request::SetFeatures(_)
            | Request::SetOwner
            | Request::SetProtocolFeatures(_)
            | Request::SetConfig
            | Request::SetQueueDescriptor => {}
            Request::SetBackendSocket => self.take_backend_socket()?,
            Request::SetMemory(regions) => self.take_memory(&regions)?,
            Request::SetQueueSize(queue, size) => {
                only_queue(queue)?;
                self.backend.queue.set_size(size)?;
            }
            Request::SetQueueAddresses(queue, user) => {
                only_queue(queue)?;
                let memory = &self.backend.memory;
                let memory = memory.as_ref().ok_or(NO_MEMORY)?;
                match user.map(|at| memory.guest_address(at)) {
                    [Some(d), Some(a), Some(u)] => self.backend.queue.set_addresses([d, a, u])?,
                    _ => return Err(NO_MEMORY.into()),
                }
            }
            Request::SetQueueBase(queue, base) => {
                only_queue(queue)?;
                let base = u16::try_from(base).map_err(|_| Malformed::Base(base))?;
                self.backend.queue.set_base(base);
            }
            Request::GetQueueBase(queue) => {
                only_queue(queue)?;
                self.backend.queue.set_ready(false);
                let mut state = queue.to_ne_bytes().to_vec();
                state.extend(u32::from(self.backend.queue.base()).to_ne_bytes());
                answer = Some(state);
            }
            Request::EnableQueue(queue, on) => {
                only_queue(queue)?;
                self.backend.queue.set_ready(on);
            }
            Request::GetConfig(offset, size) => answer = Some(self.backend.config(offset, size)?),
            Request::Kick(queue) => {
                only_queue(queue)?;
                return self.on_kick(header);
            }
        }
        match answer {
            Some(payload) => self.answer_disk(header, &payload),
            None if header.need_reply => self.answer_disk(header, &0u64.to_ne_bytes()),
            None => Ok(()),
        }
    }

    fn take_backend_socket(&mut self) -> Result<(), MachineError> {
        let file = self.disk_file()?;
        let stream = UnixStream::from(std::os::fd::OwnedFd::from(file));
        self.backend.socket = Some(Wire::new(stream)?);
        Ok(())
    }

    fn take_memory(&mut self, entries: &[crate::vhost::RegionEntry]) -> Result<(), MachineError> {
        let mut regions = Vec::with_capacity(entries.len());
        for entry in entries {
            regions.push(Region {
                guest: entry.guest,
                user: entry.user,
                size: entry.size,
                offset: entry.offset,
                file: self.disk_file()?,
            });
        }
        // Its files may have no room for a page that Linux has not touched yet.
        self.backend.memory = Some(GuestMemory::map(regions, Access::File)?);
        Ok(())
    }

    fn disk_file(&mut self) -> Result<std::fs::File, MachineError> {
        let file = match &mut self.disk {
            super::Connection::Open(wire) => wire.file(),
            _ => None,
        };
        file.ok_or_else(|| Malformed::NoFile.into())
    }

    fn on_kick(&mut self, header: &Header) -> Result<(), MachineError> {
        while let Some(request) = self.backend.take()? {
            self.submit(request)?;
        }
        if self.shorten_free_run()? && header.need_reply {
            self.kick = Some(*header);
            return Ok(());
        }
        if header.need_reply {
            self.answer_disk(header, &0u64.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Submits a request to the simulated device, or completes it at once if the device is not involved.
    fn submit(&mut self, request: BlockRequest) -> Result<(), MachineError> {
        let backend = &mut self.backend;
        let memory = backend.memory.as_ref().ok_or(NO_MEMORY)?;
        if request.length() > LONGEST_DATA {
            return Err(VirtioError::Broken("a request of more than 64 MiB").into());
        }
        // A sector past 2^55 is past the end of every device; it is refused as out of range below.
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        let (offset, length) = (bytes(request.sector), request.length());
        let (kind, offset, length, data) = match request.kind {
            Kind::Read if request.sent.is_empty() => (OpKind::Read, offset, length, Vec::new()),
            Kind::Write if request.room.is_empty() => {
                (OpKind::Write, offset, length, request.gather(memory)?)
            }
            Kind::Flush if backend.flushes_lie => {
                return backend.answer(request, Answer::Done, Vec::new());
            }
            Kind::Flush => (OpKind::Flush, 0, 0, Vec::new()),
            Kind::Discard => match request.range(memory)? {
                Some(range) => {
                    let length = bytes(u64::from(range.sectors));
                    (OpKind::Trim, bytes(range.first), length, Vec::new())
                }
                None => return backend.refuse(request, Answer::Unsupported),
            },
            Kind::Identify => {
                return match request.serial(SERIAL) {
                    Some(serial) => backend.answer(request, Answer::Done, serial.to_vec()),
                    None => backend.refuse(request, Answer::Unsupported),
                };
            }
            _ => return backend.refuse(request, Answer::Unsupported),
        };
        let whole = length % SECTOR_BYTES == 0 && (length > 0 || kind == OpKind::Flush);
        let inside = OutOfRange::check(offset, length, backend.contents.capacity()).is_ok();
        let sectors = u32::try_from(length / SECTOR_BYTES);
        let (true, true, Ok(sectors)) = (whole, inside, sectors) else {
            return backend.refuse(request, Answer::Failed);
        };
        if kind == OpKind::Write
            && let Some(changes) = &mut backend.changes
        {
            changes.push(Change::Write {
                offset,
                data: data.clone(),
            });
        }
        let tag = backend.tag;
        backend.tag += 1;
        let command = Command {
            tag,
            kind: match kind {
                OpKind::Read => CommandKind::Read,
                OpKind::Write => CommandKind::Write { fua: false },
                OpKind::Trim => CommandKind::Discard,
                OpKind::Flush => CommandKind::Flush,
            },
            lba: Lba(offset / SECTOR_BYTES),
            sectors,
        };
        backend.in_flight.insert(
            tag,
            InFlight {
                request,
                kind,
                offset,
                length,
                data,
            },
        );
        self.device
            .submit(command, self.now + self.device_ahead)
            .map_err(MachineError::Device)
    }

    /// The kernel's answer to a VRING_CALL.
    pub(super) fn hear_backend_reply(&mut self) -> Result<(), MachineError> {
        let Some(wire) = &mut self.backend.socket else {
            return Ok(());
        };
        if !wire.receive()? {
            self.backend.socket = None;
            return Ok(());
        }
        let Some((bytes, rest)) = wire.waiting().split_first_chunk::<HEADER_BYTES>() else {
            return Ok(());
        };
        let header = Header::decode(bytes)?;
        let size = header.size as usize;
        let Some(payload) = rest.get(..size) else {
            return Ok(());
        };
        if !header.is_reply || !self.call_due || payload.iter().any(|b| *b != 0) {
            return Err(Malformed::Answer.into());
        }
        wire.take(HEADER_BYTES + size);
        self.call_due = false;
        Ok(())
    }
}
