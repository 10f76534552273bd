//! Comparison with the real fio, if it is installed: operations logged with its null engine against nandscope's. Random
//! jobs are compared by coverage, since the generators differ.

use nandscope_units::Bytes;
use nandscope_workload::OpKind;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::of_job;
use std::path::PathBuf;
use std::process::Command;

pub type Operation = (String, u64, u64);

/// Size of each of several files.
const FILE_BYTES: u64 = 64 << 10;

/// Operations that fio performs; `None` if fio is not installed.
fn fio(name: &str, section: &str) -> Option<Vec<Operation>> {
    fio_on(name, section, "null")
}

/// As `fio`, with a given engine: the null engine, or one for a file of 4 MiB.
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
    // Other tests run at the same time.
    let data = format!("{name}.data");
    let filename = if section.contains("nrfiles=") {
        String::new()
    } else {
        format!("filename={data}\n")
    };
    let extra = format!("{filesize}ioengine={engine}\n{filename}write_iolog={log_path}\n");
    if engine != "null" {
        let file =
            std::fs::File::create(folder.join(&data)).expect("the folder of tests is writable");
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
        let number = |i: usize| words.get(at + i).and_then(|w| w.parse::<u64>().ok());
        // Files of one job are called `job.0.0`, `job.0.1` and so on.
        let file = words.get(at.checked_sub(1)?)?.strip_prefix("job.0.");
        let base = file.map_or(0, |n| n.parse::<u64>().unwrap_or(0) * FILE_BYTES);
        match words[at] {
            "sync" | "datasync" => Some(("flush".to_string(), 0, 0)),
            word => Some((word.to_string(), base + number(1)?, number(2)?)),
        }
    });
    Some(operations.collect())
}

pub fn ours(options: &str) -> Vec<Operation> {
    ours_in_passes(options, 1)
}

fn ours_in_passes(options: &str, passes: u32) -> Vec<Operation> {
    let text = format!("[job]\n{options}\n");
    let file = JobFile::parse("job.fio", &text).unwrap_or_else(|e| panic!("{e}"));

    let mut source = of_job(&file.jobs[0], 0, Bytes(4 << 20), 1).expect("fits");
    let mut operations = Vec::new();
    let mut passes_left = passes - 1;
    loop {
        let Some(timed) = source.next_op() else {
            if passes_left == 0 {
                break;
            }
            passes_left -= 1;
            source.restart();
            continue;
        };
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
fn passes_end_and_flush_as_fios() {
    let cases = [
        "rw=write\nsize=12k\nio_size=36k\nfsync=3",
        "rw=write\nsize=16k\nio_size=48k\nfsync=3",
        "rw=rw\nsize=48k\nfsync=2\nrwmixread=0",
        "rw=read\nsize=16k\nio_size=18k",
        "rw=read\nsize=16k\nio_size=22k",
        "rw=read\nsize=30k\nio_size=70k",
        "rw=trimwrite\nsize=16k\nio_size=60k",
        "rw=trimwrite\nsize=64k\nio_size=24k",
        "rw=trimwrite\nsize=16k\nio_size=60k\nnumber_ios=3",
        "rw=trimwrite\nsize=16k\nfsync=2\nend_fsync=1",
        "rw=write\nsize=12k\nfsync=3\nend_fsync=1",
        "rw=write\nsize=16k\nio_size=40k\nend_fsync=1",
    ];
    for (i, options) in cases.iter().enumerate() {
        // A trim of a file is not an operation of fio's.
        let engine = if options.contains("trim") {
            "null"
        } else {
            "psync"
        };
        let Some(theirs) = fio_on(&format!("passes{i}"), &emitted(options), engine) else {
            return;
        };
        assert_eq!(ours(options), theirs, "{options}");
    }
}

#[test]
fn loops_flush_as_fios() {
    for options in [
        "size=12k\nfsync=3",
        "size=12k\nfsync=3\nend_fsync=1",
        "size=20k\nfsync=2",
    ] {
        let options = format!("rw=write\nloops=3\n{options}");
        let Some(theirs) = fio("loops", &emitted(&options)) else {
            return;
        };
        assert_eq!(ours_in_passes(&options, 3), theirs, "{options}");
    }
}

/// An `io_size` above the size is the total of all loops, one below it that of each loop.
#[test]
fn loops_with_an_amount_are_those_of_fio() {
    for (i, (loops, options)) in [
        (2, "rw=read\nsize=16k\nio_size=48k"),
        (3, "rw=write\nsize=16k\nio_size=80k"),
        (5, "rw=read\nsize=16k\nio_size=48k"),
        (2, "rw=read\nsize=16k\nio_size=24k"),
        (2, "rw=read\nsize=64k\nio_size=16k"),
        (3, "rw=read\nsize=64k\nio_size=48k"),
        (2, "rw=read\nsize=16k\nio_size=48k\nnumber_ios=5"),
        (3, "rw=write\nsize=16k\nio_size=80k\nend_fsync=1"),
    ]
    .into_iter()
    .enumerate()
    {
        let options = format!("{options}\nloops={loops}");
        let Some(theirs) = fio(&format!("loops-amount{i}"), &emitted(&options)) else {
            return;
        };
        assert_eq!(ours_in_passes(&options, loops), theirs, "{options}");
    }
    for (i, (loops, options)) in [
        (2, "rw=randread\nsize=64k\nio_size=192k"),
        (2, "rw=randwrite\nsize=64k\nio_size=192k"),
        (2, "rw=randwrite\nnorandommap\nsize=64k\nio_size=192k"),
        (2, "rw=randwrite\nnorandommap\nsize=192k\nio_size=64k"),
    ]
    .into_iter()
    .enumerate()
    {
        let options = format!("{options}\nloops={loops}");
        let Some(theirs) = fio(&format!("loops-random{i}"), &emitted(&options)) else {
            return;
        };
        assert_eq!(
            ours_in_passes(&options, loops).len(),
            theirs.len(),
            "{options}"
        );
    }
}

#[test]
fn files_are_served_as_by_fio() {
    let cases = [
        "rw=read\nnrfiles=3",
        "rw=write\nnrfiles=4\noffset=16k\nbs=8k",
        "rw=read\nnrfiles=3\nsize=64k\nfile_service_type=sequential",
        "rw=read\nnrfiles=3\nfile_service_type=roundrobin:5",
        "rw=read\nnrfiles=2\nio_size=300k",
        "rw=trimwrite\nnrfiles=2",
    ];
    for (i, options) in cases.iter().enumerate() {
        let options = format!("{options}\nfilesize=64k");
        let Some(theirs) = fio(&format!("files{i}"), &emitted(&options)) else {
            return;
        };
        assert_eq!(ours(&options), theirs, "{options}");
    }
    for rw in [
        "rw=randread\nnrfiles=3",
        "rw=read\nnrfiles=3\nfile_service_type=random",
    ] {
        let options = format!("{rw}\nfilesize=64k");
        let Some(mut theirs) = fio("files-random", &emitted(&options)) else {
            return;
        };
        let mut ours = ours(&options);
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{options}");
    }
}

#[test]
fn sizes_of_random_operations_and_of_those_in_order() {
    let options = "rw=randread:4\nbs=4k,16k\nbs_is_seq_rand=1\nsize=2m\nnorandommap";
    let Some(theirs) = fio("order", &emitted(options)) else {
        return;
    };
    let sizes = |log: &[Operation]| log.iter().map(|(_, _, n)| *n).collect::<Vec<u64>>();
    assert_eq!(sizes(&ours(options))[..16], sizes(&theirs)[..16]);
}

#[test]
fn verification_reads_as_fios() {
    let cases = [
        "rw=write\nsize=64k\nverify=crc32c\nverify_backlog=4",
        "rw=write\nsize=64k\nverify=crc32c\nverify_backlog=8\nverify_backlog_batch=2",
    ];
    for (i, options) in cases.iter().enumerate() {
        let name = format!("verified{i}");
        let Some(theirs) = fio_on(&name, &emitted(options), "psync") else {
            return;
        };
        assert_eq!(ours(options), theirs, "{options}");
    }
    let Some(theirs) = fio_on(
        "only",
        &emitted("rw=write\nsize=64k\nverify=crc32c"),
        "psync",
    ) else {
        return;
    };
    let reads = ours("rw=write\nsize=64k\nverify=crc32c\nverify_only");
    assert_eq!(reads, theirs[reads.len()..]);
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
