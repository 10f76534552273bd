//! Sockets and mount by which clients reach the device, opened before anything is served.

use super::Arguments;
use crate::failure::Failure;
use crate::target::Simulated;
use nandscope_device::Device;
use nandscope_export::client::Client;
use nandscope_export::nbd::Export;
use nandscope_export::nbd::socket::{Address, Listener};
use nandscope_export::server::Server;
use nandscope_export::service::Service;
#[cfg(target_os = "linux")]
use nandscope_export::vhost::Disk;
use nandscope_units::Bytes;
use std::path::Path;

/// The file in the folder of --fuse.
const CARD_FILE: &str = "card.img";

/// All open sockets and the mount.
#[derive(Debug)]
pub struct Ways {
    listeners: Vec<Listener>,
    control: Option<Listener>,
    mounted: Option<Box<dyn Client>>,
    #[cfg(target_os = "linux")]
    machines: Option<(Listener, Disk)>,
    /// A description of each.
    pub said: Vec<String>,
}

impl Ways {
    /// Opens the sockets and the mount of the arguments.
    ///
    /// # Errors
    /// `Exit::File` if a system call fails; `Exit::Usage` if this system has no such interface.
    pub fn open(
        arguments: &Arguments,
        simulated: &Simulated,
        export: &Export,
    ) -> Result<Ways, Failure> {
        let listen = |address| Listener::open(address).map_err(Failure::file);
        let listeners: Vec<_> = arguments.nbd.iter().map(listen).collect::<Result<_, _>>()?;
        let mut said: Vec<_> = listeners.iter().map(|l| l.uri().to_string()).collect();
        let control = arguments.control.as_ref().map(listen).transpose()?;
        let mut mounted = None;
        if let Some(folder) = &arguments.fuse {
            mounted = Some(mount(folder, export)?);
            said.push(folder.join(CARD_FILE).display().to_string());
        }
        if let Some(address) = &arguments.vhost_user {
            let Address::Unix(path) = address else {
                return Err(Failure::usage("--vhost-user takes unix:PATH only"));
            };
            said.push(format!("vhost-user {}", path.display()));
        }
        let machines = arguments.vhost_user.as_ref();
        #[cfg(not(target_os = "linux"))]
        if machines.is_some() {
            return Err(Failure::usage("--vhost-user needs Linux; use --nbd"));
        }
        Ok(Ways {
            listeners,
            control,
            mounted,
            #[cfg(target_os = "linux")]
            machines: machines
                .map(|address| Ok::<_, Failure>((listen(address)?, disk(simulated, export))))
                .transpose()?,
            said,
        })
    }

    /// A server that accepts clients on all configured ways.
    pub fn into_server(self, service: Service<Device>, export: Export) -> Server<Device> {
        let mut server = Server::new(service, export, self.listeners);
        if let Some(control) = self.control {
            server = server.with_control_at(control);
        }
        if let Some(client) = self.mounted {
            server.add(client);
        }
        #[cfg(target_os = "linux")]
        if let Some((listener, disk)) = self.machines {
            server = server.with_machines_at(listener, disk);
        }
        server
    }
}

#[cfg(target_os = "linux")]
fn disk(simulated: &Simulated, export: &Export) -> Disk {
    let card = &simulated.device_source.profile.card;
    Disk {
        size: export.size,
        read_only: export.read_only,
        discards: export.discards,
        unit: card.as_ref().map(|c| Bytes::kib(u64::from(c.au_kib))),
    }
}

#[cfg(target_os = "linux")]
fn mount(folder: &Path, export: &Export) -> Result<Box<dyn Client>, Failure> {
    use nandscope_export::fuse::{File, FuseClient};
    let file = File::new(CARD_FILE, export.size, export.read_only, export.discards);
    let client = FuseClient::mount(folder, file).map_err(Failure::file)?;
    Ok(Box::new(client))
}

#[cfg(not(target_os = "linux"))]
fn mount(_: &Path, _: &Export) -> Result<Box<dyn Client>, Failure> {
    Err(Failure::usage("--fuse needs Linux; use --nbd"))
}
