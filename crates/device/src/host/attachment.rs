//! Interface and host path in use: the best link that device and host have in common.

use crate::command::{Command, CommandKind};
use crate::convert::Whole;
use crate::error::AttachError;
use crate::invariant::{Checked, InvalidState, check_near, ensure};
use crate::link::{Protocol, is_nvme};
use crate::power::states::IdleStates;
use crate::profile::host::{Chain, HostProfile};
use crate::profile::schema::{Acknowledge, InterfaceSection, Profile};
use nandscope_units::{Nanos, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

/// Interface and host path in use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attachment {
    pub(crate) chain: Chain,
    pub(crate) acknowledge: Acknowledge,
    /// Dies that may program or erase at once.
    pub(crate) active_dies: u32,
    pub(crate) clock_share: f64,
    pub(crate) active_w: f64,
    pub(crate) idle_w: f64,
    pub(crate) link_j_per_byte: f64,
    /// Time of the stop command after a transfer of several blocks.
    pub(crate) stop: Nanos,
    /// Most writes in one packed command; 0 where writes are not packed.
    pub(crate) packed_writes: u32,
    /// Operational NVMe power state that the host has selected.
    pub(crate) power_state: u32,
    /// States that the device enters by itself.
    pub(crate) idle_states: IdleStates,
}

impl Attachment {
    /// The best link that device and host have in common.
    ///
    /// # Errors
    /// [`AttachError`] if they have no link in common.
    pub(crate) fn new(profile: &Profile, host: &HostProfile) -> Result<Self, AttachError> {
        let links: Vec<&str> = profile.interface.iter().map(|i| i.link.as_str()).collect();
        let (index, mut chain) = host.attach(&links)?;
        let interface = &profile.interface[index];
        let power_state = selected(profile, interface, host)?;
        let is_card = is_card(chain.link.protocol);
        if is_card {
            chain.queue_depth = chain.queue_depth.min(interface.command_queue.unwrap_or(1));
        }
        // Queued commands state their length, so that no stop command is needed.
        let stops = is_card && !interface.set_block_count && chain.queue_depth == 1;
        let packs = host.host.packed_writes
            && chain.link.protocol == Protocol::Mmc
            && chain.queue_depth == 1;
        let granted_mw = power_state
            .map(|state| profile.power_state[state as usize].max_mw)
            .into_iter()
            .chain(host.host.max_card_mw.map(f64::from))
            .reduce(f64::min);
        Ok(Attachment {
            chain,
            acknowledge: if is_card && host.host.cache_off {
                Acknowledge::Programmed
            } else {
                interface.acknowledge
            },
            active_dies: within_power(interface, granted_mw, profile),
            clock_share: interface.clock_share,
            active_w: interface.active_mw / 1e3,
            idle_w: interface.idle_mw / 1e3,
            link_j_per_byte: interface.link_pj_per_byte * 1e-12,
            stop: match host.host.stop_us {
                Some(us) if stops => Nanos::from_micros_f64(us),
                _ => Nanos::ZERO,
            },
            packed_writes: interface.packed_writes.filter(|_| packs).unwrap_or(0),
            power_state: power_state.unwrap_or(0),
            idle_states: IdleStates::new(profile, interface, host),
        })
    }
}

/// Whether a bus is that of an SD card or eMMC.
fn is_card(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Sd | Protocol::Mmc)
}

impl Attachment {
    /// Time of the stop commands of one command, after each of its transfers.
    #[inline]
    pub(crate) fn stops(&self, command: &Command) -> Nanos {
        if self.stop.is_zero() {
            return self.stop;
        }
        let bytes = command.bytes().0;
        let kept_open = command.kind.is_write() && bytes <= self.chain.open_write_most.0;
        let is_transfer = command.kind.is_write() || command.kind == CommandKind::Read;
        if !is_transfer || kept_open || bytes <= SECTOR_BYTES {
            return Nanos::ZERO;
        }
        self.stop * bytes.div_ceil(self.chain.max_transfer.0)
    }

    /// Checks that the attachment is one of the profile's interfaces on a possible host.
    pub(crate) fn audit(&self, profile: &Profile) -> Checked {
        let chain = &self.chain;
        let interface = profile.interface.iter().find(|i| i.link == chain.link.name);
        let Some(interface) = interface else {
            return Err(InvalidState(format!(
                "the device has no link {:?}",
                chain.link.name
            )));
        };
        ensure!(
            (self.acknowledge == interface.acknowledge
                || (self.acknowledge == Acknowledge::Programmed && is_card(chain.link.protocol)))
                && (1..=interface.active_dies).contains(&self.active_dies)
                && self.clock_share == interface.clock_share
                && self.active_w == interface.active_mw / 1e3
                && self.idle_w == interface.idle_mw / 1e3
                && self.link_j_per_byte == interface.link_pj_per_byte * 1e-12,
            "the interface {} is not that of the profile",
            interface.link
        );
        let state = profile.power_state.get(self.power_state as usize);
        ensure!(
            self.power_state == 0 || state.is_some_and(|state| state.operational),
            "the device has no operational power state {}",
            self.power_state
        );
        ensure!(
            !is_card(chain.link.protocol)
                || chain.queue_depth <= interface.command_queue.unwrap_or(1),
            "the device has no command queue of depth {}",
            chain.queue_depth
        );
        ensure!(
            self.stop.is_zero() || !interface.set_block_count,
            "a stop command is set, but the interface announces the length of transfers (set_block_count)"
        );
        ensure!(
            self.packed_writes == 0
                || (Some(self.packed_writes) == interface.packed_writes
                    && chain.link.protocol == Protocol::Mmc
                    && chain.queue_depth == 1),
            "the device does not take {} writes in one command",
            self.packed_writes
        );
        check_near("the end of a stop command", self.stop, Nanos::ZERO)?;
        self.idle_states.audit(profile)?;
        chain.audit()
    }
}

/// Operational power state that the host selects; `None` if it selects none, or the interface has none.
///
/// # Errors
/// [`AttachError::NoPowerState`] if the device does not execute commands in it.
fn selected(
    profile: &Profile,
    interface: &InterfaceSection,
    host: &HostProfile,
) -> Result<Option<u32>, AttachError> {
    let Some(number) = host.host.power_state.filter(|_| is_nvme(&interface.link)) else {
        return Ok(None);
    };
    let state = profile.power_state.get(number as usize);
    if state.is_some_and(|state| state.operational) {
        return Ok(Some(number));
    }
    Err(AttachError::NoPowerState {
        host: host.host.name.clone(),
        number,
        operational: profile.power_state.iter().filter(|s| s.operational).count(),
    })
}

/// Dies that may program at once within the power that the host grants; at least one.
fn within_power(interface: &InterfaceSection, granted_mw: Option<f64>, profile: &Profile) -> u32 {
    let Some(granted) = granted_mw else {
        return interface.active_dies;
    };
    let for_flash = granted - interface.active_mw;
    let dies = (for_flash / profile.nand.energy.program_mw.max(1.0)).floor_u32();
    interface.active_dies.min(dies).max(1)
}

/// Link time of the last size, ns. Commands of equal size follow one another, and comparing the size is cheaper than a
/// division. Not part of the device's state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecentLinkTime {
    bytes: u64,
    rate: u64,
    time: Nanos,
}

impl RecentLinkTime {
    /// As [`link_time`], without a division if size and rate are those of the last call.
    #[inline]
    pub(crate) fn of(&mut self, bytes: u64, rate: u64) -> Nanos {
        if (self.bytes, self.rate) != (bytes, rate) {
            *self = RecentLinkTime {
                bytes,
                rate,
                time: link_time(bytes, rate),
            };
        }
        self.time
    }
}

/// Time for `bytes` at a rate in bytes per second, rounded to the nearest ns.
#[inline]
pub(crate) fn link_time(bytes: u64, rate: u64) -> Nanos {
    let rate = rate.max(1);
    match bytes
        .checked_mul(1_000_000_000)
        .and_then(|scaled| scaled.checked_add(rate / 2))
    {
        Some(scaled) => Nanos(scaled / rate),
        // The product overflows 64 bits: a transfer of 18 GB or more.
        None => {
            let scaled = u128::from(bytes) * 1_000_000_000 + u128::from(rate / 2);
            Nanos(u64::try_from(scaled / u128::from(rate)).unwrap_or(u64::MAX))
        }
    }
}
