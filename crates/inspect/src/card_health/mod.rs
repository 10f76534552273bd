//! Health of industrial SD cards. There is no standard register for it; some makers answer the general command CMD56 with a page
//! of 512 bytes in a layout of their own. The layouts here are those that sdmon 0.9 reads (github.com/Ognian/sdmon), which its
//! authors took from the makers' documents and from cards.
//!
//! A page is recognised by its signature. Values that contradict each other are reported, not repaired. Cards that carry no
//! signature are not judged.

mod command;

pub use command::{CommandError, PAGE_BYTES, read};

use serde::Serialize;
use thiserror::Error;

/// Maker whose layout a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// SanDisk and Western Digital.
    SanDisk,
    /// Longsys.
    Longsys,
    /// Micron.
    Micron,
    /// Swissbit.
    Swissbit,
    /// Apacer and Kingston, whose page has no signature.
    Apacer,
}

/// Arguments of CMD56 with which a card is asked for its page: of SanDisk and Longsys, of Micron, of Swissbit. Bit 0 means a read.
pub const READS: [u32; 3] = [0x0000_0001, 0x1100_05fb, 0x5342_0001];

/// Health in a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CardHealth {
    /// Layout of the page.
    pub layout: Layout,
    /// Used part of the rated life, percent. More than 100 beyond its end.
    pub used_percent: f64,
    /// Step in which the card reports it, percent.
    pub step_percent: f64,
    /// Number of times that the card was powered up.
    pub power_ups: Option<u32>,
    /// Values that contradict each other, in words.
    pub contradictions: Vec<String>,
}

/// A page that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PageError {
    /// Another length.
    #[error("a page of CMD56 has 512 bytes, not {0}")]
    Length(usize),
    /// No known signature.
    #[error("the page has the signature {0:02x} {1:02x}, which belongs to no known layout")]
    Unknown(u8, u8),
}

/// Largest difference between the used life and the erases that it follows from, percent.
const APART: f64 = 2.0;

/// Decodes a page. A page without a signature is read in the layout `without_signature`, if that is given.
///
/// # Errors
/// [`PageError`] if it has another length, or no known layout.
pub fn decode(page: &[u8], without_signature: Option<Layout>) -> Result<CardHealth, PageError> {
    if page.len() != PAGE_BYTES {
        return Err(PageError::Length(page.len()));
    }
    let page = Page(page);
    match (page.byte(0), page.byte(1)) {
        (b'D', b'S' | b'W') => Ok(sandisk(page)),
        (0x70, 0x58) => Ok(longsys(page)),
        (b'M', b'E') => Ok(micron(page)),
        (b'S', b'w') => Ok(swissbit(page)),
        _ if without_signature == Some(Layout::Apacer) => Ok(apacer(page)),
        (first, second) => Err(PageError::Unknown(first, second)),
    }
}

/// A page of [`PAGE_BYTES`]; bytes beyond it are 0.
#[derive(Clone, Copy)]
struct Page<'a>(&'a [u8]);

impl Page<'_> {
    fn byte(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn of<const N: usize>(self, places: [usize; N]) -> [u8; N] {
        places.map(|at| self.byte(at))
    }

    fn big(self, at: usize) -> u32 {
        u32::from_be_bytes(self.of([at, at + 1, at + 2, at + 3]))
    }

    fn little(self, at: usize) -> u32 {
        u32::from_le_bytes(self.of([at, at + 1, at + 2, at + 3]))
    }
}

/// The used life in steps of 1 %: 1 for less than 1 %.
fn sandisk(page: Page<'_>) -> CardHealth {
    CardHealth {
        layout: Layout::SanDisk,
        used_percent: f64::from(page.byte(8)),
        step_percent: 1.0,
        power_ups: Some(u32::from_be_bytes([
            0,
            page.byte(24),
            page.byte(25),
            page.byte(26),
        ])),
        contradictions: Vec::new(),
    }
}

/// The remaining life in percent, which is negative beyond its end; wear in thousandths of a cycle, and the rated cycles.
fn longsys(page: Page<'_>) -> CardHealth {
    let used = 100.0 - f64::from(page.little(44).cast_signed());
    let cycles = f64::from(page.little(36)) / 1000.0;
    let rated = f64::from(page.little(52));
    CardHealth {
        layout: Layout::Longsys,
        used_percent: used,
        step_percent: 1.0,
        power_ups: None,
        contradictions: of_cycles(used, cycles, rated).into_iter().collect(),
    }
}

fn micron(page: Page<'_>) -> CardHealth {
    let (used, native, slc) = (page.byte(7), page.byte(8), page.byte(9));
    let least = native.max(slc);
    let contradictions = (used < least).then(|| {
        format!("{used} % of the life is used, but {least} % of that of one of its areas")
    });
    CardHealth {
        layout: Layout::Micron,
        used_percent: f64::from(used.max(least)),
        step_percent: 1.0,
        power_ups: None,
        contradictions: contradictions.into_iter().collect(),
    }
}

/// The remaining life in percent; rated cycles, and the average of those of the user area.
fn swissbit(page: Page<'_>) -> CardHealth {
    let used = 100.0 - f64::from(page.byte(80).cast_signed());
    let (rated, average) = (f64::from(page.big(48)), f64::from(page.big(60)));
    CardHealth {
        layout: Layout::Swissbit,
        used_percent: used,
        step_percent: 1.0,
        power_ups: Some(page.big(116)),
        contradictions: of_cycles(used, average, rated).into_iter().collect(),
    }
}

/// The remaining life in hundredths of a percent, as a signed number: 45,300 are not 453 % that are left, but −202.36 %. Erases
/// per block, each as four bytes in two places.
fn apacer(page: Page<'_>) -> CardHealth {
    let remaining = i16::from_be_bytes(page.of([96, 97]));
    let used = 100.0 - f64::from(remaining) / 100.0;
    let average = u32::from_be_bytes(page.of([104, 105, 98, 99]));
    let least = u32::from_be_bytes(page.of([106, 107, 100, 101]));
    let most = u32::from_be_bytes(page.of([108, 109, 102, 103]));
    let ordered = least <= average && average <= most;
    let contradictions = (!ordered).then(|| {
        format!("blocks were erased {least} to {most} times, but {average} times on average")
    });
    CardHealth {
        layout: Layout::Apacer,
        used_percent: used,
        step_percent: 0.01,
        power_ups: Some(page.big(112)),
        contradictions: contradictions.into_iter().collect(),
    }
}

/// Whether the used life is another than the erases say.
fn of_cycles(used: f64, cycles: f64, rated: f64) -> Option<String> {
    let by_cycles = 100.0 * cycles / rated;
    let apart = rated > 0.0 && (by_cycles - used).abs() > APART.max(used.abs() / 50.0);
    apart.then(|| {
        format!(
            "{used} % of the life is used, but {cycles} of {rated} rated cycles ({by_cycles:.1} %)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(values: &[(usize, &[u8])]) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        for (at, bytes) in values {
            page[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        page
    }

    #[test]
    fn a_card_worn_out_three_times_over_has_no_life_left() {
        let worn = page(&[
            (96, &45_300u16.to_be_bytes()),
            (98, &[0, 9]),
            (100, &[0, 3]),
            (102, &[0, 12]),
        ]);
        let health = decode(&worn, Some(Layout::Apacer)).unwrap();
        assert!((health.used_percent - 302.36).abs() < 1e-9, "{health:?}");
        assert_eq!(health.contradictions, [""; 0]);
        // Without a signature nothing says which layout it is.
        assert_eq!(decode(&worn, None), Err(PageError::Unknown(0, 0)));
        let healthy = page(&[(96, &9_997u16.to_be_bytes()), (115, &[55])]);
        let health = decode(&healthy, Some(Layout::Apacer)).unwrap();
        assert!((health.used_percent - 0.03).abs() < 1e-9);
        assert_eq!(health.power_ups, Some(55));
    }

    #[test]
    fn erases_that_do_not_fit_are_named() {
        let wrong = page(&[
            (96, &[39, 16]),
            (98, &[0, 1]),
            (100, &[0, 3]),
            (102, &[0, 5]),
        ]);
        let health = decode(&wrong, Some(Layout::Apacer)).unwrap();
        assert!(health.contradictions[0].contains("3 to 5 times, but 1 times"));
        // Swissbit: 90 % left, but half of 3,000 cycles used.
        let wrong = page(&[
            (0, b"Sw"),
            (48, &3000u32.to_be_bytes()),
            (60, &1500u32.to_be_bytes()),
            (80, &[90]),
        ]);
        let health = decode(&wrong, None).unwrap();
        assert_eq!(health.used_percent, 10.0);
        assert!(health.contradictions[0].contains("1500 of 3000 rated cycles (50.0 %)"));
        let right = page(&[
            (0, b"Sw"),
            (48, &3000u32.to_be_bytes()),
            (60, &300u32.to_be_bytes()),
            (80, &[90]),
        ]);
        assert_eq!(decode(&right, None).unwrap().contradictions, [""; 0]);
    }

    #[test]
    fn remaining_lives_are_signed() {
        let longsys = page(&[
            (0, &[0x70, 0x58]),
            (36, &3_300_000u32.to_le_bytes()),
            (44, &(-10i32).to_le_bytes()),
            (52, &3000u32.to_le_bytes()),
        ]);
        let health = decode(&longsys, None).unwrap();
        assert_eq!(
            (health.used_percent, health.contradictions.len()),
            (110.0, 0)
        );
        let swissbit = page(&[(0, b"Sw"), (80, &[0xf6])]);
        assert_eq!(decode(&swissbit, None).unwrap().used_percent, 110.0);
    }

    #[test]
    fn other_layouts_and_lengths() {
        let sandisk = page(&[(0, b"DS211122"), (8, &[1]), (24, &[0, 0, 14])]);
        let health = decode(&sandisk, None).unwrap();
        assert_eq!((health.used_percent, health.power_ups), (1.0, Some(14)));
        let micron = page(&[(0, b"ME"), (7, &[5, 7, 3])]);
        let health = decode(&micron, None).unwrap();
        assert_eq!((health.used_percent, health.contradictions.len()), (7.0, 1));
        assert_eq!(decode(&[0; 511], None), Err(PageError::Length(511)));
        assert_eq!(
            decode(&[0xff; 512], None),
            Err(PageError::Unknown(0xff, 0xff))
        );
    }
}
