//! The block device's side: set-up messages, requests out of the queue into the simulated device,
//! its completions back into the queue with their data.

use super::{Machine, MachineError};
use crate::block::{
    Ask, BlockRequest, CONFIG_BYTES, Disk, STATUS_ERROR, STATUS_OK, STATUS_UNSUPPORTED,
};
use crate::memory::{Memory, Region};
use crate::post_crash::Change;
use crate::queue::{Buffer, Queue, QueueError};
use crate::recording::Event;
use crate::vhost::{
    F_PROTOCOL_FEATURES, HEADER_BYTES, Header, Malformed, PROTOCOL_FEATURES, Request, vring_call,
};
use crate::wire::Wire;
use nandscope_blockio::image::{Image, OutOfRange, SpillError};
use nandscope_device::SimulatedDevice;
use nandscope_device::{Command, CommandKind, Completion, Status};
use nandscope_units::{Bytes, Lba, Nanos, SECTOR_BYTES};
use nandscope_workload::OpKind;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;

/// The serial number that the disk answers.
const SERIAL: &[u8; 20] = b"nandscope\0\0\0\0\0\0\0\0\0\0\0";

/// A request that the device has.
#[derive(Debug)]
struct InFlight {
    request: BlockRequest,
    kind: OpKind,
    offset: u64,
    length: u64,
    /// What is to be stored when a write completes.
    data: Vec<u8>,
}

/// A request that is done and not yet handed back.
#[derive(Debug)]
struct Finished {
    request: BlockRequest,
    status: u8,
    data: Vec<u8>,
}

/// The block device between the queue and the simulated device.
pub struct Backend<'a> {
    contents: &'a mut Image,
    describe: Disk,
    memory: Memory,
    queue: Queue,
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
        describe: Disk,
        keep_changes: bool,
        flushes_lie: bool,
    ) -> Self {
        Backend {
            contents,
            describe,
            memory: Memory::default(),
            queue: Queue::default(),
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
                    data = vec![0; done.length as usize];
                    self.contents.read(done.offset, &mut data)?;
                }
                OpKind::Flush => {}
            }
        }
        self.finished.push(Finished {
            request: done.request,
            status: match completion.status {
                Status::Ok => STATUS_OK,
                Status::Unsupported => STATUS_UNSUPPORTED,
                _ => STATUS_ERROR,
            },
            data,
        });
        Ok(())
    }

    /// Puts everything finished into the used ring and says so.
    pub fn hand_over(&mut self) -> Result<(), MachineError> {
        for done in std::mem::take(&mut self.finished) {
            let to = match &done.request.ask {
                Ask::Read { to, .. } => to.as_slice(),
                Ask::Identify(to) => std::slice::from_ref(to),
                _ => &[],
            };
            if done.status == STATUS_OK {
                scatter(&self.memory, to, &done.data)?;
            }
            self.memory
                .write(done.request.status, &[done.status])
                .map_err(QueueError::from)?;
            let written = if done.status == STATUS_OK {
                done.request.written
            } else {
                1
            };
            self.queue
                .give_back(&self.memory, done.request.head, written)?;
        }
        match &mut self.socket {
            Some(wire) => Ok(wire.send(&vring_call(0))?),
            None => Err(MachineError::OutOfTurn(
                "it gave no socket for notifications",
            )),
        }
    }

    fn config(&self, offset: u32, size: u32) -> Result<Vec<u8>, Malformed> {
        let wrong = || Malformed(format!("{size} bytes of configuration from {offset} on"));
        if size > 256 {
            return Err(wrong());
        }
        let whole = self.describe.config();
        let mut payload = Vec::new();
        for number in [offset, size, 0] {
            payload.extend(number.to_ne_bytes());
        }
        let end = offset.checked_add(size).ok_or_else(wrong)?;
        payload.extend((offset..end).map(|at| match at as usize {
            at @ 0..CONFIG_BYTES => whole[at],
            _ => 0,
        }));
        Ok(payload)
    }
}

/// Spreads data over buffers.
fn scatter(memory: &Memory, to: &[Buffer], data: &[u8]) -> Result<(), QueueError> {
    let mut rest = data;
    for buffer in to {
        let (part, after) = rest.split_at(rest.len().min(buffer.length as usize));
        memory.write(buffer.address, part)?;
        rest = after;
    }
    Ok(())
}

/// Collects the data of buffers.
fn gather(memory: &Memory, from: &[Buffer], length: u64) -> Result<Vec<u8>, QueueError> {
    let mut data = vec![0; length as usize];
    let mut at = 0;
    for buffer in from {
        let end = at + buffer.length as usize;
        memory.read(buffer.address, &mut data[at..end])?;
        at = end;
    }
    Ok(data)
}

impl<D: SimulatedDevice> Machine<'_, D> {
    /// Does what the kernel asks of the block device, and answers.
    pub(super) fn on_disk(
        &mut self,
        header: &Header,
        request: Request,
    ) -> Result<(), MachineError> {
        let only_queue = |queue: u32| {
            if queue & 0xff == 0 {
                Ok(())
            } else {
                Err(Malformed(format!("queue {queue}; there is one, number 0")))
            }
        };
        let mut answer: Option<Vec<u8>> = None;
        match request {
            Request::GetFeatures => {
                let features = self.backend.describe.features() | F_PROTOCOL_FEATURES;
                answer = Some(features.to_ne_bytes().to_vec());
            }
            Request::GetProtocolFeatures => {
                answer = Some(PROTOCOL_FEATURES.to_ne_bytes().to_vec());
            }
            Request::SetProtocolFeatures(features) if features != PROTOCOL_FEATURES => {
                return Err(Malformed(format!(
                    "it takes the protocol features {features:#x}; in-band notifications need {PROTOCOL_FEATURES:#x}"
                ))
                .into());
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
                let [descriptors, available, used] = user.map(|at| memory.guest_address(at));
                match (descriptors, available, used) {
                    (Some(d), Some(a), Some(u)) => self.backend.queue.set_addresses(d, a, u),
                    _ => {
                        return Err(QueueError::Broken("its rings are not in shared memory").into());
                    }
                }
            }
            Request::SetQueueBase(queue, base) => {
                only_queue(queue)?;
                self.backend.queue.set_base(base as u16);
            }
            Request::GetQueueBase(queue) => {
                only_queue(queue)?;
                self.backend.queue.enable(false);
                let mut state = queue.to_ne_bytes().to_vec();
                state.extend(u32::from(self.backend.queue.base()).to_ne_bytes());
                answer = Some(state);
            }
            Request::EnableQueue(queue, on) => {
                only_queue(queue)?;
                self.backend.queue.enable(on);
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
        self.backend.memory = Memory::new(regions);
        Ok(())
    }

    fn disk_file(&mut self) -> Result<std::fs::File, MachineError> {
        let file = match &mut self.disk {
            super::Connection::Open(wire) => wire.file(),
            _ => None,
        };
        file.ok_or_else(|| Malformed("a file descriptor is missing".to_string()).into())
    }

    fn on_kick(&mut self, header: &Header) -> Result<(), MachineError> {
        while let Some(chain) = self.backend.queue.take(&self.backend.memory)? {
            let request = BlockRequest::decode(&self.backend.memory, &chain)?;
            self.submit(request)?;
        }
        if self.shorten_leash()? && header.need_reply {
            self.kick = Some(*header);
            return Ok(());
        }
        if header.need_reply {
            self.answer_disk(header, &0u64.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Gives a request to the simulated device, or answers it at once where it is not for it.
    fn submit(&mut self, request: BlockRequest) -> Result<(), MachineError> {
        let backend = &mut self.backend;
        let (kind, offset, length, data) = match &request.ask {
            Ask::Read { offset, length, .. } => (OpKind::Read, *offset, *length, Vec::new()),
            Ask::Write {
                offset,
                length,
                from,
            } => {
                let data = gather(&backend.memory, from, *length)?;
                (OpKind::Write, *offset, *length, data)
            }
            Ask::Flush if backend.flushes_lie => {
                return backend.answer(request, STATUS_OK, Vec::new());
            }
            Ask::Flush => (OpKind::Flush, 0, 0, Vec::new()),
            Ask::Discard { offset, length } => (OpKind::Trim, *offset, *length, Vec::new()),
            Ask::Identify(_) => return backend.answer(request, STATUS_OK, SERIAL.to_vec()),
            Ask::Other => return backend.answer(request, STATUS_UNSUPPORTED, Vec::new()),
        };
        let whole = length % SECTOR_BYTES == 0 && (length > 0 || kind == OpKind::Flush);
        if !whole || OutOfRange::check(offset, length, backend.contents.capacity()).is_err() {
            return backend.answer(request, STATUS_ERROR, Vec::new());
        }
        let Ok(sectors) = u32::try_from(length / SECTOR_BYTES) else {
            return backend.answer(request, STATUS_ERROR, Vec::new());
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
            return Err(Malformed("no good answer to a notification".to_string()).into());
        }
        wire.take(HEADER_BYTES + size);
        self.call_due = false;
        Ok(())
    }
}

impl Backend<'_> {
    fn answer(
        &mut self,
        request: BlockRequest,
        status: u8,
        data: Vec<u8>,
    ) -> Result<(), MachineError> {
        self.finished.push(Finished {
            request,
            status,
            data,
        });
        Ok(())
    }
}
