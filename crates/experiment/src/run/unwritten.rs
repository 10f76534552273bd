//! Reads that find nothing on a real target: in holes of a file, and where jobs of this run trimmed. The file system or the
//! device answers them without reading. A simulated device counts them itself.

use nandscope_result::Notice;
use nandscope_units::Bytes;
use nandscope_workload::job::{Access, Job};
use nandscope_workload::pattern::Region;

/// Smallest share of a region that is worth a warning.
const LEAST: f64 = 0.005;

/// Parts of a target that hold nothing: starts and ends in bytes, ascending and disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Empty(Vec<(u64, u64)>);

impl Empty {
    /// Makes the set of these empty parts.
    pub(super) fn of(parts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut empty = Empty::default();
        empty.add(parts);
        empty
    }

    fn add(&mut self, parts: impl IntoIterator<Item = (u64, u64)>) {
        self.0
            .extend(parts.into_iter().filter(|(start, end)| start < end));
        self.0.sort_unstable();
        self.0.dedup_by(|next, last| {
            let joins = last.1 >= next.0;
            if joins {
                last.1 = last.1.max(next.1);
            }
            joins
        });
    }

    fn remove(&mut self, (start, end): (u64, u64)) {
        let parts = self.0.drain(..);
        let left = parts.flat_map(|(a, b)| [(a, b.min(start)), (a.max(end), b)]);
        self.0 = left.filter(|(a, b)| a < b).collect();
    }

    fn within(&self, (start, end): (u64, u64)) -> u64 {
        let overlap = |(a, b): &(u64, u64)| (*b).min(end).saturating_sub((*a).max(start));
        let first = self.0.partition_point(|(_, b)| *b <= start);
        let parts = self.0[first..].iter().take_while(|(a, _)| *a < end);
        parts.map(overlap).sum()
    }

    /// A group of jobs has ended: what they trimmed wholly is empty, and where they wrote it is not.
    pub(super) fn follow(&mut self, group: &[Job], capacity: Bytes) {
        for job in group {
            let parts = parts(job, capacity);
            match job.rw.access {
                _ if job.trace.is_some() => *self = Empty::default(),
                Access::Trim if is_whole(job) => self.add(parts),
                Access::Write | Access::ReadWrite | Access::TrimWrite if !job.verify.only => {
                    parts.for_each(|part| self.remove(part));
                }
                _ => {}
            }
        }
    }

    /// Warnings for the jobs of a group that are about to read here.
    pub(super) fn warnings(&self, group: &[Job], capacity: Bytes, is_sampled: bool) -> Vec<Notice> {
        let warning = |job: &Job| {
            let sums = parts(job, capacity).fold((0, 0), |(empty, all), part| {
                (
                    empty + u128::from(self.within(part)),
                    all + u128::from(part.1 - part.0),
                )
            });
            let share = sums.0 as f64 / sums.1.max(1) as f64;
            (share >= LEAST).then(|| {
                let percent = (share * 100.0).clamp(1.0, 100.0);
                let name = &job.name;
                Notice::warning(match is_sampled {
                    false => format!("{percent:.0} % of the region of job `{name}` was never written, or was trimmed: reads there are answered without the medium. Write it first"),
                    true => format!("about {percent:.0} % of the region of job `{name}` read as zeros in samples, as if never written or trimmed: a device answers such reads without its medium. Write it first"),
                })
            })
        };
        group
            .iter()
            .filter(|job| reads(job))
            .filter_map(warning)
            .collect()
    }
}

/// Whether a job reads what it did not write.
pub(super) fn reads(job: &Job) -> bool {
    matches!(job.rw.access, Access::Read | Access::ReadWrite) && job.trace.is_none()
}

/// The part of the target of each clone. A job that does not fit is refused elsewhere.
fn parts(job: &Job, capacity: Bytes) -> impl Iterator<Item = (u64, u64)> {
    let regions = move |clone| Region::parts(job, clone, capacity).unwrap_or_default();
    (0..job.numjobs)
        .flat_map(regions)
        .map(|region| (region.start, region.start + region.length))
}

/// Whether the job goes over all of its region: nothing ends it before.
fn is_whole(job: &Job) -> bool {
    job.pacing.runtime.is_none() && job.number_ios.is_none() && job.io_size.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::JobFile;

    const CAPACITY: Bytes = Bytes::mib(16);

    fn jobs(text: &str) -> Vec<Job> {
        JobFile::parse("t", text).unwrap().jobs
    }

    fn warning(empty: &Empty, text: &str) -> Option<String> {
        let warnings = empty.warnings(&jobs(text), CAPACITY, false);
        warnings.into_iter().next().map(|notice| notice.text)
    }

    #[test]
    fn trimmed_parts_are_empty_until_they_are_written() {
        let mut empty = Empty::default();
        let read = "[r]\nsize=4m\n";
        assert_eq!(warning(&empty, read), None);
        empty.follow(&jobs("[t]\nrw=trim\noffset=1m\nsize=1m\n"), CAPACITY);
        assert!(
            warning(&empty, read)
                .unwrap()
                .starts_with("25 % of the region of job `r`")
        );
        assert_eq!(
            warning(&empty, "[w]\nrw=write\nsize=4m\n"),
            None,
            "it reads nothing"
        );
        empty.follow(&jobs("[w]\nrw=randwrite\noffset=1m\nsize=512k\n"), CAPACITY);
        assert_eq!(empty, Empty::of([(3 << 19, 2 << 20)]));
        // Nobody knows which part was trimmed.
        empty.follow(&jobs("[t]\nrw=randtrim\nruntime=1\n"), CAPACITY);
        assert_eq!(empty, Empty::of([(3 << 19, 2 << 20)]));
        empty.follow(
            &jobs("[t]\nrw=trim\nsize=1m\nnumjobs=2\noffset_increment=1m\n"),
            CAPACITY,
        );
        assert_eq!(empty, Empty::of([(0, 2 << 20)]));
    }

    #[test]
    fn holes_of_a_file_are_empty() {
        let empty = Empty::of([(8 << 20, 16 << 20), (0, 1 << 20)]);
        assert!(warning(&empty, "[r]\n").unwrap().starts_with("56 %"));
        assert_eq!(warning(&empty, "[r]\noffset=2m\nsize=1m\n"), None);
    }
}
