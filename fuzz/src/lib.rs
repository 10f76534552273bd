//! The bodies of the fuzz targets; see [`bodies`].

pub mod bodies;
