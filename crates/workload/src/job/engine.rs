//! fio's I/O engines: those for block I/O, which nandscope's engine replaces, and others.

/// Meaning of a fio engine for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Block I/O, one operation at a time.
    Synchronous,
    /// Block I/O at the queue depth of the job.
    Asynchronous,
    /// No block I/O; with a description.
    Foreign(&'static str),
}

use Engine::{Asynchronous, Foreign, Synchronous};

/// fio's default engine on Linux.
pub(crate) const DEFAULT: &str = "psync";

/// fio's engines. Synchronous ones are those whose queue depth fio 3.33 caps at 1.
const ENGINES: &[(&str, Engine)] = &[
    ("sync", Synchronous),
    ("psync", Synchronous),
    ("vsync", Synchronous),
    ("pvsync", Synchronous),
    ("pvsync2", Synchronous),
    ("mmap", Synchronous),
    ("splice", Synchronous),
    ("libaio", Asynchronous),
    ("linuxaio", Asynchronous),
    ("io_uring", Asynchronous),
    ("io_uring_cmd", Asynchronous),
    ("posixaio", Asynchronous),
    ("solarisaio", Asynchronous),
    ("windowsaio", Asynchronous),
    ("sg", Asynchronous),
    ("guasi", Asynchronous),
    ("syslet-rw", Asynchronous),
    ("null", Foreign("does no I/O at all")),
    ("cpuio", Foreign("burns processor time")),
    ("net", Foreign("sends over a network")),
    ("netsplice", Foreign("sends over a network")),
    ("rdma", Foreign("sends over a network")),
    ("ftruncate", Foreign("changes the sizes of files")),
    ("filecreate", Foreign("creates files")),
    ("filestat", Foreign("looks up files")),
    ("filedelete", Foreign("deletes files")),
    ("dircreate", Foreign("creates folders")),
    ("dirstat", Foreign("looks up folders")),
    ("dirdelete", Foreign("deletes folders")),
    ("falloc", Foreign("allocates ranges of files")),
    ("e4defrag", Foreign("defragments files of ext4")),
    ("exec", Foreign("runs a program")),
    ("nbd", Foreign("is the client of an NBD server")),
    ("rbd", Foreign("is a client of Ceph")),
    ("rados", Foreign("is a client of Ceph")),
    ("http", Foreign("is a client of an object store")),
    ("gfapi", Foreign("is a client of Gluster")),
    ("gfapi_async", Foreign("is a client of Gluster")),
    ("libhdfs", Foreign("is a client of Hadoop")),
    ("libiscsi", Foreign("is a client of an iSCSI server")),
    ("nfs", Foreign("is a client of an NFS server")),
    ("dfs", Foreign("is a client of DAOS")),
    ("ime_psync", Foreign("is a client of DDN IME")),
    ("ime_psyncv", Foreign("is a client of DDN IME")),
    ("ime_aio", Foreign("is a client of DDN IME")),
    ("libcufile", Foreign("moves data to the memory of a GPU")),
    ("libzbc", Foreign("is for zoned devices")),
    ("mtd", Foreign("is for raw flash of Linux's MTD layer")),
    ("pmemblk", Foreign("is for persistent memory")),
    ("dev-dax", Foreign("is for persistent memory")),
    ("libpmem", Foreign("is for persistent memory")),
    (
        "libblkio",
        Foreign("bypasses the block layer with its own drivers"),
    ),
    (
        "xnvme",
        Foreign("bypasses the block layer with its own drivers"),
    ),
    (
        "spdk",
        Foreign("bypasses the block layer with its own driver"),
    ),
    (
        "spdk_bdev",
        Foreign("bypasses the block layer with its own driver"),
    ),
    ("binject", Foreign("injects bios through a kernel module")),
];

/// The engine of this name; `None` if fio has no such engine. A suffix after a colon belongs to the name, except
/// for `external:`.
pub(crate) fn find(name: &str) -> Option<Engine> {
    if name.starts_with("external:") || name.starts_with(['/', '.']) {
        return Some(Foreign("is loaded from a library"));
    }
    let found = ENGINES.iter().find(|(known, _)| *known == name);
    found.map(|(_, engine)| *engine)
}

/// Names of the block I/O engines, which nandscope's engine replaces.
pub(crate) fn block_engines() -> String {
    let block = ENGINES.iter().filter(|(_, e)| !matches!(e, Foreign(_)));
    let names: Vec<&str> = block.map(|(name, _)| *name).collect();
    names.join(", ")
}
