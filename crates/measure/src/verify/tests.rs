//! What is found wrong with contents, and what is not.

use super::*;

const BLOCK: usize = 4096;

fn written(verifier: &Verifier, offset: u64) -> Vec<u8> {
    let mut bytes = vec![0u8; BLOCK];
    verifier.write(&mut bytes, offset, 0);
    verifier.written_to(offset, BLOCK, true);
    bytes
}

fn reason(verifier: &Verifier, bytes: &[u8], offset: u64) -> &'static str {
    match verifier.check(bytes, offset, 0) {
        Outcome::Failed(reason) => reason,
        Outcome::Done => "",
        Outcome::Unsupported => "unsupported",
    }
}

#[test]
fn what_was_written_last_is_right_and_nothing_else() {
    let verifier = Verifier::new(5, BLOCK as u32, false);
    let old = written(&verifier, 8192);
    let new = written(&verifier, 8192);
    assert_eq!(reason(&verifier, &new, 8192), "");
    assert!(reason(&verifier, &old, 8192).contains("stale"));
    let mut torn = new.clone();
    torn[2048..].copy_from_slice(&old[2048..]);
    assert!(reason(&verifier, &torn, 8192).contains("torn"));
    let other = written(&verifier, 0);
    assert!(reason(&verifier, &other, 8192).contains("another place"));
    assert!(reason(&verifier, &[0u8; BLOCK], 8192).contains("wrong data"));
    let (count, texts) = verifier.mismatches();
    assert_eq!((count, texts.len()), (4, 4));
    assert!(texts[1].contains("byte 10240"), "{}", texts[1]);
}

#[test]
fn a_wrong_byte_is_named() {
    let verifier = Verifier::new(5, BLOCK as u32, false);
    for at in [0usize, 9, 100, 509, 511, 512, 4095] {
        let mut bytes = written(&verifier, 65_536);
        let right = bytes[at];
        bytes[at] ^= 0x40;
        assert!(reason(&verifier, &bytes, 65_536).contains("wrong data"));
        let text = verifier.mismatches().1.pop().unwrap();
        let expected = format!(
            "byte {} is wrong: expected 0x{right:02x}, found 0x{:02x} (1 of",
            65_536 + at,
            right ^ 0x40
        );
        assert!(text.contains(&expected), "{text} / {expected}");
    }
}

#[test]
fn unknown_blocks_are_checked_only_where_asked() {
    let writer = Verifier::new(5, BLOCK as u32, false);
    let bytes = written(&writer, 4096);
    let lenient = Verifier::new(6, BLOCK as u32, false);
    let strict = Verifier::new(6, BLOCK as u32, true);
    assert_eq!(reason(&lenient, &[0u8; BLOCK], 4096), "");
    assert_eq!(reason(&strict, &bytes, 4096), "");
    assert!(reason(&strict, &[0u8; BLOCK], 4096).contains("wrong data"));
    assert!(reason(&strict, &bytes, 0).contains("another place"));
    // A block of an earlier run where this one has written is stale.
    written(&strict, 4096);
    assert!(reason(&strict, &bytes, 4096).contains("stale"));
}

#[test]
fn either_of_two_writes_at_once_is_right() {
    let verifier = Verifier::new(1, BLOCK as u32, false);
    let (mut first, mut second) = (vec![0u8; BLOCK], vec![0u8; BLOCK]);
    verifier.write(&mut first, 0, 0);
    verifier.write(&mut second, 0, 0);
    assert_eq!(reason(&verifier, &[0u8; BLOCK], 0), "", "being written");
    verifier.written_to(0, BLOCK, true);
    verifier.written_to(0, BLOCK, true);
    assert_eq!(reason(&verifier, &first, 0), "");
    assert_eq!(reason(&verifier, &second, 0), "");
    assert!(reason(&verifier, &[0u8; BLOCK], 0).contains("wrong data"));
}

#[test]
fn what_was_trimmed_is_zero_where_that_is_wanted() {
    let verifier = Verifier::new(1, BLOCK as u32, false).with_zeros_after_discards();
    let bytes = written(&verifier, 0);
    verifier.discarded(0, BLOCK as u64);
    assert_eq!(reason(&verifier, &[0; BLOCK], 0), "");
    assert_eq!(reason(&verifier, &bytes, 0), "verify: wrong data");
    assert_eq!(verifier.written(), [(Bytes(0), BLOCK as u64)]);
}

#[test]
fn ranges_that_were_written() {
    let verifier = Verifier::new(1, BLOCK as u32, false);
    for block in [3u64, 1, 2, 9] {
        written(&verifier, block * 4096);
    }
    verifier.discarded(9 * 4096, 4096);
    assert_eq!(verifier.written(), [(Bytes(4096), 3 * 4096)]);
}

fn check(options: &str) -> Check {
    let text = format!("[a]\nrw=write\n{options}\n");
    let file = nandscope_workload::job::JobFile::parse("t", &text).unwrap();
    Check::of_job(&file.jobs[0].verify)
}

fn verifier(all: bool, options: &[&str]) -> Verifier {
    let checks = options.iter().map(|options| check(options)).collect();
    Verifier::new(5, BLOCK as u32, all).with_checks(checks)
}

#[test]
fn a_pattern_is_all_that_a_block_holds() {
    let options = "verify=pattern\nverify_pattern=0xaa%o\"z\"";
    let writer = verifier(false, &[options]);
    let mut bytes = vec![0u8; 2 * BLOCK];
    assert!(writer.write(&mut bytes, 4096, 0));
    writer.written_to(4096, 2 * BLOCK, true);
    // As fio 3.33 wrote it.
    assert_eq!(bytes[..11], [0xaa, 0, 0x10, 0, 0, 0, 0, 0, 0, b'z', 0xaa]);
    assert_eq!(reason(&writer, &bytes, 4096), "");
    bytes[5000] ^= 1;
    assert_eq!(reason(&writer, &bytes, 4096), "verify: wrong data");
    assert!(writer.mismatches().1[0].contains("byte 9096 is wrong"));
    // Another run knows nothing of these writes and compares all the same.
    let reader = verifier(true, &[options]);
    assert_eq!(reason(&reader, &bytes[..BLOCK], 4096), "");
    assert_eq!(reason(&reader, &bytes[BLOCK..], 8192), "verify: wrong data");
    assert_eq!(reason(&reader, &bytes[..BLOCK], 8192), "verify: wrong data");
}

#[test]
fn labels_alone_do_not_cover_the_data() {
    let meta = verifier(false, &["verify=meta"]);
    let mut bytes = written(&meta, 8192);
    bytes[100] ^= 1;
    assert_eq!(reason(&meta, &bytes, 8192), "");
    assert_eq!(reason(&meta, &bytes, 0), "", "not written");
    written(&meta, 0);
    assert!(reason(&meta, &bytes, 0).contains("another place"));
    bytes[9] ^= 1;
    assert_eq!(reason(&meta, &bytes, 8192), "verify: wrong data");
}

#[test]
fn a_pattern_stands_between_labels() {
    let verifier = verifier(false, &["verify=crc32c\nverify_pattern=0xab"]);
    let mut bytes = written(&verifier, 0);
    assert!(bytes[HEADER..CHECKSUM].iter().all(|byte| *byte == 0xab));
    assert_eq!(reason(&verifier, &bytes, 0), "");
    bytes[200] = 0;
    assert_eq!(reason(&verifier, &bytes, 0), "verify: wrong data");
    let text = verifier.mismatches().1.pop().unwrap();
    assert!(
        text.contains("byte 200 is wrong: expected 0xab, found 0x00 (1 of"),
        "{text}"
    );
}

#[test]
fn jobs_of_one_run_have_checks_of_their_own() {
    let verifier = verifier(
        false,
        &[
            "verify=md5",
            "verify=pattern\nverify_pattern=0x11",
            "verify=null",
        ],
    );
    let mut blocks = [0, 1, 2].map(|_| vec![7u8; BLOCK]);
    let made: Vec<bool> = (0u32..3)
        .zip(&mut blocks)
        .map(|(thread, block)| {
            let offset = u64::from(thread) * BLOCK as u64;
            let made = verifier.write(block, offset, thread);
            verifier.written_to(offset, BLOCK, true);
            made
        })
        .collect();
    assert_eq!(made, [true, true, false]);
    assert_eq!((blocks[1][0], blocks[2][0]), (0x11, 7));
    for (thread, block) in (0u32..3).zip(&blocks) {
        let offset = u64::from(thread) * BLOCK as u64;
        // Who reads decides about nothing: the blocks are known.
        assert_eq!(verifier.check(block, offset, 0), Outcome::Done);
        let wrong = verifier.check(&[0; BLOCK], offset, 0) != Outcome::Done;
        assert_eq!(wrong, thread != 2);
    }
}
