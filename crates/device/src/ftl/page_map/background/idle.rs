//! Idle time: when background work may begin that no write waits for.

use crate::events::Event;
use crate::ftl::page_map::PageMapDevice;
use crate::ftl::page_map::scheduler::Wants;
use nandscope_units::Nanos;

impl PageMapDevice {
    /// The last outstanding write is done.
    pub(in crate::ftl::page_map) fn plan_idle(&mut self) {
        self.background.idle_since = Some(self.schedule.now());
        if !self.background.timer_pending {
            self.start_idle_timer(self.schedule.now() + self.background.idle_delay);
        }
    }

    fn start_idle_timer(&mut self, at: Nanos) {
        self.background.timer_pending = true;
        self.schedule.push(at, Event::Idle);
    }

    /// The host writes again.
    pub(in crate::ftl::page_map) fn wake_from_idle(&mut self) {
        self.background.idle_since = None;
        self.background.idle = false;
    }

    /// The idle timer has run out. Where the host wrote meanwhile, it runs again from the end of the
    /// last write; where the host is still writing, the end of that write starts it.
    pub(in crate::ftl::page_map) fn on_idle(&mut self) -> Wants {
        self.background.timer_pending = false;
        let Some(since) = self.background.idle_since else {
            return Wants::Nothing;
        };
        let due = since + self.background.idle_delay;
        if self.schedule.now() < due {
            self.start_idle_timer(due);
            return Wants::Nothing;
        }
        self.end_linger(true);
        self.background.idle = true;
        Wants::Relocation
    }
}
