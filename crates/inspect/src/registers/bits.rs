//! A register as bytes, the most significant first, and its bits by the numbers of the
//! specification, in which bit 0 is the last one sent.

use thiserror::Error;

/// Why a register could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// The text has another length than the register.
    #[error("has {found} hexadecimal digits, not {wanted}; the register was read incompletely")]
    Length {
        /// Digits that were there.
        found: usize,
        /// Number of hexadecimal digits of the register.
        wanted: usize,
    },
    /// A character is not a hexadecimal digit.
    #[error("`{0}` is not a hexadecimal digit")]
    Digit(char),
    /// The register has a structure that is not known here.
    #[error("unknown structure version {0}")]
    Structure(u64),
}

/// `N` bytes of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<const N: usize>(pub [u8; N]);

impl<const N: usize> Register<N> {
    /// Parses hexadecimal digits, as in sysfs.
    ///
    /// # Errors
    /// `RegisterError::Length` if the length is wrong; `RegisterError::Digit` if a character is not a digit.
    pub fn from_hex(text: &str) -> Result<Self, RegisterError> {
        let text = text.trim();
        if let Some(other) = text.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(RegisterError::Digit(other));
        }
        if text.len() != 2 * N {
            return Err(RegisterError::Length {
                found: text.len(),
                wanted: 2 * N,
            });
        }
        let mut bytes = [0; N];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |c: u8| char::from(c).to_digit(16).unwrap_or(0) as u8;
            *byte = digits.iter().fold(0, |value, c| value << 4 | digit(*c));
        }
        Ok(Register(bytes))
    }

    /// Bits `high` down to `low`, at most 64 of them; bits that the register has not are zero.
    pub fn bits(&self, high: usize, low: usize) -> u64 {
        (low..=high)
            .rev()
            .fold(0, |value, bit| value << 1 | u64::from(self.bit(bit)))
    }

    /// Whether the bit of this number is set; bit 0 is the last of the register.
    pub fn bit(&self, bit: usize) -> bool {
        let byte = N.checked_sub(1 + bit / 8).and_then(|at| self.0.get(at));
        byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// `count` characters of text that ends at bit `low`, without unprintable ones.
    pub fn characters(&self, low: usize, count: usize) -> String {
        (0..count)
            .rev()
            .map(|i| self.bits(low + 8 * i + 7, low + 8 * i) as u8)
            .filter(|c| c.is_ascii_graphic() || *c == b' ')
            .map(char::from)
            .collect::<String>()
            .trim()
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_end() {
        let register = Register::<2>::from_hex("8001").unwrap();
        assert!(register.bit(15) && register.bit(0) && !register.bit(1) && !register.bit(16));
        assert_eq!(register.bits(15, 8), 0x80);
        assert_eq!(register.bits(8, 0), 1);
    }

    #[test]
    fn what_is_no_register() {
        let length = |found| RegisterError::Length { found, wanted: 4 };
        assert_eq!(Register::<2>::from_hex("123"), Err(length(3)));
        assert_eq!(Register::<2>::from_hex(""), Err(length(0)));
        assert_eq!(
            Register::<2>::from_hex("12é"),
            Err(RegisterError::Digit('é'))
        );
    }
}
