//! `nandscope sweep`: a job on a simulated device at many points of a space of parameters, or the
//! fullness of a drive over its whole range.

mod fullness;
mod points;
mod run_points;
mod space;

use crate::console::Console;
use crate::failure::{Exit, Failure};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  nandscope sweep rand-write sim:reference-nvme-64gb \\
    --param ftl.over_provisioning=0.14,0.28 --param controller.cores=1..4 \\
    --precondition random --seeds 5 --metric waf,p99 -o out/
  nandscope sweep job.fio sim:sm2708-250gb --job iodepth=1,4,16,64 -o out/
  nandscope sweep job.fio sim:./my.toml \\
    --param ftl.over_provisioning=0.08..0.40 --sample lhs:100 -o out/
  nandscope sweep fullness sim:sm2262en-2tb

Values: V1,V2,… or LOW..HIGH. --param takes keys of the device profile (`nandscope help profiles`) and \
ftl.over_provisioning, --job keys of job files (`nandscope help jobs`). --host, --precondition and --seed take several \
values, too. Metrics: waf, energy, iops, bw, mean, p50 … p99.99, with `read.` or `write.` before them \
for one direction, or a figure of the result by its identifier.

Each finished point is kept in DIR/points at once; after an interruption of any kind the same command \
goes on. docs/sweep.md explains files and columns.";

/// Arguments of `nandscope sweep`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    points: points::PointArguments,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Latency and bandwidth at every 5 % of fullness
    Fullness(fullness::FullnessArguments),
}

/// Sweeps and writes the report.
///
/// # Errors
/// As `points::run` and `fullness::run`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    match arguments.what {
        Some(What::Fullness(arguments)) => fullness::run(arguments, console),
        None => points::run(&arguments.points, console),
    }
}
