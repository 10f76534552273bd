//! Figures of a shelf by procedure: results of different procedures are not compared, even if their figures have the
//! same name.

use super::Drive;
use crate::compare::Alignment;
use crate::compare::Row;
use crate::compare::rows::all_rows;
use nandscope_result::ResultDocument;

/// All results of one procedure.
pub(super) struct TestSet<'a> {
    /// Name of the procedure.
    pub procedure: &'a str,
    /// Numbers of the drives of the results.
    pub drives: Vec<usize>,
    /// Results of the procedure, one per drive.
    pub documents: Vec<&'a ResultDocument>,
    /// Hosts on which the results are compared.
    pub alignment: Alignment,
    /// Figures; the values are those of `documents`, in the same order.
    pub rows: Vec<Row>,
}

/// One set for each procedure, that of the most drives first.
pub(super) fn sets(drives: &[Drive]) -> Vec<TestSet<'_>> {
    let mut sets: Vec<TestSet> = Vec::new();
    for (i, drive) in drives.iter().enumerate() {
        for document in &drive.results {
            match sets.iter_mut().find(|s| s.procedure == document.procedure) {
                Some(set) => {
                    set.drives.push(i);
                    set.documents.push(document);
                }
                None => sets.push(TestSet {
                    procedure: &document.procedure,
                    drives: vec![i],
                    documents: vec![document],
                    alignment: Alignment::or_across(&[]),
                    rows: Vec::new(),
                }),
            }
        }
    }
    for set in &mut sets {
        set.alignment = Alignment::or_across(&set.documents);
        set.rows = all_rows(&set.documents, &set.alignment);
    }
    sets.sort_by_key(|s| std::cmp::Reverse(s.drives.len()));
    sets
}

impl TestSet<'_> {
    /// Place of a drive's result in the set.
    pub fn place_of(&self, drive: usize) -> Option<usize> {
        self.drives.iter().position(|d| *d == drive)
    }
}
