//! [`VictimPolicy`], which closed superblock garbage collection relocates next: the three policies of the library, and
//! those that a program supplies.
//!
//! A policy sees closed superblocks of native data only. Cached data is folded, oldest first, and pages of the map are
//! collected on their own; neither is a policy's choice.

use super::victims::Victims;
use crate::convert::ToF64;
use crate::flash::blocks::{NATIVE_CYCLE, Superblock, Superblocks};
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::Checked;
use crate::profile::schema::VictimPolicyName;
use crate::random::Random;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Seed of the random numbers of a supplied policy. They are apart from those of the flash, whose sequence is the same
/// with every policy.
const SEED: u64 = 0x7669_6374_696d;

/// Chooses the superblock that garbage collection relocates next.
///
/// The choice must depend on the arguments alone: a device makes the same completions from the same commands.
pub trait VictimPolicy: fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Name of the policy. A profile asks for it with `ftl.collection = "program:NAME"`.
    fn name(&self) -> &str;

    /// One of the closed superblocks. If it chooses none although there are some, the one with the least valid data is
    /// taken: the host would wait for ever otherwise.
    ///
    /// `random` is seeded, and its state is part of snapshots.
    fn choose<'a>(
        &self,
        closed: &'a Closed<'a>,
        now: Nanos,
        random: &mut Random,
    ) -> Option<Candidate<'a>>;
}

/// The closed superblocks from which a policy chooses.
#[derive(Clone, Copy, Debug)]
pub struct Closed<'a> {
    victims: &'a Victims,
    blocks: &'a Superblocks,
    units: u32,
    closings: u64,
}

impl<'a> Closed<'a> {
    pub(crate) fn new(
        victims: &'a Victims,
        blocks: &'a Superblocks,
        units: u32,
        closings: u64,
    ) -> Self {
        Closed {
            victims,
            blocks,
            units,
            closings,
        }
    }

    /// Each of them once, by number.
    #[inline]
    pub fn iter(&'a self) -> impl Iterator<Item = Candidate<'a>> {
        let candidate = |superblock| Candidate {
            of: self,
            superblock,
        };
        self.victims.iter().map(candidate)
    }
}

/// A closed superblock, which may be relocated.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    of: &'a Closed<'a>,
    superblock: SuperblockId,
}

impl Candidate<'_> {
    /// Mapping units in it that hold valid data, which have to be moved.
    #[inline]
    pub fn valid_units(&self) -> u32 {
        self.block().valid
    }

    /// Mapping units of a superblock.
    #[inline]
    pub fn units(&self) -> u32 {
        self.of.units
    }

    /// Share of the superblock that holds valid data, 0 to 1.
    #[inline]
    pub fn used(&self) -> f64 {
        f64::from(self.valid_units()) / f64::from(self.units())
    }

    /// Age as the number of superblocks closed since, this one included.
    #[inline]
    pub fn age(&self) -> u64 {
        self.of.closings - self.block().closed_order + 1
    }

    /// When it was opened: its oldest data was programmed then.
    #[inline]
    pub fn opened_at(&self) -> Nanos {
        self.block().opened_at
    }

    /// Wear, in program/erase cycles of the native mode.
    #[inline]
    pub fn cycles(&self) -> f64 {
        self.block().wear.to_f64() / NATIVE_CYCLE.to_f64()
    }

    #[inline]
    fn block(&self) -> &Superblock {
        self.of.blocks.get(self.superblock)
    }
}

/// The policy in use.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "VictimPolicyName", into = "VictimPolicyName")]
enum Policy {
    Greedy,
    Fifo,
    CostBenefit,
    /// A name of the profile for which the program has yet to supply the policy.
    Missing(String),
    Supplied(Arc<dyn VictimPolicy>),
}

impl From<VictimPolicyName> for Policy {
    fn from(name: VictimPolicyName) -> Self {
        match name {
            VictimPolicyName::Greedy => Policy::Greedy,
            VictimPolicyName::Fifo => Policy::Fifo,
            VictimPolicyName::CostBenefit => Policy::CostBenefit,
            VictimPolicyName::Supplied(name) => Policy::Missing(name),
        }
    }
}

impl From<Policy> for VictimPolicyName {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Greedy => VictimPolicyName::Greedy,
            Policy::Fifo => VictimPolicyName::Fifo,
            Policy::CostBenefit => VictimPolicyName::CostBenefit,
            Policy::Missing(name) => VictimPolicyName::Supplied(name),
            Policy::Supplied(policy) => VictimPolicyName::Supplied(policy.name().to_string()),
        }
    }
}

/// Chooses victims by the policy of the profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chooser {
    policy: Policy,
    /// Random numbers of a supplied policy.
    random: Random,
}

impl Chooser {
    pub(crate) fn new(name: &VictimPolicyName) -> Self {
        Chooser {
            policy: name.clone().into(),
            random: Random::new(SEED),
        }
    }

    /// Name of the policy that the program has yet to supply.
    pub(crate) fn missing(&self) -> Option<&str> {
        match &self.policy {
            Policy::Missing(name) => Some(name),
            _ => None,
        }
    }

    /// Uses a policy that the program supplies. Returns whether it has the name that the profile asks for.
    pub(crate) fn supply(&mut self, policy: &Arc<dyn VictimPolicy>) -> bool {
        let is_wanted = self.missing() == Some(policy.name());
        if is_wanted {
            self.policy = Policy::Supplied(policy.clone());
        }
        is_wanted
    }

    /// The victim among the closed superblocks, if there is one.
    pub(crate) fn choose(&mut self, closed: &Closed<'_>, now: Nanos) -> Option<SuperblockId> {
        match &self.policy {
            Policy::Greedy | Policy::Missing(_) => closed.victims.least(),
            Policy::Fifo => closed.iter().min_by_key(|c| Reverse(c.age())).map(id),
            Policy::CostBenefit => most_cost_benefit(closed).map(id),
            Policy::Supplied(policy) => {
                let chosen = policy.choose(closed, now, &mut self.random).map(id);
                chosen.or_else(|| closed.victims.least())
            }
        }
    }

    /// Checks that the policy is that of the profile.
    pub(crate) fn audit(&self, name: &VictimPolicyName) -> Checked {
        let own = VictimPolicyName::from(self.policy.clone());
        crate::invariant::ensure!(own == *name, "victims are chosen by {own}, not by {name}");
        self.random.audit()
    }
}

fn id(candidate: Candidate<'_>) -> SuperblockId {
    candidate.superblock
}

/// The candidate with the most (1 − u)·age / 2u, u being the share of valid data (Rosenblum and Ousterhout 1992).
fn most_cost_benefit<'a>(closed: &'a Closed<'a>) -> Option<Candidate<'a>> {
    let mut best: Option<(f64, Candidate<'a>)> = None;
    for candidate in closed.iter() {
        let used = candidate.used();
        let value = candidate.age().to_f64() * (1.0 - used) / (2.0 * used + 1e-9);
        if best.is_none_or(|(b, _)| value > b) {
            best = Some((value, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
