//! The grammar of job files: values, files and options from outside of a file, and notices to users.

use crate::grammar::job;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::{
    BlockSizes, Extent, FileError, Included, JobError, JobFile, Machine, Override, Surroundings,
};

/// The surroundings of a file of fio's users.
pub(crate) struct Desk {
    pub(crate) overrides: Vec<Override>,
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

/// fio's notice: "both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1".
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
    // Jobs written by a program have the depth that they request.
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
