//! Engine with pread and pwrite, for systems that do not allow io_uring: one thread per outstanding operation, or none
//! at queue depth 1.
//!
//! It costs more per operation than the ring; the engine is named in the result.

use super::clock::{AWAKE, Clock};
use super::errno;
use super::slot::Slot;
use super::volume::Volume;
use crate::data_source::DataSource;
use crate::target::{Load, Outcome, Reply, Request, TargetError};
use nandscope_units::Nanos;
use nandscope_workload::OpKind;
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum number of threads; more would only wait for each other.
const MOST_THREADS: u32 = 256;

/// An operation with its slot, passed between threads.
struct Task {
    tag: u32,
    slot: Box<Slot>,
    completed: Nanos,
    result: Result<(), Errno>,
}

/// A thread that executes one operation after another.
struct Worker {
    tasks: Option<Sender<Task>>,
    handle: Option<JoinHandle<()>>,
}

/// See the module's text.
pub(super) struct Pool {
    volume: Arc<Volume>,
    clock: Clock,
    slots: Vec<Option<Box<Slot>>>,
    /// Submitted operations that no worker has begun; without workers, [`Pool::wait`] performs them itself.
    waiting: VecDeque<Task>,
    workers: Vec<Worker>,
    idle: Vec<usize>,
    finished: Receiver<(usize, Task)>,
    outstanding: u32,
    operations: u64,
    data: DataSource,
}

impl Pool {
    /// A pool with as many threads as the load's queue depth.
    pub(super) fn new(
        volume: Arc<Volume>,
        clock: Clock,
        load: &Load,
        data: &DataSource,
    ) -> Result<Pool, TargetError> {
        let depth = load.depth.max(1);
        let threads = if depth == 1 {
            0
        } else {
            depth.min(MOST_THREADS)
        };
        let (say, finished) = channel();
        let mut workers = Vec::new();
        for number in 0..threads as usize {
            let (tasks, todo) = channel::<Task>();
            let (volume, said) = (volume.clone(), say.clone());
            let handle = thread::Builder::new()
                .name(format!("I/O {number}"))
                .spawn(move || {
                    for mut task in todo {
                        perform(&volume, &clock, &mut task);
                        // After an abandoned run, no one receives the message.
                        if said.send((number, task)).is_err() {
                            return;
                        }
                    }
                })
                .map_err(|e| {
                    TargetError::Other(format!("a thread for I/O cannot be started: {e}"))
                })?;
            workers.push(Worker {
                tasks: Some(tasks),
                handle: Some(handle),
            });
        }
        Ok(Pool {
            volume,
            clock,
            slots: (0..depth)
                .map(|i| {
                    Some(Box::new(Slot::new(
                        load.largest as usize,
                        u64::from(i),
                        data,
                    )))
                })
                .collect(),
            waiting: VecDeque::with_capacity(depth as usize),
            idle: (0..workers.len()).collect(),
            workers,
            finished,
            outstanding: 0,
            operations: 0,
            data: data.clone(),
        })
    }

    /// Accepts an operation and starts it if a thread is free.
    pub(super) fn push(&mut self, request: &Request) -> Result<(), TargetError> {
        let tag = request.tag as usize;
        if tag >= self.slots.len() {
            self.slots.resize_with(tag + 1, || None);
        }
        // A tag is reused only after its reply, so its slot is free; a missing slot was never created.
        let mut slot = self.slots[tag]
            .take()
            .unwrap_or_else(|| Box::new(Slot::new(0, 0, &self.data)));
        self.operations += 1;
        self.outstanding += 1;
        slot.begin(request, self.operations, self.clock.now());
        self.waiting.push_back(Task {
            tag: request.tag,
            slot,
            completed: Nanos::ZERO,
            result: Ok(()),
        });
        self.begin_waiting()
    }

    fn begin_waiting(&mut self) -> Result<(), TargetError> {
        while !self.waiting.is_empty()
            && let Some(worker) = self.idle.pop()
        {
            let task = self.waiting.pop_front();
            let sent = task.zip(self.workers[worker].tasks.as_ref());
            if sent.is_none_or(|(task, tasks)| tasks.send(task).is_err()) {
                return Err(TargetError::Other("a thread for I/O has ended".to_string()));
            }
        }
        Ok(())
    }

    /// [`crate::target::Target::wait`] of this engine.
    pub(super) fn wait(
        &mut self,
        until: Nanos,
        replies: &mut Vec<Reply>,
    ) -> Result<(), TargetError> {
        if self.outstanding == 0 {
            self.clock.idle_until(until);
            return Ok(());
        }
        if self.workers.is_empty() {
            while let Some(mut task) = self.waiting.pop_front() {
                perform(&self.volume, &self.clock, &mut task);
                self.answer(task, replies)?;
            }
            return Ok(());
        }
        let Some(first) = self.next_finished(until)? else {
            return Ok(());
        };
        let mut next = Some(first);
        while let Some((worker, task)) = next {
            self.idle.push(worker);
            self.answer(task, replies)?;
            next = self.finished.try_recv().ok();
        }
        self.begin_waiting()
    }

    fn next_finished(&mut self, until: Nanos) -> Result<Option<(usize, Task)>, TargetError> {
        let left = until.saturating_sub(self.clock.now()).saturating_sub(AWAKE);
        match self.finished.recv_timeout(Duration::from_nanos(left.0)) {
            Ok(finished) => return Ok(Some(finished)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TargetError::Other("the threads for I/O have ended".into()));
            }
        }
        while self.clock.now() < until {
            if let Ok(finished) = self.finished.try_recv() {
                return Ok(Some(finished));
            }
            std::hint::spin_loop();
        }
        Ok(None)
    }

    fn answer(&mut self, task: Task, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        self.outstanding -= 1;
        let is_short = task.slot.done < task.slot.request.length;
        let lost = match task.result {
            Ok(()) if is_short => self.volume.lost(None),
            Ok(()) => None,
            Err(e) => self.volume.lost(Some(e)),
        };
        if let Some(error) = lost {
            return Err(TargetError::Gone(format!(
                "{}: {}",
                self.volume.path().display(),
                std::io::Error::from(error)
            )));
        }
        let reply = Reply {
            tag: task.tag,
            submitted: task.slot.submitted,
            completed: task.completed,
            outcome: match task.result {
                Ok(()) if is_short => Outcome::Failed("the target ends before the operation does"),
                Ok(()) => Outcome::Done,
                Err(e) => errno::outcome(e),
            },
        };
        let reply = Reply {
            outcome: task.slot.end(reply.outcome),
            ..reply
        };
        self.slots[task.tag as usize] = Some(task.slot);
        // Threads finish in any order; the clock of replies must not go back.
        let completed = replies.last().map_or(Nanos::ZERO, |last| last.completed);
        replies.push(Reply {
            completed: reply.completed.max(completed),
            ..reply
        });
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.tasks = None;
        }
        for worker in &mut self.workers {
            // A thread that panicked returns nothing.
            let _ = worker.handle.take().map(JoinHandle::join);
        }
    }
}

fn perform(volume: &Volume, clock: &Clock, task: &mut Task) {
    task.result = transfer(volume, &mut task.slot);
    task.completed = clock.now();
}

fn transfer(volume: &Volume, slot: &mut Slot) -> Result<(), Errno> {
    let aligned = (slot.request.offset.0 | u64::from(slot.request.length))
        .is_multiple_of(u64::from(volume.alignment()));
    if !aligned {
        return Err(Errno::INVAL);
    }
    let all = slot.request.length as usize;
    match slot.request.kind {
        OpKind::Trim => volume.discard(slot.request.offset.0, u64::from(slot.request.length))?,
        OpKind::Flush => rustix::fs::fdatasync(volume.file())?,
        OpKind::Read | OpKind::Write => {
            while (slot.done as usize) < all {
                let at = slot.request.offset.0 + u64::from(slot.done);
                let from = slot.done as usize;
                let moved = match slot.request.kind {
                    OpKind::Read => volume
                        .file()
                        .read_at(&mut slot.read.bytes_mut(all)[from..], at),
                    _ if slot.request.durable => {
                        let parts = [IoSlice::new(&slot.write.bytes(all)[from..])];
                        pwritev2(volume.file(), &parts, at, ReadWriteFlags::DSYNC)
                            .map_err(std::io::Error::from)
                    }
                    _ => volume.file().write_at(&slot.write.bytes(all)[from..], at),
                };
                match moved {
                    Ok(0) => return Ok(()),
                    Ok(moved) => slot.done += moved as u32,
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(Errno::from_io_error(&e).unwrap_or(Errno::IO)),
                }
            }
        }
    }
    slot.done = slot.request.length;
    Ok(())
}
