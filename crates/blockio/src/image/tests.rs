use super::*;
use proptest::prelude::*;

const SIZE: u64 = 5 << 20;

proptest! {
    #[test]
    fn equals_a_plain_array(
        in_memory in 0u64..40,
        steps in proptest::collection::vec(
            (0..SIZE, 0u64..20_000, any::<u8>(), 0u8..3), 1..40)
    ) {
        let mut contents = Image::with_limit(SIZE, in_memory * PAGE as u64);
        let mut plain = vec![0u8; SIZE as usize];
        let kept = contents.clone();
        let mut halfway = None;
        for (number, (offset, length, byte, kind)) in steps.into_iter().enumerate() {
            let fits = offset + length <= SIZE;
            let mut data = vec![byte; length as usize];
            let done = match kind {
                0 => contents.discard(offset, length),
                _ => {
                    if kind == 1 {
                        data.iter_mut().zip(0u64..).for_each(|(b, i)| *b ^= (i % 251) as u8);
                    }
                    contents.write(offset, &data)
                }
            };
            prop_assert_eq!(done.is_ok(), fits);
            if fits {
                if kind == 0 {
                    data.fill(0);
                }
                plain[offset as usize..(offset + length) as usize].copy_from_slice(&data);
            }
            if number == 10 {
                halfway = Some((contents.clone(), plain.clone()));
            }
        }
        let mut read = vec![1u8; SIZE as usize];
        contents.read(0, &mut read).unwrap();
        prop_assert!(read == plain);
        prop_assert!(contents.fault().is_none());
        prop_assert!(contents.stored().0 <= in_memory * PAGE as u64);
        kept.read(0, &mut read).unwrap();
        prop_assert!(read.iter().all(|&b| b == 0), "a clone changed with its original");
        if let Some((clone, plain)) = halfway {
            clone.read(0, &mut read).unwrap();
            prop_assert!(read == plain, "a clone changed with its original");
        }
    }
}

/// A card filled with files of one repeated byte, as before a workload, takes no memory.
#[test]
fn a_full_card_of_one_byte_takes_no_memory() {
    const CARD: u64 = 16 << 30;
    let mut contents = Image::bounded(CARD);
    let part = vec![b'a'; 512 << 10];
    for at in (0..CARD).step_by(part.len()) {
        contents.write(at, &part).unwrap();
    }
    assert_eq!(contents.stored(), (0, 0));
    let mut each = contents.directories.values();
    assert!(each.all(|d| matches!(d, Directory::Same(Slot::Uniform(b'a')))));
    let mut read = [0; 3];
    contents.read(CARD / 2, &mut read).unwrap();
    assert_eq!(read, *b"aaa");
}

#[test]
fn what_is_too_much_for_memory_is_in_a_file_and_its_room_is_used_again() {
    let mut contents = Image::with_limit(SIZE, 16 << 10);
    let data: Vec<u8> = (0..SIZE).map(|i| (i / 7 % 253) as u8).collect();
    contents.write(0, &data).unwrap();
    assert_eq!(contents.stored(), (16 << 10, SIZE - (16 << 10)));
    let mut read = vec![0; SIZE as usize];
    contents.read(0, &mut read).unwrap();
    assert!(read == data);
    for _ in 0..3 {
        contents.discard(1 << 20, 2 << 20).unwrap();
        assert_eq!(contents.stored().1, SIZE - (2 << 20) - (16 << 10));
        contents.write(1 << 20, &data[..2 << 20]).unwrap();
        assert_eq!(contents.stored().1, SIZE - (16 << 10));
    }
    let clone = contents.clone();
    drop(contents);
    assert_eq!(clone.stored().1, SIZE - (16 << 10));
    assert!(clone.fault().is_none());
}

#[test]
fn equal_contents_have_equal_sums() {
    let mut one = Image::bounded(SIZE);
    let mut other = Image::bounded(SIZE);
    one.write(10_000, &[7; 9_000]).unwrap();
    other.write(0, &[9; 30_000]).unwrap();
    other.discard(0, 30_000).unwrap();
    other.write(10_000, &[7; 9_000]).unwrap();
    assert_eq!(one.checksum(), other.checksum());
    other.write(10_000, &[8]).unwrap();
    assert_ne!(one.checksum(), other.checksum());
}

/// An empty terabyte needs no memory, and discards free memory.
#[test]
fn discarded_pages_are_given_back() {
    const PAGE_SIZE: u64 = PAGE as u64;
    let mut image = Image::in_memory(1 << 40);
    image.discard(0, 1 << 40).unwrap();
    assert!(image.directories.is_empty());
    let half = 1 << 39;
    image.write(half - 2, &[7, 8, 9]).unwrap();
    assert_eq!(image.stored(), (2 * PAGE_SIZE, 0));
    image.discard(half - PAGE_SIZE, PAGE_SIZE).unwrap();
    assert_eq!(image.stored(), (PAGE_SIZE, 0));
    image.discard(half, 512).unwrap();
    assert_eq!(image.stored(), (PAGE_SIZE, 0));
    image.discard(half - 1, DIRECTORY_BYTES + 1).unwrap();
    assert_eq!(image.stored(), (0, 0));
}

#[test]
fn pieces_are_what_is_read() {
    let mut image = Image::in_memory(SIZE);
    image.write(3000, &[1, 2, 3]).unwrap();
    image.write(8192, &[7; 8192]).unwrap();
    for (offset, length) in [(0, 4096), (2990, 20_000), (8193, 1), (5, 0), (SIZE, 0)] {
        let mut read = vec![0; memory_len(length)];
        image.read(offset, &mut read).unwrap();
        let pieces: Vec<_> = image.pieces(offset, length).collect();
        assert_eq!(pieces.concat(), read);
    }
    assert_eq!(image.pieces(SIZE, 1).count(), 0);
}
