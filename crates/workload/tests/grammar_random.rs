//! The grammar of job files: randomly generated files are parsed back as they were written, and no text causes a panic.

use nandscope_workload::job::{FileError, Included, JobFile, Machine, Surroundings};
use proptest::prelude::*;

/// A context that returns every request as its answer.
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

    /// With variables, facts and included files that consist of the same text.
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
