//! Writes of single file systems, compared with the talk: the places of a file, FAT32's two, ext4's late ones. Each is
//! derived from the trace of one cell.

use super::{CREATE, CREATE_FSYNC, of, ok};
use crate::fs::cells::Measured;
use nandscope_uml::cell::Cell;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::layout::Kind;
use std::fmt::Write;

pub(super) fn per_file(page: &mut String, measured: &[Measured]) {
    page.push_str(
        "### Minimum writes for a file\n\n\
         Files of 4 KiB, with `sync`/`fsync` after each; medians. Writes within 64 KiB of each other are one place.\n\n\
         | file system | writes | places | KiB | `fsync` writes | `sync` adds | talk |\n|---|---|---|---|---|---|---|\n",
    );
    for (plan, cell) in ok(measured, CREATE) {
        let with_fsync =
            of(measured, CREATE_FSYNC, plan.fs).and_then(|c| c.pattern.per_file.as_ref());
        let (Some(sync), Some(fsync)) = (&cell.pattern.per_file, with_fsync) else {
            continue;
        };
        let own: Vec<_> = fsync.kinds.iter().map(|kind| kind.name()).collect();
        let added = sync.kinds.iter().map(|kind| kind.name());
        let added: Vec<_> = added.filter(|name| !own.contains(name)).collect();
        let talk = match plan.fs {
            FileSystem::Ext4 => "4",
            FileSystem::Nilfs2 | FileSystem::F2fs => "1",
            FileSystem::Vfat => "2",
            _ => "-",
        };
        let _ = writeln!(
            page,
            "| {} | {:.0}/{:.0} | {:.0}/{:.0} | {:.0}/{:.0} | {} | {} | {talk} |",
            plan.fs.title(),
            sync.writes,
            fsync.writes,
            sync.places,
            fsync.places,
            sync.bytes / 1024.0,
            fsync.bytes / 1024.0,
            own.join(", "),
            if added.is_empty() {
                "-".to_string()
            } else {
                added.join(", ")
            }
        );
    }
    page.push_str("\nThe talk counts what a file needs in the long run.\n\n");
}

pub(super) fn fat_creation(page: &mut String, measured: &[Measured]) {
    page.push_str("### FAT32 creates files with writes to two places\n\n");
    for (_, cell) in ok(measured, "")
        .filter(|(p, _)| p.fs == FileSystem::Vfat && p.workload.name == "untar")
        .take(1)
    {
        let c = &cell.pattern;
        let _ = writeln!(
            page,
            "The talk's trace shows writes of 64 kB to the clusters and the table. Unpacking the tree makes \
             {} writes to the data, {} to the directories and {} to the table; the mean write to the data is {}.\n",
            commands(cell, Kind::Data),
            commands(cell, Kind::Directory),
            commands(cell, Kind::Fat),
            mean_size(cell, Kind::Data)
        );
        let _ = writeln!(
            page,
            "The files have 18 kB on average, and Linux does not write the unused end of a cluster, so writes of 64 kB are \
             rare ({:.0} % in sequence). Any 64 consecutive writes go to {:.1} AUs on average.\n",
            c.sequential * 100.0,
            c.units_mean
        );
    }
}

fn commands(cell: &Cell, kind: Kind) -> u64 {
    cell.pattern.kinds.get(&kind).map_or(0, |a| a.commands)
}

fn mean_size(cell: &Cell, kind: Kind) -> String {
    let amount = cell.pattern.kinds.get(&kind).copied().unwrap_or_default();
    match amount.mean() {
        None => "-".to_string(),
        Some(mean) => format!("{:.1} KiB", mean.0 as f64 / 1024.0),
    }
}

pub(super) fn ext4_late_writes(page: &mut String, measured: &[Measured]) {
    page.push_str("### ext4 writes late and elsewhere\n\n");
    for (_, cell) in ok(measured, "")
        .filter(|(p, _)| p.fs == FileSystem::Ext4 && p.workload.name == "untar")
        .take(1)
    {
        let _ = writeln!(
            page,
            "The talk shows writes to bitmap, inodes and journal, after the data and far from it. Unpacking the tree: {} writes \
             to the data, {} to the journal, {} to inode tables, {} to bitmaps; {:.0} % of the writes do not continue the one before. \
             Metadata goes to the journal first, and to its place at a checkpoint (after 5 s, or at `umount`).\n",
            commands(cell, Kind::Data),
            commands(cell, Kind::Journal),
            commands(cell, Kind::Inode),
            commands(cell, Kind::Bitmap),
            (1.0 - cell.pattern.sequential) * 100.0
        );
    }
}
