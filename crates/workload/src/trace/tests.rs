//! Cases and properties of the text formats.

use super::*;
use proptest::prelude::*;

fn parse(format: Format, text: &str) -> Result<(Trace, ParseReport), TraceError> {
    assert_eq!(
        Format::detect(text.as_bytes()),
        Some(format),
        "detection of:\n{text}"
    );
    Trace::parse(format, "t", text.as_bytes())
}

/// Time in microseconds, offset, length, kind.
fn flat(trace: &Trace) -> Vec<(u64, u64, u32, OpKind)> {
    let one = |r: &Record| (r.time.0 / 1000, r.offset.0, r.length, r.kind);
    trace.records().iter().map(one).collect()
}

use OpKind::{Flush, Read, Trim, Write};

/// Written by fio 3.33 with `--write_iolog`, thinktime 3 ms; sync and trim added.
const IOLOG_3: &str = "fio version 3 iolog
19 /tmp/f add
115 /tmp/f open
119 /tmp/f read 61440 4096
3363 /tmp/f write 774144 4096
3370 /tmp/f sync 0 0
6483 /tmp/f trim 1048576 65536
18737 /tmp/f close
";

#[test]
fn iolog_3_has_microseconds() {
    let (trace, report) = parse(Format::FioIolog, IOLOG_3).unwrap();
    assert_eq!(
        flat(&trace),
        [
            (0, 61440, 4096, Read),
            (3244, 774_144, 4096, Write),
            (3251, 0, 0, Flush),
            (6364, 1 << 20, 65536, Trim),
        ]
    );
    assert!(trace.is_timed());
    assert_eq!((report.lines, report.records), (8, 4));
    assert_eq!(report.passed_over["file action open"], 1);
}

#[test]
fn iolog_2_waits_add_up() {
    let text = "fio version 2 iolog\n/d add\n/d open\n/d write 0 512\n/d wait 1000 0\n/d write 512 512\n/d wait 500\n/d datasync 0 0\n/d close\n";
    let (trace, _) = parse(Format::FioIolog, text).unwrap();
    assert_eq!(
        flat(&trace),
        [
            (0, 0, 512, Write),
            (1000, 512, 512, Write),
            (1500, 0, 0, Flush)
        ]
    );
    let (trace, _) = parse(
        Format::FioIolog,
        "fio version 2 iolog\n/d add\n/d read 0 512\n",
    )
    .unwrap();
    assert!(!trace.is_timed());
}

/// fio 3.33 interprets each wait as milliseconds since the start of the run; its manual describes the behaviour here.
#[test]
fn waits_are_those_of_the_manual_with_a_warning() {
    let text = "fio version 2 iolog\n/d add\n/d wait 400000 0\n/d read 0 4096\n/d wait 600000 0\n/d read 4096 4096\n";
    let (trace, report) = parse(Format::FioIolog, text).unwrap();
    assert_eq!(
        flat(&trace),
        [(0, 0, 4096, Read), (600_000, 4096, 4096, Read)]
    );
    assert!(
        report.warnings[0].contains("milliseconds since the start"),
        "{report:?}"
    );
    assert_eq!(
        parse(Format::FioIolog, IOLOG_3).unwrap().1.warnings,
        [""; 0]
    );
}

/// Whole thousands, or distances of seconds.
#[test]
fn timestamps_that_look_like_nanoseconds_are_doubted() {
    let log = |stamps: &[u64]| {
        let line = |stamp: &u64| format!("{stamp} /d read 0 512\n");
        let lines: String = stamps.iter().map(line).collect();
        let text = format!("fio version 3 iolog\n0 /d add\n0 /d open\n{lines}");
        parse(Format::FioIolog, &text).unwrap().1.warnings
    };
    let thousands = log(&[20_000, 21_000, 22_000, 1_000_001_000]);
    assert!(
        thousands[0].contains("look like nanoseconds"),
        "{thousands:?}"
    );
    let slow: Vec<u64> = (1..20).map(|n| n * 3_000_001).collect();
    assert!(log(&slow)[0].contains("3.00s apart"), "{:?}", log(&slow));
    for plain in [
        &[20, 21, 22, 23, 1_000_001][..],
        &[1000, 1000, 2000],
        &[5_000_003],
    ] {
        assert_eq!(log(plain), [""; 0], "{plain:?}");
    }
}

/// For a log whose timestamps go back, fio 3.33 replays the lines in order, and waits only before later timestamps.
#[test]
fn an_iolog_whose_timestamps_go_back_keeps_its_order() {
    let text = "fio version 3 iolog\n0 /d add\n20 /d write 0 512\n1020 /d read 512 512\n1 /d read 1024 512\n31 /d read 2048 512\n";
    let (trace, report) = parse(Format::FioIolog, text).unwrap();
    let times: Vec<(u64, u64)> = flat(&trace).iter().map(|r| (r.0, r.1)).collect();
    assert_eq!(times, [(0, 0), (1000, 512), (1000, 1024), (1030, 2048)]);
    assert_eq!(report.notes.values().sum::<u64>(), 1);
    let sorted = ParseOptions {
        order: Order::Sort,
        ..ParseOptions::default()
    };
    let (trace, _) = Trace::parse_with(Format::FioIolog, "t", text.as_bytes(), &sorted).unwrap();
    assert_eq!(flat(&trace)[0], (0, 1024, 512, Read));
}

#[test]
fn the_files_of_an_iolog_lie_behind_one_another() {
    let text = "fio version 2 iolog\n/a add\n/b add\n/c add\n/b read 4096 4096\n/a write 0 512\n/c read 0 512\n";
    let (trace, _) = parse(Format::FioIolog, text).unwrap();
    let offsets: Vec<u64> = trace.records().iter().map(|r| r.offset.0).collect();
    assert_eq!(offsets, [(1 << 20) + 4096, 0, 2 << 20]);
}

const BLKPARSE: &str = "  8,0    1        1     0.000000000  4711  Q   W 2048 + 8 [cp]
  8,0    1        2     0.000000900  4711  G   W 2048 + 8 [cp]
  8,0    1        3     0.000001500  4711  P   N [cp]
  8,0    1        4     0.000100000  4711  D  WS 2048 + 8 [cp]
  8,0    0        5     0.000200000     0  C  WS 2048 + 8 [0]
  8,0    1        6     0.000300000   201  D  FN [kworker/1:1H]
  8,0    1        7     0.000400000   201  D WFSM 4096 + 16 [jbd2/sda1-8]
  8,0    1        8     0.000500000   201  D  RA 0 + 256 [a name with + signs]
  8,0    1        9     0.000600000   201  D   D 8192 + 2048 [fstrim]
  8,0    1       10     0.000700000   201  D   N 0 (12 00 00 00 ..) [smartd]
CPU0 (8,0):
 Reads Queued:           1,      128KiB\t Writes Queued:           1,        4KiB
Total (8,0):
Events (8,0): 10 entries
";

#[test]
fn blkparse_issues() {
    let (trace, report) = parse(Format::Blkparse, BLKPARSE).unwrap();
    assert_eq!(
        flat(&trace),
        [
            (0, 1 << 20, 4096, Write),
            (200, 0, 0, Flush),
            (300, 2 << 20, 8192, Write),
            (300, 0, 0, Flush),
            (400, 0, 131_072, Read),
            (500, 4 << 20, 1 << 20, Trim),
        ]
    );
    let passed: Vec<(&str, u64)> = report
        .passed_over
        .iter()
        .map(|(k, v)| (k.as_str(), *v))
        .collect();
    assert_eq!(
        passed,
        [
            ("event C", 1),
            ("event G", 1),
            ("event P", 1),
            ("event Q", 1),
            ("passed-through command", 1),
            ("summary line", 4)
        ]
    );
    assert_eq!(report.notes.values().sum::<u64>(), 1);
}

#[test]
fn blkparse_queued() {
    let options = ParseOptions {
        event: BlockEvent::Queue,
        ..ParseOptions::default()
    };
    let (trace, _) =
        Trace::parse_with(Format::Blkparse, "t", BLKPARSE.as_bytes(), &options).unwrap();
    assert_eq!(flat(&trace), [(0, 1 << 20, 4096, Write)]);
}

/// A blktrace record: event, category, sector, bytes, and the bytes of its data.
fn blktrace_record(time: u64, event: u32, category: u32, place: (u64, u32), data: u16) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(time.to_le_bytes());
    record.extend(place.0.to_le_bytes());
    for number in [place.1, category << 16 | event, 100, 8 << 20 | 16, 0] {
        record.extend(number.to_le_bytes());
    }
    record.extend([0, 0]);
    record.extend(data.to_le_bytes());
    record.extend(vec![b'x'; data.into()]);
    record
}

/// A read, a write and a discard, each queued, issued and completed; a message; and a flush.
fn blktrace_file() -> Vec<u8> {
    const DISCARD: u32 = 1 << 13;
    let mut file = blktrace_record(0, 2, 1 << 10, (0, 0), 5);
    for (begin, category, place) in [
        (1000, 1, (2048, 4096)),
        (2_001_000, 2, (16, 8192)),
        (3_001_000, 2 | DISCARD, (4096, 65_536)),
    ] {
        for (event, data) in [(1, 0), (7, 3), (8, 0)] {
            let time = begin + 500 * u64::from(event);
            file.extend(blktrace_record(time, event, category, place, data));
        }
    }
    file.extend(blktrace_record(4_004_500, 7, 2 | 1 << 2, (0, 0), 0));
    file
}

#[test]
fn blktrace_has_the_requests_of_one_event() {
    let expected = [
        (0, 1 << 20, 4096, Read),
        (2000, 8192, 8192, Write),
        (3000, 2 << 20, 65_536, Trim),
        (4000, 0, 0, Flush),
    ];
    let file = blktrace_file();
    assert_eq!(Format::detect(&file), Some(Format::Blktrace));
    let (trace, report) = Trace::parse(Format::Blktrace, "t", &file).unwrap();
    assert_eq!(flat(&trace), expected);
    assert_eq!(
        (report.passed_over["event Q"], report.passed_over["message"]),
        (3, 1)
    );
    let queued = ParseOptions {
        event: BlockEvent::Queue,
        device: Some("8,16".to_string()),
        ..ParseOptions::default()
    };
    let (trace, _) = Trace::parse_with(Format::Blktrace, "t", &file, &queued).unwrap();
    assert_eq!(flat(&trace), expected[..3]);
    let other = ParseOptions {
        device: Some("8,0".to_string()),
        ..ParseOptions::default()
    };
    assert!(Trace::parse_with(Format::Blktrace, "t", &file, &other).is_err());
}

#[test]
fn blktrace_of_a_machine_with_the_other_order_of_bytes() {
    let mut file = blktrace_record(0, 7, 1, (2048, 4096), 0);
    for field in [
        0..4,
        4..8,
        8..16,
        16..24,
        24..28,
        28..32,
        32..36,
        36..40,
        40..44,
        44..46,
        46..48,
    ] {
        file[field].reverse();
    }
    let (trace, _) = Trace::parse(Format::Blktrace, "t", &file).unwrap();
    assert_eq!(flat(&trace), [(0, 1 << 20, 4096, Read)]);
}

#[test]
fn damaged_blktrace_files_say_where() {
    let mut file = blktrace_file();
    let whole = file.len();
    file.truncate(whole - 7);
    let (_, report) = Trace::parse(Format::Blktrace, "t", &file).unwrap();
    assert_eq!(report.notes["record cut off at the end of the file"], 1);
    file[53] = 0x50;
    let error = Trace::parse(Format::Blktrace, "t", &file).unwrap_err();
    assert!(
        error.to_string().starts_with("t: record 2 begins with 0x"),
        "{error}"
    );
}

#[test]
fn spc_counts_blocks_and_seconds() {
    let text =
        "0,20941264,8192,W,0.551706\n0,20939840,8192,w,0.554041,more\n0,3436288,15872,r,1.011732\n";
    let (trace, _) = parse(Format::Spc, text).unwrap();
    assert_eq!(
        flat(&trace),
        [
            (0, 20_941_264 * 512, 8192, Write),
            (2335, 20_939_840 * 512, 8192, Write),
            (460_026, 3_436_288 * 512, 15_872, Read),
        ]
    );
    let error = parse(Format::Spc, &format!("{text}1,8,512,R,2.0\n")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("t:4: device 1 appears beside device 0"),
        "{error}"
    );
}

#[test]
fn systor_has_bytes_and_seconds_from_1970() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n1455592200.000112057,0.000345,R,0,4096,4096\n1455592200.001112057,,W,0,1048576,8192\n";
    let (trace, report) = parse(Format::Systor, text).unwrap();
    assert_eq!(
        flat(&trace),
        [(0, 4096, 4096, Read), (1000, 1 << 20, 8192, Write)]
    );
    assert_eq!(report.passed_over["headings"], 1);
}

const MSR: &str = "128166372003061629,hm,0,Read,383496192,32768,413
128166372016382155,hm,0,Write,2822144,4096,3000
";

#[test]
fn msr_counts_100_ns() {
    let (trace, _) = parse(Format::MsrCambridge, MSR).unwrap();
    assert_eq!(
        flat(&trace),
        [
            (0, 383_496_192, 32768, Read),
            (1_332_052, 2_822_144, 4096, Write)
        ]
    );
}

#[test]
fn alibaba() {
    let text = "device_id,opcode,offset,length,timestamp\n3,W,126703644672,4096,1577808000000046\n3,R,1024,512,1577808000000146\n";
    let (trace, report) = parse(Format::Alibaba, text).unwrap();
    assert_eq!(
        flat(&trace),
        [(0, 126_703_644_672, 4096, Write), (100, 1024, 512, Read)]
    );
    assert_eq!(report.passed_over["headings"], 1);
}

#[test]
fn devices_are_not_mixed() {
    let text = "1,W,0,512,10\n2,W,0,512,20\n1,R,0,512,30\n";
    let error = parse(Format::Alibaba, text).unwrap_err().to_string();
    assert_eq!(
        error,
        "t:2: device 2 appears beside device 1; choose one with `nandscope_trace_device=1` in the job (`--device 1` of `nandscope trace`)"
    );
    let options = ParseOptions {
        device: Some("1".to_string()),
        ..ParseOptions::default()
    };
    let (trace, report) =
        Trace::parse_with(Format::Alibaba, "t", text.as_bytes(), &options).unwrap();
    assert_eq!(flat(&trace), [(0, 0, 512, Write), (20, 0, 512, Read)]);
    assert_eq!(report.passed_over["another device"], 1);
}

#[test]
fn time_that_goes_backwards_is_refused_or_sorted() {
    let lines: Vec<&str> = MSR.lines().rev().collect();
    let text = lines.join("\n");
    let error = parse(Format::MsrCambridge, &text).unwrap_err().to_string();
    assert!(
        error.starts_with("t:2: time goes backwards by 1332052600 ns"),
        "{error}"
    );
    let options = ParseOptions {
        order: Order::Sort,
        ..ParseOptions::default()
    };
    let (trace, report) =
        Trace::parse_with(Format::MsrCambridge, "t", text.as_bytes(), &options).unwrap();
    assert_eq!(flat(&trace)[1].0, 1_332_052);
    assert_eq!(report.notes["out of order, sorted"], 1);
}

#[test]
fn errors_name_the_line_and_say_what() {
    let v2 = "fio version 2 iolog\n";
    let v3 = "fio version 3 iolog\n";
    for (format, text, message) in [
        (
            Format::FioIolog,
            format!("{v2}\n/a read 0 512\n"),
            "t:3: file `/a` is used before it is added",
        ),
        (
            Format::FioIolog,
            format!("{v2}/a add\n/a fly 0 512\n"),
            "t:3: action `fly` is not known",
        ),
        (
            Format::FioIolog,
            format!("{v2}/a add\n/a read x 512\n"),
            "t:3: the offset `x` is not a whole number",
        ),
        (
            Format::FioIolog,
            format!("{v2}/a add\n/a read 0\n"),
            "t:3: expected `file action` or `file action offset length`",
        ),
        (
            Format::FioIolog,
            format!("{v2}/a add\n/a read\n"),
            "t:3: `read` needs an offset and a length",
        ),
        (
            Format::FioIolog,
            format!("{v3}5 /a add\n/a read 0 512\n"),
            "t:3: the timestamp `/a` is not",
        ),
        (
            Format::FioIolog,
            format!("{v3}5 /a add\n6 /a wait 10\n"),
            "t:3: version 3 knows no `wait`",
        ),
        (
            Format::FioIolog,
            format!("{v2}/a add\n/a write 18446744073709551615 512\n"),
            "t:3: the request reaches beyond 2^64",
        ),
        (
            Format::FioIolog,
            format!("{v2}/a add\n/a write 0 18446744073709551615\n"),
            "t:3: a request of",
        ),
        (
            Format::FioIolog,
            "fio version 1 iolog\n".to_string(),
            "t:1: iolog version 1 is not known",
        ),
        (
            Format::Blkparse,
            "8,0 0 1 0.1 1 D\n".to_string(),
            "t:1: `` is not an RWBS field",
        ),
        (
            Format::Blkparse,
            "8,0 0 1 0.1\n".to_string(),
            "t:1: an event has",
        ),
        (
            Format::Blkparse,
            "8,0 0 1 zero 1 D W 0 + 8 [x]\n".to_string(),
            "t:1: the time `zero`",
        ),
        (
            Format::Blkparse,
            "8,0 0 1 0.1 1 D X 0 + 8 [x]\n".to_string(),
            "t:1: `X` is not an RWBS field",
        ),
        (
            Format::Blkparse,
            "8,0 0 1 0.1 1 Q W 0 + 8 [x]\n".to_string(),
            "t: holds no request (1 × event Q)",
        ),
        (
            Format::MsrCambridge,
            format!("{MSR}5,hm,0,Read\n"),
            "t:3: has 4 fields",
        ),
        (
            Format::Alibaba,
            "1,R,0,512,1\n1,T,0,512,2\n".to_string(),
            "t:2: opcode `T` is neither R nor W",
        ),
    ] {
        let error = parse(format, &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}\nfor\n{text}");
    }
    let error = Trace::parse(Format::Alibaba, "t", b"1,R,0,512,1\n\xff\n").unwrap_err();
    assert_eq!(error.to_string(), "t:2: is not UTF-8 text");
    assert!(Format::detect_or_error("t", b"hello\nworld\n").is_err());
}

#[test]
fn a_request_longer_than_a_record_becomes_several() {
    let text = "8,0 0 1 0.0 1 D D 0 + 16777216 [fstrim]\n";
    let (trace, _) = parse(Format::Blkparse, text).unwrap();
    assert_eq!(trace.total(Trim), (4, Bytes::gib(8)));
    assert_eq!(trace.extent(), Bytes::gib(8));
}

/// Checks the invariants of a trace.
fn holds(trace: &Trace) {
    assert!(trace.records().is_sorted_by_key(|r| r.time));
    assert_eq!(trace.records()[0].time, Nanos::ZERO);
    for r in trace.records() {
        assert_eq!(r.length == 0, r.kind == Flush);
        assert!(r.offset.0.checked_add(r.length.into()).is_some());
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _: Option<Format> = Format::detect(&bytes);
        for format in Format::ALL {
            if let Ok((trace, _)) = Trace::parse(format, "t", &bytes) {
                holds(&trace);
            }
        }
    }

    /// Almost valid text reaches more of the parser.
    #[test]
    fn no_text_makes_it_panic(
        head in 0..3usize,
        words in proptest::collection::vec("[0-9]{1,20}|[0-9]{1,9}\\.[0-9]{1,9}|/a|add|open|read|write|trim|sync|wait|8,0|D|Q|F?[RWDFN][FASM]{0,3}|\\+|\\[x\\]|,|,Read,|,W,|\n", 0..80),
    ) {
        let mut text = ["", "fio version 2 iolog\n/a add\n", "fio version 3 iolog\n0 /a add\n"][head].to_string();
        for word in words {
            text.push_str(&word);
            if !word.contains(['\n', ',']) {
                text.push(' ');
            }
        }
        for format in Format::ALL {
            for order in [Order::Strict, Order::Sort] {
                let options = ParseOptions { order, ..ParseOptions::default() };
                if let Ok((trace, _)) = Trace::parse_with(format, "t", text.as_bytes(), &options) {
                    holds(&trace);
                    let replay = Replay::new(&trace, &ReplayOptions { timing: Timing::ClosedLoop, fit: Fit::Scale }, Bytes::gib(4));
                    if let Ok(replay) = replay {
                        assert_eq!(replay.len(), trace.records().len());
                    }
                }
            }
        }
    }

    #[test]
    fn blkparse_text_is_read_as_written(requests in proptest::collection::vec((0..10_000_000_000u64, 0..1u64 << 40, 1..65536u64, any::<bool>()), 1..50)) {
        let mut now = 0;
        let mut text = String::new();
        for (n, &(gap, sector, sectors, write)) in requests.iter().enumerate() {
            now += gap;
            let rwbs = if write { "WS" } else { "RA" };
            text.push_str(&format!("{:>6},0 {:>3} {n:>8} {:>5}.{:09} {:>5}  D {rwbs:>3} {sector} + {sectors} [x]\n", 8, 0, now / 1_000_000_000, now % 1_000_000_000, 1));
        }
        let (trace, _) = parse(Format::Blkparse, &text)?;
        let mut time = 0;
        for (i, (r, &(gap, sector, sectors, write))) in trace.records().iter().zip(&requests).enumerate() {
            time += if i == 0 { 0 } else { gap };
            let kind = if write { Write } else { Read };
            prop_assert_eq!(*r, Record { time: Nanos(time), offset: Bytes(sector * 512), length: (sectors * 512) as u32, kind });
        }
    }
}
