//! Measurements of file systems in a result of `nandscope fs`.

use super::Purpose;
use super::ranking::{Ranking, Row};
use nandscope_result::recording::{CAMERA, LATE};
use nandscope_result::{ResultDocument, procedure};

/// File systems: names in the ids of figures, and usual names.
const NAMES: [(&str, &str); 7] = [
    ("ext4", "ext4"),
    ("f2fs", "F2FS"),
    ("nilfs2", "NILFS2"),
    ("vfat", "FAT32"),
    ("exfat", "exFAT"),
    ("btrfs", "btrfs"),
    ("xfs", "XFS"),
];

/// File systems ranked for one purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements(Ranking);

impl Measurements {
    /// Reads the times for a purpose from a result; only default options and the first seed count.
    ///
    /// # Errors
    /// A message with the missing workloads and the command that measures them.
    pub fn of(document: &ResultDocument, purpose: Purpose) -> Result<Self, String> {
        let workloads = purpose.workloads().join(",");
        let how = format!("`nandscope fs TARGET --workload {workloads} -o DIR` measures it");
        if document.procedure != procedure::FILE_SYSTEMS {
            return Err(format!("not a result of `nandscope fs`; {how}"));
        }
        let rows: Vec<Row> = purpose
            .workloads()
            .iter()
            .filter_map(|workload| row(document, workload))
            .collect();
        let source = format!(
            "measured on {} ({})",
            document.target.model, document.target.name
        );
        Ranking::new(source, rows)
            .map(Measurements)
            .ok_or_else(|| format!("no file system was measured with {workloads}; {how}"))
    }

    pub(super) fn ranking(&self) -> Ranking {
        self.0.clone()
    }
}

fn row(document: &ResultDocument, workload: &str) -> Option<Row> {
    let what = if workload == CAMERA { LATE } else { "time" };
    let seconds = |(name, title): &(&str, &str)| {
        let id = format!("fs.{workload}-{name}.{what}");
        let found = document.figures.iter().find(|f| f.id == id)?;
        let sane = found.value.is_finite() && found.value >= 0.0;
        sane.then(|| (title.to_string(), found.value))
    };
    let seconds: Vec<(String, f64)> = NAMES.iter().filter_map(seconds).collect();
    (!seconds.is_empty()).then(|| Row {
        workload: workload.to_string(),
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Figure, TargetInfo};

    fn document(figures: &[(&str, f64)]) -> ResultDocument {
        let figure = |(id, value): &(&str, f64)| Figure {
            id: id.to_string(),
            value: *value,
            ..Figure::default()
        };
        let target = TargetInfo::default();
        ResultDocument {
            figures: figures.iter().map(figure).collect(),
            ..ResultDocument::begin(procedure::FILE_SYSTEMS, String::new(), 1, target)
        }
    }

    #[test]
    fn a_result_ranks_what_it_has_and_the_default_options_only() {
        let found = document(&[
            ("fs.camera-ext4.late", 9.0),
            ("fs.camera-ext4.time", 1.0),
            ("fs.camera-nilfs2.late", 40.0),
            ("fs.camera-xfs.late", f64::NAN),
            ("fs.camera-f2fs-s4.late", 0.0),
        ]);
        let ranking = Measurements::of(&found, Purpose::Camera).unwrap();
        assert_eq!(ranking.ranking().order(), ["ext4", "NILFS2"]);
        let none = Measurements::of(&found, Purpose::Log).unwrap_err();
        assert!(none.contains("--workload log"), "{none}");
        let other = ResultDocument {
            procedure: procedure::PROBE.into(),
            ..found
        };
        let refused = Measurements::of(&other, Purpose::Camera).unwrap_err();
        assert!(
            refused.starts_with("not a result of `nandscope fs`"),
            "{refused}"
        );
    }
}
