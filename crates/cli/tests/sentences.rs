//! Every sentence that a report makes is recomputed from the result document by a script that shares nothing with the
//! product (tests/report/check_sentences.py).

#[cfg(target_os = "linux")]
use crate::support::block::{Mounted, can_mount};
#[cfg(target_os = "linux")]
use crate::support::loops::Loop;
use crate::support::serving::have;
use crate::support::{Folder, tiny};
use serde_json::Value;
use std::process::Command;

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/report/check_sentences.py"
);

/// Arguments of a review, without its folder.
type Review<'a> = &'a [&'a str];

/// Reviews and has the script check the reports.
#[track_caller]
fn all_true(folder: &Folder, reviews: &[Review]) {
    let mut names = Vec::new();
    for (i, arguments) in reviews.iter().enumerate() {
        let name = format!("report-{i}");
        let mut whole = vec!["review"];
        whole.extend(*arguments);
        whole.extend(["-o", &name]);
        folder.run(&whole).succeeds();
        names.push(name);
    }
    check(folder, &names);
}

#[track_caller]
fn check(folder: &Folder, names: &[String]) {
    check_beside(folder, names, &[]);
}

/// As `check`, for reports that `options` compare with a shelf.
#[track_caller]
fn check_beside(folder: &Folder, names: &[String], options: &[&str]) {
    let checked = Command::new("python3")
        .arg(SCRIPT)
        .args(options)
        .args(names)
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{said}");
    assert_eq!(said.matches(", 0 faults").count(), names.len(), "{said}");
}

#[test]
fn every_sentence_of_short_reviews_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences");
    all_true(
        &folder,
        &[
            &[&tiny(), "--suite", "fill"],
            &["sim:samsung-evo-16gb", "--suite", "speed-class", "--quick"],
            &["sim:plextor-m6e-256gb", "--suite", "iometer", "--quick"],
            &["./test.img", "--size", "64M", "--suite", "fill", "--quick"],
        ],
    );
    // Too short a write gives no verdict, in virtual time and in real time.
    for name in ["report-0", "report-3"] {
        let page = folder.read(&format!("{name}/report.html"));
        assert!(page.contains("Cannot tell, as the longest sequential write was"));
    }
    // The verdict begins with the purpose of the suite, and names weaknesses.
    let page = folder.read("report-1/report.html");
    assert!(page.contains("(recording into empty areas, slowest)"));
    assert!(page.contains("<strong>Weaknesses.</strong>"));
}

#[test]
fn a_card_is_shown_with_its_mean_and_its_weaknesses() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-card");
    let review = ["sim:samsung-evo-16gb", "--quick", "--mode", "UHS-I reader"];
    all_true(&folder, &[&review]);
    let page = folder.read("report-0/report.html").replace('\u{202f}', " ");
    let verdict = page.split("class=\"verdict\"").nth(1).unwrap();
    let verdict = verdict.split("</div>").next().unwrap();
    for part in [
        "MB/s on average, ",
        " MB/s in the slowest tenth of the time",
        " IOPS in 4 KiB random writes at queue depth 1",
        "last place in Energy per GB",
        "9 of 9",
    ] {
        assert!(verdict.contains(part), "{part}: {verdict}");
    }
    assert!(!verdict.contains("throughout"));
    // The script detects a rate that is not the bytes written divided by the time.
    let number_before = |what: &str| {
        let at = verdict.find(what).unwrap();
        let before = verdict[..at].rsplit([' ', '>']).next().unwrap();
        format!("{before}{what}")
    };
    let mean = number_before(" MB/s on average");
    let slowest = number_before(" MB/s in the slowest tenth");
    for (right, wrong) in [
        (&*mean, &*format!("9{mean}")),
        (" MB/s on average", " MB/s throughout"),
        (&*slowest, &*format!("9{slowest}")),
        (
            " IOPS in 4 KiB random writes",
            " IOPS in 4 KiB random reads",
        ),
        ("9 of 9", "26 of 27"),
        ("writes at ", "writes at 9"),
        (
            "RND4K Q1T1, fresh, best run",
            "RND4K Q32T1, fresh, best run",
        ),
    ] {
        let at = page.find("class=\"verdict\"").unwrap();
        let (before, after) = page.split_at(at);
        let changed = format!("{before}{}", after.replacen(right, wrong, 1));
        folder.file("report-0/report.html", &changed);
        let checked = Command::new("python3")
            .args([SCRIPT, "report-0"])
            .current_dir(&folder.0)
            .output()
            .unwrap();
        assert!(!checked.status.success(), "{right} as {wrong}");
    }
}

/// A result of another target with every figure multiplied.
fn varied(text: &str, name: &str, factors: &dyn Fn(&str) -> f64) -> String {
    let mut document: Value = serde_json::from_str(text).unwrap();
    document["target"]["name"] = name.into();
    let steps = document["steps"].as_array_mut().unwrap().iter_mut();
    let mut lists: Vec<&mut Value> = steps.map(|s| &mut s["figures"]).collect();
    for figure in lists.iter_mut().flat_map(|l| l.as_array_mut().unwrap()) {
        let factor = factors(figure["id"].as_str().unwrap());
        figure["value"] = (figure["value"].as_f64().unwrap() * factor).into();
    }
    document.to_string()
}

#[test]
fn what_is_unusual_among_the_drives_of_a_shelf_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-unusual");
    folder
        .run(&["review", "sim:kingston-8gb", "--quick", "-o", "report"])
        .succeeds();
    let text = folder.read("report/result.json");
    for i in 0..6 {
        let factor = 0.9 + 0.04 * f64::from(i);
        let name = format!("sim:other-{i}");
        let file = folder.file("other.json", &varied(&text, &name, &|_| factor));
        let (file, name) = (file.to_str().unwrap(), format!("other-{i}"));
        folder
            .run(&["shelf", "add", file, "--name", &name])
            .succeeds();
    }
    let reported = |document: &str| {
        folder.file("report/result.json", document);
        let words = [
            "report",
            "report/result.json",
            "-o",
            "report",
            "--shelf",
            "shelf",
        ];
        folder.run(&words).succeeds();
        check_beside(&folder, &["report".to_string()], &["--shelf", "shelf"]);
        folder.read("report/report.html")
    };
    // A drive like the others has no section on unusual figures.
    assert!(!reported(&text).contains("<strong>Unusual."));
    let slow = |id: &str| match id.contains("rnd4k") && id.ends_with("write") {
        true => 0.1,
        false => 1.0,
    };
    let page = reported(&varied(&text, "sim:slow", &slow));
    assert!(page.contains("<strong>Unusual.") && page.contains("of 6 similar drives"));
    // The script sees a changed number.
    let wrong = page.replace(
        "the median of 6 similar drives",
        "the median of 5 similar drives",
    );
    folder.file("report/report.html", &wrong);
    let checked = Command::new("python3")
        .args([SCRIPT, "--shelf", "shelf", "report"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(said.contains("does not follow from the shelf"), "{said}");
}

/// A result as if it came from a block device of this transport, whose link carries 25 MB/s.
fn as_measured(text: &str, transport: &str) -> String {
    let mut document: Value = serde_json::from_str(text).unwrap();
    let target = &mut document["target"];
    target["name"] = "/dev/mmcblk0".into();
    target["kind"] = "block device".into();
    target["link_bytes_per_s"] = 25e6.into();
    target["modes"] = Value::Array(Vec::new());
    target["parameters"] = Value::Array(Vec::new());
    document["title"] = "A card".into();
    document["environment"]["transport"] = transport.into();
    let plain = |figures: &mut Value| {
        for figure in figures.as_array_mut().unwrap() {
            let id = figure["id"].as_str().unwrap().split_once('.').unwrap().1;
            figure["id"] = id.to_string().into();
            figure["mode"] = Value::Null;
        }
    };
    plain(&mut document["figures"]);
    for step in document["steps"].as_array_mut().unwrap() {
        step["mode"] = Value::Null;
        plain(&mut step["figures"]);
    }
    document.to_string()
}

#[test]
fn ranks_among_the_library_are_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-ranks");
    let card = ["sim:kingston-8gb", "--quick", "--mode", "SabreLite"];
    let slow_host = ["sim:samsung-pro-32gb", "--quick", "--mode", "Odroid XU3"];
    all_true(&folder, &[&card, &slow_host]);
    let page = folder.read("report-0/report.html");
    assert!(page.contains("14 SD cards without UHS of the library, all simulated"));
    assert!(!page.contains("<li>Kingston microSDHC Class 4, 8 GB"));
    let limited = "<p class=\"ranks-limited\">Not ranked: SEQ1M Q8T1 read, fresh; ";
    assert!(!page.contains("ranks-limited"));
    assert!(folder.read("report-1/report.html").contains(limited));
    // The script sees a changed number, drive or name.
    for (right, wrong) in [
        ("</b> of 15</td>", "</b> of 14</td>"),
        ("<li>Toshiba Class", "<li>Toshiba Glass"),
        ("place 1", "place 2"),
    ] {
        assert!(page.contains(right), "{right}");
        folder.file("report-0/report.html", &page.replacen(right, wrong, 1));
        let checked = Command::new("python3")
            .args([SCRIPT, "report-0"])
            .current_dir(&folder.0)
            .output()
            .unwrap();
        assert!(!checked.status.success(), "{wrong}");
    }
    let text = folder.read("report-0/result.json");
    for (transport, said) in [
        ("SD", "15 SD cards without UHS of the library"),
        ("USB", "Not ranked among the simulated devices"),
    ] {
        let folder_name = format!("report-{transport}");
        std::fs::create_dir_all(folder.0.join(&folder_name)).unwrap();
        let result = format!("{folder_name}/result.json");
        folder.file(&result, &as_measured(&text, transport));
        folder
            .run(&["report", &result, "-o", &folder_name])
            .succeeds();
        check(&folder, std::slice::from_ref(&folder_name));
        let page = folder.read(&format!("{folder_name}/report.html"));
        assert!(page.contains(said), "{transport}");
    }
}

#[test]
fn ranks_in_other_suites_are_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-ranks-suites");
    let card = |suite| ["sim:kingston-8gb", "--quick", "--suite", suite];
    let suites = ["fill", "iometer", "plain", "speed-class"].map(card);
    let drive = ["sim:samsung-860-pro-512gb", "--quick", "--suite", "iometer"];
    let runs: Vec<&[&str]> = suites.iter().chain([&drive]).map(|r| &r[..]).collect();
    all_true(&folder, &runs);
    for i in 0..4 {
        let page = folder.read(&format!("report-{i}/report.html"));
        assert!(page.contains("14 SD cards without UHS of the library, all simulated"));
    }
    let page = folder.read("report-4/report.html");
    assert!(page.contains("The library has too few other SATA SSDs (1). Places among this drive and 9 SSDs of the library, all simulated"));
}

#[test]
fn the_verdict_of_a_verification_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-verify");
    let mut names = Vec::new();
    for (i, fault) in [
        None,
        Some("fake 2GiB wrap"),
        Some("fake 3GiB drop"),
        Some("fake 1GiB stale"),
        Some("corrupt 0.01"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("verify-{i}");
        let mut words = vec!["verify", "sim:kingston-8gb", "-o", &name];
        words.extend(fault.map(|f| ["--fault", f]).into_iter().flatten());
        let ran = folder.run(&words);
        assert!(matches!(ran.code, Some(0 | 10 | 11)), "{ran:?}");
        names.push(name);
    }
    check(&folder, &names);
}

#[test]
fn a_sentence_that_is_false_is_found() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-false");
    let name = "report".to_string();
    folder
        .run(&[
            "review",
            "sim:kingston-8gb",
            "--suite",
            "fill",
            "--quick",
            "-o",
            &name,
        ])
        .succeeds();
    check(&folder, std::slice::from_ref(&name));
    let page = folder.read("report/report.html");
    let at = page.find("writes at ").unwrap() + "writes at ".len();
    let false_page = format!("{}9{}", &page[..at], &page[at..]);
    std::fs::write(folder.0.join("report/report.html"), false_page).unwrap();
    let checked = Command::new("python3")
        .args([SCRIPT, "report"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(
        !checked.status.success() && said.contains("first fill, mean writes at"),
        "{said}"
    );
}

/// Reports of a served card that claims 1 GiB and has 256 MiB, verified and reviewed as a block device of this machine.
#[cfg(target_os = "linux")]
fn served_fake(folder: &Folder) -> [String; 2] {
    let profile = include_str!("../../../profiles/kingston-8gb.toml");
    let own = |line: &&str| line.starts_with("capacity_bytes");
    let line = profile.lines().find(own).unwrap();
    let profile = profile.replace(line, &format!("capacity_bytes = {}", 1 << 30));
    folder.file("card.toml", &profile);
    // Unpaced, a fill takes seconds, and the stalls of this machine look like regions of the card.
    let fault = ["--speed", "10", "--fault", "fake 256MiB wrap"];
    let mounted = Mounted::start(folder, "sim:./card.toml", &fault);
    let device = mounted.block();
    let name = device.0.trim_start_matches("/dev/");
    let ran = folder.run(&["verify", &device.0, "--yes", name, "-o", "fake-verified"]);
    assert_eq!(ran.code, Some(10), "{ran:?}");
    let review = ["review", &device.0, "--suite", "fill", "--destroy-data"];
    let review = [&review[..], &["--yes", name, "-o", "fake-reviewed"]].concat();
    folder.run(&review).succeeds();
    drop(device);
    mounted.finish();
    ["fake-verified", "fake-reviewed"].map(str::to_string)
}

/// Suites that have quick forms; each is carried out on every device of the panel that it fits.
const SUITES: [&str; 7] = [
    "card",
    "fill",
    "iometer",
    "plain",
    "speed-class",
    "flashbench",
    "ssd",
];
/// Two cards, two memories of other kinds, and two drives.
const PANEL: [&str; 6] = [
    "sim:kingston-8gb",
    "sim:samsung-evo-16gb",
    "sim:samsung-emmc51-64gb",
    "sim:sm2708-250gb",
    "sim:reference-nvme-64gb",
    "sim:samsung-860-pro-512gb",
];

/// Size of files and loop devices for a suite, MiB. The traces of `ssd` need more than the others.
fn room_mib(suite: &str) -> usize {
    if suite == "ssd" { 1024 } else { 256 }
}

/// Reviews of other devices, whole fills, and a whole test of speed classes.
const WHOLE: [Review; 4] = [
    // Compared with the same drives, whichever drive is measured.
    &["sim:sm2262en-2tb", "--suite", "ssd", "--peers", "--quick"],
    &["sim:sm2708-250gb", "--suite", "fill"],
    &["sim:samsung-evo-16gb", "--suite", "fill"],
    &["sim:kingston-class10-32gb", "--suite", "speed-class"],
];

#[test]
#[ignore = "slow: fifty reviews"]
fn slow_every_sentence_of_a_panel_of_reviews_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-panel");
    all_true(&folder, &WHOLE);
    let mut names = Vec::new();
    for suite in SUITES {
        let mut fits = 0;
        for device in PANEL {
            let name = format!("{suite}-{}", device.trim_start_matches("sim:"));
            let ran = folder.run(&["review", device, "--suite", suite, "--quick", "-o", &name]);
            match ran.code {
                Some(0) => fits += 1,
                // A suite for drives does not fit on a small card: its report is incomplete.
                Some(1) => {}
                _ => panic!("{ran:?}"),
            }
            names.push(name);
        }
        assert!(fits >= 2, "{suite} fits {fits} devices");
    }
    check(&folder, &names);
}

#[test]
#[ignore = "slow: reviews files in real time"]
fn slow_every_sentence_about_a_file_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-file");
    // Most of the time of `card` is pauses, in which the other suites run.
    let review = |suite: &str| {
        let (file, size) = (format!("./{suite}.img"), format!("{}M", room_mib(suite)));
        let words = [
            "review", &file, "--size", &size, "--suite", suite, "--quick",
        ];
        folder
            .run(&[&words[..], &["-o", suite]].concat())
            .succeeds();
    };
    std::thread::scope(|scope| {
        let card = scope.spawn(|| review("card"));
        SUITES[1..].iter().for_each(|suite| review(suite));
        card.join().unwrap();
    });
    check(&folder, &SUITES.map(str::to_string));
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow: reviews loop devices in real time"]
fn slow_every_sentence_about_loop_devices_is_true() {
    if !have(&["python3", "losetup"]) {
        return;
    }
    let folder = Folder::new("sentences-loop");
    // Most of the time of `card` is pauses, in which the other suites run.
    let review = |suite: &str, device: &Loop| {
        let name = device.name();
        let own = format!("--destroy-data={name}");
        let words = ["review", &device.device, "--suite", suite, "--quick", &own];
        let ran = folder.run(&[&words[..], &["--yes", name, "-o", suite]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    let other = Folder::new("sentences-loop-card");
    let loops = (Loop::new(&folder, room_mib("ssd")), Loop::new(&other, 256));
    let (Some(device), Some(of_card)) = loops else {
        return;
    };
    std::thread::scope(|scope| {
        let card = scope.spawn(|| review("card", &of_card));
        SUITES[1..].iter().for_each(|suite| review(suite, &device));
        card.join().unwrap();
    });
    check(&folder, &SUITES.map(str::to_string));
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow: verifies and fills a fake in real time"]
fn slow_every_sentence_about_a_fake_is_true() {
    if have(&["python3", "losetup"]) && can_mount() {
        let folder = Folder::new("sentences-fake");
        check(&folder, &served_fake(&folder));
    }
}
