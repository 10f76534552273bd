//! Logs and traces of fio and nandscope, read into a common form.

/// A job file for nandscope, which refuses fio's engine without I/O, since it always has a target.
pub fn with_target(job: &str) -> String {
    job.replace("ioengine=null", "ioengine=libaio")
}

/// One operation of a latency log with `log_offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Time of completion, ms after the start of the job.
    pub ms: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: u64,
    /// Bytes.
    pub length: u64,
    /// Offset on the file, bytes.
    pub offset: u64,
}

impl Logged {
    /// Direction, length and offset.
    pub fn operation(self) -> [u64; 3] {
        [self.direction, self.length, self.offset]
    }
}

/// The operations of a latency log with `log_offset`.
pub fn logged(log: &str) -> Vec<Logged> {
    let lines = log.lines().map(|line| {
        let fields: Vec<u64> = line.split(',').map(|f| f.trim().parse().unwrap()).collect();
        Logged {
            ms: fields[0],
            direction: fields[2],
            length: fields[3],
            offset: fields[4],
        }
    });
    lines.collect()
}

/// Kind, offset and length of each operation of an iolog of version 3.
pub fn traced(iolog: &str) -> Vec<(&str, u64, u64)> {
    let mut all = Vec::new();
    for line in iolog.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, kind @ ("read" | "write" | "trim"), offset, length] = fields[..] {
            all.push((kind, offset.parse().unwrap(), length.parse().unwrap()));
        }
    }
    all
}

/// Categories of requests in a trace of blktrace.
pub const READ: u32 = 1;
pub const WRITE: u32 = 2;
pub const DISCARD: u32 = 2 | 1 << 13;

/// A binary trace of blktrace, with the category, first sector and length in bytes of each request, which is queued, issued
/// and completed; one starts each millisecond.
pub fn blktrace(requests: &[(u32, u64, u32)]) -> Vec<u8> {
    const QUEUED_ISSUED_COMPLETE: [u64; 3] = [1, 7, 8];
    let mut bytes = Vec::new();
    for (number, (category, sector, length)) in (1_u64..).zip(requests) {
        for event in QUEUED_ISSUED_COMPLETE {
            bytes.extend(0x6561_7407_u32.to_le_bytes());
            bytes.extend((number as u32).to_le_bytes());
            bytes.extend((number * 1_000_000 + event).to_le_bytes());
            bytes.extend(sector.to_le_bytes());
            for field in [*length, category << 16 | event as u32, 100, 8 << 20, 0, 0] {
                bytes.extend(field.to_le_bytes());
            }
        }
    }
    bytes
}
