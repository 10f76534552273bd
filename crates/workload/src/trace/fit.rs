//! Maps the addresses of recorded requests to a device of another size.

use super::{Record, ReplayError, Trace};
use crate::OpKind;
use nandscope_units::{Bytes, SECTOR_BYTES, saturating_u32};

/// Granularity within which offsets keep their alignment, bytes.
const BLOCK: u64 = 4096;

/// Mapping of a trace to a device of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// Requests keep their offsets; one beyond the device is an error.
    #[default]
    Exact,
    /// Offsets are taken modulo the device's size (in whole blocks of 4 KiB); a request across the end becomes several,
    /// from the end and from the start. Separate areas may overlap then.
    Wrap,
    /// Touched areas keep their contents and their order and are moved so that they are spread over the device as over
    /// the recorded one (or, if its size is unknown, over the part up to the trace's last byte). A recorded byte always
    /// maps to the same byte, sequential requests stay sequential, alignment to 4 KiB stays; gaps between areas shrink
    /// or grow.
    Scale,
}

/// The records on a device of `capacity`, in whole sectors: a request that begins or ends within
/// a sector covers all of it.
pub(super) fn fit(trace: &Trace, fit: Fit, capacity: Bytes) -> Result<Vec<Record>, ReplayError> {
    let whole = trace.records().iter().map(|&r| to_sectors(r));
    match fit {
        Fit::Exact => exact(whole, capacity),
        Fit::Wrap => wrap(whole, capacity),
        Fit::Scale => {
            let moves = Moves::plan(trace, capacity)?;
            Ok(whole.map(|r| moves.apply(r)).collect())
        }
    }
}

fn to_sectors(record: Record) -> Record {
    if record.kind == OpKind::Flush {
        return record;
    }
    let start = record.offset.0 / SECTOR_BYTES * SECTOR_BYTES;
    // The largest length of a record, 2^32 - 1, would round up beyond 32 bits.
    let most = u64::from(u32::MAX) / SECTOR_BYTES * SECTOR_BYTES;
    let end = record
        .end()
        .div_ceil(SECTOR_BYTES)
        .saturating_mul(SECTOR_BYTES);
    Record {
        offset: Bytes(start),
        length: saturating_u32((end - start).min(most)),
        ..record
    }
}

fn exact(
    records: impl Iterator<Item = Record>,
    capacity: Bytes,
) -> Result<Vec<Record>, ReplayError> {
    records
        .zip(1u64..)
        .map(|(record, number)| {
            if record.end() > capacity.0 {
                return Err(ReplayError::Beyond {
                    record: number,
                    end: record.end(),
                    capacity,
                });
            }
            Ok(record)
        })
        .collect()
}

fn wrap(
    records: impl Iterator<Item = Record>,
    capacity: Bytes,
) -> Result<Vec<Record>, ReplayError> {
    let size = usable(capacity)?;
    let mut out = Vec::new();
    for (record, number) in records.zip(1u64..) {
        if u64::from(record.length) > size {
            return Err(ReplayError::Beyond {
                record: number,
                end: record.end(),
                capacity,
            });
        }
        let start = record.offset.0 % size;
        let first = saturating_u32(size - start).min(record.length);
        out.push(Record {
            offset: Bytes(start),
            length: first,
            ..record
        });
        if first < record.length {
            out.push(Record {
                offset: Bytes::ZERO,
                length: record.length - first,
                ..record
            });
        }
    }
    Ok(out)
}

fn usable(capacity: Bytes) -> Result<u64, ReplayError> {
    let size = capacity.0 / BLOCK * BLOCK;
    if size == 0 {
        return Err(ReplayError::TooSmall(capacity));
    }
    Ok(size)
}

/// A run of touched blocks, and its new position. In blocks of 4 KiB.
#[derive(Clone, Copy, Debug)]
struct Area {
    from: u64,
    blocks: u64,
    to: u64,
}

/// All areas, in the order of their addresses.
struct Moves(Vec<Area>);

impl Moves {
    fn plan(trace: &Trace, capacity: Bytes) -> Result<Moves, ReplayError> {
        let size = usable(capacity)? / BLOCK;
        let mut areas = touched(trace);
        let footprint: u64 = areas.iter().map(|a| a.blocks).sum();
        if footprint > size {
            return Err(ReplayError::Footprint {
                footprint: Bytes(footprint.saturating_mul(BLOCK)),
                capacity,
            });
        }
        let recorded = trace.extent().0.max(trace.capacity().map_or(0, |c| c.0));
        let recorded = recorded.div_ceil(BLOCK).max(1);
        let mut free = 0;
        for area in &mut areas {
            let scaled = (u128::from(area.from) * u128::from(size) / u128::from(recorded)) as u64;
            area.to = scaled.max(free);
            free = area.to + area.blocks;
        }
        // On a smaller device the last ones were pushed over the end: push them back.
        let mut limit = size;
        for area in areas.iter_mut().rev() {
            area.to = area.to.min(limit - area.blocks);
            limit = area.to;
        }
        Ok(Moves(areas))
    }

    fn apply(&self, record: Record) -> Record {
        if record.kind == OpKind::Flush {
            return record;
        }
        let block = record.offset.0 / BLOCK;
        let after = self.0.partition_point(|a| a.from <= block);
        // Every block of the trace is in an area, so there is one before `after`.
        let Some(area) = after.checked_sub(1).and_then(|i| self.0.get(i)) else {
            return record;
        };
        Record {
            offset: Bytes((area.to + (block - area.from)) * BLOCK + record.offset.0 % BLOCK),
            ..record
        }
    }
}

/// The blocks that the trace touches, neighbours joined.
fn touched(trace: &Trace) -> Vec<Area> {
    let mut spans: Vec<(u64, u64)> = trace
        .records()
        .iter()
        .filter(|r| r.kind != OpKind::Flush)
        .map(|r| (r.offset.0 / BLOCK, r.end().div_ceil(BLOCK)))
        .collect();
    spans.sort_unstable();
    let mut areas: Vec<Area> = Vec::new();
    for (from, end) in spans {
        match areas.last_mut() {
            Some(last) if from <= last.from + last.blocks => {
                last.blocks = last.blocks.max(end - last.from);
            }
            _ => areas.push(Area {
                from,
                blocks: end - from,
                to: 0,
            }),
        }
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::Nanos;
    use proptest::prelude::*;

    fn at(offset: u64, length: u32) -> Record {
        Record {
            time: Nanos::ZERO,
            offset: Bytes(offset),
            length,
            kind: OpKind::Write,
        }
    }

    fn trace(records: &[Record], capacity: Option<u64>) -> Trace {
        Trace::new(records.to_vec(), true, capacity.map(Bytes))
    }

    #[test]
    fn exact_refuses_what_is_beyond() {
        let t = trace(&[at(0, 4096), at(8192, 4096)], None);
        assert_eq!(fit(&t, Fit::Exact, Bytes(12288)).unwrap(), t.records());
        let error = fit(&t, Fit::Exact, Bytes(8192)).unwrap_err();
        assert!(matches!(
            error,
            ReplayError::Beyond {
                record: 2,
                end: 12288,
                ..
            }
        ));
    }

    #[test]
    fn wrap_splits_at_the_end() {
        let t = trace(&[at(20480 + 4096, 8192)], None);
        let out = fit(&t, Fit::Wrap, Bytes(8192 + 100)).unwrap();
        assert_eq!(out, [at(0, 8192)]);
        let out = fit(&t, Fit::Wrap, Bytes(12288)).unwrap();
        assert_eq!(out, [at(0, 8192)]);
        let out = fit(&t, Fit::Wrap, Bytes(28672)).unwrap();
        assert_eq!(out, [at(24576, 4096), at(0, 4096)]);
        assert!(fit(&t, Fit::Wrap, Bytes(4096)).is_err());
        assert_eq!(
            fit(&t, Fit::Wrap, Bytes(4095)),
            Err(ReplayError::TooSmall(Bytes(4095)))
        );
    }

    #[test]
    fn requests_grow_to_whole_sectors() {
        let t = trace(&[at(1000, 100)], None);
        assert_eq!(fit(&t, Fit::Exact, Bytes(4096)).unwrap(), [at(512, 1024)]);
    }

    #[test]
    fn scaling_spreads_areas_and_keeps_runs() {
        // Two runs, at the start and in the middle of a device of 1 MiB.
        let records = [
            at(0, 4096),
            at(4096, 4096),
            at(512 << 10, 8192),
            at((512 << 10) + 8192, 512),
        ];
        let t = trace(&records, Some(1 << 20));
        let double = fit(&t, Fit::Scale, Bytes(2 << 20)).unwrap();
        let offsets: Vec<u64> = double.iter().map(|r| r.offset.0).collect();
        assert_eq!(offsets, [0, 4096, 1 << 20, (1 << 20) + 8192]);
        // On 20 KiB there is only room for the areas, without gaps.
        let tight = fit(&t, Fit::Scale, Bytes(20 << 10)).unwrap();
        let offsets: Vec<u64> = tight.iter().map(|r| r.offset.0).collect();
        assert_eq!(offsets, [0, 4096, 8192, 16384]);
        assert!(matches!(
            fit(&t, Fit::Scale, Bytes(16 << 10)),
            Err(ReplayError::Footprint {
                footprint: Bytes(20480),
                ..
            })
        ));
    }

    proptest! {
        #[test]
        fn scaling_is_in_bounds_order_and_alignment(
            spans in proptest::collection::vec((0..1u64 << 30, 1..300_000u32), 1..40),
            capacity in 16_000_000..1u64 << 34,
        ) {
            let records: Vec<Record> = spans.iter().map(|&(o, l)| to_sectors(at(o, l))).collect();
            let t = trace(&records, None);
            let out = fit(&t, Fit::Scale, Bytes(capacity)).unwrap();
            for (a, b) in records.iter().zip(&out) {
                prop_assert!(b.end() <= capacity);
                prop_assert_eq!((a.offset.0 % BLOCK, a.length), (b.offset.0 % BLOCK, b.length));
            }
            // The map is a function that keeps order, and keeps distances within a run.
            for (a, x) in records.iter().zip(&out) {
                for (b, y) in records.iter().zip(&out) {
                    prop_assert_eq!(a.offset.0.cmp(&b.offset.0), x.offset.0.cmp(&y.offset.0));
                    if b.offset.0 >= a.offset.0 && b.offset.0 <= a.end() {
                        prop_assert_eq!(b.offset.0 - a.offset.0, y.offset.0 - x.offset.0);
                    }
                }
            }
        }

        #[test]
        fn wrapping_keeps_bytes_and_bounds(spans in proptest::collection::vec((0..u64::MAX / 2, 1..1u32 << 20), 1..40), capacity in (2u64 << 20)..1 << 30) {
            let records: Vec<Record> = spans.iter().map(|&(o, l)| to_sectors(at(o, l))).collect();
            let out = fit(&trace(&records, None), Fit::Wrap, Bytes(capacity)).unwrap();
            let bytes = |all: &[Record]| all.iter().map(|r| u64::from(r.length)).sum::<u64>();
            prop_assert_eq!(bytes(&records), bytes(&out));
            prop_assert!(out.iter().all(|r| r.end() <= capacity && r.offset.0 % 512 == 0));
        }
    }
}
