//! Lines that fio prints before the jobs run.

use super::VERSION;
use super::number::{DIGITS, bytes};
use nandscope_units::printable;

/// A job as fio announces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// Name of the job's section.
    pub name: String,
    /// Reporting group, from 0.
    pub group: u32,
    /// fio's name of the access, such as `randrw`.
    pub access: String,
    /// Smallest and largest block of reads, writes and trims, bytes.
    pub block_bytes: [(u32, u32); 3],
    /// Whether the block sizes are those of sequential and of random operations (`bs_is_seq_rand`).
    pub blocks_by_order: bool,
    /// `ioengine`.
    pub engine: String,
    /// Queue depth.
    pub depth: u32,
    /// Number of clones (`numjobs`).
    pub clones: u32,
    /// `thread`: fio makes threads instead of processes.
    pub is_thread: bool,
}

/// One line per job, the version of fio, the number of processes.
pub fn text(jobs: &[Announced]) -> String {
    let mut text: String = jobs.iter().map(line).collect();
    let counted = |is_thread: bool, name: &str, end: &str| {
        let jobs = jobs.iter().filter(|job| job.is_thread == is_thread);
        let n: u64 = jobs.map(|job| u64::from(job.clones)).sum();
        let end = if n == 1 { "" } else { end };
        (n > 0).then(|| format!("{n} {name}{end}"))
    };
    let started = [
        counted(true, "thread", "s"),
        counted(false, "process", "es"),
    ];
    let started: Vec<String> = started.into_iter().flatten().collect();
    text.push_str(&format!("{VERSION}\nStarting {}\n", started.join(" and ")));
    text
}

fn line(job: &Announced) -> String {
    let block = |place: usize| {
        let (min, max) = job.block_bytes[place];
        let size = |n: u32| bytes(n.into(), DIGITS).0;
        format!("{}-{}", size(min), size(max))
    };
    let last = match job.blocks_by_order {
        true => "bs_is_seq_rand".to_string(),
        false => format!("(T) {}", block(2)),
    };
    let clones = if job.clones > 1 { "...\n" } else { "" };
    format!(
        "{}: (g={}): rw={}, bs=(R) {}, (W) {}, {last}, ioengine={}, iodepth={}\n{clones}",
        printable(&job.name),
        job.group,
        job.access,
        block(0),
        block(1),
        printable(&job.engine),
        job.depth
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by fio 3.33.
    #[test]
    fn the_announcement_is_that_of_fio() {
        let a = Announced {
            name: "a".into(),
            access: "randread".into(),
            block_bytes: [(65_536, 65_536), (1 << 20, 1 << 20), (1_263_616, 1_263_616)],
            engine: "null".into(),
            depth: 3,
            clones: 3,
            is_thread: true,
            ..Announced::default()
        };
        let b = Announced {
            name: "b".into(),
            group: 1,
            access: "rw".into(),
            block_bytes: [(4096, 4096), (1 << 20, 1 << 20), (0, 0)],
            blocks_by_order: true,
            engine: "null".into(),
            depth: 1,
            clones: 1,
            is_thread: false,
        };
        assert_eq!(
            text(&[a, b]),
            "a: (g=0): rw=randread, bs=(R) 64.0KiB-64.0KiB, (W) 1024KiB-1024KiB, (T) 1234KiB-1234KiB, ioengine=null, iodepth=3\n\
             ...\n\
             b: (g=1): rw=rw, bs=(R) 4096B-4096B, (W) 1024KiB-1024KiB, bs_is_seq_rand, ioengine=null, iodepth=1\n\
             fio-3.33\n\
             Starting 3 threads and 1 process\n"
        );
    }
}
