//! Every command that `nandscope advise` prints, run on a loop device.

use crate::support::Folder;
use crate::support::loops::{skipped, tool};
use nandscope_result::{Figure, ResultDocument, TargetInfo, json, procedure};
use std::process::Command;

/// A loop device over a sparse file; detached at the end.
struct Sparse(String);

impl Sparse {
    fn new(folder: &Folder, gib: u64) -> Option<Self> {
        let path = folder.0.join("card.img");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(gib << 30).unwrap();
        let path = path.to_str().unwrap();
        let device = tool("losetup", &["--find", "--show", "--partscan", path]);
        if device.is_none() {
            skipped("a loop device is not to be had here");
        }
        device.map(Sparse)
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.0]);
    }
}

/// Output of flashbench for a card whose allocation unit is `unit` KiB.
fn table(unit: u64) -> String {
    let odd = unit >> unit.trailing_zeros();
    let row = |kib: u64| {
        let diff = match kib {
            a if a < 16 => "2µs",
            a if a % unit > 0 => "378µs",
            _ => "858µs",
        };
        let align = kib << 10;
        format!("align {align}\tpre 1.01ms\ton 1.4ms\tpost 1.01ms\tdiff {diff}\n")
    };
    // With powers of two among the sizes, units of 3 MiB and 1 MiB give different tables.
    let mut sizes: Vec<u64> = (0..20).flat_map(|k| [1 << k, odd << k]).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().rev().map(row).collect()
}

fn shell(command: &str) {
    let done = Command::new("sh").args(["-c", command]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command}: {said}");
}

fn supported(name: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|l| l.trim_end().ends_with(name))
}

/// Runs the commands of one piece of advice, for each file system in turn.
fn run_all(folder: &Folder, device: &Sparse, unit: u64) {
    folder.file("align.txt", &table(unit));
    let probe = ["probe", "--from-flashbench", "align.txt", "-o", "report"];
    folder.run(&probe).succeeds();
    let advise = [
        "advise",
        "report/result.json",
        "--for",
        "rootfs",
        "--on",
        &device.0,
        "--json",
    ];
    let output = folder.command(&advise).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let commands = all.as_array().unwrap().iter();
    let commands: Vec<(&str, &str)> = commands
        .filter_map(|a| Some((a["about"].as_str()?, a["command"].as_str()?)))
        .collect();
    let mount = commands.iter().find(|c| c.0 == "mount").unwrap().1;
    let f2fs = commands.iter().find(|c| c.0 == "F2FS").unwrap().1;
    assert!(unit < 3 << 10 || f2fs.contains("-s "), "{unit} KiB: {f2fs}");
    let mut mounted = 0;
    for (about, command) in commands {
        if command.starts_with("mount") {
            continue;
        }
        shell(command);
        if !command.starts_with("mkfs") {
            continue;
        }
        if supported(&about.to_lowercase()) {
            // In a separate mount namespace, which nobody else sees.
            shell(&format!("unshare -m sh -c '{mount} && umount /mnt'"));
            mounted += 1;
        }
        // mkfs commands refuse to replace another file system.
        shell(&format!("wipefs --all --quiet {}p1", device.0));
    }
    assert!(mounted > 0, "not even ext4 could be mounted");
}

#[test]
fn every_command_runs_on_a_device() {
    let folder = Folder::new("advise-run");
    let tools = [
        "parted",
        "mkfs.ext4",
        "mkfs.f2fs",
        "mkfs.nilfs2",
        "mkfs.exfat",
    ];
    for name in tools {
        if Command::new(name).arg("-V").output().is_err() {
            skipped(&format!("{name} is not installed"));
            return;
        }
    }
    let Some(device) = Sparse::new(&folder, 32) else {
        return;
    };
    for unit in [1 << 10, 3 << 10, 4 << 10, 7 << 10, 128 << 10] {
        run_all(&folder, &device, unit);
    }
}

/// A result of `nandscope fs` with these figures.
fn measured(folder: &Folder, name: &str, figures: &[(&str, f64)]) {
    let figure = |(id, value): &(&str, f64)| Figure {
        id: id.to_string(),
        title: id.to_string(),
        value: *value,
        unit: "s".to_string(),
        ..Figure::default()
    };
    let document = ResultDocument {
        figures: figures.iter().map(figure).collect(),
        ..ResultDocument::begin(
            procedure::FILE_SYSTEMS,
            "File systems".to_string(),
            1,
            TargetInfo::default(),
        )
    };
    folder.file(name, &json::to_json(&document).unwrap());
}

/// Commands that a shell would run of the advice for a card with AUs of 4 MiB.
fn advised(folder: &Folder, arguments: &[&str]) -> (String, Vec<String>) {
    let mut all = vec!["advise", "report/result.json"];
    all.extend(arguments);
    let ran = folder.run(&all);
    let text = ran.succeeds().out.clone();
    let active = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let active = active.map(str::to_string).collect();
    (text, active)
}

#[test]
fn what_the_card_is_for_decides_and_nothing_slow_is_made() {
    let folder = Folder::new("advise-for");
    folder.file("align.txt", &table(4 << 10));
    let probe = ["probe", "--from-flashbench", "align.txt", "-o", "report"];
    folder.run(&probe).succeeds();
    folder
        .run(&["advise", "report/result.json"])
        .fails(2, &["--for"]);
    // NILFS2 is the slowest for video, and none keeps up.
    let late = [
        ("fs.camera-nilfs2.late", 31.5),
        ("fs.camera-ext4.late", 12.0),
        ("fs.camera-f2fs.late", 9.0),
        ("fs.camera-vfat.late", 4.5),
        ("fs.camera-exfat.late", 3.25),
        ("fs.log-nilfs2.time", 2.0),
        ("fs.log-exfat.time", 7.0),
    ];
    measured(&folder, "fs.json", &late);
    let camera = ["--for", "camera", "--measured", "fs.json"];
    let (text, active) = advised(&folder, &camera);
    assert!(text.contains("no file system keeps up"), "{text}");
    assert!(active.iter().all(|l| l.starts_with("parted")), "{text}");
    let place = |name: &str| text.find(&format!("# not advised: mkfs.{name}")).unwrap();
    assert!(
        place("exfat") < place("vfat") && place("vfat") < place("f2fs"),
        "{text}"
    );
    assert!(place("ext4") < place("nilfs2"), "{text}");
    let log = ["--for", "log", "--measured", "fs.json"];
    let (text, active) = advised(&folder, &log);
    let made: Vec<_> = active.iter().filter(|l| l.starts_with("mkfs")).collect();
    assert!(
        matches!(&made[..], [one] if one.starts_with("mkfs.nilfs2")),
        "{text}"
    );
    let database = [
        "advise",
        "report/result.json",
        "--for",
        "database",
        "--measured",
        "fs.json",
    ];
    folder
        .run(&database)
        .fails(2, &["fs.json", "--workload sqlite"]);
    let probe = [
        "advise",
        "report/result.json",
        "--for",
        "log",
        "--measured",
        "report/result.json",
    ];
    folder
        .run(&probe)
        .fails(2, &["not a result of `nandscope fs`"]);
}

/// The file systems of the table by which `advise` ranks them, in the order of its columns.
const COLUMNS: [&str; 5] = ["ext4", "f2fs", "nilfs2", "vfat", "exfat"];
/// Workloads of the table that docs/filesystems.md does not have, and the figure that ranks file systems.
const OWN: [(&str, &str); 3] = [("camera", "late"), ("log", "time"), ("sqlite", "time")];

/// Rows of the table for these cards (name, `open AUs | AU in MiB`), measured; the results are in `out`.
fn rows(folder: &Folder, cards: &[(String, String)], out: &str) -> Vec<String> {
    let workloads = OWN.map(|(workload, _)| workload).join(",");
    let targets: Vec<String> = cards
        .iter()
        .map(|(card, _)| format!("sim:{card}"))
        .collect();
    let mut arguments = vec![
        "fs",
        "--host",
        "sabrelite",
        "--workload",
        &workloads,
        "-o",
        out,
    ];
    arguments.extend(targets.iter().map(String::as_str));
    folder.run(&arguments).succeeds();
    let value = |card: &str, id: &str| -> f64 {
        let name = match cards {
            [_] => format!("{out}/result.json"),
            _ => format!("{out}/{card}/result.json"),
        };
        let result = json::from_json(&folder.read(&name), name.as_ref()).unwrap();
        result.figures.iter().find(|f| f.id == id).unwrap().value
    };
    let mut rows = Vec::new();
    for (workload, figure) in OWN {
        for (card, structure) in cards {
            let cell = |fs: &str| {
                format!(
                    "{:.2}",
                    value(card, &format!("fs.{workload}-{fs}.{figure}"))
                )
            };
            let cells = COLUMNS.map(cell).join(" | ");
            rows.push(format!("{workload} | {card} | {structure} | {cells}"));
        }
    }
    rows
}

/// Whether two rows of the table are equal but for 3 % of their times and one in the last digit: scripts and mkfs programs of
/// other versions write a little more or less.
fn are_close(stored: &str, measured: &str) -> bool {
    let (stored, measured): (Vec<_>, Vec<_>) = (
        stored.split(" | ").collect(),
        measured.split(" | ").collect(),
    );
    let is_close = |(a, b): (&&str, &&str)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 0.03 * b + 0.01,
        _ => a == b,
    };
    stored.len() == measured.len() && stored.iter().zip(&measured).all(is_close)
}

#[test]
#[ignore = "slow: boots kernels; UPDATE=1 measures the rows of all cards, half an hour"]
fn slow_the_table_of_file_systems_is_what_fs_measures() {
    let folder = Folder::new("advise-table");
    if crate::support::guest::kernel(&folder, "the table of file systems").is_none() {
        return;
    }
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../infer/src/probe/advice/file_systems.txt"
    );
    let table = std::fs::read_to_string(path).unwrap();
    let mut cards: Vec<(String, String)> = Vec::new();
    for line in table.lines().filter(|l| l.starts_with("postmark")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        cards.push((cells[1].to_string(), format!("{} | {}", cells[2], cells[3])));
    }
    let is_own = |line: &&str| {
        OWN.iter()
            .any(|(name, _)| line.starts_with(&format!("{name} |")))
    };
    if std::env::var_os("UPDATE").is_some() {
        let mut lines: Vec<String> = table
            .lines()
            .filter(|l| !is_own(l))
            .map(str::to_string)
            .collect();
        lines.extend(rows(&folder, &cards, "all"));
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
        return;
    }
    let stored: Vec<&str> = table.lines().filter(is_own).collect();
    if stored.is_empty() {
        skipped("the table has no rows for cameras, logs and databases; UPDATE=1 measures them");
        return;
    }
    cards.retain(|(card, _)| card == "kingston-8gb");
    for row in rows(&folder, &cards, "one") {
        assert!(
            stored.iter().any(|stored| are_close(stored, &row)),
            "UPDATE=1 measures all rows again: {row}"
        );
    }
}
