//! Saved form of a table: its length, then its numbers one by one if there are fewer than in a huge page, otherwise
//! page by page. A page has a kind and bytes:
//!
//! - [`BLANK`]: all of its numbers are zero, and there are no bytes;
//! - [`PLAIN`]: its numbers;
//! - [`PACKED`]: differences between successive numbers, compressed as an LZ4 block. Data written in order is mapped in
//!   order.

use super::Table;
use super::memory::{Memory, Number, is_blank};
use lz4_flex::block::{compress, decompress_into};
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, SerializeTuple};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::Bytes;
use std::fmt;
use std::marker::PhantomData;

const BLANK: u8 = 0;
const PLAIN: u8 = 1;
const PACKED: u8 = 2;
/// Size of the sample that is compressed to decide whether the whole page is, in numbers.
const SAMPLE: usize = 8 << 10;
/// Maximum length of a table: physical and logical numbers have 32 bits.
const LONGEST: u64 = 1 << 32;

impl<N: Number + Serialize> Serialize for Table<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_tuple(2)?;
        table.serialize_element(&(self.len() as u64))?;
        if self.len() < Self::PER_PAGE {
            table.serialize_element(self.pages().next().unwrap_or_default())?;
        } else {
            table.serialize_element(&Pages(self))?;
        }
        table.end()
    }
}

/// The pages of a table.
struct Pages<'a, N: Number>(&'a Table<N>);

impl<N: Number> Serialize for Pages<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pages = self.0.pages();
        let mut list =
            serializer.serialize_seq(Some(self.0.len().div_ceil(Table::<N>::PER_PAGE)))?;
        let mut room = Room {
            numbers: Vec::new(),
            bytes: Vec::new(),
        };
        for page in pages {
            let (kind, bytes) = room.saved(page);
            list.serialize_element(&(kind, Bytes::new(bytes)))?;
        }
        list.end()
    }
}

/// Memory that is reused for each page.
struct Room<N> {
    numbers: Vec<N>,
    bytes: Vec<u8>,
}

impl<N: Number> Room<N> {
    /// Kind and bytes of a page.
    fn saved<'a>(&'a mut self, page: &'a [N]) -> (u8, &'a [u8]) {
        if is_blank(page) {
            return (BLANK, &[]);
        }
        let sample = &page[..page.len().min(SAMPLE)];
        self.pack(sample);
        if self.bytes.len() < size_of_val(sample) / 8 * 7 {
            self.pack(page);
            return (PACKED, &self.bytes);
        }
        if cfg!(target_endian = "little") {
            return (PLAIN, bytemuck::cast_slice(page));
        }
        self.numbers.clear();
        self.numbers.extend(page.iter().map(|n| n.to_le()));
        (PLAIN, bytemuck::cast_slice(&self.numbers))
    }

    fn pack(&mut self, numbers: &[N]) {
        let before = std::iter::once(N::zeroed()).chain(numbers.iter().copied());
        let differences = numbers.iter().zip(before);
        self.numbers.clear();
        self.numbers
            .extend(differences.map(|(n, before)| n.minus(before).to_le()));
        self.bytes = compress(bytemuck::cast_slice(&self.numbers));
    }
}

/// Decodes the result of [`Room::saved`] into a page of zeros.
fn load<N: Number>(kind: u8, bytes: &[u8], page: &mut [N]) -> Result<(), &'static str> {
    let place: &mut [u8] = bytemuck::cast_slice_mut(page);
    match kind {
        BLANK if bytes.is_empty() => return Ok(()),
        PLAIN if bytes.len() == place.len() => place.copy_from_slice(bytes),
        PACKED if decompress_into(bytes, place).is_ok_and(|n| n == place.len()) => {}
        _ => return Err("a page of a table is damaged"),
    }
    let mut last = N::zeroed();
    for number in page {
        *number = number.to_le();
        if kind == PACKED {
            last = last.plus(*number);
            *number = last;
        }
    }
    Ok(())
}

impl<'de, N: Number + Deserialize<'de>> Deserialize<'de> for Table<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, Whole(PhantomData))
    }
}

struct Whole<N>(PhantomData<N>);

impl<'de, N: Number + Deserialize<'de>> Visitor<'de> for Whole<N> {
    type Value = Table<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Table<N>, A::Error> {
        let missing = || A::Error::custom("a table of the snapshot has no end mark");
        let len: u64 = parts.next_element()?.ok_or_else(missing)?;
        let memory = match usize::try_from(len) {
            Ok(len) if len < Table::<N>::PER_PAGE => {
                // The vector grows with the numbers present, whatever length the snapshot claims.
                let numbers: Vec<N> = parts.next_element()?.ok_or_else(missing)?;
                Some(Memory::Ordinary(numbers)).filter(|n| n.numbers().len() == len)
            }
            Ok(len) if len as u64 <= LONGEST => parts.next_element_seed(Paged(len, PhantomData))?,
            _ => None,
        };
        let memory = memory.ok_or_else(|| {
            A::Error::custom("a table of the snapshot has another length than the device")
        })?;
        Ok(Table::Own(memory))
    }
}

/// Decoder of a table of this length, page by page. A page of zeros takes no memory; any other page takes at most 255
/// times the memory of its bytes.
struct Paged<N>(usize, PhantomData<N>);

impl<'de, N: Number> DeserializeSeed<'de> for Paged<N> {
    type Value = Memory<N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Memory<N>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, N: Number> Visitor<'de> for Paged<N> {
    type Value = Memory<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pages of a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Memory<N>, A::Error> {
        let mut memory = Memory::<N>::try_zeroed(self.0)
            .ok_or_else(|| A::Error::custom("there is too little memory for a table"))?;
        for page in memory.numbers_mut().chunks_mut(Table::<N>::PER_PAGE) {
            let (kind, bytes): (u8, &Bytes) = list
                .next_element()?
                .ok_or_else(|| A::Error::custom("a table has too few pages"))?;
            load(kind, bytes, page).map_err(A::Error::custom)?;
        }
        match list.next_element::<(u8, &Bytes)>()? {
            None => Ok(memory),
            Some(_) => Err(A::Error::custom("a table has too many pages")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::random::SplitMix64;

    const PER_PAGE: usize = Table::<u32>::PER_PAGE;

    fn table(len: usize, number: impl Fn(usize) -> u32) -> Table<u32> {
        let mut table = Table::zeroed(len);
        for index in 0..len {
            *table.slot(index) = number(index);
        }
        table
    }

    #[test]
    fn a_saved_table_is_loaded() {
        let random = |index: usize| SplitMix64::new(index as u64).below(1 << 32) as u32;
        for len in [0, 5, PER_PAGE - 1, PER_PAGE, PER_PAGE + 3, 3 * PER_PAGE] {
            for kind in 0..4 {
                let table = table(len, |index| match kind {
                    0 => 0,
                    1 => u32::MAX - index as u32,
                    2 => random(index),
                    _ if index > PER_PAGE => random(index),
                    _ => 0,
                });
                let bytes = postcard::to_stdvec(&table).expect("saves");
                let mut shared = table.clone();
                shared.share();
                assert!(bytes == postcard::to_stdvec(&shared).expect("saves"));
                let loaded: Table<u32> = postcard::from_bytes(&bytes).expect("loads");
                assert!(loaded.len() == len && loaded.iter().eq(table.iter()));
                let parts = len / PER_PAGE;
                match kind {
                    _ if parts == 0 => {}
                    0 => assert!(bytes.len() < 8 + 2 * len.div_ceil(PER_PAGE)),
                    1 => assert!(bytes.len() < 4 * len / 200, "{} of {len}", bytes.len()),
                    _ => assert!(bytes.len() < 4 * len + 64),
                }
            }
        }
    }

    #[test]
    fn damaged_tables_are_refused() {
        let bytes = postcard::to_stdvec(&table(PER_PAGE + 3, |index| index as u32)).expect("saves");
        for at in 0..bytes.len().min(2000) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            // A table that is accepted has the length of its numbers.
            if let Ok(table) = postcard::from_bytes::<Table<u32>>(&damaged) {
                assert_eq!(table.iter().count(), table.len());
            }
        }
        for len in [1_u64 << 33, u64::MAX] {
            let claims = postcard::to_stdvec(&(len, Vec::<u8>::new())).expect("saves");
            let error = postcard::from_bytes::<Table<u32>>(&claims).expect_err("refused");
            assert_eq!(
                error.to_string(),
                postcard::Error::SerdeDeCustom.to_string()
            );
        }
        let few = postcard::to_stdvec(&(PER_PAGE as u64 * 2, vec![(BLANK, Vec::<u8>::new())]))
            .expect("saves");
        assert!(postcard::from_bytes::<Table<u32>>(&few).is_err());
    }
}
