//! Registers of real cards, as the cards answered, against what the kernel said of the same cards.

use nandscope_inspect::registers::{Checksum, Cid, Csd, Family, Scr};

/// Cells of a line; quotes may hold a comma.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

#[test]
fn identity_and_size_of_real_cards() {
    let table = include_str!("data/card_registers.csv");
    let (mut cids, mut csds, mut scrs, mut sums) = (0, 0, 0, 0);
    for line in table.lines().skip(1) {
        let cell = cells(line);
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        if let (Some(hex), Some((month, year))) = (some(&cell[9]), cell[8].split_once('/')) {
            let cid = Cid::from_hex(hex, Family::Sd, None).unwrap();
            assert_eq!(u64::from(cid.manufacturer), number(&cell[3]), "{line}");
            assert_eq!(u64::from(cid.oem), number(&cell[4]), "{line}");
            assert_eq!(cid.product, cell[5], "{line}");
            let revision = (u64::from(cid.revision.0), u64::from(cid.revision.1));
            assert_eq!(revision, (number(&cell[6]), number(&cell[7])), "{line}");
            assert_eq!(
                cid.month.to_string(),
                month.trim_start_matches('0'),
                "{line}"
            );
            assert_eq!(cid.year.to_string(), year, "{line}");
            sums += u32::from(cid.checksum == Checksum::Right);
            cids += 1;
        }
        if let Some(hex) = some(&cell[10]) {
            let csd = Csd::from_hex(hex, Family::Sd).unwrap();
            if let Some(capacity) = some(&cell[12]) {
                assert_eq!(csd.capacity.unwrap().0.to_string(), capacity, "{line}");
                csds += 1;
            }
            assert_eq!(csd.bits_per_second, 25_000_000, "{line}");
        }
        if let Some(hex) = some(&cell[11]) {
            assert!(Scr::from_hex(hex).unwrap().version.is_some(), "{line}");
            scrs += 1;
        }
    }
    println!("{cids} CIDs, {csds} capacities, {scrs} SCRs, {sums} checksums right");
    assert!(cids >= 15 && csds >= 15 && scrs >= 4 && sums >= 1);
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
