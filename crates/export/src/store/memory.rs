//! Contents in memory: a table of two levels. An entry of the first covers 64 MiB, one of the
//! second 64 KiB; both exist only where something was written, so that an empty device of a
//! terabyte costs 128 KiB.

/// Bytes of an extent, the unit in which memory is taken.
const EXTENT: usize = 64 << 10;
/// What an extent holds that does not exist.
static ZEROES: [u8; EXTENT] = [0; EXTENT];
/// Extents of a directory.
const DIRECTORY: usize = 1024;

type Extent = Box<[u8]>;
type Directory = Box<[Option<Extent>]>;

/// See the module's text. Ranges have been checked by the caller.
#[derive(Debug)]
pub struct MemoryStore(Vec<Option<Directory>>);

/// The part of a range that lies in one extent.
struct Piece {
    directory: usize,
    extent: usize,
    from: usize,
    length: usize,
}

/// Cuts a range at the borders of extents.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let extent = at / EXTENT as u64;
        let from = (at % EXTENT as u64) as usize;
        let length = ((EXTENT - from) as u64).min(end - at) as usize;
        at += length as u64;
        Some(Piece {
            directory: (extent / DIRECTORY as u64) as usize,
            extent: (extent % DIRECTORY as u64) as usize,
            from,
            length,
        })
    })
}

impl MemoryStore {
    pub fn new(capacity: u64) -> Self {
        let directories = capacity.div_ceil((EXTENT * DIRECTORY) as u64) as usize;
        let mut table = Vec::new();
        table.resize_with(directories, || None);
        MemoryStore(table)
    }

    fn extent(&self, piece: &Piece) -> Option<&Extent> {
        self.0[piece.directory].as_ref()?[piece.extent].as_ref()
    }

    /// The bytes of a range, extent by extent.
    pub fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = &[u8]> {
        pieces(offset, length).map(|piece| match self.extent(&piece) {
            Some(extent) => &extent[piece.from..piece.from + piece.length],
            None => &ZEROES[..piece.length],
        })
    }

    pub fn append_to(&self, to: &mut Vec<u8>, offset: u64, length: u64) {
        to.reserve(length as usize);
        for piece in self.pieces(offset, length) {
            to.extend_from_slice(piece);
        }
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let mut rest = data;
        for piece in pieces(offset, data.len() as u64) {
            let (part, after) = rest.split_at(piece.length);
            rest = after;
            let directory = self.0[piece.directory]
                .get_or_insert_with(|| (0..DIRECTORY).map(|_| None).collect());
            let extent =
                directory[piece.extent].get_or_insert_with(|| vec![0; EXTENT].into_boxed_slice());
            extent[piece.from..piece.from + piece.length].copy_from_slice(part);
        }
    }

    pub fn discard(&mut self, offset: u64, length: u64) {
        for piece in pieces(offset, length) {
            let Some(directory) = &mut self.0[piece.directory] else {
                continue;
            };
            if piece.length == EXTENT {
                directory[piece.extent] = None;
            } else if let Some(extent) = &mut directory[piece.extent] {
                extent[piece.from..piece.from + piece.length].fill(0);
            }
        }
    }
}

#[cfg(test)]
impl MemoryStore {
    /// The extents that take memory.
    pub fn extents(&self) -> impl Iterator<Item = &[u8]> {
        let directories = self.0.iter().flatten();
        directories.flat_map(|d| d.iter().flatten().map(|e| &**e))
    }
}
