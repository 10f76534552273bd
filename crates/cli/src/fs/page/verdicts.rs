//! Sentences on the talk's findings, derived from the numbers in the tables of the page: whether a finding is reproduced,
//! and otherwise how the card behaved instead.

use super::{ALIGNED, MISALIGNED, STALLS, longest, mean_write_kib, of, ok, over};
use crate::fs::cells::Measured;
use nandscope_uml::filesystem::FileSystem;
use std::fmt::Write;

/// Smallest share of the time that counts as a cost.
const COSTS: f64 = 0.005;
/// Relative difference of two write amplifications below which they count as equal.
const SAME: f64 = 0.02;

/// Whether NILFS2 trades latency for throughput, against ext4.
pub(super) fn trade(page: &mut String, measured: &[Measured]) {
    let of = |fs| of(measured, STALLS, fs);
    let (Some(log), Some(ext4)) = (of(FileSystem::Nilfs2), of(FileSystem::Ext4)) else {
        return;
    };
    let throughput = log.pattern.throughput() / ext4.pattern.throughput().max(1.0);
    let _ = write!(
        page,
        "NILFS2 has {throughput:.1} times the throughput of ext4, and its longest call takes {} instead of {}: ",
        longest(log),
        longest(ext4)
    );
    if throughput > 1.0 && longest(log) > longest(ext4) {
        page.push_str("the trade is confirmed.\n\n");
        return;
    }
    let _ = writeln!(
        page,
        "no trade here. NILFS2 writes its log in pieces of {:.0} KiB, at {:.2} bytes in flash for each; ext4 writes {:.0} KiB at {:.2}.\n",
        mean_write_kib(log),
        log.counters.write_amplification(),
        mean_write_kib(ext4),
        ext4.counters.write_amplification()
    );
}

/// Names the file systems for which a misaligned partition costs nothing, and why.
pub(super) fn without_loss(page: &mut String, measured: &[Measured]) {
    for (plan, aligned) in ok(measured, ALIGNED) {
        let Some(off) = of(measured, MISALIGNED, plan.fs) else {
            continue;
        };
        if over(off, aligned) > 1.0 + COSTS {
            continue;
        }
        let [before, after] = [aligned, off].map(|cell| cell.counters.write_amplification());
        let why = if (after / before.max(1e-9) - 1.0).abs() < SAME {
            "the card copies as much either way, since these small files are parts of pages and units in both places"
        } else {
            "the other place changes what is written where by more than the boundary costs"
        };
        let _ = writeln!(
            page,
            "{} loses nothing here ({before:.2} and {after:.2} bytes in flash for each): {why}.\n",
            plan.fs.title()
        );
    }
}
