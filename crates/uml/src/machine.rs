//! The kernel and the simulated device in one virtual time: an event loop over the two sockets of the
//! kernel (time travel, block device) and the three calls of the device.
//!
//! Only one side runs at a time. The kernel may run freely until the next event of the device
//! (FREE_UNTIL). While it sleeps, the earlier of the device's next completion and the kernel's next
//! timer comes next; at the same time, the device comes first. A kick is answered only after the kernel
//! knows its new limit.

mod disk;
mod schedule;
#[cfg(test)]
mod tests;

use crate::observer::{Observer, Progress};
use crate::post_crash::Change;
use crate::recording::Event;
use crate::time_travel::{MESSAGE_BYTES, Message, Op, UnknownOp};
use crate::vhost::{HEADER_BYTES, Header, Malformed, Request};
use crate::wire::Wire;
use disk::Backend;
use nandscope_blockio::image::{Image, OutOfRange, SpillError};
use nandscope_blockio::virtio::{BlockConfig, VirtioError};
use nandscope_device::Completion;
use nandscope_device::{SimulatedDevice, SubmitError};
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Interval of progress reports.
const TELL: Duration = Duration::from_millis(200);

/// Why a run in virtual time ended before the kernel switched itself off.
#[derive(Debug, Error)]
pub enum MachineError {
    /// A time-travel message that does not exist.
    #[error(transparent)]
    TimeTravel(#[from] UnknownOp),
    /// A time-travel message at a moment at which it cannot come.
    #[error("the kernel violated the time-travel protocol: {0}")]
    OutOfTurn(&'static str),
    /// A vhost-user message that cannot be.
    #[error(transparent)]
    Vhost(#[from] Malformed),
    /// A request queue that cannot be.
    #[error(transparent)]
    Queue(#[from] VirtioError),
    /// No event will ever happen.
    #[error("the kernel sleeps for ever at {0}: no timer is set and no command is outstanding")]
    Asleep(Nanos),
    /// No message within the time limit.
    #[error("the kernel did not respond for {} s of real time, at {at} of virtual time", .silence.as_secs())]
    Silent {
        /// Wall time without a message.
        silence: Duration,
        /// Virtual time of the last one.
        at: Nanos,
    },
    /// It took too long as a whole.
    #[error("the run took more than {} s of real time; it was at {at} of virtual time", .limit.as_secs())]
    TooLong {
        /// Limit of real time.
        limit: Duration,
        /// Virtual time reached.
        at: Nanos,
    },
    /// It took more virtual time than it may.
    #[error("the run did not end within {0} of virtual time")]
    TooLate(Nanos),
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
    /// The simulated device refused a command, which is a bug.
    #[error("the simulated device: {0}")]
    Device(SubmitError),
    /// The simulated device does not complete its commands, which is a bug.
    #[error("the simulated device holds commands at {0} but has nothing left to do")]
    Stalled(Nanos),
    /// The contents of the card could not be stored.
    #[error(transparent)]
    Contents(#[from] SpillError),
    /// A completion beyond the end of the card.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Error of a socket.
    #[error("the sockets to the kernel: {0}")]
    Io(#[from] io::Error),
    /// A poll was refused.
    #[error("the sockets to the kernel: {0}")]
    Poll(#[from] rustix::io::Errno),
}

/// Reason of a run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The kernel closed its connections: it switched itself off, or it died.
    Closed,
    /// The power was cut at the requested time.
    Cut,
}

/// Limits and circumstances of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest real time without a message of the kernel.
    pub silence: Duration,
    /// Longest real time of the whole run.
    pub wall: Duration,
    /// Longest virtual time of the run.
    pub virtual_time: Nanos,
    /// Time of day at the start of the kernel, nanoseconds since 1970.
    pub start_of_day: u64,
    /// Virtual time at which the power is cut, if it is.
    pub cut: Option<Nanos>,
    /// True if changes of the device are recorded.
    pub keep_changes: bool,
    /// Flushes are answered at once and never reach the device.
    pub flushes_lie: bool,
}

/// The machine; see the module's text.
pub struct Machine<'a, D> {
    device: &'a mut D,
    backend: Backend<'a>,
    limits: Limits,
    now: Nanos,
    /// The device's time less the kernel's: a device may have lived before this kernel.
    device_ahead: Nanos,
    completions: Vec<Completion>,
    time_travel: Connection,
    disk: Connection,
    /// The kernel sleeps until the next `Run`.
    waiting: bool,
    request: Option<Nanos>,
    /// Time until which the kernel may run freely.
    free_until: Option<Nanos>,
    /// Acknowledgements that the kernel owes us.
    due: u32,
    /// The kernel owes the reply to a VRING_CALL.
    call_due: bool,
    /// A kick that is answered when all acknowledgements are there.
    kick: Option<Header>,
    sequence: u32,
    messages: u64,
}

/// A socket before and after the kernel connects.
enum Connection {
    Expected(UnixListener),
    Open(Wire),
    Closed,
}

impl<'a, D: SimulatedDevice> Machine<'a, D> {
    /// A machine that expects a kernel on the two sockets. `device_now` is the device's present.
    pub fn new(
        device: &'a mut D,
        device_now: Nanos,
        contents: &'a mut Image,
        config: BlockConfig,
        limits: Limits,
        time_travel: UnixListener,
        disk: UnixListener,
    ) -> Self {
        Machine {
            device,
            backend: Backend::new(contents, config, limits.keep_changes, limits.flushes_lie),
            limits,
            now: Nanos::ZERO,
            device_ahead: device_now,
            completions: Vec::new(),
            time_travel: Connection::Expected(time_travel),
            disk: Connection::Expected(disk),
            waiting: false,
            request: None,
            free_until: None,
            due: 0,
            call_due: false,
            kick: None,
            sequence: 0,
            messages: 0,
        }
    }

    /// Runs until the kernel disconnects, the power is cut, or an error occurs. `alive` is called
    /// occasionally and returns whether the kernel's process is running.
    ///
    /// # Errors
    /// [`MachineError`] if Linux violates a protocol or exceeds a limit, the device or its contents fail, or the run
    /// is interrupted.
    pub fn run(
        &mut self,
        alive: &mut dyn FnMut() -> bool,
        observer: &dyn Observer,
    ) -> Result<Ended, MachineError> {
        match self.run_connected(alive, observer) {
            // A kernel can disconnect while a message to it is on its way.
            Err(MachineError::Io(error)) if is_disconnect(&error) => Ok(Ended::Closed),
            ended => ended,
        }
    }

    fn run_connected(
        &mut self,
        alive: &mut dyn FnMut() -> bool,
        observer: &dyn Observer,
    ) -> Result<Ended, MachineError> {
        let began = Instant::now();
        let mut heard = Instant::now();
        let mut told = Instant::now();
        loop {
            if self.waiting && self.due == 0 && !self.call_due && self.schedule()? {
                return Ok(Ended::Cut);
            }
            if self.cut_is_over() {
                return Ok(Ended::Cut);
            }
            match self.poll()? {
                Heard::Something => heard = Instant::now(),
                Heard::Nothing if !alive() => return Ok(Ended::Closed),
                Heard::Nothing => {}
                Heard::Closed => return Ok(Ended::Closed),
            }
            if observer.stop() {
                return Err(MachineError::Interrupted);
            }
            if let Some(fault) = self.backend.contents_fault() {
                return Err(fault.into());
            }
            if told.elapsed() > TELL {
                told = Instant::now();
                observer.progress(Progress {
                    at: self.now,
                    written: self.backend.written(),
                });
            }
            if heard.elapsed() > self.limits.silence {
                return Err(MachineError::Silent {
                    silence: self.limits.silence,
                    at: self.now,
                });
            }
            if began.elapsed() > self.limits.wall {
                return Err(MachineError::TooLong {
                    limit: self.limits.wall,
                    at: self.now,
                });
            }
            if self.now > self.limits.virtual_time {
                return Err(MachineError::TooLate(self.limits.virtual_time));
            }
        }
    }

    /// The virtual time reached.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Messages of both protocols that the kernel sent.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The commands in the order of completion, without those still outstanding, and the changes if they
    /// were recorded.
    pub fn into_record(self) -> (Vec<Event>, Vec<Change>) {
        self.backend.into_record()
    }

    fn cut_is_over(&self) -> bool {
        self.limits.cut.is_some_and(|cut| self.now >= cut)
    }

    /// Waits for a moment until something can be read, and deals with it.
    fn poll(&mut self) -> Result<Heard, MachineError> {
        let readable = {
            let backend = self.backend.socket.as_ref();
            let sources = [
                self.time_travel.poll_fd(),
                self.disk.poll_fd(),
                backend.map(|s| PollFd::new(s, PollFlags::IN)),
            ];
            let which: Vec<usize> = (0..sources.len())
                .filter(|i| sources[*i].is_some())
                .collect();
            let mut polled: Vec<PollFd<'_>> = sources.into_iter().flatten().collect();
            let moment = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            match poll(&mut polled, Some(&moment)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Heard::Nothing),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let mut readable = [false; 3];
            for (place, fd) in which.into_iter().zip(&polled) {
                readable[place] = !fd.revents().is_empty();
            }
            readable
        };
        // The kernel waits for each answer, so that at most one socket has something that
        // matters; time travel comes first where both have.
        if readable[0] && !self.receive_time_travel()? {
            return Ok(Heard::Closed);
        }
        if readable[1] && !self.hear_disk()? {
            return Ok(Heard::Closed);
        }
        if readable[2] {
            self.hear_backend_reply()?;
        }
        Ok(Heard::Something)
    }

    fn receive_time_travel(&mut self) -> Result<bool, MachineError> {
        if !self.time_travel.receive()? {
            return Ok(false);
        }
        while let Connection::Open(wire) = &mut self.time_travel {
            let Some((bytes, _)) = wire.waiting().split_first_chunk::<MESSAGE_BYTES>() else {
                break;
            };
            let message = Message::decode(bytes)?;
            wire.take(MESSAGE_BYTES);
            self.messages += 1;
            self.on_time_travel(message)?;
        }
        Ok(true)
    }

    fn on_time_travel(&mut self, message: Message) -> Result<(), MachineError> {
        let mut answer = Nanos::ZERO;
        match message.op {
            Op::Ack => return self.on_ack(),
            Op::Run | Op::FreeUntil => {
                return Err(MachineError::OutOfTurn(
                    "it sent a message that only the simulation sends",
                ));
            }
            Op::Start => {}
            Op::Request => self.request = Some(message.time),
            Op::Wait if self.waiting => {
                return Err(MachineError::OutOfTurn("it waits while it waits"));
            }
            Op::Wait => {
                self.waiting = true;
                self.free_until = None;
            }
            Op::Get => answer = self.now,
            Op::Update => self.on_update(message.time)?,
            Op::TimeOfDay => answer = Nanos(self.limits.start_of_day),
        }
        self.say(Message {
            op: Op::Ack,
            sequence: message.sequence,
            time: answer,
        })
    }

    fn on_ack(&mut self) -> Result<(), MachineError> {
        self.due = self
            .due
            .checked_sub(1)
            .ok_or(MachineError::OutOfTurn("it acknowledged what was not sent"))?;
        if self.due == 0
            && let Some(kick) = self.kick.take()
        {
            self.answer_disk(&kick, &0u64.to_ne_bytes())?;
        }
        Ok(())
    }

    fn on_update(&mut self, time: Nanos) -> Result<(), MachineError> {
        if time < self.now {
            return Err(MachineError::OutOfTurn("its time went back"));
        }
        if time > self.now + self.limits.virtual_time {
            return Err(MachineError::TooLate(self.limits.virtual_time));
        }
        self.device_until(time)?;
        self.now = time;
        Ok(())
    }

    /// Sends a message or an acknowledgement.
    fn say(&mut self, message: Message) -> Result<(), MachineError> {
        match &mut self.time_travel {
            Connection::Open(wire) => Ok(wire.send(&message.encode())?),
            _ => Err(MachineError::OutOfTurn(
                "its time-travel socket is not connected",
            )),
        }
    }

    /// Sends a message that the kernel has to acknowledge.
    fn tell(&mut self, op: Op, time: Nanos) -> Result<(), MachineError> {
        self.sequence = self.sequence.wrapping_add(1);
        self.due += 1;
        self.say(Message {
            op,
            sequence: self.sequence,
            time,
        })
    }

    fn hear_disk(&mut self) -> Result<bool, MachineError> {
        if !self.disk.receive()? {
            return Ok(false);
        }
        loop {
            let Connection::Open(wire) = &mut self.disk else {
                return Ok(true);
            };
            let Some((bytes, rest)) = wire.waiting().split_first_chunk::<HEADER_BYTES>() else {
                return Ok(true);
            };
            let header = Header::decode(bytes)?;
            let size = header.size as usize;
            let Some(payload) = rest.get(..size) else {
                return Ok(true);
            };
            let request = Request::decode(&header, payload)?;
            wire.take(HEADER_BYTES + size);
            self.messages += 1;
            self.on_disk(&header, request)?;
        }
    }

    fn answer_disk(&mut self, header: &Header, payload: &[u8]) -> Result<(), MachineError> {
        match &mut self.disk {
            Connection::Open(wire) => Ok(wire.send(&crate::vhost::reply(header.request, payload))?),
            _ => Err(MachineError::OutOfTurn("its disk is not connected")),
        }
    }
}

fn is_disconnect(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

enum Heard {
    Something,
    Nothing,
    Closed,
}

impl Connection {
    fn poll_fd(&self) -> Option<PollFd<'_>> {
        match self {
            Connection::Expected(listener) => Some(PollFd::new(listener, PollFlags::IN)),
            Connection::Open(wire) => Some(PollFd::new(wire, PollFlags::IN)),
            Connection::Closed => None,
        }
    }

    /// Accepts the kernel, or reads from it; false if it has disconnected.
    fn receive(&mut self) -> Result<bool, MachineError> {
        match self {
            Connection::Expected(listener) => {
                let (stream, _): (UnixStream, _) = listener.accept()?;
                *self = Connection::Open(Wire::new(stream)?);
                Ok(true)
            }
            Connection::Open(wire) => {
                let open = wire.receive()?;
                if !open {
                    *self = Connection::Closed;
                }
                Ok(open)
            }
            Connection::Closed => Ok(false),
        }
    }
}
