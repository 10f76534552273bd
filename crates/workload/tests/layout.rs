//! Parts of a target for the files of jobs. fio makes one file for each name, and one for each clone of a job without
//! names.

use nandscope_units::Bytes;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::{Region, lay_out};

const CAPACITY: Bytes = Bytes::gib(1);
const MIB: u64 = 1 << 20;

/// Job, clone and the parts of the target that it uses, MiB.
type Parts = Vec<(String, u32, Vec<(u64, u64)>)>;

fn parts_on(text: &str, target: &str) -> Parts {
    let file = JobFile::parse("job.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let placed = lay_out(&file, CAPACITY, target).unwrap_or_else(|e| panic!("{e}"));
    let file = placed.map_or(file, |(placed, _)| placed);
    let mut all = Vec::new();
    for job in &file.jobs {
        for clone in 0..job.numjobs {
            let regions = Region::parts(job, clone, CAPACITY).unwrap_or_else(|e| panic!("{e}"));
            let parts = regions.iter().map(|r| (r.start / MIB, r.length / MIB));
            all.push((job.name.clone(), clone, parts.collect()));
        }
    }
    all
}

fn starts(text: &str) -> Vec<u64> {
    let parts = parts_on(text, "sim:x");
    parts.iter().map(|(.., parts)| parts[0].0).collect()
}

fn refusal(text: &str) -> String {
    let file = JobFile::parse("job.fio", text).unwrap_or_else(|e| panic!("{e}"));
    lay_out(&file, CAPACITY, "sim:x").unwrap_err().to_string()
}

#[test]
fn each_file_has_a_part_of_its_own_in_order_of_appearance() {
    let two = "[global]\nsize=4m\n[w]\nfilename=file-0\nrw=write\n[r]\nfilename=file-1\n";
    assert_eq!(starts(two), [0, 4]);
    let again = format!("{two}[again]\nfilename=file-0\n");
    assert_eq!(starts(&again), [0, 4, 0]);
    // The larger of two jobs decides the size of their file.
    let larger = format!("{again}size=16m\n");
    assert_eq!(starts(&larger), [0, 16, 0]);
    let folders = "[global]\nsize=4m\nfilename=x\n[a]\ndirectory=/mnt/a\n[b]\ndirectory=/mnt/b\n";
    assert_eq!(starts(folders), [0, 4]);
}

#[test]
fn clones_without_file_names_have_files_of_their_own() {
    assert_eq!(starts("[r]\nsize=1m\nnumjobs=4\n"), [0, 1, 2, 3]);
    assert_eq!(starts("[r]\nsize=1m\nnumjobs=4\nfilename=x\n"), [0; 4]);
    assert_eq!(starts("[a]\nsize=3m\nnumjobs=2\n[b]\nsize=1m\n"), [0, 3, 6]);
    // As in fio, jobs with the same name share the files of that name.
    assert_eq!(
        starts("[a]\nsize=1m\n[b]\nsize=1m\n[a]\nsize=1m\n"),
        [0, 1, 0]
    );
    let shared = "[a]\nsize=1m\nfilename_format=common.$filenum\n[b]\nsize=1m\nfilename_format=common.$filenum\n";
    assert_eq!(starts(shared), [0, 0]);
    let folders = "[r]\nsize=1m\nnumjobs=4\ndirectory=a:b\nfilename=x\n";
    assert_eq!(starts(folders), [0, 1, 0, 1]);
    let parts = parts_on("[r]\nsize=2m\nnrfiles=2\nnumjobs=2\n", "");
    assert_eq!(parts[1].2, [(2, 1), (3, 1)]);
}

#[test]
fn several_names_of_a_job_are_several_files() {
    let text =
        "[a]\nfilename=x:y\nsize=4m\n[b]\nfilename=y\nsize=8m\n[c]\nfilename=z\\:1\nsize=1m\n";
    let parts = parts_on(text, "");
    let of_job: Vec<_> = parts.into_iter().map(|(.., parts)| parts).collect();
    assert_eq!(of_job, [vec![(0, 2), (2, 2)], vec![(2, 8)], vec![(10, 1)]]);
}

/// As fio on a block device: the name is that of the target, or the jobs state offsets on it.
#[test]
fn what_is_not_a_file_of_its_own_works_on_the_target() {
    assert_eq!(starts("[a]\n[b]\n"), [0, 0]);
    assert_eq!(starts("[a]\nsize=50%\n[b]\noffset=50%\n"), [0, 512]);
    assert_eq!(
        starts("[a]\nsize=1m\nnumjobs=3\noffset_increment=1m\n"),
        [0, 1, 2]
    );
    assert_eq!(starts("[a]\nsize=1m\n[b]\nsize=1m\noffset=8m\n"), [0, 8]);
    assert_eq!(
        starts("[global]\nfilename=/dev/sdb\nsize=4m\n[a]\n[b]\n"),
        [0, 0]
    );
    assert_eq!(starts("[/dev/sdb]\nsize=1m\nnumjobs=2\n"), [0, 0]);
    let device = "[a]\nfilename=/dev/sdb\nsize=4m\n[b]\nfilename=/dev/sdb\n[c]\nfilename=log\nsize=1m\n[d]\nfilename=log2\nsize=1m\n";
    let parts = parts_on(device, "/dev/sdb");
    let of_job: Vec<_> = parts.into_iter().map(|(.., parts)| parts[0]).collect();
    assert_eq!(of_job, [(0, 4), (0, 1024), (0, 1), (1, 1)]);
}

#[test]
fn files_whose_size_nobody_says_divide_what_is_left() {
    let text = "[a]\nfilename=x\n[b]\nfilename=y\nsize=512m\n[c]\nfilename=z\nsize=50%\n";
    let parts = parts_on(text, "");
    let of_job: Vec<_> = parts.into_iter().map(|(.., parts)| parts[0]).collect();
    assert_eq!(of_job, [(0, 256), (256, 512), (768, 128)]);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let error = refusal("[r]\nsize=300m\nnumjobs=4\n");
    assert!(
        error.starts_with("job.fio:2: the 4 files of the jobs take"),
        "{error}"
    );
    assert!(
        error.contains("no room for r.3.0") && error.contains("same filename"),
        "{error}"
    );
    let error = refusal("[a]\nfilename=x\nsize=1g\n[b]\nfilename=y\n");
    assert!(error.contains("no room for y"), "{error}");
    // Whole pages if whole MiB do not fit.
    let tight = "[a]\nsize=536868k\n[b]\nsize=511708k\n";
    assert_eq!(starts(tight), [0, 524]);
    assert!(
        refusal("[a]\nsize=18446744073709551615\n[b]\nsize=1m\n").contains("no room for a.0.0")
    );
}

#[test]
fn the_notice_names_the_files() {
    let file = JobFile::parse("t", "[r]\nsize=1m\nnumjobs=6\n").unwrap();
    let (_, notice) = lay_out(&file, CAPACITY, "").unwrap().unwrap();
    assert!(
        notice.starts_with("the jobs use 6 files, and each uses a separate part of the target, as in fio: r.0.0 from 0 B (1 MiB), r.1.0 from 1 MiB (1 MiB)"),
        "{notice}"
    );
    assert!(notice.contains("and 2 more"), "{notice}");
}
