//! Effects of `nandscope fs` on the machine that it runs on: a script inside changes nothing, no folder is left
//! behind, and only the chosen source of a kernel is used. Slow, and only if `nandscope kernel build`
//! has made a kernel: without one each of these tests says that it was skipped.

#![cfg(target_os = "linux")]
use crate::support;
use crate::support::Folder;
use crate::support::guest::{kernel, processes, skipped, wait_until};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const CARD: &str = "sim:samsung-evo-16gb";

/// Tries every way to change files of the host in `@HOST@`, and fails if one succeeds.
const HOSTILE: &str = r#"
attempt() {
    if bash -c "$1" >/run/said 2>&1; then
        failed "a script changed the host: $1"
    fi
}

work() {
    mkdir -p /run/again
    mount -t hostfs -o @HOST@ none /run/again || failed "hostfs is not mounted a second time"
    [ "$(cat /run/again/precious)" = kept ] || failed "the second hostfs has not the files of the host"
    # Whether the kernel inside lets this be: the host decides.
    mount -o remount,rw /
    mount -o remount,rw /run/again
    for top in @HOST@ /run/again; do
        for change in "echo x >$top/precious" "echo x >>$top/precious" "truncate -s 0 $top/precious" \
            "rm $top/precious" "mv $top/precious $top/other" "ln $top/precious $top/other" \
            "chmod 777 $top/precious" "chown 1:1 $top/precious" "touch -d 2001-01-01 $top/precious" \
            "echo x >$top/new" "mkdir $top/new" "ln -s precious $top/new" "mkfifo $top/new" \
            "mknod $top/new b 254 0" "rmdir $top/folder" "chmod 700 $top/folder"; do
            attempt "$change"
        done
    done
    echo x >"$MNT/file" || failed "the card is not written"
    @MORE@
}
"#;

/// A folder with something precious in it.
struct Host(PathBuf);

impl Host {
    fn in_folder(folder: &Path) -> Host {
        let path = folder.join("host");
        std::fs::create_dir_all(path.join("folder")).unwrap();
        std::fs::write(path.join("precious"), "kept\n").unwrap();
        // Everyone may write: protection must not depend on the user ID inside.
        for (name, mode) in [("", 0o777), ("precious", 0o666)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path.join(name), permissions).unwrap();
        }
        Host(path)
    }

    fn script(&self, more: &str) -> String {
        HOSTILE
            .replace("@HOST@", self.0.to_str().unwrap())
            .replace("@MORE@", more)
    }

    /// Name, mode, owner and times of each file that a script could have changed.
    fn state(&self) -> Vec<(String, u32, u32, i64, i64)> {
        let mut state: Vec<_> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let m = entry.metadata().unwrap();
                let name = entry.file_name().into_string().unwrap();
                (name, m.mode(), m.uid(), m.mtime(), m.ctime_nsec())
            })
            .collect();
        state.sort();
        state
    }
}

/// Whether this system confines processes.
fn confined(test: &str) -> bool {
    let folder = std::env::temp_dir();
    let keeper = nandscope_uml::confine::spawn(Command::new("true"), &[&folder]);
    let enforced = keeper.is_ok_and(|(mut child, keeper)| {
        let _ = child.wait();
        keeper.is_enforced()
    });
    if !enforced {
        skipped(test, "this system has no Landlock");
    }
    enforced
}

#[test]
#[ignore = "slow: boots kernels"]
fn slow_a_script_cannot_change_the_host() {
    let folder = Folder::new("fs-host");
    if kernel(&folder, "a hostile script").is_none() || !confined("a hostile script") {
        return;
    }
    let host = Host::in_folder(&folder.0);
    let before = host.state();
    folder.file("hostile.sh", &host.script(""));
    folder
        .run(&["fs", CARD, "--fs", "vfat", "--script", "hostile.sh"])
        .succeeds();
    assert_eq!(host.state(), before);
    assert_eq!(folder.read("host/precious"), "kept\n");
}

/// Runs as a user without permission to read some files: root in the kernel inside cannot read them either.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_a_script_reads_what_its_user_may_read() {
    let folder = Folder::new("fs-nobody");
    let Some(kernel) = kernel(&folder, "a script of nobody's") else {
        return;
    };
    if !confined("a script of nobody's") {
        return;
    }
    let base = std::env::temp_dir().join(format!("nandscope-nobody-{}", std::process::id()));
    let _removed = Folder(base.clone());
    std::fs::create_dir(&base).unwrap();
    let [linux, binary] = ["linux", "nandscope"].map(|name| base.join(name));
    std::fs::copy(kernel, &linux).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_nandscope"), &binary).unwrap();
    let host = Host::in_folder(&base);
    std::fs::create_dir(base.join("tmp")).unwrap();
    for (name, mode) in [
        ("", 0o755),
        ("tmp", 0o777),
        ("linux", 0o755),
        ("nandscope", 0o755),
    ] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(base.join(name), permissions).unwrap();
    }
    std::fs::write(base.join("secret"), "x").unwrap();
    std::fs::set_permissions(base.join("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let secret = base.join("secret");
    let more = format!(
        "for file in /etc/shadow {}; do attempt \"cat $file\"; done",
        secret.display()
    );
    std::fs::write(base.join("hostile.sh"), host.script(&more)).unwrap();
    let nobody = [
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "--",
    ];
    let run = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(nobody).arg(program).args(arguments);
        command.current_dir(&base).env("TMPDIR", base.join("tmp"));
        command.output().unwrap()
    };
    if !run(&binary, &["--version"]).status.success() {
        skipped(
            "a script of nobody's",
            "programs cannot be started as nobody",
        );
        return;
    }
    let cell = [
        "fs",
        CARD,
        "--fs",
        "vfat",
        "--script",
        "hostile.sh",
        "--kernel",
    ];
    let cell = [&cell[..], &[linux.to_str().unwrap()]].concat();
    let ran = run(&binary, &cell);
    let text = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{text}");
}

/// A run that never ends by itself, with its own temporary folder.
struct Spinning<'a> {
    folder: &'a Folder,
    linux: String,
}

impl Spinning<'_> {
    fn start(&self) -> Child {
        let arguments = [
            "fs", CARD, "--fs", "vfat", "--script", "spins.sh", "--kernel",
        ];
        let mut command = self.folder.command(&arguments);
        command.arg(&self.linux).env("TMPDIR", self.temporary());
        let child = command.process_group(0).spawn().unwrap();
        // The kernel and the shell in it: a process just created may be stopped, and cannot be ended with the kernel.
        wait_until("the script spins", || {
            let processes = processes(&self.linux);
            processes.iter().filter(|p| has_run(**p)).count() > 1
        });
        child
    }

    fn temporary(&self) -> PathBuf {
        self.folder.0.join("tmp")
    }

    /// Folders of runs: temporary ones, and those of one process in memory.
    fn left(&self, process: u32) -> Vec<String> {
        let ours = format!("nandscope-kernel-{process}-");
        let names = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .map(|e| e.file_name().to_string_lossy().into_owned())
                .collect()
        };
        let mut left = names(&self.temporary());
        let memory = names(Path::new("/dev/shm")).into_iter();
        left.extend(memory.filter(|name| name.starts_with(&ours)));
        left
    }
}

/// Whether a process has used a tenth of a second of processor time.
fn has_run(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Fields after the name, which may contain anything: the first is the state, the twelfth the user time.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().nth(11);
    ticks.and_then(|ticks| ticks.parse::<u64>().ok()) >= Some(10)
}

#[test]
#[ignore = "slow: boots kernels"]
fn slow_the_folders_of_a_run_go_with_it_or_with_the_next() {
    let folder = Folder::new("fs-folders");
    let Some(kernel) = kernel(&folder, "folders of runs") else {
        return;
    };
    let linux = folder.0.join("linux-of-folders");
    std::fs::copy(&kernel, &linux).unwrap();
    std::fs::create_dir(folder.0.join("tmp")).unwrap();
    folder.file("spins.sh", "work() { while :; do :; done; }\n");
    folder.file("fails.sh", "work() { try false; }\n");
    let spinning = Spinning {
        folder: &folder,
        linux: linux.to_str().unwrap().to_string(),
    };
    // The signal goes to the whole group, as from a terminal, or to the process alone.
    for (signal, group) in [("INT", "-"), ("TERM", ""), ("HUP", "-")] {
        let mut child = spinning.start();
        let to = format!("{group}{}", child.id());
        let sent = Command::new("kill")
            .args(["-s", signal, "--", &to])
            .status();
        assert!(sent.unwrap().success());
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(130), "{signal}");
        assert_eq!(spinning.left(child.id()), [""; 0], "{signal}");
        wait_until(signal, || processes(&spinning.linux).is_empty());
    }
    // A failed run leaves its logs only.
    let failing = ["fs", CARD, "--fs", "vfat", "--script", "fails.sh"];
    let mut command = folder.command(&failing);
    let output = command
        .env("TMPDIR", spinning.temporary())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let [logs] = &spinning.left(0)[..] else {
        panic!("{:?}", spinning.left(0))
    };
    assert!(logs.starts_with("nandscope-logs-"), "{logs}");
    let logs = spinning.temporary().join(logs);
    assert!(
        std::fs::read_to_string(logs.join("console.log"))
            .unwrap()
            .contains("@failed")
    );
    std::fs::remove_dir_all(&logs).unwrap();
    // A killed run cannot remove its folders; the next run does.
    let mut child = spinning.start();
    child.kill().unwrap();
    child.wait().unwrap();
    let left = spinning.left(child.id());
    assert!(!left.is_empty(), "nothing was left, and nothing is tested");
    wait_until("the kernel is gone", || {
        processes(&spinning.linux).is_empty()
    });
    let next = [
        "fs",
        CARD,
        "--fs",
        "vfat",
        "--workload",
        "log",
        "--setting",
        "LOG_LINES=2",
    ];
    let mut command = folder.command(&next);
    let output = command
        .env("TMPDIR", spinning.temporary())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(spinning.left(child.id()), [""; 0]);
}

#[test]
fn a_source_with_another_checksum_is_not_used() {
    let folder = Folder::new("fs-source");
    folder.file("linux.tar", "no tarball at all");
    let other = "0".repeat(64);
    let build = |arguments: &[&str]| {
        let mut command = folder.command(&[&["kernel", "build", "--source"], arguments].concat());
        support::Ran::from(command.env("XDG_CACHE_HOME", &folder.0).output().unwrap())
    };
    build(&["linux.tar", "--sha256", &other]).fails(2, &["linux.tar: its SHA-256 is", &other]);
    build(&["linux.tar", "--sha256", "12"]).fails(2, &["--sha256", "64 hexadecimal digits"]);
    build(&[".", "--sha256", &other]).fails(2, &["--sha256", "a folder has no checksum"]);
    build(&["linux.tar"]).fails(2, &["unknown to nandscope", "is not a source of Linux"]);
    build(&["missing.tar"]).fails(3, &["missing.tar"]);
    assert_eq!(folder.names(), ["linux.tar"]);
}
