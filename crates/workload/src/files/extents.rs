//! A source of operations from a list of extents: long ranges that are worked through in chunks.

use crate::{Op, OpKind, OpSource, TimedOp};
use nandscope_units::{Bytes, saturating_u32};

/// A range and the operation on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Kind of the operation.
    pub kind: OpKind,
    /// Offset of the first byte.
    pub offset: Bytes,
    /// Length in bytes; zero for a flush.
    pub length: u64,
    /// Largest length of one operation, bytes, not zero; the last operation covers the rest.
    pub chunk: u32,
}

impl Extent {
    /// Extent of a flush, without a range.
    pub(super) const FLUSH: Extent = Extent {
        kind: OpKind::Flush,
        offset: Bytes::ZERO,
        length: 0,
        chunk: 0,
    };
}

/// A source of operations on extents in order, without due times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtentSource {
    extents: Vec<Extent>,
    next: usize,
    done_of_next: u64,
}

impl ExtentSource {
    /// A source of these extents.
    pub fn new(extents: Vec<Extent>) -> Self {
        ExtentSource {
            extents,
            next: 0,
            done_of_next: 0,
        }
    }

    /// The extents, in the order of the work.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }
}

impl OpSource for ExtentSource {
    fn next_op(&mut self) -> Option<TimedOp> {
        let extent = *self.extents.get(self.next)?;
        let left = extent.length - self.done_of_next;
        // A chunk of zero would never end; it means one operation for all.
        let chunk = if extent.chunk == 0 {
            u32::MAX
        } else {
            extent.chunk
        };
        let length = saturating_u32(left).min(chunk);
        let offset = extent.offset + Bytes(self.done_of_next);
        self.done_of_next += u64::from(length);
        if self.done_of_next == extent.length {
            self.next += 1;
            self.done_of_next = 0;
        }
        let op = Op {
            kind: extent.kind,
            offset,
            length,
        };
        Some(TimedOp { op, due: None })
    }

    fn restart(&mut self) {
        self.next = 0;
        self.done_of_next = 0;
    }

    fn expected_bytes(&self) -> Option<u64> {
        let moved = |e: &&Extent| matches!(e.kind, OpKind::Read | OpKind::Write);
        Some(self.extents.iter().filter(moved).map(|e| e.length).sum())
    }

    fn largest(&self) -> Option<u32> {
        let moved = self
            .extents
            .iter()
            .filter(|e| matches!(e.kind, OpKind::Read | OpKind::Write));
        let whole = |e: &Extent| u32::try_from(e.length).unwrap_or(u32::MAX);
        moved
            .map(|e| {
                if e.chunk == 0 {
                    whole(e)
                } else {
                    e.chunk.min(whole(e))
                }
            })
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_extents() {
        let extents = vec![
            Extent {
                kind: OpKind::Write,
                offset: Bytes(1 << 20),
                length: 2560,
                chunk: 1024,
            },
            Extent::FLUSH,
            Extent {
                kind: OpKind::Read,
                offset: Bytes(4096),
                length: 512,
                chunk: 1 << 20,
            },
        ];
        let mut source = ExtentSource::new(extents);
        assert_eq!(source.expected_bytes(), Some(3072));
        let expected = [
            (OpKind::Write, 1 << 20, 1024),
            (OpKind::Write, (1 << 20) + 1024, 1024),
            (OpKind::Write, (1 << 20) + 2048, 512),
            (OpKind::Flush, 0, 0),
            (OpKind::Read, 4096, 512),
        ];
        for _pass in 0..2 {
            let ops: Vec<_> = std::iter::from_fn(|| source.next_op())
                .map(|t| (t.op.kind, t.op.offset.0, t.op.length))
                .collect();
            assert_eq!(ops, expected);
            source.restart();
        }
    }
}
