//! Facts of jobs that only the output formats of fio show.

use nandscope_result::FioReport;
use nandscope_workload::job::Job;

/// The facts of a job in this reporting group, before it runs.
pub fn of_job(job: &Job, group: u32) -> FioReport {
    let options = job.origin.options.iter();
    // Options of the command line are in line 0 and belong to the jobs.
    let is_global = |line: usize| (1..job.origin.line).contains(&line);
    let global = options.filter(|(_, line)| is_global(**line));
    FioReport {
        group,
        name: job.name.clone(),
        global_options: global.map(|(name, _)| name.clone()).collect(),
        ..FioReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::JobFile;

    #[test]
    fn options_of_global_sections_are_told_from_those_of_jobs() {
        let text = "[global]\nbs=8k\nrw=write\n[a]\nrw=randrw\n[b]\nbs=4k\n";
        let jobs = JobFile::parse("x.fio", text).unwrap().jobs;
        assert_eq!(of_job(&jobs[0], 0).global_options, ["bs"]);
        assert_eq!(of_job(&jobs[1], 3).global_options, ["rw"]);
    }
}
