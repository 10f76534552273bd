//! Data of writes, and the comparison of reads with it. Real targets and stored contents of simulated targets use the
//! same source.

use crate::payload::{fill, tag};
use crate::target::{Outcome, Request};
use crate::verify::Verifier;
use nandscope_units::random::mix;
use nandscope_workload::OpKind;
use nandscope_workload::job::{Repetition, WriteData};
use std::sync::Arc;

/// Chunk of compressible data without `buffer_compress_chunk`, bytes.
const CHUNK: usize = 512;

/// Data of one thread's writes that are not verified. It is determined by the seed and the number of the write.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    data: WriteData,
    seed: u64,
    /// Blocks of the working set.
    working_set: u64,
}

impl Payload {
    /// The data of a thread that works on `blocks` blocks.
    pub fn new(data: WriteData, seed: u64, blocks: u64) -> Self {
        let share = u128::from(blocks) * u128::from(data.working_set) / 100;
        Payload {
            working_set: u64::try_from(share).unwrap_or(u64::MAX).max(1),
            data,
            seed,
        }
    }

    /// Makes the data of write number `write` in memory that holds data of an earlier write of this thread, or random
    /// data. As in fio, data is reused with a change to each sector, unless options require otherwise.
    #[inline]
    pub fn renew(&self, bytes: &mut [u8], offset: u64, write: u64) {
        match (self.is_special() || self.data.refill, self.data.scramble) {
            (true, _) => self.make(bytes, offset, write),
            (false, true) => tag(bytes, offset, write),
            (false, false) => {}
        }
    }

    /// Makes the data of write number `write` in memory of any contents.
    pub fn make(&self, bytes: &mut [u8], offset: u64, write: u64) {
        let data = &self.data;
        if data.compressible > 0 || data.repeated > 0 {
            self.mixed(bytes, self.source_of(write));
        } else if let Some(pattern) = &data.pattern {
            pattern.fill(bytes, offset);
        } else if data.zeros {
            bytes.fill(0);
        } else {
            let is_new = data.refill || data.scramble;
            fill(bytes, mix(self.seed ^ if is_new { write } else { 0 }));
        }
    }

    fn is_special(&self) -> bool {
        let data = &self.data;
        data.compressible > 0 || data.repeated > 0 || data.pattern.is_some() || data.zeros
    }

    /// Chunks that begin with random data and end with compressible ones.
    fn mixed(&self, bytes: &mut [u8], source: u64) {
        let chunk = self.data.chunk.map_or(CHUNK, |bytes| bytes as usize);
        let random =
            (chunk as u64 * u64::from(100 - self.data.compressible.min(100)) / 100) as usize;
        for (place, chunk) in (0..).zip(bytes.chunks_mut(chunk)) {
            let (random, rest) = chunk.split_at_mut(random.min(chunk.len()));
            fill(random, mix(self.seed ^ mix(source) ^ place));
            match &self.data.pattern {
                Some(pattern) => pattern.fill(rest, 0),
                None => rest.fill(0),
            }
        }
    }

    /// Number of the earlier write whose data this write repeats, or of this write.
    fn source_of(&self, write: u64) -> u64 {
        if self.data.repeated >= 100 {
            return 0;
        }
        if !self.repeats(write) {
            return write;
        }
        let from = match self.data.repetition {
            Repetition::Previous => write,
            // `own` percent of the writes, spread evenly, have new data: about `place` of them are among the first
            // `place × 100 / own` writes.
            Repetition::WorkingSet => {
                let own = u64::from(100 - self.data.repeated.min(100)).max(1);
                let place = mix(self.seed ^ write) % self.working_set;
                place.saturating_mul(100) / own
            }
        };
        (1..=from)
            .rev()
            .find(|earlier| !self.repeats(*earlier))
            .unwrap_or(0)
    }

    fn repeats(&self, write: u64) -> bool {
        let percent = u64::from(self.data.repeated);
        mix(self.seed.rotate_left(7) ^ mix(write)) % 100 < percent
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct DataSource {
    verifier: Option<Arc<Verifier>>,
    /// Payload by number of the thread; other threads have default data.
    payloads: Arc<[Payload]>,
}

impl DataSource {
    /// Data for the threads of a run: the verifier's, or a payload for threads that it does not serve.
    pub fn new(verifier: Option<Arc<Verifier>>, payloads: Vec<Payload>) -> Self {
        DataSource {
            verifier,
            payloads: payloads.into(),
        }
    }

    /// Verifier of reads; `None` if no job verifies.
    pub fn verifier(&self) -> Option<&Arc<Verifier>> {
        self.verifier.as_ref()
    }

    /// Makes the data of a write in memory that holds data of earlier writes of its thread, or random data.
    #[inline]
    pub fn renew(&self, bytes: &mut [u8], request: &Request, write: u64) {
        if self.is_verified(bytes, request) {
            return;
        }
        match self.payloads.get(request.thread as usize) {
            Some(payload) => payload.renew(bytes, request.offset.0, write),
            None => tag(bytes, request.offset.0, write),
        }
    }

    /// Makes the data of a write in memory of any contents.
    pub fn make(&self, bytes: &mut [u8], request: &Request, write: u64) {
        if self.is_verified(bytes, request) {
            return;
        }
        match self.payloads.get(request.thread as usize) {
            Some(payload) => payload.make(bytes, request.offset.0, write),
            None => fill(bytes, mix(request.offset.0 ^ mix(write))),
        }
    }

    #[inline]
    fn is_verified(&self, bytes: &mut [u8], request: &Request) -> bool {
        let verifier = self.verifier.as_ref();
        verifier.is_some_and(|v| v.write(bytes, request.offset.0, request.thread))
    }

    /// Handles the end of an operation: compares the data `read` with the expected data; a mismatch makes the read
    /// fail.
    #[inline]
    pub fn ended(&self, request: &Request, read: &[u8], outcome: Outcome) -> Outcome {
        match &self.verifier {
            Some(verifier) if request.kind != OpKind::Flush => {
                verifier.ended(request, read, outcome)
            }
            _ => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::JobFile;
    use std::collections::BTreeSet;

    const BLOCK: usize = 4096;

    /// Data of 2,048 writes of a job with these options, each in separate memory.
    fn written(options: &str) -> Vec<Vec<u8>> {
        let text = format!("[a]\nrw=write\n{options}\n");
        let data = JobFile::parse("t", &text).unwrap().jobs[0].data.clone();
        let payload = Payload::new(data, 3, 2048);
        let mut memory = vec![0u8; BLOCK];
        fill(&mut memory, 1);
        let writes = (1..=2048).map(|write| {
            payload.renew(&mut memory, write * BLOCK as u64, write);
            memory.clone()
        });
        writes.collect()
    }

    fn distinct(blocks: &[Vec<u8>]) -> usize {
        blocks.iter().collect::<BTreeSet<_>>().len()
    }

    /// The expected numbers are those of fio 3.33.
    #[test]
    fn as_many_blocks_differ_as_in_fio() {
        for (options, expected) in [
            ("", 2048..=2048),
            ("refill_buffers", 2048..=2048),
            ("scramble_buffers=0", 1..=1),
            ("scramble_buffers=0\nrefill_buffers", 2048..=2048),
            ("zero_buffers", 1..=1),
            ("buffer_pattern=0xaa", 1..=1),
            ("buffer_compress_percentage=50", 2048..=2048),
            ("dedupe_percentage=30", 1370..=1500),
            ("dedupe_percentage=50", 950..=1100),
            ("dedupe_percentage=90", 150..=250),
            ("dedupe_percentage=100", 1..=1),
            (
                "dedupe_percentage=80\ndedupe_mode=working_set\ndedupe_working_set_percentage=5",
                350..=470,
            ),
        ] {
            let count = distinct(&written(options));
            assert!(expected.contains(&count), "{options}: {count}");
        }
    }

    #[test]
    fn compressible_data_end_each_chunk() {
        for (options, random, rest) in [
            ("buffer_compress_percentage=50", 256, 0),
            ("buffer_compress_percentage=33", 343, 0),
            ("buffer_compress_percentage=100", 0, 0),
            (
                "buffer_compress_percentage=50\nbuffer_pattern=0xaa",
                256,
                0xaa,
            ),
        ] {
            let block = &written(options)[0];
            for chunk in block.chunks(512) {
                assert!(
                    chunk[random..].iter().all(|byte| *byte == rest),
                    "{options}"
                );
                let others = chunk[..random].iter().filter(|byte| **byte != rest);
                assert!(others.count() >= random * 9 / 10, "{options}");
            }
        }
        let large = &written("buffer_compress_percentage=50\nbuffer_compress_chunk=2k")[0];
        assert!(large[1024..2048].iter().all(|byte| *byte == 0));
        assert!(large[512..1024].iter().any(|byte| *byte != 0));
    }

    #[test]
    fn what_is_made_in_any_memory_is_the_same_where_it_is_determined() {
        let pattern = "buffer_pattern=0x0102\"ab\"";
        let block = &written(pattern)[0];
        assert_eq!(block[..6], [1, 2, b'a', b'b', 1, 2]);
        let text = format!("[a]\nrw=write\n{pattern}\n");
        let data = JobFile::parse("t", &text).unwrap().jobs[0].data.clone();
        let mut made = vec![7; BLOCK];
        Payload::new(data, 3, 2048).make(&mut made, 0, 1);
        assert_eq!(&made, block);
    }
}
