//! The output for people beside that of fio 3.33, byte by byte. fio prints the results of one run as JSON and for people;
//! nandscope prints those of the JSON for people too. Widths, units and rounding must be the same.

use crate::support::Folder;
use crate::support::fio::with_target;
use crate::support::fio_json::{document, has_doubtful_class};
use crate::support::serving::{have, run};
use nandscope_report::fio::{Format, TerseVersion, results};
use serde_json::Value;

/// Jobs on an engine without I/O whose numbers have many lengths: from single operations to millions per second.
const QUICK: &str = "\
[global]
ioengine=null
size=64m
bwavgtime=100
iopsavgtime=100
time_based
runtime=330ms
stonewall
[fast]
rw=randread
bs=4k
norandommap
[deep]
rw=randrw
rwmixread=70
bs=64k
iodepth=32
iodepth_batch=8
description=A deep queue, and batches
[slow]
rw=write
bs=512
rate_iops=30
[odd]
rw=write
bs=1234k
rate=70m
iodepth=70
[trimmed]
rw=randtrim
bs=8k
rate_iops=3000
[clones]
rw=randrw
bs=4k,16k
numjobs=3
group_reporting
[single]
rw=read
bs=4k
time_based=0
number_ios=1
";

/// Options that change the lines of percentiles, or the directions.
const SHOWN: &str = "\
[global]
ioengine=null
size=64m
bs=4k
bwavgtime=100
iopsavgtime=100
time_based
runtime=230ms
stonewall
[listed]
rw=randread
iodepth=4
slat_percentiles=1
lat_percentiles=1
percentile_list=0.125:1:50:99.5:99.123456:100
[plain]
rw=randrw
iodepth=2
clat_percentiles=0
lat_percentiles=1
significant_figures=7
[rough]
rw=write
rate=12345k
significant_figures=2
[together]
rw=randrw
unified_rw_reporting=mixed
[both]
rw=randrw
rate_iops=700,300
unified_rw_reporting=both
runtime=60ms
[steady]
rw=randread
rate_iops=2000
ss=iops:40%
ss_dur=1
runtime=3
[sloping]
rw=randread
rate_iops=900
ss=bw_slope:0.001%
ss_dur=2
runtime=4
[searching]
rw=randread
iodepth=8
latency_target=10ms
latency_window=50ms
latency_percentile=95
[tolerant]
rw=read
continue_on_error=all
[threads]
rw=randread
thread
numjobs=2
rate_iops=50
";

/// Latencies of a disk, which submit and complete apart, and of flushes.
const WAITING: &str = "\
[global]
bwavgtime=100
iopsavgtime=100
[synced]
ioengine=psync
filename=file
rw=randwrite
bs=4k
size=128k
fsync=4
[asynchronous]
stonewall
ioengine=libaio
filename=file
rw=randrw
bs=4k
size=1m
iodepth=16
";

/// Parts of fio's output: the lines before the jobs run, the JSON, and the results for people.
fn parts(text: &str) -> (&str, Value, &str) {
    let begin = text.find("{\n").unwrap();
    let mut objects = serde_json::Deserializer::from_str(&text[begin..]).into_iter();
    let output: Value = objects.next().unwrap().unwrap();
    let end = begin + objects.byte_offset();
    (&text[..begin], output, &text[end..])
}

/// The lines that are compared. Excepted are the process number and date of a job, the processor time, which nandscope
/// does not measure, and the disks. fio has no `slat` of an engine that submits and waits at once. The classes of latencies
/// are left out if `is_doubtful`.
fn compared(text: &str, is_doubtful: bool) -> Vec<String> {
    let text = text.trim_start_matches('\n');
    let (text, _) = text.split_once("\nDisk stats").unwrap_or((text, ""));
    let lines = text.trim_end().lines();
    let lines = lines.filter(|line| !line.starts_with("  cpu          : "));
    let lines = lines.filter(|line| !line.starts_with("    slat (nsec): min=0, max=0, "));
    let lines = lines.filter(|line| !(is_doubtful && line.starts_with("  lat (")));
    let lines = lines.map(|line| match line.split_once(": pid=") {
        Some((job, _)) => format!("{job}: pid="),
        None => line.to_string(),
    });
    lines.collect()
}

/// Whether fio 3.33 prints a wrong number in this line, which nandscope does not repeat (docs/jobs.md): directions that are
/// shown together and apart have no rate together; a steady state has the number of KiB as that of kB; shares of queue
/// depths count flushes, but of the other operations.
fn is_excepted(fios: &str, ours: &str) -> bool {
    let in_kib = |line: &str| {
        let (before, after) = line.split_once(" (")?;
        let (_, after) = after.split_once(')')?;
        Some(format!("{before}{after}"))
    };
    let sum = |line: &str| -> f64 {
        let shares = line.split('=').filter_map(|part| part.split_once('%'));
        shares.map(|(share, _)| share.parse::<f64>().unwrap()).sum()
    };
    if fios.starts_with("  mixed: IOPS=0, BW=0 (0)(0B/") {
        ours.starts_with("  mixed: IOPS=")
    } else if fios.starts_with("  steadystate  : ") {
        in_kib(fios) == in_kib(ours)
    } else {
        let depths = "  IO depths    : ";
        fios.starts_with(depths) && ours.starts_with(depths) && sum(fios) > 101.0
    }
}

/// Runs fio, and prints its JSON for people.
fn compare(name: &str, jobs: &str) {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new(&format!("fio-normal-{name}"));
    folder.file("jobs.fio", jobs);
    let words = ["jobs.fio", "--output-format=normal,json+"];
    same(&run(&folder, "fio", &words));
}

/// Prints the JSON in an output of fio for people, and compares it with what fio printed.
fn same(printed: &str) {
    let (_, output, fios) = parts(printed);
    let is_doubtful = has_doubtful_class(&output);
    let fios = compared(fios, is_doubtful);
    // Half of the last decimal of the JSON.
    let ours = [0.0, -4.9e-7, 4.9e-7].map(|shift| {
        let document = document(&output, shift);
        let text = results(&document, &[Format::Normal], TerseVersion::Three);
        compared(&text, is_doubtful)
    });
    let mut differences = Vec::new();
    for (at, line) in fios.iter().enumerate() {
        let is_same = |ours: &Vec<String>| {
            let ours = ours.get(at);
            ours.is_some_and(|ours| ours == line || is_excepted(line, ours))
        };
        if !ours.iter().any(is_same) {
            let ours = ours[0].get(at).map_or("", String::as_str);
            differences.push(format!("fio:  {line}\nhere: {ours}"));
        }
    }
    let differences = differences.join("\n");
    assert!(differences.is_empty(), "{differences}\n\n{printed}");
    assert_eq!(ours[0].len(), fios.len());
    let jobs = fios.iter().filter(|line| line.contains(": (groupid="));
    assert!(jobs.count() >= 2, "{fios:?}");
}

#[test]
fn numbers_of_all_lengths_are_printed_as_by_fio() {
    compare("quick", QUICK);
}

#[test]
fn percentiles_and_directions_are_printed_as_by_fio() {
    compare("shown", SHOWN);
}

#[test]
fn latencies_of_a_disk_and_flushes_are_printed_as_by_fio() {
    compare("waiting", WAITING);
}

/// Recorded with fio 3.33: a job of its engine `net` that sends three blocks each second, and one that waits for them; the
/// error with which fio closes the sockets is taken out.
#[test]
fn latencies_in_milliseconds_are_printed_as_by_fio() {
    let recorded = include_str!("data/fio-3.33-waiting.txt");
    assert!(recorded.contains("    clat (msec): min=329, max=335, avg=333.17, stdev= 1.63\n"));
    same(recorded);
}

/// Lines before the jobs run: of sizes, queue depths, clones, threads and processes.
#[test]
fn jobs_are_announced_as_by_fio() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-normal-announced");
    let jobs = "\
[global]
ioengine=null
number_ios=1
size=64m
[a]
rw=randrw:8
bs=512,64k,1234k
iodepth=32
[b]
rw=read
bsrange=1k-10m
numjobs=2
[c]
stonewall
rw=randtrimwrite
bssplit=4k/50:9m/50,1k/100
thread
[d]
rw=write:4k
bs=4k,8k
bs_is_seq_rand=1
thread
numjobs=3
[e]
rw=readwrite
bs=1k
iodepth=4
";
    folder.file("fio.fio", jobs);
    folder.file("our.fio", &with_target(jobs));
    let fios = run(&folder, "fio", &["fio.fio", "--output-format=normal,json"]);
    let (fios, _, _) = parts(&fios);
    let ran = folder.run(&[
        "run",
        "our.fio",
        "sim:reference-nvme-64gb",
        "--output-format=normal",
    ]);
    let ours = &ran.succeeds().out;
    let (ours, _) = ours.split_once("\n\n").unwrap();
    let ours = ours.replace("ioengine=libaio", "ioengine=null");
    assert_eq!(ours.trim_end(), fios.trim_end());
}
