//! Support for tests of cards: a card to probe, and recorded runs of real cards.

pub mod card;
pub mod recorded;
