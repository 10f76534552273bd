//! Purposes of file systems, and the workloads of `nandscope fs` that measure them.

use nandscope_result::recording;

/// Purpose of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Recording video at 40 Mbit/s.
    Camera,
    /// Appending lines to a log, each with a sync.
    Log,
    /// A root file system: many small files.
    Rootfs,
    /// Database transactions, each with a sync.
    Database,
}

impl Purpose {
    /// All purposes.
    pub const ALL: [Purpose; 4] = [
        Purpose::Camera,
        Purpose::Log,
        Purpose::Rootfs,
        Purpose::Database,
    ];

    /// Name in a sentence after "for".
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Camera => "recording video at 40 Mbit/s",
            Purpose::Log => "a log with a sync of every line",
            Purpose::Rootfs => "a root file system",
            Purpose::Database => "a database with a sync of every transaction",
        }
    }

    /// Workloads that rank the file systems.
    pub const fn workloads(self) -> &'static [&'static str] {
        match self {
            Purpose::Camera => &[recording::CAMERA],
            Purpose::Log => &["log"],
            Purpose::Rootfs => &["postmark", "build", "untar"],
            Purpose::Database => &["sqlite"],
        }
    }
}
