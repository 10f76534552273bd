//! Fault injection into a served device: fault commands, requests of a card without power, and power
//! cuts.

use super::{Pending, Service};
use crate::request::{Refusal, Request};
use nandscope_blockio::fault::{FaultCommand, Faults, NotFake};
use nandscope_blockio::undo::Torn;
use nandscope_device::{CommandKind, SimulatedDevice};
use nandscope_units::Nanos;
use std::fmt;
use thiserror::Error;

/// Result of a fault command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It took effect.
    Done,
    /// There was no power to cut.
    NoPower,
    /// The supply is off, and this data is lost.
    PowerCut(Loss),
    /// The power was cut and restored.
    PowerCycled(Loss),
}

/// Parts of unpersisted writes that a power cut damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Parts that are not on the medium.
    pub lost: usize,
    /// Parts whose programming was interrupted.
    pub torn: usize,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pieces of writes lost: {}, torn: {}",
            self.lost, self.torn
        )
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Done => write!(f, "done"),
            Effect::NoPower => write!(f, "power was off"),
            Effect::PowerCut(loss) => write!(f, "power is off; {loss}"),
            Effect::PowerCycled(loss) => write!(f, "power was cut and is back; {loss}"),
        }
    }
}

/// Why a fault could not be injected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InjectError {
    /// Nothing takes time at the highest speed.
    #[error("`slow` has no effect with --speed max; serve the card at a lower speed")]
    Unpaced,
    /// The service was started without faults.
    #[error("this card does not accept fault commands")]
    Disabled,
    /// A fake that holds all that it reports.
    #[error(transparent)]
    NotFake(#[from] NotFake),
    /// The contents could not be changed at a power cut.
    #[error("{0}")]
    Contents(String),
}

impl<M: SimulatedDevice> Service<M> {
    /// Injects a fault at `wall`.
    ///
    /// # Errors
    /// `InjectError::Disabled` without [`Service::with_faults`]; `Unpaced` or `NotFake` if the fault does not apply to
    /// this device; `Contents` if the contents could not be changed.
    pub fn inject(&mut self, command: FaultCommand, wall: Nanos) -> Result<Effect, InjectError> {
        if command.slows() && !self.is_paced() {
            return Err(InjectError::Unpaced);
        }
        let faults = self.faults.as_mut().ok_or(InjectError::Disabled)?;
        match faults.apply(command, &mut self.store)? {
            Some(FaultCommand::PowerOff) => {
                return Ok(self
                    .power_off(wall)?
                    .map_or(Effect::NoPower, Effect::PowerCut));
            }
            Some(FaultCommand::PowerOn) => self.power_on(),
            Some(FaultCommand::PowerCycle) => {
                let loss = self.power_off(wall)?;
                self.power_on();
                return Ok(loss.map_or(Effect::NoPower, Effect::PowerCycled));
            }
            // `Faults::apply` has executed all others.
            Some(_) | None => {}
        }
        Ok(Effect::Done)
    }

    /// Refuses requests that faults prevent, after executing the commands that waited for this write.
    pub(crate) fn check_faults(&mut self, request: &Request, wall: Nanos) -> Result<(), Refusal> {
        let Some(faults) = &mut self.faults else {
            return Ok(());
        };
        if request.action.changes() {
            for command in faults.count_write() {
                let injected = self.inject(command, wall);
                injected.map_err(|error| Refusal::Failed(error.to_string()))?;
            }
        }
        match &self.faults {
            Some(faults) if !faults.power => Err(without_power()),
            Some(faults) if faults.read_only && request.action.changes() => Err(Refusal::ReadOnly),
            _ => Ok(()),
        }
    }

    /// The device's number of the write that it is given next; `None` if it is another command.
    pub(super) fn number(&mut self, kind: CommandKind) -> Option<u64> {
        matches!(kind, CommandKind::Write { .. }).then(|| {
            self.writes += 1;
            self.writes - 1
        })
    }

    fn power_on(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.power = true;
        }
    }

    /// Cuts the power, if there is any: requests in flight reach the medium as far as the device says,
    /// unpersisted writes are taken back, and clients that wait get errors.
    fn power_off(&mut self, wall: Nanos) -> Result<Option<Loss>, InjectError> {
        if !self.faults.as_ref().is_some_and(|f| f.power) {
            return Ok(None);
        }
        self.note_power_cut();
        let cut = self.model.cut_power();
        let mut under_way = self.take_pending();
        under_way.sort_by_key(|p| p.write);
        let mut trouble = Ok(());
        for pending in &under_way {
            if pending.write.is_some()
                && let Err(Refusal::Failed(what)) = self.take_effect(pending, false)
            {
                trouble = Err(InjectError::Contents(what));
            }
        }
        let (undo, store) = (&mut self.undo, &mut self.store);
        if let Some(Faults { power, random, .. }) = &mut self.faults {
            *power = false;
            if let Err(error) = undo.roll_back(store, &cut.damage, &mut Torn::Random(random)) {
                trouble = Err(InjectError::Contents(error.to_string()));
            }
        }
        for pending in under_way {
            self.refuse(pending.origin, &pending.request, without_power(), wall);
        }
        trouble?;
        let torn = cut.damage.iter().filter(|d| d.torn).count();
        Ok(Some(Loss {
            lost: cut.damage.len() - torn,
            torn,
        }))
    }

    pub(crate) fn take_pending(&mut self) -> Vec<Pending> {
        self.free.clear();
        self.outstanding = 0;
        self.completions.clear();
        self.pending.drain(..).flatten().collect()
    }
}

fn without_power() -> Refusal {
    Refusal::Failed("the card has no power".to_string())
}
