//! Identifiers of the figures that more than one place knows. In a document with several modes the name of the
//! mode comes before them; [`crate::Figure::has_id`] ignores it.

/// Lowest power, W.
pub const POWER_MIN: &str = "power.min";
/// Mean power, W.
pub const POWER_MEAN: &str = "power.mean";
/// Highest power, W.
pub const POWER_PEAK: &str = "power.peak";
/// Energy, kJ.
pub const ENERGY: &str = "energy";
/// Energy per data read and written, J/GB.
pub const ENERGY_PER_GB: &str = "energy.per-gb";
/// Highest temperature that the device reports, °C.
pub const DEVICE_TEMPERATURE_MAX: &str = "temperature.device.max";
/// Highest temperature of the surface, °C.
pub const SURFACE_TEMPERATURE_MAX: &str = "temperature.surface.max";
/// Least share of full speed, %.
pub const THROTTLE_MIN: &str = "throttle.min";
/// Write rate after formatting, as a multiple of the rate before.
pub const FORMAT_GAIN: &str = "format.gain";
/// 1 if formatting restores performance, otherwise 0.
pub const FORMAT_RESTORES: &str = "format.restores";
/// States of the device in which the same tests are repeated: parts of identifiers, as in `cdm.fresh.seq1m-q8t1.read`.
pub const STATES: [&str; 3] = ["fresh", "used", "refreshed"];
