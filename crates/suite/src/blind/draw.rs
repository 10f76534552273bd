//! Draws a device: cards with allocation units of every kind that the model knows, and drives with a
//! page-mapped log. What is fixed (array times, energies, errors) is that of a device of the library.

use super::dice::Dice;
use super::error::BlindError;
use super::noise::Noise;
use nandscope_device::profile::card::{CardSection, FatSection, OutOfOrder};
use nandscope_device::profile::schema::{BufferRelease, SlcCacheSection};
use nandscope_device::profile::{Profile, library};
use nandscope_units::Nanos;

/// True answers for a device; `None` if the question does not apply to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// Whether it has allocation units at all.
    pub card: bool,
    /// Allocation unit, bytes.
    pub unit: Option<u64>,
    /// Page, bytes.
    pub page: Option<u64>,
    /// First boundary of a unit in the part that is probed, bytes.
    pub offset: Option<u64>,
    /// Open units for data.
    pub open: Option<u32>,
    /// Whether first units are treated otherwise.
    pub fat: Option<bool>,
    /// SLC cache, bytes.
    pub slc: Option<u64>,
    /// Write buffer, bytes.
    pub buffer: Option<u64>,
    /// Number of dies of a page-mapped drive.
    pub dies: Option<u32>,
}

/// A device that was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Profile of the device.
    pub profile: Profile,
    /// Disturbance of the measurement.
    pub noise: Noise,
    /// The device is probed from here on only, as a partition of it would be, bytes.
    pub begin: u64,
    /// True answers.
    pub truth: Truth,
}

/// Of so many devices one is page-mapped.
const PAGED_EVERY: u64 = 5;
/// One in this many cards is probed from the middle of a unit on.
const PART_EVERY: u64 = 4;
/// Start of old partitions: after a track of 63 sectors.
const TRACK: u64 = 63 * 512;

/// Makes the devices others than those of [`super::wide`].
const SERIES: u64 = 0x2545_f491_4f6c_dd1d;

/// The device with that number in the series of a seed.
///
/// # Errors
/// [`BlindError`] if the library lacks the profile that is changed, or it has faults.
pub fn draw(number: u64, seed: u64) -> Result<Drawn, BlindError> {
    let mut dice = Dice::new(SERIES, seed, number);
    let noise = Noise {
        share: dice.of(&[0.0, 0.005, 0.02, 0.05]),
        between_stalls: dice.of(&[0, 20_000, 3_000]),
        stall: Nanos::from_millis(dice.of(&[20, 60, 150])),
    };
    let (mut profile, mut truth) = if number % PAGED_EVERY == PAGED_EVERY - 1 {
        paged(&mut dice)?
    } else {
        card(&mut dice)?
    };
    let begin = match &mut profile.card {
        Some(card) if dice.below(PART_EVERY) == 0 => {
            // A table at the beginning of the device is not in the part.
            card.fat = None;
            truth.fat = Some(false);
            truth.open = Some(card.open_aus);
            begin(&truth, &mut dice)
        }
        _ => 0,
    };
    truth.offset = truth.unit.map(|unit| (unit - begin % unit) % unit);
    Ok(Drawn {
        profile,
        noise,
        begin,
        truth,
    })
}

/// Start of a part: after a track, at a MiB, at a page or at any sector, in the middle of a unit or not.
fn begin(truth: &Truth, dice: &mut Dice) -> u64 {
    let (unit, page) = (truth.unit.unwrap_or(1 << 20), truth.page.unwrap_or(512));
    match dice.below(5) {
        0 => TRACK,
        1 => 4 << 20,
        2 => (1 + dice.below(16)) << 20,
        3 => page * (1 + dice.below(unit / page)),
        _ => 512 * (1 + dice.below(unit / 512)),
    }
}

fn base(name: &'static str) -> Result<Profile, BlindError> {
    let entry = library::device(name).ok_or(BlindError::NoProfile(name))?;
    entry.profile().map_err(|_| BlindError::FaultyProfile(name))
}

fn lacks(device: &'static str, table: &'static str) -> BlindError {
    BlindError::NoTable { device, table }
}

fn card(dice: &mut Dice) -> Result<(Profile, Truth), BlindError> {
    let mut profile = base("kingston-class10-32gb")?;
    profile.thermal.ambient_c = dice.between(15.0, 45.0);
    let times = dice.between(0.6, 1.8);
    if let Some(native) = &mut profile.nand.native {
        native.read_us.iter_mut().for_each(|t| *t *= times);
        native.program_us.iter_mut().for_each(|t| *t *= times);
    }
    let section = profile.card.as_mut().ok_or(lacks("card", "card"))?;
    fill(section, dice);
    let fat_units = section.fat.as_ref().map_or(0, |f| f.open_aus);
    let truth = Truth {
        card: true,
        unit: Some(u64::from(section.au_kib) << 10),
        offset: None,
        page: section.page_kib.map(|kib| u64::from(kib) << 10),
        open: Some(section.open_aus - fat_units),
        fat: Some(section.fat.is_some()),
        slc: None,
        buffer: None,
        dies: None,
    };
    Ok((profile, truth))
}

fn fill(card: &mut CardSection, dice: &mut Dice) {
    // Three of them are not powers of two.
    card.au_kib = dice.of(&[1024, 2048, 4096, 4096, 8192, 16384, 3072, 6144, 12288]);
    card.page_kib = Some(dice.of(&[16, 32, 64, 128]));
    card.open_aus = 1 + dice.below(10) as u32;
    card.out_of_order = dice.of(&[OutOfOrder::Rewrite, OutOfOrder::Log, OutOfOrder::Map]);
    card.log_kib = (card.out_of_order == OutOfOrder::Log).then_some(card.au_kib);
    card.switch_us = dice.between(10.0, 1000.0);
    card.states_in_ram = card.open_aus;
    card.small_writes = None;
    let with_fat = card.open_aus > 1 && dice.below(2) == 0;
    card.fat = with_fat.then(|| FatSection {
        first_au: dice.below(2) as u32,
        aus: 1,
        apart_aus: 1,
        open_aus: 1,
        out_of_order: OutOfOrder::Log,
        log_kib: Some(card.au_kib),
        log_first: false,
        slc: dice.below(2) == 0,
    });
    let controller = &mut card.controller;
    controller.read_us = dice.between(150.0, 900.0);
    controller.write_us = dice.between(300.0, 2000.0);
    // Time that a read takes longer across a boundary of an AU, µs; hardly visible on some cards.
    controller.au_lookup_us = dice.between(5.0, 600.0);
    controller.page_us = dice.between(50.0, 500.0);
    controller.move_us = dice.between(100.0, 400.0);
    controller.buffer_kib = dice.of(&[32, 64, 128, 256, 512]);
    controller.read_ahead_kib = dice.of(&[0, 0, 128]);
}

fn paged(dice: &mut Dice) -> Result<(Profile, Truth), BlindError> {
    let mut profile = base("reference-nvme-64gb")?;
    profile.thermal.ambient_c = dice.between(15.0, 45.0);
    let (channels, dies) = (4, dice.of(&[1, 2, 4]));
    profile.nand.channels = channels;
    profile.nand.dies_per_channel = dies;
    let all = channels * dies;
    if let Some(native) = &mut profile.nand.native {
        let times = dice.between(0.7, 1.6);
        native.program_us.iter_mut().for_each(|t| *t *= times);
    }
    let slc_gb = (dice.below(3) > 0).then(|| dice.between(0.2, 0.8));
    let superblock = f64::from(all * profile.nand.planes) * 3.0 * f64::from(1 << 20);
    let needed = 1.12 * profile.device.capacity_bytes as f64 + 3.2 * slc_gb.unwrap_or(0.0) * 1e9;
    profile.nand.blocks_per_plane = (needed / superblock) as u32 + 16;
    let ftl = profile.ftl.as_mut().ok_or(lacks("drive", "ftl"))?;
    ftl.slc_cache = slc_gb.map(|gb| SlcCacheSection {
        static_gb: gb,
        dynamic_gb: 0.0,
        lends_spare_percent: 0.0,
        reserve_gb: 0.0,
        fold_after_ms: 2000.0,
        fold_blocks_host: false,
    });
    let controller = profile
        .controller
        .as_mut()
        .ok_or(lacks("drive", "controller"))?;
    controller.write_buffer_kib = all * 96 * dice.of(&[2, 3, 4]);
    controller.buffer_release = BufferRelease::Programmed;
    for interface in &mut profile.interface {
        interface.active_dies = all;
    }
    let truth = Truth {
        card: false,
        slc: slc_gb.map(|gb| (gb * 1e9) as u64),
        buffer: Some(u64::from(controller.write_buffer_kib) << 10),
        dies: Some(all),
        ..Truth::default()
    };
    Ok((profile, truth))
}
