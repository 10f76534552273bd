//! Cost of the path between a client and the service.

use crate::request::{Action, Request};
use nandscope_units::Nanos;

/// Bytes of a small request, as a typical client's.
pub(crate) const SMALL: u32 = 4096;
/// Bytes of a large one.
pub(crate) const LARGE: u32 = 256 << 10;

/// Round-trip cost of the path in wall-clock time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// A read of 4 KiB, or anything without data.
    pub small: Nanos,
    /// A read of 256 KiB.
    pub large_read: Nanos,
    /// A write of 256 KiB.
    pub large_write: Nanos,
}

impl Overhead {
    /// The same for everything.
    pub const fn even(all: Nanos) -> Self {
        Overhead {
            small: all,
            large_read: all,
            large_write: all,
        }
    }

    /// Cost for one request; it grows with the data.
    pub fn of(&self, request: &Request) -> Nanos {
        let large = match request.action {
            Action::Read => self.large_read,
            Action::Write => self.large_write,
            _ => return self.small,
        };
        let grows = large.saturating_sub(self.small).0;
        let beyond = u64::from(request.length.saturating_sub(SMALL));
        // 32 MiB of data, and seconds for it, fit.
        self.small + Nanos(grows.saturating_mul(beyond) / u64::from(LARGE - SMALL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_data() {
        let overhead = Overhead {
            small: Nanos(10_000),
            large_read: Nanos(73_000),
            large_write: Nanos(9_000),
        };
        let of = |action, length| {
            let request = Request {
                action,
                offset: 0,
                length,
                data: Vec::new(),
                durable: false,
            };
            overhead.of(&request).0
        };
        assert_eq!(of(Action::Read, 512), 10_000);
        assert_eq!(of(Action::Read, 4096), 10_000);
        assert_eq!(of(Action::Read, 8192), 11_000);
        assert_eq!(of(Action::Read, 256 << 10), 73_000);
        assert_eq!(of(Action::Write, 256 << 10), 10_000);
        assert_eq!(of(Action::Discard, 256 << 10), 10_000);
    }
}
