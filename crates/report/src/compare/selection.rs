//! Selection of charted figures: some of each kind, so that the many figures of one benchmark do not crowd out power
//! and long writes.

use super::row::Row;
use crate::view::ranking;

/// Figures with a better direction that at least two documents have, at most `most` of a kind, in their order. If the
/// rate of a test is charted, its latency, operations per second and parts are not.
pub(crate) fn charted(rows: &[Row], most: usize) -> Vec<&Row> {
    let mut kinds: Vec<(usize, usize)> = Vec::new();
    let comparable = |row: &&Row| {
        row.better().is_some() && row.values.iter().flatten().count() > 1 && !is_part(row, rows)
    };
    let chosen = rows.iter().filter(comparable).filter(|row| {
        let kind = ranking::rank(&row.id);
        match kinds.iter_mut().find(|k| k.0 == kind) {
            Some((_, count)) => {
                *count += 1;
                *count <= most
            }
            None => {
                kinds.push((kind, 1));
                most > 0
            }
        }
    });
    chosen.collect()
}

/// Whether a figure is derived from a test whose rate has its own figure.
fn is_part(row: &Row, rows: &[Row]) -> bool {
    rows.iter().any(|whole| {
        let rest = row.id.strip_prefix(&whole.id);
        !whole.id.is_empty()
            && whole.unit == "MB/s"
            && rest.is_some_and(|rest| rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, unit: &str) -> Row {
        Row {
            title: id.into(),
            unit: unit.into(),
            values: vec![Some(1.0), Some(2.0)],
            id: id.into(),
            answer: false,
            baseline: 0,
        }
    }

    #[test]
    fn no_kind_crowds_out_the_others() {
        let mut rows: Vec<Row> = (0..20)
            .flat_map(|i| {
                let rate = format!("cdm.test-{i}.read");
                [row(&rate, "MB/s"), row(&format!("{rate}.latency"), "µs")]
            })
            .collect();
        rows.extend([
            row("power.peak", "W"),
            row("energy", "kJ"),
            row("energy.per-gb", "J/GB"),
            row("fill.end", "GB"),
        ]);
        let mut single = row("power.mean", "W");
        single.values[1] = None;
        rows.push(single);
        let chosen: Vec<&str> = charted(&rows, 2).iter().map(|r| r.id.as_str()).collect();
        let expected = [
            "cdm.test-0.read",
            "cdm.test-1.read",
            "power.peak",
            "energy.per-gb",
        ];
        assert_eq!(chosen, expected);
    }
}
