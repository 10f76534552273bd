//! Real targets of `nandscope fs`: a block device, or a file that is attached to a loop device. Opened through the guard
//! (docs/safety.md), then held as a [`Disk`].

use super::subject::short_name;
use crate::console::Console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::steps::Asked;
use crate::target::real::{Circumstances, Confirmation, RealArguments, circumstances, open, size};
use clap::Args;
use nandscope_inspect::loops::{self, Attached};
use nandscope_inspect::registers::Registers;
use nandscope_inspect::{DeviceNumber, Roots};
use nandscope_measure::real::Access;
use nandscope_result::{Notice, TargetInfo, TargetKind};
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::native::{self, Disk};
use nandscope_units::Bytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Options for real targets.
#[derive(Args, Clone, Debug, Default)]
pub struct RealOptions {
    /// Allow overwriting a block device; NAME is required unless it is empty
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, help_heading = crate::heading::REAL)]
    destroy_data: Option<Option<String>>,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Create the target file with this size, or fill an existing one
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = crate::heading::REAL)]
    size: Option<Bytes>,
}

impl RealOptions {
    /// The same as the arguments of other commands.
    pub fn arguments(&self) -> RealArguments {
        RealArguments {
            destroy_data: self.destroy_data.clone(),
            confirmation: self.confirmation.clone(),
            size: self.size,
            ..RealArguments::default()
        }
    }
}

/// File systems of these that the running kernel has, and those that it lacks.
pub fn in_kernel(wanted: &[FileSystem]) -> (Vec<FileSystem>, Vec<FileSystem>) {
    wanted.iter().partition(|fs| native::is_in_kernel(**fs))
}

/// An open real device.
pub struct RealDevice {
    /// `None` once it is released.
    disk: Option<Disk>,
    /// The file of a file target, whose lock keeps other nandscope processes away.
    _file: Option<File>,
    /// Loop device of a file target.
    attached: Option<PathBuf>,
    info: TargetInfo,
    title: String,
    short: String,
    serial: Option<String>,
    unit: Option<Bytes>,
    systems: Vec<FileSystem>,
    environment: BTreeMap<String, String>,
    notices: Vec<Notice>,
}

impl RealDevice {
    /// Opens a target; asks before a block device is written. `systems` are the file systems of the running kernel.
    ///
    /// # Errors
    /// As [`open`]; `Exit::File` if a file cannot be attached to a loop device.
    pub fn open(
        name: &str,
        arguments: &RealArguments,
        outputs: &[PathBuf],
        resumed: bool,
        systems: Vec<FileSystem>,
        interrupt: &Interrupt,
    ) -> Result<RealDevice, Failure> {
        let path = Path::new(name);
        let opened = open(path, Access::Write, arguments, outputs, resumed, interrupt)?;
        let roots = Roots::default();
        let around = circumstances(&roots, &opened.path);
        let mut notices = notices(&around, &opened.notes);
        let (kind, disk, file, attached) = match &opened.identity {
            Some(_) => {
                let disk = Disk::hold(name, opened.file).map_err(Failure::file)?;
                (TargetKind::BlockDevice, disk, None, None)
            }
            None => {
                let attached = Attached::new(&opened.file).map_err(Failure::file)?;
                if loops::is_direct(&roots, &attached.device) == Some(false) {
                    notices.push(Notice::warning(
                        "the file is not written with direct I/O: the page cache of this machine answers"
                            .to_string(),
                    ));
                }
                let disk = Disk::hold(name, attached.open).map_err(Failure::file)?;
                (
                    TargetKind::File,
                    disk,
                    Some(opened.file),
                    Some(attached.device),
                )
            }
        };
        let identity = opened.identity.as_ref();
        let model = identity.and_then(|i| i.model.clone());
        let unit = identity.and_then(|i| allocation_unit(&roots, i.number));
        let title = model
            .as_ref()
            .map_or_else(|| name.to_string(), |m| format!("{m} ({name})"));
        let device = around.device.as_ref().filter(|_| around.single);
        Ok(RealDevice {
            info: TargetInfo {
                name: name.to_string(),
                kind,
                model: model.unwrap_or_else(|| name.to_string()),
                capacity_bytes: disk.range().1,
                link_bytes_per_s: device.and_then(|i| i.link_bytes_per_s()),
                ..TargetInfo::default()
            },
            short: short_name(name),
            serial: identity.and_then(|i| i.serial.clone()),
            disk: Some(disk),
            _file: file,
            attached,
            title,
            unit,
            systems,
            environment: around.environment,
            notices,
        })
    }

    /// The held device; `None` once it is released.
    pub fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    /// Allocation unit that the card's register states.
    pub fn unit(&self) -> Option<Bytes> {
        self.unit
    }

    /// Whether the running kernel has this file system.
    pub fn has(&self, fs: FileSystem) -> bool {
        self.systems.contains(&fs)
    }

    /// Model and name.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Name for files and columns.
    pub fn short(&self) -> &str {
        &self.short
    }

    /// Size.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.info.capacity_bytes)
    }

    /// Target information of the result.
    pub fn info(&self) -> &TargetInfo {
        &self.info
    }

    /// Conditions of the measurement.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut all = self.environment.clone();
        all.insert("kernel".to_string(), format!("Linux {}", release()));
        all
    }

    /// Notices for the result.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Adds the properties on which results depend.
    pub fn asked(&self, asked: Asked) -> Asked {
        asked
            .here()
            .and("capacity", self.info.capacity_bytes)
            .and("serial number", self.serial.clone().unwrap_or_default())
    }

    /// Closes the device, and waits until a file is detached.
    pub fn release(&mut self, console: &Console) {
        self.disk = None;
        let Some(device) = self.attached.take() else {
            return;
        };
        if !loops::is_detached(&Roots::default(), &device) {
            console.note(&format!(
                "{0} still has the file {1}: another program has opened it; detach it with `losetup -d {0}`",
                device.display(),
                self.info.name
            ));
        }
    }
}

/// Version of the running kernel.
pub fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_string()
}

fn allocation_unit(roots: &Roots, number: DeviceNumber) -> Option<Bytes> {
    let status = Registers::read(roots, number)?.ssr?;
    status.uhs_allocation_unit.or(status.allocation_unit)
}

fn notices(around: &Circumstances, notes: &[String]) -> Vec<Notice> {
    let warnings = around.warnings.iter().cloned().map(Notice::warning);
    let notes = notes.iter().cloned().map(Notice::info);
    let trace = native::why_no_trace().map(|why| {
        Notice::warning(format!(
            "requests to the device are not recorded: {why}; allocation units and latencies are not known"
        ))
    });
    warnings.chain(notes).chain(trace).collect()
}
