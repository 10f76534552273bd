use super::*;
use proptest::prelude::*;

/// Capacity in bytes: several directories of pages, the last of them partial.
const CAPACITY: u64 = 5 * (64 << 10) + 1536;

#[derive(Clone, Debug)]
enum Step {
    Write(u64, u64, u8),
    Discard(u64, u64),
    Read(u64, u64),
}

/// Ranges that begin and end near the borders of extents as often as elsewhere; some reach beyond the end.
fn range() -> impl Strategy<Value = (u64, u64)> {
    let place = prop_oneof![
        0..CAPACITY + 1,
        (0..6u64, 0..5u64)
            .prop_map(|(extent, near)| (extent << 16).saturating_add(near).saturating_sub(2))
    ];
    (place.clone(), place).prop_map(|(a, b)| (a.min(b), a.max(b) - a.min(b)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (range(), any::<u8>()).prop_map(|((at, n), byte)| Step::Write(at, n, byte)),
        range().prop_map(|(at, n)| Step::Discard(at, n)),
        range().prop_map(|(at, n)| Step::Read(at, n)),
    ]
}

/// Bytes that differ from place to place, so that a shifted copy is found.
fn pattern(at: u64, length: u64, byte: u8) -> Vec<u8> {
    (at..at + length)
        .map(|i| (i as u8).wrapping_mul(31) ^ (i >> 8) as u8 ^ byte)
        .collect()
}

fn behaves_like_plain_bytes(mut store: Store, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut plain = vec![0u8; CAPACITY as usize];
    for step in steps {
        match *step {
            Step::Write(at, n, byte) => {
                let data = pattern(at, n, byte);
                store.write(at, &data).unwrap();
                plain[at as usize..(at + n) as usize].copy_from_slice(&data);
            }
            Step::Discard(at, n) => {
                store.discard(at, n).unwrap();
                plain[at as usize..(at + n) as usize].fill(0);
            }
            Step::Read(at, n) => {
                let mut read = b"before".to_vec();
                store.append_to(&mut read, at, n).unwrap();
                prop_assert_eq!(&read[..6], b"before");
                prop_assert_eq!(&read[6..], &plain[at as usize..(at + n) as usize]);
            }
        }
    }
    let mut all = Vec::new();
    store.append_to(&mut all, 0, CAPACITY).unwrap();
    prop_assert!(all == plain);
    Ok(())
}

/// A temporary file, removed on drop.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("nandscope-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

proptest! {
    #[test]
    fn memory_behaves_like_plain_bytes(steps in prop::collection::vec(step(), 1..30)) {
        behaves_like_plain_bytes(Store::memory(Bytes(CAPACITY)), &steps)?;
    }

    #[test]
    fn a_file_behaves_like_plain_bytes(steps in prop::collection::vec(step(), 1..30)) {
        let scratch = Scratch::new("proptest");
        behaves_like_plain_bytes(Store::file(&scratch.0, Bytes(CAPACITY)).unwrap(), &steps)?;
    }
}

#[test]
fn nothing_is_reached_beyond_the_end() {
    let scratch = Scratch::new("range");
    for mut store in [
        Store::memory(Bytes(CAPACITY)),
        Store::file(&scratch.0, Bytes(CAPACITY)).unwrap(),
    ] {
        let mut out = Vec::new();
        for (at, length) in [
            (CAPACITY, 1),
            (CAPACITY - 1, 2),
            (u64::MAX, 1),
            (1, u64::MAX),
        ] {
            assert!(store.append_to(&mut out, at, length).is_err());
            assert!(store.discard(at, length).is_err());
        }
        assert!(store.write(CAPACITY - 1, &[1, 2]).is_err());
        assert!(store.write(u64::MAX, &[1]).is_err());
        assert!(out.is_empty());
        store.append_to(&mut out, 0, CAPACITY).unwrap();
        assert!(out.iter().all(|b| *b == 0));
    }
    assert_eq!(std::fs::metadata(&scratch.0).unwrap().len(), CAPACITY);
}

#[test]
fn a_file_keeps_its_contents_and_is_opened_once() {
    let scratch = Scratch::new("keeps");
    let mut store = Store::file(&scratch.0, Bytes(CAPACITY)).unwrap();
    store.write(70_000, b"kept").unwrap();
    let second = Store::file(&scratch.0, Bytes(CAPACITY)).unwrap_err();
    assert!(second.to_string().contains("another server"), "{second}");
    drop(store);
    let other = Store::file(&scratch.0, Bytes(CAPACITY + 512)).unwrap_err();
    assert!(other.to_string().contains("another device"), "{other}");
    let store = Store::file(&scratch.0, Bytes(CAPACITY)).unwrap();
    let mut out = Vec::new();
    store.append_to(&mut out, 69_999, 6).unwrap();
    assert_eq!(out, b"\0kept\0");
}

fn read(store: &Store, offset: u64, length: u64) -> Vec<u8> {
    let mut out = Vec::new();
    store.append_to(&mut out, offset, length).unwrap();
    out
}

/// A fake card that holds 3.5 KiB, which is not a power of two.
fn fake(beyond: Beyond) -> Store {
    let mut store = Store::memory(Bytes(CAPACITY));
    let holds = 3584;
    store.set_fake(Some(Fake { holds, beyond }));
    assert!(!store.is_in_memory());
    store.write(0, &[1; 3584]).unwrap();
    store.write(3584 * 5 - 512, &[5; 1024]).unwrap();
    store
}

#[test]
fn fake_cards_wrap_drop_and_give_old_data() {
    let wraps = fake(Beyond::Wrap);
    assert_eq!(read(&wraps, 0, 512), [5; 512]);
    assert_eq!(read(&wraps, 512, 2560), [1; 2560]);
    assert_eq!(read(&wraps, 3072, 512), [5; 512]);
    assert_eq!(read(&wraps, 3584 * 9 - 512, 1024), [5; 1024]);
    let drops = fake(Beyond::Drop);
    assert_eq!(read(&drops, 0, 3584), [1; 3584]);
    assert_eq!(read(&drops, 3584, 20_000), [0; 20_000]);
    let stale = fake(Beyond::Stale);
    assert_eq!(read(&stale, 0, 3584), [1; 3584]);
    assert_eq!(read(&stale, 3584 * 5 - 512, 1024), [1; 1024]);
    let mut honest = stale;
    honest.clear_faults();
    assert_eq!(read(&honest, 3584, 20_000), [0; 20_000]);
}

#[test]
fn tampered_bytes_change_after_the_first_reading() {
    let mut store = Store::memory(Bytes(CAPACITY));
    store.write(0, &[3; 4096]).unwrap();
    store.tamper(100..200);
    assert_eq!(read(&store, 300, 100), [3; 100]);
    assert_eq!(read(&store, 0, 4096), [3; 4096]);
    let again = read(&store, 0, 4096);
    assert!(again[..100].iter().chain(&again[200..]).all(|b| *b == 3));
    assert!(again[100..200].iter().all(|b| *b == !3));
}
