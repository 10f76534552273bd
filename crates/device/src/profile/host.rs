//! A host: the chain of controllers, bridges and cables between a program and the device's own
//! link. Bandwidth is bounded by each stage, latencies add up, and the stages work at once.

use super::error::Located;
use crate::link::{LinkMode, link_mode};
use nandscope_units::{Nanos, Rate};
use serde::{Deserialize, Serialize};

/// A host profile as it stands in its file (`profiles/hosts/*.toml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// Version of this format; 1.
    pub format: u32,
    /// Who it is.
    pub host: HostSection,
    /// From the program towards the device.
    pub stage: Vec<StageSection>,
}

/// Who the host is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSection {
    /// Short name, equal to the file's name.
    pub name: String,
    /// For people.
    pub title: String,
    /// A paragraph.
    pub description: String,
    /// Links at its far end, the best first; the first one that the device also has is used.
    pub links: Vec<String>,
    /// Documents that the numbers come from.
    pub sources: Vec<String>,
}

/// One stage of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSection {
    /// For people, such as `RTL9211DS bridge`.
    pub name: String,
    /// Link mode of the stage (`usb-3.2-gen2-uas`), which gives rate and queue depth; left out for
    /// a stage that only adds latency or power.
    pub link: Option<String>,
    /// From the submission of a command until the stage has passed it on, µs.
    pub command_us: f64,
    /// From the end of the data until the stage has passed the completion back, µs.
    pub completion_us: f64,
    /// Discards are passed on.
    pub discard: bool,
    /// Power of the stage that the meter sees while commands are outstanding, mW.
    pub active_mw: f64,
    /// Power of the stage that the meter sees while idle, mW.
    pub idle_mw: f64,
    /// Energy per byte that passes, pJ.
    pub pj_per_byte: f64,
}

/// A chain put together: what the device model needs to know of everything before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// The link at the device.
    pub link: LinkMode,
    /// The slowest stage.
    pub rate: Rate,
    /// Whether data flows one way at a time.
    pub half_duplex: bool,
    /// Commands that may be outstanding at the device.
    pub queue_depth: u32,
    /// Sum of the stages' latencies on the way in.
    pub command: Nanos,
    /// Sum of the stages' latencies on the way back.
    pub completion: Nanos,
    /// Every stage passes discards on.
    pub discard: bool,
    /// Power of all stages while commands are outstanding, W.
    pub active_w: f64,
    /// Power of all stages while idle, W.
    pub idle_w: f64,
    /// Energy of all stages per byte, J.
    pub j_per_byte: f64,
    /// The chain in words, for reports.
    pub path: Vec<String>,
}

impl HostProfile {
    /// Attaches a device that has the given links: finds the best common one and sums the chain up.
    ///
    /// # Errors
    /// A message for people where host and device have no link in common.
    pub fn attach(&self, device_links: &[&str]) -> Result<(usize, Chain), String> {
        let common = self
            .host
            .links
            .iter()
            .find_map(|l| device_links.iter().position(|d| d == l).map(|i| (i, l)));
        let Some((index, name)) = common else {
            return Err(format!(
                "host `{}` offers {} and the device has {}: no link in common",
                self.host.name,
                self.host.links.join(", "),
                device_links.join(", ")
            ));
        };
        let link = link_mode(name).map_err(|e| e.to_string())?;
        Ok((index, self.chain(link)))
    }

    fn chain(&self, link: LinkMode) -> Chain {
        let mut chain = Chain {
            rate: link.rate,
            half_duplex: link.protocol.half_duplex(),
            queue_depth: link.protocol.queue_depth(),
            command: Nanos::ZERO,
            completion: Nanos::ZERO,
            discard: true,
            active_w: 0.0,
            idle_w: 0.0,
            j_per_byte: 0.0,
            path: Vec::new(),
            link,
        };
        for stage in &self.stage {
            let mode = stage.link.as_deref().and_then(|name| link_mode(name).ok());
            if let Some(mode) = &mode {
                chain.rate = chain.rate.min(mode.rate);
                chain.queue_depth = chain.queue_depth.min(mode.protocol.queue_depth());
                chain.half_duplex |= mode.protocol.half_duplex();
            }
            chain.command += Nanos::from_micros_f64(stage.command_us);
            chain.completion += Nanos::from_micros_f64(stage.completion_us);
            chain.discard &= stage.discard;
            chain.active_w += stage.active_mw / 1e3;
            chain.idle_w += stage.idle_mw / 1e3;
            chain.j_per_byte += stage.pj_per_byte * 1e-12;
            chain.path.push(match mode {
                Some(mode) => format!("{} ({}, {})", stage.name, mode.name, mode.rate),
                None => stage.name.clone(),
            });
        }
        chain
            .path
            .push(format!("{} link ({})", chain.link.name, chain.link.rate));
        chain
    }
}

pub(super) fn check(host: &HostProfile) -> Vec<Located> {
    let mut faults = Vec::new();
    let mut fault = |key: String, message: String, remedy: &str| {
        faults.push(Located {
            key,
            message,
            remedy: remedy.to_string(),
        });
    };
    if host.format != super::FORMAT {
        fault(
            "format".into(),
            format!("format {} is not known", host.format),
            "this build reads format 1",
        );
    }
    if host.host.links.is_empty() {
        fault(
            "host.links".into(),
            "there is no link to a device".into(),
            "name at least one link mode",
        );
    }
    for (i, name) in host.host.links.iter().enumerate() {
        if let Err(e) = link_mode(name) {
            fault(format!("host.links.{i}"), e.to_string(), "correct the name");
        }
    }
    for (i, stage) in host.stage.iter().enumerate() {
        if let Some(Err(e)) = stage.link.as_deref().map(link_mode) {
            fault(format!("stage.{i}.link"), e.to_string(), "correct the name");
        }
        for (key, value, most) in [
            ("command_us", stage.command_us, 1e6),
            ("completion_us", stage.completion_us, 1e6),
            ("active_mw", stage.active_mw, 1e6),
            ("idle_mw", stage.idle_mw, 1e6),
            ("pj_per_byte", stage.pj_per_byte, 1e6),
        ] {
            if !(0.0..=most).contains(&value) {
                fault(
                    format!("stage.{i}.{key}"),
                    format!("{value} is out of range"),
                    "give a number from 0 to 1e6",
                );
            }
        }
    }
    faults
}
