//! Finds the page that opens an AU by writes of single pages near its boundaries.

use super::found::Opened;
use super::single::LEADS;
use super::written::write;
use crate::probe::Probing;
use crate::probe::slow_writes::stands_out;
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// Pages written before and after the range of a boundary. A card may copy an AU for each page before the boundary.
const PAGES_BEFORE: u64 = 2;
const PAGES_AFTER: u64 = 8;
/// Largest range of nearly all page writes, as a share of their median, if each page is programmed alone. If some take longer,
/// several pages are programmed together, and the slow one need not be the first.
const ALIKE: f64 = 0.25;

/// The page that opens a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::probe) struct FirstPage {
    /// Start of the page, modulo the AU, bytes from the start of the target.
    pub(in crate::probe) at: u64,
    /// Length of the writes, bytes.
    pub(in crate::probe) page: u64,
    /// Whether all other pages take the same time, so that each is programmed alone: then an AU begins at this page.
    pub(in crate::probe) alone: bool,
}

/// Finds the page write that opens an AU near some of its boundaries: the first page of the AU, or the last of the first pages
/// that are programmed together. Pages begin `first` bytes after a multiple of their size. `None` if no page is slow every time.
pub(in crate::probe) fn first_page<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &Opened,
    (page, first): (u64, u64),
    end: Nanos,
) -> Result<Option<FirstPage>, ProbeError> {
    if !found.unit.is_multiple_of(page) || found.unit < 4 * (found.within + PAGES_BEFORE * page) {
        return Ok(None);
    }
    // The slow write may have completed a page that began before it.
    let from = (found.unit + found.from).saturating_sub(page);
    let from = from.saturating_sub(first).next_multiple_of(page) + first;
    let pages = (found.within + page) / page + PAGES_AFTER;
    let mut turns: Vec<Vec<f64>> = Vec::new();
    for number in 0..LEADS.len() as u64 {
        // Different numbers of writes before each boundary, so that an effect of their number occurs at different pages.
        let before = PAGES_BEFORE + number;
        let mut begin = (from + number * found.unit).saturating_sub(before * page);
        let count = before + pages;
        if begin + count * page > probing.target.whole().0 {
            break;
        }
        let written = write(probing, &mut begin, (page, count * page), end, |_| false)?;
        if (written.times.len() as u64) < count {
            break;
        }
        turns.push(written.times[before as usize..].to_vec());
    }
    if turns.len() < LEADS.len() {
        return Ok(None);
    }
    // The second quickest of four: a stall makes a write slow, but nothing makes it quick.
    let of = |i: usize| quantile(&turns.iter().map(|t| t[i]).collect::<Vec<_>>(), 0.3);
    let quick: Vec<f64> = (0..pages as usize).map(of).collect();
    let slowest = (0..quick.len()).max_by(|a, b| quick[*a].total_cmp(&quick[*b]));
    let Some(slowest) = slowest else {
        return Ok(None);
    };
    let others: Vec<f64> = (0..quick.len())
        .filter(|i| *i != slowest)
        .map(|i| quick[i])
        .collect();
    let spread = quantile(&others, 0.96) - quantile(&others, 0.04);
    let seen = FirstPage {
        at: (from + slowest as u64 * page) % found.unit,
        page,
        alone: spread < ALIKE * median(&others),
    };
    Ok(stands_out(quick[slowest], &others).then_some(seen))
}
