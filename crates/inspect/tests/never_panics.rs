//! Whatever the system, a device or a meter writes: it is read or refused, without a panic.

use nandscope_inspect::mounts::{parse_mounts, parse_swaps};
use nandscope_inspect::registers::{Cid, Csd, ExtCsd, Family, Scr, Ssr};
use nandscope_inspect::signature::probe;
use nandscope_inspect::telemetry::{meter::MeterFile, smart};
use nandscope_units::Bytes;
use proptest::prelude::*;

proptest! {
    #[test]
    fn registers(text in "\\PC{0,40}", bytes in prop::collection::vec(any::<u8>(), 512)) {
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        for family in [Family::Sd, Family::Mmc] {
            let _ = Cid::from_hex(&text, family, None);
            prop_assert!(Cid::from_hex(&hex[..32], family, Some(8)).is_ok());
            let _ = Csd::from_hex(&hex[..32], family);
        }
        let _ = Scr::from_hex(&hex[..16]);
        prop_assert!(Ssr::from_hex(&hex[..128]).is_ok());
        prop_assert!(ExtCsd::from_hex(&hex).is_ok());
    }

    #[test]
    fn tables_of_the_system(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = (parse_mounts(&bytes), parse_swaps(&bytes), smart::parse(&bytes));
    }

    #[test]
    fn a_meter_in_any_pieces(text in "(t|V|A|power \\(mW\\)|[0-9.,;\t\n-]|\\PC){0,200}", cut in 0usize..200) {
        let bytes = text.as_bytes();
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let whole = MeterFile::new("m".as_ref()).take(bytes);
        let mut file = MeterFile::new("m".as_ref());
        let parts = file.take(first).and_then(|mut a| { a.extend(file.take(second)?); Ok(a) });
        prop_assert_eq!(whole.is_ok(), parts.is_ok());
        if let (Ok(whole), Ok(parts)) = (whole, parts) {
            prop_assert_eq!(whole, parts);
        }
    }

    #[test]
    fn signatures(bytes in prop::collection::vec(any::<u8>(), 0..3000), size in any::<u64>()) {
        let _ = probe(&bytes[..], Bytes(size)).unwrap();
        let found = probe(&bytes[..], Bytes(bytes.len() as u64)).unwrap();
        prop_assert!(found.iter().all(|s| s.offset.0 < bytes.len() as u64));
    }
}
