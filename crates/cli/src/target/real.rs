//! Real targets: files and block devices of this machine, and the conditions under which they
//! may be written.
//!
//! A block device is opened for reading only unless `--destroy-data` is given. A file that is
//! written to is one that nandscope made: a new one in free space, or one of an earlier run.

use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use clap::{Args, ValueEnum};
use nandscope_measure::real::{
    Access, CreateError, EngineChoice, Options, RealTarget, Volume, VolumeKind, create,
    generator_cost_ns, room,
};
use nandscope_measure::result::TargetInfo;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, SizeBase, parse_size};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which engine drives a real target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// io_uring, or pread and pwrite where the system does not allow it
    #[default]
    Auto,
    /// io_uring
    Uring,
    /// pread and pwrite in threads
    Blocking,
}

/// Arguments that only a real target heeds.
#[derive(Args, Clone, Debug, Default)]
pub struct RealArguments {
    /// Allow writing to a block device; everything on it is lost
    #[arg(long, help_heading = "Real targets")]
    pub destroy_data: bool,
    /// Make the file of the target, of this size, where there is none; it is kept
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Real targets")]
    pub size: Option<Bytes>,
    /// How operations reach the system
    #[arg(long, value_enum, default_value_t, help_heading = "Real targets")]
    pub engine: EngineName,
    /// Poll for completions instead of waiting for them (devices with polling queues only)
    #[arg(long, help_heading = "Real targets")]
    pub poll: bool,
}

fn size(text: &str) -> Result<Bytes, String> {
    parse_size(text, SizeBase::Binary).map_err(|e| e.to_string())
}

impl RealArguments {
    /// Refuses those that were given for a target that does not heed them.
    ///
    /// # Errors
    /// With the first of them.
    pub fn refuse(&self, name: &str) -> Result<(), Failure> {
        let given = [
            (self.destroy_data, "--destroy-data"),
            (self.size.is_some(), "--size"),
            (self.engine != EngineName::Auto, "--engine"),
            (self.poll, "--poll"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(Failure::usage(format!(
                "{option} is for real targets, and {name} is a simulated one; leave it out"
            ))),
            None => Ok(()),
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

/// A real target that is open, and what is to be said of it.
pub struct Real {
    /// As it was named.
    pub name: String,
    /// It.
    pub target: RealTarget,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Remarks that are no warnings.
    pub remarks: Vec<String>,
}

/// Opens a file or block device for measurement.
///
/// # Errors
/// Where there is none, it must not be written, or the system says no.
pub fn open_real(
    name: &str,
    access: Access,
    arguments: &RealArguments,
    interrupt: &Interrupt,
) -> Result<Real, Failure> {
    let path = PathBuf::from(name);
    let mut remarks = Vec::new();
    if !path.exists() {
        remarks.push(make(&path, arguments, interrupt)?);
    } else if arguments.size.is_some() {
        return Err(Failure::usage(format!(
            "{name} exists, and --size is for a file that is to be made; leave it out or name another file"
        )));
    }
    let volume = Volume::open(&path, allowed(&path, access, arguments)?).map_err(Failure::file)?;
    if access == Access::Write && volume.kind() == VolumeKind::File && !volume.is_ours() {
        return Err(Failure::usage(format!(
            "{name} was not made by nandscope, and what is in it would be lost; name a file that does not exist, with --size SIZE"
        )));
    }
    let target = RealTarget::new(volume, arguments.options()).map_err(Failure::file)?;
    Ok(Real {
        name: name.to_string(),
        warnings: target.warnings(),
        target,
        remarks,
    })
}

/// The access that the path may be opened with.
fn allowed(path: &Path, access: Access, arguments: &RealArguments) -> Result<Access, Failure> {
    let kind = std::fs::metadata(path)
        .map(|m| std::os::unix::fs::FileTypeExt::is_block_device(&m.file_type()));
    if access == Access::Write && kind.unwrap_or(false) && !arguments.destroy_data {
        return Err(Failure::usage(format!(
            "the job writes, and everything on {} would be lost; --destroy-data allows it",
            path.display()
        )));
    }
    Ok(access)
}

/// Makes the file, and says that it did.
fn make(path: &Path, arguments: &RealArguments, interrupt: &Interrupt) -> Result<String, Failure> {
    let name = path.display();
    if path.starts_with("/dev") {
        return Err(Failure::file(format!(
            "there is no device {name}; check the name"
        )));
    }
    let Some(size) = arguments.size else {
        let most = room(path).map_err(Failure::file)?;
        return Err(Failure::file(format!(
            "there is no {name}; give --size SIZE to have it made ({most} would leave a margin of free space)"
        )));
    };
    let line = Line::new("prepare");
    line.say("the file is being made");
    let made = create(path, size, &mut |share| {
        line.show(Some(share), "the file is being made".to_string());
        !interrupt.asked()
    });
    line.clear();
    let marked = made.map_err(|e| match e {
        CreateError::Interrupted => Failure::new(Exit::Interrupted, e),
        e => Failure::file(e),
    })?;
    let rest = if marked {
        ""
    } else {
        "; its file system keeps no extended attributes, so that it cannot be marked as made by nandscope and later runs will not write to it"
    };
    if marked {
        Ok(format!(
            "{name} was made and filled with random data before the run"
        ))
    } else {
        // Writing to it now would need the mark as well.
        let _ = std::fs::remove_file(path);
        Err(Failure::file(format!(
            "{name} cannot be used{rest}; choose another file system"
        )))
    }
}

impl Real {
    /// What a result document says of the target.
    pub fn info(&self) -> TargetInfo {
        let volume = self.target.volume();
        TargetInfo {
            name: self.name.clone(),
            kind: match volume.kind() {
                VolumeKind::File => "file",
                VolumeKind::BlockDevice => "block device",
            }
            .to_string(),
            model: self.name.clone(),
            capacity_bytes: self.target.capacity().0,
            ..TargetInfo::default()
        }
    }

    /// The circumstances that the engine knows of.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let volume = self.target.volume();
        let direct = if volume.is_direct() { "yes" } else { "no" };
        BTreeMap::from([
            (
                "engine".to_string(),
                self.target.describe_engine().to_string(),
            ),
            ("direct I/O".to_string(), direct.to_string()),
            (
                "alignment".to_string(),
                format!("{} bytes", volume.alignment()),
            ),
        ])
    }
}

/// What the generator itself costs, in words, for jobs of this queue depth.
pub fn generator_cost(depth: u32) -> Option<String> {
    let cost = generator_cost_ns(depth)?;
    Some(format!(
        "{cost:.0} ns of processor time per operation (4 KiB random reads at QD{depth} on a target that does nothing)"
    ))
}
