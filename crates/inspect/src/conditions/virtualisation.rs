//! Detection of virtual machines that do not hide themselves.

use crate::roots::{self, Roots};

/// Makers and products in the firmware's tables that are hypervisors.
const NAMES: [&str; 10] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "innotek",
    "Xen",
    "Bochs",
    "Parallels",
    "Amazon EC2",
    "Google Compute Engine",
];

pub(super) fn detect(roots: &Roots) -> Option<String> {
    let table = roots.sys.join("class/dmi/id");
    let of = |name: &str| roots::text(&table.join(name)).unwrap_or_default();
    let maker = format!("{} {}", of("sys_vendor"), of("product_name"));
    let named = NAMES.iter().any(|name| maker.contains(name))
        || (maker.contains("Microsoft") && maker.contains("Virtual"));
    if named {
        return Some(maker.trim().to_string());
    }
    if let Some(kind) = roots::text(&roots.sys.join("hypervisor/type")) {
        return Some(kind);
    }
    let info = roots::text(&roots.proc.join("cpuinfo"))?;
    let mut flags = info.lines().filter(|line| line.starts_with("flags"));
    let hypervisor = flags.any(|line| line.split_whitespace().any(|f| f == "hypervisor"));
    hypervisor.then(|| "unknown hypervisor".to_string())
}
