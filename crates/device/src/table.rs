//! [`Table`], a large list of numbers in huge pages, which copies can share until they write to it.
//!
//! The map of a drive is hundreds of megabytes that are accessed at random. In pages of 4 KiB nearly every access
//! misses the TLB besides the caches, and the walk through the page tables takes longer than the access itself,
//! above all in a virtual machine. A huge page covers 2 MiB, so that the TLB covers the table. The system gives
//! huge pages only to memory for which it is asked.
//!
//! Many runs begin with one preconditioned device. Each takes a copy, which takes memory for the pages only that it
//! writes to.

mod memory;
mod saved;

use memory::{Memory, Number};
use std::fmt;
use std::sync::Arc;

/// A list of numbers of fixed length, initially zero. Pages that were never written take no memory.
#[derive(Clone)]
pub(crate) enum Table<N: Number> {
    /// Memory that no other table shares: copying it copies everything.
    Own(Memory<N>),
    /// Memory shared with copies, and the pages written since.
    Shared(Shared<N>),
}

/// Shared base memory, and the pages written since, which replace its pages.
#[derive(Clone)]
pub(crate) struct Shared<N: Number> {
    base: Arc<Memory<N>>,
    pages: Vec<Page<N>>,
}

#[derive(Clone)]
enum Page<N: Number> {
    /// A page of the shared base memory that was not written since.
    Base,
    Own(Memory<N>),
    Shared(Arc<Memory<N>>),
}

impl<N: Number> Table<N> {
    const PER_PAGE: usize = Memory::<N>::PER_PAGE;

    /// A table of zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        Table::Own(Memory::zeroed(len))
    }

    /// Makes copies cheap: they share the memory with this table, and each gets its own page where it writes. Access
    /// takes a few nanoseconds longer then.
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

    /// Length of the table.
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

    /// The number at `index`, writable.
    #[inline(always)]
    pub(crate) fn slot(&mut self, index: usize) -> &mut N {
        match self {
            Table::Own(memory) => &mut memory.numbers_mut()[index],
            Table::Shared(shared) => shared.slot(index),
        }
    }

    /// At most `most` numbers from `index` on, writable: fewer at the end of a page, at least one.
    #[inline(always)]
    pub(crate) fn slots(&mut self, index: usize, most: usize) -> &mut [N] {
        match self {
            Table::Own(memory) => &mut memory.numbers_mut()[index..index + most],
            Table::Shared(shared) => shared.slots(index, most),
        }
    }

    /// Writes numbers from `index` on, and calls `old` with the numbers replaced.
    #[inline(always)]
    pub(crate) fn replace(
        &mut self,
        numbers: impl Iterator<Item = (usize, N)>,
        mut old: impl FnMut(N),
    ) {
        match self {
            Table::Own(memory) => {
                let memory = memory.numbers_mut();
                for (index, number) in numbers {
                    old(std::mem::replace(&mut memory[index], number));
                }
            }
            Table::Shared(shared) => {
                for (index, number) in numbers {
                    old(std::mem::replace(shared.slot(index), number));
                }
            }
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

    /// Begins to fetch numbers from memory.
    #[inline(always)]
    pub(crate) fn prefetch_all(&self, indices: impl Iterator<Item = usize>) {
        match self {
            Table::Own(memory) => {
                let memory = memory.numbers();
                indices.for_each(|index| prefetch_index::prefetch_index(memory, index));
            }
            Table::Shared(_) => indices.for_each(|index| self.prefetch(index)),
        }
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

impl<N: Number> Shared<N> {
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
        &mut self.own_page(index / Self::PER_PAGE)[index % Self::PER_PAGE]
    }

    #[inline(always)]
    fn slots(&mut self, index: usize, most: usize) -> &mut [N] {
        let place = index % Self::PER_PAGE;
        let end = (place + most).min(Self::PER_PAGE);
        &mut self.own_page(index / Self::PER_PAGE)[place..end]
    }

    /// A page of this table alone, copied from the shared memory if necessary.
    #[inline(always)]
    fn own_page(&mut self, number: usize) -> &mut [N] {
        if !matches!(self.pages[number], Page::Own(_)) {
            self.copy_page(number);
        }
        match &mut self.pages[number] {
            Page::Own(page) => page.numbers_mut(),
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

impl<N: Number> Page<N> {
    fn share(&mut self) {
        if let Page::Own(page) = self {
            *self = Page::Shared(Arc::new(page.take()));
        }
    }
}

impl<N: Number> fmt::Debug for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers", self.len())
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
                    // Numbers in order over page boundaries, and some anywhere.
                    let mut from = at;
                    while from < len.min(at + 600_000) {
                        let slots = table.slots(from, len.min(at + 600_000) - from);
                        slots.fill(step + 1);
                        list[from..from + slots.len()].fill(step + 1);
                        from += slots.len();
                    }
                    let some = (0..5).map(|n| (at * n % len, step + n as u32));
                    let mut old = Vec::new();
                    table.replace(some.clone(), |number| old.push(number));
                    let replaced =
                        some.map(|(at, number)| std::mem::replace(&mut list[at], number));
                    assert!(replaced.eq(old));
                }
                if step % 3 == 0 {
                    copies.push((table.clone(), list.clone()));
                }
            }
            copies.push((table, list));
            // A write to one copy changes no other.
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
}
