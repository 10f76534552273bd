//! The grammar of job files: what is understood, what is refused and how the refusal reads.

use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::{
    Access, BlockSizes, ContinueOnError, Distribution, Extent, FileError, Included, Job, JobError,
    JobFile, Machine, Override, PerKind, Surroundings,
};
use nandscope_workload::{DutyCycle, RateLimit};
use proptest::prelude::*;

fn job(options: &str) -> Job {
    let text = format!("[job]\n{options}\n");
    match JobFile::parse("job.fio", &text) {
        Ok(mut file) => file.jobs.remove(0),
        Err(error) => panic!("{text}\n{error}"),
    }
}

fn refusal(text: &str) -> String {
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

/// Each form was given to fio 3.33.
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
fn messages_name_line_and_remedy() {
    let cases = [
        (
            "[a]\niodpeth=4\n",
            "job.fio:2: unknown option `iodpeth`; did you mean `iodepth`?",
        ),
        (
            "[a]\n\n; x\nrw=raed\n",
            "job.fio:4: `rw=raed`: no such access; write read, write, trim, rw, trimwrite, or the same with `rand` before it",
        ),
        (
            "bs=4k\n[a]\n",
            "job.fio:1: option `bs` stands before the first section; put `[global]` or `[name of the job]` above it",
        ),
        (
            "[a]\nsize=${SIZE}\n",
            "job.fio:2: `size=${SIZE}`: the environment variable `SIZE` is not set; set it (`SIZE=… nandscope …`), or write the value itself",
        ),
        (
            "include x.fio\n[a]\n",
            "job.fio:1: `include x.fio`: `x.fio` cannot be read here; name a file beside this one",
        ),
        (
            "[a]\nsteadystate=iops\n",
            "job.fio:2: `steadystate=iops`: no limit; write such as iops:2% or bw_slope:1m",
        ),
        (
            "[a]\nsize=1m\n[b]\nwait_for=c\n[c]\n",
            "job.fio:4: `wait_for=c`: no job of this name comes before it; name a job that is further up in the file",
        ),
        (
            "[a]\nwait_for=a\n",
            "job.fio:2: `wait_for=a`: a job cannot wait for itself; name a job that is further up in the file",
        ),
        (
            "[a]\nignore_error=EIO,EBLA\n",
            "job.fio:2: `ignore_error=EIO,EBLA`: `EBLA` is no error that fio knows; write its number",
        ),
        (
            "[a]\nfile_service_type=fifo\n",
            "job.fio:2: `file_service_type=fifo`: no such order of files; write roundrobin, sequential, random, zipf, pareto or normal",
        ),
        (
            "[a]\nioengine=ftruncate\n",
            "job.fio:2: `ioengine=ftruncate`: an engine that changes the sizes of files, which is not I/O on a block device; run it with fio",
        ),
        (
            "",
            "job.fio: the file holds no job; add a section `[name]` with its options",
        ),
        (
            "[a\n",
            "job.fio:1: the section name is not closed; write `[name]` alone on the line",
        ),
        (
            "[a]\nbs\n",
            "job.fio:2: `bs` has no value; write `bs=value`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn refuses_values_that_mean_nothing() {
    let cases = [
        "bs=4KiB",
        "bs=1000",
        "bs=0",
        "bs=4g",
        "bs=1k,2k,3k,4k",
        "bs=4x",
        "bs=(4*1024",
        "bs=(1/0)",
        "ioengine=nonsense",
        "ioengine=libhdfs",
        "bssplit=4k/60:8k/50",
        "bsrange=8k-4k",
        "bs_unaligned=1",
        "ba=1000",
        "size=110%",
        "size=0",
        "io_size=0%",
        "offset=100",
        "offset=-1",
        "iodepth=0",
        "iodepth=x",
        "numjobs=0",
        "loops=0",
        "rwmixread=101",
        "runtime=5x",
        "runtime=10ns",
        "thinktime_blocks=0",
        "percentage_random=101",
        "rate=1m\nrate_iops=5",
        "cpus_allowed=4096",
        "cpus_allowed=2-1",
        "cpus_allowed=x",
        "continue_on_error=some",
        "rw=randread\nrandom_distribution=zipf:1.0",
        "rw=randread\nrandom_distribution=zipf:x",
        "rw=randread\nrandom_distribution=zipf:NaN",
        "rw=randread\nrandom_distribution=pareto:1",
        "rw=randread\nrandom_distribution=zoned:50/50",
        "rw=randread\nrandom_distribution=zoned:100/101",
        "rw=randread\nrandom_distribution=bell:1",
        "random_distribution=zipf:1.2",
        "rw_sequencer=identical",
        "percentile_list=50:101",
        "percentile_list=a",
        "kb_base=1001",
        "sync=maybe",
        "rate_process=even",
        "startdelay=5-1",
        "startdelay=1-",
        "max_latency=1,2,3,4",
        "replay_skip=flush",
        "replay_no_stall=1",
        "read_iolog=a:b",
        "nandscope_duty_cycle=32m",
        "nandscope_duty_cycle=32m:0",
        "nandscope_fullness=101%",
        "nandscope_unknown=1",
        "exec_prerun=true",
        "=4",
        "time_based=2",
        "size=$pagesize",
    ];
    for options in cases {
        let message = refusal(&format!("[job]\n{options}\n"));
        let first = message.lines().next().unwrap_or_default();
        assert!(first.starts_with("job.fio:"), "{options}: {message}");
        assert!(first.contains("; "), "{options}: no remedy in {message}");
    }
}

#[test]
fn all_faults_are_reported_at_once() {
    let text = "x=1\n[global]\nbs=x\n[a]\niodepth=0\nfoo=2\n[b]\nrw=qq\n";
    let error = JobFile::parse("job.fio", text).expect_err("five faults");
    let lines: Vec<_> = error.faults.iter().map(|f| f.line).collect();
    assert_eq!(lines, [1, 3, 5, 6, 8]);
    let keys: Vec<_> = error.faults.iter().map(|f| f.key.as_str()).collect();
    assert_eq!(keys, ["x", "bs", "iodepth", "foo", "rw"]);
}

#[test]
fn the_span_covers_the_assignment() {
    let text = "[a]\n   foo = 1   # comment\n";
    let error = JobFile::parse("job.fio", text).expect_err("unknown");
    let fault = &error.faults[0];
    let line = text.lines().nth(fault.line - 1).expect("there");
    assert_eq!(&line[fault.span.clone()], "foo = 1");
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

/// The surroundings of a file of fio's users.
struct Desk {
    overrides: Vec<Override>,
}

impl Surroundings for Desk {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "SIZE").then(|| "16".to_string())
    }

    fn include(&self, name: &str, from: &str) -> Result<Included, FileError> {
        assert!(["job.fio", "dir/common.fio"].contains(&from), "{from}");
        match name {
            "common.fio" => Ok(Included {
                name: "dir/common.fio".to_string(),
                text: "[global]\nrw=randread\ninclude depth.fio\n".to_string(),
            }),
            "depth.fio" => Ok(Included {
                name: "dir/depth.fio".to_string(),
                text: "iodepth=8\nfault=1\n".to_string(),
            }),
            "loop.fio" => Ok(Included {
                name: "job.fio".to_string(),
                text: "include loop.fio\n".to_string(),
            }),
            _ => Err(FileError::NotFound),
        }
    }

    fn bytes(&self, name: &str, most: usize) -> Result<Vec<u8>, FileError> {
        assert!(most >= 2);
        match name {
            "file.bin" => Ok(vec![0xf0, 0xf1]),
            _ => Err(FileError::NotFound),
        }
    }

    fn machine(&self) -> Option<Machine> {
        Some(Machine {
            processors: 4,
            memory_mib: 2048,
            page_bytes: 4096,
        })
    }

    fn overrides(&self) -> &[Override] {
        &self.overrides
    }
}

/// Surroundings that answer everything with what they were asked for.
struct Echo<'a>(&'a str);

impl Surroundings for Echo<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        Some(format!("${{{name}}}$pagesize"))
    }

    fn include(&self, name: &str, _: &str) -> Result<Included, FileError> {
        Ok(Included {
            name: name.to_string(),
            text: self.0.to_string(),
        })
    }

    fn machine(&self) -> Option<Machine> {
        Some(Machine {
            processors: u64::MAX,
            memory_mib: 0,
            page_bytes: 1,
        })
    }
}

fn at_desk(text: &str, overrides: &[&str]) -> Result<JobFile, JobError> {
    let overrides = overrides.iter().map(|text| Override::parse(text)).collect();
    JobFile::read("job.fio", text, &Desk { overrides })
}

#[test]
fn values_from_outside_of_the_file() {
    let text = "[a]\nsize=${SIZE}m\niodepth=$ncpus*4\nioengine=libaio\nbs=$pagesize\nio_size=(2*${SIZE}m)\nruntime=(2*30)\n";
    let job = at_desk(text, &[]).unwrap().jobs.remove(0);
    let bytes = |n| Some(Extent::Bytes(Bytes(n)));
    assert_eq!((job.size, job.io_size), (bytes(16 << 20), bytes(32 << 20)));
    assert_eq!(job.pacing.iodepth, 16);
    assert_eq!(job.bs.read, BlockSizes::Fixed(4096));
    assert_eq!(job.pacing.runtime, Some(Nanos::from_secs(60)));
    assert!(at_desk("[a]\nsize=${OTHER}\n", &[]).is_err());
    assert!(at_desk("[a]\nsize=${SIZE\n", &[]).is_err());
}

#[test]
fn included_files_stand_where_they_are_named() {
    let text = "include common.fio\n[a]\nbs=8k\n";
    let error = at_desk(text, &[]).unwrap_err();
    let fault = &error.faults[0];
    assert_eq!((fault.file.as_str(), fault.line), ("dir/depth.fio", 2));
    assert!(
        at_desk("[a]\ninclude other.fio\n", &[])
            .unwrap_err()
            .to_string()
            .contains("no such file")
    );
    assert!(
        at_desk("[a]\ninclude loop.fio\n", &[])
            .unwrap_err()
            .to_string()
            .contains("16 files")
    );
}

#[test]
fn options_of_the_command_line_come_last() {
    let text = "[global]\nioengine=libaio\ndirect=1\n[a]\niodepth=4\n[b]\n";
    let file = at_desk(text, &["iodepth=64", "--bs=16k", "norandommap"]).unwrap();
    for job in &file.jobs {
        assert_eq!(job.pacing.iodepth, 64);
        assert_eq!(job.bs.read, BlockSizes::Fixed(16_384));
        assert!(!job.random_map);
    }
    let error = at_desk(text, &["iodepht=64"]).unwrap_err().to_string();
    assert!(
        error.starts_with("the command line: unknown option `iodepht`"),
        "{error}"
    );
}

fn notices(text: &str) -> Vec<String> {
    at_desk(text, &[]).unwrap().jobs.remove(0).origin.notices
}

/// "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1".
#[test]
fn a_synchronous_engine_has_a_queue_depth_of_one() {
    for text in [
        "[a]\niodepth=8\ndirect=1\n",
        "[a]\nioengine=pvsync2\niodepth=8\ndirect=1\n",
    ] {
        let job = at_desk(text, &[]).unwrap().jobs.remove(0);
        assert_eq!(job.pacing.iodepth, 1, "{text}");
        let [notice] = &job.origin.notices[..] else {
            panic!("{:?}", job.origin.notices);
        };
        assert!(
            notice.contains("the queue depth is 1 and not 8"),
            "{notice}"
        );
    }
    assert!(notices("[a]\nioengine=libaio\niodepth=8\ndirect=1\n").is_empty());
    // Jobs that a program writes have the depth that they ask for.
    assert_eq!(job("iodepth=8").pacing.iodepth, 8);
}

#[test]
fn what_fio_does_in_silence_is_said() {
    for (text, part) in [
        ("[a]\n", "no `direct=`"),
        (
            "[a]\ndirect=1\nbs=4k\nblocksize=8k\n",
            "the last one counts",
        ),
        ("[a]\ndirect=1\ntime_based\n", "without `runtime`"),
        ("[a]\ndirect=1\nsize=1MiB\n", "counts by 1000"),
        ("[global]\nname=x\n[a]\ndirect=1\n", "no effect"),
    ] {
        let all = notices(text);
        assert!(all.len() == 1 && all[0].contains(part), "{text}: {all:?}");
    }
    let twice = at_desk("[a]\nbs=4k\nbs=8k\n", &[]).unwrap();
    assert_eq!(twice.jobs[0].bs.read, BlockSizes::Fixed(8192));
    let odd = at_desk("[a]\nsize=1GiB\n", &[]).unwrap();
    assert_eq!(odd.jobs[0].size, Some(Extent::Bytes(Bytes(1_000_000_000))));
    let global = at_desk("[global2]\nbs=8k\n[a]\n", &[]).unwrap();
    assert_eq!(global.jobs[0].bs.read, BlockSizes::Fixed(8192));
    // fio 3.33 on 4k/60:8k/20:2k/10: 2759, 816 and 425 of 4,000.
    let split = at_desk("[a]\nbssplit=4k/60:8k/20:2k/10\n", &[]).unwrap();
    let shares = vec![(4096, 70), (8192, 20), (2048, 10)];
    assert_eq!(split.jobs[0].bs.read, BlockSizes::Split(shares));
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

/// Options of which any choice makes a valid job, except where two exclude each other.
const CHOICES: &[&[&str]] = &[
    &[
        "rw=read",
        "rw=randrw",
        "rw=randread:8",
        "rw=write:64k",
        "rw=trimwrite",
        "rw=randtrim",
    ],
    &[
        "bs=4k",
        "bs=8k,16k",
        "bs=512,1k,2k",
        "bssplit=4k/60:64k/40",
        "bsrange=4k-64k",
        "bssplit=4k/20:8k/,16k/100",
    ],
    &["ba=4k", "ba=,8k", "ba=8k,,512"],
    &["size=1g", "size=50%", "size=12345"],
    &["io_size=3g", "io_size=10%"],
    &["offset=1m", "offset=25%"],
    &["offset_increment=1g", "offset_increment=5%"],
    &["iodepth=1", "iodepth=256"],
    &["numjobs=4"],
    &["group_reporting", "group_reporting=0"],
    &["runtime=30", "runtime=1500ms", "runtime=10us"],
    &["ramp_time=5s"],
    &["startdelay=3", "startdelay=1-5", "startdelay=2-2"],
    &["max_latency=50ms", "max_latency=100,0,3s", "max_latency=0"],
    &["rate_process=poisson", "rate_process=linear"],
    &["thinktime_iotime=2s"],
    &["sync=1", "sync=dsync", "sync=none", "sync=0"],
    &["stonewall"],
    &["loops=5"],
    &["thinktime=100", "thinktime=3ms"],
    &["thinktime_blocks=7"],
    &["rate=1m", "rate=1m,2m", "rate=,500k,", "rate=0"],
    &["rwmixread=70", "rwmixwrite=100"],
    &["percentage_random=50", "percentage_random=10,20,30"],
    &["norandommap", "norandommap=0"],
    &["randseed=42"],
    &["fsync=32", "fsync=0"],
    &["fdatasync=8"],
    &["end_fsync=1"],
    &["fsync_on_close=1"],
    &["number_ios=1000"],
    &["write_bw_log", "write_bw_log=prefix"],
    &["write_iops_log=x"],
    &["write_lat_log"],
    &["log_avg_msec=500"],
    &["percentile_list=50:99:99.9", "percentile_list=99.99:1"],
    &["verify=crc32c", "verify=0"],
    &["verify=md5\nverify_interval=512\nverify_offset=100"],
    &["do_verify=0"],
    &[
        "verify_pattern=0xaa%o\"z\"",
        "verify_pattern=%o",
        "verify_pattern=-1",
    ],
    &["buffer_pattern=0x12\"ab\"", "buffer_pattern=0"],
    &["zero_buffers", "refill_buffers", "scramble_buffers=0"],
    &[
        "buffer_compress_percentage=50",
        "buffer_compress_percentage=30\nbuffer_compress_chunk=1k",
    ],
    &[
        "dedupe_percentage=20",
        "dedupe_percentage=20\ndedupe_mode=working_set\ndedupe_working_set_percentage=7\ndedupe_global",
    ],
    &["description=a b c"],
    &["unified_rw_reporting=both", "unified_rw_reporting=1"],
    &["ioengine=io_uring", "ioengine=psync"],
    &["direct=1", "direct=0", "buffered=0"],
    &["iodepth_batch=0", "iodepth_batch=4"],
    &["iodepth_batch_complete_min=8"],
    &["iodepth_low=2"],
    &["cpus_allowed=3,0-1,1"],
    &[
        "continue_on_error=all",
        "continue_on_error",
        "continue_on_error=0",
    ],
    &[
        "read_iolog=a.log",
        "read_iolog=a.log\nreplay_skip=trim,sync",
        "read_iolog=a.log\nnandscope_trace_device=8,0\nnandscope_trace_event=Q\nnandscope_trace_sort=1",
    ],
    &["nandscope_duty_cycle=32m:20"],
    &["nandscope_fullness=80%"],
    &["nandscope_idle_cap=25ms"],
];

fn section() -> impl Strategy<Value = String> {
    let picks: Vec<_> = CHOICES
        .iter()
        .map(|choice| prop::option::of(prop::sample::select(choice.to_vec())))
        .collect();
    picks.prop_map(|lines| {
        let lines: Vec<&str> = lines.into_iter().flatten().collect();
        lines.join("\n") + "\n"
    })
}

fn file() -> impl Strategy<Value = String> {
    (section(), section(), section())
        .prop_map(|(g, a, b)| format!("[global]\n{g}[first job]\n{a}[second]\n{b}"))
}

proptest! {
    #[test]
    fn writing_and_reading_again_gives_the_same(text in file()) {
        // A global rate and a job's, or bsrange and bssplit, may exclude each other.
        if let Ok(file) = JobFile::parse("job.fio", &text) {
            let again = JobFile::parse("again.fio", &file.to_fio());
            prop_assert_eq!(again, Ok(file));
        }
    }

    #[test]
    fn one_section_reads_back(options in section()) {
        let text = format!("[job]\n{options}");
        let file = JobFile::parse("job.fio", &text).expect("valid by construction");
        let again = JobFile::parse("again.fio", &file.jobs[0].to_fio());
        prop_assert_eq!(again, Ok(file));
    }

    /// With variables, facts and included files made of the same text.
    #[test]
    fn no_surroundings_make_it_panic(
        lines in prop::collection::vec("(include x|\\[[a-z]{1,3}\\]|[a-z_]{1,12}=[-0-9a-z$(){}+*/%^. ]{0,16}|size=\\$\\{[a-z]{0,2}\\}|bs=\\([-0-9k+*/%^() ]{0,12}\\)|iodepth=\\$ncpus[*+/-][0-9]{1,3})", 0..12),
    ) {
        let text = lines.join("\n");
        let _ = JobFile::read("x", &text, &Echo(&text));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = JobFile::parse("x", &text);
    }

    #[test]
    fn no_section_makes_it_panic(lines in prop::collection::vec("[a-z_]{1,12}=?[-0-9a-zµ.:/%,$ ]{0,12}", 0..20)) {
        let _ = JobFile::parse("x", &format!("[a]\n{}\n", lines.join("\n")));
    }

    #[test]
    fn no_damage_makes_it_panic(text in file(), place: prop::sample::Index, with in any::<char>()) {
        let mut chars: Vec<char> = text.chars().collect();
        let at = place.index(chars.len());
        chars[at] = with;
        let damaged: String = chars.into_iter().collect();
        if let Err(error) = JobFile::parse("x", &damaged) {
            for fault in &error.faults {
                let line = damaged.lines().nth(fault.line.max(1) - 1).unwrap_or_default();
                prop_assert!(line.get(fault.span.clone()).is_some(), "{:?}", fault);
            }
        }
    }
}
