//! What is kept beside the contents of a served device: its state in `FILE.device`, and, while it is
//! served, a journal of the commands since in `FILE.journal.N`. Where a server was killed, the next
//! one does again what stands in the journals.
//!
//! A journal that has become long is closed, and another thread brings `FILE.device` to its end, on a
//! copy of the device, so that clients notice nothing. Which journal continues which state is known by
//! the device's time.

use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::target::{Kept, Simulated};
use nandscope_device::Device;
use nandscope_export::journal::{Journal, JournalFile, Journals, Replay};
use nandscope_export::store::{Store, StoreError};
use nandscope_files::Access;
use nandscope_units::Nanos;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Where the state of the device is kept, beside its contents.
pub fn state_file(store: &Path) -> PathBuf {
    beside(store, ".device")
}

fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

fn journal_file(store: &Path, number: u64) -> PathBuf {
    beside(store, &format!(".journal.{number}"))
}

/// The names in the folder of the contents, and the name of these.
fn names_beside(store: &Path) -> (Vec<String>, String) {
    let folder = match store.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let own = store.file_name().unwrap_or_default().to_string_lossy();
    (names.collect(), own.into_owned())
}

/// The journals that are there, by their numbers.
fn journals(store: &Path) -> Vec<PathBuf> {
    let (names, own) = names_beside(store);
    let prefix = format!("{own}.journal.");
    let number = |name: &String| name.strip_prefix(&prefix)?.parse().ok();
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.iter().map(|n| journal_file(store, *n)).collect()
}

fn remove(files: &[PathBuf]) -> Result<(), Failure> {
    files.iter().try_for_each(|file| {
        std::fs::remove_file(file).map_err(|e| Failure::file(format!("{}: {e}", file.display())))
    })
}

/// What a fault of the contents means for the command.
pub fn store_failure(error: StoreError) -> Failure {
    match error {
        StoreError::Unfit { .. } => Failure::usage(error),
        StoreError::Io(_) | StoreError::OutOfRange { .. } => Failure::file(error),
    }
}

fn read_state(state: &Path) -> Result<(Kept, Device), Failure> {
    let bytes = input::bytes(state, "the kept device")?;
    Kept::read(&bytes).map_err(|what| Failure::usage(format!("{}: {what}", state.display())))
}

fn write_state(state: &Path, kept: &Kept, device: &Device) -> Result<(), Failure> {
    let bytes = kept.with(device).map_err(Failure::internal)?;
    Ok(nandscope_files::write(state, &bytes, Access::Owner)?)
}

/// The journal in a file, where it can be read.
fn read_journal(file: &Path) -> Result<Journal, Failure> {
    let bytes = input::bytes(file, "the journal")?;
    Journal::read(&bytes).map_err(|e| Failure::usage(format!("{}: {e}", file.display())))
}

/// Where the last server of these contents did not come to its end: brings the state of the device
/// to what it had been given, and completes discards that the contents may lack.
///
/// # Errors
/// Where another server has the contents open, or what was kept does not fit together.
pub fn recover(store: &Path, console: &Console) -> Result<(), Failure> {
    let found = journals(store);
    if found.is_empty() {
        return Ok(());
    }
    let state = state_file(store);
    let (kept, mut device) = read_state(&state)?;
    // Locked from here on: the journals may be those of a server that runs.
    let mut contents = Store::file(store, device.capacity()).map_err(store_failure)?;
    let mut replay = Replay::new(&mut device);
    for file in &found {
        // The head is written at once with the file's appearance, or there was nothing to be noted.
        let empty = std::fs::metadata(file).is_ok_and(|m| m.len() == 0);
        let journal = if empty { continue } else { read_journal(file)? };
        // What is in the state already was about to be removed.
        if journal.start < replay.now() {
            continue;
        }
        replay.play(&journal).map_err(|e| {
            Failure::usage(format!(
                "{}: {e}; remove the journal to go on with {} as it is",
                file.display(),
                state.display()
            ))
        })?;
    }
    let replayed = replay.finish();
    for range in &replayed.lost_discards {
        let discarded = contents.discard(range.start, range.end - range.start);
        discarded.map_err(store_failure)?;
    }
    write_state(&state, &kept, &device)?;
    remove(&found)?;
    remove(&nandscope_files::abandoned(&state))?;
    console.note(&format!(
        "note: the last server of {} did not end in order. The device has done again what it was given since its state was kept ({} commands; {} requests were under way: of what they wrote, the old or the new is read)",
        store.display(),
        replayed.commands,
        replayed.under_way
    ));
    Ok(())
}

/// Keeps the state of a device while it is served.
#[derive(Debug)]
pub struct Keeper {
    store: PathBuf,
    state: PathBuf,
    /// Whether the state belongs to the end already; held while it is written.
    ended: Arc<Mutex<bool>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "nobody waits for it but tests"))]
    following: JoinHandle<Result<(), Failure>>,
}

impl Keeper {
    /// Begins to keep: the state now, and journals from here on. Where the state was read
    /// from its file as it is, it need not be written again.
    ///
    /// # Errors
    /// Where the state cannot be written.
    pub fn begin(
        store: &Path,
        simulated: &Simulated,
        device: &Device,
        is_written: bool,
    ) -> Result<(Keeper, Box<dyn Journals>), Failure> {
        let state = state_file(store);
        if !is_written {
            write_state(&state, &Kept::of(simulated), device)?;
        }
        let (closed, files) = channel();
        let place = state.clone();
        let ended = Arc::<Mutex<bool>>::default();
        let until = ended.clone();
        let following = std::thread::Builder::new()
            .name("state".to_string())
            .spawn(move || follow(&place, &files, &until))
            .map_err(|e| Failure::file(format!("no thread to keep the state: {e}")))?;
        let keeper = Keeper {
            store: store.to_path_buf(),
            state,
            ended,
            following,
        };
        let files = Files {
            store: store.to_path_buf(),
            next: 0,
            closed,
        };
        Ok((keeper, Box::new(files)))
    }

    /// Keeps the state at the end, after which there are no journals any more.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn end(self, simulated: &Simulated, device: &Device) -> Result<(), Failure> {
        // What went wrong while it followed does not matter any more: the whole state comes now.
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        write_state(&self.state, &Kept::of(simulated), device)?;
        remove(&journals(&self.store))
    }

    /// Leaves state and journals to the next server, which does again what stands there.
    pub fn leave(self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// Brings the state in the file to the end of each journal that is closed.
fn follow(state: &Path, closed: &Receiver<PathBuf>, ended: &Mutex<bool>) -> Result<(), Failure> {
    for file in closed {
        let (kept, mut device) = read_state(state)?;
        let journal = read_journal(&file)?;
        let mut replay = Replay::new(&mut device);
        replay.play(&journal).map_err(Failure::internal)?;
        drop(replay);
        let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *ended {
            return Ok(());
        }
        write_state(state, &kept, &device)?;
        remove(&[file])?;
    }
    Ok(())
}

/// The files of journals, one after the other.
#[derive(Debug)]
struct Files {
    store: PathBuf,
    next: u64,
    closed: Sender<PathBuf>,
}

impl Journals for Files {
    fn next(&mut self, start: Nanos) -> io::Result<JournalFile> {
        let file = JournalFile::create(&journal_file(&self.store, self.next), start)?;
        if let Some(last) = self.next.checked_sub(1) {
            // Where nobody follows any more, the journals stay until the end.
            let _ = self.closed.send(journal_file(&self.store, last));
        }
        self.next += 1;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;
    use nandscope_export::clock::Speed;
    use nandscope_export::request::{Action, Origin, Request};
    use nandscope_export::service::Service;
    use nandscope_units::Bytes;

    const TINY: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.toml");
    const CONSOLE: Console = Console {
        width: 80,
        colour: false,
    };

    fn write(service: &mut Service<Device>, number: u64) {
        let origin = Origin {
            connection: 0,
            cookie: number,
        };
        let request = Request {
            action: Action::Write,
            offset: number * 7 % 500 * 4096,
            length: 4096,
            data: vec![1; 4096],
            durable: false,
        };
        service.submit(origin, request, Nanos::ZERO);
        service.run(Nanos::ZERO, &mut Vec::new());
        service.commit().unwrap();
    }

    fn drained(device: &Device) -> Device {
        let mut device = Device::load(&device.save().unwrap()).unwrap();
        while let Some(event) = device.next_event() {
            device.advance(event, &mut Vec::new());
        }
        device
    }

    /// Long journals are closed and brought into the state while the server goes on; what is left
    /// of them when it is killed gives the device that it had.
    #[test]
    fn the_state_follows_and_a_killed_server_is_continued() {
        let folder = std::env::temp_dir().join(format!("nandscope-keeping-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = folder.join("card.img");
        let (simulated, device) = target::open(TINY, None, 1, &CONSOLE).unwrap();
        let contents = Store::file(&store, device.capacity()).unwrap();
        let (keeper, files) = Keeper::begin(&store, &simulated, &device, false).unwrap();
        let service = Service::new(device, contents, Speed::Max);
        let mut service = service.with_journals_of(files, 300).unwrap();
        (0..2000).for_each(|number| write(&mut service, number));
        let (device, contents, _) = service.into_parts();
        drop(contents);
        keeper.following.join().unwrap().unwrap();
        let left = journals(&store);
        assert_eq!(left.len(), 1, "{left:?}");
        let (_, before) = read_state(&keeper.state).unwrap();
        assert!(before.counters().host_written > Bytes::mib(6));
        std::fs::write(
            folder.join(".card.img.device.0123456789abcdef.partial"),
            b"half",
        )
        .unwrap();
        recover(&store, &CONSOLE).unwrap();
        let (_, after) = read_state(&keeper.state).unwrap();
        assert_eq!(after.counters().host_written, Bytes(2000 * 4096));
        assert!(drained(&after).save().unwrap() == drained(&device).save().unwrap());
        let names: Vec<_> = names_beside(&store).0;
        assert_eq!(names.len(), 2, "{names:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
