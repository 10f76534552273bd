//! Pages of an image: of one repeated byte, in memory, or in an unnamed temporary file.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Size of a page in bytes: the unit in which memory is allocated and shared.
pub const PAGE: usize = 4096;
/// Size of a page in bytes, as an integer for addresses.
pub const PAGE_BYTES: u64 = PAGE as u64;
/// Pages of a directory.
pub const DIRECTORY: usize = 512;
/// Bytes of a directory's pages.
pub const DIRECTORY_BYTES: u64 = PAGE_BYTES * DIRECTORY as u64;

/// One page for each value of a byte, filled with that byte, for readers that do not copy.
static UNIFORM: LazyLock<Vec<[u8; PAGE]>> =
    LazyLock::new(|| (0..=u8::MAX).map(|byte| [byte; PAGE]).collect());

/// The pages of 2 MiB.
#[derive(Clone, Debug)]
pub enum Directory {
    /// All pages of the directory consist of the same repeated byte.
    Same(Slot),
    /// Pages with different contents.
    Pages(Arc<Vec<Slot>>),
}

/// Storage of one page of an image.
#[derive(Clone, Debug)]
pub enum Slot {
    /// All bytes of the page have this value.
    Uniform(u8),
    /// Bytes in memory, shared with copies of the image.
    Memory(Arc<Resident>),
    /// The page is in the temporary file.
    File(Arc<Place>),
}

impl Slot {
    /// The page's bytes, if they are in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Slot::Uniform(byte) => Some(&UNIFORM[usize::from(*byte)]),
            Slot::Memory(page) => Some(&page.bytes),
            Slot::File(_) => None,
        }
    }
}

impl Directory {
    /// A directory whose pages are filled with one byte.
    pub const fn of(byte: u8) -> Self {
        Directory::Same(Slot::Uniform(byte))
    }

    /// Storage of the page with this number.
    pub fn slot(&self, page: usize) -> &Slot {
        match self {
            Directory::Same(slot) => slot,
            Directory::Pages(slots) => &slots[page],
        }
    }

    /// All pages of the directory, ordered by address.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        (0..DIRECTORY).map(|page| self.slot(page))
    }

    /// Mutable access to one page.
    pub fn slot_mut(&mut self, page: usize) -> &mut Slot {
        if let Directory::Same(slot) = self {
            *self = Directory::Pages(Arc::new(vec![slot.clone(); DIRECTORY]));
        }
        match self {
            Directory::Pages(slots) => &mut Arc::make_mut(slots)[page],
            Directory::Same(slot) => slot,
        }
    }

    /// Frees the memory of a directory whose pages are all filled with the same byte.
    pub fn collapse(&mut self) {
        if let Directory::Pages(slots) = self
            && let Some(Slot::Uniform(first)) = slots.first()
            && slots
                .iter()
                .all(|slot| matches!(slot, Slot::Uniform(byte) if byte == first))
        {
            *self = Directory::of(*first);
        }
    }
}

/// A page in memory; counted as long as it lives.
#[derive(Debug)]
pub struct Resident {
    bytes: [u8; PAGE],
    pool: Arc<Counts>,
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.pool.resident.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Place of one page in the temporary file; it is free for another page when this value is dropped.
#[derive(Debug)]
pub struct Place {
    number: u64,
    pool: Arc<Counts>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pool.free().push(self.number);
    }
}

/// Memory and file space in use.
#[derive(Debug, Default)]
struct Counts {
    resident: AtomicU64,
    placed: AtomicU64,
    free: Mutex<Vec<u64>>,
}

impl Counts {
    fn free(&self) -> MutexGuard<'_, Vec<u64>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// I/O on the temporary file failed, which holds pages beyond the limit of memory.
#[derive(Clone, Debug, Error)]
#[error("cannot keep the device's contents in a temporary file in {}: {source}; set TMPDIR to a folder with more space", .folder.display())]
pub struct SpillError {
    /// Folder of the file.
    pub folder: PathBuf,
    source: Arc<io::Error>,
}

/// Storage for the pages of an image and its clones.
#[derive(Debug)]
pub struct Pool {
    /// Pages that may be in memory.
    limit: u64,
    counts: Arc<Counts>,
    file: Mutex<Option<Arc<File>>>,
    fault: Mutex<Option<SpillError>>,
}

impl Pool {
    /// Creates a pool with at most `limit` pages in memory.
    pub fn new(limit: u64) -> Self {
        Pool {
            limit,
            counts: Arc::default(),
            file: Mutex::default(),
            fault: Mutex::default(),
        }
    }

    /// The first fault of the temporary file.
    pub fn fault(&self) -> Option<SpillError> {
        lock(&self.fault).clone()
    }

    /// Bytes in memory and in the temporary file.
    pub fn stored(&self) -> (u64, u64) {
        let placed = self.counts.placed.load(Ordering::Relaxed);
        let in_file = placed.saturating_sub(self.counts.free().len() as u64);
        let resident = self.counts.resident.load(Ordering::Relaxed);
        (resident * PAGE_BYTES, in_file * PAGE_BYTES)
    }

    /// Reads part of a page. If the file fails, the data is zeroes and [`Pool::fault`] has the error.
    pub fn read(&self, slot: &Slot, from: usize, to: &mut [u8]) {
        match slot {
            Slot::Uniform(byte) => to.fill(*byte),
            Slot::Memory(page) => to.copy_from_slice(&page.bytes[from..from + to.len()]),
            Slot::File(place) => {
                let read = |file: &File| file.read_exact_at(to, place.at() + from as u64);
                if self.with_file(read).is_none() {
                    to.fill(0);
                }
            }
        }
    }

    /// Writes part of a page. If the file fails, the page is unchanged and [`Pool::fault`] has the
    /// error.
    pub fn write(&self, slot: &mut Slot, from: usize, data: &[u8]) {
        if let Slot::Memory(page) = slot
            && let Some(page) = Arc::get_mut(page)
        {
            page.bytes[from..from + data.len()].copy_from_slice(data);
            return;
        }
        if let Slot::File(place) = slot
            && let Some(place) = Arc::get_mut(place)
        {
            self.with_file(|file| file.write_all_at(data, place.at() + from as u64));
            return;
        }
        let mut bytes = [0; PAGE];
        self.read(slot, 0, &mut bytes);
        bytes[from..from + data.len()].copy_from_slice(data);
        if let Some(new) = self.keep(bytes) {
            *slot = new;
        }
    }

    /// A new page.
    fn keep(&self, bytes: [u8; PAGE]) -> Option<Slot> {
        let pool = self.counts.clone();
        if pool.resident.load(Ordering::Relaxed) < self.limit {
            pool.resident.fetch_add(1, Ordering::Relaxed);
            return Some(Slot::Memory(Arc::new(Resident { bytes, pool })));
        }
        let freed = pool.free().pop();
        let number = freed.unwrap_or_else(|| pool.placed.fetch_add(1, Ordering::Relaxed));
        let place = Place { number, pool };
        self.with_file(|file| file.write_all_at(&bytes, place.at()))?;
        Some(Slot::File(Arc::new(place)))
    }

    /// Calls `act` with the temporary file, which is created on first use. Stores the first error.
    fn with_file<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> Option<T> {
        let done = self.open().and_then(|file| act(&file));
        match done {
            Ok(done) => Some(done),
            Err(error) => {
                lock(&self.fault).get_or_insert_with(|| SpillError {
                    folder: folder(),
                    source: Arc::new(error),
                });
                None
            }
        }
    }

    fn open(&self) -> io::Result<Arc<File>> {
        let mut file = lock(&self.file);
        if let Some(file) = &*file {
            return Ok(file.clone());
        }
        let made = Arc::new(unnamed(&folder())?);
        *file = Some(made.clone());
        Ok(made)
    }
}

impl Place {
    fn at(&self) -> u64 {
        self.number * PAGE_BYTES
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Folder for large temporary files: `/tmp` is memory on many systems.
fn folder() -> PathBuf {
    let large = Path::new("/var/tmp");
    if std::env::var_os("TMPDIR").is_none() && large.is_dir() {
        return large.to_path_buf();
    }
    std::env::temp_dir()
}

/// Opens a file without a name, which disappears with its last user.
fn unnamed(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(folder, flags, mode) {
        Ok(file) => Ok(file.into()),
        // Some file systems, such as NFS and overlays of old kernels, cannot create an unnamed file.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => {
            named_and_removed(folder)
        }
        Err(error) => Err(error.into()),
    }
}

fn named_and_removed(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".nandscope-pages-{}-{number}", std::process::id()));
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
