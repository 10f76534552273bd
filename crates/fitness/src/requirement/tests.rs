use super::*;

const GOOD: &str = "format = 1\ntitle = \"t\"\nyears = 5\ntemperature_c = [0, 40]\n[[stream]]\nname = \"video\"\nrate = \"40 Mbit/s\"\nblock = \"250 kB\"\npattern = \"sequential\"\n";

#[test]
fn every_file_of_the_library_is_read_and_each_figure_has_its_reason() {
    for file in library::REQUIREMENTS {
        let requirement = file.requirement();
        assert!(requirement.is_ok(), "{}: {requirement:?}", file.name);
        assert!(file.about().len() > 20, "{}", file.name);
        let needs_reason = |line: &&str| {
            let free = ["format", "title", "name", "pattern", "direction"];
            line.contains(" = ") && !free.iter().any(|key| line.starts_with(key))
        };
        for line in file.text.lines().filter(needs_reason) {
            assert!(line.contains(" # "), "{}: {line}", file.name);
        }
    }
}

#[test]
fn quantities_mean_what_they_say() {
    let read = |rate: &str, block: &str| {
        let text = GOOD.replace("40 Mbit/s", rate).replace("250 kB", block);
        parse("f", &text).map(|r| (r.streams[0].bytes_per_s(), r.streams[0].blocks_per_s))
    };
    for (rate, block, bytes, blocks) in [
        ("40 Mbit/s", "512 kB", 5e6, 5e6 / 512e3),
        ("5 MB/s", "512", 5e6, 5e6 / 512.0),
        ("1 MiB/s", "4 KiB", 1_048_576.0, 256.0),
        ("1000/s", "512 B", 512e3, 1000.0),
        ("187.3 kB/s", "4KiB", 187.3e3, 187.3e3 / 4096.0),
    ] {
        let (b, n) = read(rate, block).unwrap();
        assert!(
            (b / bytes - 1.0).abs() < 1e-9 && (n / blocks - 1.0).abs() < 1e-9,
            "{rate} {b} {n}"
        );
    }
    for rate in [
        "5", "5 MB", "MB/s", "-5 MB/s", "0 MB/s", "5 mb/s", "nan/s", "5 MBit/s", "1e99/s",
    ] {
        assert!(read(rate, "4 KiB").is_err(), "{rate}");
    }
}

/// Text to replace, replacement, line of the fault, part of the key, part of the message or remedy.
#[test]
fn wrong_and_contradictory_files_are_refused_with_line_key_and_remedy() {
    let with = |extra: &str| format!("{GOOD}{extra}\n");
    let cases = [
        (
            GOOD.replace("format = 1", "format = 2"),
            1,
            "format",
            "format 1",
        ),
        (
            GOOD.replace("years = 5", "yaers = 5"),
            3,
            "",
            "unknown field",
        ),
        (
            GOOD.replace("years = 5", "years = 0"),
            3,
            "years",
            "above 0",
        ),
        (
            GOOD.replace("years = 5", "years = nan"),
            3,
            "years",
            "above 0",
        ),
        (
            GOOD.replace("years = 5", "hours_per_day = 5"),
            3,
            "hours_per_day",
            "add `years`",
        ),
        (
            GOOD.replace("[0, 40]", "[40, 0]"),
            4,
            "temperature_c",
            "lower one first",
        ),
        (
            GOOD.replace("[0, 40]", "[40]"),
            4,
            "temperature_c",
            "lowest and the highest",
        ),
        (
            GOOD.replace("40 Mbit/s", "40"),
            7,
            "stream.video.rate",
            "not a rate",
        ),
        (
            GOOD.replace("250 kB", "1000 B"),
            8,
            "stream.video.block",
            "multiple of 512",
        ),
        (
            GOOD.replace("250 kB", "8 GiB"),
            8,
            "stream.video.block",
            "up to 1 GiB",
        ),
        (
            GOOD.replace("sequential", "zipf"),
            9,
            "stream.video.pattern",
            "random",
        ),
        (
            with("loss = \"1 %\""),
            10,
            "stream.video.loss",
            "add `buffer`",
        ),
        (
            with("buffer = \"100 kB\""),
            10,
            "stream.video.buffer",
            "smaller than a block",
        ),
        (
            with("deadline_share = \"99 %\""),
            10,
            "deadline_share",
            "add `deadline`",
        ),
        (
            with("deadline = \"10\""),
            10,
            "stream.video.deadline",
            "no unit",
        ),
        (
            with("sync = \"sometimes\""),
            10,
            "stream.video.sync",
            "each",
        ),
        (
            with("sync = \"1 KiB\""),
            10,
            "stream.video.sync",
            "less than a block",
        ),
        (
            with("direction = \"read\"\nsync = \"each\""),
            11,
            "stream.video.sync",
            "nothing to sync",
        ),
        (
            with("area = \"110 %\""),
            10,
            "stream.video.area",
            "percentage",
        ),
        (
            with("area = \"1 kB\""),
            10,
            "stream.video.area",
            "smaller than a block",
        ),
        (with("depth = 0"), 10, "stream.video.depth", "1 to 1024"),
        (with("sise = 1"), 10, "", "unknown field"),
        (
            "format = 1\ntitle = \"t\"\n".to_string(),
            1,
            "stream",
            "add 1 to 64",
        ),
        (
            with(&GOOD[GOOD.find("[[stream]]").unwrap_or(0)..]),
            11,
            "stream.name",
            "another name",
        ),
        (
            with(
                &GOOD[GOOD.find("[[stream]]").unwrap_or(0)..]
                    .replace("video", "b")
                    .replace("pattern", "area = \"60 %\"\npattern"),
            )
            .replacen("pattern", "area = \"60 %\"\npattern", 1),
            15,
            "stream.b.area",
            "more than the whole",
        ),
    ];
    for (text, line, key, part) in cases {
        let faults = parse("f.toml", &text).expect_err(&text);
        let found = faults.iter().any(|f| {
            let shown = f.to_string();
            f.line == line && f.key.contains(key) && shown.contains(part) && !f.remedy.is_empty()
        });
        assert!(found, "{text}\n{faults:?}");
    }
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    let mut random = nandscope_units::random::SplitMix64::new(5);
    for _ in 0..3000 {
        let file = library::REQUIREMENTS[random.below(library::REQUIREMENTS.len() as u64) as usize];
        let mut bytes = file.text.as_bytes().to_vec();
        for _ in 0..1 + random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"0123456789-\"[]{}= %eE"[random.below(21) as usize]),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Err(faults) = parse("fuzz", &text) {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(text.get(fault.span.clone()).is_some(), "{fault}");
            }
        }
    }
}
