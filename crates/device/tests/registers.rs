//! Registers of simulated cards, checked bit by bit against the positions in the specifications.

use crate::support::{device_on, plain, profile};
use nandscope_device::{CardRegisters, Device, Fill};

/// CRC7 by long division of the bits, as the SD specification defines it (section 4.5).
fn crc7(data: &[u8]) -> u8 {
    let mut rest = 0u16;
    let bits = data
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1));
    for bit in bits.chain([0; 7]) {
        rest = rest << 1 | u16::from(bit);
        if rest & 0x80 != 0 {
            rest ^= 0x89;
        }
    }
    rest as u8
}

fn is_sealed(register: &[u8; 16]) -> bool {
    register[15] == crc7(&register[..15]) << 1 | 1
}

fn sd(d: &Device) -> ([u8; 16], [u8; 16], [u8; 8], [u8; 64]) {
    match d.registers() {
        Some(CardRegisters::Sd { cid, csd, scr, ssr }) => (cid, csd, scr, *ssr),
        other => panic!("{other:?}"),
    }
}

fn ext_csd(d: &Device) -> [u8; 512] {
    match d.registers() {
        Some(CardRegisters::Mmc { cid, csd, ext_csd }) => {
            assert!(is_sealed(&cid) && is_sealed(&csd));
            *ext_csd
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_sd_card_says_who_it_is_and_what_it_promises() {
    let p = profile("sandisk-extreme-uhs2-128gb");
    let d = device_on(&p, "uhs2-hd312");
    let (cid, csd, scr, ssr) = sd(&d);
    assert!(is_sealed(&cid) && is_sealed(&csd));
    assert_eq!(cid[..9], *b"\x03SDSU128\x80");
    let serial = format!(
        "{:02x}{:02x}{:02x}{:02x}",
        cid[9], cid[10], cid[11], cid[12]
    );
    assert_eq!(d.identity().serial, serial);
    // September 2016.
    assert_eq!((cid[13], cid[14]), (0x01, 0x09));
    // Version 2; C_SIZE + 1 units of 512 KiB.
    assert_eq!(csd[0] >> 6, 1);
    let size = u64::from(csd[7] & 0x3f) << 16 | u64::from(csd[8]) << 8 | u64::from(csd[9]);
    assert_eq!((size + 1) << 19, p.device.capacity_bytes);
    assert_eq!(csd[14] & 0x30, 0, "it is not write-protected");
    assert_eq!(scr[..4], [0x02, 0x05, 0x80, 0x02]);
    // Four lines, class 10, AU of 16 MiB, U3 with the same AU.
    assert_eq!((ssr[0], ssr[8], ssr[10], ssr[14]), (0x80, 4, 0xc0, 0x3c));
}

#[test]
fn registers_are_those_of_the_link() {
    let p = profile("sm2708-250gb");
    assert_eq!(device_on(&p, "pcie-3.0-x1").registers(), None);
    let (cid, csd, ..) = sd(&device_on(&p, "sd-sdr104"));
    assert!(is_sealed(&cid) && is_sealed(&csd));
    assert_eq!(
        device_on(&profile("ocz-vertex-450-256gb"), "sata-6").registers(),
        None
    );
}

#[test]
fn an_emmc_reports_its_modes_cache_and_background_operations() {
    let p = profile("samsung-emmc51-64gb");
    let b = ext_csd(&device_on(&p, "emmc-hs400"));
    let sectors = u32::from_le_bytes([b[212], b[213], b[214], b[215]]);
    assert_eq!(u64::from(sectors) * 512, p.device.capacity_bytes);
    // Version 5.1, HS400 on 8 lines and both edges, cache of 512 KiB turned on, automatic background operations, first
    // tenth of its life, all spare blocks left.
    assert_eq!((b[192], b[185], b[183], b[196]), (8, 3, 6, 0b0101_0110));
    assert_eq!(
        u32::from_le_bytes([b[249], b[250], b[251], b[252]]),
        512 * 8
    );
    assert_eq!((b[33], b[502], b[163]), (1, 1, 2));
    assert_eq!((b[267], b[268], b[269]), (1, 1, 1));
    let b = ext_csd(&device_on(&p, "emmc-hs200"));
    assert_eq!((b[185], b[183]), (2, 2));
}

#[test]
fn an_emmc_reports_how_much_of_its_life_is_used() {
    let mut p = profile("samsung-emmc51-64gb");
    plain::no_errors(&mut p);
    p.nand.blocks_per_plane = 64;
    p.nand.factory_bad_percent = 0.0;
    p.nand.native.as_mut().expect("MLC").cycles = 40;
    let ftl = p.ftl.as_mut().expect("page-mapped");
    ftl.wear_spread_cycles = 0;
    p.device.capacity_bytes = 40 * (32 << 20);
    let mut d = device_on(&p, "emmc-hs400");
    assert!(d.precondition(1.0, Fill::Sequential));
    let units = d.capacity().0 / 4096;
    let mut seen = Vec::new();
    for seed in 0..24 {
        assert!(d.overwrite_randomly(units, seed));
        let b = ext_csd(&d);
        assert_eq!(b[268], b[269]);
        assert_eq!(b[268], 1 + d.health().percentage_used.min(100) / 10);
        seen.push(b[268]);
    }
    assert!(seen.is_sorted() && seen[0] < 3 && seen[23] > 5, "{seen:?}");
}
