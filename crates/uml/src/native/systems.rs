//! File systems of the running kernel.

use crate::filesystem::FileSystem;
use std::process::{Command, Stdio};

/// Whether the running kernel has this file system, or a module of it that can be loaded. Loads the module.
pub fn is_in_kernel(fs: FileSystem) -> bool {
    is_listed(&listed(), fs) || (load(fs) && is_listed(&listed(), fs))
}

fn listed() -> String {
    std::fs::read_to_string("/proc/filesystems").unwrap_or_default()
}

/// Whether a file system of block devices is in the text of `/proc/filesystems`.
fn is_listed(text: &str, fs: FileSystem) -> bool {
    text.lines()
        .any(|line| line.strip_prefix('\t') == Some(fs.name()))
}

fn load(fs: FileSystem) -> bool {
    let mut command = Command::new("modprobe");
    command
        .args(["--quiet", fs.name()])
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_found_by_its_whole_name() {
        let text = "nodev\tproc\n\text4\n\text3\nnodev\tbtrfs\n\texfat2\n";
        let found: Vec<_> = FileSystem::ALL
            .into_iter()
            .filter(|fs| is_listed(text, *fs))
            .collect();
        assert_eq!(found, [FileSystem::Ext4]);
    }
}
