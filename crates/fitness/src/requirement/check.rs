//! Values of a requirement file that are impossible by themselves or contradict each other.

use super::fault::Faults;
use super::parse::{Written, WrittenStream};
use super::{Area, Direction, Stream, Sync};
use crate::requirement::quantity;
use nandscope_units::SECTOR_BYTES;
use std::collections::BTreeSet;

/// Largest block, bytes: an operation has a length of 32 bits.
const LARGEST_BLOCK: u64 = 1 << 30;
/// Largest queue depth.
const MOST_DEPTH: i64 = 1024;
/// Most blocks per second of a stream.
const MOST_BLOCKS_PER_S: f64 = 1e7;
/// Fewest blocks per second of a stream: one a day.
const LEAST_BLOCKS_PER_S: f64 = 1.0 / 86_400.0;
/// Most streams.
const MOST_STREAMS: usize = 64;

/// Checks one stream.
pub(super) fn stream(w: &WrittenStream, s: &Stream, faults: &mut Faults<'_>) {
    let key = |key: &str| format!("stream.{}.{key}", s.name);
    if !s.block.0.is_multiple_of(SECTOR_BYTES) || s.block.0 > LARGEST_BLOCK {
        let message = format!(
            "a block of {} bytes is not a multiple of 512 up to 1 GiB",
            s.block.0
        );
        faults.add(
            w.block.span(),
            &key("block"),
            message,
            "write a size such as \"4 KiB\"",
        );
    }
    if !(LEAST_BLOCKS_PER_S..=MOST_BLOCKS_PER_S).contains(&s.blocks_per_s) {
        let message = format!(
            "{} blocks per second are outside of one a day to 10 million a second",
            s.blocks_per_s
        );
        faults.add(
            w.rate.span(),
            &key("rate"),
            message,
            "change the rate or the size of the block",
        );
    }
    if let Some(depth) = w
        .depth
        .as_ref()
        .filter(|d| !(1..=MOST_DEPTH).contains(d.get_ref()))
    {
        faults.add(
            depth.span(),
            &key("depth"),
            "the queue depth is out of range",
            "write 1 to 1024",
        );
    }
    if let (Area::Size(size), Some(area)) = (s.area, &w.area)
        && size < s.block
    {
        faults.add(
            area.span(),
            &key("area"),
            "the area is smaller than a block",
            "enlarge the area",
        );
    }
    if let (Some(sync), Direction::Read) = (&w.sync, s.direction)
        && s.sync != Sync::Never
    {
        faults.add(
            sync.span(),
            &key("sync"),
            "a stream of reads has nothing to sync",
            "remove the key",
        );
    }
    if let (Some(share), None) = (&w.deadline_share, &w.deadline) {
        faults.add(
            share.span(),
            &key("deadline_share"),
            "a share of a deadline that is not given",
            "add `deadline`, or remove the key",
        );
    }
    if let (Some(share), Some(deadline)) = (&w.deadline_share, s.deadline)
        && deadline.share <= 0.0
    {
        faults.add(
            share.span(),
            &key("deadline_share"),
            "a deadline for none of the blocks",
            "write a share above 0 %, or remove `deadline`",
        );
    }
    if let (Some(loss), None) = (&w.loss, &w.buffer) {
        faults.add(
            loss.span(),
            &key("loss"),
            "a loss without a buffer: what does not fit a buffer is lost",
            "add `buffer`, or remove the key",
        );
    }
    if let (Some(text), Some(buffer)) = (&w.buffer, s.buffer)
        && buffer < s.block
    {
        faults.add(
            text.span(),
            &key("buffer"),
            "the buffer is smaller than a block and would lose each one",
            "enlarge the buffer, or reduce `block`",
        );
    }
    if let (Some(text), Sync::Bytes(bytes)) = (&w.sync, s.sync)
        && bytes < s.block
    {
        faults.add(
            text.span(),
            &key("sync"),
            "a sync after less than a block",
            "write \"each\", or a size of a block and more",
        );
    }
}

/// Checks the file as a whole.
pub(super) fn whole(w: &Written, faults: &mut Faults<'_>) {
    if let Some(years) = w
        .years
        .as_ref()
        .filter(|y| !(*y.get_ref() > 0.0 && *y.get_ref() <= 100.0))
    {
        faults.add(
            years.span(),
            "years",
            "the years are not above 0 and up to 100",
            "write a number such as 5",
        );
    }
    if let Some(hours) = &w.hours_per_day {
        if !(*hours.get_ref() > 0.0 && *hours.get_ref() <= 24.0) {
            faults.add(
                hours.span(),
                "hours_per_day",
                "the hours of a day are not above 0 and up to 24",
                "write 24 for a stream that never pauses",
            );
        }
        if w.years.is_none() {
            faults.add(
                hours.span(),
                "hours_per_day",
                "hours of a day matter only for `years`, which is not given",
                "add `years`, or remove the key",
            );
        }
    }
    if let Some(range) = &w.temperature_c {
        let is_range = |low: f64, high: f64| low <= high && low >= -273.15 && high <= 1000.0;
        match range.get_ref()[..] {
            [low, high] if is_range(low, high) => {}
            [low, high] if low > high => faults.add(
                range.span(),
                "temperature_c",
                format!("the lowest temperature, {low}, is above the highest, {high}"),
                "write the lower one first: [0, 40]",
            ),
            _ => faults.add(
                range.span(),
                "temperature_c",
                "not a range of temperatures",
                "write the lowest and the highest in degrees Celsius: [0, 40]",
            ),
        }
    }
    streams(w, faults);
}

/// Checks the streams together.
fn streams(w: &Written, faults: &mut Faults<'_>) {
    if w.stream.is_empty() || w.stream.len() > MOST_STREAMS {
        let message = format!("there are {} streams", w.stream.len());
        faults.add(0..0, "stream", message, "add 1 to 64 tables `[[stream]]`");
    }
    let (mut names, mut shares, mut rests) = (BTreeSet::new(), 0.0, 0);
    for stream in w.stream.iter().map(toml::Spanned::get_ref) {
        let name = stream.name.get_ref().as_str();
        if !names.insert(name) || name.trim().is_empty() {
            let message = format!("the name `{name}` is empty, or another stream has it");
            faults.add(
                stream.name.span(),
                "stream.name",
                message,
                "choose another name",
            );
        }
        match stream.area.as_ref().map(|a| quantity::area(a.get_ref())) {
            Some(Ok(Area::Share(share))) => shares += share,
            None | Some(Ok(Area::Rest)) => rests += 1,
            _ => {}
        }
        if let Some(area) = stream.area.as_ref().filter(|_| shares > 1.0 + 1e-9) {
            let key = format!("stream.{name}.area");
            faults.add(
                area.span(),
                &key,
                "the areas are more than the whole device",
                "reduce the shares to 100 % in all",
            );
            return;
        }
    }
    if let Some(last) = w.stream.last().filter(|_| rests > 0 && shares > 1.0 - 1e-9) {
        faults.add(
            last.span(),
            "stream.area",
            "the areas leave nothing for the streams without an area",
            "reduce the shares, or give each stream an area",
        );
    }
}
