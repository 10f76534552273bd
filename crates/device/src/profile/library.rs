//! The profiles that are built into nandscope, from the folder `profiles/`.

use super::{HostProfile, Profile, ProfileError, parse_host, parse_profile};

/// A built-in profile.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name of the profile, as in `sim:NAME`.
    pub name: &'static str,
    /// Path of the file in the repository.
    pub file: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

macro_rules! entry {
    ($folder:literal, $name:literal) => {
        Entry {
            name: $name,
            file: concat!($folder, $name, ".toml"),
            text: include_str!(concat!("../../", $folder, $name, ".toml")),
        }
    };
}

/// Devices, in alphabetical order.
pub const DEVICES: &[Entry] = &[
    entry!("profiles/", "adata-atom-50-1tb"),
    entry!("profiles/", "hp-ex900-pro-1tb"),
    entry!("profiles/", "hp-ex920-1tb"),
    entry!("profiles/", "kingston-8gb"),
    entry!("profiles/", "kingston-a2000-1tb"),
    entry!("profiles/", "kingston-class10-32gb"),
    entry!("profiles/", "ocz-vertex-450-256gb"),
    entry!("profiles/", "plextor-m6e-256gb"),
    entry!("profiles/", "recorded-flashbench-readme"),
    entry!("profiles/", "recorded-kingston-sd-8gb"),
    entry!("profiles/", "recorded-ncard-sd-8gb"),
    entry!("profiles/", "recorded-ncard-sd-8gb-shared"),
    entry!("profiles/", "recorded-phison-sd-4gb"),
    entry!("profiles/", "recorded-phison-sd-4gb-b"),
    entry!("profiles/", "recorded-phison-sd-4gb-c"),
    entry!("profiles/", "recorded-samsung-sd-16gb"),
    entry!("profiles/", "recorded-sandisk-like-sd-4gb"),
    entry!("profiles/", "recorded-sandisk-sl08g"),
    entry!("profiles/", "recorded-toshiba-sa04g"),
    entry!("profiles/", "recorded-transcend-usd-8gb"),
    entry!("profiles/", "reference-nvme-64gb"),
    entry!("profiles/", "samsung-860-pro-512gb"),
    entry!("profiles/", "samsung-970-pro-512gb"),
    entry!("profiles/", "samsung-emmc51-64gb"),
    entry!("profiles/", "samsung-evo-16gb"),
    entry!("profiles/", "samsung-pro-32gb"),
    entry!("profiles/", "sandisk-extreme-16gb"),
    entry!("profiles/", "sandisk-extreme-a2-64gb"),
    entry!("profiles/", "sandisk-extreme-pro-16gb"),
    entry!("profiles/", "sandisk-extreme-uhs2-128gb"),
    entry!("profiles/", "sandisk-ultra-16gb"),
    entry!("profiles/", "sm2262en-2tb"),
    entry!("profiles/", "sm2708-250gb"),
    entry!("profiles/", "talk-mmcblk1-8gb"),
    entry!("profiles/", "tlc-card-3mib-au"),
    entry!("profiles/", "toshiba-class10-16gb"),
    entry!("profiles/", "toshiba-exceria-32gb"),
];

/// Hosts, in alphabetical order.
pub const HOSTS: &[Entry] = &[
    entry!("profiles/hosts/", "asus-z87-satae"),
    entry!("profiles/hosts/", "direct"),
    entry!("profiles/hosts/", "emmc-board"),
    entry!("profiles/hosts/", "lexar-sr2"),
    entry!("profiles/hosts/", "lsi-sas2008"),
    entry!("profiles/hosts/", "mmc-queue-board"),
    entry!("profiles/hosts/", "nvme-desktop"),
    entry!("profiles/hosts/", "nvme-desktop-gen4"),
    entry!("profiles/hosts/", "nvme-laptop"),
    entry!("profiles/hosts/", "odroid-xu3"),
    entry!("profiles/hosts/", "raspberry-pi"),
    entry!("profiles/hosts/", "raspberry-pi-4"),
    entry!("profiles/hosts/", "recorded-laptop-slot"),
    entry!("profiles/hosts/", "recorded-usb-reader"),
    entry!("profiles/hosts/", "recorded-usb-reader-slow"),
    entry!("profiles/hosts/", "rtl9211ds"),
    entry!("profiles/hosts/", "sabrelite"),
];

/// The built-in device of that name. Trailing words of the name may be omitted if the rest is
/// unambiguous, as in `plextor-m6e`.
pub fn device(name: &str) -> Option<&'static Entry> {
    let exactly = DEVICES.iter().find(|e| e.name == name);
    exactly.or_else(|| {
        let shortened = |e: &&Entry| {
            let rest = e.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        let mut found = DEVICES.iter().filter(shortened);
        found.next().filter(|_| found.next().is_none())
    })
}

/// The built-in host of that name.
pub fn host(name: &str) -> Option<&'static Entry> {
    HOSTS.iter().find(|e| e.name == name)
}

impl Entry {
    /// Reads the entry as a device.
    ///
    /// # Errors
    /// As [`parse_profile`]; the tests of the library check that no entry has errors.
    pub fn profile(&self) -> Result<Profile, Vec<ProfileError>> {
        parse_profile(self.file, self.text)
    }

    /// Reads the entry as a host.
    ///
    /// # Errors
    /// As [`parse_host`].
    pub fn host_profile(&self) -> Result<HostProfile, Vec<ProfileError>> {
        parse_host(self.file, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_shortened_where_one_device_is_meant() {
        let name = |short| device(short).map(|e| e.name);
        assert_eq!(name("plextor-m6e"), Some("plextor-m6e-256gb"));
        assert_eq!(
            name("recorded-phison-sd-4gb"),
            Some("recorded-phison-sd-4gb")
        );
        for ambiguous_or_none in ["sandisk", "plextor-m6", "", "plextor-m6e-"] {
            assert_eq!(name(ambiguous_or_none), None, "{ambiguous_or_none}");
        }
    }
}
