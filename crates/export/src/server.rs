//! The server: one thread that owns the device, waits for clients and for the device's time, and
//! carries requests and answers between them.
//!
//! It sleeps until shortly before the next event of the device and spins for the rest, since the
//! system wakes a sleeper late.

use crate::client::Client;
use crate::control::Control;
use crate::fault::Order;
use crate::lateness::{Lateness, LatenessReport};
use crate::model::Model;
use crate::nbd::Export;
use crate::nbd::connection::Connection;
use crate::nbd::socket::{Listener, Stream};
use crate::request::{Done, Origin};
use crate::service::Service;
#[cfg(target_os = "linux")]
use crate::vhost::Disk;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Instant;

/// Clients at a time; the next ones are sent away.
const MOST_CLIENTS: usize = 256;
/// Who may give orders at a time; the next ones wait.
const MOST_CONTROLS: usize = 16;
/// Bytes of all clients under way beyond which only those who have nothing may ask for more.
const MOST_BYTES: usize = 1 << 30;
/// The last stretch before an event, which is not slept.
const SPIN: Nanos = Nanos::from_micros(60);
/// How long a sleep may be, so that the wish to stop is noticed.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(100);
/// Bytes that are read from a socket at once.
const SCRATCH: usize = 256 << 10;

/// Serves one device to clients of any protocol; those of NBD may come in while it runs.
#[derive(Debug)]
pub struct Server<M> {
    service: Service<M>,
    export: Rc<Export>,
    listeners: Vec<Listener>,
    clients: BTreeMap<u64, Box<dyn Client>>,
    #[cfg(target_os = "linux")]
    machines_at: Option<(Listener, Disk)>,
    orders_at: Option<Listener>,
    controls: Vec<Control>,
    next_client: u64,
    lateness: Lateness,
    scratch: Vec<u8>,
    done: Vec<Done>,
    began: Instant,
}

impl<M: Model> Server<M> {
    /// A server over a service. Time on the wall counts from now.
    pub fn new(service: Service<M>, export: Export, listeners: Vec<Listener>) -> Self {
        Server {
            service,
            export: Rc::new(export),
            listeners,
            clients: BTreeMap::new(),
            #[cfg(target_os = "linux")]
            machines_at: None,
            orders_at: None,
            controls: Vec::new(),
            next_client: 0,
            lateness: Lateness::default(),
            scratch: vec![0; SCRATCH],
            done: Vec::new(),
            began: Instant::now(),
        }
    }

    /// Takes a client that is connected already.
    ///
    /// # Errors
    /// Where its socket cannot be used without waiting.
    pub fn adopt(&mut self, stream: Stream) -> io::Result<()> {
        stream.prepare()?;
        let connection = Connection::new(stream, self.export.clone(), self.wall());
        self.add(Box::new(connection));
        Ok(())
    }

    /// Takes a client of whatever protocol.
    pub fn add(&mut self, client: Box<dyn Client>) {
        self.clients.insert(self.next_client, client);
        self.next_client += 1;
    }

    /// Serves virtual machine monitors that come here, by vhost-user, with this disk.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn with_machines_at(mut self, listener: Listener, disk: Disk) -> Self {
        self.machines_at = Some((listener, disk));
        self
    }

    /// Takes in a monitor that has connected, if one has.
    #[cfg(target_os = "linux")]
    fn accept_machine(&mut self) {
        let Some((listener, disk)) = &self.machines_at else {
            return;
        };
        // One that cannot be served is hung up on.
        if let Ok(Stream::Unix(stream)) = listener.accept()
            && self.clients.len() < MOST_CLIENTS
            && let Ok(client) = crate::vhost::accept(stream, *disk)
        {
            self.add(Box::new(client));
        }
    }

    /// Takes orders for faults here.
    #[must_use]
    pub fn with_orders_at(mut self, listener: Listener) -> Self {
        self.orders_at = Some(listener);
        self
    }

    /// Serves until `stop` says so, or nobody is there and nobody can come, as when the only file is
    /// unmounted; then lets the device finish what was asked of it, and sends the answers that go
    /// without waiting.
    ///
    /// # Errors
    /// Where the system does not let it wait for sockets or write its journal.
    pub fn serve(&mut self, stop: &dyn Fn() -> bool) -> io::Result<()> {
        // Without it the system wakes sleepers 50 µs late, on purpose. Where it is not to be had,
        // the lateness shows it.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        while !stop() && !self.is_deserted() {
            self.wait_and_receive()?;
            self.take_orders()?;
            self.take_requests();
            let now = self.wall();
            self.service.run(now, &mut self.done);
            if !self.done.is_empty() {
                self.commit()?;
                self.hand_over();
                // Who had too much under way may have room for more now, which has come already.
                self.take_requests();
            }
        }
        self.service.drain(&mut self.done);
        self.commit()?;
        self.hand_over();
        self.clients.clear();
        Ok(())
    }

    fn is_deserted(&self) -> bool {
        #[cfg(target_os = "linux")]
        let machines_may_come = self.machines_at.is_some();
        #[cfg(not(target_os = "linux"))]
        let machines_may_come = false;
        self.clients.is_empty() && self.listeners.is_empty() && !machines_may_come
    }

    /// How late completions were handed out.
    pub fn lateness(&self) -> LatenessReport {
        self.lateness.report()
    }

    /// The service.
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

    /// How long to sleep: not at all where the next event is near.
    fn patience(&self) -> Timespec {
        let sleep = match self.service.due() {
            None => LONGEST_SLEEP,
            Some(due) => due.saturating_sub(self.wall() + SPIN).min(LONGEST_SLEEP),
        };
        Timespec {
            tv_sec: 0,
            // Below a second, so that it fits.
            tv_nsec: sleep.0 as _,
        }
    }

    /// Whether so much is under way that only who has nothing may ask for more.
    fn is_crowded(&self) -> bool {
        let held: usize = self.clients.values().map(|c| c.held()).sum();
        held > MOST_BYTES
    }

    /// Waits for sockets or the device, whichever comes first, and reads what came.
    fn wait_and_receive(&mut self) -> io::Result<()> {
        let (patience, crowded) = (self.patience(), self.is_crowded());
        let mut waiting: Vec<PollFd<'_>> =
            Vec::with_capacity(self.listeners.len() + self.clients.len());
        for listener in &self.listeners {
            waiting.push(PollFd::new(listener, PollFlags::IN));
        }
        let mut ends = Vec::with_capacity(self.clients.len());
        for client in self.clients.values() {
            client.wait_for(crowded, &mut waiting);
            ends.push(waiting.len());
        }
        waiting.extend(self.controls.iter().map(Control::descriptor));
        if let Some(listener) = &self.orders_at {
            waiting.push(PollFd::new(listener, PollFlags::IN));
        }
        #[cfg(target_os = "linux")]
        if let Some((listener, _)) = &self.machines_at {
            waiting.push(PollFd::new(listener, PollFlags::IN));
        }
        match rustix::event::poll(&mut waiting, Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let ready: Vec<PollFlags> = waiting.iter().map(PollFd::revents).collect();
        let (listeners, mut begin) = (&ready[..self.listeners.len()], self.listeners.len());
        for (client, end) in self.clients.values_mut().zip(ends) {
            client.take_events(
                &ready[begin..end],
                crowded,
                &mut self.scratch,
                self.service.store(),
            );
            begin = end;
        }
        let (controls, rest) = ready[begin..].split_at(self.controls.len());
        let (orders, machines) = rest.split_at(usize::from(self.orders_at.is_some()));
        for (control, flags) in self.controls.iter_mut().zip(controls) {
            if !flags.is_empty() {
                control.receive(&mut self.scratch);
            }
        }
        if let (Some(listener), Some(flags)) = (&self.orders_at, orders.first())
            && !flags.is_empty()
            && self.controls.len() < MOST_CONTROLS
            && let Ok(stream) = listener.accept()
        {
            self.controls.push(Control::new(stream));
        }
        let has_machine = machines.iter().any(|flags| !flags.is_empty());
        for (index, _) in listeners.iter().enumerate().filter(|(_, r)| !r.is_empty()) {
            self.accept(index);
        }
        #[cfg(target_os = "linux")]
        if has_machine {
            self.accept_machine();
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize) {
        while let Ok(stream) = self.listeners[listener].accept() {
            if self.clients.len() >= MOST_CLIENTS {
                // Closed without a word; the protocol has none for this.
                drop(stream);
            } else if self.adopt(stream).is_err() {
                break;
            }
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        let refused = |e| io::Error::other(format!("the journal of the device: {e}"));
        self.service.commit().map_err(refused)
    }

    fn take_orders(&mut self) -> io::Result<()> {
        let now = self.wall();
        for control in &mut self.controls {
            while let Some(line) = control.next_line() {
                let obeyed = line
                    .parse::<Order>()
                    .and_then(|order| self.service.obey(order, now));
                self.service.commit()?;
                control.answer(&match obeyed {
                    Ok(what) => format!("ok: {what}"),
                    Err(what) => format!("error: {what}"),
                });
            }
        }
        self.controls.retain(|c| !c.is_over());
        Ok(())
    }

    /// Hands what the clients asked to the service.
    fn take_requests(&mut self) {
        let (now, crowded) = (self.wall(), self.is_crowded());
        for (number, client) in &mut self.clients {
            while let Some((cookie, request)) = client.next_request(crowded) {
                let origin = Origin {
                    connection: *number,
                    cookie,
                };
                self.service.submit(origin, request, now);
            }
            client.send(self.service.store());
        }
        self.clients.retain(|_, c| !c.is_over(now));
    }

    /// Hands what is done to those who asked for it, and notes how late that is.
    fn hand_over(&mut self) {
        for done in &self.done {
            if let Some(client) = self.clients.get_mut(&done.origin.connection) {
                client.reply(done, self.service.store());
            }
        }
        for client in self.clients.values_mut() {
            client.send(self.service.store());
        }
        let now = self.wall();
        for done in self.done.drain(..) {
            if done.latency > Nanos::ZERO {
                self.lateness
                    .note(now.saturating_sub(done.due), done.latency);
            }
        }
    }
}
