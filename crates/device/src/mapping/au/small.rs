//! A small card for tests of the map.

use super::AuMapDevice;
use crate::profile::card::CardSection;
use crate::profile::library;

impl AuMapDevice {
    /// A card of 40 AUs, written once in order, after a change to its profile.
    pub(super) fn small(change: impl FnOnce(&mut CardSection)) -> Self {
        let entry = library::device("recorded-kingston-sd-8gb").expect("in the library");
        let mut profile = entry.profile().expect("valid");
        profile.nand.blocks_per_plane = 64;
        profile.nand.factory_bad_percent = 0.0;
        profile.device.capacity_bytes = 40 << 22;
        let card = profile.card.as_mut().expect("a card");
        change(card);
        let card = card.clone();
        let host = library::host("direct").expect("in the library");
        let host = host.host_profile().expect("valid");
        let mut d = AuMapDevice::new(&profile, &card, &host, 1).expect("attaches");
        let whole = &mut |_| std::ops::ControlFlow::Continue(());
        d.precondition(1.0, crate::Fill::Sequential, whole).unwrap();
        d
    }
}
