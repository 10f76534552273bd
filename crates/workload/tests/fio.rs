//! Comparison with the real fio, where it is installed: the operations that it logs with its null
//! engine against ours. Random jobs are compared by what they cover, for the generators differ.

use nandscope_units::Bytes;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;
use nandscope_workload::{OpKind, OpSource};
use std::path::PathBuf;
use std::process::Command;

pub type Operation = (String, u64, u64);

/// What fio does, or `None` where there is no fio.
fn fio(name: &str, section: &str) -> Option<Vec<Operation>> {
    fio_on(name, section, "null")
}

/// The same with an engine: that for nothing, or one for a file of 4 MiB.
pub fn fio_on(name: &str, section: &str, engine: &str) -> Option<Vec<Operation>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let job = folder.join(format!("{name}.fio"));
    let log = folder.join(format!("{name}.log"));
    let _ = std::fs::remove_file(&log);
    // The null engine has no file to take a percentage of, or to reach beyond the region in.
    let filesize =
        if section.contains('%') || section.contains("bs=12k") || section.contains("zonemode") {
            "filesize=4m\n"
        } else {
            ""
        };
    let log_path = log.display();
    let extra = format!("{filesize}ioengine={engine}\nfilename=x\nwrite_iolog={log_path}\n");
    if engine != "null" {
        let file =
            std::fs::File::create(folder.join("x")).expect("the folder of tests is writable");
        file.set_len(4 << 20).expect("there is room for 4 MiB");
    }
    std::fs::write(&job, format!("{section}{extra}")).expect("the folder of tests is writable");
    let output = match Command::new("fio").arg(&job).current_dir(&folder).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: fio cannot be run here ({error})");
            return None;
        }
    };
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "fio refused {section}{message}");
    let text = std::fs::read_to_string(&log).expect("fio wrote its log");
    let operations = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words
            .iter()
            .position(|w| ["read", "write", "trim", "sync", "datasync"].contains(w))?;
        let number = |i: usize| words.get(at + i).and_then(|w| w.parse().ok());
        match words[at] {
            "sync" | "datasync" => Some(("flush".to_string(), 0, 0)),
            word => Some((word.to_string(), number(1)?, number(2)?)),
        }
    });
    Some(operations.collect())
}

pub fn ours(options: &str) -> Vec<Operation> {
    let text = format!("[job]\n{options}\n");
    let file = JobFile::parse("job.fio", &text).unwrap_or_else(|e| panic!("{e}"));

    let mut g = Generator::new(&file.jobs[0], 0, Bytes(4 << 20), 1).expect("fits");
    let mut operations = Vec::new();
    while let Some(timed) = g.next_op() {
        let word = match timed.op.kind {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Trim => "trim",
            OpKind::Flush => "flush",
        };
        operations.push((word.to_string(), timed.op.offset.0, timed.op.length.into()));
    }
    operations
}

pub fn emitted(options: &str) -> String {
    let text = format!("[job]\n{options}\n");
    let file = JobFile::parse("job.fio", &text).unwrap_or_else(|e| panic!("{e}"));
    file.jobs[0].to_fio()
}

#[test]
fn sequential_jobs_are_the_same() {
    let cases = [
        "rw=read\nsize=100k",
        "rw=read\nbs=12k\nsize=100k",
        "rw=write\nsize=64k\nfsync=3\nfdatasync=2",
        "rw=write\nsize=64k\nend_fsync=1",
        "rw=trimwrite\nsize=64k\nbs=8k",
        "rw=read:8k\nsize=64k",
        "rw=read:-8k\nsize=64k",
        "rw=write:-16k\nsize=64k\noffset=1m",
        "rw=read\nzonemode=strided\nzonesize=16k\nzonerange=32k\nzoneskip=32k\nsize=1m",
        "rw=read\nzonemode=strided\nzonesize=64k\nzonerange=16k\nsize=256k",
        "rw=read\nsize=16k\nio_size=40k",
        "rw=read\nsize=64k\noffset=1m",
        "rw=read\nsize=50%\noffset=128k\nbs=64k",
        "rw=read\nsize=64k\nnumber_ios=5",
        "rw=read\nbs=4k\nsize=64k\nthinktime=1\nrate_iops=100000",
    ];
    for (i, options) in cases.iter().enumerate() {
        let Some(theirs) = fio(&format!("sequential{i}"), &emitted(options)) else {
            return;
        };
        assert_eq!(ours(options), theirs, "{options}");
    }
}

#[test]
fn random_jobs_cover_the_same() {
    let cases = [
        "rw=randread\nsize=1m",
        "rw=randwrite\nsize=1m\nbs=16k\noffset=2m",
        "rw=randtrimwrite\nsize=256k",
        "rw=randread\nsize=256k\nio_size=512k",
        "rw=randwrite\nsize=30k",
        "rw=randread\nzonemode=strided\nzonesize=64k\nzonerange=64k\nzoneskip=64k\nsize=1m\nio_size=512k",
    ];
    for (i, options) in cases.iter().enumerate() {
        let Some(mut theirs) = fio(&format!("random{i}"), &emitted(options)) else {
            return;
        };
        let mut ours = ours(options);
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{options}");
    }
}

#[test]
fn fio_takes_what_is_written() {
    let cases = [
        "rw=randrw:4\nrw_sequencer=identical\nbssplit=4k/60:64k/40\nrwmixread=70\nsize=1m",
        "rw=randread\nbsrange=4k-16k\nsize=1m\npercentage_random=40,50,60",
        "rw=randread\nrandom_distribution=zipf:1.2:0.25\nsize=1m",
        "rw=randread\nrandom_distribution=pareto:0.3\nsize=1m\nnorandommap\nrandseed=7",
        "rw=randread\nrandom_distribution=normal:5\nsize=1m",
        "rw=randread\nrandom_distribution=zoned:60/10:40/90\nsize=1m",
        "rw=randread\nrandom_distribution=zoned_abs:60/1m:40/3m\nsize=4m",
        "rw=rw\nbs=4k,8k\nsize=1m\nrate=0,100m,0\nunified_rw_reporting=both\npercentile_list=50:99.9",
        "rw=read\nsize=1m\nthinktime=1us\nthinktime_blocks=100\nramp_time=1ms\nstartdelay=1ms\nloops=2",
        "rw=write\nsize=1m\nba=8k\nverify=crc32c\ndo_verify=0\ngroup_reporting\nnumjobs=1",
    ];
    for (i, options) in cases.iter().enumerate() {
        let section = emitted(options);
        if fio(&format!("taken{i}"), &section).is_none() {
            return;
        }
    }
}
