//! Confines this process to the files of its command (Landlock, Linux 5.13 and newer): even if a hostile file or client
//! exploits it, no other file is opened. On kernels without Landlock the command runs unconfined.
//!
//! Applies to the calling thread and threads that it starts later. Open files stay open. TCP connections are blocked as
//! well.

use nandscope_files::folder_of;
use std::path::{Path, PathBuf};

/// Files that a command may still open after confinement.
#[derive(Clone, Debug, Default)]
#[must_use = "it confines nothing until it is enforced"]
pub struct Confine {
    read: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
    everything: bool,
}

impl Confine {
    /// Every file may be read, executed, and controlled by ioctl. Programs that are started cannot write either.
    pub fn reading_everything(mut self) -> Self {
        self.everything = true;
        self
    }

    /// Allows reading these files, or all files in these folders.
    pub fn reading<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.read
            .extend(paths.into_iter().map(|p| p.as_ref().to_path_buf()));
        self
    }

    /// Allows creating, replacing and removing these files. This includes every file in their folders, and in the
    /// folders to which links of these names lead.
    pub fn writing<P: AsRef<Path>>(mut self, files: impl IntoIterator<Item = P>) -> Self {
        for file in files {
            let file = file.as_ref();
            if let Ok(target) = std::fs::read_link(file) {
                let linked = folder_of(file).join(target);
                self.folders.push(folder_of(&linked).to_path_buf());
            }
            self.folders.push(folder_of(file).to_path_buf());
        }
        self
    }

    /// Any file may be created in this folder, which need not exist yet.
    pub fn writing_in(mut self, folder: &Path) -> Self {
        let exists = |folder: &&Path| folder.is_dir();
        let found = folder.ancestors().find(exists);
        self.folders
            .push(found.map_or_else(|| PathBuf::from("."), Path::to_path_buf));
        self
    }

    /// Allows removing these sockets. This includes every file in their folders.
    pub fn removing<P: AsRef<Path>>(mut self, files: impl IntoIterator<Item = P>) -> Self {
        let own = Confine::default().writing(files).folders;
        self.sockets.extend(own);
        self
    }

    /// Confines this thread, as far as the kernel can. Returns whether it could.
    pub fn enforce(self) -> bool {
        nandscope_experiment::memory::remember();
        #[cfg(target_os = "linux")]
        return rules::enforce(&self);
        #[cfg(not(target_os = "linux"))]
        false
    }
}

#[cfg(target_os = "linux")]
mod rules {
    use super::Confine;
    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
        Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    };
    use std::path::PathBuf;

    /// Newest Landlock ABI that is used; on older kernels the supported subset of it applies.
    const NEWEST: ABI = ABI::V5;

    pub fn enforce(confine: &Confine) -> bool {
        // An error leaves the process unconfined: confinement is only a second line of defence.
        restrict(confine).is_ok_and(|status| status != RulesetStatus::NotEnforced)
    }

    fn restrict(confine: &Confine) -> Result<RulesetStatus, RulesetError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let write = read
            | AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir;
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .handle_access(AccessNet::from_all(NEWEST))?
            .create()?;
        let mut ruleset = allow(ruleset, &confine.read, read)?;
        if confine.everything {
            let look = AccessFs::from_read(NEWEST) | AccessFs::IoctlDev;
            ruleset = allow(ruleset, &[PathBuf::from("/")], look)?;
            ruleset = allow(
                ruleset,
                &[PathBuf::from("/dev/null")],
                AccessFs::WriteFile.into(),
            )?;
        }
        let ruleset = allow(ruleset, &confine.folders, write)?;
        let ruleset = allow(ruleset, &confine.sockets, AccessFs::RemoveFile.into())?;
        Ok(ruleset.restrict_self()?.ruleset)
    }

    fn allow(
        mut ruleset: RulesetCreated,
        paths: &[PathBuf],
        access: BitFlags<AccessFs>,
    ) -> Result<RulesetCreated, RulesetError> {
        for path in paths {
            // A missing path needs no rule: the command reports the error when it opens the path.
            let Ok(place) = PathFd::new(path) else {
                continue;
            };
            let access = if path.is_dir() {
                access
            } else {
                access & AccessFs::from_file(NEWEST)
            };
            ruleset = ruleset.add_rule(PathBeneath::new(place, access))?;
        }
        Ok(ruleset)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{ErrorKind, Write};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("nandscope-confine-{name}-{}", std::process::id());
            let folder = Folder(std::env::temp_dir().join(name));
            fs::create_dir_all(folder.0.join("inside")).unwrap();
            fs::create_dir_all(folder.0.join("outside")).unwrap();
            for file in ["inside/a", "outside/a", "outside/b"] {
                fs::write(folder.0.join(file), file).unwrap();
            }
            folder
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Runs `act` on a confined thread; reports that it is skipped if this kernel has no Landlock.
    fn confined(confine: Confine, act: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                if confine.enforce() {
                    act();
                } else {
                    let _ = writeln!(
                        std::io::stderr(),
                        "SKIPPED: this kernel has no Landlock, commands are not confined here"
                    );
                }
            });
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        });
    }

    #[test]
    fn only_what_was_named_can_be_read() {
        let folder = Folder::new("read");
        let at = |name: &str| folder.0.join(name);
        // A link from an allowed folder gives no access to its target.
        std::os::unix::fs::symlink(at("outside/b"), at("inside/link")).unwrap();
        let confine = Confine::default().reading([at("inside"), at("outside/a"), at("missing")]);
        confined(confine, || {
            assert_eq!(fs::read(at("inside/a")).unwrap(), b"inside/a");
            assert_eq!(fs::read(at("outside/a")).unwrap(), b"outside/a");
            for name in ["outside/b", "inside/link"] {
                let error = fs::read(at(name)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{name}");
            }
            for name in ["inside/new", "outside/new", "inside/a"] {
                let error = fs::write(at(name), "x").unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{name}");
            }
            assert!(fs::remove_file(at("inside/a")).is_err());
            // The existence of a file can still be seen.
            assert!(at("outside/b").exists());
        });
        assert_eq!(fs::read(at("outside/b")).unwrap(), b"outside/b");
    }

    #[test]
    fn what_only_looks_writes_nowhere() {
        let folder = Folder::new("look");
        let at = |name: &str| folder.0.join(name);
        confined(Confine::default().reading_everything(), || {
            assert_eq!(fs::read(at("outside/b")).unwrap(), b"outside/b");
            assert!(fs::write(at("inside/a"), "x").is_err());
            assert!(fs::write(at("inside/new"), "x").is_err());
            assert!(fs::remove_file(at("inside/a")).is_err());
            let run = |line: &str| {
                let mut command = std::process::Command::new("sh");
                command.args(["-c", line]).current_dir(&folder.0);
                command
                    .stdout(std::process::Stdio::null())
                    .status()
                    .unwrap()
            };
            assert!(run("cat outside/b > /dev/null").success());
            assert!(!run("echo x > outside/b 2> /dev/null").success());
        });
        assert_eq!(fs::read(at("outside/b")).unwrap(), b"outside/b");
    }

    #[test]
    fn files_can_be_made_and_replaced_where_they_were_named() {
        let folder = Folder::new("write");
        let at = |name: &str| folder.0.join(name);
        let confine = Confine::default()
            .writing([at("inside/result.json")])
            .writing_in(&at("inside/report/deeper"));
        confined(confine, || {
            fs::write(at("inside/partial"), "new").unwrap();
            fs::rename(at("inside/partial"), at("inside/result.json")).unwrap();
            fs::create_dir_all(at("inside/report/deeper")).unwrap();
            fs::write(at("inside/report/deeper/page"), "page").unwrap();
            let moved = fs::rename(at("inside/result.json"), at("outside/result.json"));
            assert!(moved.is_err());
            assert!(fs::write(at("outside/a"), "x").is_err());
        });
        assert_eq!(fs::read(at("inside/result.json")).unwrap(), b"new");
        assert_eq!(fs::read(at("outside/a")).unwrap(), b"outside/a");
    }

    #[test]
    fn names_of_sockets_can_be_removed_and_nothing_else() {
        let folder = Folder::new("socket");
        let at = |name: &str| folder.0.join(name);
        let socket = at("inside/card.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        confined(Confine::default().removing([&socket]), || {
            assert!(fs::read(at("inside/a")).is_err());
            assert!(fs::write(at("inside/new"), "x").is_err());
            fs::remove_file(&socket).unwrap();
        });
    }

    #[test]
    fn the_memory_left_before_confinement_is_remembered() {
        let known = nandscope_experiment::memory::left().is_some();
        // A confined thread cannot read /proc/meminfo.
        let seen = std::thread::spawn(|| {
            let confined = Confine::default().enforce();
            let readable = fs::read("/proc/meminfo").is_ok();
            (
                confined,
                readable,
                nandscope_experiment::memory::left().is_some(),
            )
        });
        let (confined, readable, remembered) = seen.join().unwrap();
        assert!(!confined || !readable, "confined, and still readable");
        assert_eq!(remembered, known);
    }
}
