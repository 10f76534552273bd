//! `nandscope trace convert`: what it writes is read again as it was, and its files have one role each.

use crate::support::Folder;

const BLKPARSE: &str = "\
  8,0    0        1     0.000000000   71  D   W 2048 + 8 [cp]
  8,0    0        2     0.000500000   71  D   R 4096 + 16 [cp]
";

fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("work.blkparse", BLKPARSE);
    folder
}

#[test]
fn a_converted_trace_has_the_same_requests() {
    let folder = prepared("trace-convert");
    let ran = folder.run(&[
        "trace",
        "convert",
        "work.blkparse",
        "work.nstrace",
        "--name",
        "work",
        "--title",
        "A copy",
        "--capacity",
        "1GiB",
    ]);
    let text = &ran.succeeds().out;
    assert!(
        text.contains("work.nstrace: work in") && text.contains("device of 1 GiB"),
        "{text}"
    );
    let requests = |name: &str| {
        folder
            .run(&["trace", "requests", name])
            .succeeds()
            .out
            .clone()
    };
    assert_eq!(requests("work.nstrace"), requests("work.blkparse"));
    let info = folder.run(&["trace", "info", "work.nstrace"]);
    assert!(
        info.succeeds()
            .out
            .contains("recorded on a device of 1 GiB"),
        "{}",
        info.out
    );
    // Without options: named after the file; the known capacity stays.
    let ran = folder.run(&[
        "trace",
        "convert",
        "work.nstrace",
        "again.nstrace",
        "--json",
    ]);
    let answer: serde_json::Value = serde_json::from_str(&ran.succeeds().out).unwrap();
    assert_eq!(
        (&answer["name"], &answer["requests"]),
        (&"work".into(), &2.into())
    );
    assert_eq!(answer["capacity_bytes"], 1u64 << 30);
    assert_eq!(
        folder.names(),
        ["again.nstrace", "work.blkparse", "work.nstrace"]
    );
}

#[test]
fn a_faulty_conversion_writes_nothing() {
    let folder = prepared("trace-convert-refused");
    let convert =
        |more: &[&str]| folder.run(&[&["trace", "convert", "work.blkparse"], more].concat());
    convert(&["work.blkparse"]).fails(2, &["the trace work.blkparse", "work.blkparse"]);
    convert(&["o.nstrace", "--capacity", "1MiB"])
        .fails(2, &["--capacity 1 MiB", "size of the recorded device"]);
    convert(&["o.nstrace", "--capacity", "big"]).fails(2, &["--capacity big"]);
    convert(&["no-folder/o.nstrace"]).fails(3, &["no-folder"]);
    folder
        .run(&["trace", "convert", "nothing", "o.nstrace"])
        .fails(3, &["unknown trace `nothing`"]);
    assert_eq!(folder.names(), ["work.blkparse"]);
    assert_eq!(folder.read("work.blkparse"), BLKPARSE);
}
