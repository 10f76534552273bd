//! A file or block device as a target: which engine drives it, and queues for its threads.

use super::affinity::pin;
use super::buffer::Buffer;
use super::clock::Clock;
use super::fill_holes::hole_ranges;
use super::instruments::Instruments;
use super::pool::Pool;
use super::ring::{self, Ring};
use super::volume::{Volume, VolumeKind};
use super::zeros;
use crate::data_source::DataSource;
use crate::target::{
    Load, QueueRequest, Reading, Reply, Request, Target, TargetError, ThreadQueues,
};
use crate::unwritten::Unwritten;
use nandscope_units::{Bytes, Nanos};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Requested engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring, or pread and pwrite if the system does not allow it.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// pread and pwrite.
    Blocking,
}

/// Options for driving a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Requested engine.
    pub engine: EngineChoice,
    /// Whether completions are polled for instead of waited for (IORING_SETUP_IOPOLL); devices whose driver has no
    /// polling queues answer that they do not support it.
    pub polled: bool,
}

/// Engine in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// io_uring.
    Uring,
    /// pread and pwrite in threads.
    Blocking,
}

/// State that all queues of a target share.
#[derive(Clone, Debug)]
struct Shared {
    volume: Arc<Volume>,
    clock: Clock,
    options: Options,
    engine: Engine,
    data: DataSource,
}

impl Shared {
    fn queue(&self) -> RealTarget {
        RealTarget {
            shared: self.clone(),
            fallback: None,
            instruments: None,
            way: Way::Unprepared,
        }
    }
}

/// See the module's text.
pub struct RealTarget {
    shared: Shared,
    /// Why the engine is not the first choice.
    fallback: Option<String>,
    /// Instruments; `None` for a queue, as one thread reads them for all.
    instruments: Option<Arc<dyn Instruments>>,
    way: Way,
}

/// Engine of this target or queue.
enum Way {
    /// No engine yet, or each queue has its own.
    Unprepared,
    Ring(Box<Ring>),
    Pool(Box<Pool>),
}

impl RealTarget {
    /// A target for an open volume; its clock begins at zero now.
    ///
    /// # Errors
    /// [`TargetError::Other`] if io_uring is wanted and missing, or polling without io_uring.
    pub fn new(volume: Volume, options: Options) -> Result<RealTarget, TargetError> {
        let (engine, fallback) = match (options.engine, ring::probe()) {
            (EngineChoice::Blocking, _) => (Engine::Blocking, None),
            (_, Ok(())) => (Engine::Uring, None),
            (EngineChoice::Auto, Err(e)) => (
                Engine::Blocking,
                Some(format!(
                    "io_uring is not available here ({}): operations go through threads of pread and pwrite, which cost more time each",
                    std::io::Error::from(e)
                )),
            ),
            (EngineChoice::Uring, Err(e)) => {
                return Err(TargetError::Other(format!(
                    "io_uring is not available here: {}; --engine blocking does without",
                    std::io::Error::from(e)
                )));
            }
        };
        if options.polled && engine == Engine::Blocking {
            return Err(TargetError::Other(
                "only io_uring can poll for completions; leave the polling out".to_string(),
            ));
        }
        Ok(RealTarget {
            shared: Shared {
                volume: Arc::new(volume),
                clock: Clock::new(),
                options,
                engine,
                data: DataSource::default(),
            },
            fallback,
            instruments: None,
            way: Way::Unprepared,
        })
    }

    /// Sets the clock, before the first run.
    pub fn set_clock(&mut self, now: Nanos) {
        self.shared.clock = Clock::at(now);
    }

    /// Adds instruments to the target.
    pub fn observe_with(&mut self, instruments: Arc<dyn Instruments>) {
        self.instruments = Some(instruments);
    }

    /// The measured file or device.
    pub fn volume(&self) -> &Volume {
        &self.shared.volume
    }

    /// Sets the source of write data and of the comparison of reads, from the next run on.
    pub fn write_from(&mut self, data: DataSource) {
        self.shared.data = data;
    }

    /// Parts that were never written or were discarded, if known. A block device may be read to find them.
    pub fn unwritten(&self) -> Unwritten {
        let volume = &self.shared.volume;
        match volume.kind() {
            VolumeKind::BlockDevice => zeros::of_device(volume.file(), volume.capacity()),
            VolumeKind::File => Unwritten {
                ranges: hole_ranges(volume.file()).unwrap_or_default(),
                is_sampled: false,
            },
        }
    }

    /// Engine in use.
    pub fn engine(&self) -> Engine {
        self.shared.engine
    }

    /// Description of the engine, in words.
    pub fn describe_engine(&self) -> &'static str {
        match (self.shared.engine, self.shared.options.polled) {
            (Engine::Uring, false) => "io_uring, registered buffers and files",
            (Engine::Uring, true) => "io_uring, registered buffers and files, polled",
            (Engine::Blocking, _) => "pread and pwrite, a thread per operation outstanding",
        }
    }

    /// Conditions of the I/O path that affect the results.
    pub fn warnings(&self) -> Vec<String> {
        let buffered = (!self.shared.volume.is_direct()).then(|| {
            "the file system does not take direct I/O: the measurement includes the page cache"
                .to_string()
        });
        self.fallback.iter().cloned().chain(buffered).collect()
    }
}

impl Target for RealTarget {
    #[inline]
    fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    fn capacity(&self) -> Bytes {
        self.shared.volume.capacity()
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        // Frees the memory of the last run before the new run allocates.
        self.way = Way::Unprepared;
        let volume = self.shared.volume.clone();
        self.way = match self.shared.engine {
            Engine::Uring => Way::Ring(Box::new(
                Ring::new(volume, self.shared.clock, load, &self.shared.options, &self.shared.data).map_err(|e| {
                    TargetError::Other(format!(
                        "io_uring for a queue depth of {} cannot be had: {}; --engine blocking does without",
                        load.depth,
                        std::io::Error::from(e)
                    ))
                })?,
            )),
            Engine::Blocking => Way::Pool(Box::new(Pool::new(volume, self.shared.clock, load, &self.shared.data)?)),
        };
        Ok(())
    }

    fn thread_queues(&self) -> Option<Box<dyn ThreadQueues>> {
        Some(Box::new(RealQueues(self.shared.clone())))
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        match &mut self.way {
            Way::Ring(ring) => ring.push(&request),
            Way::Pool(pool) => pool.push(&request),
            Way::Unprepared => {
                self.prepare(&Load::default())?;
                self.submit(request)
            }
        }
    }

    #[inline]
    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        match &mut self.way {
            Way::Ring(ring) => ring.wait(until, replies),
            Way::Pool(pool) => pool.wait(until, replies),
            Way::Unprepared => {
                self.shared.clock.idle_until(until);
                Ok(())
            }
        }
    }

    fn contents(&mut self, offset: Bytes, length: u32) -> Result<Option<Vec<u8>>, TargetError> {
        let length = length as usize;
        let mut buffer = Buffer::zeroed(length);
        let file = self.shared.volume.file();
        file.read_exact_at(buffer.bytes_mut(length), offset.0)
            .map_err(|e| {
                let path = self.shared.volume.path().display();
                TargetError::Other(format!("{path}: byte {}: {e}", offset.0))
            })?;
        Ok(Some(buffer.bytes(length).to_vec()))
    }

    fn reading(&mut self) -> Reading {
        let instruments = self.instruments.as_ref();
        instruments.map_or_else(Reading::default, |i| i.read())
    }
}

/// Opens a queue per thread: the same volume and clock, separate rings.
struct RealQueues(Shared);

impl ThreadQueues for RealQueues {
    fn open(&self, request: &QueueRequest) -> Result<Box<dyn Target>, TargetError> {
        pin(&request.cpus)?;
        Ok(Box::new(self.0.queue()))
    }
}
