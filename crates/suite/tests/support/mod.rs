//! What tests of cards need: a card to probe, and the recorded runs of real ones.

pub mod card;
pub mod recorded;
