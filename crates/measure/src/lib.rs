//! Runs jobs on a target and records what happened.
//!
//! [`runner`] drives threads of operations through a [`target`]: a simulated device in virtual time ([`sim`]), a
//! real one on Linux (`real`). [`recorder`] collects latencies and counts per
//! interval, [`build`] makes the parts of a result document from them, and [`events`] finds notable moments. [`fio_output`]
//! converts fio's JSON output; [`steps`] keeps finished steps while others run. A [`data_source`] makes
//! what writes carry; a [`verify::Verifier`] makes contents that can be checked, and checks them. [`listened`] reports single operations.
//!
//! This crate makes no charts and draws no conclusions.
//!
//! A thousand random reads from a full drive, at the job's queue depth:
//!
//! ```
//! use nandscope_device::profile::library;
//! use nandscope_device::{Device, Fill};
//! use nandscope_measure::runner::{Thread, run_group};
//! use nandscope_measure::sim::SimTarget;
//! use nandscope_workload::job::JobFile;
//! use nandscope_workload::pattern::Generator;
//!
//! let profile = library::device("reference-nvme-64gb").unwrap().profile().unwrap();
//! let host = library::host("direct").unwrap().host_profile().unwrap();
//! let mut drive = Device::new(&profile, &host, 1)?;
//! drive.precondition(1.0, Fill::Sequential);
//!
//! let file = JobFile::parse("read.fio", "[read]\nrw=randread\nbs=4k\niodepth=32\nnumber_ios=1000\n")?;
//! let job = &file.jobs[0];
//! let operations = Generator::new(job, 0, drive.capacity(), 1)?;
//! let thread = Thread::new(Box::new(operations), job.pacing.clone(), 0);
//! let run = run_group(&mut SimTarget::new(drive), vec![thread], None, &mut (), &|| false)?;
//!
//! let (_, reads) = run.groups[0].record.present().next().unwrap();
//! assert_eq!(reads.latency.count(), 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bucket_counts;
pub mod build;
pub mod cached;
pub mod data_source;
pub mod depth_order;
pub mod distribution;
pub mod events;
pub mod fio_output;
pub mod histogram_log;
pub mod listened;
pub mod payload;
#[cfg(target_os = "linux")]
pub mod real;
pub mod recorder;
pub mod runner;
pub mod sim;
pub mod steps;
pub mod target;
pub mod unwritten;
pub mod verify;
