//! `nandscope run` and the experiment crate give the same document, to the byte, except for the wall
//! clock.

use crate::support::{Folder, tiny};
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{RunOptions, SimulatedTarget, run_jobs};
use nandscope_experiment::{OpenOptions, open};
use nandscope_result::{ResultDocument, json};

const JOB: &str = "\
[global]
bs=4k
size=1m
[fill]
rw=write
numjobs=2
offset_increment=1m
group_reporting
verify=crc32c
[load]
stonewall
rw=randrw
io_size=2m
iodepth=4
";

fn without_wall(mut document: ResultDocument) -> String {
    document.wall = Default::default();
    json::to_json(&document).unwrap()
}

#[test]
fn the_command_and_the_library_give_the_same_bytes() {
    let folder = Folder::new("same-as-library");
    let path = folder.file("job.fio", JOB);
    for (seed, host, precondition) in [(1, None, "none"), (7, Some("direct"), "random:80")] {
        let number = seed.to_string();
        let mut command = vec!["run", "job.fio", "TARGET", "--seed", &number, "--contents"];
        let target = tiny();
        command[2] = &target;
        command.extend(["--precondition", precondition, "--result", "r.json"]);
        if let Some(host) = host {
            command.extend(["--host", host]);
        }
        folder.run(&command).succeeds();
        let by_command = json::from_json(&folder.read("r.json"), "r".as_ref()).unwrap();

        let options = OpenOptions {
            host: host.map(str::to_string),
            seed,
            overrides: Vec::new(),
        };
        let (about, device) = open(&target, &options).unwrap();
        let mut simulated = SimulatedTarget::with_contents(about, device, &[], seed).unwrap();
        let jobs = Jobs::read(&path, &[]).unwrap();
        let options = RunOptions {
            seed,
            precondition: precondition.parse().unwrap(),
            ..RunOptions::new("job.fio")
        };
        let run = run_jobs(&mut simulated, &jobs, &options, &mut (), &|| false).unwrap();
        assert_eq!(without_wall(by_command), without_wall(run.document));
    }
}
