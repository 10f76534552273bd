//! The server: one thread that owns the device, waits for clients and for the device's time, and
//! carries requests and answers between them.
//!
//! It sleeps until shortly before the next event of the device and spins for the rest, since the
//! system wakes a sleeper late.

use crate::client::Client;
use crate::clients::Clients;
use crate::control::Controls;
use crate::nbd::Export;
use crate::nbd::connection::Connection;
use crate::nbd::socket::{Listener, Stream};
use crate::pacing::{PacingError, PacingReport};
use crate::request::{Done, Origin, Refusal};
use crate::service::Service;
#[cfg(target_os = "linux")]
use crate::vhost::{Disk, Machines};
use nandscope_blockio::fault::FaultCommand;
use nandscope_device::SimulatedDevice;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Connections that are accepted in one turn.
const ACCEPTED_IN_TURN: usize = 64;
/// Most commands that the device is given in one turn of the server.
const COMMANDS_IN_TURN: u64 = 4096;
/// Steps of the device at the end between two looks at the clock.
const STEPS_AT_END: usize = 1000;
/// Wall-clock time for the device to finish pending requests at shutdown.
const END: Duration = Duration::from_millis(500);
/// The last stretch before an event, which is not slept.
const SPIN: Nanos = Nanos::from_micros(60);
/// Longest sleep, so that a stop is noticed.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(100);
/// Bytes that are read from a socket at once.
const SCRATCH: usize = 256 << 10;

/// Serves one device to clients of any protocol; those of NBD may come in while it runs.
#[derive(Debug)]
pub struct Server<M> {
    service: Service<M>,
    export: Rc<Export>,
    listeners: Vec<Listener>,
    clients: Clients,
    #[cfg(target_os = "linux")]
    machines: Option<Machines>,
    controls: Controls,
    pacing: PacingError,
    scratch: Vec<u8>,
    done: Vec<Done>,
    /// Requests have come that were not given to the device yet.
    hurry: bool,
    began: Instant,
}

impl<M: SimulatedDevice> Server<M> {
    /// A server over a service. Time on the wall counts from now.
    pub fn new(service: Service<M>, export: Export, listeners: Vec<Listener>) -> Self {
        Server {
            service,
            export: Rc::new(export),
            listeners,
            clients: Clients::default(),
            #[cfg(target_os = "linux")]
            machines: None,
            controls: Controls::default(),
            pacing: PacingError::default(),
            scratch: vec![0; SCRATCH],
            done: Vec::new(),
            hurry: false,
            began: Instant::now(),
        }
    }

    /// Adds a connected client.
    ///
    /// # Errors
    /// `io::Error` if its socket cannot be made non-blocking.
    pub fn adopt(&mut self, stream: Stream) -> io::Result<()> {
        stream.prepare()?;
        let connection = Connection::new(stream, self.export.clone(), self.wall());
        self.add(Box::new(connection));
        Ok(())
    }

    /// Takes a client of whatever protocol.
    pub fn add(&mut self, client: Box<dyn Client>) {
        self.clients.add(client);
    }

    /// Serves virtual machine monitors that come here, by vhost-user, with this disk.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn with_machines_at(mut self, listener: Listener, disk: Disk) -> Self {
        self.machines = Some(Machines::new(listener, disk));
        self
    }

    /// Takes fault commands here.
    #[must_use]
    pub fn with_control_at(mut self, listener: Listener) -> Self {
        self.controls = Controls::at(listener);
        self
    }

    /// Serves until `stop` returns true, or no client is connected and none can connect (for example,
    /// the only file was unmounted). Then the device finishes pending requests, and replies are sent
    /// without blocking. Requests that take longer than half a second stay open
    /// ([`Service::outstanding`]) and get no reply.
    ///
    /// # Errors
    /// `io::Error` if polling fails or the journal cannot be written.
    pub fn serve(&mut self, stop: &dyn Fn() -> bool) -> io::Result<()> {
        // Without this the system delays wake-ups by 50 µs on purpose. If it is unavailable, the pacing
        // error shows the delay.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        while !stop() && !self.is_deserted() {
            self.wait_and_receive()?;
            self.take_commands()?;
            self.take_requests();
            let now = self.wall();
            self.service.run(now, &mut self.done);
            if !self.done.is_empty() {
                self.commit()?;
                self.answer();
                // A client that was over its limit of outstanding requests may have sent more, which can be taken
                // now.
                self.take_requests();
            }
        }
        self.finish()
    }

    fn finish(&mut self) -> io::Result<()> {
        let began = Instant::now();
        while !self.service.drain(STEPS_AT_END, &mut self.done) && began.elapsed() < END {}
        self.commit()?;
        self.answer();
        self.clients.clear();
        Ok(())
    }

    fn is_deserted(&self) -> bool {
        #[cfg(target_os = "linux")]
        let machines_may_come = self.machines.is_some();
        #[cfg(not(target_os = "linux"))]
        let machines_may_come = false;
        self.clients.is_empty() && self.listeners.is_empty() && !machines_may_come
    }

    /// Statistics of the pacing error.
    pub fn pacing(&self) -> PacingReport {
        self.pacing.report()
    }

    /// Service that executes the requests.
    pub const fn service(&self) -> &Service<M> {
        &self.service
    }

    /// The service back, after the end.
    pub fn into_service(self) -> Service<M> {
        self.service
    }

    fn wall(&self) -> Nanos {
        Nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time to sleep: zero if the next event is near or work is pending.
    fn patience(&self) -> Timespec {
        let sleep = match self.service.due() {
            _ if self.hurry => Nanos::ZERO,
            None => LONGEST_SLEEP,
            Some(due) => due.saturating_sub(self.wall() + SPIN).min(LONGEST_SLEEP),
        };
        Timespec {
            tv_sec: 0,
            // Below a second, so that it fits.
            tv_nsec: sleep.0.try_into().unwrap_or(0),
        }
    }

    /// Waits for sockets or the device, whichever comes first, and reads what came.
    fn wait_and_receive(&mut self) -> io::Result<()> {
        let (patience, room) = (self.patience(), self.clients.room());
        let mut waiting: Vec<PollFd<'_>> = Vec::with_capacity(self.listeners.len() + 8);
        for listener in &self.listeners {
            waiting.push(PollFd::new(listener, PollFlags::IN));
        }
        #[cfg(target_os = "linux")]
        if let Some(machines) = &self.machines {
            waiting.push(machines.descriptor());
        }
        let doors = waiting.len();
        self.controls.wait_for(&mut waiting);
        let controls = waiting.len();
        let mut ends = Vec::new();
        for client in self.clients.iter() {
            client.wait_for(room.of(client), &mut waiting);
            ends.push(waiting.len());
        }
        match rustix::event::poll(&mut waiting, Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let ready: Vec<PollFlags> = waiting.iter().map(PollFd::revents).collect();
        let mut begin = controls;
        for (client, end) in self.clients.iter_mut().zip(ends) {
            let store = self.service.store();
            let room = room.of(&**client);
            client.take_events(&ready[begin..end], room, &mut self.scratch, store);
            begin = end;
        }
        self.controls
            .take_events(&ready[doors..controls], &mut self.scratch);
        if ready[..doors].iter().any(|flags| !flags.is_empty()) {
            self.accept();
        }
        Ok(())
    }

    /// Accepts clients that wait to connect.
    fn accept(&mut self) {
        for listener in 0..self.listeners.len() {
            for _ in 0..ACCEPTED_IN_TURN {
                let Ok(stream) = self.listeners[listener].accept() else {
                    break;
                };
                // A connection beyond the limit is closed silently; the protocol has no message for it.
                if self.clients.make_room() && self.adopt(stream).is_err() {
                    break;
                }
            }
        }
        #[cfg(target_os = "linux")]
        for _ in 0..ACCEPTED_IN_TURN {
            let Some(accepted) = self.machines.as_ref().and_then(|m| m.accept(self.wall())) else {
                break;
            };
            // One that cannot be served is hung up on.
            if let Ok(client) = accepted
                && self.clients.make_room()
            {
                self.clients.add(Box::new(client));
            }
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        let refused = |e| io::Error::other(format!("the journal of the device: {e}"));
        self.service.commit().map_err(refused)
    }

    fn take_commands(&mut self) -> io::Result<()> {
        let now = self.wall();
        for control in self.controls.iter_mut() {
            while let Some(line) = control.next_line() {
                let answer = match line.parse::<FaultCommand>() {
                    Ok(command) => match self.service.inject(command, now) {
                        Ok(effect) => format!("ok: {effect}"),
                        Err(error) => format!("error: {error}"),
                    },
                    Err(error) => format!("error: {error}"),
                };
                self.service.commit()?;
                control.answer(&answer);
            }
        }
        self.controls.forget_gone();
        Ok(())
    }

    /// Passes requests of clients to the service, limited in number so that a turn stays short.
    fn take_requests(&mut self) {
        let now = self.wall();
        let (mut room, mut left) = (self.clients.room(), COMMANDS_IN_TURN);
        for (number, client) in self.clients.in_turn() {
            while left > 0 {
                let before = client.held();
                let next = client.next_request(room.of(&**client));
                room = room.after(before, client.held());
                let Some((cookie, request)) = next else { break };
                left = left.saturating_sub(request.commands());
                let origin = Origin {
                    connection: number,
                    cookie,
                };
                self.service.submit(origin, request, now);
            }
            client.send(self.service.store());
        }
        self.hurry = left == 0;
        self.clients.forget_gone(now);
    }

    /// Reports a device that has become read-only to clients that connect from now on. The others
    /// learn it from the errors of their writes.
    fn note_end_of_life(&mut self) {
        let refused = |done: &Done| done.outcome == Err(Refusal::ReadOnly);
        let is_new = !self.export.read_only && self.done.iter().any(refused);
        if is_new && self.service.model().is_read_only() {
            Rc::make_mut(&mut self.export).read_only = true;
            #[cfg(target_os = "linux")]
            if let Some(machines) = &mut self.machines {
                machines.set_read_only();
            }
        }
    }

    /// Answers finished requests, and notes the pacing error.
    fn answer(&mut self) {
        self.note_end_of_life();
        for done in &self.done {
            if let Some(client) = self.clients.get_mut(done.origin.connection) {
                client.reply(done, self.service.store());
            }
        }
        for client in self.clients.iter_mut() {
            client.send(self.service.store());
        }
        let now = self.wall();
        for done in self.done.drain(..) {
            if done.latency > Nanos::ZERO {
                self.pacing.note(now.saturating_sub(done.due), done.latency);
            }
        }
    }
}
