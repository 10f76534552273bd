//! Geometries with results known from theory or independent simulations: read latency at queue depth 1, limits by dies,
//! channels and programs, and write amplification under uniform random writes. Every time, error and policy except the
//! tested one is zero, so that nothing can be fitted.

use crate::jobs::phase;
use crate::progress::StepWatcher;
use crate::spec::{SimSpec, library_host};
use crate::step_runner::{StepRunner, SuiteError};
use nandscope_device::link::link_mode;
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::{Cell, InterfaceSection, VictimPolicyName};
use nandscope_device::theory::{fifo, greedy};
use nandscope_device::{Device, Fill};
use nandscope_measure::sim::SimTarget;
use nandscope_result::ResultDocument;

/// Expected value and value of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedForm {
    /// Quantity and geometry.
    pub what: String,
    /// Source of the expected value: a formula, or an independent simulation.
    pub theory: String,
    /// The expected value.
    pub expected: f64,
    /// Value of the model, in the unit of the closed form.
    pub simulated: f64,
    /// Unit of both values.
    pub unit: &'static str,
}

/// A link whose transfers take hardly any time.
const LINK: &str = "pcie-5.0-x16";
const SEED: u64 = 7;
/// Number of free superblocks in reserve.
const KEPT: u32 = 2;

/// Flash with simple parameters: one bit per cell, so that a page is a program unit on each plane.
#[derive(Clone, Copy, Debug)]
struct Flash {
    channels: u32,
    dies_per_channel: u32,
    blocks: u32,
    pages_per_block: u32,
    page_kib: u32,
    mt_per_s: f64,
    read_us: f64,
    program_us: f64,
}

/// 64 dies on 8 channels, 50 µs in the array, 5.12 µs on the bus for 4 KiB.
const REFERENCE: Flash = Flash {
    channels: 8,
    dies_per_channel: 8,
    blocks: 20,
    pages_per_block: 64,
    page_kib: 4,
    mt_per_s: 800.0,
    read_us: 50.0,
    program_us: 200.0,
};

/// All comparisons, in the order of the page.
///
/// # Errors
/// [`SuiteError`] if a geometry cannot be simulated.
pub fn closed_forms(stop: &dyn Fn() -> bool) -> Result<Vec<ClosedForm>, SuiteError> {
    let mut all = reads(stop)?;
    all.extend(bounds(stop)?);
    all.extend(write_amplification()?);
    Ok(all)
}

fn reads(stop: &dyn Fn() -> bool) -> Result<Vec<ClosedForm>, SuiteError> {
    let profile = REFERENCE.profile(6)?;
    let link_us = 4096.0 / (link_mode(LINK).map_err(|e| target(&e))?.rate.0 as f64) * 1e6;
    let mut rows = Vec::new();
    for (depth, flash_us, theory) in [
        (1, 55.12, "50 µs in the array + 5.12 µs on the channel"),
        (32, 72.85, "independent simulation of the queueing network"),
        (256, 252.5, "independent simulation of the queueing network"),
    ] {
        let job = format!("rw=randread\nbs=4k\niodepth={depth}\nio_size=400m\nnorandommap=1\n");
        rows.push(ClosedForm {
            what: format!("4 KiB random read, QD{depth}, mean latency; 64 dies on 8 channels"),
            theory: format!("{theory} + {:.0} ns on the link", link_us * 1e3),
            expected: flash_us + link_us,
            simulated: measured(&profile, Fill::Random { seed: SEED }, &job, stop)?.mean_us,
            unit: "µs",
        });
    }
    Ok(rows)
}

fn bounds(stop: &dyn Fn() -> bool) -> Result<Vec<ClosedForm>, SuiteError> {
    let mut dies = Flash {
        channels: 4,
        dies_per_channel: 4,
        blocks: 24,
        pages_per_block: 128,
        page_kib: 16,
        mt_per_s: 10_000.0,
        read_us: 115.0,
        program_us: 400.0,
    }
    .profile(6)?;
    dies.nand.cache_read = true;
    dies.nand.cache_program = true;
    let mut bus = dies.clone();
    bus.nand.bus_mt_per_s = 100.0;
    let read = "rw=read\nbs=16k\niodepth=64\nio_size=1g\n";
    // The ramp time fills the write buffer: after it, the flash sets the rate.
    let write =
        "rw=write\nbs=16k\niodepth=64\nsize=256m\ntime_based\nramp_time=300ms\nruntime=700ms\n";
    let mut rows = Vec::new();
    for (what, profile, job, theory, expected) in [
        (
            "Sequential read bound by 16 dies",
            &dies,
            read,
            "16 x 16 KiB / 115 µs",
            16.0 * 16384.0 / 115.0,
        ),
        (
            "Sequential read bound by 4 channels",
            &bus,
            read,
            "4 x 100 MB/s",
            400.0,
        ),
        (
            "Sequential write bound by 16 dies",
            &dies,
            write,
            "16 x 16 KiB / 400 µs",
            16.0 * 16384.0 / 400.0,
        ),
    ] {
        rows.push(ClosedForm {
            what: what.to_string(),
            theory: theory.to_string(),
            expected,
            simulated: measured(profile, Fill::Sequential, job, stop)?.mb_per_s,
            unit: "MB/s",
        });
    }
    Ok(rows)
}

fn write_amplification() -> Result<Vec<ClosedForm>, SuiteError> {
    let mut rows = Vec::new();
    let (blocks, pages) = (4096, 64);
    for (policy, name) in [
        (VictimPolicyName::Greedy, "greedy"),
        (VictimPolicyName::Fifo, "FIFO"),
    ] {
        for percent in [7.0, 10.0, 15.0, 28.0] {
            let (mut profile, alpha) = with_spare(blocks, pages, percent)?;
            let expected = match policy {
                VictimPolicyName::Greedy => greedy(alpha, pages),
                _ => fifo(alpha),
            };
            if let Some(ftl) = profile.ftl.as_mut() {
                ftl.collection = policy.clone();
            }
            rows.push(ClosedForm {
                what: format!(
                    "Write amplification, uniform random writes, {name}, {percent} % spare, {pages} pages a block"
                ),
                theory: match policy {
                    VictimPolicyName::Greedy => "H(b) − H(X₀) = α(1 − X₀/b), b/(b − X₀)".to_string(),
                    _ => "1 − x = exp(−αx), 1/x".to_string(),
                },
                expected,
                simulated: steady_amplification(&profile, pages)?,
                unit: "",
            });
        }
    }
    Ok(rows)
}

impl Flash {
    /// A profile without any delay, limit, error or policy except the flash's; the capacity leaves `spare` superblocks.
    fn profile(&self, spare: u32) -> Result<Profile, SuiteError> {
        let mut p = SimSpec::library("reference-nvme-64gb")?.profile;
        let nand = &mut p.nand;
        nand.cell = Cell::Slc;
        nand.native = None;
        nand.channels = self.channels;
        nand.dies_per_channel = self.dies_per_channel;
        nand.planes = 1;
        nand.blocks_per_plane = self.blocks;
        nand.word_lines = self.pages_per_block;
        nand.page_kib = self.page_kib;
        nand.bus_mt_per_s = self.mt_per_s;
        nand.bus_overhead_ns = 0;
        (nand.cache_read, nand.cache_program, nand.suspend) = (false, false, false);
        nand.slc.read_us = vec![self.read_us];
        nand.slc.program_us = vec![self.program_us];
        nand.slc.erase_us = 1.0;
        nand.slc.cycles = 1_000_000;
        nand.reliability.rber_fresh = 0.0;
        nand.reliability.rber_rated = 0.0;
        nand.reliability.disturb_per_100k_reads = 0.0;
        if let Some(ftl) = p.ftl.as_mut() {
            ftl.journal_entries = 0;
            ftl.wear_spread_cycles = 0;
            ftl.refresh_reads = 0;
            ftl.collection_start = KEPT;
        }
        if let Some(controller) = p.controller.as_mut() {
            controller.cores = 1;
            controller.read_us = 0.0;
            controller.write_us = 0.0;
            controller.per_unit_ns = 0;
            controller.relocate_unit_us = 0.0;
            controller.decode_us = 0.0;
            controller.write_buffer_kib = 64 * 1024;
            controller.read_ahead_kib = 0;
        }
        let superblock = u64::from(self.channels * self.dies_per_channel)
            * u64::from(self.pages_per_block)
            * u64::from(self.page_kib)
            * 1024;
        p.device.capacity_bytes = u64::from(self.blocks - spare) * superblock;
        let interface = p.interface.first().map(|first| InterfaceSection {
            link: LINK.to_string(),
            active_dies: 4096,
            clock_share: 1.0,
            ..first.clone()
        });
        p.interface = interface.into_iter().collect();
        Ok(p)
    }
}

fn target(error: &dyn std::fmt::Display) -> SuiteError {
    SuiteError::Target(error.to_string())
}

fn device(profile: &Profile) -> Result<Device, SuiteError> {
    let host = library_host("direct")?;
    Device::new(profile, &host, SEED).map_err(|e| target(&e))
}

/// Mean latency and rate of a job.
struct Measured {
    mean_us: f64,
    mb_per_s: f64,
}

/// Measures a job on the filled device.
fn measured(
    profile: &Profile,
    fill: Fill,
    job: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Measured, SuiteError> {
    let mut device = device(profile)?;
    if !device.precondition(1.0, fill) {
        return Err(target(&"the device is not idle and cannot be filled"));
    }
    let mut document =
        ResultDocument::begin("closed forms", String::new(), SEED, Default::default());
    let mut unobserved = ();
    let mut watcher = StepWatcher::new(&mut unobserved, "", 0, 1);
    let mut runner = StepRunner::new(
        SimTarget::new(device),
        SEED,
        &mut document,
        None,
        stop,
        &mut watcher,
    );
    runner.begin_step(
        "closed-form",
        "Closed form",
        "Closed forms",
        String::new(),
        1,
    );
    let phase = phase(
        "closed form",
        &format!("[job]\n{job}"),
        runner.capacity(),
        SEED,
    )?;
    let _ = runner.run(phase)?;
    let job = runner.current().and_then(|s| s.jobs.last());
    let result = job.and_then(|j| j.directions.first());
    let result = result.ok_or_else(|| target(&"nothing was measured"))?;
    Ok(Measured {
        mean_us: result.latency.mean_ns / 1e3,
        mb_per_s: result.bandwidth_bytes_per_s / 1e6,
    })
}

/// A profile in which α, the number of pages in blocks with data per logical page, is about `1 + percent/100`; returns
/// the exact α. Free blocks, the block just opened and half the open block of relocation hold no data.
fn with_spare(blocks: u32, pages: u32, percent: f64) -> Result<(Profile, f64), SuiteError> {
    let flash = Flash {
        channels: 1,
        dies_per_channel: 1,
        blocks,
        pages_per_block: pages,
        page_kib: 4,
        mt_per_s: 10_000.0,
        read_us: 1.0,
        program_us: 1.0,
    };
    let mut p = flash.profile(8)?;
    if let (Some(ftl), Some(controller)) = (p.ftl.as_mut(), p.controller.as_mut()) {
        ftl.relocation_units = 1;
        controller.write_buffer_kib = 64;
    }
    let holding = (f64::from(blocks - KEPT) - 1.5) * f64::from(pages);
    let logical = (holding / (1.0 + percent / 100.0)) as u64;
    p.device.capacity_bytes = logical * 4096;
    Ok((p, holding / logical as f64))
}

/// Pages programmed per page written in the steady state, by the number of erases: the drive is overwritten four times
/// before the count, and three times during it.
fn steady_amplification(profile: &Profile, pages: u32) -> Result<f64, SuiteError> {
    let mut device = device(profile)?;
    if !device.precondition(1.0, Fill::Random { seed: SEED }) {
        return Err(target(&"the device is not idle and cannot be filled"));
    }
    let logical = device.capacity().0 / 4096;
    device.overwrite_randomly(4 * logical, 1);
    let before = device.counters().erases;
    device.overwrite_randomly(3 * logical, 2);
    let erased = device.counters().erases - before;
    Ok(erased as f64 * f64::from(pages) / (3 * logical) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_bounds_agree_with_theory() {
        let stop = || false;
        let mut rows = reads(&stop).unwrap();
        rows.extend(bounds(&stop).unwrap());
        for row in rows {
            let share = (row.simulated / row.expected - 1.0).abs();
            assert!(
                share < 0.02,
                "{}: {} for {}",
                row.what,
                row.simulated,
                row.expected
            );
        }
    }
}
