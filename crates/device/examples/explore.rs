#[path = "../tests/support/mod.rs"]
mod support;
use nandscope_device::*;
use nandscope_units::*;
use std::time::Instant;
use support::*;
fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    if what == "speed" {
        let p = profile("reference-nvme-64gb");
        let mut d = device(&p, "direct");
        let t = Instant::now();
        d.precondition(1.0, Fill::Random { seed: 1 });
        println!("random fill {:?}", t.elapsed());
        let mut draw = Draw(1);
        let t = Instant::now();
        let run = closed_loop(&mut d, 32, |i| {
            (i < 3_000_000).then(|| read(i, draw.below(16 << 20) << 12, 4096))
        });
        println!(
            "reads {:.2} M/s  sim {:.0} IOPS",
            3.0 / t.elapsed().as_secs_f64(),
            run.iops()
        );
        let t = Instant::now();
        d.overwrite_randomly(16 << 20, 3);
        println!(
            "overwrite 16M {:?} WA {:.3}",
            t.elapsed(),
            d.counters().write_amplification()
        );
        let b = d.counters();
        let t = Instant::now();
        let run = closed_loop(&mut d, 32, |i| {
            (i < 2_000_000).then(|| write(i, draw.below(16 << 20) << 12, 4096))
        });
        let a = d.counters();
        println!(
            "writes {:.2} M/s sim {:.0} IOPS WA {:.3}",
            2.0 / t.elapsed().as_secs_f64(),
            run.iops(),
            (a.flash_programmed.0 - b.flash_programmed.0) as f64 / 2e6 / 4096.0
        );
        return;
    }
    let p = profile("sm2708-250gb");
    let host = if what == "uhs" {
        "lexar-sr2"
    } else {
        "rtl9211ds"
    };
    let mut d = device(&p, host);
    let show = |d: &Device, s: &str, r: Run| {
        let t = d.telemetry();
        println!(
            "{s:30} {:8.1} MB/s lat {:8.1}us smart {:.1} surf {:.1} clock {:.2} slc {:.2} GB free {:.1} GB",
            r.mb_per_s(),
            r.mean_latency_us(),
            t.smart_temperature_c,
            t.surface_temperature_c,
            t.throttle,
            t.counters.slc_used.as_gb(),
            t.counters.free.as_gb()
        );
    };
    let cdm = |d: &mut Device, s: &str| {
        for _ in 0..3 {
            let r = closed_loop(d, 8, |i| (i < 1024).then(|| write(i, i << 20, 1 << 20)));
            show(d, &format!("{s} cdm write"), r);
            let r = closed_loop(d, 8, |i| (i < 1024).then(|| read(i, i << 20, 1 << 20)));
            show(d, &format!("{s} cdm read"), r);
        }
        let mut draw = Draw(9);
        for (q, w) in [(32, false), (1, false), (32, true), (1, true)] {
            let r = closed_loop(d, q, |i| {
                (i < 20000).then(|| {
                    let o = draw.below(1 << 18) << 12;
                    if w {
                        write(i, o, 4096)
                    } else {
                        read(i, o, 4096)
                    }
                })
            });
            show(d, &format!("{s} rnd4k q{q} w{w}"), r);
        }
    };
    cdm(&mut d, "fresh");
    let idle = |d: &mut Device, s: u64| {
        let t = d.now() + Nanos::from_secs(s);
        while d.now() < t {
            d.advance(t, &mut vec![]);
        }
    };
    idle(&mut d, 30);
    let start = Instant::now();
    let total = 250_059_350_016u64 / 131072;
    let seq = |d: &mut Device, w: bool, upto: u64| {
        let mut at = 0;
        let step = 8000; // ~1 GB
        let e0 = d.telemetry().energy_j;
        let t0 = d.now();
        let mut last = (e0, t0);
        while at < upto {
            let n = step.min(upto - at);
            let r = closed_loop(d, 1, |i| {
                (i < n).then(|| {
                    let o = (at + i) * 131072;
                    if w {
                        write(i, o, 131072)
                    } else {
                        read(i, o, 131072)
                    }
                })
            });
            at += n;
            let e = d.telemetry().energy_j;
            let k = at / step;
            if k <= 8 || k % 20 == 0 || k > total / step - 12 {
                show(
                    d,
                    &format!(
                        "{} {:.1} GB P {:.2}",
                        if w { "W" } else { "R" },
                        at as f64 * 0.131072e-3,
                        (e - last.0) / (d.now() - last.1).as_secs_f64()
                    ),
                    r,
                );
            }
            last = (e, d.now());
        }
        println!(
            "mean power {:.3} W over {}",
            (last.0 - e0) / (d.now() - t0).as_secs_f64(),
            d.now() - t0
        );
    };
    seq(&mut d, true, total);
    println!("wall {:?}", start.elapsed());
    idle(&mut d, 1);
    seq(&mut d, false, total);
    println!("wall {:?}", start.elapsed());
    idle(&mut d, 300);
    cdm(&mut d, "used");
    let c = d.counters();
    println!("{c:?}");
}
