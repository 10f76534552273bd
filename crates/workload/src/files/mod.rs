//! File workloads: folders of files copied to a card, read back, deleted, and the card formatted, as the block
//! operations of an exFAT file system.
//!
//! A [`FolderSpec`] has the numbers of a folder; [`FileTree`] is a generated folder with exactly these numbers;
//! [`ExfatLayout`] places it on a card; [`CopyJob`] turns the placed tree into one [`ExtentSource`] per thread. Nothing
//! here writes real files or file-system structures: only the addresses of operations matter, not their contents.

mod copy;
mod delete;
mod exfat;
mod extents;
mod format;
mod placement;
mod spec;
mod tree;

pub use copy::{CopyJob, CopyOptions, Direction, FILE_COST_BYTES};
pub use delete::DeletePlan;
pub use exfat::{ExfatLayout, LayoutError, cluster_bytes};
pub use extents::{Extent, ExtentSource};
pub use format::FormatPlan;
pub use placement::{DirectoryPlace, FilePlace, PlacedTree};
pub use spec::{FolderSpec, SpecError, das_suite};
pub use tree::{File, FileTree, Folder};
