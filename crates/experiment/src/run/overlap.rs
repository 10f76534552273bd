//! Jobs that run at the same time on the same part of the target, so that one changes what the
//! others measure.

use nandscope_units::Bytes;
use nandscope_workload::OpKind;
use nandscope_workload::job::Job;
use nandscope_workload::pattern::Region;

/// A clone's part of the target.
#[derive(Clone, Copy)]
struct Part<'a> {
    job: &'a Job,
    start: u64,
    end: u64,
    writes: bool,
}

/// Jobs of which each pair is compared, where some wait for others.
const MOST_PAIRED: usize = 256;

/// A notice if a clone of a job writes where another one works at the same time.
pub fn notice(group: &[Job], capacity: Bytes) -> Option<String> {
    let mut parts = Vec::new();
    for job in group.iter().filter(|job| job.trace.is_none()) {
        for clone in 0..job.numjobs {
            // A job that does not fit is refused elsewhere.
            let regions = Region::parts(job, clone, capacity).ok()?;
            parts.extend(regions.into_iter().map(|region| Part {
                job,
                start: region.start,
                end: region.start + region.length,
                writes: job.rw.kinds().iter().any(|kind| *kind != OpKind::Read),
            }));
        }
    }
    let (a, b) = match group.iter().any(|job| job.relation.wait_for.is_some()) {
        false => overlapping(parts),
        true => overlapping_at_once(group, &parts),
    }?;
    let who = match a.job.name == b.job.name {
        true => format!("clones of job `{}`", a.job.name),
        false => format!("the jobs `{}` and `{}`", a.job.name, b.job.name),
    };
    Some(format!(
        "{who} run at the same time on the same part of the target, and at least one of them writes: each changes what the other measures. Give each its own region (offset, size, offset_increment) unless this is intended"
    ))
}

/// The same where jobs wait for others: each pair that may run at the same time is compared.
fn overlapping_at_once<'a>(group: &[Job], parts: &[Part<'a>]) -> Option<(Part<'a>, Part<'a>)> {
    let jobs: Vec<&[Part<'a>]> = parts
        .chunk_by(|a, b| std::ptr::eq(a.job, b.job))
        .take(MOST_PAIRED)
        .collect();
    for (place, a) in jobs.iter().enumerate() {
        if let Some(found) = overlapping(a.to_vec()) {
            return Some(found);
        }
        for b in &jobs[place + 1..] {
            if waits(group, b[0].job, a[0].job) || waits(group, a[0].job, b[0].job) {
                continue;
            }
            let found = overlapping([*a, *b].concat());
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Whether `job` begins after the end of `other`. A job waits for one further up in the file.
fn waits(group: &[Job], job: &Job, other: &Job) -> bool {
    let mut waiting = job;
    while let Some(name) = &waiting.relation.wait_for {
        if *name == other.name {
            return true;
        }
        let above = group.iter().take_while(|one| one.ordinal < waiting.ordinal);
        let Some(next) = above.filter(|one| one.name == *name).last() else {
            return false;
        };
        waiting = next;
    }
    false
}

/// Two parts that overlap and of which at least one is written.
fn overlapping(mut parts: Vec<Part<'_>>) -> Option<(Part<'_>, Part<'_>)> {
    parts.sort_by_key(|part| part.start);
    // The part so far with the furthest end, and the same of the written parts.
    let (mut furthest, mut writer): (Option<Part>, Option<Part>) = (None, None);
    for part in parts {
        let before = if part.writes { furthest } else { writer };
        if let Some(before) = before.filter(|before| before.end > part.start) {
            return Some((before, part));
        }
        let further = |one: Option<Part>| one.is_none_or(|one| part.end > one.end);
        if further(furthest) {
            furthest = Some(part);
        }
        if part.writes && further(writer) {
            writer = Some(part);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::JobFile;

    fn said(text: &str) -> Option<String> {
        let file = JobFile::parse("t", text).unwrap();
        notice(&file.jobs, Bytes::gib(1))
    }

    #[test]
    fn only_writers_that_overlap_others_are_named() {
        let apart = "[a]\nrw=write\nsize=1m\n[b]\nrw=read\nsize=1m\noffset=1m\n";
        assert_eq!(said(apart), None);
        assert_eq!(said("[a]\nsize=1m\nnumjobs=4\n"), None, "readers");
        let both = "[a]\nsize=4m\n[b]\nrw=randrw\nsize=1m\noffset=3m\n";
        assert!(said(both).unwrap().contains("`a` and `b`"));
        assert!(
            said("[a]\nrw=write\nsize=1m\nnumjobs=2\n")
                .unwrap()
                .contains("clones")
        );
        let stepped = "[a]\nrw=write\nsize=1m\nnumjobs=8\noffset_increment=1m\n";
        assert_eq!(said(stepped), None);
    }

    #[test]
    fn jobs_that_wait_for_each_other_do_not_run_at_the_same_time() {
        let chain = "[a]\nrw=write\nsize=1m\n[b]\nwait_for=a\nrw=read\nsize=1m\n[c]\nwait_for=b\nrw=write\nsize=1m\n";
        assert_eq!(said(chain), None);
        // Both wait for `a`, but not for each other.
        let fork = chain.replace("wait_for=b", "wait_for=a");
        assert!(said(&fork).unwrap().contains("`b` and `c`"));
        let clones = chain.replacen("size=1m", "size=1m\nnumjobs=2", 1);
        assert!(said(&clones).unwrap().contains("clones of job `a`"));
    }
}
