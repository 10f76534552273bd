//! Jobs that run at the same time on the same part of the target, so that one changes what the
//! others measure.

use nandscope_units::Bytes;
use nandscope_workload::OpKind;
use nandscope_workload::job::Job;
use nandscope_workload::pattern::Region;

/// A clone's part of the target.
struct Part<'a> {
    job: &'a str,
    start: u64,
    end: u64,
    writes: bool,
}

/// A notice if a clone of a job writes where another one works.
pub fn notice(group: &[Job], capacity: Bytes) -> Option<String> {
    let mut parts = Vec::new();
    for job in group.iter().filter(|job| job.trace.is_none()) {
        for clone in 0..job.numjobs {
            // A job that does not fit is refused elsewhere.
            let region = Region::of(job, clone, capacity).ok()?;
            parts.push(Part {
                job: &job.name,
                start: region.start,
                end: region.start + region.length,
                writes: job.rw.kinds().iter().any(|kind| *kind != OpKind::Read),
            });
        }
    }
    parts.sort_by_key(|part| part.start);
    let (a, b) = overlapping(&parts)?;
    let who = match a.job == b.job {
        true => format!("clones of job `{}`", a.job),
        false => format!("the jobs `{}` and `{}`", a.job, b.job),
    };
    Some(format!(
        "{who} run at the same time on the same part of the target, and at least one of them writes: each changes what the other measures. Give each its own region (offset, size, offset_increment) unless this is intended"
    ))
}

/// Two parts that overlap and of which at least one is written; `parts` is sorted by start.
fn overlapping<'a>(parts: &'a [Part<'a>]) -> Option<(&'a Part<'a>, &'a Part<'a>)> {
    // The part so far with the furthest end, and the same of the written parts.
    let (mut furthest, mut writer): (Option<&Part>, Option<&Part>) = (None, None);
    for part in parts {
        let before = if part.writes { furthest } else { writer };
        if let Some(before) = before.filter(|before| before.end > part.start) {
            return Some((before, part));
        }
        let further = |one: Option<&Part>| one.is_none_or(|one| part.end > one.end);
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
}
