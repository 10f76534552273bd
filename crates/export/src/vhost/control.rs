//! The conversation with the virtual machine monitor: the crate `vhost` reads and checks its
//! messages; what they change is sent to the server's thread.

use super::bell::is_event;
use super::change::Change;
use super::disk::{Disk, QUEUE_SIZE};
use nandscope_blockio::virtio::{Access, GuestMemory, PROTOCOL_FEATURES, Region};
use rustix::fd::OwnedFd;
use rustix::fs::SealFlags;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{SyncSender, channel};
use std::sync::{Arc, Mutex};
use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig,
    VhostUserSharedMsg, VhostUserSingleMemoryRegion, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{
    BackendReqHandler, Error as Refused, GpuBackend, Result, VhostUserBackendReqHandlerMut,
};

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

/// Reads the messages of a monitor in a separate thread, which holds `token`, until the monitor
/// disconnects.
///
/// # Errors
/// `io::Error` if no thread can be created.
pub(super) fn converse(
    stream: UnixStream,
    disk: Disk,
    changes: SyncSender<Change>,
    wake: Arc<OwnedFd>,
    token: Arc<()>,
) -> std::io::Result<()> {
    let backend = Arc::new(Mutex::new(Backend {
        disk,
        outlet: Outlet { changes, wake },
        memory: None,
    }));
    std::thread::Builder::new()
        .name("vhost-user".to_string())
        .spawn(move || {
            let _held = token;
            let mut handler = BackendReqHandler::from_stream(stream, backend.clone());
            while handler.handle_request().is_ok() {}
            if let Ok(backend) = backend.lock() {
                // The receiver is gone after the end of the server.
                let _ = backend.outlet.send(Change::End);
            }
        })?;
    Ok(())
}

struct Backend {
    disk: Disk,
    outlet: Outlet,
    memory: Option<GuestMemory>,
}

impl Backend {
    /// The guest's address of one of the monitor.
    fn translate(&self, address: u64) -> Result<u64> {
        let memory = self.memory.as_ref().ok_or(Refused::InvalidParam)?;
        memory.guest_address(address).ok_or(Refused::InvalidParam)
    }
}

/// True if the file's memory is always accessible. An access to mapped memory whose file has shrunk, or
/// whose huge page is unavailable, kills the process (SIGBUS).
fn is_dependable(file: &File) -> bool {
    // <linux/magic.h>
    const HUGETLBFS: rustix::fs::FsWord = 0x9584_58f6;
    let shrinks =
        !rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    // Only kernel memory has seals, so no other file system is consulted here.
    !shrinks && rustix::fs::fstatfs(file).is_ok_and(|about| about.f_type != HUGETLBFS)
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
        self.outlet.send(Change::Features(features))?;
        // Without the protocol's own features queues are enabled from the start.
        if features & PROTOCOL_FEATURES == 0 {
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
        let mut shared = Vec::with_capacity(regions.len());
        for (region, file) in regions.iter().zip(files) {
            if !is_dependable(&file) {
                return Err(Refused::InvalidParam);
            }
            shared.push(Region {
                guest: region.guest_phys_addr,
                user: region.user_addr,
                size: region.memory_size,
                offset: region.mmap_offset,
                file,
            });
        }
        let memory = GuestMemory::map(shared, Access::Mapped)
            .map_err(|error| Refused::ReqHandlerError(std::io::Error::other(error)))?;
        self.memory = Some(memory.clone());
        self.outlet.send(Change::Memory(memory))?;
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        check(index)?;
        if num > u32::from(QUEUE_SIZE) || !num.is_power_of_two() {
            return Err(Refused::InvalidParam);
        }
        self.outlet.send(Change::Size(num))
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
        self.outlet.send(Change::Addresses([
            self.translate(descriptor)?,
            self.translate(available)?,
            self.translate(used)?,
        ]))
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
        let part = self.disk.config().part(offset, size);
        part.ok_or(Refused::InvalidParam)
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
