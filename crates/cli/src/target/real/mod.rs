//! Real targets: files and block devices of this machine, as they are named and opened.
//!
//! A block device is opened for reading only unless `--destroy-data` is given. A file that is
//! written to is one that nandscope made: a new one in free space, or one of an earlier run.

mod conditions;
mod disk;
pub mod folder;
mod instruments;
mod open;
mod sampler;

pub use conditions::{Circumstances, gather as circumstances};
pub use disk::DiskWatch;
pub use open::{confirm, open, refused};

use crate::claims::FileClaims;
use crate::failure::Failure;
use crate::heading;
use crate::interrupt::Interrupt;
use crate::steps::Asked;
use clap::{Args, ValueEnum};
use instruments::Panel;
use nandscope_inspect::Roots;
use nandscope_inspect::identity::Identity;
use nandscope_measure::real::{
    Access, EngineChoice, FolderTarget, Options, RealTarget, Volume, VolumeKind, generator_cost_ns,
};
use nandscope_measure::target::Target;
use nandscope_result::{TargetInfo, TargetKind};
use nandscope_units::{Bytes, ParseQuantityError, SizeBase, parse_size};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// I/O engine of a real target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// io_uring if the system allows it, or else pread and pwrite
    #[default]
    Auto,
    /// io_uring
    Uring,
    /// pread and pwrite in threads
    Blocking,
}

/// The answer to the prompt before a block device is written, given in advance.
#[derive(Args, Clone, Debug, Default)]
pub struct Confirmation {
    /// Confirm with this serial number, without a prompt
    ///
    /// A device without a serial number is confirmed by its name.
    #[arg(long, value_name = "SERIAL", help_heading = heading::REAL)]
    pub yes: Option<String>,
}

impl Confirmation {
    /// Refuses the answer for a target that is simulated.
    ///
    /// # Errors
    /// `Exit::Usage` if it was given.
    pub fn refuse(&self, name: &str) -> Result<(), Failure> {
        refuse_given(&[(self.yes.is_some(), "--yes")], name)
    }
}

/// Refuses the first of these options that was given, because the target of this name is simulated.
fn refuse_given(options: &[(bool, &str)], name: &str) -> Result<(), Failure> {
    match options.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::usage(format!(
            "{option} works with real targets only, and {name} is simulated; omit it"
        ))),
        None => Ok(()),
    }
}

/// Arguments that apply to real targets only.
#[derive(Args, Clone, Debug, Default)]
pub struct RealArguments {
    /// Allow overwriting a block device; NAME is required unless it is empty
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, help_heading = heading::REAL)]
    pub destroy_data: Option<Option<String>>,
    #[command(flatten)]
    pub confirmation: Confirmation,
    /// Create the target file with this size, or fill an existing one
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = heading::REAL)]
    pub size: Option<Bytes>,
    /// Power sensor of the device (such as hwmon3), or file of a USB meter
    #[arg(long, value_name = "SENSOR|FILE", help_heading = heading::REAL, hide_short_help = true)]
    pub power: Option<String>,
    /// Sync every file of a folder before closing it, not only at the end
    #[arg(long, help_heading = heading::REAL, hide_short_help = true)]
    pub sync_files: bool,
    /// I/O engine
    #[arg(long, value_enum, default_value_t, help_heading = heading::REAL, hide_short_help = true)]
    pub engine: EngineName,
    /// Poll for completions (devices with poll queues only)
    #[arg(long, help_heading = heading::REAL, hide_short_help = true)]
    pub poll: bool,
}

/// Parses the size of a file; units are binary.
///
/// # Errors
/// [`ParseQuantityError`] if the text is no size.
pub fn size(text: &str) -> Result<Bytes, ParseQuantityError> {
    parse_size(text, SizeBase::Binary)
}

impl RealArguments {
    /// Refuses arguments that do not apply to this target.
    ///
    /// # Errors
    /// `Exit::Usage` with the first of them.
    pub fn refuse(&self, name: &str) -> Result<(), Failure> {
        self.confirmation.refuse(name)?;
        let given = [
            (self.destroy_data.is_some(), "--destroy-data"),
            (self.size.is_some(), "--size"),
            (self.power.is_some(), "--power"),
            (self.sync_files, "--sync-files"),
            (self.engine != EngineName::Auto, "--engine"),
            (self.poll, "--poll"),
        ];
        refuse_given(&given, name)
    }

    /// Claims the files that are read during a measurement.
    ///
    /// # Errors
    /// `Exit::Usage` if the command writes one of them.
    pub fn claim(&self, files: &mut FileClaims) -> Result<(), Failure> {
        match self.power.as_deref().map(Path::new) {
            Some(meter) if meter.exists() => files.input("--power", meter),
            _ => Ok(()),
        }
    }

    /// Options of the command line on which a result of this target depends.
    pub fn asked(&self, name: &str, asked: Asked) -> Asked {
        let asked = asked.here().and("target", name);
        match self.size {
            Some(size) => asked.and("capacity", Volume::capacity_of(size).0),
            None => asked,
        }
    }

    fn options(&self) -> Options {
        Options {
            engine: match self.engine {
                EngineName::Auto => EngineChoice::Auto,
                EngineName::Uring => EngineChoice::Uring,
                EngineName::Blocking => EngineChoice::Blocking,
            },
            polled: self.poll,
        }
    }
}

/// Whether a target of this name is a file or device of this machine.
pub fn is_real(name: &str) -> bool {
    !name.starts_with("sim:") && (name.contains('/') || Path::new(name).exists())
}

/// An open real target with its conditions and remarks.
pub struct Real {
    /// Name on the command line.
    pub name: String,
    /// The target itself.
    pub target: RealTarget,
    /// Identity of a block device.
    identity: Option<Identity>,
    /// Disk to which operations go, if it is only one.
    disk: Option<Identity>,
    /// Throughput of the link to the device.
    link_bytes_per_s: Option<f64>,
    /// The instruments that observe it.
    pub panel: Panel,
    /// The circumstances of the measurement.
    environment: BTreeMap<String, String>,
    /// Conditions that affect the interpretation of the results.
    pub warnings: Vec<String>,
    /// Reasons why times may not be those of flash.
    layers: Vec<String>,
    /// Remarks that are not warnings.
    pub remarks: Vec<String>,
}

/// Opens a file or block device for measurement. The disks under the folders `outputs` are not
/// written to. Where a run is `resumed`, a file is taken as it is.
///
/// # Errors
/// As `open::open`; `Exit::File` if a system call fails; `Exit::Usage` if an instrument is invalid.
pub fn open_real(
    name: &str,
    access: Access,
    arguments: &RealArguments,
    outputs: &[PathBuf],
    resumed: bool,
    interrupt: &Interrupt,
) -> Result<Real, Failure> {
    let path = Path::new(name);
    let opened = open::open(path, access, arguments, outputs, resumed, interrupt)?;
    let volume = Volume::new(&opened.path, opened.file, access).map_err(Failure::file)?;
    let roots = Roots::default();
    let around = conditions::gather(&roots, volume.path());
    let device = around.device.as_ref().filter(|_| around.single);
    let panel = Panel::begin(&roots, device, arguments.power.as_deref());
    let panel = panel.map_err(Failure::usage)?;
    let mut target = RealTarget::new(volume, arguments.options()).map_err(Failure::file)?;
    target.observe_with(panel.instruments());
    Ok(Real {
        name: name.to_string(),
        environment: environment(&target, &panel, around.environment),
        layers: layers(&target, around.layers),
        warnings: target
            .warnings()
            .into_iter()
            .chain(around.warnings)
            .collect(),
        target,
        panel,
        link_bytes_per_s: device.and_then(Identity::link_bytes_per_s),
        disk: device.cloned(),
        identity: opened.identity,
        remarks: opened.notes,
    })
}

impl Real {
    /// Model name; the name on the command line if the device has none.
    pub fn model(&self) -> String {
        let model = self.identity.as_ref().and_then(|i| i.model.clone());
        model.unwrap_or_else(|| self.name.clone())
    }

    /// Reasons why times may be those of a layer between the program and the flash; empty if no such layer is known.
    pub fn layers(&self) -> &[String] {
        &self.layers
    }

    /// Begins to watch the disk to which operations go.
    pub fn watch_disk(&self) -> Option<DiskWatch> {
        self.disk.as_ref().and_then(DiskWatch::begin)
    }

    /// Target information of a result document.
    pub fn info(&self) -> TargetInfo {
        let volume = self.target.volume();
        TargetInfo {
            name: self.name.clone(),
            kind: match volume.kind() {
                VolumeKind::File => TargetKind::File,
                VolumeKind::BlockDevice => TargetKind::BlockDevice,
            },
            model: self.model(),
            capacity_bytes: self.target.capacity().0,
            link_bytes_per_s: self.link_bytes_per_s,
            ..TargetInfo::default()
        }
    }

    /// Adds the properties of the target on which the result of a measurement depends.
    pub fn asked(&self, asked: Asked) -> Asked {
        let serial = self.identity.as_ref().and_then(|i| i.serial.clone());
        let asked = match self.file_number() {
            Some(number) => asked.and("file", format!("inode {number}")),
            None => asked,
        };
        asked
            .here()
            .on(&self.info())
            .and("capacity", self.target.capacity().0)
            .and("serial number", serial.unwrap_or_default())
            .and("engine", self.target.describe_engine())
    }

    /// Inode number of a file, which another file of the same name and size does not have.
    fn file_number(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt as _;
        let about = std::fs::metadata(self.target.volume().path()).ok()?;
        about.is_file().then(|| about.ino())
    }

    /// The circumstances of the measurement.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.environment.clone()
    }
}

/// Layers between the program and the flash: those of the machine, then the file system and the page cache of the target.
fn layers(target: &RealTarget, around: Vec<String>) -> Vec<String> {
    let volume = target.volume();
    let file = (volume.kind() == VolumeKind::File)
        .then(|| "the target is a file: its file system is measured too".to_string());
    let cached = (!volume.is_direct())
        .then(|| "the page cache answers, since direct I/O does not work here".to_string());
    around.into_iter().chain(file).chain(cached).collect()
}

/// Environment of the result: machine, engine and instruments.
fn environment(
    target: &RealTarget,
    panel: &Panel,
    machine: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let volume = target.volume();
    let direct = if volume.is_direct() { "yes" } else { "no" };
    let mut all = machine;
    let mut put = |name: &str, value: String| all.insert(name.to_string(), value);
    put("engine", target.describe_engine().to_string());
    put("direct I/O", direct.to_string());
    put("alignment", format!("{} bytes", volume.alignment()));
    all.extend(instruments(panel));
    all
}

fn instruments(panel: &Panel) -> impl Iterator<Item = (String, String)> {
    let found = panel.found.iter();
    found.map(|(name, what)| (format!("instrument: {name}"), what.clone()))
}

/// The same for a folder.
fn folder_environment(
    target: &FolderTarget,
    panel: &Panel,
    machine: BTreeMap<String, String>,
    arguments: &RealArguments,
) -> BTreeMap<String, String> {
    let mut all = machine;
    let mut put = |name: &str, value: &str| all.insert(name.to_string(), value.to_string());
    put(
        "engine",
        "pread and pwrite of files, a thread for each of 32",
    );
    put("direct I/O", if target.is_direct() { "yes" } else { "no" });
    put(
        "sync",
        if arguments.sync_files {
            "every file before it is closed, and all at the end"
        } else {
            "all files at the end of a copy"
        },
    );
    put(
        "cached",
        if target.is_direct() {
            "names and sizes of the files; not their contents"
        } else {
            "writes until the sync; names and sizes; contents are dropped before reading"
        },
    );
    all.extend(instruments(panel));
    all
}

/// Cost of the generator itself, in words, for jobs of this queue depth; `None` after a signal.
pub fn generator_cost(depth: u32, interrupt: &Interrupt) -> Option<String> {
    let cost = generator_cost_ns(depth, &|| interrupt.asked())?;
    Some(format!(
        "{cost:.0} ns of processor time per operation (4 KiB random reads at QD{depth} on a target that does nothing)"
    ))
}
