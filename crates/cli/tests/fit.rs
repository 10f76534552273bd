//! `nandscope fit` and `nandscope predict` from outside: files that are read and written, refusals, exit codes.

use crate::support::Folder;

/// A drive as a table.
const DRIVE: &str = "op,pattern,block,depth,iops\nread,random,4k,1,10000\nread,random,4k,32,250000\n\
    read,sequential,128k,1,12000\nwrite,random,4k,1,30000\nwrite,random,4k,32,200000\nwrite,sequential,128k,4,9000\n";

#[test]
fn a_measured_card_becomes_a_profile_that_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new("fit-card");
    let fit = |name: &str, threads: &str| {
        let result = folder.run(&[
            "fit",
            "sim:kingston-8gb",
            "--base",
            "toshiba-class10-16gb",
            "--evaluations",
            "50",
            "-j",
            threads,
            "--json",
            "-o",
            name,
        ]);
        (result.code, result.out.clone(), result.shown())
    };
    let (code, out, shown) = fit("a.toml", "1");
    // A card of another maker is a bad fit or a twin; in both cases the outcome is the same with two threads.
    assert!(matches!(code, Some(0 | 1)), "{shown}");
    assert_eq!(fit("a.toml", "2").1, out);
    let own = folder.run(&[
        "fit",
        "sim:kingston-8gb",
        "--base",
        "kingston-8gb",
        "--evaluations",
        "50",
        "-o",
        "card.toml",
    ]);
    own.succeeds();
    assert!(own.out.contains("Mean error: "), "{}", own.out);
    let profile = folder.read("card.toml");
    assert!(
        profile.contains("# fitted ") && profile.contains("name = \"card\""),
        "{profile}"
    );
    let shown = folder.run(&["predict", "card.toml", "rand-read", "--members", "2"]);
    shown.succeeds();
    assert!(shown.out.contains("90 % interval"), "{}", shown.out);
}

#[test]
fn garbage_is_refused_and_nothing_is_written() {
    let folder = Folder::new("fit-garbage");
    let head = "op,pattern,block,depth,iops\n";
    folder.file("nan.csv", &format!("{head}read,random,4k,1,nan\n"));
    folder.file("one.csv", &format!("{head}read,random,4k,1,9000\n"));
    folder.file("disk.csv", &DRIVE.replace("4k,1,10000", "4k,1,110"));
    folder.file("memory.csv", &DRIVE.replace("4k,1,10000", "4k,1,900000"));
    folder.file("drive.csv", DRIVE);
    folder.file("short.log", "1000, 5, 1, 4096\n");
    folder.file("text.txt", "no table\n");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--csv", "nan.csv"], 2, "nan.csv:2: iops"),
        (&["--csv", "one.csv"], 1, "cannot tell"),
        (&["--csv", "disk.csv"], 2, "hard disk"),
        (&["--csv", "memory.csv"], 2, "RAM disk"),
        (
            &["--flashbench", "text.txt"],
            2,
            "holds no output of flashbench",
        ),
        (&["--from", "text.txt"], 2, "text.txt"),
        (
            &["--csv", "drive.csv", "--fill", "short.log"],
            2,
            "too short",
        ),
        (
            &["--csv", "drive.csv", "--size", "1g"],
            2,
            "--size works with real targets only",
        ),
        (&[], 2, "<TARGET>"),
    ];
    for (arguments, code, part) in cases {
        let all = [&["fit"], *arguments, &["-o", "twin.toml"]].concat();
        let result = folder.run(&all);
        assert_eq!(result.code, Some(*code), "{}", result.shown());
        assert!(result.shown().contains(part), "{}", result.shown());
        assert!(!folder.names().iter().any(|name| name.starts_with("twin")));
    }
    let same = folder.run(&["fit", "--csv", "drive.csv", "-o", "drive.csv"]);
    assert_eq!(same.code, Some(2));
    assert_eq!(folder.read("drive.csv"), DRIVE);
}

#[test]
fn the_wrong_kind_of_device_is_a_bad_fit() {
    let folder = Folder::new("fit-wrong-kind");
    folder.file("drive.csv", DRIVE);
    let result = folder.run(&[
        "fit",
        "--csv",
        "drive.csv",
        "--base",
        "kingston-8gb",
        "--evaluations",
        "50",
        "-o",
        "twin.toml",
    ]);
    assert_eq!(result.code, Some(1), "{}", result.shown());
    assert!(result.shown().contains("bad fit"), "{}", result.shown());
    assert!(!folder.names().iter().any(|name| name.starts_with("twin")));
}

#[test]
fn a_file_of_somebody_else_is_not_measured() {
    let folder = Folder::new("fit-foreign");
    folder.file("photos.img", "precious");
    let result = folder.run(&["fit", "./photos.img", "-o", "twin.toml"]);
    assert_ne!(result.code, Some(0), "{}", result.shown());
    assert_eq!(folder.read("photos.img"), "precious");
    assert!(!folder.names().iter().any(|name| name.starts_with("twin")));
}
