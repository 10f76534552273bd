//! The clients of a server: who is let in, and the memory and the time that they share.

use crate::client::Client;
use nandscope_units::Nanos;
use std::collections::BTreeMap;

/// Clients at a time.
pub(crate) const MOST_CLIENTS: usize = 256;
/// Clients that may be in their handshake at a time; the oldest has to make room for the next.
const MOST_NEWCOMERS: usize = 64;
/// Bytes of memory that every client may have for the data of its requests and answers under way,
/// whatever the others have.
const SHARE: usize = 1 << 20;
/// Bytes of memory beyond that, for all clients together.
const MEMORY: usize = 256 << 20;
/// With less memory left than this, the largest request may have to wait.
const PRESSED: usize = crate::nbd::LARGEST_BLOCK as usize;

/// Memory that is left for all clients together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(usize);

impl Room {
    /// Bytes that this client may still take.
    pub fn of(self, client: &dyn Client) -> usize {
        self.0.max(SHARE.saturating_sub(client.held()))
    }

    /// The room after a client has taken something, or given something back.
    pub const fn after(self, before: usize, after: usize) -> Room {
        let (before, after) = (before.saturating_sub(SHARE), after.saturating_sub(SHARE));
        Room((self.0 + before).saturating_sub(after))
    }
}

fn beyond_share(client: &dyn Client) -> usize {
    client.held().saturating_sub(SHARE)
}

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    all: BTreeMap<u64, Box<dyn Client>>,
    next: u64,
    /// Whose turn is first.
    turn: u64,
}

impl Clients {
    /// Adds a client without a limit.
    pub fn add(&mut self, client: Box<dyn Client>) {
        self.all.insert(self.next, client);
        self.next += 1;
    }

    /// Makes room for one more client, if necessary by disconnecting the one that has been in the handshake for
    /// longest; returns false if no client can be disconnected.
    pub fn make_room(&mut self) -> bool {
        let mut newcomers = self.all.iter().filter(|(_, c)| !c.has_begun());
        let oldest = newcomers.next().map(|(number, _)| *number);
        let count = usize::from(oldest.is_some()) + newcomers.count();
        if count < MOST_NEWCOMERS && self.all.len() < MOST_CLIENTS {
            return true;
        }
        // Numbers grow, so that the first is the oldest.
        oldest.is_some_and(|number| self.all.remove(&number).is_some())
    }

    /// The memory that is left.
    pub fn room(&self) -> Room {
        let taken: usize = self.iter().map(beyond_share).sum();
        Room(MEMORY.saturating_sub(taken))
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Box<dyn Client>> {
        self.all.get_mut(&number)
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Client> {
        self.all.values().map(|client| &**client)
    }

    /// All of them, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Client>> {
        self.all.values_mut()
    }

    /// All of them with their numbers; another one is first each time.
    pub fn in_turn(&mut self) -> impl Iterator<Item = (u64, &mut Box<dyn Client>)> {
        let turn = self.turn;
        let first = self.all.range(turn..).next();
        self.turn = first.map_or(0, |(number, _)| number + 1);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (number, client) in &mut self.all {
            let side = if *number < turn {
                &mut before
            } else {
                &mut after
            };
            side.push((*number, client));
        }
        after.into_iter().chain(before)
    }

    /// Forgets the clients whose connection is over.
    pub fn forget_gone(&mut self, now: Nanos) {
        let pressed = self.room().0 < PRESSED;
        self.all.retain(|_, client| !client.is_over(now, pressed));
    }
}
