//! The classes, their requirements, and the specification's formula for areas in use.

/// A class defined by the rate of sequential recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Name as printed on the card.
    pub name: &'static str,
    /// Required rate, MB/s.
    pub mb_per_s: u32,
    /// Length of a recording unit, bytes.
    pub recording_unit: u64,
    /// True if the rate is required in an area that is half in use; false for empty areas.
    pub fragmented: bool,
}

const fn class(name: &'static str, mb_per_s: u32, unit_kib: u64, fragmented: bool) -> Class {
    Class {
        name,
        mb_per_s,
        recording_unit: unit_kib << 10,
        fragmented,
    }
}

impl Class {
    /// All classes: recording units of §4.13.1; the V classes record as UHS does.
    pub const ALL: [Class; 11] = [
        class("Class 2", 2, 16, true),
        class("Class 4", 4, 16, true),
        class("Class 6", 6, 64, true),
        class("Class 10", 10, 512, false),
        class("U1", 10, 512, false),
        class("U3", 30, 512, false),
        class("V6", 6, 512, false),
        class("V10", 10, 512, false),
        class("V30", 30, 512, false),
        class("V60", 60, 512, false),
        class("V90", 90, 512, false),
    ];
}

/// Rate of recording in an area of `units` recording units of which `used` are in use and must be
/// kept: `(N − Nu)·Pm·Pw / ((N − Nu)·Pm + Nu·Pw)`, with the rates of writing (`write`) and of
/// moving (`moving`) in an empty area (§4.13). All rates in one unit. Zero where nothing is free.
pub fn performance(units: u32, used: u32, write: f64, moving: f64) -> f64 {
    let free = f64::from(units.saturating_sub(used));
    let used = f64::from(used.min(units));
    let below = free * moving + used * write;
    if below > 0.0 {
        free * moving * write / below
    } else {
        0.0
    }
}

/// Relative difference of the rates below which nothing counts as moved.
const UNMOVED: f64 = 0.02;

/// Rate of moving, from the same formula and a measured rate in an area in use. `None` if recording there was not
/// slower than in an empty area by a fiftieth: then nothing was moved, or too little to measure.
pub fn moved(units: u32, used: u32, write: f64, measured: f64) -> Option<f64> {
    let free = f64::from(units.saturating_sub(used));
    let below = free * (write - measured);
    let slower = measured < (1.0 - UNMOVED) * write;
    (slower && below > 0.0 && measured > 0.0).then(|| f64::from(used) * measured * write / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_that_of_times() {
        // Half of 8 units in use: 4 moved at rate 10, 4 written at rate 20: 0.4 + 0.2 = 0.6 for 4.
        assert!((performance(8, 4, 20.0, 10.0) - 4.0 / 0.6).abs() < 1e-12);
        assert_eq!(performance(8, 0, 20.0, 10.0), 20.0);
        assert_eq!(performance(8, 8, 20.0, 10.0), 0.0);
        assert_eq!(performance(0, 0, 0.0, 0.0), 0.0);
        let moving = moved(8, 4, 20.0, 4.0 / 0.6).unwrap();
        assert!((moving - 10.0).abs() < 1e-9);
        assert_eq!(moved(8, 4, 20.0, 20.0), None);
        assert_eq!(moved(8, 4, 20.0, 19.9), None);
    }
}
