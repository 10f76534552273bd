//! Checks the registers of a card: whether they are consistent with each other and with the habits of the card's maker. Registers
//! prove nothing: a counterfeiter can copy those of a genuine card, but often does not. Of 215 cards suspected because of low
//! serial numbers, 117 show another of these signs, and 98 the serial number alone.

use nandscope_inspect::registers::{Checksum, Cid, Registers};
use nandscope_units::Bytes;
use serde::Serialize;

/// Weight of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Worth reporting; also occurs on genuine cards.
    Note,
    /// Does not occur on cards of careful makers.
    Suspicious,
}

/// Finding about the registers of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sign {
    /// Stable name for programs.
    pub id: &'static str,
    /// Weight of the sign.
    pub weight: Weight,
    /// Description for readers.
    pub text: String,
}

/// Manufacturer identifiers that are not assigned: the values of erased and zeroed memory, and 0xfe. They occur on 86 of the 215
/// suspected cards and on no genuine one.
const NOBODY: [u8; 3] = [0x00, 0xfe, 0xff];
/// Serial numbers have 32 bits and are assigned in sequence or at random; a random one is below this limit with probability
/// 1/65,536.
const LOW_SERIAL: u32 = 1 << 16;
/// Product names that controllers have before the card's maker sets one.
const NAMELESS: [&str; 8] = ["SMI", "ASTC", "SD", "AS", "TO", "MS", "USD", "0000"];
/// Largest ratio of a capacity to the gigabytes in its product name: decimal or binary gigabytes, and reserve.
const NAME_SLACK: f64 = 1.15;
/// Granularity of capacities in the CSD, bytes; a simulated device may be longer by less than one such unit.
const CSD_UNIT: u64 = 512 << 10;
/// Year in which the first SD card was sold.
const FIRST_YEAR: u16 = 2000;

/// All signs in the registers of a card. `size` is the size of the block device; `this_year` is the current year, to detect dates
/// in the future.
pub fn signs(registers: &Registers, size: Option<Bytes>, this_year: u16) -> Vec<Sign> {
    let mut signs = Vec::new();
    let capacity = registers.csd.as_ref().and_then(|csd| csd.capacity);
    if let Some(cid) = &registers.cid {
        signs.extend(of_cid(cid, capacity.or(size), this_year));
    }
    if let (Some(claimed), Some(size)) = (capacity, size)
        && claimed.0.abs_diff(size.0) >= CSD_UNIT
    {
        signs.push(sign(
            "capacity",
            Weight::Suspicious,
            format!(
                "the CSD claims {} bytes, the block device has {}",
                claimed.0, size.0
            ),
        ));
    }
    signs.extend(registers.faults.iter().map(|fault| {
        sign(
            "unreadable",
            Weight::Suspicious,
            format!("a register cannot be decoded: {fault}"),
        )
    }));
    signs
}

/// Signs in the identification register (CID) of a card of this capacity.
pub fn of_cid(cid: &Cid, capacity: Option<Bytes>, this_year: u16) -> Vec<Sign> {
    let signs = [
        maker(cid),
        serial(cid.serial),
        name(cid),
        capacity.and_then(|capacity| name_and_capacity(&cid.product, capacity)),
        date(cid, this_year),
        (cid.checksum == Checksum::Wrong).then(|| {
            sign(
                "checksum",
                Weight::Suspicious,
                "the checksum of the CID is wrong".to_string(),
            )
        }),
    ];
    signs.into_iter().flatten().collect()
}

fn sign(id: &'static str, weight: Weight, text: String) -> Sign {
    Sign { id, weight, text }
}

fn maker(cid: &Cid) -> Option<Sign> {
    let ids = format!(
        "manufacturer {:#04x}, OEM {:#06x}",
        cid.manufacturer, cid.oem
    );
    if NOBODY.contains(&cid.manufacturer) {
        let text = format!("{ids}: the manufacturer identifier belongs to nobody");
        return Some(sign("maker", Weight::Suspicious, text));
    }
    if counts_up(cid) {
        let text = format!("{ids}: identifiers that only count up are those of an example");
        return Some(sign("maker", Weight::Suspicious, text));
    }
    let unknown = cid.maker.is_none();
    unknown.then(|| sign("maker", Weight::Note, format!("{ids}: not known")))
}

/// True for identifiers that count up, such as 12 34 56 in the example of a manual.
fn counts_up(cid: &Cid) -> bool {
    let [high, low] = cid.oem.to_be_bytes();
    matches!(
        (cid.manufacturer, high, low),
        (_, 0x34, 0x56) | (0x12, 0x56, 0x78)
    )
}

fn serial(serial: u32) -> Option<Sign> {
    (serial < LOW_SERIAL).then(|| {
        let text = format!(
            "serial number {serial:#010x}: one as low as this is 1 of 65,536 by chance, and the rule on cards that nobody numbers"
        );
        sign("serial", Weight::Suspicious, text)
    })
}

fn name(cid: &Cid) -> Option<Sign> {
    let nameless = cid.product.trim().is_empty() || NAMELESS.contains(&cid.product.trim());
    nameless.then(|| {
        sign(
            "name",
            Weight::Note,
            format!("product name `{}`: no name of a product", cid.product),
        )
    })
}

/// The number of gigabytes in a product name, such as SD16G, SL08G or SD256.
fn gigabytes(product: &str) -> Option<u64> {
    let digits = product.find(|c: char| c.is_ascii_digit())?;
    let rest = &product[digits..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let number: u64 = rest[..end].parse().ok()?;
    let unit = &rest[end..];
    let plausible = unit.starts_with('G') || (unit.is_empty() && number >= 128);
    (plausible && number.is_power_of_two()).then_some(number)
}

fn name_and_capacity(product: &str, capacity: Bytes) -> Option<Sign> {
    let named = gigabytes(product)?;
    let has = capacity.0 as f64;
    (has > named as f64 * 1e9 * NAME_SLACK).then(|| {
        let text = format!("named `{product}`, and claims {:.1} GB", has / 1e9);
        sign("name-capacity", Weight::Suspicious, text)
    })
}

fn date(cid: &Cid, this_year: u16) -> Option<Sign> {
    let impossible =
        cid.year > this_year || cid.year < FIRST_YEAR || !(1..=12).contains(&cid.month);
    impossible.then(|| {
        let text = format!("made in {:02}/{}", cid.month, cid.year);
        sign("date", Weight::Suspicious, text)
    })
}
