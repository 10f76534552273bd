//! Requests of a disk, recorded by the tracepoints `block_rq_issue` and `block_rq_complete` of the running kernel in a
//! trace buffer of their own (an instance of tracefs), so that other users of tracing are not disturbed.

use crate::recording::Event;
use nandscope_units::Nanos;
use nandscope_workload::OpKind;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Places of tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Prefix of our instances; the number of the process follows.
const PREFIX: &str = "nandscope-";
/// KiB of the buffer of each processor.
const BUFFER_KIB: &str = "4096";
/// Pause of the reader while there is nothing to read.
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes of a sector of the tracepoints.
const SECTOR: u64 = 512;
const EVENTS: [&str; 2] = ["block_rq_issue", "block_rq_complete"];

/// A recording in progress. Dropping it removes its trace buffer.
#[derive(Debug)]
pub struct BlockTrace {
    instance: PathBuf,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Requests>>,
}

/// The place of tracefs with the tracepoints of block devices.
///
/// # Errors
/// The reason if they cannot be used.
pub fn place() -> Result<&'static Path, String> {
    let mounted = PLACES.map(Path::new).into_iter();
    let mut mounted = mounted.filter(|place| place.join("events").is_dir());
    let place = mounted.next().ok_or(
        "tracefs is not mounted, or not accessible (`mount -t tracefs tracefs /sys/kernel/tracing`)",
    )?;
    match place.join("events/block").join(EVENTS[0]).is_dir() {
        true => Ok(place),
        false => Err("this kernel has no tracepoints of block devices".to_string()),
    }
}

impl BlockTrace {
    /// Starts to record the requests of the whole disk with this major and minor number.
    ///
    /// # Errors
    /// The reason if tracepoints are not allowed here.
    pub fn begin(major: u32, minor: u32) -> Result<BlockTrace, String> {
        let instances = place()?.join("instances");
        remove_stale(&instances);
        let instance = instances.join(format!("{PREFIX}{}", std::process::id()));
        let system = |e: io::Error| format!("cannot record in {}: {e}", instance.display());
        std::fs::create_dir(&instance).map_err(system)?;
        let mut trace = BlockTrace {
            stop: Arc::new(AtomicBool::new(false)),
            reader: None,
            instance: instance.clone(),
        };
        let put = |name: &str, text: &str| std::fs::write(instance.join(name), text);
        let device = (u64::from(major) << 20) | u64::from(minor);
        let set = || {
            put("trace_clock", "mono")?;
            put("buffer_size_kb", BUFFER_KIB)?;
            for event in EVENTS {
                put(
                    &format!("events/block/{event}/filter"),
                    &format!("dev == {device}"),
                )?;
                put(&format!("events/block/{event}/enable"), "1")?;
            }
            let mut options = File::options();
            options.read(true);
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
            options.open(instance.join("trace_pipe"))
        };
        let pipe = set().map_err(system)?;
        let stop = trace.stop.clone();
        let reader = std::thread::Builder::new().name("block trace".to_string());
        trace.reader = Some(reader.spawn(move || read(pipe, &stop)).map_err(system)?);
        Ok(trace)
    }

    /// Ends the recording.
    pub fn finish(mut self) -> Requests {
        self.stop.store(true, Ordering::Relaxed);
        let reader = self.reader.take();
        let requests = reader.and_then(|reader| reader.join().ok());
        requests.unwrap_or(Requests {
            lost: true,
            ..Requests::default()
        })
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        remove(&self.instance);
    }
}

fn remove(instance: &Path) {
    for event in EVENTS {
        let _ = std::fs::write(instance.join(format!("events/block/{event}/enable")), "0");
    }
    let _ = std::fs::remove_dir(instance);
}

/// Removes the trace buffers of processes that were killed.
fn remove_stale(instances: &Path) {
    for entry in std::fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let process = process.and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new("/proc").join(number.to_string()).exists()) {
            remove(&entry.path());
        }
    }
}

fn read(mut pipe: File, stop: &AtomicBool) -> Requests {
    let mut requests = Requests::default();
    let mut chunk = vec![0; 64 << 10];
    let mut line = Vec::new();
    loop {
        // Looked at before reading: all that was recorded until then is read.
        let last = stop.load(Ordering::Relaxed);
        match pipe.read(&mut chunk) {
            Ok(0) => {}
            Ok(count) => {
                for byte in &chunk[..count] {
                    if *byte == b'\n' {
                        requests.line(&String::from_utf8_lossy(&line));
                        line.clear();
                    } else {
                        line.push(*byte);
                    }
                }
                continue;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => {
                requests.lost = true;
                return requests;
            }
        }
        if last {
            return requests;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Requests of a disk in the order of completion, times on the kernel's monotonic clock.
#[derive(Debug, Default)]
pub struct Requests {
    /// Completed requests.
    pub events: Vec<Event>,
    /// The buffer was full, or could not be read: requests are missing.
    pub lost: bool,
    /// Issued requests by kind and first sector.
    pending: BTreeMap<(u8, u64), Event>,
}

impl Requests {
    /// Takes a line of `trace_pipe`.
    pub fn line(&mut self, line: &str) {
        if line.contains(" [LOST ") {
            self.lost = true;
        }
        for (number, name) in EVENTS.iter().enumerate() {
            let mark = format!(": {name}: ");
            if let Some((before, rest)) = line.split_once(&mark) {
                if let Some((event, failed)) = request(before, rest, number == 0) {
                    self.take(event, failed, number == 0);
                }
                return;
            }
        }
    }

    fn take(&mut self, event: Event, failed: bool, issued: bool) {
        let key = (event.kind as u8, event.offset);
        if issued {
            // A request that the driver returned is issued once more; its time counts from the first.
            self.pending.entry(key).or_insert(event);
        } else if let Some(started) = self.pending.remove(&key) {
            self.events.push(Event {
                completed: event.submitted,
                done: !failed,
                ..started
            });
        }
    }
}

/// The request of a line, and whether it failed: `7,0 WS 4096 () 2048 + 8 …` if issued, `7,0 WS () 2048 + 8 … [0]` if
/// completed. `None` for requests that neither read, write, discard nor flush.
fn request(before: &str, rest: &str, issued: bool) -> Option<(Event, bool)> {
    let time = before.rsplit(' ').next()?;
    let (seconds, micros) = time.split_once('.')?;
    let at = Nanos::from_secs(seconds.parse().ok()?) + Nanos::from_micros(micros.parse().ok()?);
    let mut words = rest.split(' ');
    let _device = words.next()?;
    let kind = kind(words.next()?)?;
    let (_, place) = rest.split_once(") ")?;
    let mut words = place.split(' ');
    let sector: u64 = words.next()?.parse().ok()?;
    let sectors: u64 = words.nth(1)?.parse().ok()?;
    let status = place.rsplit_once('[').map(|(_, code)| code);
    let failed = !issued && status.is_some_and(|code| !code.starts_with("0]"));
    let flush = kind == OpKind::Flush;
    let event = Event {
        kind,
        offset: if flush {
            0
        } else {
            sector.checked_mul(SECTOR)?
        },
        length: if flush {
            0
        } else {
            sectors.checked_mul(SECTOR)?
        },
        submitted: at,
        completed: at,
        done: true,
    };
    Some((event, failed))
}

/// The operation of a request by the letters of `blk_fill_rwbs`. An `F` before another operation is a flush that the
/// kernel sends as a request of its own.
fn kind(letters: &str) -> Option<OpKind> {
    let mut letters = letters.chars();
    let first = match (letters.next()?, letters.next()) {
        ('F', Some(next @ ('W' | 'D'))) => next,
        (first, _) => first,
    };
    Some(match first {
        'R' => OpKind::Read,
        'W' => OpKind::Write,
        'D' => OpKind::Trim,
        'F' => OpKind::Flush,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Requests {
        let mut requests = Requests::default();
        text.lines().for_each(|line| requests.line(line));
        requests
    }

    #[test]
    fn an_issued_and_a_completed_request_are_one_command() {
        let requests = read_all(
            "  kworker/0:1H-120 [000] ..... 12.000100: block_rq_issue: 7,0 WS 4096 () 2048 + 8 none,0,0 [kworker/0:1H]\n\
             a: b [c]-9 [001] ..... 12.000200: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [x)y z]\n\
             <idle>-0 [000] ..s1. 12.000350: block_rq_complete: 7,0 WS () 2048 + 8 none,0,0 [0]\n\
             <idle>-0 [000] ..s1. 12.000450: block_rq_complete: 7,0 FF () 0 + 0 none,0,0 [0]\n",
        );
        let [write, flush] = &requests.events[..] else {
            panic!("{requests:?}");
        };
        assert_eq!(
            (write.kind, write.offset, write.length),
            (OpKind::Write, 1 << 20, 4096)
        );
        assert_eq!(write.latency(), Nanos::from_micros(250));
        assert_eq!(
            write.submitted,
            Nanos::from_secs(12) + Nanos::from_micros(100)
        );
        assert_eq!(
            (flush.kind, flush.length, flush.done),
            (OpKind::Flush, 0, true)
        );
        assert!(!requests.lost);
    }

    #[test]
    fn errors_older_kernels_and_lost_requests_are_seen() {
        let requests = read_all(
            " mount-7 [000] 5.000001: block_rq_issue: 8,0 RA 8192 () 16 + 16 [mount]\n\
             CPU:0 [LOST 12 EVENTS]\n\
             mount-7 [000] 5.000003: block_rq_complete: 8,0 RA () 16 + 16 [-5]\n\
             mount-7 [000] 5.000009: block_rq_complete: 8,0 W () 99 + 1 [0]\n\
             mount-7 [000] 5.000010: block_rq_issue: 8,0 N 0 (12 00) 0 + 0 [x]\n\
             mount-7 [000] 5.000011: block_rq_issue: 8,0 W",
        );
        assert_eq!(requests.events.len(), 1);
        assert_eq!(
            (requests.events[0].kind, requests.events[0].done),
            (OpKind::Read, false)
        );
        assert!(requests.lost);
    }

    #[test]
    fn letters_name_the_operation_that_reaches_the_disk() {
        let kinds = ["W", "WS", "FWFS", "FF", "F", "FS", "D", "DS", "RM", "N"].map(kind);
        use OpKind::{Flush, Read, Trim, Write};
        let expected = [Write, Write, Write, Flush, Flush, Flush, Trim, Trim, Read];
        assert_eq!(kinds[..9], expected.map(Some));
        assert_eq!(kinds[9], None);
    }
}
