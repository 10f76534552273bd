//! The text form of sizes of devices.

use nandscope_units::{Bytes, number};

/// A size in decimal units, as on the label of a device, with a plain space: `7.95 GB`.
pub fn decimal_size(size: Bytes) -> String {
    number::bytes(size.0).replace('\u{202f}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_labels() {
        assert_eq!(decimal_size(Bytes(7_948_206_080)), "7.95 GB");
        assert_eq!(decimal_size(Bytes::mib(4)), "4.19 MB");
    }
}
