//! Values of an option by direction. Flushes have no value.

use crate::OpKind;

/// One value each for reads, writes and trims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerKind<T> {
    /// Value of reads.
    pub read: T,
    /// Value of writes.
    pub write: T,
    /// Value of trims.
    pub trim: T,
}

impl<T: Clone> PerKind<T> {
    /// The same value for all.
    pub fn all(value: T) -> Self {
        PerKind {
            read: value.clone(),
            write: value.clone(),
            trim: value,
        }
    }
}

impl<T> PerKind<T> {
    /// The value for a kind of operation; flushes have that of writes.
    pub fn get(&self, kind: OpKind) -> &T {
        match kind {
            OpKind::Read => &self.read,
            OpKind::Write | OpKind::Flush => &self.write,
            OpKind::Trim => &self.trim,
        }
    }

    /// The value of a direction, writable.
    pub fn get_mut(&mut self, kind: OpKind) -> &mut T {
        match kind {
            OpKind::Read => &mut self.read,
            OpKind::Write | OpKind::Flush => &mut self.write,
            OpKind::Trim => &mut self.trim,
        }
    }

    /// Reads, writes, trims, in that order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.read, &self.write, &self.trim].into_iter()
    }

    /// One text if all directions have the same value, otherwise `read,write,trim`.
    pub(crate) fn text(&self, show: impl Fn(&T) -> String) -> String
    where
        T: PartialEq,
    {
        if self.read == self.write && self.write == self.trim {
            return show(&self.read);
        }
        let parts: Vec<String> = self.iter().map(show).collect();
        parts.join(",")
    }
}
