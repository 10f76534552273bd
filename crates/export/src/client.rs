//! What the server asks of a client, whatever protocol it speaks: descriptors to wait for, requests
//! in, answers out. It never waits by itself.

use crate::request::{Done, Request};
use crate::store::Store;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags};
use std::fmt::Debug;

/// One client: a connection, a mounted file system, a virtual machine.
pub trait Client: Debug {
    /// Appends the descriptors to be waited for, and for what. Where the server is `crowded`, a
    /// client that has something under way takes no more requests.
    fn wait_for<'a>(&'a self, crowded: bool, waiting: &mut Vec<PollFd<'a>>);

    /// What came of the descriptors of [`Client::wait_for`], in the same order. `scratch` is room
    /// for what is read at once.
    fn take_events(
        &mut self,
        ready: &[PollFlags],
        crowded: bool,
        scratch: &mut [u8],
        store: &Store,
    );

    /// Bytes of its requests and answers that are under way.
    fn held(&self) -> usize;

    /// The next request that is whole, with the client's number of it.
    fn next_request(&mut self, crowded: bool) -> Option<(u64, Request)>;

    /// Puts the answer to a request behind what waits to be sent.
    fn reply(&mut self, done: &Done, store: &Store);

    /// Sends what goes without waiting.
    fn send(&mut self, store: &Store);

    /// Whether it can be forgotten: it has gone and nothing of it is under way.
    fn is_over(&self, now: Nanos) -> bool;
}
