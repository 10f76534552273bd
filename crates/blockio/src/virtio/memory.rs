//! Memory that a guest shares with the device.

use super::error::VirtioError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use vm_memory::{
    Bytes as _, FileOffset, GuestAddress, GuestMemoryBackend as _, GuestMemoryMmap,
    GuestMemoryRegion as _,
};

/// One region of memory that the guest shares.
#[derive(Debug)]
pub struct Region {
    /// Address of the region's first byte, as used in descriptors.
    pub guest: u64,
    /// Address of the first byte as used by messages about rings.
    pub user: u64,
    /// Length in bytes.
    pub size: u64,
    /// Offset of the region in the file.
    pub offset: u64,
    /// File that backs the region.
    pub file: File,
}

/// Access to requests and their data. The rings are always mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Mapped memory. An access to a page that the file cannot provide kills the process, so the file
    /// must be sealed against shrinking and must not use huge pages.
    Mapped,
    /// File I/O, which returns an error if a page is missing.
    File,
}

/// All regions of memory that the guest shares.
#[derive(Clone, Debug)]
pub struct GuestMemory {
    map: GuestMemoryMmap<()>,
    /// Addresses for messages, addresses for descriptors, and lengths.
    regions: Vec<(u64, u64, u64)>,
    access: Access,
}

impl GuestMemory {
    /// Maps the regions into memory.
    ///
    /// # Errors
    /// `Map` if a region is longer than its file, regions overlap, or the system refuses.
    pub fn map(mut regions: Vec<Region>, access: Access) -> Result<Self, VirtioError> {
        regions.sort_by_key(|region| region.guest);
        let known = regions.iter().map(|r| (r.user, r.guest, r.size)).collect();
        let mut ranges = Vec::with_capacity(regions.len());
        for region in regions {
            if !is_whole(&region.file, region.offset, region.size) {
                return Err(VirtioError::Map("a region is longer than its file".into()));
            }
            let size = usize::try_from(region.size)
                .map_err(|_| VirtioError::Map("a region exceeds the address space".into()))?;
            let place = FileOffset::new(region.file, region.offset);
            ranges.push((GuestAddress(region.guest), size, Some(place)));
        }
        let map = GuestMemoryMmap::from_ranges_with_files(ranges)
            .map_err(|error| VirtioError::Map(error.to_string()))?;
        Ok(GuestMemory {
            map,
            regions: known,
            access,
        })
    }

    /// Memory without a file that holds `image` from address 0 on, for fuzzing.
    ///
    /// # Errors
    /// `Map` if the image is empty or the system refuses.
    pub fn from_image(image: &[u8]) -> Result<Self, VirtioError> {
        let map = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), image.len())])
            .map_err(|error| VirtioError::Map(error.to_string()))?;
        let memory = GuestMemory {
            map,
            regions: vec![(0, 0, image.len() as u64)],
            access: Access::Mapped,
        };
        memory.write(0, image)?;
        Ok(memory)
    }

    /// Translates an address as used by messages about rings into one as used in descriptors.
    pub fn guest_address(&self, user: u64) -> Option<u64> {
        self.regions.iter().find_map(|(monitor, guest, size)| {
            let within = user.checked_sub(*monitor).filter(|at| at < size)?;
            guest.checked_add(within)
        })
    }

    /// True if every file is at least as long as its regions, so that the rings are accessible.
    pub fn is_whole(&self) -> bool {
        self.map.iter().all(|region| match region.file_offset() {
            Some(place) => is_whole(place.file(), place.start(), region.len()),
            None => true,
        })
    }

    pub(super) const fn mapped(&self) -> &GuestMemoryMmap<()> {
        &self.map
    }

    /// The file of a range, and the offset of the range in it.
    fn place(&self, address: u64, length: u64) -> Option<(&File, u64)> {
        let region = self.map.find_region(GuestAddress(address))?;
        let within = address - region.start_addr().0;
        let end = within.checked_add(length)?;
        let place = region.file_offset()?;
        let at = place.start().checked_add(within)?;
        (end <= region.len()).then(|| (place.file(), at))
    }

    /// Fills `to` from `address` on.
    ///
    /// # Errors
    /// `Outside` if the range is not shared, `Io` if it cannot be read.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), VirtioError> {
        let length = to.len() as u64;
        let outside = VirtioError::Outside { address, length };
        if self.access == Access::Mapped {
            let read = self.map.read_slice(to, GuestAddress(address));
            return read.map_err(|_| outside);
        }
        let (file, at) = self.place(address, length).ok_or(outside)?;
        file.read_exact_at(to, at)
            .map_err(|source| VirtioError::Io { address, source })
    }

    /// Writes `data` at `address`.
    ///
    /// # Errors
    /// `Outside` if the range is not shared, `Io` if it cannot be written.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), VirtioError> {
        let length = data.len() as u64;
        let outside = VirtioError::Outside { address, length };
        if self.access == Access::Mapped {
            let written = self.map.write_slice(data, GuestAddress(address));
            return written.map_err(|_| outside);
        }
        let (file, at) = self.place(address, length).ok_or(outside)?;
        file.write_all_at(data, at)
            .map_err(|source| VirtioError::Io { address, source })
    }
}

/// True if the file contains the range.
fn is_whole(file: &File, offset: u64, size: u64) -> bool {
    let end = offset.checked_add(size);
    file.metadata()
        .is_ok_and(|about| end.is_some_and(|end| end <= about.len()))
}
