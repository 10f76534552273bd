//! [`WordTable`], a large list of 32-bit numbers in huge pages.
//!
//! The map of a drive is hundreds of megabytes that are accessed at random. In pages of 4 KiB nearly every access
//! misses the TLB besides the caches, and the walk through the page tables takes longer than the access itself,
//! above all in a virtual machine. A huge page covers 2 MiB, so that the TLB covers the table. The system gives
//! huge pages only to memory for which it is asked.

use memmap2::MmapMut;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut};

/// Words of a huge page. Smaller lists are kept in ordinary memory.
const HUGE_PAGE_WORDS: usize = (2 << 20) / size_of::<u32>();

/// A list of numbers, at first all zero. What has never been written takes no memory.
#[derive(Debug)]
pub(crate) struct WordTable(Memory);

#[derive(Debug)]
enum Memory {
    Ordinary(Vec<u32>),
    Huge(MmapMut),
}

impl WordTable {
    /// A table of zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        match huge_pages(len) {
            Some(pages) => WordTable(Memory::Huge(pages)),
            None => WordTable(Memory::Ordinary(vec![0; len])),
        }
    }

    /// The same numbers; parts without any but zeros take no memory.
    fn copy_of(words: &[u32]) -> Self {
        let mut table = WordTable::zeroed(words.len());
        for (to, from) in table
            .chunks_mut(HUGE_PAGE_WORDS)
            .zip(words.chunks(HUGE_PAGE_WORDS))
        {
            if from.iter().any(|word| *word != 0) {
                to.copy_from_slice(from);
            }
        }
        table
    }
}

/// Zeroed memory for which huge pages were requested; `None` if the list is small or the system has none.
#[cfg(target_os = "linux")]
fn huge_pages(len: usize) -> Option<MmapMut> {
    let bytes = len.checked_mul(size_of::<u32>())?;
    if len < HUGE_PAGE_WORDS {
        return None;
    }
    let pages = MmapMut::map_anon(bytes).ok()?;
    // Without huge pages the memory is as good as any other.
    pages.advise(memmap2::Advice::HugePage).ok();
    Some(pages)
}

/// Other systems have no such request.
#[cfg(not(target_os = "linux"))]
fn huge_pages(_len: usize) -> Option<MmapMut> {
    None
}

impl Deref for WordTable {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match &self.0 {
            Memory::Ordinary(words) => words,
            // Pages are aligned, and there are four bytes for each word.
            Memory::Huge(pages) => bytemuck::cast_slice(pages),
        }
    }
}

impl DerefMut for WordTable {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        match &mut self.0 {
            Memory::Ordinary(words) => words,
            Memory::Huge(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

impl Clone for WordTable {
    fn clone(&self) -> Self {
        WordTable::copy_of(self)
    }
}

impl Serialize for WordTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self[..].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WordTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A list grows with the numbers that are there, whatever length it claims.
        let words = Vec::deserialize(deserializer)?;
        Ok(if words.len() < HUGE_PAGE_WORDS {
            WordTable(Memory::Ordinary(words))
        } else {
            WordTable::copy_of(&words)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_behaves_as_a_list_of_zeros_in_either_memory() {
        for len in [0, 1, 1000, HUGE_PAGE_WORDS, 3 * HUGE_PAGE_WORDS + 7] {
            let (mut table, mut list) = (WordTable::zeroed(len), vec![0u32; len]);
            for step in 1..20u32 {
                if let Some(at) = (step as usize * 1_234_577).checked_rem(len) {
                    table[at] = step;
                    list[at] = step;
                }
            }
            assert!(table[..] == list[..], "{len} words");
            assert!(table.clone()[..] == list[..], "{len} words, cloned");
        }
    }

    #[test]
    fn a_saved_table_has_the_bytes_of_a_list() {
        let mut table = WordTable::zeroed(HUGE_PAGE_WORDS + 3);
        table[HUGE_PAGE_WORDS + 1] = 77;
        let bytes = postcard::to_stdvec(&table).expect("saves");
        assert!(bytes == postcard::to_stdvec(&table.to_vec()).expect("saves"));
        let loaded: WordTable = postcard::from_bytes(&bytes).expect("loads");
        assert!(loaded[..] == table[..]);
    }
}
