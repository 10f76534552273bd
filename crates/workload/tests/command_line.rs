//! Options as words of a command line, as fio 3.33 takes them.

use nandscope_workload::job::{Job, JobFile, Nowhere, Override};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_string).collect()
}

fn jobs(line: &str) -> Vec<Job> {
    let (text, file) = JobFile::of_command_line("line", &words(line), &Nowhere);
    file.unwrap_or_else(|e| panic!("{e}\n{text}")).jobs
}

fn refusal(line: &str) -> String {
    let (_, file) = JobFile::of_command_line("line", &words(line), &Nowhere);
    file.unwrap_err().to_string()
}

fn set(line: &str) -> Vec<(String, Option<String>)> {
    let options = Override::of_words(&words(line)).into_iter();
    options.map(|option| (option.key, option.value)).collect()
}

#[test]
fn one_hyphen_is_as_good_as_two() {
    let same = jobs("--name=m --thread --rw=randwrite --bs=16k --size=1m --direct=1");
    for line in [
        "-name=m -thread -rw=randwrite -bs=16k -size=1m -direct=1",
        "-name m -thread -rw randwrite -bs 16k -size 1m -direct 1",
        "-name=m -thread --rw randwrite -bs=16k --size 1m --direct=1",
    ] {
        assert_eq!(jobs(line), same, "{line}");
    }
    assert!(same[0].rw.random && same[0].bs.write.min() == 16_384);
}

#[test]
fn a_flag_never_takes_the_next_option() {
    for flag in [
        "group_reporting",
        "norandommap",
        "time_based",
        "stonewall",
        "new_group",
        "exitall",
        "refill_buffers",
    ] {
        for hyphens in ["-", "--"] {
            let job = &jobs(&format!(
                "{hyphens}name=m {hyphens}{flag} {hyphens}rw=randread {hyphens}bs=8k"
            ))[0];
            assert!(
                job.rw.random && job.bs.read.min() == 8192,
                "{hyphens}{flag}"
            );
        }
    }
    // An option that needs a value does not take the next option for its value.
    assert_eq!(
        set("-direct -rw=read"),
        [
            ("direct".to_string(), None),
            ("rw".to_string(), Some("read".to_string()))
        ]
    );
    assert!(refusal("-bs -rw=read").contains("`bs` has no value"));
    assert!(refusal("--thread 1").contains("unknown option `1`"));
}

#[test]
fn a_value_may_begin_with_a_hyphen() {
    let value = |text: &str| Some(text.to_string());
    assert_eq!(
        set("-buffer_pattern -12 -flow -8"),
        [
            ("buffer_pattern".to_string(), value("-12")),
            ("flow".to_string(), value("-8"))
        ]
    );
}

/// getopt accepts unique abbreviations of names.
#[test]
fn names_may_be_cut_short() {
    let job = &jobs("-name=m -group_rep -readw=randread -iodepth=4 -rwmixr=70")[0];
    assert!(job.group_reporting && job.rw.random);
    assert_eq!((job.pacing.iodepth, job.rwmix_read), (4, 70));
    assert!(refusal("-name=m -iodepth_b=4").contains("unknown option `iodepth_b`"));
}

#[test]
fn a_command_line_has_no_comments() {
    let line = "--name=a --rw=write --verify=pattern --verify_pattern=\"EB##\"0x31;y";
    assert!(
        refusal(line).contains("`;y` is not a pattern"),
        "{}",
        refusal(line)
    );
    let job = &jobs(&line.replace(";y", ""))[0];
    let mut block = [0; 8];
    job.verify.pattern.as_ref().unwrap().fill(&mut block, 0);
    assert_eq!(&block, b"EB##1EB#");
    assert_eq!(jobs("--name=a#1 --rw=read")[0].name, "a#1");
}

#[test]
fn options_before_the_first_name_apply_to_all_jobs() {
    let all = jobs("--bs=8k --name=a --rw=write --name=b");
    let sizes: Vec<_> = all
        .iter()
        .map(|job| (job.name.as_str(), job.bs.write.min()))
        .collect();
    assert_eq!(sizes, [("a", 8192), ("b", 8192)]);
    assert_eq!(jobs("--rw=write")[0].name, "job");
    assert!(refusal("--bs=8k --name=a --rw=wrong").starts_with("line:4: `rw=wrong`"));
}
