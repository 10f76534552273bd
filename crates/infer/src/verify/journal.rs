//! The journal of what was on the device: before a block is written, its contents are in a file
//! that has reached the disk. Putting the batches back in the reverse order restores the device even where
//! blocks are names of the same memory: a block that already held a stamp of another one gets that
//! stamp back, and the other one gets its own contents after it. Two such blocks of one batch hold the
//! same, since all blocks of a batch are read before any of them is written.
//!
//! A batch that is not whole was interrupted while it was written; nothing of it had been touched
//! on the device yet, and it is dropped.

use super::stamp::Salt;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"nandscope-undo-1";
/// No identity is longer, and a damaged length asks for no more memory than this.
const IDENTITY_MAX: usize = 4096;
/// No block is larger: 64 KiB.
const BLOCK_MAX: usize = 64 << 10;

/// Which device a journal belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Model and serial number, or whatever else tells devices apart.
    pub identity: String,
    /// Blocks that the device claims to have.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: usize,
}

/// One block as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its number.
    pub place: u64,
    /// Its contents.
    pub contents: Vec<u8>,
}

/// The contents of blocks before they were written, in memory and on the disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    subject: Subject,
    salt: Salt,
    originals: Vec<Original>,
    /// Where in `originals` each batch ends.
    ends: Vec<usize>,
    index: HashMap<u64, usize>,
}

impl Journal {
    /// Begins a journal in a file that must not exist yet.
    ///
    /// # Errors
    /// Where the file exists or cannot be written.
    pub fn create(path: &Path, subject: Subject, salt: Salt) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let identity = &subject.identity.as_bytes()[..subject.identity.len().min(IDENTITY_MAX)];
        let mut head = MAGIC.to_vec();
        head.extend(salt.0);
        head.extend(subject.blocks.to_le_bytes());
        head.extend((subject.block_bytes as u32).to_le_bytes());
        head.extend((identity.len() as u32).to_le_bytes());
        head.extend(identity);
        head.extend(crc32fast::hash(&head).to_le_bytes());
        file.write_all(&head)?;
        file.sync_all()?;
        sync_folder(path)?;
        Ok(Journal {
            path: path.to_path_buf(),
            file,
            subject,
            salt,
            originals: Vec::new(),
            ends: Vec::new(),
            index: HashMap::new(),
        })
    }

    /// Opens a journal that was left behind.
    ///
    /// # Errors
    /// Where there is none, or its beginning is no beginning of a journal. One that was interrupted
    /// before it was begun has no whole beginning: nothing was written to the device then.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        let (subject, salt, mut rest) = head(&bytes).ok_or_else(|| {
            let what = format!(
                "{} is no journal of a verification; it may have been interrupted before anything was written to the device",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        let (mut originals, mut ends) = (Vec::new(), Vec::new());
        while let Some((batch, behind)) = batch(rest, subject.block_bytes) {
            originals.extend(batch);
            ends.push(originals.len());
            rest = behind;
        }
        let file = OpenOptions::new().write(true).open(path)?;
        let whole = (bytes.len() - rest.len()) as u64;
        file.set_len(whole)?;
        io::Seek::seek(&mut &file, io::SeekFrom::Start(whole))?;
        let places = originals.iter().enumerate();
        Ok(Journal {
            path: path.to_path_buf(),
            file,
            index: places
                .map(|(i, o): (usize, &Original)| (o.place, i))
                .collect(),
            subject,
            salt,
            originals,
            ends,
        })
    }

    /// Writes down blocks as they are; returns when the disk has them.
    ///
    /// # Errors
    /// Where the file cannot be written; none of the blocks may be touched then.
    pub fn append(&mut self, blocks: Vec<Original>) -> io::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut bytes = (blocks.len() as u32).to_le_bytes().to_vec();
        for block in &blocks {
            bytes.extend(block.place.to_le_bytes());
            bytes.extend(&block.contents);
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        self.file.write_all(&bytes)?;
        self.file.sync_all()?;
        for block in blocks {
            self.index.insert(block.place, self.originals.len());
            self.originals.push(block);
        }
        self.ends.push(self.originals.len());
        Ok(())
    }

    /// The contents of a block before it was written, where it was.
    pub fn original(&self, place: u64) -> Option<&[u8]> {
        let at = self.index.get(&place)?;
        self.originals.get(*at).map(|o| o.contents.as_slice())
    }

    /// All blocks, in the order in which they were written down.
    pub fn originals(&self) -> &[Original] {
        &self.originals
    }

    /// The batches in the order in which they were written down. The blocks of a batch were read before
    /// any of them was written.
    pub fn batches(&self) -> impl DoubleEndedIterator<Item = &[Original]> {
        let begin = |number: usize| number.checked_sub(1).map_or(0, |before| self.ends[before]);
        (0..self.ends.len()).map(move |number| &self.originals[begin(number)..self.ends[number]])
    }

    /// Which device it belongs to.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The salt of the stamps that may stand in the blocks.
    pub fn salt(&self) -> Salt {
        self.salt
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file: the device is as it was.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)?;
        sync_folder(&self.path)
    }
}

/// A new name in a folder lasts only when the folder has reached the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The beginning of a journal, and what is behind it.
fn head(bytes: &[u8]) -> Option<(Subject, Salt, &[u8])> {
    if bytes.get(..16)? != MAGIC {
        return None;
    }
    let salt = Salt(number(bytes, 16)?);
    let blocks = u64::from_le_bytes(number(bytes, 32)?);
    let block_bytes = u32::from_le_bytes(number(bytes, 40)?) as usize;
    let length = u32::from_le_bytes(number(bytes, 44)?) as usize;
    if length > IDENTITY_MAX || !(64..=BLOCK_MAX).contains(&block_bytes) {
        return None;
    }
    let end = 48 + length;
    let sum = u32::from_le_bytes(number(bytes, end)?);
    if sum != crc32fast::hash(&bytes[..end]) {
        return None;
    }
    let subject = Subject {
        identity: String::from_utf8_lossy(&bytes[48..end]).into_owned(),
        blocks,
        block_bytes,
    };
    Some((subject, salt, &bytes[end + 4..]))
}

/// The next batch, where it is whole, and what is behind it.
fn batch(bytes: &[u8], block_bytes: usize) -> Option<(Vec<Original>, &[u8])> {
    let count = u32::from_le_bytes(number(bytes, 0)?) as usize;
    let end = count.checked_mul(8 + block_bytes)?.checked_add(4)?;
    let sum = u32::from_le_bytes(number(bytes, end)?);
    if sum != crc32fast::hash(&bytes[..end]) {
        return None;
    }
    let entries = bytes[4..end].chunks_exact(8 + block_bytes);
    let original = |entry: &[u8]| {
        Some(Original {
            place: u64::from_le_bytes(number(entry, 0)?),
            contents: entry[8..].to_vec(),
        })
    };
    let originals = entries.map(original).collect::<Option<Vec<_>>>()?;
    Some((originals, &bytes[end + 4..]))
}
