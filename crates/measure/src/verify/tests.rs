//! Mismatches that are found, and contents that are accepted.

use super::*;
use nandscope_workload::job::JobFile;

const BLOCK: usize = 4096;

fn check(options: &str) -> Check {
    let text = format!("[a]\nrw=write\n{options}\n");
    Check::of_job(&JobFile::parse("t", &text).unwrap().jobs[0])
}

fn verifier(all: bool, options: &[&str]) -> Verifier {
    with_seed(5, all, options)
}

fn with_seed(seed: u64, all: bool, options: &[&str]) -> Verifier {
    let checks = options.iter().map(|options| check(options)).collect();
    Verifier::new(seed, BLOCK as u32, all, checks)
}

/// With the default checksum.
fn plain() -> Verifier {
    verifier(false, &[""])
}

fn written(verifier: &Verifier, offset: u64) -> Vec<u8> {
    let mut bytes = vec![0u8; BLOCK];
    verifier.write(&mut bytes, offset, 0);
    end(verifier, offset);
    bytes
}

fn end(verifier: &Verifier, offset: u64) {
    lock(&verifier.ledger).end(offset, BLOCK, true);
}

fn trim(verifier: &Verifier, offset: u64) {
    lock(&verifier.ledger).discard(offset, BLOCK as u64, verifier.zeros);
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
    let verifier = plain();
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
    let verifier = plain();
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
    let writer = plain();
    let bytes = written(&writer, 4096);
    let lenient = with_seed(6, false, &[""]);
    let strict = with_seed(6, true, &[""]);
    assert_eq!(reason(&lenient, &[0u8; BLOCK], 4096), "");
    assert_eq!(reason(&strict, &bytes, 4096), "");
    assert!(reason(&strict, &[0u8; BLOCK], 4096).contains("wrong data"));
    assert!(reason(&strict, &bytes, 0).contains("another place"));
    // A block of an earlier run at a place that this run has written is stale.
    written(&strict, 4096);
    assert!(reason(&strict, &bytes, 4096).contains("stale"));
}

#[test]
fn either_of_two_writes_at_once_is_right() {
    let verifier = plain();
    let (mut first, mut second) = (vec![0u8; BLOCK], vec![0u8; BLOCK]);
    verifier.write(&mut first, 0, 0);
    verifier.write(&mut second, 0, 0);
    assert_eq!(reason(&verifier, &[0u8; BLOCK], 0), "", "being written");
    end(&verifier, 0);
    end(&verifier, 0);
    assert_eq!(reason(&verifier, &first, 0), "");
    assert_eq!(reason(&verifier, &second, 0), "");
    assert!(reason(&verifier, &[0u8; BLOCK], 0).contains("wrong data"));
}

#[test]
fn what_was_trimmed_is_zero_where_that_is_wanted() {
    let verifier = plain().with_zeros_after_discards();
    let bytes = written(&verifier, 0);
    trim(&verifier, 0);
    assert_eq!(reason(&verifier, &[0; BLOCK], 0), "");
    assert_eq!(reason(&verifier, &bytes, 0), "verify: wrong data");
    assert_eq!(verifier.written(), [(Bytes(0), BLOCK as u64)]);
}

#[test]
fn ranges_that_were_written() {
    let verifier = plain();
    for block in [3u64, 1, 2, 9] {
        written(&verifier, block * 4096);
    }
    trim(&verifier, 9 * 4096);
    assert_eq!(verifier.written(), [(Bytes(4096), 3 * 4096)]);
}

#[test]
fn a_pattern_is_all_that_a_block_holds() {
    let options = "verify=pattern\nverify_pattern=0xaa%o\"z\"";
    let writer = verifier(false, &[options]);
    let mut bytes = vec![0u8; 2 * BLOCK];
    assert!(writer.write(&mut bytes, 4096, 0));
    lock(&writer.ledger).end(4096, 2 * BLOCK, true);
    // The bytes that fio 3.33 wrote.
    assert_eq!(bytes[..11], [0xaa, 0, 0x10, 0, 0, 0, 0, 0, 0, b'z', 0xaa]);
    assert_eq!(reason(&writer, &bytes, 4096), "");
    bytes[5000] ^= 1;
    assert_eq!(reason(&writer, &bytes, 4096), "verify: wrong data");
    assert!(writer.mismatches().1[0].contains("byte 9096 is wrong"));
    // Another run has no record of these writes, and compares all the same.
    let reader = verifier(true, &[options]);
    assert_eq!(reason(&reader, &bytes[..BLOCK], 4096), "");
    // Each block begins with the pattern, and its own offset.
    assert_eq!(reason(&reader, &bytes[BLOCK..], 8192), "verify: wrong data");
    assert_eq!(reason(&reader, &bytes[..BLOCK], 8192), "verify: wrong data");
}

#[test]
fn headers_alone_do_not_cover_the_data() {
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
fn a_pattern_follows_the_header() {
    let verifier = verifier(false, &["verify=crc32c\nverify_pattern=0xab"]);
    let mut bytes = written(&verifier, 0);
    assert!(bytes[44..].iter().all(|byte| *byte == 0xab));
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
            end(&verifier, offset);
            made
        })
        .collect();
    assert_eq!(made, [true, true, false]);
    assert_eq!((blocks[1][0], blocks[2][0]), (0x11, 7));
    for (thread, block) in (0u32..3).zip(&blocks) {
        let offset = u64::from(thread) * BLOCK as u64;
        // The expected contents depend on the thread that wrote, not on the reading one.
        assert_eq!(verifier.check(block, offset, 0), Outcome::Done);
        let wrong = verifier.check(&[0; BLOCK], offset, 0) != Outcome::Done;
        assert_eq!(wrong, thread != 2);
    }
}

#[test]
fn parts_have_headers_of_their_own_wherever_they_are() {
    for (interval, offset) in [
        (4096, 0),
        (1024, 0),
        (512, 100),
        (128, 0),
        (128, 60),
        (4096, 4000),
    ] {
        let options = format!("verify=crc32c\nverify_interval={interval}\nverify_offset={offset}");
        let writer = verifier(false, &[&options]);
        let mut bytes = written(&writer, 8192);
        for part in 0..BLOCK / interval {
            let at = part * interval + offset;
            assert_eq!(bytes[at..at + 2], [0xca, 0xac], "{options}");
        }
        let reader = verifier(true, &[&options]);
        for verifier in [&writer, &reader] {
            assert_eq!(reason(verifier, &bytes, 8192), "", "{options}");
            let half = &bytes[..BLOCK / 2];
            assert_eq!(reason(&writer, half, 8192), "", "{options}");
        }
        bytes[BLOCK - 50] ^= 1;
        for verifier in [&writer, &reader] {
            assert_eq!(
                reason(verifier, &bytes, 8192),
                "verify: wrong data",
                "{options}"
            );
        }
    }
}

#[test]
fn every_method_finds_a_changed_byte() {
    for method in VerifyMethod::all().filter(|m| m.overhead() > 0) {
        let name = format!("verify={}", method.name());
        let writer = verifier(false, &[&name]);
        let reader = verifier(true, &[&name]);
        let mut bytes = written(&writer, 4096);
        assert_eq!(reason(&writer, &bytes, 4096), "", "{name}");
        assert_eq!(reason(&reader, &bytes, 4096), "", "{name}");
        bytes[1000] ^= 1;
        let expected = if method == VerifyMethod::Meta {
            ""
        } else {
            "verify: wrong data"
        };
        assert_eq!(reason(&writer, &bytes, 4096), expected, "{name}");
        bytes[1000] ^= 1;
        bytes[9] ^= 1;
        assert_eq!(
            reason(&writer, &bytes, 4096),
            "verify: wrong data",
            "{name}"
        );
        assert_eq!(
            reason(&reader, &bytes, 4096),
            "verify: wrong data",
            "{name}"
        );
    }
}

#[test]
fn another_method_or_block_size_is_named() {
    let bytes = written(&verifier(false, &["verify=md5"]), 0);
    let reader = verifier(true, &["verify=crc32c", "bs=8k\nverify=md5"]);
    assert_eq!(reason(&reader, &bytes, 0), "verify: wrong data");
    let double = [bytes.clone(), bytes].concat();
    assert_ne!(reader.check(&double, 0, 1), Outcome::Done);
    let texts = reader.mismatches().1;
    assert!(
        texts[0].contains("was written with verify=md5, not crc32c"),
        "{texts:?}"
    );
    assert!(
        texts[1].contains("has 4096 bytes and not 8192"),
        "{texts:?}"
    );
}

#[test]
fn compressible_data_are_verified_too() {
    let options = "verify=sha256\nbuffer_compress_percentage=70\nbuffer_pattern=0x11";
    let writer = verifier(false, &[options]);
    let mut bytes = written(&writer, 0);
    assert!(bytes[1300..].iter().all(|byte| *byte == 0x11));
    assert_eq!(reason(&writer, &bytes, 0), "");
    bytes[4090] = 0;
    assert_eq!(reason(&writer, &bytes, 0), "verify: wrong data");
}

#[test]
fn what_is_read_in_other_pieces_is_compared_as_well() {
    let verifier = Verifier::new(5, 512, false, vec![check("bs=4k\nverify=crc32c")]);
    let mut bytes = written(&verifier, 4096);
    assert_eq!(reason(&verifier, &bytes[1024..2048], 5120), "");
    bytes[1500] ^= 1;
    assert_eq!(
        reason(&verifier, &bytes[1024..2048], 5120),
        "verify: wrong data"
    );
    // A later write replaces the second half.
    let mut other = vec![0; 2048];
    verifier.write(&mut other, 6144, 0);
    lock(&verifier.ledger).end(6144, 2048, true);
    bytes[1500] ^= 1;
    bytes[2048..].copy_from_slice(&other);
    assert_eq!(reason(&verifier, &bytes, 4096), "");
}

/// Flips a byte and returns the stored dumps.
fn dumped(verifier: &Verifier, mut bytes: Vec<u8>, offset: u64, at: usize) -> Dump {
    bytes[at] ^= 1;
    assert_ne!(reason(verifier, &bytes, offset), "");
    let dump = verifier.dumps().pop().unwrap();
    let from = (dump.offset - offset) as usize;
    assert_eq!(dump.received, bytes[from..from + dump.received.len()]);
    dump
}

#[test]
fn received_and_expected_contents_are_kept_where_that_is_wanted() {
    for options in [
        "",
        "verify_interval=1k",
        "verify_interval=512\nverify_offset=100",
        "verify_pattern=0x11%o\nverify_interval=1k",
        "buffer_compress_percentage=60\nverify_interval=1k",
        "verify=pattern\nverify_pattern=\"ab\"",
    ] {
        let writer = verifier(false, &[options]).with_dumps();
        let right = written(&writer, 8192);
        let dump = dumped(&writer, right.clone(), 8192, 3000);
        let from = (dump.offset - 8192) as usize;
        let expected = right[from..from + dump.received.len()].to_vec();
        assert_eq!(dump.expected, Some(expected), "{options}");
        let lengths = [4096, 1024, 512].contains(&dump.received.len());
        assert!(lengths && (from..from + dump.received.len()).contains(&3000));
        // An earlier run is recognized by its header, which is undamaged.
        let reader = verifier(true, &[options]).with_dumps();
        let earlier = dumped(&reader, right, 8192, 3000);
        assert_eq!(earlier.expected, dump.expected, "{options}");
    }
    let silent = plain();
    let mut bytes = written(&silent, 0);
    bytes[7] ^= 1;
    assert_ne!(reason(&silent, &bytes, 0), "");
    assert_eq!(silent.dumps(), []);
}

#[test]
fn contents_of_the_first_mismatches_are_kept() {
    let verifier = plain().with_zeros_after_discards().with_dumps();
    trim(&verifier, 0);
    let first = dumped(&verifier, vec![0; BLOCK], 0, 5);
    assert_eq!(first.expected, Some(vec![0; BLOCK]));
    // The same block again, and more blocks than are described.
    assert_ne!(reason(&verifier, &[9; BLOCK], 0), "");
    assert_eq!(verifier.dumps(), [first]);
    for block in 1..40 {
        written(&verifier, block * 4096);
        assert_ne!(reason(&verifier, &[0; BLOCK], block * 4096), "");
    }
    let dumps = verifier.dumps();
    let offsets: Vec<u64> = dumps.iter().map(|dump| dump.offset / 4096).collect();
    assert_eq!(offsets, (0..16).collect::<Vec<_>>());
    // Without a header, the write of a block of an earlier run is unknown.
    let reader = with_seed(6, true, &[""]).with_dumps();
    assert_ne!(reason(&reader, &[1; BLOCK], 0), "");
    assert_eq!(reader.dumps()[0].expected, None);
}
