//! `nandscope serve`: a simulated device with contents for any program, by NBD or as a file, at the device's own speed.
//! The export crate implements protocols and pacing; this module handles arguments, messages and saved files at the
//! start and the end.

mod keeping;
mod watch;
mod ways;

use crate::claims::FileClaims;
use crate::confine::Confine;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::input;
use crate::interrupt::Interrupt;
use crate::output;
use crate::run::preparation::{self, PreparationLine};
use crate::state_folder;
use crate::target::{self, ParamArguments, Precondition, Simulated};
use clap::Args;
use keeping::{Keeper, recover, state_file, store_failure};
use nandscope_blockio::fault::FaultCommand;
use nandscope_blockio::store::Store;
use nandscope_device::Device;
use nandscope_export::calibration;
use nandscope_export::clock::Speed;
use nandscope_export::nbd::Export;
use nandscope_export::nbd::socket::Address;
use nandscope_export::overhead::Overhead;
use nandscope_export::server::Server;
use nandscope_export::service::Service;
use nandscope_units::Nanos;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use watch::StoreWatch;
use ways::Ways;

const EXAMPLES: &str = "\
Examples:
  nandscope serve sim:kingston-class10-32gb --nbd unix:card.sock
  nandscope serve sim:talk-mmcblk1-8gb --nbd tcp:10809 --store card.img
  nandscope serve sim:sm2708-250gb --nbd unix:card.sock --speed max \\
    --record seen.nstrace
  nandscope serve sim:talk-mmcblk1-8gb --host sabrelite --fuse card
  nandscope serve sim:samsung-evo-16gb --vhost-user unix:card.sock

Then, in another terminal:
  nbdinfo 'nbd+unix:///?socket=card.sock'
  fio --name=a --ioengine=nbd --uri='nbd+unix:///?socket=card.sock' \\
    --rw=randread --bs=4k --size=1g
  losetup --find --show --direct-io=on card/card.img

Ctrl-C ends the server: pending requests are completed, and the device state is saved next to --store.";

/// Arguments of `nandscope serve`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, group = clap::ArgGroup::new("way").required(true).multiple(true))]
pub struct Arguments {
    /// sim:NAME, sim:./FILE.toml or sim:saved:FILE
    target: String,
    /// NBD address: unix:PATH (private) or tcp:PORT (loopback); repeatable
    #[arg(long, value_name = "ADDRESS", group = "way", help_heading = heading::ADDRESSES)]
    nbd: Vec<Address>,
    /// Folder for the file card.img, for losetup --direct-io=on (Linux, root)
    #[arg(long, value_name = "DIR", group = "way", help_heading = heading::ADDRESSES)]
    fuse: Option<PathBuf>,
    /// vhost-user socket for a virtual machine: unix:PATH (Linux)
    #[arg(long, value_name = "ADDRESS", group = "way", help_heading = heading::ADDRESSES)]
    vhost_user: Option<Address>,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: ParamArguments,
    /// File for the contents; state in FILE.device [default: memory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Continue with a damaged journal; later commands are lost
    #[arg(long, requires = "store", hide_short_help = true)]
    discard_journal: bool,
    /// Speed relative to the device, or max for no waiting
    #[arg(long, value_name = "N|max", default_value = "1")]
    speed: Speed,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// Initial state: none, sequential, random, overwritten or steady
    ///
    /// The amount follows a colon: sequential:PERCENT and random:PERCENT of the
    /// capacity, overwritten:TIMES the capacity.
    #[arg(long, value_name = "STATE", default_value = "none", help_heading = heading::SIMULATED)]
    precondition: Precondition,
    /// Refuse writes, as a write-protected device
    #[arg(long)]
    write_protect: bool,
    /// Socket for fault commands of `nandscope ctl` (unix:PATH)
    #[arg(long, value_name = "ADDRESS")]
    control: Option<Address>,
    /// Inject a fault, such as 'fake 2GiB wrap' (`nandscope help faults`); repeatable
    #[arg(long, value_name = "COMMAND", help_heading = heading::SIMULATED)]
    fault: Vec<FaultCommand>,
    /// File of initial faults, one command per line; # starts a comment
    #[arg(long, value_name = "FILE", help_heading = heading::SIMULATED, hide_short_help = true)]
    faults: Option<PathBuf>,
    /// Record the requests as a trace for replay
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    record: Option<PathBuf>,
}

/// Serves until it is interrupted.
///
/// # Errors
/// `Exit::Usage` or `Exit::File` if an option, the contents or an address is refused before serving; `Exit::File` if
/// the state or an output cannot be written at the end.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let state = arguments.store.as_deref().map(state_file);
    claim(&arguments)?.check()?;
    if let Some(file) = &arguments.store {
        recover(file, arguments.discard_journal, console)?;
    }
    let had_state = state.as_deref().is_some_and(Path::exists);
    let (simulated, device) = open(&arguments, state.as_deref(), console)?;
    let store = match &arguments.store {
        None => Store::memory(device.capacity()),
        Some(file) => Store::file(file, device.capacity()).map_err(store_failure)?,
    };
    let watch = StoreWatch::of(arguments.store.as_deref(), &store);
    let faults = faults(&arguments)?;
    let interrupt = Interrupt::listen()?;
    let overhead = overhead(&arguments)?;
    let export = export_of(&arguments, &simulated, &device);
    let ways = Ways::open(&arguments, &simulated, &export)?;
    // Before clients connect.
    confine(&arguments);
    let keeping = match &arguments.store {
        None => None,
        Some(file) => {
            let is_written = had_state && arguments.host.is_none();
            Some(Keeper::begin(file, &simulated, &device, is_written)?)
        }
    };
    let mut service = Service::new(device, store, arguments.speed).with_overhead(overhead);
    let keeper = match keeping {
        None => None,
        Some((keeper, journals)) => {
            service = service.with_journals(journals).map_err(|e| {
                Failure::file(format!("cannot create the journal of the device: {e}"))
            })?;
            Some(keeper)
        }
    };
    if arguments.record.is_some() {
        service = service.with_recording();
    }
    if arguments.control.is_some() || !faults.is_empty() {
        service = service.with_faults(arguments.seed);
    }
    for command in faults {
        service
            .inject(command, Nanos::ZERO)
            .map_err(Failure::usage)?;
    }
    let said = ways.said.join("\n  ");
    let mut server = ways.into_server(service, export);
    let title = &simulated.device_source.profile.device.title;
    console.print(&format!("serving {title} at\n  {said}\n"))?;
    server
        .serve(&|| interrupt.asked() || watch.is_lost())
        .map_err(|e| Failure::file(format!("the server failed: {e}")))?;
    let kept = Kept { keeper, watch };
    finish(&arguments, &simulated, server, kept, overhead, console)
}

/// Claims all files of the server.
fn claim(arguments: &Arguments) -> Result<FileClaims, Failure> {
    let mut files = FileClaims::default();
    files.target(&arguments.target)?;
    files.host(arguments.host.as_deref())?;
    files.inputs("--faults", &arguments.faults)?;
    if let Some(store) = &arguments.store {
        files.file("--store", store)?;
        files.beside("the state of the device,", &state_file(store))?;
        for journal in keeping::journals(store) {
            files.file("the journals", &journal)?;
        }
        // Existing journals are claimed one by one, so that other names of the same files are found.
        files.numbered("the journals", &keeping::journal_beginning(store))?;
    }
    if let Some(trace) = &arguments.record {
        files.output("--record", trace)?;
    }
    let sockets = arguments.nbd.iter().map(|address| ("--nbd", address));
    let more = arguments.control.iter().map(|a| ("--control", a));
    let machines = arguments.vhost_user.iter().map(|a| ("--vhost-user", a));
    for (role, address) in sockets.chain(more).chain(machines) {
        if let Address::Unix(path) = address {
            files.file(role, path)?;
        }
    }
    Ok(files)
}

/// The files that outlast the server: the state of the device and its contents.
struct Kept {
    keeper: Option<Keeper>,
    watch: StoreWatch,
}

/// The device: saved next to the contents, otherwise the one on the command line.
fn open(
    arguments: &Arguments,
    state: Option<&Path>,
    console: &Console,
) -> Result<(Simulated, Device), Failure> {
    let host = arguments.host.as_deref();
    let Some(state) = state.filter(|s| s.exists()) else {
        let options = arguments.params.options(host, arguments.seed);
        let (simulated, mut device) = target::open_with(&arguments.target, &options, console)?;
        prepare(arguments, &mut device, console)?;
        return Ok((simulated, device));
    };
    let place = state.display();
    if arguments.target.starts_with("sim:saved:") || arguments.precondition != Precondition::None {
        return Err(Failure::usage(format!(
            "{place} already has the state of this device; omit `saved:` and --precondition, or name another --store"
        )));
    }
    let saved = format!("sim:saved:{place}");
    let (kept, device) = target::open(&saved, host, arguments.seed, console)?;
    let place_named = arguments.target.strip_prefix("sim:").unwrap_or_default();
    let named = target::device_source_with(place_named, &arguments.params, console)?;
    let (found, wanted) = (&kept.device_source.profile, &named.profile);
    if found.device.name != wanted.device.name {
        return Err(Failure::usage(format!(
            "{place} has the state of {}, not of {}; name another --store",
            found.device.name, wanted.device.name
        )));
    }
    if found != wanted {
        console.note(&format!(
            "note: the profile of {} has changed since; the device continues with the one in {place}",
            wanted.device.name
        ));
    }
    Ok((kept, device))
}

/// Preconditions a new device. A signal ends the program: nothing is served or saved yet.
fn prepare(arguments: &Arguments, device: &mut Device, console: &Console) -> Result<(), Failure> {
    let mut line = PreparationLine::new(console);
    let done = arguments
        .precondition
        .apply_in_steps(device, arguments.seed, &mut |now| {
            line.show(now);
            ControlFlow::Continue(())
        });
    line.clear();
    done.map_err(|error| preparation::failure(&error))
}

/// Allows only the saved files to be opened from now on: contents and sockets are open already.
fn confine(arguments: &Arguments) {
    let addresses = arguments.nbd.iter().chain(&arguments.control);
    let sockets = addresses.chain(&arguments.vhost_user);
    let sockets = sockets.filter_map(|address| match address {
        Address::Unix(path) => Some(path),
        Address::Tcp(_) => None,
    });
    let mut confine = Confine::default()
        .writing(&arguments.store)
        .writing(&arguments.record)
        .removing(sockets);
    if arguments.record.is_some() {
        // A trace that cannot be written to `--record` is saved in this folder.
        confine = confine.writing_in(&state_folder::path().join("results"));
    }
    confine.enforce();
}

/// Initial faults: those of the command line, then those of the file.
fn faults(arguments: &Arguments) -> Result<Vec<FaultCommand>, Failure> {
    if matches!(arguments.control, Some(Address::Tcp(_))) {
        return Err(Failure::usage("--control takes unix:PATH only"));
    }
    let mut faults = arguments.fault.clone();
    let Some(file) = &arguments.faults else {
        return Ok(faults);
    };
    let text = input::text(file, "faults")?;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            faults.push(
                line.parse()
                    .map_err(|e| Failure::usage(format!("{}:{number}: {e}", file.display())))?,
            );
        }
    }
    Ok(faults)
}

/// Median overhead of the connection to clients, to be subtracted from latencies; zero with `--speed max`.
fn overhead(arguments: &Arguments) -> Result<Overhead, Failure> {
    if arguments.speed == Speed::Max {
        return Ok(Overhead::default());
    }
    #[cfg(target_os = "linux")]
    if let Some(folder) = &arguments.fuse {
        return calibration::of_mount(folder).map_err(Failure::file);
    }
    calibration::of_socket().map_err(|e| {
        Failure::file(format!(
            "cannot measure the overhead of a local socket: {e}"
        ))
    })
}

fn export_of(arguments: &Arguments, simulated: &Simulated, device: &Device) -> Export {
    let about = &simulated.device_source.profile.device;
    Export {
        name: about.name.clone(),
        description: format!("{} (simulated by nandscope)", about.title),
        size: device.capacity(),
        read_only: arguments.write_protect || device.health().is_read_only(),
        discards: device.identity().discard,
    }
}

/// Writes state, contents and trace at the end of the server, and prints notices about them.
fn finish(
    arguments: &Arguments,
    simulated: &Simulated,
    server: Server<Device>,
    Kept { keeper, watch }: Kept,
    overhead: Overhead,
    console: &Console,
) -> Result<Exit, Failure> {
    let pacing = server.pacing();
    let service = server.into_service();
    let left = service.outstanding();
    let (device, store, recording) = service.into_parts();
    store.sync().map_err(store_failure)?;
    if left > 0 {
        console.note(&format!(
            "note: {left} requests were still in flight after 0.5 s; their clients got no reply"
        ));
    }
    // If the state cannot be written, the journals still contain all commands since the last state.
    let mut kept = Vec::new();
    let lost = watch.failure();
    match keeper {
        // The contents are lost, so a new state would not match the file under their name.
        Some(keeper) if lost.is_some() => keeper.leave(),
        // As after a kill: the requests under way are in the journal.
        Some(keeper) if left > 0 => keeper.leave(),
        Some(keeper) => kept.push(keeper.end(simulated, &device)),
        None => {}
    }
    if let (Some(file), Some(recording)) = (&arguments.record, &recording) {
        let about = &simulated.device_source.profile.device;
        let title = format!("Requests to {}", about.title);
        let trace = recording.to_nstrace(&about.name, &title);
        let written = output::write_or_keep(file, &trace);
        if written.is_ok() {
            console.note(&format!(
                "{} requests are in {}",
                recording.requests(),
                file.display()
            ));
        }
        kept.push(written);
    }
    kept.extend(lost.map(Err));
    output::all(kept)?;
    if arguments.speed == Speed::Max {
        return Ok(Exit::Done);
    }
    let mut text = format!(
        "{} completions; late by p50 {}, p99 {}, at most {}",
        pacing.completions, pacing.p50, pacing.p99, pacing.max
    );
    let _ = writeln!(
        text,
        "; {} were subtracted for the round trip to a local client ({} to read 256 KiB, {} to write them)",
        overhead.small, overhead.large_read, overhead.large_write
    );
    console.print(&text)?;
    if !pacing.kept_up() {
        console.note(&format!(
            "warning: {:.0} % of the completions were late by more than a tenth of their latency: this machine is too slow for the device; use a lower --speed, reduce other load, or use `nandscope run`, which runs in virtual time",
            pacing.spoilt * 100.0
        ));
    }
    Ok(Exit::Done)
}
