//! Words that fio 3.33 accepts or refuses, beside what nandscope makes of them: options with one hyphen, modes of the engine
//! sg, patterns in a job file.

use crate::support::fio::traced;
use crate::support::serving::{attempt, have, run};
use crate::support::{Folder, tiny};

/// The same operations in the same order, since the generator of both is fio's.
#[test]
fn options_with_one_hyphen_give_the_operations_of_fio() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-words-hyphen");
    for line in [
        "-name=m -thread -rw=randwrite -bs=16k -size=1m",
        "-name m -thread -rw randwrite -bs 8k -size 1m",
        "-name=m -group_reporting --rw randrw -rwmixr=70 -bsrange=4k-16k --size=512k -loops 2",
    ] {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend(["-direct=1", "-random_generator=tausworthe"]);
        let by_fio = [&words[..], &["-write_iolog=fio.log", "-output=fio.txt"]].concat();
        run(&folder, "fio", &by_fio);
        let device = tiny();
        let by_us = [
            &["run", &device, "--"][..],
            &words,
            &["-write_iolog=our.log"],
        ]
        .concat();
        folder.run(&by_us).succeeds();
        let [fios, ours] = ["fio.log", "our.log"].map(|name| folder.read(name));
        let fios = traced(&fios);
        assert!(fios.len() >= 32, "{line}: {} operations by fio", fios.len());
        assert_eq!(traced(&ours), fios, "{line}");
        // fio appends to its trace.
        for name in ["m.0.0", "fio.log"] {
            std::fs::remove_file(folder.0.join(name)).unwrap();
        }
    }
}

/// A job that is parsed and not run. fio says `dropped` of a job with a fault.
fn fio_parses(folder: &Folder, job: &str) -> bool {
    folder.file("parse.fio", job);
    let done = attempt(folder, "fio", &["--parse-only", "parse.fio"]);
    done.status.success() && !String::from_utf8_lossy(&done.stderr).contains("dropped")
}

/// fio accepts each of these words. Those that nandscope cannot carry out are refused with the reason.
#[test]
fn words_of_the_engine_sg_are_known_to_both() {
    let folder = Folder::new("fio-words-sg");
    let scsi = Some("no SCSI commands that verify or repeat a block");
    let forced = Some("reads that bypass the write buffer");
    let cases = [
        ("sg_write_mode=write", None),
        ("sg_write_mode=verify", scsi),
        ("sg_write_mode=write_and_verify", scsi),
        ("sg_write_mode=same", scsi),
        ("sg_write_mode=write_same", scsi),
        ("sg_write_mode=write_same_ndob", scsi),
        ("sg_write_mode=verify_bytchk_00", scsi),
        ("sg_write_mode=verify_bytchk_01", scsi),
        ("sg_write_mode=verify_bytchk_11", scsi),
        ("writefua=1", None),
        ("writefua=0", None),
        ("readfua=0", None),
        ("readfua=1", forced),
    ];
    let job = |word: &str| format!("[a]\nioengine=sg\nfilename=x\nrw=write\nsize=1m\n{word}\n");
    for (word, reason) in cases {
        folder.file("job.fio", &job(word));
        let ran = folder.run(&["job", "check", "job.fio"]);
        match reason {
            None => assert_eq!(ran.code, Some(0), "{word}: {ran:?}"),
            Some(reason) => ran.fails(2, &[word, reason]),
        }
    }
    if have(&["fio"]) {
        for (word, _) in cases {
            assert!(fio_parses(&folder, &job(word)), "{word}");
        }
        // Otherwise acceptance would mean nothing.
        assert!(!fio_parses(&folder, &job("sg_write_mode=none")));
    }
}

/// The bytes that a job with a pattern to verify leaves in a file; `None` if the job is refused.
fn written(folder: &Folder, pattern: &str, by_fio: bool) -> Option<Vec<u8>> {
    let job = format!(
        "[a]\nrw=write\nbs=512\nsize=4k\nverify=pattern\ndo_verify=0\nverify_pattern={pattern}\n"
    );
    folder.file("pattern.fio", &job);
    let image = folder.0.join("pattern.img");
    let _ = std::fs::remove_file(&image);
    let is_done = match by_fio {
        true => {
            let words = ["pattern.fio", "--filename=pattern.img", "--output=out.txt"];
            attempt(folder, "fio", &words).status.success()
        }
        false => {
            let words = ["run", "pattern.fio", "./pattern.img", "--size", "4k"];
            folder.run(&words).code == Some(0)
        }
    };
    is_done.then(|| std::fs::read(image).unwrap())
}

/// Comments, texts and numbers of patterns in a job file: both programs write the same bytes, or refuse the job.
#[test]
fn patterns_in_a_job_file_are_read_as_by_fio() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-words-patterns");
    folder.file("bytes.bin", "file");
    let patterns = [
        // Comments, which end a line even inside a text.
        "0x3132 # c",
        "0x3132;c",
        "0x3132#",
        "-12 ; minus twelve",
        "\"ab\" # text",
        "\"ab#cd\"",
        "\"a;b\"",
        "# nothing but a comment",
        // Texts.
        "\"a b\"",
        "\"a=b\"",
        "\"it's\"",
        "0x31\"x\"0x32",
        "\"EB\"0x31",
        "\"\"",
        "\"open",
        "'bytes.bin'",
        "0x31'bytes.bin'",
        // Numbers.
        "0x",
        "0x123",
        "0XAB",
        "305419896",
        "256",
        "0",
        "-1",
        "+7",
        "0x310x32",
        "12345678901",
        "0xdeadbeefdeadbeefdeadbeef",
        "zz",
        // Offsets.
        "%o",
        "0x1%o\"z\" ; c",
        "%d",
    ];
    let mut accepted = 0;
    for pattern in patterns {
        let fios = written(&folder, pattern, true);
        let ours = written(&folder, pattern, false);
        let begins = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|b| b[..24].to_vec());
        assert!(
            fios == ours,
            "{pattern}: {:x?} here, {:x?} with fio",
            begins(&ours),
            begins(&fios)
        );
        accepted += usize::from(fios.is_some());
    }
    let expected = Some([0x31, 0x32].repeat(2048));
    assert_eq!(written(&folder, "0x3132 # c", true), expected);
    assert!(accepted >= 15, "fio accepts {accepted}");
}
