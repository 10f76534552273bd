//! Contents of a card's registers that nothing else in the profile implies: the table `[registers]` of a device
//! profile, for SD cards and eMMC.

use serde::{Deserialize, Serialize};

/// Contents of the registers of an SD card or eMMC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistersSection {
    /// Manufacturer identifier (MID).
    pub manufacturer: u8,
    /// OEM identifier (OID): two characters of an SD card, 8 bits of an eMMC.
    pub oem: u16,
    /// Product name (PNM): 5 characters of an SD card, 6 of an eMMC.
    pub product: String,
    /// Product revision (PRV): major and minor number, 4 bits each.
    pub revision: u8,
    /// Year of manufacture.
    pub year: u16,
    /// Month of manufacture, 1 to 12.
    pub month: u8,
    /// Speed class in MB/s: 2, 4, 6, 10, or 0 for none (SD only).
    #[serde(default)]
    pub speed_class: u8,
    /// UHS speed grade: 1, 3, or 0 for none (SD only).
    #[serde(default)]
    pub uhs_grade: u8,
    /// Video speed class in MB/s: 6, 10, 30, 60, 90, or 0 for none (SD only).
    #[serde(default)]
    pub video_class: u8,
    /// Application performance class: 1, 2, or 0 for none (SD only).
    #[serde(default)]
    pub application_class: u8,
}
