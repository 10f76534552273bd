//! [`Table`], a large list of numbers in huge pages, which copies can share until they write to it.
//!
//! The map of a drive is hundreds of megabytes that are accessed at random. In pages of 4 KiB nearly every access
//! misses the TLB besides the caches, and the walk through the page tables takes longer than the access itself,
//! above all in a virtual machine. A huge page covers 2 MiB, so that the TLB covers the table. The system gives
//! huge pages only to memory for which it is asked.
//!
//! Many runs begin with one preconditioned device. Each takes a copy, which takes memory for the pages only that it
//! writes to.

use bytemuck::Pod;
use memmap2::MmapMut;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// A list of numbers of fixed length, at first all zero. What has never been written to takes no memory.
#[derive(Clone)]
pub(crate) enum Table<N: Pod> {
    /// Nobody else has it: a copy is a whole one.
    Own(Memory<N>),
    /// Copies share the memory, and then the pages that were written to since.
    Shared(Shared<N>),
}

/// Pages that were written to since the memory is shared, in place of those of the memory.
#[derive(Clone)]
pub(crate) struct Shared<N: Pod> {
    base: Arc<Memory<N>>,
    pages: Vec<Page<N>>,
}

#[derive(Clone)]
enum Page<N: Pod> {
    /// That of the memory.
    Base,
    Own(Memory<N>),
    Shared(Arc<Memory<N>>),
}

impl<N: Pod> Table<N> {
    /// Numbers of a page; a power of two, as is the size of a number.
    const PER_PAGE: usize = HUGE_PAGE / size_of::<N>();

    /// A table of zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        Table::Own(Memory::zeroed(len))
    }

    /// Makes copies cheap: they and this table share their memory from now on, and each has a page of its own where
    /// it writes. Access takes a little longer then.
    pub(crate) fn share(&mut self) {
        match self {
            Table::Own(memory) => {
                let base = Arc::new(memory.take());
                let pages = vec![Page::Base; base.numbers().len().div_ceil(Self::PER_PAGE)];
                *self = Table::Shared(Shared { base, pages });
            }
            Table::Shared(shared) => shared.pages.iter_mut().for_each(Page::share),
        }
    }

    /// Number of numbers.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Table::Own(memory) => memory.numbers().len(),
            Table::Shared(shared) => shared.base.numbers().len(),
        }
    }

    /// The number at `index`.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> N {
        match self {
            Table::Own(memory) => memory.numbers()[index],
            Table::Shared(shared) => {
                let (page, place) = shared.place(index);
                page[place]
            }
        }
    }

    /// The place of the number at `index`, to write to.
    #[inline(always)]
    pub(crate) fn slot(&mut self, index: usize) -> &mut N {
        match self {
            Table::Own(memory) => &mut memory.numbers_mut()[index],
            Table::Shared(shared) => shared.slot(index),
        }
    }

    /// The numbers from `index` to the end of its page.
    #[inline(always)]
    pub(crate) fn rest_of_page(&self, index: usize) -> &[N] {
        match self {
            Table::Own(memory) => {
                let numbers = memory.numbers();
                let end = (index / Self::PER_PAGE + 1) * Self::PER_PAGE;
                &numbers[index..end.min(numbers.len())]
            }
            Table::Shared(shared) => shared.rest_of_page(index),
        }
    }

    /// The numbers in order, in pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &[N]> {
        let count = self.len().div_ceil(Self::PER_PAGE);
        (0..count).map(|number| self.rest_of_page(number * Self::PER_PAGE))
    }

    /// The numbers in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = N> {
        self.pages().flatten().copied()
    }

    /// Begins to fetch the number at `index`, which need not exist, from memory.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        match self {
            Table::Own(memory) => prefetch_index::prefetch_index(memory.numbers(), index),
            Table::Shared(shared) if index < self.len() => {
                let (page, place) = shared.place(index);
                prefetch_index::prefetch_index(page, place);
            }
            Table::Shared(_) => {}
        }
    }
}

impl<N: Pod> Shared<N> {
    const PER_PAGE: usize = Table::<N>::PER_PAGE;

    /// The page with the number at `index`, and the place of the number in it.
    #[inline(always)]
    fn place(&self, index: usize) -> (&[N], usize) {
        let place = index % Self::PER_PAGE;
        match &self.pages[index / Self::PER_PAGE] {
            Page::Base => (self.base.numbers(), index),
            Page::Own(page) => (page.numbers(), place),
            Page::Shared(page) => (page.numbers(), place),
        }
    }

    #[inline(always)]
    fn slot(&mut self, index: usize) -> &mut N {
        let number = index / Self::PER_PAGE;
        if !matches!(self.pages[number], Page::Own(_)) {
            self.copy_page(number);
        }
        match &mut self.pages[number] {
            Page::Own(page) => &mut page.numbers_mut()[index % Self::PER_PAGE],
            Page::Base | Page::Shared(_) => unreachable!("the page was copied"),
        }
    }

    #[cold]
    fn copy_page(&mut self, number: usize) {
        let page = self.rest_of_page(number * Self::PER_PAGE);
        self.pages[number] = Page::Own(Memory::copy_of(page));
    }

    #[inline(always)]
    fn rest_of_page(&self, index: usize) -> &[N] {
        let (page, place) = self.place(index);
        let left = (self.base.numbers().len() - index).min(Self::PER_PAGE - index % Self::PER_PAGE);
        &page[place..place + left]
    }
}

impl<N: Pod> Page<N> {
    fn share(&mut self) {
        if let Page::Own(page) = self {
            *self = Page::Shared(Arc::new(page.take()));
        }
    }
}

/// Numbers one after the other, in huge pages where there are enough and the system has any.
pub(crate) enum Memory<N> {
    Ordinary(Vec<N>),
    Huge(MmapMut),
}

impl<N: Pod> Memory<N> {
    fn zeroed(len: usize) -> Self {
        match huge_pages(len.saturating_mul(size_of::<N>())) {
            Some(pages) => Memory::Huge(pages),
            None => Memory::Ordinary(vec![N::zeroed(); len]),
        }
    }

    /// What is there, of which nothing is left.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Memory::Ordinary(Vec::new()))
    }

    /// The same numbers; parts without any but zeros take no memory.
    fn copy_of(numbers: &[N]) -> Self {
        let mut copy = Memory::zeroed(numbers.len());
        let parts = copy.numbers_mut().chunks_mut(Table::<N>::PER_PAGE);
        for (to, from) in parts.zip(numbers.chunks(Table::<N>::PER_PAGE)) {
            if !is_blank(from) {
                to.copy_from_slice(from);
            }
        }
        copy
    }

    #[inline(always)]
    fn numbers(&self) -> &[N] {
        match self {
            Memory::Ordinary(numbers) => numbers,
            // Pages are aligned, and numbers fill them.
            Memory::Huge(pages) => bytemuck::cast_slice(pages),
        }
    }

    #[inline(always)]
    fn numbers_mut(&mut self) -> &mut [N] {
        match self {
            Memory::Ordinary(numbers) => numbers,
            Memory::Huge(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

/// Whether all numbers are zero. What is looked at together is what the compiler makes vectors of.
fn is_blank<N: Pod>(numbers: &[N]) -> bool {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    bytes
        .chunks(4096)
        .all(|some| some.iter().fold(0, |sum, byte| sum | byte) == 0)
}

impl<N: Pod> Clone for Memory<N> {
    fn clone(&self) -> Self {
        Memory::copy_of(self.numbers())
    }
}

/// Zeroed memory for which huge pages were requested; `None` if it is less than one or the system has none.
#[cfg(target_os = "linux")]
fn huge_pages(bytes: usize) -> Option<MmapMut> {
    if bytes < HUGE_PAGE {
        return None;
    }
    let pages = MmapMut::map_anon(bytes).ok()?;
    // Without huge pages the memory is as good as any other.
    pages.advise(memmap2::Advice::HugePage).ok();
    Some(pages)
}

/// Other systems have no such request.
#[cfg(not(target_os = "linux"))]
fn huge_pages(_bytes: usize) -> Option<MmapMut> {
    None
}

impl<N: Pod> fmt::Debug for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers", self.len())
    }
}

impl<N: Pod + Serialize> Serialize for Table<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|n| list.serialize_element(&n))?;
        list.end()
    }
}

impl<'de, N: Pod + Deserialize<'de>> Deserialize<'de> for Table<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A list grows with the numbers that are there, whatever length it claims.
        let numbers = Vec::deserialize(deserializer)?;
        Ok(Table::Own(match numbers.len() < Self::PER_PAGE {
            true => Memory::Ordinary(numbers),
            false => Memory::copy_of(&numbers),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER_PAGE: usize = Table::<u32>::PER_PAGE;

    #[test]
    fn a_table_behaves_as_a_list_of_zeros_in_any_memory() {
        for (len, share) in [0, 1, 1000, PER_PAGE, 3 * PER_PAGE + 7]
            .into_iter()
            .flat_map(|len| [0, 1, 7, 30].map(|share| (len, share)))
        {
            let (mut table, mut list) = (Table::zeroed(len), vec![0u32; len]);
            let mut copies = Vec::new();
            for step in 1..20u32 {
                if share > 0 && step % share == 0 {
                    table.share();
                }
                if let Some(at) = (step as usize * 1_234_577).checked_rem(len) {
                    *table.slot(at) = step;
                    list[at] = step;
                    assert_eq!(table.get(at), step);
                }
                if step % 3 == 0 {
                    copies.push((table.clone(), list.clone()));
                }
            }
            copies.push((table, list));
            // What is written to one copy is in no other.
            for (table, list) in copies {
                assert_eq!(table.len(), len);
                assert!(table.iter().eq(list), "{len} numbers, shared at {share}");
            }
        }
    }

    #[test]
    fn copies_share_what_neither_writes() {
        let mut table = Table::<u64>::zeroed(1 << 20);
        *table.slot(3) = 1;
        table.share();
        *table.slot((1 << 20) - 1) = 2;
        let mut copy = table.clone();
        *copy.slot(5) = 9;
        let own = |table: &Table<u64>| match table {
            Table::Own(_) => panic!("it is shared"),
            Table::Shared(shared) => shared
                .pages
                .iter()
                .map(|page| matches!(page, Page::Own(_)))
                .collect::<Vec<_>>(),
        };
        assert_eq!(own(&table), [false, false, false, true]);
        assert_eq!(own(&copy), [true, false, false, true]);
        assert_eq!((table.get(5), copy.get(5), copy.get(3)), (0, 9, 1));
        assert_eq!(copy.get((1 << 20) - 1), 2);
    }

    #[test]
    fn a_saved_table_has_the_bytes_of_a_list() {
        for len in [0, 5, PER_PAGE, PER_PAGE + 3] {
            let mut table = Table::<u32>::zeroed(len);
            if len > 0 {
                *table.slot(len - 1) = 77;
            }
            let list: Vec<u32> = table.iter().collect();
            let bytes = postcard::to_stdvec(&table).expect("saves");
            assert!(bytes == postcard::to_stdvec(&list).expect("saves"));
            let loaded: Table<u32> = postcard::from_bytes(&bytes).expect("loads");
            assert!(loaded.len() == len && loaded.iter().eq(list));
        }
    }
}
