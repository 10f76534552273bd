//! Registers of cards that were suspected as fakes by their serial numbers, and of cards that were measured as genuine.

use nandscope_infer::registers::{Weight, of_cid};
use nandscope_inspect::registers::{Checksum, Cid, Csd, Family};
use nandscope_units::Bytes;

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// The cards were chosen by their serial numbers, so that this sign is not counted here.
#[test]
fn half_of_the_cards_with_a_low_serial_number_show_another_sign() {
    let (mut cards, mut others, mut named, mut nobody) = (0, 0, 0, 0);
    for line in include_str!("data/fake_ids.csv").lines().skip(1) {
        let cell: Vec<&str> = line.split(',').collect();
        let (month, year) = cell[5].split_once('/').unwrap();
        let cid = Cid {
            manufacturer: number(cell[3]) as u8,
            oem: number(cell[4]) as u16,
            maker: None,
            product: cell[2].to_string(),
            revision: (0, 0),
            serial: number(cell[0]) as u32,
            year: year.parse().unwrap(),
            month: month.parse().unwrap(),
            checksum: Checksum::NotGiven,
        };
        let gib: Option<f64> = cell[1].parse().ok();
        let capacity = gib.map(|gib| Bytes((gib * (1_u64 << 30) as f64) as u64));
        let mut signs = of_cid(&cid, capacity, 2026);
        assert!(signs.iter().any(|m| m.id == "serial"), "{line}");
        signs.retain(|m| m.weight == Weight::Suspicious && m.id != "serial");
        cards += 1;
        others += u32::from(!signs.is_empty());
        named += u32::from(signs.iter().any(|m| m.id == "name-capacity"));
        nobody += u32::from(signs.iter().any(|m| m.id == "maker"));
    }
    // SD16G with 29 GiB.
    assert!(named >= 20 && nobody >= 86, "{named} {nobody}");
    // The counts in docs/verify.md.
    assert_eq!((others, cards), (117, 215));
}

#[test]
fn genuine_cards_are_not() {
    // Measured cards of known makers; CIDs as the cards answered.
    let cards = [
        (
            "275048534434474230dae3e5eb00e200",
            "400e00325b5900001da77f800a400000",
        ),
        (
            "1b534d3030303030106b1c53e200f701",
            "400e00325b590000775d7f800a400001",
        ),
        (
            "035054534c31364730da0a5d93010101",
            "400e00325b59000073a77f800a400001",
        ),
        (
            "03534453553032478000e22ef4009cfc",
            "002600325f5a83aefefbcfff928040de",
        ),
        (
            "413432534438474220a070df2800e200",
            "400e00325b5900003adf7f800a400000",
        ),
        (
            "02544d53413034471320efe6c200d900",
            "400e00325b5900001d6f7f800a400000",
        ),
        (
            "744a60555344202010a5a5035e00f601",
            "400e00325b5900003c1d7f800a400001",
        ),
        (
            "09415041462055441047b00419007b36",
            "002f00325f5a83cf2db7ffbf96800068",
        ),
    ];
    for (cid, csd) in cards {
        let cid = Cid::from_hex(cid, Family::Sd, None).unwrap();
        let capacity = Csd::from_hex(csd, Family::Sd).unwrap().capacity;
        let mut signs = of_cid(&cid, capacity, 2026);
        signs.retain(|m| m.weight == Weight::Suspicious);
        assert!(signs.is_empty(), "{cid:?} {signs:?}");
    }
    // A card that looks like a copy of the manual: 12 34 56, serial number 10.
    let odd = Cid::from_hex("12345653440000000000000af200e308", Family::Sd, None).unwrap();
    let signs = of_cid(&odd, None, 2026);
    let ids: Vec<_> = signs.iter().map(|m| m.id).collect();
    // The last byte, 08, was set by the host and is no checksum.
    assert_eq!(ids, ["maker", "serial", "name"]);
}

#[test]
fn genuine_cards_behind_a_host_that_leaves_08_in_place_of_the_checksum_are_not_suspicious() {
    for cid in [
        "275048534434474230dae3e5eb00e2",
        "1b534d3030303030106b1c53e200f7",
        "035054534c31364730da0a5d930101",
        "413432534438474220a070df2800e2",
    ] {
        let cid = Cid::from_hex(&format!("{cid}08"), Family::Sd, None).unwrap();
        let mut signs = of_cid(&cid, None, 2026);
        signs.retain(|m| m.weight == Weight::Suspicious);
        assert!(signs.is_empty(), "{cid:?} {signs:?}");
    }
    // A wrong checksum that the card itself reported still counts.
    let forged = "275048534434474230dae3e5eb00e255";
    let forged = Cid::from_hex(forged, Family::Sd, None).unwrap();
    assert!(
        of_cid(&forged, None, 2026)
            .iter()
            .any(|m| m.id == "checksum")
    );
}
