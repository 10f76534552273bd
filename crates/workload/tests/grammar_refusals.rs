//! The grammar of job files: refused options, and their messages.

use crate::grammar::refusal;
use nandscope_workload::job::JobFile;

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
            "job.fio:1: option `bs` comes before the first section; put `[global]` or `[name of the job]` above it",
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
            "job.fio:2: `ignore_error=EIO,EBLA`: `EBLA` is not an error that fio knows; write its number",
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
            "[a]\nsize=16m\nzonesize=256k\nzoneskip=2m\n",
            "job.fio:3: `zonesize` without `zonemode=strided`, which fio refuses as well; add zonemode=strided, or remove zonesize",
        ),
        (
            "[a]\nioengine=sg\nsg_write_mode=verify_bytchk_01\n",
            "job.fio:3: `sg_write_mode=verify_bytchk_01`: not honoured: the models have no SCSI commands that verify or repeat a block, and a plain write would measure something else; remove it, or write `sg_write_mode=write`",
        ),
        (
            "[a]\nioengine=sg\nreadfua=1\n",
            "job.fio:3: `readfua=1`: not honoured: neither the models nor Linux' block layer have reads that bypass the write buffer; fsync empties it; remove it, or write `readfua=0`",
        ),
        (
            "[a]\nrw=randread\nrandom_distribution=normal:100\n",
            "job.fio:3: `random_distribution=normal:100`: fio takes no deviation of 100 percent; use less",
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
