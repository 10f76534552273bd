//! The disks of this machine, and whether they may be written.

use crate::console::{Console, lines_of};
use nandscope_inspect::disks;
use nandscope_inspect::guard::{Guard, Reason};
use nandscope_inspect::identity::Identity;
use nandscope_inspect::{Roots, decimal_size};
use serde::Serialize;
use std::path::PathBuf;

/// A disk of this machine.
#[derive(Debug, Serialize)]
pub struct Disk {
    path: PathBuf,
    #[serde(flatten)]
    identity: Identity,
    /// Why writing would be refused; empty if `--destroy-data` allows it.
    refused: Vec<Reason>,
}

/// The disks with a medium, and loop devices with a backing file.
pub fn disks() -> Vec<Disk> {
    let roots = Roots::default();
    let guard = Guard::new(roots.clone());
    let found = disks::disks(&roots).into_iter().map(|identity| {
        // sysfs has `!` where a name has a slash.
        let path = roots.dev.join(identity.name.replace('!', "/"));
        let refused = match guard.judge(&path) {
            Ok(judged) => judged.reasons,
            Err(refusal) => refusal.reasons,
        };
        Disk {
            path,
            identity,
            refused,
        }
    });
    found.collect()
}

impl Disk {
    /// Vendor and model; of a loop device, its backing file.
    fn model(&self) -> String {
        match &self.identity.backing_file {
            Some(file) => file.display().to_string(),
            None => self.identity.model.clone().unwrap_or_default(),
        }
    }

    /// One line on whether nandscope may write to the disk.
    fn writing(&self) -> String {
        match &self.refused[..] {
            [] => "allowed with --destroy-data".to_string(),
            [Reason::Carries(_, name)] => format!("allowed with --destroy-data={name}"),
            [first, ..] => format!("refused: {}", first.what()),
        }
    }
}

/// A table of the disks.
pub fn list(console: &Console) -> String {
    let disks = disks();
    if disks.is_empty() {
        return "No disks are visible on this machine.\n".to_string();
    }
    let mut table = console.table(&["DISK", "SIZE", "BUS", "MODEL OR FILE", "WRITING"]);
    for disk in &disks {
        table.add_row([
            disk.path.display().to_string(),
            decimal_size(disk.identity.size),
            disk.identity.transport.to_string(),
            disk.model(),
            disk.writing(),
        ]);
    }
    super::with_whole_names(&mut table);
    format!(
        "{}\n`nandscope inspect DISK` gives every reason with its remedy.\n",
        lines_of(&table)
    )
}
