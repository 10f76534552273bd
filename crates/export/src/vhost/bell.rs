//! The call descriptor of a guest, which notifies it of completions.
//!
//! The monitor shares the open descriptor: at any moment it can fill the counter and make the descriptor
//! block, whatever was checked before. A write may therefore block, so a separate thread does it.

use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Limit of threads of all monitors, including those that wait for a guest that has disconnected.
pub(super) const MOST_THREADS: usize = 256;

/// Calls a guest without waiting for it.
#[derive(Debug)]
pub(super) struct Bell {
    call: Arc<File>,
    /// Queue of one call: a pending call covers all completions before it.
    calls: Option<SyncSender<()>>,
    stuck: Arc<AtomicBool>,
}

impl Bell {
    /// Begins to call by this event descriptor. `wake` is written to if the guest's counter is
    /// full; `token` is held while the thread lives.
    ///
    /// # Errors
    /// `io::Error` if the system gives no thread.
    pub(super) fn new(call: File, wake: Arc<OwnedFd>, token: Arc<()>) -> io::Result<Bell> {
        let call = Arc::new(call);
        let (calls, wanted) = sync_channel(1);
        let stuck = Arc::new(AtomicBool::new(false));
        let (to, full) = (call.clone(), stuck.clone());
        std::thread::Builder::new()
            .name("vhost-call".to_string())
            .spawn(move || {
                let _token = token;
                ring(&to, &wanted);
                full.store(true, Ordering::Relaxed);
                // Its own descriptor, which never blocks.
                let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
            })?;
        Ok(Bell {
            call,
            calls: Some(calls),
            stuck,
        })
    }

    /// Calls the guest, soon.
    pub(super) fn call(&self) {
        if let Some(calls) = &self.calls {
            // If there is no room, a call is about to be made.
            let _ = calls.try_send(());
        }
    }

    /// True if the guest cannot be notified any more, because its counter is full.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }
}

/// Makes calls until the sender is dropped or a call fails.
fn ring(call: &File, wanted: &Receiver<()>) {
    for () in wanted {
        // Most monitors leave it so; one that does not harms itself only.
        if let Ok(flags) = rustix::fs::fcntl_getfl(call)
            && !flags.contains(OFlags::NONBLOCK)
        {
            let _ = rustix::fs::fcntl_setfl(call, flags | OFlags::NONBLOCK);
        }
        match rustix::io::write(call, &1u64.to_ne_bytes()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.calls = None;
        // Emptied, the counter lets a thread go on that waits for it; the guest has gone anyway.
        let _ = take_count(&self.call);
    }
}

/// Reads the counter of an event descriptor and sets it to zero, without waiting even if another
/// process reads it at the same time.
pub(super) fn take_count(event: &File) -> rustix::io::Result<usize> {
    let mut counter = [0; 8];
    let pieces = &mut [IoSliceMut::new(&mut counter)];
    rustix::io::preadv2(event, pieces, u64::MAX, ReadWriteFlags::NOWAIT)
}

/// True if this is an event descriptor. Polling, writing or closing another kind could block.
pub(super) fn is_event(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(place).is_ok_and(|kind| kind.as_os_str() == "anon_inode:[eventfd]")
}
