//! Ranks file systems by measured times.

use super::{Measured, MeasuredRow, Purpose};
use nandscope_result::recording::{CAMERA, LATE_MAX_S};

/// Times below this are equal in the ranking, s.
const LEAST_S: f64 = 1e-3;

/// Times of all file systems in one workload.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Name of the workload.
    pub(super) workload: String,
    /// File system and time, s: the duration of the workload; for [`CAMERA`], the largest delay of a piece of video.
    pub(super) seconds: Vec<(String, f64)>,
}

/// File systems of one card, ranked by one or several workloads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranking {
    /// Description of the card and host of the measurements.
    source: String,
    /// Names of the file systems, best first.
    order: Vec<String>,
    /// Times, one row per workload.
    rows: Vec<Row>,
}

impl Ranking {
    /// Ranks the file systems that occur in every row, by the geometric mean of their times; `None` without such file systems.
    pub(super) fn new(source: String, mut rows: Vec<Row>) -> Option<Self> {
        let of = |row: &Row, name: &str| row.seconds.iter().find(|s| s.0 == name).map(|s| s.1);
        let mean = |name: &str| -> Option<f64> {
            let logs = rows
                .iter()
                .map(|row| of(row, name).map(|s| libm::log(s.max(LEAST_S))));
            logs.sum()
        };
        let names = rows.first()?.seconds.iter().map(|s| s.0.clone());
        let mut order: Vec<(String, f64)> =
            names.filter_map(|n| mean(&n).map(|m| (n, m))).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let order: Vec<String> = order.into_iter().map(|(name, _)| name).collect();
        for row in &mut rows {
            let place = |name: &str| order.iter().position(|n| n == name);
            row.seconds.retain(|s| place(&s.0).is_some());
            row.seconds.sort_by_key(|s| place(&s.0));
        }
        (!order.is_empty()).then_some(Ranking {
            source,
            order,
            rows,
        })
    }

    /// Names of the file systems, best first.
    pub(super) fn order(&self) -> Vec<String> {
        self.order.clone()
    }

    /// Whether the best file system keeps up; always true for workloads without a schedule.
    pub(super) fn keeps_up(&self) -> bool {
        self.kept_up().is_none_or(|names| !names.is_empty())
    }

    /// File systems on which a recording keeps up; `None` for workloads without a schedule.
    fn kept_up(&self) -> Option<Vec<&str>> {
        let row = self.rows.iter().find(|row| row.workload == CAMERA)?;
        let kept = row.seconds.iter().filter(|s| s.1 <= LATE_MAX_S);
        Some(kept.map(|s| s.0.as_str()).collect())
    }

    /// Names the best file system.
    pub(super) fn answer(&self, purpose: Purpose) -> String {
        let first = self.order.first().map_or("", String::as_str);
        let (count, what) = (self.order.len(), purpose.name());
        match self.kept_up() {
            None if count == 1 => format!("{first} is the only one measured for {what}"),
            None => format!("{first} is the fastest of {count} for {what}"),
            Some(kept) if kept.is_empty() => format!(
                "no file system keeps up with {what}, so none is recommended: on each of {count}, parts of the video are written more than {LATE_MAX_S:.0} s late. Use a faster card, or record at a lower rate"
            ),
            Some(kept) => format!(
                "{first} has the shortest delays of {count} for {what}; {} keep up ({})",
                kept.len(),
                kept.join(", ")
            ),
        }
    }

    /// Card and host of the measurements, and their limits.
    pub(super) fn evidence(&self) -> String {
        format!(
            "{}. The file systems were new and the runs short: the costs of garbage collection and of a full file system are not included",
            self.source
        )
    }

    /// All times, the best file system first.
    pub(super) fn table(&self) -> Measured {
        let time = |row: &Row, name: &str| row.seconds.iter().find(|s| s.0 == name).map(|s| s.1);
        let row = |name: &String| MeasuredRow {
            file_system: name.clone(),
            values: self.rows.iter().filter_map(|r| time(r, name)).collect(),
        };
        Measured {
            columns: self.rows.iter().map(Row::title).collect(),
            rows: self.order.iter().map(row).collect(),
        }
    }
}

impl Row {
    /// Workload, quantity and unit.
    fn title(&self) -> String {
        match self.workload.as_str() {
            CAMERA => format!("{CAMERA}: largest delay, s"),
            workload => format!("{workload}, s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workload: &str, seconds: &[(&str, f64)]) -> Row {
        Row {
            workload: workload.into(),
            seconds: seconds.iter().map(|(n, s)| (n.to_string(), *s)).collect(),
        }
    }

    #[test]
    fn the_slowest_file_system_is_last_and_nothing_is_advised_where_none_keeps_up() {
        let late = [("NILFS2", 31.0), ("ext4", 12.5), ("exFAT", 2.1)];
        let none = Ranking::new("here".into(), vec![row(CAMERA, &late)]).unwrap();
        assert_eq!(none.order(), ["exFAT", "ext4", "NILFS2"]);
        assert!(!none.keeps_up());
        assert!(
            none.answer(Purpose::Camera)
                .starts_with("no file system keeps up")
        );
        let table = none.table();
        assert_eq!(table.columns, ["camera: largest delay, s"]);
        let second = &table.rows[1];
        assert_eq!(
            (second.file_system.as_str(), &second.values[..]),
            ("ext4", &[12.5][..])
        );
        let late = [("NILFS2", 3.0), ("ext4", 0.0), ("exFAT", 2.0)];
        let two = Ranking::new("here".into(), vec![row(CAMERA, &late)]).unwrap();
        assert!(two.keeps_up());
        let answer = two.answer(Purpose::Camera);
        assert!(answer.contains("2 keep up (ext4, exFAT)"), "{answer}");
    }

    #[test]
    fn only_file_systems_of_every_workload_are_ranked() {
        let first = row("build", &[("ext4", 1.0), ("F2FS", 8.0), ("XFS", 1.0)]);
        let second = row("untar", &[("ext4", 4.0), ("F2FS", 1.0)]);
        let ranking = Ranking::new("here".into(), vec![first, second]).unwrap();
        assert_eq!(ranking.order(), ["ext4", "F2FS"]);
        assert!(ranking.keeps_up());
        let rows = ranking.table().rows;
        assert_eq!(rows[0].values, [1.0, 4.0]);
        assert!(rows.iter().all(|row| row.file_system != "XFS"));
        assert_eq!(Ranking::new("here".into(), Vec::new()), None);
    }
}
