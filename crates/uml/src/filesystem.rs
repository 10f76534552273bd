//! The file systems: how each is made, mounted and checked, with everything pinned that their
//! tools would draw at random. What the tools still draw they draw inside the kernel, whose random
//! numbers follow from the seed.

/// A file system of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileSystem {
    /// Fourth extended file system.
    Ext4,
    /// Flash-friendly file system.
    F2fs,
    /// Log-structured, with continuous snapshots.
    Nilfs2,
    /// FAT32 with long names.
    Vfat,
    /// Extensible FAT, of SDXC cards.
    Exfat,
    /// Copy-on-write B-trees.
    Btrfs,
    /// Extents in allocation groups.
    Xfs,
}

use FileSystem::{Btrfs, Exfat, Ext4, F2fs, Nilfs2, Vfat, Xfs};

/// The UUID of every file system that has one, and the seed of ext4's directory hashes.
const UUID: &str = "6e616e64-7363-4f70-a550-000000000001";

impl FileSystem {
    /// All of them, those of the talk first.
    pub const ALL: [FileSystem; 7] = [Ext4, F2fs, Nilfs2, Vfat, Exfat, Btrfs, Xfs];

    /// Linux's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Ext4 => "ext4",
            F2fs => "f2fs",
            Nilfs2 => "nilfs2",
            Vfat => "vfat",
            Exfat => "exfat",
            Btrfs => "btrfs",
            Xfs => "xfs",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<FileSystem> {
        Self::ALL.into_iter().find(|fs| fs.name() == name)
    }

    /// Name for people, such as `ext4`.
    pub const fn title(self) -> &'static str {
        match self {
            Ext4 => "ext4",
            F2fs => "F2FS",
            Nilfs2 => "NILFS2",
            Vfat => "FAT32",
            Exfat => "exFAT",
            Btrfs => "btrfs",
            Xfs => "XFS",
        }
    }

    /// The program that makes it, and the Debian package that has it.
    pub const fn tool(self) -> (&'static str, &'static str) {
        match self {
            Ext4 => ("mkfs.ext4", "e2fsprogs"),
            F2fs => ("mkfs.f2fs", "f2fs-tools"),
            Nilfs2 => ("mkfs.nilfs2", "nilfs-tools"),
            Vfat => ("mkfs.vfat", "dosfstools"),
            Exfat => ("mkfs.exfat", "exfatprogs"),
            Btrfs => ("mkfs.btrfs", "btrfs-progs"),
            Xfs => ("mkfs.xfs", "xfsprogs"),
        }
    }

    /// The command that makes it on `$DEV`, with `options` of the user after ours.
    pub fn mkfs(self, options: &str) -> String {
        let command = match self {
            Ext4 => return format!("mkfs.ext4 -q -F -U {UUID} {} \"$DEV\"", extended(options)),
            // Its quiet option suppresses errors as well.
            F2fs => format!("mkfs.f2fs -f -r -U {UUID}"),
            Nilfs2 => "mkfs.nilfs2 -q -f".to_string(),
            // Clusters of 64 KiB: the allocation unit of FAT32 in the talk.
            Vfat => format!(
                "mkfs.vfat -F 32 -i 6e616e64{}",
                default(options, "-s", " -s 128")
            ),
            Exfat => "mkfs.exfat".to_string(),
            Btrfs => format!("mkfs.btrfs -q -f -U {UUID}"),
            Xfs => format!("mkfs.xfs -q -f -m uuid={UUID}"),
        };
        format!("{command} {options} \"$DEV\"")
    }

    /// Default mount options, in addition to the user's.
    pub const fn mount_options(self) -> &'static str {
        match self {
            // Inode tables are not zeroed in the background: on a used card they are long.
            Ext4 => "noatime,noinit_itable",
            _ => "noatime",
        }
    }

    /// Command that checks `$DEV` without repairing; `None` if there is no such program.
    pub const fn check(self) -> Option<&'static str> {
        match self {
            Ext4 => Some("e2fsck -f -n \"$DEV\""),
            F2fs => Some("fsck.f2fs --dry-run -f \"$DEV\""),
            Nilfs2 => None,
            Vfat => Some("fsck.vfat -n \"$DEV\""),
            Exfat => Some("fsck.exfat -n \"$DEV\""),
            Btrfs => Some("btrfs check --readonly \"$DEV\""),
            Xfs => Some("xfs_repair -n \"$DEV\""),
        }
    }

    /// The command that a starting system has for it after a power cut, on `$DEV`; none where mounting does it.
    pub const fn repair(self) -> Option<&'static str> {
        match self {
            Ext4 => Some("e2fsck -f -y \"$DEV\""),
            // It asks whether to restore lost files despite `-y`, and waits for ever without an answer.
            F2fs => Some("yes | fsck.f2fs -f -y \"$DEV\""),
            Vfat => Some("fsck.vfat -a -w \"$DEV\""),
            Exfat => Some("fsck.exfat -y \"$DEV\""),
            Nilfs2 | Btrfs | Xfs => None,
        }
    }
}

/// Options for ext4 with all extended ones in a single `-E`: of several, the tool takes the last alone, and
/// the seed of the directory hashes would be drawn.
fn extended(options: &str) -> String {
    let mut all = vec![format!("hash_seed={UUID}")];
    let mut rest = Vec::new();
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        match word.strip_prefix("-E") {
            None => rest.push(word),
            Some("") => all.extend(words.next().map(str::to_string)),
            Some(attached) => all.push(attached.to_string()),
        }
    }
    format!("-E {} {}", all.join(","), rest.join(" "))
}

/// `text`, unless the user gives the option himself.
fn default(options: &str, option: &str, text: &'static str) -> &'static str {
    if options.split_whitespace().any(|word| word == option) {
        ""
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_file_system() {
        for fs in FileSystem::ALL {
            assert_eq!(FileSystem::named(fs.name()), Some(fs));
        }
        assert_eq!(FileSystem::named("ntfs"), None);
    }

    #[test]
    fn the_users_options_stand_last_and_replace_ours() {
        assert!(Vfat.mkfs("").contains("-s 128"));
        let own = Vfat.mkfs("-s 64");
        assert!(own.contains("-s 64") && !own.contains("128"), "{own}");
        let own = Ext4.mkfs("-E stride=4 -O ^has_journal -Estripe_width=8");
        let one = format!("-E hash_seed={UUID},stride=4,stripe_width=8 -O ^has_journal \"$DEV\"");
        assert!(own.ends_with(&one), "{own}");
        assert!(F2fs.mkfs("-s 2").ends_with("-s 2 \"$DEV\""));
    }
}
