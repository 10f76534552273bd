//! How many threads a command uses: `--threads`, or one per processor, if their devices fit into memory.

use crate::console::Console;
use clap::Args;
use nandscope_experiment::memory;
use nandscope_suite::at_once;
use nandscope_units::Bytes;

/// The option of commands that do several things at once.
#[derive(Clone, Copy, Debug, Args)]
pub struct ThreadArguments {
    /// Threads [default: one per processor]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl ThreadArguments {
    /// Number of threads without regard to memory.
    pub fn wanted(self) -> usize {
        at_once::threads(self.threads.map(usize::from))
    }

    /// Number of threads, lower if memory is short, with a note. `device` is the memory of the largest device.
    pub fn within_memory(self, device: Bytes, console: &Console) -> usize {
        let wanted = self.wanted();
        let threads = at_once::threads_within(wanted, device, memory::left());
        if threads < wanted {
            console.note(&format!(
                "note: {threads} threads instead of {wanted}: each may need twice {device} of memory"
            ));
        }
        threads
    }
}
