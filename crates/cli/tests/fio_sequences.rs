//! Randomly generated jobs that name a generator of fio's, or work in order: each operation has the direction, the
//! offset and the length that it has with fio, one after the other.

use crate::support::Folder;
use crate::support::loops::{skipped, tool};
use nandscope_units::random::SplitMix64;
use std::process::Command;

/// Four of five have a trace.
const JOBS: u64 = 250;
const REGION: u64 = 1 << 20;
/// A device with room for the files of all jobs.
const DEVICE: &str = "sim:kingston-8gb";

fn pick<'a>(dice: &mut SplitMix64, of: &[&'a str]) -> &'a str {
    of[dice.below(of.len() as u64) as usize]
}

/// A job with its own trace. Every fifth job has two clones and no trace, so that threads and jobs are numbered
/// differently.
fn job(number: u64) -> String {
    let mut dice = SplitMix64::new(number);
    let access = pick(
        &mut dice,
        &[
            "read",
            "write",
            "rw",
            "randread",
            "randwrite",
            "randrw",
            "randrw",
        ],
    );
    let generator = pick(&mut dice, &["tausworthe", "tausworthe64", "lfsr"]);
    let mut text = format!("[j{number}]\nrw={access}\nrandom_generator={generator}\n");
    if number.is_multiple_of(5) {
        return text + "numjobs=2\n";
    }
    let sizes = pick(
        &mut dice,
        &[
            "bs=4k",
            "bs=8k",
            "bsrange=4k-16k",
            "bssplit=4k/50:8k/30:16k/20",
            "bs=4k,8k",
        ],
    );
    let seed = match dice.below(3) {
        0 => format!("randseed={}\n", dice.below(1000)),
        1 => format!("randrepeat=0\nrandseed={}\n", dice.below(1000)),
        _ => String::new(),
    };
    let more = pick(
        &mut dice,
        &[
            "",
            "",
            "norandommap\n",
            "loops=2\n",
            "percentage_random=60\n",
        ],
    );
    let mix = 10 + dice.below(81);
    text += &format!("{sizes}\n{seed}{more}rwmixread={mix}\nwrite_iolog=j{number}\n");
    text
}

/// Direction, offset from the start of the file and length of each operation of a trace. Here the file begins at `start`
/// of the target.
fn operations(trace: &str, start: u64) -> Vec<(&str, u64, u64)> {
    let mut all = Vec::new();
    for line in trace.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, kind @ ("read" | "write"), offset, length] = fields[..] {
            let offset: u64 = offset.parse().unwrap();
            all.push((kind, offset - start, length.parse().unwrap()));
        }
    }
    all
}

#[test]
fn the_sequences_of_a_named_generator_are_those_of_fio() {
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let folder = Folder::new("fio-sequences");
    let jobs: String = (0..JOBS).map(job).collect();
    let global = format!("[global]\nsize={REGION}\ndirect=1\nioengine=libaio\n");
    folder.file("job.fio", &(global.clone() + &jobs));
    // In fio, jobs that share a file share the shift register of the first job.
    let own_files = global.replace("direct=1\nioengine=libaio", "ioengine=psync\nthread");
    for by in ["fio", "ours"] {
        std::fs::create_dir(folder.0.join(by)).unwrap();
    }
    folder.file("fio/job.fio", &(own_files + &jobs));
    let done = Command::new("fio")
        .args(["--output=out.txt", "job.fio"])
        .current_dir(folder.0.join("fio"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    folder
        .run(&["run", "job.fio", DEVICE, "--log-dir", "ours"])
        .succeeds();
    let mut done_by_fio = 0;
    for number in (0..JOBS).filter(|number| !number.is_multiple_of(5)) {
        // A job that does nothing leaves no trace.
        let trace = |by| std::fs::read_to_string(folder.0.join(format!("{by}/j{number}")));
        let [fios, ours] = ["fio", "ours"].map(|by| trace(by).unwrap_or_default());
        // Each clone of earlier jobs has a file.
        let start = (number + number.div_ceil(5)) * REGION;
        let [fios, ours] = [operations(&fios, 0), operations(&ours, start)];
        done_by_fio += fios.len();
        let differs = fios.iter().zip(&ours).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!(
                "{}operation {at}: {:?} here, {:?} with fio",
                job(number),
                ours[at],
                fios[at]
            );
        }
        assert_eq!(ours.len(), fios.len(), "{}", job(number));
    }
    assert!(done_by_fio > 10_000, "fio did {done_by_fio} operations");
}
