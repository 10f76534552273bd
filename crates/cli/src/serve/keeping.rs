//! Files saved next to the contents of a served device: its state in `FILE.device`, and, while it is served, a journal
//! of the commands since in `FILE.journal.N`. After a server was killed, the next one replays the journals.
//!
//! A long journal is closed, and another thread updates `FILE.device` with it, on a copy of the device, so that clients
//! notice nothing. The device's time says which journal continues which state.

use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::target::{Kept, Simulated};
use nandscope_blockio::store::{Store, StoreError};
use nandscope_device::Device;
use nandscope_export::command_journal::{
    CommandJournal, CommandJournalError, CommandJournals, JournalFile, Replay,
};
use nandscope_files::{Access, FollowLinks, folder_of, lock, open_regular};
use nandscope_units::Nanos;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// File with the state of the device, beside its contents.
pub fn state_file(store: &Path) -> PathBuf {
    beside(store, ".device")
}

fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

/// Beginning of the paths of all journals.
pub fn journal_beginning(store: &Path) -> PathBuf {
    beside(store, ".journal.")
}

fn journal_file(store: &Path, number: u64) -> PathBuf {
    beside(store, &format!(".journal.{number}"))
}

/// The names in the folder of the contents, and the name of these.
fn names_beside(store: &Path) -> (Vec<String>, String) {
    let entries = std::fs::read_dir(folder_of(store))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let own = store.file_name().unwrap_or_default().to_string_lossy();
    (names.collect(), own.into_owned())
}

/// The journals that are there, by their numbers.
pub fn journals(store: &Path) -> Vec<PathBuf> {
    let (names, own) = names_beside(store);
    let prefix = format!("{own}.journal.");
    let number = |name: &String| name.strip_prefix(&prefix)?.parse().ok();
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.iter().map(|n| journal_file(store, *n)).collect()
}

/// Partial files that killed servers of these contents left behind.
fn abandoned(store: &Path) -> Vec<PathBuf> {
    let own = store.file_name().unwrap_or_default().as_encoded_bytes();
    nandscope_files::abandoned_in(folder_of(store), |name| {
        name.strip_prefix(own)
            .is_some_and(|rest| rest == b".device" || rest.starts_with(b".journal."))
    })
}

fn remove(files: &[PathBuf]) -> Result<(), Failure> {
    files.iter().try_for_each(|file| {
        std::fs::remove_file(file).map_err(|e| Failure::file(format!("{}: {e}", file.display())))
    })
}

/// Failure of the command for a fault of the contents.
pub fn store_failure(error: StoreError) -> Failure {
    match error {
        StoreError::Unfit { .. } => Failure::usage(error),
        StoreError::Io(_) | StoreError::OutOfRange(_) => Failure::file(error),
    }
}

fn read_state(state: &Path) -> Result<(Kept, Device), Failure> {
    check_plain(state)?;
    let bytes = input::device(state, "the saved device")?;
    Kept::read(&bytes).map_err(|what| Failure::usage(format!("{}: {what}", state.display())))
}

/// Writes the state; the returned file is locked, so that no other command of this machine replaces it.
fn write_state(state: &Path, kept: &Kept, device: &Device) -> Result<File, Failure> {
    let bytes = kept.with(device).map_err(Failure::internal)?;
    let file = nandscope_files::begin(state, &bytes, Access::Owner)?;
    lock(&file);
    Ok(file)
}

/// Refuses a link or special file under a name that the user did not give.
fn check_plain(file: &Path) -> Result<(), Failure> {
    match std::fs::symlink_metadata(file) {
        Ok(about) if !about.is_file() => Err(Failure::usage(format!(
            "{} is not a regular file; move it, or name another --store",
            file.display()
        ))),
        // A missing file is reported when it is read.
        _ => Ok(()),
    }
}

/// Reads a journal into memory.
fn journal_bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    check_plain(file)?;
    input::device(file, "the journal")
}

/// Recovers the device state if the last server of these contents was killed: replays the journals of its commands, and
/// completes discards that the contents may lack. With `discard`, it replays the readable part of damaged journals and
/// renames them.
///
/// # Errors
/// `Exit::File` if another server has the contents open; `Exit::Usage` if the state or a journal is damaged or they do
/// not fit together. The files are then unchanged.
pub fn recover(store: &Path, discard: bool, console: &Console) -> Result<(), Failure> {
    let found = journals(store);
    if found.is_empty() {
        return Ok(());
    }
    let state = state_file(store);
    let (kept, mut device) = read_state(&state).map_err(|failure| {
        let text = format!(
            "{}; the journals of the last server depend on it: restore it, or name another --store",
            failure.text
        );
        Failure { text, ..failure }
    })?;
    if !store.exists() {
        return Err(Failure::file(format!(
            "the contents {} are missing, but the state and journals of their device exist; restore the contents, or name another --store",
            store.display()
        )));
    }
    // Opening locks the contents, so that the journals of a running server are not replayed.
    let mut contents = Store::file(store, device.capacity()).map_err(store_failure)?;
    let mut replay = Replay::new(&mut device);
    let trouble = play_all(&mut replay, &found)?;
    let whole = trouble.as_ref().map_or(found.len(), |(place, _)| *place);
    if let Some((place, what)) = &trouble
        && !discard
    {
        return Err(Failure::usage(format!(
            "{}: {what}; nothing was changed; --discard-journal continues with the device as it was before the damage, and keeps the journal as {0}.discarded",
            found[*place].display()
        )));
    }
    let replayed = replay.finish();
    // With a damaged journal, discards are not completed: clients may have written to their ranges later.
    let lost = replayed.lost_discards.iter().filter(|_| trouble.is_none());
    for range in lost {
        let discarded = contents.discard(range.start, range.end - range.start);
        discarded.map_err(store_failure)?;
    }
    write_state(&state, &kept, &device)?;
    remove(&found[..whole])?;
    set_aside(&found[whole..], console)?;
    console.note(&format!(
        "note: the last server of {} was killed. Its journal was replayed ({} commands; {} requests were in flight: their blocks hold old or new data)",
        store.display(),
        replayed.commands,
        replayed.under_way
    ));
    Ok(())
}

/// Replays journals one after the other. Returns the index of the first that cannot be replayed completely, and the reason.
fn play_all(
    replay: &mut Replay<'_, Device>,
    files: &[PathBuf],
) -> Result<Option<(usize, CommandJournalError)>, Failure> {
    for (place, file) in files.iter().enumerate() {
        let bytes = journal_bytes(file)?;
        let (journal, damage) = match CommandJournal::salvage(&bytes) {
            Ok(read) => read,
            Err(what) => return Ok(Some((place, what))),
        };
        // A journal that ends before the time of the state is part of it; only its removal was interrupted.
        let is_old = journal.start < replay.now() && journal.end() <= replay.now();
        if !is_old && let Err(what) = replay.play(&journal) {
            return Ok(Some((place, what)));
        }
        if let Some(damage) = damage {
            return Ok(Some((place, CommandJournalError::Damaged(damage))));
        }
    }
    Ok(None)
}

/// Renames damaged journals, so that no server replays them.
fn set_aside(files: &[PathBuf], console: &Console) -> Result<(), Failure> {
    for file in files {
        let free = |place: &PathBuf| std::fs::symlink_metadata(place).is_err();
        let names = (1..).map(|number| match number {
            1 => beside(file, ".discarded"),
            _ => beside(file, &format!(".discarded.{number}")),
        });
        // A free name always exists.
        let Some(place) = names.into_iter().find(free) else {
            continue;
        };
        std::fs::rename(file, &place)
            .map_err(|e| Failure::file(format!("{}: {e}", file.display())))?;
        console.note(&format!(
            "note: a damaged journal is kept as {}",
            place.display()
        ));
    }
    Ok(())
}

/// The state file while the device is served.
#[derive(Debug, Default)]
struct Held {
    /// Whether the server has ended, after which `follow` must not replace the state.
    ended: bool,
    /// The open state file, which holds its lock.
    state: Option<File>,
}

fn of(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the state of a device while it is served.
#[derive(Debug)]
pub struct Keeper {
    store: PathBuf,
    state: PathBuf,
    /// The state file; the mutex is held while it is written.
    held: Arc<Mutex<Held>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "nobody waits for it but tests"))]
    following: JoinHandle<Result<(), Failure>>,
}

impl Keeper {
    /// Writes the state, unless it was just read from its file, and returns the journals for all later commands.
    ///
    /// # Errors
    /// `Exit::File` if the state cannot be written.
    pub fn begin(
        store: &Path,
        simulated: &Simulated,
        device: &Device,
        is_written: bool,
    ) -> Result<(Keeper, Box<dyn CommandJournals>), Failure> {
        remove(&abandoned(store))?;
        let state = state_file(store);
        let file = match is_written {
            false => Some(write_state(&state, &Kept::of(simulated), device)?),
            true => open_regular(&state, FollowLinks::No).ok(),
        };
        file.iter().for_each(lock);
        let (closed, files) = channel();
        let place = state.clone();
        let held = Arc::new(Mutex::new(Held {
            ended: false,
            state: file,
        }));
        let until = held.clone();
        let following = std::thread::Builder::new()
            .name("state".to_string())
            .spawn(move || follow(&place, &files, &until))
            .map_err(|e| {
                Failure::file(format!("cannot start the thread that saves the state: {e}"))
            })?;
        let keeper = Keeper {
            store: store.to_path_buf(),
            state,
            held,
            following,
        };
        let files = Files {
            store: store.to_path_buf(),
            next: 0,
            closed,
        };
        Ok((keeper, Box::new(files)))
    }

    /// Writes the final state and removes the journals.
    ///
    /// # Errors
    /// `Exit::File` if the state cannot be written.
    pub fn end(self, simulated: &Simulated, device: &Device) -> Result<(), Failure> {
        // Earlier errors of the thread in `follow` no longer matter: the complete state is written now.
        let mut held = of(&self.held);
        held.ended = true;
        held.state = Some(write_state(&self.state, &Kept::of(simulated), device)?);
        remove(&journals(&self.store))
    }

    /// Leaves state and journals to the next server, which replays the journals.
    pub fn leave(self) {
        of(&self.held).ended = true;
    }
}

/// Brings the state in the file to the end of each journal that is closed.
fn follow(state: &Path, closed: &Receiver<PathBuf>, held: &Mutex<Held>) -> Result<(), Failure> {
    for file in closed {
        let (kept, mut device) = read_state(state)?;
        let journal = CommandJournal::read(&journal_bytes(&file)?).map_err(Failure::usage)?;
        let mut replay = Replay::new(&mut device);
        replay.play(&journal).map_err(Failure::internal)?;
        drop(replay);
        let mut held = of(held);
        if held.ended {
            return Ok(());
        }
        held.state = Some(write_state(state, &kept, &device)?);
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

impl CommandJournals for Files {
    fn next(&mut self, start: Nanos) -> io::Result<JournalFile> {
        let file = JournalFile::create(&journal_file(&self.store, self.next), start)?;
        if let Some(last) = self.next.checked_sub(1) {
            // Sending fails if the thread in `follow` has ended; the journals then stay until the server ends.
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
    use nandscope_export::command_journal::ENTRY;
    use nandscope_export::request::{Action, Origin, Request};
    use nandscope_export::service::Service;
    use nandscope_units::Bytes;

    const TINY: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.toml");
    const CONSOLE: Console = Console {
        width: 80,
        colour: false,
        verdicts: false,
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

    /// Long journals are closed and applied to the state while the server continues; after a kill, the state and the
    /// remaining journals give the last device.
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
        recover(&store, false, &CONSOLE).unwrap();
        let (_, after) = read_state(&keeper.state).unwrap();
        assert_eq!(after.counters().host_written, Bytes(2000 * 4096));
        assert!(drained(&after).save().unwrap() == drained(&device).save().unwrap());
        let names: Vec<_> = names_beside(&store).0;
        assert_eq!(names.len(), 2, "{names:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A truncated journal is refused, and nothing is changed. With `discard` the device returns to the readable part, and
    /// the contents are kept: they may be newer than a discard under way at the cut.
    #[test]
    fn a_journal_that_was_cut_at_any_byte_costs_no_contents() {
        let folder = std::env::temp_dir().join(format!("nandscope-cut-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = folder.join("card.img");
        let (simulated, device) = target::open(TINY, None, 1, &CONSOLE).unwrap();
        let contents = Store::file(&store, device.capacity()).unwrap();
        let (keeper, files) = Keeper::begin(&store, &simulated, &device, false).unwrap();
        let service = Service::new(device, contents, Speed::Times(1.0));
        let mut service = service.with_journals(files).unwrap();
        let mut submit = |number: u64, action, offset, length: u32| {
            let origin = Origin {
                connection: 0,
                cookie: number,
            };
            let data = match action {
                Action::Write => vec![number as u8 + 1; length as usize],
                _ => Vec::new(),
            };
            let request = Request {
                action,
                offset,
                length,
                data,
                durable: number.is_multiple_of(3),
            };
            let wall = Nanos(number * 50_000_000);
            service.run(wall, &mut Vec::new());
            service.submit(origin, request, wall);
            service.commit().unwrap();
        };
        // Discards, each followed by a write to its range.
        for number in 0..6 {
            submit(2 * number, Action::Discard, 0, 1 << 20);
            submit(2 * number + 1, Action::Write, number * 4096, 4096);
        }
        service.run(Nanos(1_000_000_000), &mut Vec::new());
        keeper.leave();
        drop(service);
        let (state, journal) = (state_file(&store), journal_file(&store, 0));
        let [before, kept, whole] =
            [&store, &state, &journal].map(|file| std::fs::read(file).unwrap());
        assert!(before.iter().any(|byte| *byte != 0) && whole.len() > 12 * ENTRY);
        for cut in 0..whole.len() {
            std::fs::write(&journal, &whole[..cut]).unwrap();
            let refused = recover(&store, false, &CONSOLE).unwrap_err();
            assert!(
                refused.text.contains("nothing was changed"),
                "{}",
                refused.text
            );
            assert!(std::fs::read(&journal).unwrap() == whole[..cut]);
            if cut % ENTRY < 2 {
                recover(&store, true, &CONSOLE).unwrap();
                assert!(std::fs::read(&store).unwrap() == before, "cut at {cut}");
                std::fs::write(&state, &kept).unwrap();
            }
        }
        std::fs::write(&journal, &whole).unwrap();
        for name in names_beside(&store)
            .0
            .iter()
            .filter(|n| n.contains("discarded"))
        {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
        recover(&store, false, &CONSOLE).unwrap();
        assert!(std::fs::read(&store).unwrap() == before);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A folder with the files of a server that was killed after 400 writes.
    fn killed(name: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("nandscope-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = folder.join("card.img");
        let (simulated, device) = target::open(TINY, None, 1, &CONSOLE).unwrap();
        let contents = Store::file(&store, device.capacity()).unwrap();
        let (keeper, files) = Keeper::begin(&store, &simulated, &device, false).unwrap();
        let service = Service::new(device, contents, Speed::Max);
        let mut service = service.with_journals(files).unwrap();
        (0..400).for_each(|number| write(&mut service, number));
        keeper.leave();
        (folder, store)
    }

    #[test]
    fn what_cannot_be_recovered_is_left_as_it_was() {
        let (folder, store) = killed("left");
        let (state, journal) = (state_file(&store), journal_file(&store, 0));
        let whole = std::fs::read(&journal).unwrap();
        // A journal whose start is not the time of the state.
        let (_, mut device) = read_state(&state).unwrap();
        device.advance(Nanos(1), &mut Vec::new());
        let (kept, _) = read_state(&state).unwrap();
        let original = std::fs::read(&state).unwrap();
        write_state(&state, &kept, &device).unwrap();
        let misfit = recover(&store, false, &CONSOLE).unwrap_err();
        assert!(misfit.text.contains("does not fit"), "{}", misfit.text);
        std::fs::write(&state, &original).unwrap();
        // Missing contents, a missing state, and a link instead of a journal.
        let aside = folder.join("aside");
        for (file, part) in [(&store, "contents"), (&state, "journals")] {
            std::fs::rename(file, &aside).unwrap();
            let missing = recover(&store, true, &CONSOLE).unwrap_err();
            assert!(missing.text.contains(part), "{}", missing.text);
            std::fs::rename(&aside, file).unwrap();
        }
        std::fs::rename(&journal, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &journal).unwrap();
        let link = recover(&store, true, &CONSOLE).unwrap_err();
        assert!(link.text.contains("not a regular file"), "{}", link.text);
        assert!(std::fs::read(&aside).unwrap() == whole);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Randomly changed journals and states: an accepted file is unchanged or has only uncommitted entries at its end; a
    /// refused file is not modified.
    #[test]
    #[ignore = "slow: thousands of files"]
    fn slow_changed_files_are_recovered_or_left_as_they_were() {
        let rounds = std::env::var("NANDSCOPE_MUTATIONS");
        let rounds: u64 = rounds.map_or(20_000, |text| text.parse().unwrap());
        let (folder, store) = killed("changed");
        let (state, journal) = (state_file(&store), journal_file(&store, 0));
        let originals = [&state, &journal].map(|file| std::fs::read(file).unwrap());
        let mut dice = nandscope_units::random::SplitMix64::new(1);
        let mut below = |bound: usize| dice.below(bound as u64) as usize;
        for round in 0..rounds {
            let which = usize::from(below(3) > 0);
            let (file, original) = ([&state, &journal][which], &originals[which]);
            let mut changed = original.clone();
            let at = below(original.len());
            let piece = below(100).min(original.len() - at);
            match below(6) {
                0 | 1 => changed[at] ^= 1 << below(8),
                2 => changed[at..at + piece].fill(0),
                3 => changed.truncate(at),
                4 => drop(changed.drain(at..at + piece)),
                _ => drop(changed.splice(at..at, original[at..at + piece].iter().copied())),
            }
            std::fs::write(file, &changed).unwrap();
            let began = std::time::Instant::now();
            if recover(&store, false, &CONSOLE).is_ok() {
                // Bytes after the committed entries may remain after a kill, so they are ignored.
                let is_longer = which == 1 && changed.starts_with(original);
                assert!(changed == *original || is_longer, "round {round}");
            } else {
                assert!(std::fs::read(file).unwrap() == changed, "round {round}");
                let _ = recover(&store, true, &CONSOLE);
            }
            assert!(began.elapsed() < std::time::Duration::from_secs(20));
            for name in names_beside(&store).0 {
                if name.contains("journal") {
                    std::fs::remove_file(folder.join(name)).unwrap();
                }
            }
            std::fs::write(&state, &originals[0]).unwrap();
            std::fs::write(&journal, &originals[1]).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
