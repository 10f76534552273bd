//! The date of an output: the end of the run, in UTC.

use nandscope_result::WallClock;

const DAY_S: u64 = 86_400;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// An instant, milliseconds after 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date(pub u64);

impl Date {
    /// End of the run, or the present while it continues; 0 if its start is unknown.
    pub fn of(wall: &WallClock) -> Date {
        let started = wall.started.as_deref().and_then(seconds).unwrap_or(0);
        let elapsed = wall.elapsed_s.filter(|s| s.is_finite()).unwrap_or(0.0);
        Date(
            started
                .saturating_mul(1000)
                .saturating_add((elapsed * 1e3) as u64),
        )
    }

    /// Whole seconds.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Date in the format of the C library's `ctime`: `Fri Nov 27 14:04:03 2026`.
    pub fn text(self) -> String {
        let (days, second) = (self.seconds() / DAY_S, self.seconds() % DAY_S);
        let (year, month, day) = civil(days);
        format!(
            "{} {} {day:2} {:02}:{:02}:{:02} {year}",
            DAYS[(days % 7) as usize],
            MONTHS[month],
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: usize) -> u64 {
    match month {
        1 => 28 + u64::from(is_leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Year, month from 0 and day of the month of a day after 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    // 400 years have the same number of days each time.
    const ERA_DAYS: u64 = 146_097;
    let mut year = 1970 + 400 * (days / ERA_DAYS);
    days %= ERA_DAYS;
    loop {
        let length = 365 + u64::from(is_leap(year));
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let mut month = 0;
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

/// Seconds after 1970-01-01 of a time such as `2026-11-27T14:04:03Z`.
fn seconds(text: &str) -> Option<u64> {
    let field = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month) && day >= 1;
    if !is_date || !text.ends_with('Z') {
        return None;
    }
    let years: u64 = (1970..year).map(|y| 365 + u64::from(is_leap(y))).sum();
    let months: u64 = (0..month as usize - 1).map(|m| days_of(year, m)).sum();
    let days = years + months + day - 1;
    Some(days * DAY_S + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        let wall = |started: &str, elapsed| WallClock {
            started: Some(started.to_string()),
            elapsed_s: Some(elapsed),
        };
        let date = Date::of(&wall("2026-11-27T14:04:03Z", 1.25));
        assert_eq!(date.0, 1_795_788_244_250);
        assert_eq!(date.text(), "Fri Nov 27 14:04:04 2026");
        let date = Date::of(&wall("2024-02-29T23:59:59Z", 1.0));
        assert_eq!(date.text(), "Fri Mar  1 00:00:00 2024");
        assert_eq!(Date(0).text(), "Thu Jan  1 00:00:00 1970");
        assert_eq!(Date::of(&wall("yesterday", 0.0)), Date(0));
        assert!(Date(u64::MAX).text().len() > 20, "no date is too far");
    }
}
