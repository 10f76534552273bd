//! Throughput of the generators on one core, operations per second: `cargo bench -p nandscope-workload`.

use nandscope_units::Bytes;
use nandscope_workload::OpSource;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;
use std::hint::black_box;
use std::time::Instant;

const CASES: &[(&str, &str)] = &[
    ("sequential read", "rw=read"),
    ("random read, no map", "rw=randread\nnorandommap"),
    ("random read, map", "rw=randread"),
    ("random mix, map", "rw=randrw\nrwmixread=70"),
    ("split sizes, map", "rw=randwrite\nbssplit=4k/60:64k/40"),
    ("zipf", "rw=randread\nrandom_distribution=zipf:1.2"),
    ("normal", "rw=randread\nrandom_distribution=normal:10"),
];

fn main() {
    for (name, options) in CASES {
        for capacity in [Bytes::gib(8), Bytes::gib(1024)] {
            let text = format!("[bench]\n{options}\ntime_based\nruntime=1\n");
            let job = match JobFile::parse("bench", &text) {
                Ok(mut file) => file.jobs.remove(0),
                Err(error) => panic!("{error}"),
            };
            let mut generator = match Generator::new(&job, 0, capacity, 1) {
                Ok(generator) => generator,
                Err(error) => panic!("{error}"),
            };
            let count = 20_000_000u64;
            let start = Instant::now();
            let mut sum = 0u64;
            for _ in 0..count {
                if let Some(timed) = generator.next_op() {
                    sum = sum.wrapping_add(timed.op.offset.0);
                }
            }
            black_box(sum);
            let rate = count as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("{name:22} {capacity:>9} {rate:8.1} million operations/s");
        }
    }
}
