//! By which attachment a device is compared: the fastest of its modes, and the rate from which on the host and not the device is
//! measured.

use super::kind::interfaces;
use nandscope_result::{ModeInfo, ResultDocument};

fn first_interface(document: &ResultDocument) -> Option<&str> {
    interfaces(document).next()
}

/// MB/s that a stage of a path carries: its text ends with `1576 MB/s)`.
fn stage_rate(stage: &str) -> Option<f64> {
    let text = stage.strip_suffix(" MB/s)")?;
    let (_, number) = text.rsplit_once([' ', '('])?;
    number.parse().ok()
}

/// Data rate of a path, MB/s: that of its slowest stage.
pub(super) fn path_rate(mode: &ModeInfo) -> Option<f64> {
    let rates = mode.path.iter().filter_map(|stage| stage_rate(stage));
    rates.reduce(f64::min)
}

/// The fastest mode of a result; `None` for a real device, which has one without a name.
pub(super) fn widest(document: &ResultDocument) -> Option<&ModeInfo> {
    fastest_mode(&document.target.modes)
}

/// The mode whose path carries most, of several the most direct one; `None` without modes.
pub fn fastest_mode(modes: &[ModeInfo]) -> Option<&ModeInfo> {
    let is_better = |mode: &ModeInfo, best: &ModeInfo| {
        let rate = |mode: &ModeInfo| path_rate(mode).unwrap_or(0.0);
        let order = rate(mode).total_cmp(&rate(best));
        order.then(best.path.len().cmp(&mode.path.len())).is_gt()
    };
    let modes = modes.iter();
    modes.reduce(|best, mode| if is_better(mode, best) { mode } else { best })
}

/// Rate beyond which the host is measured and not the device, MB/s; `None` if the link is the best that the device has
/// and no stage before it is slower, or if nothing is known.
pub(super) fn host_limit(document: &ResultDocument) -> Option<f64> {
    let Some(mode) = widest(document) else {
        return document.target.link_bytes_per_s.map(|rate| rate / 1e6);
    };
    let limit = path_rate(mode)?;
    let (best, link) = (first_interface(document)?, mode.path.last()?);
    let is_best = link.starts_with(&format!("{best} "));
    (!is_best || stage_rate(link)? > limit).then_some(limit)
}
