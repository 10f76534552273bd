//! Workloads inside the kernel: scripts with the functions `prepare` (not measured) and `work`
//! (measured), each with a fixed amount of work. Settings are shell variables that a user may change; a
//! user's own script is one more workload.

use nandscope_result::recording::CAMERA;

/// Programs that run on a mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name on the command line.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The script that defines `prepare` and `work`.
    pub script: String,
    /// Programs that it needs, and the Debian packages that have them.
    pub tools: Vec<(&'static str, &'static str)>,
}

/// The workloads that come with the program.
pub fn library() -> Vec<Workload> {
    let make = |name: &str, title: &str, script: &str, tools: &[_]| Workload {
        name: name.to_string(),
        title: title.to_string(),
        script: script.to_string(),
        tools: tools.to_vec(),
    };
    macro_rules! script {
        ($name:literal) => {
            include_str!(concat!("guest/workloads/", $name, ".sh"))
        };
    }
    let perl = ("perl", "perl-base");
    let tar = ("tar", "tar");
    vec![
        make(
            "postmark",
            "Postmark: 500 small files and 500 transactions, as a mail server has them",
            script!("postmark"),
            &[("postmark", "postmark")],
        ),
        make(
            "build",
            "A build of a generated source tree with make -j8",
            script!("build"),
            &[perl, ("make", "make")],
        ),
        make(
            "untar",
            "Unpacking a source tree of 1000 files from an archive",
            script!("untar"),
            &[perl, tar],
        ),
        make(
            "dbench",
            "The file operations of an office's file server, by four clients",
            script!("dbench"),
            &[perl],
        ),
        make(
            "copy",
            "Four folders of photos copied at once",
            script!("copy"),
            &[],
        ),
        make(
            "sqlite",
            "300 inserts into an SQLite database, each its own transaction",
            script!("sqlite"),
            &[("sqlite3", "sqlite3")],
        ),
        make(
            CAMERA,
            "Video of 40 Mbit/s recorded for a minute, the index updated every second",
            script!("camera"),
            &[perl],
        ),
        make(
            "log",
            "500 lines appended to a log, with fsync after each",
            script!("log"),
            &[perl],
        ),
        make(
            "create",
            "Files of 4 KiB, each brought to the card before the next is made",
            script!("create"),
            &[perl],
        ),
        make(
            "boot",
            "Reads as of a starting system: 400 files of a tree in a fixed, jumbled order",
            script!("boot"),
            &[perl, tar],
        ),
    ]
}

/// The workload with this name.
pub fn named(name: &str) -> Option<Workload> {
    library().into_iter().find(|w| w.name == name)
}

/// A user's script as a workload; it defines `work` and may define `prepare`.
pub fn own(name: &str, script: &str) -> Workload {
    Workload {
        name: name.to_string(),
        title: format!("The script {name}"),
        script: script.to_string(),
        tools: Vec::new(),
    }
}
