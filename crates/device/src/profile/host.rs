//! A host: the chain of controllers, bridges and cables between a program and the link of the device. Each stage limits
//! the bandwidth, latencies add up, and all stages work at the same time.
//!
//! A host profile is either one chain (`[[stage]]`), such as a card reader, or a board with several ports (`[[port]]`),
//! each with its own chain. The software's cost depends on the protocol of the device, not on the port: it is in the
//! host's `[[stack]]`. Queues, and processes within the device, are modelled elsewhere.

use super::error::Located;
use super::power_state::ApstSection;
use crate::convert::Whole;
use crate::error::AttachError;
use crate::invariant::{Checked, check_number, ensure};
use crate::link::{LinkMode, Protocol, link_mode};
use nandscope_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// A host profile, with the keys of its file (`profiles/hosts/*.toml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// Version of this format; 1.
    pub format: u32,
    /// Name and description.
    pub host: HostSection,
    /// Driver times by protocol of the device; without an entry for a protocol, the driver's time is part of the
    /// stages.
    #[serde(default)]
    pub stack: Vec<StackSection>,
    /// Stages from the program to the device; empty for a board with ports, which have their own.
    #[serde(default)]
    pub stage: Vec<StageSection>,
    /// Power states that the host lets NVMe devices enter by themselves, with the idle times; empty for none.
    #[serde(default)]
    pub apst: Vec<ApstSection>,
    /// Ports of a board, in the order in which they are tried; empty for a host that is one chain.
    #[serde(default)]
    pub port: Vec<PortSection>,
}

/// Name and description of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSection {
    /// Short name, equal to the file's name.
    pub name: String,
    /// Title of the host for reports.
    pub title: String,
    /// Description, one paragraph.
    pub description: String,
    /// Links of the last stage, the best first; the first one that the device also has is used. A board has them per
    /// port.
    #[serde(default)]
    pub links: Vec<String>,
    /// Power that the host grants a device, mW (SD: the current limit of CMD6 times the supply). A device obeys by
    /// limiting the number of dies that program at once. Left out, there is no limit.
    pub max_card_mw: Option<u32>,
    /// Operational power state that the host selects on NVMe devices; left out for PS0 without a budget.
    pub power_state: Option<u32>,
    /// Whether the controller queues commands of SD cards and eMMC (CQHCI).
    #[serde(default)]
    pub command_queue: bool,
    /// Whether the driver packs waiting writes of eMMC into one command, as Linux 3.9 to 4.9 does; not together with a
    /// command queue.
    #[serde(default)]
    pub packed_writes: bool,
    /// Whether the driver leaves the volatile cache of SD cards and eMMC off, as Linux before 5.14 does with SD cards:
    /// writes are acknowledged when they are programmed.
    #[serde(default)]
    pub cache_off: bool,
    /// Time of the stop command (CMD12) after each multi-block transfer if the device does not support SET_BLOCK_COUNT,
    /// µs; left out if it is part of the stages.
    pub stop_us: Option<f64>,
    /// Documents from which the numbers are taken.
    pub sources: Vec<String>,
}

/// Time of the operating system per command of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackSection {
    /// Name for reports, such as `AHCI driver`.
    pub name: String,
    /// Protocol of the device: `ahci`, `nvme`, `uas`, `bot`, `sd` or `emmc`.
    pub protocol: String,
    /// From the submission of a command until the controller has it, µs.
    pub command_us: f64,
    /// From the controller's interrupt until the program has the completion, µs.
    pub completion_us: f64,
}

/// One port of a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortSection {
    /// Name for reports, such as `PCIe slot`.
    pub name: String,
    /// Links at the port, the best first.
    pub links: Vec<String>,
    /// Stages from the program to the device.
    #[serde(default)]
    pub stage: Vec<StageSection>,
}

/// One stage of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSection {
    /// Name for reports, such as `RTL9211DS bridge`.
    pub name: String,
    /// Link mode of the stage (`usb-3.2-gen2-uas`), which gives rate and queue depth; left out for
    /// a stage that only adds latency or power.
    pub link: Option<String>,
    /// From the submission of a command until the stage has passed it on, µs.
    pub command_us: f64,
    /// From the end of the data until the stage has passed the completion back, µs.
    pub completion_us: f64,
    /// Whether the stage passes discards on.
    pub discard: bool,
    /// Longest transfer, KiB; a longer command is split into several, one after another. Left out
    /// where there is no limit.
    pub max_transfer_kib: Option<u32>,
    /// Whether the stage joins writes that follow each other without a gap into one long write (SD: it keeps a
    /// multiple-block write open).
    #[serde(default)]
    pub keeps_writes_open: bool,
    /// Longest transfer that joins such a long write, KiB; left out, any length.
    pub open_write_kib: Option<u32>,
    /// Data rate of a stage that is slower than its links, MB/s: a store-and-forward bridge.
    pub mb_per_s: Option<f64>,
    /// Commands a second that the firmware of an adapter passes on at most, one after another; left out where it is not
    /// the limit. It adds no latency to a single command.
    pub commands_per_s: Option<f64>,
    /// Time for which an adapter holds the first completion back, so that later ones share its interrupt, µs; left out
    /// if each completion has its own.
    pub hold_us: Option<f64>,
    /// Completions are held in a period if more came in the one before, completions a second.
    pub hold_above_per_s: Option<f64>,
    /// Length of such a period, ms.
    pub hold_period_ms: Option<f64>,
    /// Metered power of the stage while commands are outstanding, mW.
    pub active_mw: f64,
    /// Metered power of the stage while idle, mW.
    pub idle_mw: f64,
    /// Energy per transferred byte, pJ.
    pub pj_per_byte: f64,
}

/// How an adapter lets completions share interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moderation {
    /// Time for which the first of the held completions waits.
    pub hold: Nanos,
    /// Completions are held in a period if more than so many came in the one before.
    pub most: u64,
    /// Length of a period.
    pub period: Nanos,
}

/// Summary of a chain for the device model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// The link at the device.
    pub link: LinkMode,
    /// Data rate of the slowest stage.
    pub rate: Rate,
    /// Whether data flows in one direction at a time.
    pub half_duplex: bool,
    /// Commands that may be outstanding at the device.
    pub queue_depth: u32,
    /// Sum of the stages' latencies on the way in.
    pub command: Nanos,
    /// Sum of the stages' latencies on the way back.
    pub completion: Nanos,
    /// Least time between two commands that an adapter passes on; zero without a limit.
    pub gap: Nanos,
    /// How completions share interrupts; `None` if each has its own.
    pub moderation: Option<Moderation>,
    /// Whether every stage passes discards on.
    pub discard: bool,
    /// Longest transfer; a longer command is split into several, one after another.
    pub max_transfer: Bytes,
    /// Longest write that is joined with adjacent ones into one long write; zero if each is separate.
    pub open_write_most: Bytes,
    /// Power of all stages while commands are outstanding, W.
    pub active_w: f64,
    /// Power of all stages while idle, W.
    pub idle_w: f64,
    /// Energy of all stages per byte, J.
    pub j_per_byte: f64,
    /// Description of the chain, for reports.
    pub path: Vec<String>,
}

/// Maximum queue depth of an SD card or eMMC (SD 6.0, JESD84-B51).
pub(crate) const CARD_QUEUE_MOST: u32 = 32;

/// Maximum number of outstanding commands of a device with this protocol.
fn most_commands(protocol: Protocol) -> u32 {
    match protocol {
        Protocol::Sd | Protocol::Mmc => CARD_QUEUE_MOST,
        protocol => protocol.queue_depth(),
    }
}

/// Upper bounds of a chain's latency and of its total power.
const MOST_CHAIN: Nanos = Nanos::from_secs(3600);
const MOST_CHAIN_W: f64 = 1e9;

impl Chain {
    /// Checks that a host could have this chain.
    pub(crate) fn audit(&self) -> Checked {
        let link = link_mode(&self.link.name).ok();
        ensure!(
            link.as_ref() == Some(&self.link)
                && (1..=self.link.rate.0).contains(&self.rate.0)
                && (1..=most_commands(self.link.protocol)).contains(&self.queue_depth)
                && (self.half_duplex || !self.link.half_duplex)
                && self.command <= MOST_CHAIN
                && self.completion <= MOST_CHAIN
                && self.gap <= MOST_CHAIN
                && self.moderation.is_none_or(
                    |m| m.hold <= MOST_CHAIN && (Nanos(1)..=MOST_CHAIN).contains(&m.period)
                )
                && self.max_transfer.0 >= 4096,
            "no host has such a path to the device"
        );
        for (what, value) in [
            ("the host's power, W,", self.active_w),
            ("the host's idle power, W,", self.idle_w),
            ("the host's energy per byte, J,", self.j_per_byte),
        ] {
            check_number(what, value, 0.0, MOST_CHAIN_W)?;
        }
        Ok(())
    }
}

impl StageSection {
    fn moderation(&self) -> Option<Moderation> {
        let period_ms = self.hold_period_ms?;
        Some(Moderation {
            hold: Nanos::from_micros_f64(self.hold_us?),
            most: (self.hold_above_per_s? * period_ms / 1e3).floor_u64(),
            period: Nanos::from_micros_f64(period_ms * 1e3),
        })
    }
}

impl HostProfile {
    /// Each port of the host, as a host with one chain and the port's name as its title; the host itself if it has no
    /// ports.
    pub fn ports(&self) -> Vec<HostProfile> {
        if self.port.is_empty() {
            return vec![self.clone()];
        }
        let as_host = |port: &PortSection| HostProfile {
            format: self.format,
            host: HostSection {
                title: port.name.clone(),
                links: port.links.clone(),
                ..self.host.clone()
            },
            stack: self.stack.clone(),
            apst: self.apst.clone(),
            stage: port.stage.clone(),
            port: Vec::new(),
        };
        self.port.iter().map(as_host).collect()
    }

    /// All links by which devices can be attached, without repetition: the host's, then those of its ports.
    pub fn links(&self) -> Vec<&str> {
        let mut links = Vec::new();
        let ports = self.port.iter().flat_map(|p| &p.links);
        for link in self.host.links.iter().chain(ports) {
            if !links.contains(&link.as_str()) {
                links.push(link.as_str());
            }
        }
        links
    }

    /// Attaches a device with the given links: finds the best common link and summarises the chain. On a board, the
    /// first port that fits is used.
    ///
    /// # Errors
    /// [`AttachError`] if host and device have no link in common.
    pub fn attach(&self, device_links: &[&str]) -> Result<(usize, Chain), AttachError> {
        for port in self.ports() {
            let common = port
                .host
                .links
                .iter()
                .find_map(|l| device_links.iter().position(|d| d == l).map(|i| (i, l)));
            if let Some((index, name)) = common {
                let link = link_mode(name)?;
                return Ok((index, port.chain(link)));
            }
        }
        Err(AttachError::NoCommonLink {
            host: self.host.name.clone(),
            offered: self.links().join(", "),
            device: device_links.join(", "),
        })
    }

    fn chain(&self, link: LinkMode) -> Chain {
        let mut chain = Chain {
            rate: link.rate,
            half_duplex: link.half_duplex,
            queue_depth: match link.protocol {
                Protocol::Sd | Protocol::Mmc if self.host.command_queue => CARD_QUEUE_MOST,
                protocol => protocol.queue_depth(),
            },
            command: Nanos::ZERO,
            completion: Nanos::ZERO,
            gap: Nanos::ZERO,
            moderation: None,
            discard: true,
            max_transfer: Bytes(u64::MAX),
            open_write_most: Bytes(0),
            active_w: 0.0,
            idle_w: 0.0,
            j_per_byte: 0.0,
            path: Vec::new(),
            link,
        };
        let protocol = chain.link.protocol.name();
        if let Some(stack) = self.stack.iter().find(|s| s.protocol == protocol) {
            chain.command += Nanos::from_micros_f64(stack.command_us);
            chain.completion += Nanos::from_micros_f64(stack.completion_us);
            chain.path.push(stack.name.clone());
        }
        for stage in &self.stage {
            let mode = stage.link.as_deref().and_then(|name| link_mode(name).ok());
            if let Some(mode) = &mode {
                chain.rate = chain.rate.min(mode.rate);
                chain.queue_depth = chain.queue_depth.min(mode.protocol.queue_depth());
                chain.half_duplex |= mode.half_duplex;
            }
            chain.command += Nanos::from_micros_f64(stage.command_us);
            chain.completion += Nanos::from_micros_f64(stage.completion_us);
            if let Some(per_s) = stage.commands_per_s {
                chain.gap = chain.gap.max(Nanos::from_micros_f64(1e6 / per_s));
            }
            chain.moderation = chain.moderation.or(stage.moderation());
            chain.discard &= stage.discard;
            if let Some(kib) = stage.max_transfer_kib {
                chain.max_transfer = chain.max_transfer.min(Bytes(u64::from(kib) * 1024));
            }
            if stage.keeps_writes_open {
                let most = stage
                    .open_write_kib
                    .map_or(u64::MAX, |kib| u64::from(kib) * 1024);
                chain.open_write_most = chain.open_write_most.max(Bytes(most));
            }
            if let Some(mb_per_s) = stage.mb_per_s {
                chain.rate = chain.rate.min(Rate::from_mb_per_s(mb_per_s));
            }
            chain.active_w += stage.active_mw / 1e3;
            chain.idle_w += stage.idle_mw / 1e3;
            chain.j_per_byte += stage.pj_per_byte * 1e-12;
            chain.path.push(match (mode, stage.mb_per_s) {
                (Some(mode), None) => format!("{} ({}, {})", stage.name, mode.name, mode.rate),
                (Some(mode), Some(own)) => format!("{} ({}, {own} MB/s)", stage.name, mode.name),
                (None, _) => stage.name.clone(),
            });
        }
        chain
            .path
            .push(format!("{} link ({})", chain.link.name, chain.link.rate));
        chain
    }
}

/// Protocols that a stack may have.
const PROTOCOLS: [Protocol; 6] = [
    Protocol::Nvme,
    Protocol::Ahci,
    Protocol::Sd,
    Protocol::Mmc,
    Protocol::UsbUas,
    Protocol::UsbBot,
];

/// Upper bound of keys in µs, mW and pJ per byte.
const MOST: f64 = 1e6;

struct Faults(Vec<Located>);

impl Faults {
    fn add(&mut self, key: impl Into<String>, message: impl Into<String>, remedy: &str) {
        self.0.push(Located {
            key: key.into(),
            message: message.into(),
            remedy: remedy.to_string(),
        });
    }

    fn links(&mut self, key: &str, links: &[String]) {
        if links.is_empty() {
            self.add(
                key,
                "there is no link to a device",
                "name at least one link mode",
            );
        }
        for (i, name) in links.iter().enumerate() {
            if let Err(e) = link_mode(name) {
                self.add(format!("{key}.{i}"), e.to_string(), "correct the name");
            }
        }
    }

    fn numbers(&mut self, table: &str, numbers: &[(&str, f64)]) {
        for (key, value) in numbers {
            if !(0.0..=MOST).contains(value) {
                self.add(
                    format!("{table}.{key}"),
                    format!("{value} is out of range"),
                    "give a number from 0 to 1e6",
                );
            }
        }
    }

    fn stages(&mut self, table: &str, stages: &[StageSection]) {
        for (i, stage) in stages.iter().enumerate() {
            if let Some(Err(e)) = stage.link.as_deref().map(link_mode) {
                self.add(
                    format!("{table}.{i}.link"),
                    e.to_string(),
                    "correct the name",
                );
            }
            if stage
                .max_transfer_kib
                .is_some_and(|kib| !(4..=1 << 20).contains(&kib))
            {
                self.add(
                    format!("{table}.{i}.max_transfer_kib"),
                    "no host transfers so much, or so little, at once",
                    "give a number from 4 to 1048576, or remove the key",
                );
            }
            if stage.open_write_kib.is_some() && !stage.keeps_writes_open {
                self.add(
                    format!("{table}.{i}.open_write_kib"),
                    "the stage keeps no writes open",
                    "set keeps_writes_open, or remove the key",
                );
            }
            if stage
                .mb_per_s
                .is_some_and(|rate| !(0.01..=1e5).contains(&rate))
            {
                self.add(
                    format!("{table}.{i}.mb_per_s"),
                    "the rate is out of range",
                    "give a number from 0.01 to 100000, or remove the key",
                );
            }
            self.adapter(&format!("{table}.{i}"), stage);
            let numbers = [
                ("command_us", stage.command_us),
                ("completion_us", stage.completion_us),
                ("active_mw", stage.active_mw),
                ("idle_mw", stage.idle_mw),
                ("pj_per_byte", stage.pj_per_byte),
            ];
            self.numbers(&format!("{table}.{i}"), &numbers);
        }
    }

    /// Checks the keys of an adapter: its limits, and that the three of held completions come together.
    fn adapter(&mut self, table: &str, stage: &StageSection) {
        let limits = [
            ("commands_per_s", stage.commands_per_s, 1.0, 1e9),
            ("hold_us", stage.hold_us, 0.001, MOST),
            ("hold_above_per_s", stage.hold_above_per_s, 0.0, 1e9),
            ("hold_period_ms", stage.hold_period_ms, 0.001, MOST),
        ];
        for (key, value, least, most) in limits {
            if value.is_some_and(|value| !(least..=most).contains(&value)) {
                self.add(
                    format!("{table}.{key}"),
                    "the number is out of range",
                    &format!("give a number from {least} to {most:e}, or remove the key"),
                );
            }
        }
        let held = [stage.hold_us, stage.hold_above_per_s, stage.hold_period_ms];
        if held.iter().any(Option::is_some) && held.iter().any(Option::is_none) {
            self.add(
                format!("{table}.hold_us"),
                "completions are held only with hold_us, hold_above_per_s and hold_period_ms together",
                "give all three, or none",
            );
        }
    }

    fn stacks(&mut self, stacks: &[StackSection]) {
        for (i, stack) in stacks.iter().enumerate() {
            let table = format!("stack.{i}");
            let known = PROTOCOLS.map(Protocol::name);
            if !known.contains(&stack.protocol.as_str()) {
                let message = format!(
                    "unknown protocol `{}`; known are {}",
                    stack.protocol,
                    known.join(", ")
                );
                self.add(format!("{table}.protocol"), message, "correct the name");
            }
            if stacks[..i].iter().any(|s| s.protocol == stack.protocol) {
                let message = format!("there are two stacks for `{}`", stack.protocol);
                self.add(
                    format!("{table}.protocol"),
                    message,
                    "keep one of them: a host has one driver for a protocol",
                );
            }
            let numbers = [
                ("command_us", stack.command_us),
                ("completion_us", stack.completion_us),
            ];
            self.numbers(&table, &numbers);
        }
    }

    /// Checks that each row has a longer idle time than the one before, and allows a deeper state.
    fn apst(&mut self, rows: &[ApstSection]) {
        for (i, row) in rows.iter().enumerate() {
            let numbers = [
                ("tolerance_us", row.tolerance_us),
                ("after_ms", row.after_ms),
            ];
            self.numbers(&format!("apst.{i}"), &numbers);
            if i > 0 && rows[i - 1].after_ms >= row.after_ms {
                self.add(
                    format!("apst.{i}.after_ms"),
                    format!("{} ms is not after the row before", row.after_ms),
                    "order the rows by after_ms",
                );
            }
        }
    }

    fn ports(&mut self, host: &HostProfile) {
        if !host.host.links.is_empty() {
            self.add(
                "host.links",
                "a board with ports has no links of its own",
                "move them to the ports",
            );
        }
        if !host.stage.is_empty() {
            self.add(
                "stage",
                "a board with ports has no stages of its own",
                "move them to the ports: write [[port.stage]] below each [[port]]",
            );
        }
        for (i, port) in host.port.iter().enumerate() {
            if host.port[..i].iter().any(|p| p.name == port.name) {
                self.add(
                    format!("port.{i}.name"),
                    format!("there are two ports `{}`", port.name),
                    "give each port a name of its own",
                );
            }
            self.links(&format!("port.{i}.links"), &port.links);
            self.stages(&format!("port.{i}.stage"), &port.stage);
        }
    }
}

pub(super) fn check(host: &HostProfile) -> Vec<Located> {
    let mut faults = Faults(Vec::new());
    if host.format != super::FORMAT {
        faults.add(
            "format",
            format!("format {} is not known", host.format),
            "this build reads format 1",
        );
    }
    faults.stacks(&host.stack);
    faults.apst(&host.apst);
    faults.numbers("host", &[("stop_us", host.host.stop_us.unwrap_or(0.0))]);
    if host.port.is_empty() {
        faults.links("host.links", &host.host.links);
        faults.stages("stage", &host.stage);
    } else {
        faults.ports(host);
    }
    faults.0
}
