//! What the service does about faults: it takes orders, refuses requests of a card without power,
//! and carries power cuts out.

use crate::fault::{Faults, Order};
use crate::request::{Refusal, Request};
use crate::service::{Pending, Service};
use nandscope_device::{CommandKind, SimulatedDevice};
use nandscope_units::Nanos;
use std::ops::Range;

impl<M: SimulatedDevice> Service<M> {
    /// Obeys an order at `wall`; says in words what came of it.
    ///
    /// # Errors
    /// In words, where no faults may be ordered here, or this one makes no sense.
    pub fn obey(&mut self, order: Order, wall: Nanos) -> Result<String, String> {
        if order.slows() && !self.is_paced() {
            return Err("a card at --speed max takes no time and cannot be slow".to_string());
        }
        let Some(faults) = &mut self.faults else {
            return Err("this card takes no orders".to_string());
        };
        let done = "done".to_string();
        match faults.take(order) {
            None => Ok(done),
            Some(Order::PowerOff) => self.power_off(wall),
            Some(Order::PowerOn) => {
                self.power_on();
                Ok(done)
            }
            Some(Order::PowerCycle) => {
                let said = self.power_off(wall)?;
                self.power_on();
                Ok(said.replacen("power is off", "power went and is back", 1))
            }
            Some(Order::Fake(fake)) => {
                let capacity = self.store.capacity().0;
                if let Some(fake) = fake.filter(|f| f.holds >= capacity) {
                    return Err(format!(
                        "{} bytes are not less than the {capacity} that the card claims",
                        fake.holds
                    ));
                }
                self.store.set_fake(fake);
                Ok(done)
            }
            Some(Order::Tamper(range)) => {
                self.store.tamper(range);
                Ok(done)
            }
            Some(Order::Clear) => {
                self.store.be_honest();
                Ok(done)
            }
            // `Faults::take` keeps all others.
            Some(_) => Ok(done),
        }
    }

    /// Whether a request is refused before the device sees it; orders that waited for this write
    /// are obeyed first.
    pub(crate) fn check_faults(&mut self, request: &Request, wall: Nanos) -> Result<(), Refusal> {
        let Some(faults) = &mut self.faults else {
            return Ok(());
        };
        if request.action.changes() {
            for order in faults.write_came() {
                self.obey(order, wall).map_err(Refusal::Failed)?;
            }
        }
        match &self.faults {
            Some(faults) if !faults.power => Err(without_power()),
            Some(faults) if faults.read_only && request.action.changes() => Err(Refusal::ReadOnly),
            _ => Ok(()),
        }
    }

    /// The device's numbers of the writes that a request becomes.
    pub(crate) fn numbers(&mut self, kind: CommandKind, commands: usize) -> Range<u64> {
        let first = self.writes;
        if matches!(kind, CommandKind::Write { .. }) {
            self.writes += commands as u64;
        }
        first..self.writes
    }

    fn power_on(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.power = true;
        }
    }

    /// What is under way reaches the medium as far as the device says, what is volatile is taken
    /// back, and everybody who waits gets an error.
    fn power_off(&mut self, wall: Nanos) -> Result<String, String> {
        if !self.faults.as_ref().is_some_and(|f| f.power) {
            return Ok("there was no power".to_string());
        }
        self.note_power_cut();
        let cut = self.model.cut_power();
        let mut under_way = self.take_pending();
        under_way.sort_by_key(|p| p.writes.start);
        let mut trouble = Ok(());
        for pending in &under_way {
            if !pending.writes.is_empty()
                && let Err(Refusal::Failed(what)) = self.take_effect(pending, false)
            {
                trouble = Err(what);
            }
        }
        let (undo, store) = (&mut self.undo, &mut self.store);
        if let Some(Faults { power, random, .. }) = &mut self.faults {
            *power = false;
            if let Err(error) = undo.roll_back(store, &cut.damage, random) {
                trouble = Err(error.to_string());
            }
        }
        for pending in under_way {
            self.refuse(pending.origin, &pending.request, without_power(), wall);
        }
        trouble?;
        let torn = cut.damage.iter().filter(|d| d.torn).count();
        Ok(format!(
            "power is off; pieces of writes lost: {}, torn: {torn}",
            cut.damage.len() - torn
        ))
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
