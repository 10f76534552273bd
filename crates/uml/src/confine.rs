//! Confines a child process to the folders that it may write, by Landlock if available (Linux 5.13, and
//! enabled). It reads and executes what its user may, writes nowhere else, and opens no network
//! connection. A filter of system calls keeps it from changing modes, owners and time stamps of files,
//! for which Landlock has no rules.
//!
//! It is for the user-mode kernel: root inside may remount the files of the host writable.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// The newest rules; older systems enforce those that they support.
const RULES: ABI = ABI::V6;

/// Guard of a confined process; drop it after the process has ended.
///
/// A restriction applies to a thread and its children. The thread has to live as long as the process: a
/// process with a parent-death signal is killed when the thread that started it ends.
#[derive(Debug)]
pub struct Keeper {
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    enforced: bool,
}

impl Keeper {
    /// True if the system enforces at least some of the rules.
    pub fn is_enforced(&self) -> bool {
        self.enforced
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts a process that, with its children, writes only in the folders `writable`.
///
/// # Errors
/// `io::Error` if a folder is missing or the process cannot be started.
pub fn spawn(mut command: Command, writable: &[&Path]) -> io::Result<(Child, Keeper)> {
    let folders: Vec<PathBuf> = writable.iter().map(|f| f.to_path_buf()).collect();
    let (say, hear) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let thread = std::thread::Builder::new()
        .name("confined".to_string())
        .spawn(move || {
            let started = restrict(&folders).and_then(|on| Ok((command.spawn()?, on)));
            if say.send(started).is_ok() {
                // Nothing is ever sent: this returns when the guard is dropped.
                let _ = ended.recv();
            }
        })?;
    let gone = |_| io::Error::other("the thread that starts the process ended");
    let (child, enforced) = hear.recv().map_err(gone)??;
    let keeper = Keeper {
        end: Some(end),
        thread: Some(thread),
        enforced,
    };
    Ok((child, keeper))
}

/// True if the system can confine processes.
pub fn is_supported() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| ruleset.create())
        .is_ok()
}

/// Restricts this thread; whether the system does anything about it.
fn restrict(writable: &[PathBuf]) -> io::Result<bool> {
    let open = |path: &Path| {
        PathFd::new(path).map_err(|e| io::Error::other(format!("{}: {e}", path.display())))
    };
    let root = PathBeneath::new(open(Path::new("/"))?, AccessFs::from_read(RULES));
    let null = PathBeneath::new(open(Path::new("/dev/null"))?, AccessFs::WriteFile);
    // A device node made in such a folder would lead to the disks of the host.
    let nodes = AccessFs::MakeChar | AccessFs::MakeBlock;
    let inside = AccessFs::from_all(RULES) & !nodes;
    let mut rules = vec![root, null];
    for folder in writable {
        rules.push(PathBeneath::new(open(folder)?, inside));
    }
    let enforced = restrict_to(rules).map_err(io::Error::other)?;
    #[cfg(target_arch = "x86_64")]
    if enforced {
        crate::filter::apply()?;
    }
    Ok(enforced)
}

fn restrict_to(rules: Vec<PathBeneath<PathFd>>) -> Result<bool, RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))?
        .handle_access(AccessNet::from_all(RULES))?
        .scope(Scope::from_all(RULES))?
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::process::Stdio;

    /// Runs a shell command confined to a folder; returns its success, or `None` if the system cannot
    /// confine.
    fn runs(line: &str, folder: &Path) -> Option<bool> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (mut child, keeper) = spawn(command, &[folder]).unwrap();
        let done = child.wait().unwrap().success();
        if !keeper.is_enforced() {
            eprintln!("SKIPPED: confine: this system has no Landlock");
        }
        keeper.is_enforced().then_some(done)
    }

    #[test]
    fn a_confined_process_writes_in_its_folder_only() {
        let base = std::env::temp_dir();
        let [mine, others] = ["mine", "others"]
            .map(|n| Scratch::new(&base, &format!("nandscope-confine-{n}")).unwrap());
        let file = others.path().join("file");
        std::fs::write(&file, "precious").unwrap();
        let name = file.display();
        for forbidden in [
            format!("echo x > {name}"),
            format!("echo x >> {name}"),
            format!("rm {name}"),
            format!("ln {name} here"),
            format!("mv {name} here"),
            format!("touch {name}.new"),
            format!("mkdir {name}.new"),
            format!("ln -s x {name}.new"),
            // Also by what it starts.
            format!("sh -c 'sh -c \"echo x > {name}\"'"),
            "mknod here b 7 0".to_string(),
            format!("truncate -s 0 {name}"),
            format!("chmod 600 {name}"),
            format!("chown 1 {name}"),
            format!("touch -d 2001-01-01 {name}"),
            format!("setfattr -n user.x -v y {name}"),
        ] {
            let Some(done) = runs(&forbidden, mine.path()) else {
                return;
            };
            assert!(!done, "{forbidden}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
        }
        for allowed in [
            format!("cat {name}"),
            "echo x > new && mkdir folder && mv new folder && rm -r folder".to_string(),
            "mkfifo fifo && echo x > /dev/null".to_string(),
        ] {
            assert_eq!(runs(&allowed, mine.path()), Some(true), "{allowed}");
        }
        assert_eq!(std::fs::read_dir(others.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_thread_that_asks_is_not_confined() {
        let base = std::env::temp_dir();
        let mine = Scratch::new(&base, "nandscope-confine-free").unwrap();
        runs("true", mine.path());
        let other = Scratch::new(&base, "nandscope-confine-free").unwrap();
        std::fs::write(other.path().join("file"), "x").unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = spawn(Command::new("true"), &[Path::new("/no/such")]).unwrap_err();
        assert!(error.to_string().contains("/no/such"), "{error}");
    }
}
