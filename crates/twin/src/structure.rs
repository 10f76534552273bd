//! Structures that a fit begins with: profiles of the library that differ in what cannot be changed by a parameter.

use nandscope_device::profile::Profile;

/// Profiles of the library that are tried: four cards with allocation units (different policies of open AUs; units of powers of two, and of 3 MiB), a
/// page-mapped card, an eMMC, a SATA drive without a cache, and NVMe drives without and with an SLC cache, with and without
/// DRAM.
pub const BASES: [&str; 10] = [
    "sandisk-extreme-pro-16gb",
    "kingston-class10-32gb",
    "toshiba-class10-16gb",
    "tlc-card-3mib-au",
    "sandisk-extreme-a2-64gb",
    "samsung-emmc51-64gb",
    "samsung-860-pro-512gb",
    "samsung-970-pro-512gb",
    "hp-ex920-1tb",
    "adata-atom-50-1tb",
];

/// The kind of a device, in words.
pub fn kind(profile: &Profile) -> &'static str {
    let link = profile.interface.first().map_or("", |i| i.link.as_str());
    match (&profile.card, link) {
        (Some(_), _) => "card with allocation units",
        (None, link) if link.starts_with("pcie") => "NVMe drive",
        (None, link) if link.starts_with("sata") => "SATA drive",
        (None, link) if link.starts_with("emmc") => "eMMC",
        _ => "page-mapped card",
    }
}
