//! Engine with io_uring: registered memory and files, operations submitted together, one ring per thread.
//!
//! Operations are submitted to the kernel one at a time, as fio does by default: the kernel merges adjacent operations
//! of one call, and the device would see other sizes than the job requests. The last queued operation is submitted by
//! the system call of the next [`Ring::wait`]. A job may request larger batches (`iodepth_batch`). Waits that end by
//! time are rare: for far instants a timer is in the ring, so that the common wait needs none.

use super::clock::{AWAKE, Clock};
use super::slot::Slot;
use super::volume::{Volume, VolumeKind};
use super::{Options, errno, sys};
use crate::data_source::DataSource;
use crate::target::{Load, Outcome, Reply, Request, TargetError};
use io_uring::{IoUring, opcode, squeue, types};
use nandscope_units::Nanos;
use nandscope_workload::OpKind;
use rustix::io::Errno;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Marks the completion of the timer.
const TIMER: u64 = u64::MAX;
/// From this far on a timer in the ring replaces the time limit of a wait.
const FAR: Nanos = Nanos::from_millis(10);
/// The volume is the only registered file.
const VOLUME: types::Fixed = types::Fixed(0);
/// `BLOCK_URING_CMD_DISCARD` of linux/blkdev.h, `_IO(0x12, 0)`; since Linux 6.12.
const COMMAND_DISCARD: u32 = 0x12 << 8;
/// Longest wait for operations in flight when the ring is dropped.
const PATIENCE: Nanos = Nanos::from_secs(30);

/// See the module's text.
pub(super) struct Ring {
    ring: IoUring,
    volume: Arc<Volume>,
    clock: Clock,
    slots: Vec<Slot>,
    /// Number of operations submitted together.
    batch: usize,
    /// Tags that are not submitted yet.
    queued: Vec<u32>,
    /// Operations that ended without the kernel's help.
    settled: Vec<(u32, Outcome)>,
    /// Operations not answered yet.
    outstanding: u32,
    /// Expiry time of the timer in the ring.
    timer: Option<Nanos>,
    /// Duration of the timer; the kernel reads it during submission.
    timer_length: Box<types::Timespec>,
    operations: u64,
    polled: bool,
    /// Number of the ring among those registered by this thread, which saves the kernel a look-up.
    index: Option<u32>,
    /// Whether the kernel accepts discards of devices through the ring.
    discards: bool,
    gone: Option<Errno>,
    data: DataSource,
}

impl Ring {
    /// A ring for this load. It belongs to the calling thread.
    pub(super) fn new(
        volume: Arc<Volume>,
        clock: Clock,
        load: &Load,
        options: &Options,
        data: &DataSource,
    ) -> Result<Ring, Errno> {
        let depth = load.depth.clamp(1, 16_384);
        let ring = build(depth, options.polled)?;
        let mut made = Ring {
            ring,
            volume,
            clock,
            slots: (0..depth)
                .map(|i| Slot::new(load.largest as usize, u64::from(i), data))
                .collect(),
            batch: load.batch.max(1) as usize,
            queued: Vec::with_capacity(depth as usize),
            settled: Vec::with_capacity(depth as usize),
            outstanding: 0,
            timer: None,
            timer_length: Box::default(),
            operations: 0,
            polled: options.polled,
            index: None,
            discards: !options.polled,
            gone: None,
            data: data.clone(),
        };
        made.register()?;
        made.index = sys::register_ring(&made.ring);
        Ok(made)
    }

    /// Registers file, memory and ring with the kernel. If there is too much memory for it (a limit on locked memory),
    /// operations use unregistered memory.
    #[allow(unsafe_code, reason = "the kernel is given memory by its address")]
    fn register(&mut self) -> Result<(), Errno> {
        let submitter = &mut self.ring.submitter();
        let file = self.volume.file().as_raw_fd();
        submitter.register_files(&[file]).map_err(|e| number(&e))?;
        let part = |bytes: &mut [u8]| libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        let mut parts = Vec::with_capacity(self.slots.len() * 2);
        for slot in &mut self.slots {
            let length = slot.read.len();
            parts.push(part(slot.read.bytes_mut(length)));
            parts.push(part(slot.write.bytes_mut(length)));
        }
        let some = parts.first().is_some_and(|p| p.iov_len > 0);
        // SAFETY: the memory stays in `self.slots` until the ring is dropped: a slot that gets other memory is no
        // longer `registered`, and the kernel keeps the pages of the former.
        if some && unsafe { submitter.register_buffers(&parts) }.is_ok() {
            self.slots.iter_mut().for_each(|s| s.registered = true);
        }
        Ok(())
    }

    /// Queues an operation; the kernel gets it with the next wait at the latest.
    #[inline]
    pub(super) fn push(&mut self, request: &Request) -> Result<(), TargetError> {
        let tag = request.tag as usize;
        while tag >= self.slots.len() {
            self.slots.push(Slot::new(0, 0, &self.data));
        }
        self.operations += 1;
        self.outstanding += 1;
        self.slots[tag].begin(request, self.operations, Nanos::ZERO);
        let aligned = (request.offset.0 | u64::from(request.length))
            .is_multiple_of(u64::from(self.volume.alignment()));
        if !aligned {
            let why =
                Outcome::Failed("offset or length is not a multiple of the target's alignment");
            self.settled.push((request.tag, why));
            return Ok(());
        }
        let through_ring = match request.kind {
            OpKind::Trim if self.volume.kind() == VolumeKind::BlockDevice => self.discards,
            OpKind::Trim | OpKind::Flush => !self.polled,
            OpKind::Read | OpKind::Write => true,
        };
        if through_ring {
            self.hand_over(request.tag)
        } else {
            let outcome = self.outside(tag);
            self.settled.push((request.tag, outcome));
            Ok(())
        }
    }

    /// Executes discards and flushes without the ring, synchronously.
    fn outside(&mut self, tag: usize) -> Outcome {
        let slot = &mut self.slots[tag];
        slot.submitted = self.clock.now();
        let done = match slot.request.kind {
            OpKind::Trim => self
                .volume
                .discard(slot.request.offset.0, u64::from(slot.request.length)),
            _ => rustix::fs::fdatasync(self.volume.file()),
        };
        match done {
            Ok(()) => Outcome::Done,
            Err(e) => {
                self.gone = self.gone.or(self.volume.lost(Some(e)));
                errno::outcome(e)
            }
        }
    }

    fn hand_over(&mut self, tag: u32) -> Result<(), TargetError> {
        if self.queued.len() >= self.batch {
            self.note_submission();
            let queued = self.ring.submission().len() as u32;
            // Operations that the kernel does not accept now stay queued until the next wait, which distinguishes
            // transient errors from permanent ones.
            let _ = sys::submit(&self.ring, self.index, queued);
        }
        self.resume(tag)?;
        self.queued.push(tag);
        Ok(())
    }

    /// Queues the rest of an operation again; its time still counts from the first part.
    #[inline]
    fn resume(&mut self, tag: u32) -> Result<(), TargetError> {
        let entry = self.entry(tag as usize).user_data(u64::from(tag));
        self.put(&entry)
    }

    #[allow(unsafe_code, reason = "the kernel is given memory by its address")]
    #[inline]
    fn put(&mut self, entry: &squeue::Entry) -> Result<(), TargetError> {
        loop {
            // SAFETY: the entry refers to memory of a slot that is in flight until its completion has been taken, and
            // lives as long as the ring; or to the timer's own memory.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            // More operations than expected: the queue is submitted first.
            self.note_submission();
            match self.ring.submit() {
                Ok(_) => {}
                Err(e) if is_passing(number(&e)) => std::thread::yield_now(),
                Err(e) => return Err(broken("submitting", number(&e))),
            }
        }
    }

    /// Ring entry for the rest of an operation.
    #[inline]
    fn entry(&mut self, tag: usize) -> squeue::Entry {
        let slot = &mut self.slots[tag];
        let offset = slot.request.offset.0 + u64::from(slot.done);
        let left = slot.request.length - slot.done;
        let done = slot.done as usize;
        let all = slot.request.length as usize;
        let flags = if slot.request.durable {
            libc::RWF_DSYNC
        } else {
            0
        };
        match (slot.request.kind, slot.registered) {
            (OpKind::Read, true) => {
                let memory = slot.read.bytes_mut(all)[done..].as_mut_ptr();
                opcode::ReadFixed::new(VOLUME, memory, left, 2 * (tag as u16))
                    .offset(offset)
                    .build()
            }
            (OpKind::Read, false) => {
                let memory = slot.read.bytes_mut(all)[done..].as_mut_ptr();
                opcode::Read::new(VOLUME, memory, left)
                    .offset(offset)
                    .build()
            }
            (OpKind::Write, true) => {
                let memory = slot.write.bytes(all)[done..].as_ptr();
                opcode::WriteFixed::new(VOLUME, memory, left, 2 * (tag as u16) + 1)
                    .offset(offset)
                    .rw_flags(flags)
                    .build()
            }
            (OpKind::Write, false) => {
                let memory = slot.write.bytes(all)[done..].as_ptr();
                opcode::Write::new(VOLUME, memory, left)
                    .offset(offset)
                    .rw_flags(flags)
                    .build()
            }
            (OpKind::Flush, _) => opcode::Fsync::new(VOLUME)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            (OpKind::Trim, _) if self.volume.kind() == VolumeKind::BlockDevice => {
                let mut length = [0u8; 16];
                length[..8].copy_from_slice(&u64::from(slot.request.length).to_le_bytes());
                opcode::UringCmd16::new(VOLUME, COMMAND_DISCARD)
                    .addr(Some(slot.request.offset.0))
                    .cmd(length)
                    .build()
            }
            (OpKind::Trim, _) => opcode::Fallocate::new(VOLUME, u64::from(slot.request.length))
                .offset(slot.request.offset.0)
                .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                .build(),
        }
    }

    /// See [`crate::target::Target::wait`].
    pub(super) fn wait(
        &mut self,
        until: Nanos,
        replies: &mut Vec<Reply>,
    ) -> Result<(), TargetError> {
        if self.outstanding == 0 {
            self.clock.idle_until(until);
            return Ok(());
        }
        let before = replies.len();
        loop {
            let now = self.note_submission();
            let left = until.saturating_sub(now);
            let at_once = left <= AWAKE || self.polled || !self.settled.is_empty();
            let entered = if at_once {
                self.enter(0, None)
            } else if self.timer.is_some_and(|at| at <= until) {
                self.enter(1, None)
            } else if self.timer.is_none() && left >= FAR {
                self.set_timer(until, left)?;
                self.enter(1, None)
            } else {
                self.enter(1, Some(left.saturating_sub(AWAKE)))
            };
            self.take(replies)?;
            if replies.len() > before {
                return Ok(());
            }
            match entered {
                Ok(()) | Err(Errno::TIME) => {}
                // A signal was received: the caller may have to handle it.
                Err(Errno::INTR) => return Ok(()),
                Err(e) if is_passing(e) => std::thread::yield_now(),
                Err(e) => return Err(broken("waiting", e)),
            }
            if self.clock.now() >= until {
                return Ok(());
            }
        }
    }

    /// The instant of the hand-over becomes that of the operations gathered.
    #[inline]
    fn note_submission(&mut self) -> Nanos {
        let now = self.clock.now();
        for tag in self.queued.drain(..) {
            self.slots[tag as usize].submitted = now;
        }
        now
    }

    /// Submits the queued operations and waits for `want` completions, at most for `limit`.
    #[inline]
    fn enter(&mut self, want: u32, limit: Option<Nanos>) -> Result<(), Errno> {
        if let Some(limit) = limit {
            let limit = timespec(limit);
            let arguments = types::SubmitArgs::new().timespec(&limit);
            let entered = self
                .ring
                .submitter()
                .submit_with_args(want as usize, &arguments);
            return entered.map(|_| ()).map_err(|e| number(&e));
        }
        let queued = self.ring.submission().len() as u32;
        sys::enter(&self.ring, self.index, queued, want)
    }

    fn set_timer(&mut self, at: Nanos, left: Nanos) -> Result<(), TargetError> {
        *self.timer_length = timespec(left);
        let entry = opcode::Timeout::new(&*self.timer_length)
            .build()
            .user_data(TIMER);
        self.put(&entry)?;
        self.timer = Some(at);
        Ok(())
    }

    /// Takes finished operations from the completion queue.
    fn take(&mut self, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let now = self.clock.now();
        for (tag, outcome) in self.settled.drain(..) {
            self.outstanding -= 1;
            let slot = &self.slots[tag as usize];
            let unsubmitted = slot.submitted.is_zero();
            replies.push(Reply {
                tag,
                submitted: if unsubmitted { now } else { slot.submitted },
                completed: now,
                outcome: slot.end(outcome),
            });
        }
        loop {
            let Some(completion) = self.ring.completion().next() else {
                break;
            };
            if completion.user_data() == TIMER {
                self.timer = None;
                continue;
            }
            let tag = completion.user_data() as u32;
            if let Some(outcome) = self.conclude(tag, completion.result())? {
                self.outstanding -= 1;
                let slot = &self.slots[tag as usize];
                replies.push(Reply {
                    tag,
                    submitted: slot.submitted,
                    completed: now,
                    outcome: slot.end(outcome),
                });
            }
        }
        match self.gone.take() {
            Some(e) => Err(TargetError::Gone(format!(
                "{}: {}",
                self.volume.path().display(),
                std::io::Error::from(e)
            ))),
            None => Ok(()),
        }
    }

    /// Outcome of an operation; `None` if the rest of it is in flight.
    #[inline]
    fn conclude(&mut self, tag: u32, result: i32) -> Result<Option<Outcome>, TargetError> {
        let slot = &mut self.slots[tag as usize];
        if result < 0 {
            return self.fail(tag, Errno::from_raw_os_error(-result));
        }
        if !matches!(slot.request.kind, OpKind::Read | OpKind::Write) {
            return Ok(Some(Outcome::Done));
        }
        slot.done += (result as u32).min(slot.request.length - slot.done);
        if slot.done == slot.request.length {
            return Ok(Some(Outcome::Done));
        }
        if result == 0 {
            self.gone = self.gone.or(self.volume.lost(None));
            return Ok(Some(Outcome::Failed(
                "the target ends before the operation does",
            )));
        }
        self.resume(tag)?;
        Ok(None)
    }

    fn fail(&mut self, tag: u32, error: Errno) -> Result<Option<Outcome>, TargetError> {
        let unknown = matches!(error, Errno::OPNOTSUPP | Errno::INVAL | Errno::NOTTY);
        if unknown && self.discards && self.slots[tag as usize].request.kind == OpKind::Trim {
            // Perhaps only the way through the ring is missing.
            if self.volume.kind() == VolumeKind::BlockDevice {
                self.discards = false;
                return Ok(Some(self.outside(tag as usize)));
            }
        }
        if self.polled && error == Errno::OPNOTSUPP {
            let why = "the device's driver cannot be polled for completions; leave --poll out";
            return Ok(Some(Outcome::Failed(why)));
        }
        if matches!(error, Errno::AGAIN | Errno::INTR) {
            self.resume(tag)?;
            return Ok(None);
        }
        self.gone = self.gone.or(self.volume.lost(Some(error)));
        Ok(Some(errno::outcome(error)))
    }
}

impl Drop for Ring {
    /// Waits for operations in flight, since the kernel may still write to their memory. If they do not end in time,
    /// the memory is leaked instead of being reused.
    fn drop(&mut self) {
        let until = self.clock.now() + PATIENCE;
        let mut replies = Vec::new();
        while self.outstanding > 0 && self.clock.now() < until {
            // Operations on a removed device still end; operations on a broken ring do not.
            if let Err(TargetError::Other(_)) = self.wait(until, &mut replies) {
                break;
            }
        }
        // The kernel destroys a ring some time after it was closed; the device must be free for the next user.
        let submitter = self.ring.submitter();
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
        if let Some(index) = self.index {
            sys::unregister_ring(&self.ring, index);
        }
        if self.outstanding > 0 {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

fn build(depth: u32, polled: bool) -> Result<IoUring, Errno> {
    // One more entry for the timer.
    let entries = (depth + 1).next_power_of_two();
    let base = |builder: &mut io_uring::Builder| {
        builder.setup_submit_all().setup_cqsize(entries * 2);
        if polled {
            builder.setup_iopoll();
        }
    };
    let mut best = IoUring::builder();
    base(&mut best);
    best.setup_single_issuer().setup_defer_taskrun();
    let ring = match best.build(entries) {
        // Kernels before 6.1 know neither.
        Err(e) if number(&e) == Errno::INVAL => {
            let mut plain = IoUring::builder();
            if polled {
                plain.setup_iopoll();
            }
            plain.build(entries)
        }
        other => other,
    };
    ring.map_err(|e| number(&e))
}

/// Whether the system lets this process use io_uring.
pub(super) fn probe() -> Result<(), Errno> {
    let ring = build(1, false)?;
    if ring.params().is_feature_ext_arg() && ring.params().is_feature_nodrop() {
        Ok(())
    } else {
        Err(Errno::NOSYS)
    }
}

fn timespec(length: Nanos) -> types::Timespec {
    types::Timespec::new()
        .sec(length.0 / 1_000_000_000)
        .nsec((length.0 % 1_000_000_000) as u32)
}

fn number(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Whether an error is temporary because the kernel lacks a resource.
fn is_passing(error: Errno) -> bool {
    matches!(error, Errno::AGAIN | Errno::BUSY | Errno::INTR)
}

fn broken(what: &str, error: Errno) -> TargetError {
    TargetError::Other(format!(
        "{what} through io_uring failed: {}; --engine blocking does without",
        std::io::Error::from(error)
    ))
}
