//! Memory of a table: huge pages, or ordinary memory for short tables and on systems without huge pages.

use bytemuck::Pod;
use memmap2::MmapMut;

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// A number in a table.
pub(crate) trait Number: Pod {
    /// The number with its bytes in little-endian order.
    fn to_le(self) -> Self;
    /// Wrapping sum.
    fn plus(self, other: Self) -> Self;
    /// Wrapping difference.
    fn minus(self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            #[inline(always)]
            fn to_le(self) -> Self {
                <$type>::to_le(self)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    };
}

number!(u32);
number!(u64);

/// Numbers in huge pages if there are enough and the system has huge pages, otherwise in ordinary memory.
pub(crate) enum Memory<N> {
    Ordinary(Vec<N>),
    Huge(MmapMut),
}

impl<N: Number> Memory<N> {
    /// Numbers per huge page; a power of two, since the size of a number is one.
    pub(super) const PER_PAGE: usize = HUGE_PAGE / size_of::<N>();

    /// `len` zeros.
    pub(super) fn zeroed(len: usize) -> Self {
        match huge_pages(len.saturating_mul(size_of::<N>())) {
            Some(pages) => Memory::Huge(pages),
            None => Memory::Ordinary(vec![N::zeroed(); len]),
        }
    }

    /// `len` zeros, for a length from untrusted input; `None` if the system does not have the memory.
    pub(super) fn try_zeroed(len: usize) -> Option<Self> {
        let pages = huge_pages(len.checked_mul(size_of::<N>())?).map(Memory::Huge);
        pages.or_else(|| {
            let mut numbers = Vec::new();
            numbers.try_reserve_exact(len).ok()?;
            numbers.resize(len, N::zeroed());
            Some(Memory::Ordinary(numbers))
        })
    }

    /// Takes the memory and leaves an empty one.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Memory::Ordinary(Vec::new()))
    }

    /// A copy of `numbers`; huge pages of zeros take no memory.
    pub(super) fn copy_of(numbers: &[N]) -> Self {
        let mut copy = Memory::zeroed(numbers.len());
        let parts = copy.numbers_mut().chunks_mut(Self::PER_PAGE);
        for (to, from) in parts.zip(numbers.chunks(Self::PER_PAGE)) {
            if !is_blank(from) {
                to.copy_from_slice(from);
            }
        }
        copy
    }

    #[inline(always)]
    pub(super) fn numbers(&self) -> &[N] {
        match self {
            Memory::Ordinary(numbers) => numbers,
            // Pages are aligned, and a whole number of numbers fits in each.
            Memory::Huge(pages) => bytemuck::cast_slice(pages),
        }
    }

    #[inline(always)]
    pub(super) fn numbers_mut(&mut self) -> &mut [N] {
        match self {
            Memory::Ordinary(numbers) => numbers,
            Memory::Huge(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

/// Whether all numbers are zero. Examined in blocks, so that the compiler vectorises the loop.
pub(super) fn is_blank<N: Number>(numbers: &[N]) -> bool {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    bytes
        .chunks(4096)
        .all(|some| some.iter().fold(0, |sum, byte| sum | byte) == 0)
}

impl<N: Number> Clone for Memory<N> {
    fn clone(&self) -> Self {
        Memory::copy_of(self.numbers())
    }
}

/// Zeroed memory with a request for huge pages; `None` if it is smaller than one or the system has none.
#[cfg(target_os = "linux")]
fn huge_pages(bytes: usize) -> Option<MmapMut> {
    if bytes < HUGE_PAGE {
        return None;
    }
    let pages = MmapMut::map_anon(bytes).ok()?;
    // Without huge pages the memory is usable too.
    pages.advise(memmap2::Advice::HugePage).ok();
    Some(pages)
}

/// Only Linux has this request.
#[cfg(not(target_os = "linux"))]
fn huge_pages(_bytes: usize) -> Option<MmapMut> {
    None
}
