/// CRC7 (x^7 + x^3 + 1) as SD cards and eMMC use it, of commands and of the registers CID and CSD; seven bits.
pub fn crc7(data: &[u8]) -> u8 {
    let mut crc = 0u8;
    for byte in data {
        crc ^= byte;
        for _ in 0..8 {
            // The polynomial 0x09, shifted by one bit like the stored checksum.
            crc = if crc & 0x80 == 0 {
                crc << 1
            } else {
                crc << 1 ^ 0x12
            };
        }
    }
    crc >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of the SD specification's own examples of CRC7 (section 4.5).
    #[test]
    fn crc7_of_the_specification() {
        assert_eq!(crc7(&[0x40, 0, 0, 0, 0]), 0b100_1010);
        assert_eq!(crc7(&[0x51, 0, 0, 0, 0]), 0b010_1010);
        assert_eq!(crc7(&[0x11, 0, 0, 0x09, 0]), 0b011_0011);
    }
}
