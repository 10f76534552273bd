//! Successful runs of the binary: printed text, saved files, and reproducibility.

use crate::support::{Folder, TINY, tiny};
use nandscope_result::{EventKind, json};

const JOB: &str = "\
[global]
bs=4k
size=1m
filename=x
[fill]
rw=write
numjobs=2
group_reporting
write_bw_log
log_avg_msec=10
[load]
stonewall
rw=randrw
io_size=4m
iodepth=4
";

/// The document without fields that may differ between two runs.
fn without_wall(text: &str) -> String {
    let mut document = json::from_json(text, "test".as_ref()).unwrap();
    document.wall = Default::default();
    json::to_json(&document).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new("same-seed");
    folder.file("job.fio", JOB);
    for (seed, name) in [("7", "a.json"), ("7", "b.json"), ("8", "c.json")] {
        let ran = folder.run(&["run", "job.fio", &tiny(), "--seed", seed, "--result", name]);
        ran.succeeds();
    }
    let [a, b, c] = ["a.json", "b.json", "c.json"].map(|n| without_wall(&folder.read(n)));
    assert_eq!(a, b);
    assert_ne!(a, c);
}

#[test]
fn result_summary_and_logs() {
    let folder = Folder::new("result");
    folder.file("job.fio", JOB);
    let ran = folder.run(&[
        "run",
        "job.fio",
        &tiny(),
        "--result",
        "r.json",
        "--log-dir",
        "logs",
    ]);
    ran.succeeds();
    let document = json::read(&folder.0.join("r.json")).unwrap();
    assert!(document.complete);
    assert_eq!(document.steps.len(), 2);
    // Two clones of the first job are reported as one.
    assert_eq!(document.steps[0].jobs.len(), 1);
    assert_eq!(document.steps[0].jobs[0].directions[0].bytes, 2 << 20);
    assert_eq!(document.target.capacity_bytes, 2 << 20);
    assert!(
        document
            .target
            .parameters
            .iter()
            .any(|p| p.name == "channels")
    );
    // Bandwidth over all intervals is what was written: KiB/s times their lengths, which are 10 ms but for
    // the last one, whose end is cut to a millisecond.
    for log in ["fill_bw.1.log", "fill_bw.2.log"] {
        let text = folder.read(&format!("logs/{log}"));
        let (mut before, mut sum) = (0, 0);
        for line in text.lines() {
            let fields: Vec<u64> = line.split(", ").map(|f| f.parse().unwrap()).collect();
            assert!(fields[0] - before <= 10, "{text}");
            sum += fields[1] * (fields[0] - before) / 1000;
            before = fields[0];
        }
        assert!((950..=1030).contains(&sum), "{sum}\n{text}");
    }
}

#[test]
fn piped_output_has_no_colour_and_no_progress() {
    let folder = Folder::new("piped");
    folder.file("job.fio", JOB);
    folder.file("bad.fio", "[a]\nrx=1\n");
    for arguments in [
        &["run", "job.fio", &tiny()][..],
        &["run", "bad.fio", &tiny()],
        &["run", "job.fio", "sim:no"],
        &["devices"],
        &["devices", "show", "sm2708-250gb"],
        &["--help"],
        &["nothing"],
    ] {
        let ran = folder.run(arguments);
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text:?}");
        }
        assert!(!ran.err.contains("virtual"), "{}", ran.err);
    }
}

#[test]
fn a_kept_device_goes_on_where_it_was() {
    let folder = Folder::new("kept");
    folder.file("fill.fio", "[f]\nrw=write\nbs=64k\nsize=100%\n");
    folder.file("read.fio", "[r]\nrw=randread\nbs=4k\nnumber_ios=100\n");
    folder
        .run(&["run", "fill.fio", &tiny(), "--save", "used.dev"])
        .succeeds();
    let ran = folder.run(&[
        "run",
        "read.fio",
        "sim:saved:used.dev",
        "--result",
        "r.json",
    ]);
    ran.succeeds();
    let document = json::read(&folder.0.join("r.json")).unwrap();
    // The clock continues, and reads meet flash: nothing but the fill put data there.
    assert!(document.steps[0].start_s > 0.0);
    let reads = &document.steps[0].jobs[0].directions[0];
    assert!(
        reads.latency.mean_ns > 20_000.0,
        "{}",
        reads.latency.mean_ns
    );
    let mut bytes = std::fs::read(folder.0.join("used.dev")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.0.join("damaged.dev"), bytes).unwrap();
    folder
        .run(&["run", "read.fio", "sim:saved:damaged.dev"])
        .fails(2, &["damaged.dev", "damaged (wrong checksum"]);
}

#[test]
fn a_device_that_wears_out_ends_the_job_and_keeps_the_result() {
    let folder = Folder::new("worn-out");
    let worn = std::fs::read_to_string(TINY)
        .unwrap()
        .replace("cycles = 60000", "cycles = 1")
        .replace("cycles = 1500", "cycles = 1");
    folder.file("worn.toml", &worn);
    folder.file(
        "wear.fio",
        "[w]\nrw=randwrite\nbs=4k\niodepth=8\nio_size=1g\n",
    );
    folder
        .run(&[
            "run",
            "wear.fio",
            "sim:worn.toml",
            "--result",
            "r.json",
            "--save",
            "worn.dev",
        ])
        .fails(1, &["reached its end of life and is read-only"]);
    let document = json::read(&folder.0.join("r.json")).unwrap();
    assert!(!document.complete);
    let step = &document.steps[0];
    assert!(step.jobs[0].directions[0].operations > 500);
    let mut events = step.events.iter();
    let end = events.find(|e| e.kind == EventKind::EndOfLife).unwrap();
    assert!(end.t_s > step.start_s && end.t_s <= step.end_s);
    let looked = folder.run(&["inspect", "sim:saved:worn.dev"]);
    looked.succeeds();
    let read_only = looked.out.lines().find(|l| l.contains("read-only"));
    assert!(
        read_only.is_some_and(|l| l.contains("yes")),
        "{}",
        looked.out
    );
    folder.file("read.fio", "[r]\nrw=randread\nbs=4k\nnumber_ios=100\n");
    let read = folder.run(&["run", "read.fio", "sim:saved:worn.dev"]);
    assert_ne!(read.code, Some(4), "{}", read.err);
}

#[test]
fn states_before_the_run() {
    let folder = Folder::new("states");
    folder.file("read.fio", "[r]\nrw=randread\nbs=4k\nnumber_ios=50\n");
    folder.file(
        "full.fio",
        "[r]\nrw=randread\nbs=4k\nnumber_ios=50\nnandscope_fullness=50%\n",
    );
    for (file, state, said) in [
        ("read.fio", "sequential", "filled to 100 % in order"),
        ("read.fio", "random:80", "filled to 80 % in random order"),
        ("full.fio", "none", "filled to 50 % in order"),
    ] {
        let ran = folder.run(&["run", file, &tiny(), "--precondition", state]);
        ran.succeeds();
        assert!(ran.out.replace('\n', " ").contains(said), "{}", ran.out);
    }
}

#[test]
fn traces_of_the_library_and_of_files() {
    let folder = Folder::new("traces");
    std::fs::create_dir(folder.0.join("sub")).unwrap();
    folder.file(
        "sub/own.log",
        "fio version 2 iolog\n/a add\n/a open\n/a write 0 4096\n/a read 0 4096\n/a close\n",
    );
    folder.file("sub/own.fio", "[o]\nread_iolog=own.log\n");
    folder.file(
        "app.fio",
        "[o]\nread_iolog=package-install\nreplay_no_stall=1\niodepth=8\n",
    );
    let own = folder.run(&["run", "sub/own.fio", &tiny()]);
    own.succeeds();
    assert!(own.out.contains("has no times"), "{}", own.out);
    let app = folder.run(&["run", "app.fio", "sim:sm2708-250gb"]);
    app.succeeds();
    assert!(app.out.contains("flush: IOPS"), "{}", app.out);
    let info = folder.run(&["trace", "info", "sub/own.log"]);
    assert!(info.succeeds().out.contains("requests  2"), "{}", info.out);
    let list = folder.run(&["trace", "list"]);
    assert!(list.succeeds().out.contains("photo-import"));
}

#[test]
fn reports_and_comparisons_of_kept_results() {
    let folder = Folder::new("reports");
    folder.file("job.fio", JOB);
    for (seed, name) in [("1", "a.json"), ("2", "b.json")] {
        folder
            .run(&["run", "job.fio", &tiny(), "--seed", seed, "--result", name])
            .succeeds();
    }
    folder.run(&["report", "a.json", "-o", "report"]).succeeds();
    assert!(folder.read("report/report.html").contains("</html>"));
    let compare = folder.run(&["compare", "a.json", "b.json", "--html", "c.html"]);
    compare.succeeds();
    assert!(folder.read("c.html").contains("load: read bandwidth"));
    let json = folder.run(&["compare", "a.json", "b.json", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&json.succeeds().out).unwrap();
    assert_eq!(found["results"], serde_json::json!(["a.json", "b.json"]));
    let figures = found["figures"].as_array().unwrap();
    let read = figures
        .iter()
        .find(|f| f["title"] == "load: read bandwidth");
    assert!(
        read.is_some_and(|f| f["values"][1].as_f64() > Some(0.0)),
        "{found}"
    );
}

#[test]
fn jobs_written_for_fio_read_the_same() {
    let folder = Folder::new("emit");
    folder.file("job.fio", JOB);
    let emitted = folder.run(&["job", "emit-fio", "job.fio"]);
    folder.file("again.fio", &emitted.succeeds().out);
    let again = folder.run(&["job", "emit-fio", "again.fio"]);
    assert_eq!(emitted.out, again.succeeds().out);
}

#[test]
fn the_library_explains_itself() {
    let folder = Folder::new("library");
    let list = folder.run(&["devices"]);
    assert!(list.succeeds().out.contains("sm2708-250gb"));
    // Piped or not, names can be copied: none is broken over two lines.
    let json = folder.run(&["devices", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&json.succeeds().out).unwrap();
    for device in all["simulated"].as_array().unwrap() {
        let name = device["name"].as_str().unwrap();
        let whole = |line: &str| line.split_whitespace().next() == Some(name);
        assert!(list.out.lines().any(whole), "{name}:\n{}", list.out);
        assert!(device["capacity_bytes"].as_u64() > Some(0));
    }
    assert!(
        list.out.lines().all(|l| l.chars().count() <= 80),
        "{}",
        list.out
    );
    let shown = folder.run(&["devices", "show", "sm2708-250gb"]);
    let text = &shown.succeeds().out;
    for part in [
        "channel 1",
        "[■ ■] [■ ■]",
        "Sources",
        "[nand.native]",
        "dynamic_gb",
    ] {
        assert!(text.contains(part), "no {part}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 80));
}

#[test]
fn version_help_and_completions() {
    let folder = Folder::new("help");
    let version = folder.run(&["--version"]);
    assert_eq!(
        version.succeeds().out,
        concat!("nandscope ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = folder.run(&["--help"]);
    assert!(help.succeeds().out.contains("Examples:") && help.out.contains("Exit codes:"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            folder
                .run(&["completions", shell])
                .succeeds()
                .out
                .contains("nandscope")
        );
    }
}
