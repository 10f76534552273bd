//! The geometry of a device as a small picture of blocks: channels, dies on them, planes in these.

use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::Cell;
use nandscope_units::Bytes;

/// Channels and dies above these numbers are described in words.
const MOST_CHANNELS: u32 = 8;
const MOST_DIES: u32 = 8;
const MOST_PLANES: u32 = 8;

/// The picture, over several lines.
pub fn of(profile: &Profile) -> String {
    let nand = &profile.nand;
    let mut out = String::from("  controller\n");
    let channels = nand.channels.min(MOST_CHANNELS);
    for channel in 0..channels {
        let last = channel + 1 == channels && nand.channels <= MOST_CHANNELS;
        let corner = if last { '└' } else { '├' };
        out.push_str(&format!(
            "  {corner}─ channel {channel}: {:>4} MT/s ─",
            nand.bus_mt_per_s
        ));
        for _ in 0..nand.dies_per_channel.min(MOST_DIES) {
            let planes = nand.planes.min(MOST_PLANES) as usize;
            out.push_str(&format!(" [{}]", vec!["■"; planes].join(" ")));
        }
        if nand.dies_per_channel > MOST_DIES {
            out.push_str(&format!(" … {} dies", nand.dies_per_channel));
        }
        out.push('\n');
    }
    if nand.channels > MOST_CHANNELS {
        out.push_str(&format!("  └─ … {} channels in all\n", nand.channels));
    }
    out.push_str(&in_words(profile));
    out
}

fn in_words(profile: &Profile) -> String {
    let nand = &profile.nand;
    let pages = u64::from(nand.word_lines) * u64::from(nand.cell.bits());
    let block = pages * u64::from(nand.page_kib) * 1024;
    let dies = u64::from(nand.channels) * u64::from(nand.dies_per_channel);
    let planes = dies * u64::from(nand.planes);
    let raw = Bytes(planes * u64::from(nand.blocks_per_plane) * block);
    let user = Bytes(profile.device.capacity_bytes);
    format!(
        "  [■] one die, ■ one plane of {} blocks × {pages} pages × {} KiB ({})\n  {dies} {} {}, the host sees {user}: {:.1} % over-provisioning\n",
        nand.blocks_per_plane,
        nand.page_kib,
        cell(nand.cell),
        if dies == 1 { "die holds" } else { "dies hold" },
        raw,
        (raw.as_gb() / user.as_gb() - 1.0) * 100.0,
    )
}

fn cell(cell: Cell) -> &'static str {
    match cell {
        Cell::Slc => "SLC",
        Cell::Mlc => "MLC",
        Cell::Tlc => "TLC",
        Cell::Qlc => "QLC",
    }
}
