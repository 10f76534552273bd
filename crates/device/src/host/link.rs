//! [`Link`], the transfers between host and device.

use crate::host::attachment::RecentLinkTime;
use crate::profile::host::Chain;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Times at which the link becomes free, per direction. For a half-duplex link they are equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Link {
    inbound: Nanos,
    outbound: Nanos,
    #[serde(skip)]
    recent: RecentLinkTime,
}

impl Link {
    /// Books a transfer of `bytes` to the host, not before `ready`; returns its end.
    #[inline]
    pub(crate) fn send(&mut self, bytes: u64, ready: Nanos, chain: &Chain) -> Nanos {
        let end = self.outbound.max(ready) + self.time_of(bytes, chain);
        self.outbound = end;
        if chain.half_duplex {
            self.inbound = end;
        }
        end
    }

    /// Books a transfer of `bytes` from the host, not before `ready`; returns its end.
    #[inline]
    pub(crate) fn receive(&mut self, bytes: u64, ready: Nanos, chain: &Chain) -> Nanos {
        let end = self.inbound.max(ready) + self.time_of(bytes, chain);
        self.inbound = end;
        if chain.half_duplex {
            self.outbound = end;
        }
        end
    }

    /// When the last transfer to the host ends.
    #[inline]
    pub(crate) fn sent_until(&self) -> Nanos {
        self.outbound
    }

    /// Takes back the transfers to the host booked after one that ends at `end`.
    pub(crate) fn take_back_to(&mut self, end: Nanos) {
        self.outbound = end;
    }

    /// Ends of the last transfers.
    pub(crate) fn ends(&self) -> [Nanos; 2] {
        [self.inbound, self.outbound]
    }

    #[inline]
    fn time_of(&mut self, bytes: u64, chain: &Chain) -> Nanos {
        self.recent.of(bytes, chain.rate.0)
    }
}
