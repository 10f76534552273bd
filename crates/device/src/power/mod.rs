//! Power and heat: energy per operation becomes power ([`meter`]), power becomes temperature
//! ([`thermal`]); [`idle`] advances both over long idle times, in which a device may enter a power state
//! ([`states`]).

pub(crate) mod idle;
pub(crate) mod meter;
mod repeated_sum;
pub(crate) mod states;
pub(crate) mod thermal;
