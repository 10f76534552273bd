//! The conversation with the virtual machine monitor: the crate `vhost` reads and checks its
//! messages; what they change is sent to the server's thread.

use super::bell::is_event;
use super::ring::VhostClient;
use super::{Disk, QUEUE_SIZE, feature};
use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;
use rustix::fs::SealFlags;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use thiserror::Error;
use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig,
    VhostUserSharedMsg, VhostUserSingleMemoryRegion, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{
    BackendReqHandler, Error as Refused, GpuBackend, Result, VhostUserBackendReqHandlerMut,
};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

/// Changes that wait for the server's thread; a monitor that sends more waits itself.
const MOST_CHANGES: usize = 64;

/// A virtual machine that cannot be served.
#[derive(Debug, Error)]
#[error("cannot serve a virtual machine: {0}")]
pub struct VhostError(#[from] std::io::Error);

/// Where pieces of the monitor's memory lie for the guest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    monitor: u64,
    guest: u64,
    size: u64,
}

/// What a message of the monitor changes.
#[derive(Debug)]
pub(super) enum Change {
    Memory(GuestMemoryMmap<()>),
    Features(u64),
    Size(u16),
    Addresses {
        descriptors: u64,
        available: u64,
        used: u64,
    },
    Base(u16),
    /// The queue stops; its place is asked for.
    Stop(Sender<u16>),
    Kick(Option<File>),
    Call(Option<File>),
    Enable(bool),
    /// The monitor is gone.
    End,
}

/// Sends changes and wakes the server's thread.
#[derive(Debug)]
struct Outlet {
    changes: SyncSender<Change>,
    wake: Arc<OwnedFd>,
}

impl Outlet {
    fn send(&self, change: Change) -> Result<()> {
        self.changes
            .send(change)
            .map_err(|_| Refused::BackendInternalError)?;
        rustix::io::write(&*self.wake, &1u64.to_ne_bytes())
            .map_err(|_| Refused::BackendInternalError)?;
        Ok(())
    }
}

/// Serves a monitor that has connected: its messages on a thread of their own, its requests by the
/// client that this gives. `token` is held by the threads that work for it.
///
/// # Errors
/// Where the system gives no thread or event descriptor.
pub fn accept(
    stream: UnixStream,
    disk: Disk,
    token: Arc<()>,
) -> std::result::Result<VhostClient, VhostError> {
    stream.set_nonblocking(false)?;
    let wake = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
        .map_err(std::io::Error::from)?;
    let wake = Arc::new(wake);
    let (changes, incoming): (_, Receiver<Change>) = sync_channel(MOST_CHANGES);
    let outlet = Outlet {
        changes,
        wake: wake.clone(),
    };
    let hangup = stream.try_clone()?;
    let backend = Arc::new(Mutex::new(Backend {
        disk,
        outlet,
        regions: Vec::new(),
        acknowledged: 0,
    }));
    let held = token.clone();
    std::thread::Builder::new()
        .name("vhost-user".to_string())
        .spawn(move || {
            let _held = held;
            let mut handler = BackendReqHandler::from_stream(stream, backend.clone());
            while handler.handle_request().is_ok() {}
            if let Ok(backend) = backend.lock() {
                // Nobody listens any more where the server has ended.
                let _ = backend.outlet.send(Change::End);
            }
        })?;
    Ok(VhostClient::new(disk, wake, incoming, hangup, token))
}

struct Backend {
    disk: Disk,
    outlet: Outlet,
    regions: Vec<Region>,
    acknowledged: u64,
}

impl Backend {
    /// Where an address of the monitor lies for the guest.
    fn translate(&self, address: u64) -> Result<u64> {
        let inside = |r: &&Region| address >= r.monitor && address - r.monitor < r.size;
        let region = self.regions.iter().find(inside);
        region
            .map(|r| address - r.monitor + r.guest)
            .ok_or(Refused::InvalidParam)
    }
}

/// Whether reading and writing the file's memory always works. The system kills whoever touches
/// mapped memory whose file has become shorter, or whose huge page is not to be had (SIGBUS).
fn is_dependable(file: &File) -> bool {
    // <linux/magic.h>
    const HUGETLBFS: u32 = 0x9584_58f6;
    let shrinks =
        !rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    // Only memory of the kernel's own has seals, so that nobody else is asked here.
    !shrinks && rustix::fs::fstatfs(file).is_ok_and(|about| about.f_type as u32 != HUGETLBFS)
}

/// A descriptor that can be waited for and closed without waiting.
fn event_of(fd: Option<File>) -> Result<Option<File>> {
    match fd {
        Some(file) if !is_event(&file) => Err(Refused::InvalidParam),
        other => Ok(other),
    }
}

/// There is one queue.
fn check(index: u32) -> Result<()> {
    if index == 0 {
        Ok(())
    } else {
        Err(Refused::InvalidParam)
    }
}

const fn not_offered<T>() -> Result<T> {
    Err(Refused::InvalidOperation("this was not offered"))
}

impl VhostUserBackendReqHandlerMut for Backend {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.outlet.send(Change::Enable(false))
    }

    fn reset_device(&mut self) -> Result<()> {
        self.outlet.send(Change::Enable(false))
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.disk.features())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.disk.features() != 0 {
            return Err(Refused::InvalidParam);
        }
        self.acknowledged = features;
        self.outlet.send(Change::Features(features))?;
        // Without the protocol's own features queues are enabled from the start.
        if features & feature::VHOST_PROTOCOL == 0 {
            self.outlet.send(Change::Enable(true))?;
        }
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _: Option<bool>,
    ) -> Result<Option<Vec<VhostUserMemoryRegionBase>>> {
        let mut ranges = Vec::new();
        let mut known = Vec::new();
        for (region, file) in regions.iter().zip(files) {
            let end = region.mmap_offset.checked_add(region.memory_size);
            if !is_dependable(&file) {
                return Err(Refused::InvalidParam);
            }
            let length = file.metadata().map_err(Refused::ReqHandlerError)?.len();
            if end.is_none_or(|end| end > length) {
                return Err(Refused::InvalidParam);
            }
            let size = usize::try_from(region.memory_size).map_err(|_| Refused::InvalidParam)?;
            let place = FileOffset::new(file, region.mmap_offset);
            ranges.push((GuestAddress(region.guest_phys_addr), size, Some(place)));
            known.push(Region {
                monitor: region.user_addr,
                guest: region.guest_phys_addr,
                size: region.memory_size,
            });
        }
        let memory = GuestMemoryMmap::from_ranges_with_files(ranges)
            .map_err(|e| Refused::ReqHandlerError(std::io::Error::other(e)))?;
        self.regions = known;
        self.outlet.send(Change::Memory(memory))?;
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        check(index)?;
        match u16::try_from(num) {
            Ok(size) if size > 0 && size <= QUEUE_SIZE && size.is_power_of_two() => {
                self.outlet.send(Change::Size(size))
            }
            _ => Err(Refused::InvalidParam),
        }
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _: VhostUserVringAddrFlags,
        descriptor: u64,
        used: u64,
        available: u64,
        _: u64,
    ) -> Result<()> {
        check(index)?;
        let change = Change::Addresses {
            descriptors: self.translate(descriptor)?,
            available: self.translate(available)?,
            used: self.translate(used)?,
        };
        self.outlet.send(change)
    }

    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        check(index)?;
        let base = u16::try_from(base).map_err(|_| Refused::InvalidParam)?;
        self.outlet.send(Change::Base(base))
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        check(index)?;
        let (place, answer) = channel();
        self.outlet.send(Change::Stop(place))?;
        let base = answer.recv().map_err(|_| Refused::BackendInternalError)?;
        Ok(VhostUserVringState::new(index, u32::from(base)))
    }

    fn set_vring_kick(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        check(u32::from(index))?;
        self.outlet.send(Change::Kick(event_of(fd)?))
    }

    fn set_vring_call(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        check(u32::from(index))?;
        self.outlet.send(Change::Call(event_of(fd)?))
    }

    fn set_vring_err(&mut self, index: u8, _: Option<File>) -> Result<()> {
        check(u32::from(index))
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK)
    }

    fn set_protocol_features(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(1)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        check(index)?;
        self.outlet.send(Change::Enable(enable))
    }

    fn get_config(&mut self, offset: u32, size: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        let config = self.disk.config();
        let (from, size) = (offset as usize, size as usize);
        let end = from.checked_add(size).ok_or(Refused::InvalidParam)?;
        // Newer monitors ask for more fields than there are here: zeroes.
        if end > 4096 {
            return Err(Refused::InvalidParam);
        }
        let mut all = config.to_vec();
        all.resize(end.max(config.len()), 0);
        Ok(all[from..end].to_vec())
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        not_offered()
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        not_offered()
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        not_offered()
    }

    fn get_inflight_fd(&mut self, _: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        not_offered()
    }

    fn set_inflight_fd(&mut self, _: &VhostUserInflight, _: File) -> Result<()> {
        not_offered()
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        not_offered()
    }

    fn add_mem_region(
        &mut self,
        _: &VhostUserSingleMemoryRegion,
        _: File,
        _: Option<bool>,
    ) -> Result<Option<VhostUserMemoryRegionBase>> {
        not_offered()
    }

    fn remove_mem_region(&mut self, _: &VhostUserSingleMemoryRegion) -> Result<()> {
        not_offered()
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        not_offered()
    }

    fn check_device_state(&mut self) -> Result<()> {
        not_offered()
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        not_offered()
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        not_offered()
    }
}
