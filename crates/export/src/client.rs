//! Interface of clients to the server, independent of the protocol: descriptors to poll, requests in,
//! replies out. A client never blocks.

use crate::request::{Done, Request};
use nandscope_blockio::store::Store;
use nandscope_units::Nanos;
use rustix::event::{PollFd, PollFlags};
use std::fmt::Debug;

/// One client: a connection, a mounted file system, a virtual machine.
pub trait Client: Debug {
    /// Appends the descriptors to be waited for, and for what. A request is taken only if its data
    /// fit into `room` bytes.
    fn wait_for<'a>(&'a self, room: usize, waiting: &mut Vec<PollFd<'a>>);

    /// Handles the events of the descriptors of [`Client::wait_for`], in the same order. `scratch` is a
    /// buffer for reading.
    fn take_events(&mut self, ready: &[PollFlags], room: usize, scratch: &mut [u8], store: &Store);

    /// Bytes of memory for the data of its requests and answers under way, among them what a
    /// message that has begun will need.
    fn held(&self) -> usize;

    /// The next request that is whole, with the client's number of it, if its data fit into `room`.
    fn next_request(&mut self, room: usize) -> Option<(u64, Request)>;

    /// Queues the answer to a request.
    fn reply(&mut self, done: &Done, store: &Store);

    /// Sends what goes without waiting.
    fn send(&mut self, store: &Store);

    /// True if the handshake is finished, after which there is no deadline.
    fn has_begun(&self) -> bool;

    /// True if the client has disconnected and has no requests in flight. Disconnects a client that
    /// missed a deadline; deadlines are shorter if others wait for memory (`pressed`).
    fn is_over(&mut self, now: Nanos, pressed: bool) -> bool;
}
