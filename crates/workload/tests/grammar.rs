//! The grammar of job files: meaning of options and sections.

use crate::grammar_surroundings::Desk;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::{
    Access, BlockSizes, ContinueOnError, Distribution, Extent, Job, JobFile, PerKind,
};
use nandscope_workload::{DutyCycle, RateLimit};

pub(crate) fn job(options: &str) -> Job {
    let text = format!("[job]\n{options}\n");
    match JobFile::parse("job.fio", &text) {
        Ok(mut file) => file.jobs.remove(0),
        Err(error) => panic!("{text}\n{error}"),
    }
}

pub(crate) fn refusal(text: &str) -> String {
    match JobFile::parse("job.fio", text) {
        Ok(file) => panic!("taken: {file:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn access_words() {
    use Access::*;
    let cases = [
        ("read", Read, false),
        ("write", Write, false),
        ("trim", Trim, false),
        ("rw", ReadWrite, false),
        ("readwrite", ReadWrite, false),
        ("trimwrite", TrimWrite, false),
        ("randread", Read, true),
        ("randwrite", Write, true),
        ("randtrim", Trim, true),
        ("randrw", ReadWrite, true),
        ("randtrimwrite", TrimWrite, true),
    ];
    for (word, access, random) in cases {
        for key in ["rw", "readwrite"] {
            let job = job(&format!("{key}={word}"));
            assert_eq!((job.rw.access, job.rw.random), (access, random), "{word}");
        }
    }
    assert_eq!(job("rw=randread:8").rw.modifier, Some(8));
    assert_eq!(job("rw=read:8k").rw.modifier, Some(8192));
}

#[test]
fn sizes_by_direction() {
    let cases = [
        ("bs=4k", [4096, 4096, 4096]),
        ("bs=8k,32k", [8192, 32_768, 32_768]),
        ("bs=8k,32k,", [8192, 32_768, 4096]),
        ("bs=,8k", [4096, 8192, 8192]),
        ("bs=,8k,", [4096, 8192, 4096]),
        ("bs=1k,2k,512", [1024, 2048, 512]),
        ("blocksize=0x1000", [4096, 4096, 4096]),
        ("bs=4KB", [4096, 4096, 4096]),
        ("kb_base=1000\nbs=64KiB", [65_536; 3]),
        ("bs=512KB\nkb_base=1000", [512_000; 3]),
    ];
    for (text, [r, w, t]) in cases {
        let fixed = BlockSizes::Fixed;
        let expected = PerKind {
            read: fixed(r),
            write: fixed(w),
            trim: fixed(t),
        };
        assert_eq!(job(text).bs, expected, "{text}");
    }
}

#[test]
fn splits_and_ranges() {
    let cases: &[(&str, BlockSizes)] = &[
        (
            "bssplit=4k/60:64k/40",
            BlockSizes::Split(vec![(4096, 60), (65_536, 40)]),
        ),
        (
            "bssplit=4k/50:8k/",
            BlockSizes::Split(vec![(4096, 50), (8192, 50)]),
        ),
        (
            "bssplit=4k:8k:16k",
            BlockSizes::Split(vec![(4096, 33), (8192, 33), (16_384, 34)]),
        ),
        ("bssplit=4k/100", BlockSizes::Fixed(4096)),
        (
            "bsrange=4k-16k",
            BlockSizes::Range {
                min: 4096,
                max: 16_384,
            },
        ),
        ("bsrange=4k-4k", BlockSizes::Fixed(4096)),
    ];
    for (text, expected) in cases {
        assert_eq!(&job(text).bs.read, expected, "{text}");
        assert_eq!(&job(text).bs.trim, expected, "{text}");
    }
}

#[test]
fn regions() {
    let bytes = |n| Extent::Bytes(Bytes(n));
    let j = job("size=1g\nio_size=2g\noffset=10%\noffset_increment=1m\noffset_align=64k");
    assert_eq!(j.size, Some(bytes(1 << 30)));
    assert_eq!(j.io_size, Some(bytes(2 << 30)));
    assert_eq!(j.offset, Extent::Percent(10));
    assert_eq!(j.offset_increment, bytes(1 << 20));
    assert_eq!(j.offset_align, Some(65_536));
    assert_eq!(job("size=100%").size, Some(Extent::Percent(100)));
    assert_eq!(job("number_ios=1k").number_ios, Some(1024));
}

#[test]
fn pace() {
    let p = job(
        "iodepth=32\nruntime=1m\ntime_based\nramp_time=1500ms\nstartdelay=2\nloops=3\nthinktime=50\n\
         thinktime_blocks=4\nrate=1m,500k,\nrate_iops=,,10\nnandscope_duty_cycle=32m:20\n\
         nandscope_idle_cap=25ms",
    )
    .pacing;
    assert_eq!((p.iodepth, p.loops, p.thinktime_blocks), (32, 3, 4));
    assert_eq!(p.runtime, Some(Nanos::from_secs(60)));
    assert!(p.time_based);
    assert_eq!(p.ramp_time, Nanos::from_millis(1500));
    assert_eq!(p.start_delay, Nanos::from_secs(2));
    assert_eq!(p.thinktime, Nanos::from_micros(50));
    assert_eq!(p.read_limit, RateLimit::BytesPerSecond(1 << 20));
    assert_eq!(p.write_limit, RateLimit::BytesPerSecond(500 << 10));
    assert_eq!(p.trim_limit, RateLimit::OpsPerSecond(10));
    let duty = DutyCycle {
        burst_bytes: 32 << 20,
        busy_percent: 20,
    };
    assert_eq!(p.duty_cycle, Some(duty));
    assert_eq!(p.idle_cap, Some(Nanos::from_millis(25)));
}

#[test]
fn distributions() {
    let cases = [
        ("random", Distribution::Uniform),
        (
            "zipf:1.2",
            Distribution::Zipf {
                theta: 1.2,
                centre: None,
            },
        ),
        (
            "zipf:0.9:0.25",
            Distribution::Zipf {
                theta: 0.9,
                centre: Some(0.25),
            },
        ),
        (
            "pareto",
            Distribution::Pareto {
                h: 0.2,
                centre: None,
            },
        ),
        (
            "normal:5",
            Distribution::Normal {
                deviation: 5.0,
                centre: None,
            },
        ),
    ];
    for (text, expected) in cases {
        let job = job(&format!("rw=randread\nrandom_distribution={text}"));
        assert_eq!(job.distribution, expected, "{text}");
    }
    for text in ["zoned:60/10:30/20:10/70", "zoned_abs:90/1m:10/1g"] {
        let job = job(&format!("rw=randread\nrandom_distribution={text}"));
        assert!(matches!(job.distribution, Distribution::Zoned(_)), "{text}");
    }
}

/// Each form was tested with fio 3.33.
#[test]
fn zones_are_taken_and_refused_as_by_fio() {
    let zones = |text: &str| {
        let text = format!("[a]\nrw=randread\nrandom_distribution={text}\n");
        JobFile::parse("t", &text).map(|file| file.jobs[0].distribution.clone())
    };
    let sizes = |text: &str| match zones(text) {
        Ok(Distribution::Zoned(zones)) => zones.iter().map(|zone| zone.extent).collect(),
        Ok(_) => Vec::new(),
        Err(error) => panic!("{text}: {error}"),
    };
    for (text, expected) in [
        ("zoned:60/:40/", &[50, 50][..]),
        ("zoned:60/10:30/20:10/", &[10, 20, 70]),
        ("zoned:33/:33/:34/", &[33, 33, 33]),
        ("zoned:60/10:40/90:", &[10, 90]),
        ("zoned:60/10:40/20", &[10, 20]),
        ("zoned:50:50", &[50, 50]),
        ("zoned:100", &[100]),
        ("zoned:100/", &[100]),
        ("zoned:0/50:100/50", &[50, 50]),
        ("zoned:50/50:50/50:0/0", &[50, 50]),
        ("zoned:", &[]),
        ("zoned::", &[]),
    ] {
        let expected: Vec<Extent> = expected.iter().map(|p| Extent::Percent(*p)).collect();
        assert_eq!(sizes(text), expected, "{text}");
    }
    assert_eq!(sizes("zoned_abs:60/4m:40/12m").len(), 2);
    for text in [
        "zoned",
        "zoned:60/:30/20:",
        "zoned:60/:",
        "zoned:60/:30/20",
        "zoned:/50:/50",
        "zoned:/:",
        "zoned:60/10:/",
        "zoned:60/10::40/90",
        "zoned:50/60:50/60",
        "zoned:99/99",
        "zoned:101/100",
        "zoned:a/b",
        "zoned_abs:60/4m:40/",
        "zoned_abs:60/:40/8m",
        "zoned_abs:/4m:/8m",
        "zoned_abs:60/4m:30/8m",
    ] {
        assert!(zones(text).is_err(), "{text}");
    }
    // fio takes these, and ends the job at the first access to the empty zone or goes elsewhere.
    for text in ["zoned:50/0:50/100", "zoned:60/100:40/"] {
        let error = zones(text).unwrap_err().to_string();
        assert!(error.contains("a zone of no size"), "{error}");
    }
}

/// Each pattern was written by fio 3.33.
#[test]
fn patterns_of_bytes() {
    let bytes = |option: &str, text: &str| {
        let text = format!("[a]\nrw=write\n{option}={text}\n");
        let file = JobFile::read("t", &text, &Desk { overrides: vec![] });
        file.map(|file| {
            let job = &file.jobs[0];
            let pattern = job.data.pattern.as_ref().or(job.verify.pattern.as_ref());
            let mut block = vec![0; 12];
            pattern.unwrap().fill(&mut block, 0x1000);
            block
        })
    };
    for (text, expected) in [
        ("0xdeadface", &[0xde, 0xad, 0xfa, 0xce, 0xde][..]),
        ("0xabc", &[0x0a, 0xbc, 0x0a]),
        ("-12", &[0xf4, 0xff, 0xff, 0xff, 0xf4]),
        ("300", &[0x2c, 1, 0x2c]),
        ("0", &[0, 0]),
        ("010", &[10, 10]),
        ("+5", &[5, 5]),
        (
            "0xdead\"abc\"-1",
            &[0xde, 0xad, b'a', b'b', b'c', 0xff, 0xff, 0xff, 0xff, 0xde],
        ),
        ("1\"a'b\"2", &[1, b'a', b'\'', b'b', 2, 1]),
        ("0x01'file.bin'", &[1, 0xf0, 0xf1, 1]),
        (
            "\"abcd\"-120xdeadface",
            b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce",
        ),
        ("0x12a0x5", &[0x01, 0x2a, 0x05]),
        ("0xff0X1", &[0xff, 0x01, 0xff]),
        ("00x5", &[0, 5, 0]),
        ("1 2", &[1, 2, 1]),
        ("'file.bin'3", &[0xf0, 0xf1, 3]),
    ] {
        let found = bytes("buffer_pattern", text).unwrap();
        assert_eq!(found[..expected.len()], *expected, "{text}");
        assert_eq!(bytes("verify_pattern", text).unwrap(), found, "{text}");
    }
    let offset = bytes("verify_pattern", "0xaa%o\"z\"").unwrap();
    assert_eq!(offset, [0xaa, 0, 0x10, 0, 0, 0, 0, 0, 0, b'z', 0xaa, 0]);
    for text in [
        "abcd",
        "0x",
        "12abc",
        "5000000000",
        "2147483648",
        "120x",
        "0x1g",
        "12 0x5",
        "\"a",
        "%o",
        "'none.bin'",
    ] {
        assert!(bytes("buffer_pattern", text).is_err(), "{text}");
    }
}

#[test]
fn global_sections_hold_for_later_jobs() {
    let text = "; a file\n[global]\nbs=8k # eight\nrw=randread\n\n[a]\n[b]\nbs=,16k\n[global]\niodepth=4\n[c]\nrw=write\n";
    let file = JobFile::parse("f", text).expect("valid");
    let names: Vec<_> = file.jobs.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(file.jobs[0].bs.read, BlockSizes::Fixed(8192));
    assert_eq!(file.jobs[1].bs.read, BlockSizes::Fixed(8192));
    assert_eq!(file.jobs[1].bs.write, BlockSizes::Fixed(16_384));
    let depths: Vec<_> = file.jobs.iter().map(|j| j.pacing.iodepth).collect();
    assert_eq!(depths, [1, 1, 4]);
    assert_eq!(file.jobs[2].rw.access, Access::Write);
    assert!(!file.jobs[2].rw.random);
    assert_eq!(file.jobs[1].origin.options["rw"], 4);
    assert_eq!(file.jobs[1].origin.options["bs"], 8);
}

#[test]
fn stonewalls_part_the_groups() {
    let text = "[a]\n[b]\n[c]\nstonewall\n[d]\n[e]\nwait_for_previous=1\n";
    let file = JobFile::parse("f", text).expect("valid");
    let sizes: Vec<_> = file.groups().iter().map(|g| g.len()).collect();
    assert_eq!(sizes, [2, 2, 1]);
    let walled = JobFile::parse("f", "[a]\nstonewall\n").expect("valid");
    assert_eq!(walled.groups().len(), 1, "no empty group in front");
}

#[test]
fn traces_are_named_but_not_opened() {
    let job = job(
        "read_iolog=trace.log\nreplay_no_stall=1\nreplay_time_scale=200\nnandscope_trace_format=blktrace",
    );
    let trace = job.trace.expect("a trace");
    assert_eq!(trace.path, "trace.log");
    assert_eq!(trace.format.as_deref(), Some("blktrace"));
    assert!(trace.no_stall);
    assert_eq!(trace.time_scale_percent, 200);
}

#[test]
fn options_without_effect_are_kept() {
    let job = job("ioengine=libaio\nthread\ndirect=1\nfilename=/dev/null");
    assert_eq!(job.options()["ioengine"], "libaio");
    assert_eq!(job.options()["direct"], "1");
    assert_eq!(job.without_effect["thread"], "1");
    assert_eq!(job.options()["filename"], "/dev/null");
}

#[test]
fn processors_and_failures_take_effect() {
    let set = job("cpus_allowed=3, 0-1,1\ncontinue_on_error=1");
    assert_eq!(set.cpus_allowed, [0, 1, 3]);
    assert_eq!(set.continue_on_error, ContinueOnError::All);
    assert!(set.without_effect.is_empty());
    assert_eq!(set.options()["cpus_allowed"], "0-1,3");
    assert_eq!(set.options()["continue_on_error"], "all");
    let off = job("continue_on_error=0");
    assert_eq!(off.continue_on_error, ContinueOnError::None);
}

#[test]
fn batches_and_low_marks_of_the_queue() {
    let pacing = |options: &str| job(&format!("iodepth=32\n{options}")).pacing;
    assert_eq!((pacing("").batch, pacing("").refill_at), (1, None));
    assert_eq!(pacing("iodepth_batch=0").batch, 32);
    assert_eq!(pacing("iodepth_batch_submit=8").batch, 8);
    assert_eq!(pacing("iodepth_batch_complete_min=8").refill_at, Some(24));
    assert_eq!(pacing("iodepth_low=4").refill_at, Some(4));
    assert_eq!(
        pacing("iodepth_low=4\niodepth_batch_complete=32").refill_at,
        Some(0)
    );
}
