//! What the ways are set up with: images, loop devices, mounts. Everything is undone in reverse
//! order, whatever becomes of the test.

use super::{Cannot, MIB};
use crate::support::Folder;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

/// A folder of its own, and what must be undone in it.
pub struct Stage {
    pub folder: PathBuf,
    undo: Vec<Undo>,
}

enum Undo {
    Run(Vec<OsString>),
    Remove(PathBuf),
    Close(#[allow(dead_code, reason = "held open until it is dropped")] File),
    End(Child),
}

/// Arguments of a command, of whatever kinds.
macro_rules! words {
    ($($word:expr),* $(,)?) => { [$(std::ffi::OsStr::new(&$word).to_os_string()),*] };
}
pub(super) use words;

impl Stage {
    pub fn new(folder: &Folder, name: &str) -> Self {
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let folder = folder.path(&name);
        std::fs::create_dir_all(&folder).unwrap();
        Stage {
            folder,
            undo: Vec::new(),
        }
    }

    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.folder.join(name.as_ref())
    }

    /// A path whose name need not be UTF-8.
    pub fn bytes(&self, name: &[u8]) -> PathBuf {
        self.folder.join(OsString::from_vec(name.to_vec()))
    }

    pub fn make_folder(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Runs a command; what it wrote.
    pub fn run(&self, words: &[OsString]) -> Result<String, Cannot> {
        let mut command = Command::new("/usr/bin/env");
        command.env("PATH", PATH).args(words);
        let out = command.output().map_err(|e| e.to_string())?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).trim().to_string());
        }
        let said = String::from_utf8_lossy(&out.stderr).trim().to_string();
        Err(format!("{words:?}: {said}"))
    }

    /// A file with a small ext4 in it.
    pub fn image(&mut self, path: &Path) -> Result<PathBuf, Cannot> {
        self.sized(path, 8)?;
        self.run(&words![
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0",
            path
        ])?;
        Ok(path.to_path_buf())
    }

    /// An empty file of so many MiB.
    pub fn sized(&mut self, path: &Path, mib: u64) -> Result<PathBuf, Cannot> {
        std::fs::create_dir_all(path.parent().unwrap()).map_err(|e| e.to_string())?;
        let file = File::create(path).map_err(|e| e.to_string())?;
        file.set_len(mib * MIB).map_err(|e| e.to_string())?;
        Ok(path.to_path_buf())
    }

    /// A loop device over a path, with more options.
    pub fn attach_with(&mut self, path: &Path, options: &[&str]) -> Result<PathBuf, Cannot> {
        let mut words = words!["losetup", "--find", "--show"].to_vec();
        words.extend(options.iter().map(OsString::from));
        words.push(path.into());
        let device = PathBuf::from(self.run(&words)?);
        self.undo_by(words!["losetup", "-d", device]);
        Ok(device)
    }

    pub fn attach(&mut self, path: &Path) -> Result<PathBuf, Cannot> {
        self.attach_with(path, &[])
    }

    /// Mounts a device read-only (so that nothing but the guard could change it).
    pub fn mount(&mut self, device: &Path) -> Result<PathBuf, Cannot> {
        let point = self.make_folder(format!("point-{}", self.undo.len()));
        self.mount_at(device, &point)?;
        Ok(point)
    }

    pub fn mount_at(&mut self, device: &Path, point: &Path) -> Result<(), Cannot> {
        self.run(&words!["mount", "-o", "ro", device, point])?;
        self.undo_by(words!["umount", point]);
        Ok(())
    }

    /// An image, and a loop device over it.
    pub fn attached(&mut self) -> Result<(PathBuf, PathBuf), Cannot> {
        let file = self.image(&self.path("image"))?;
        let device = self.attach(&file)?;
        Ok((file, device))
    }

    /// An image that is mounted through a loop device: the file and the device.
    pub fn mounted(&mut self, path: &Path) -> Result<(PathBuf, PathBuf), Cannot> {
        let file = self.image(path)?;
        let device = self.attach(&file)?;
        self.mount(&device)?;
        Ok((file, device))
    }

    pub fn bind(&mut self, from: &Path, to: &Path) -> Result<(), Cannot> {
        self.run(&words!["mount", "--bind", from, to])?;
        self.undo_by(words!["umount", to]);
        Ok(())
    }

    pub fn tmpfs(&mut self, at: &Path) -> Result<(), Cannot> {
        self.run(&words![
            "mount", "-t", "tmpfs", "-o", "size=64m", "none", at
        ])?;
        self.undo_by(words!["umount", at]);
        Ok(())
    }

    pub fn swap_on(&mut self, path: &Path) -> Result<(), Cannot> {
        self.run(&words!["mkswap", path])?;
        self.run(&words!["swapon", path])?;
        self.undo_by(words!["swapoff", path]);
        Ok(())
    }

    /// A file without holes, as swap needs it.
    pub fn full(&mut self, path: &Path, mib: u64) -> Result<PathBuf, Cannot> {
        std::fs::create_dir_all(path.parent().unwrap()).map_err(|e| e.to_string())?;
        std::fs::write(path, vec![0; (mib * MIB) as usize]).map_err(|e| e.to_string())?;
        Ok(path.to_path_buf())
    }

    /// Another node of a device.
    pub fn node(&mut self, device: &Path, at: &Path) -> Result<PathBuf, Cannot> {
        use std::os::unix::fs::MetadataExt;
        let number = std::fs::metadata(device).map_err(|e| e.to_string())?.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        self.run(&words![
            "mknod",
            at,
            "b",
            major.to_string(),
            minor.to_string()
        ])?;
        File::open(at).map_err(|e| format!("device nodes do not work here: {e}"))?;
        Ok(at.to_path_buf())
    }

    /// Keeps a file open; the path through which it can be reached without its name.
    pub fn hold(&mut self, path: &Path) -> PathBuf {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let through = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        self.undo.push(Undo::Close(file));
        PathBuf::from(through)
    }

    /// As [`Stage::hold`], for what cannot be opened for writing (a device that is mounted).
    pub fn hold_to_read(&mut self, path: &Path) -> PathBuf {
        let file = File::open(path).unwrap();
        let through = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        self.undo.push(Undo::Close(file));
        PathBuf::from(through)
    }

    /// Keeps what is open already.
    pub fn keep(&mut self, file: File) {
        self.undo.push(Undo::Close(file));
    }

    /// Puts the rest of the way into a file system of its own, made by this command.
    pub fn new_file_system(&mut self, make: &str, mib: u64) -> Result<(), Cannot> {
        let file = self.sized(&self.path("system"), mib)?;
        let device = self.attach(&file)?;
        let mut words: Vec<_> = make.split_whitespace().map(OsString::from).collect();
        words.push(device.clone().into());
        self.run(&words)?;
        let point = self.make_folder("system-point");
        self.run(&words!["mount", device, point])?;
        self.undo_by(words!["umount", point]);
        self.folder = point;
        Ok(())
    }

    /// Runs a script in a mount namespace of its own, which lives as long as the stage; gives its
    /// process, once it has said that it is ready.
    pub fn elsewhere(&mut self, script: &str) -> Result<u32, Cannot> {
        self.script(&["unshare", "--mount", "--propagation", "private"], script)
    }

    /// As [`Stage::elsewhere`], in the namespace of the test.
    pub fn beside(&mut self, script: &str) -> Result<u32, Cannot> {
        self.script(&[], script)
    }

    fn script(&mut self, before: &[&str], script: &str) -> Result<u32, Cannot> {
        let script = format!("{script}\necho ready\nexec cat");
        let mut command = Command::new("/usr/bin/env");
        command
            .env("PATH", PATH)
            .args(before)
            .args(["sh", "-ec", &script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let read = said.read_line(&mut line);
        let id = child.id();
        self.undo.push(Undo::End(child));
        match read {
            Ok(_) if line == "ready\n" => Ok(id),
            _ => Err(format!("{before:?}: the script fails: {script}")),
        }
    }

    pub fn undo_by(&mut self, words: impl IntoIterator<Item = OsString>) {
        self.undo.push(Undo::Run(words.into_iter().collect()));
    }

    pub fn remove_at_end(&mut self, path: &Path) {
        self.undo.push(Undo::Remove(path.to_path_buf()));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Run(words) => {
                    if let Err(said) = self.run(&words) {
                        eprintln!("{said}");
                    }
                }
                Undo::Remove(path) => drop(std::fs::remove_file(path)),
                Undo::Close(_) => {}
                Undo::End(mut child) => {
                    drop(child.stdin.take());
                    let _ = child.wait();
                }
            }
        }
    }
}
