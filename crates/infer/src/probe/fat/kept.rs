//! Finds first AUs that are kept open in addition to as many others as stay open: a small write to such an AU closes none of the
//! others, so that the data is written as quickly as before.

use super::{FIRST, Unit, in_order_from};
use crate::flashbench::{Knee, OpenAu, OpenUnits, PIECES, median, shuffled};
use crate::probe::Probing;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Number of small writes to an AU: maximum; then minimum if the AU seems to be kept open.
const TURNS: (usize, usize) = (5, 3);
/// Least factor by which a small write beside k data AUs must delay the data; otherwise no delay means nothing.
const HARM: f64 = 1.5;
/// Least delay of the data after a small write to an AU that is not kept open, as a share of the delay after one beside the data.
/// A smaller delay may only be the end of a write that the host left open, with no AU closed.
const AS_SLOW: f64 = 0.6;
/// Largest delay with which the data counts as quick, as a share of the delay after a small write to an AU beside the
/// data.
const AS_QUICK: f64 = 0.25;
/// Factor of the time without a small write below which the data takes the same time.
const SAME: f64 = 1.25;
/// Least delay of every AU, in multiples of their spread, from which all delays count as equal.
const ALIKE: f64 = 3.0;
/// Factor of the delay from which two small writes are enough for a conclusion.
const DEEP: f64 = 8.0;
/// Number of AUs that must be known not to be kept open if the time ends early.
const OTHERS: usize = 3;

/// Least delay of a read after a small write that shows that the write leaves part of its cost to later operations, as a share of
/// the delay of the data.
const LEFT: f64 = 0.1;

/// Target of the small write of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Small {
    /// No small write, but a read of the same length: interrupting the writes takes time on some hosts.
    None,
    /// To the first AU of this number.
    First(u32),
    /// A small write to an AU beside those with data.
    Beside,
}

/// How writes of data and small writes alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    /// Length of the small writes, bytes.
    piece: u64,
    /// Reverses the order of the data AUs in every other round. A card that closes the least recently used AU then closes two AUs
    /// per small write, the first data AU and that of the small write; without reversing, it closes all of them, which takes
    /// long, but shows deferred merges.
    turning: bool,
    /// Opens new data AUs before every small write: after closing an AU that is not full, some cards merge again for every piece.
    fresh: bool,
}

/// Attempts, the quickest first, until one gives an answer.
const ATTEMPTS: [Attempt; 6] = [
    attempt(PIECES[0], true, false),
    attempt(PIECES[1], true, false),
    attempt(PIECES[1], false, false),
    attempt(PIECES[0], false, false),
    attempt(PIECES[0], true, true),
    attempt(PIECES[1], true, true),
];

const fn attempt(piece: u64, turning: bool, fresh: bool) -> Attempt {
    Attempt {
        piece,
        turning,
        fresh,
    }
}

/// The first AUs that are kept open; `None` if that cannot be shown before `end`.
pub(super) fn kept_open<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: Unit,
    units: u32,
    open: Option<OpenUnits>,
    end: Nanos,
) -> Result<Option<Vec<u32>>, ProbeError> {
    let Some(OpenUnits {
        knee: Knee::At { units: data, .. },
        length,
    }) = open
    else {
        return Ok(None);
    };
    let plan = in_order_from(FIRST + 1, unit.size, probing.options.seed);
    if plan.fitting(probing.target.whole(), data + 2) < data + 2 {
        return Ok(None);
    }
    for attempt in ATTEMPTS {
        let mut rounds = Rounds {
            plan,
            data,
            length,
            attempt,
            round: 0,
            turn: 0,
            slowest: Nanos::ZERO,
            times: Vec::new(),
            ended_by_reads: false,
            end,
        };
        let Some(levels) = rounds.harm(probing)? else {
            continue;
        };
        let kept = rounds.first_units(probing, units, levels)?;
        match kept {
            None => {}
            Some(kept) if kept.is_empty() && rounds.leave_cost(probing, levels)? => {
                return rounds.again_with_reads(probing, units);
            }
            kept => return Ok(kept),
        }
    }
    Ok(None)
}

/// Rounds of one attempt: a small write, then one piece into each data AU.
struct Rounds {
    plan: OpenAu,
    data: u32,
    /// Length of the pieces of data, bytes.
    length: u64,
    attempt: Attempt,
    round: u64,
    turn: usize,
    /// Time of the slowest round so far.
    slowest: Nanos,
    /// Times of the data after each small write, s.
    times: Vec<(Small, f64)>,
    /// Reads after each small write: a card reader that keeps a write command open ends it for a read, so that its cost does not
    /// delay the data.
    ended_by_reads: bool,
    /// No round starts that may end later.
    end: Nanos,
}

impl Rounds {
    fn of(&self, small: Small) -> Vec<f64> {
        let times = self.times.iter().filter(|t| t.0 == small);
        times.map(|t| t.1).collect()
    }

    /// Times of the data without a small write and after one beside it, s; `None` if the latter is not slower, or the time ends.
    fn harm<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
    ) -> Result<Option<(f64, f64)>, ProbeError> {
        while self.turn < TURNS.0 && self.turn(probing, &[Small::None, Small::Beside])? {
            let (alone, beside) = (self.of(Small::None), self.of(Small::Beside));
            if let Some(levels) = levels(alone, beside) {
                return Ok(Some(levels));
            }
        }
        Ok(None)
    }

    /// Whether a small write leaves part of its cost to later operations: a read after a write takes longer than a read after a
    /// read. `false` if the time ends before.
    fn leave_cost<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        (fast, slow): (f64, f64),
    ) -> Result<bool, ProbeError> {
        let (mut after_write, mut after_read) = (Vec::new(), Vec::new());
        let (elsewhere, piece) = (Bytes(self.beside()), Bytes(self.piece()));
        for _ in 0..TURNS.1 {
            if probing.target.now() + self.slowest > self.end {
                return Ok(false);
            }
            self.data(probing)?;
            self.small(probing, Small::Beside)?;
            for times in [&mut after_write, &mut after_read] {
                times.push(probing.timed(|p| p.read(elsewhere, piece))?.as_secs_f64());
            }
        }
        let left = median(&after_write) - median(&after_read);
        Ok(left >= LEFT * (slow - fast))
    }

    /// Repeats the test with a read after each small write, if no AU seems to be kept open.
    fn again_with_reads<T: Target>(
        mut self,
        probing: &mut Probing<'_, T>,
        units: u32,
    ) -> Result<Option<Vec<u32>>, ProbeError> {
        self.ended_by_reads = true;
        self.times.clear();
        self.turn = 0;
        match self.harm(probing)? {
            Some(levels) => self.first_units(probing, units, levels),
            None => Ok(None),
        }
    }

    /// Writes to the first AUs in turn until it is known of each whether it is kept open, or the turns are used up.
    fn first_units<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        units: u32,
        levels: (f64, f64),
    ) -> Result<Option<Vec<u32>>, ProbeError> {
        let mut unclear: Vec<u32> = (0..units).collect();
        for _ in 0..TURNS.0 {
            let cases: Vec<Small> = unclear.iter().copied().map(Small::First).collect();
            let in_time = self.turn(probing, &cases)?;
            let times: Vec<Vec<f64>> = (0..units).map(|n| self.of(Small::First(n))).collect();
            let judged = judge(&times, levels);
            if judged.unclear.is_empty() {
                // A FAT area is a small part of the first AUs: if most seem to be kept open, merges are deferred.
                return Ok(Some(judged.kept).filter(|kept| kept.len() <= judged.others));
            }
            if !in_time {
                return Ok(judged.in_short(&times, levels));
            }
            // If small writes never delay the data, no conclusion follows from one that does not.
            if judged.others == 0 && !judged.slow && !alike(&times, levels.0) {
                break;
            }
            unclear = judged.unclear;
        }
        Ok(None)
    }

    /// One small write of each kind in random order, each followed by the data; false if the time ended before.
    fn turn<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        cases: &[Small],
    ) -> Result<bool, ProbeError> {
        let rounds = if self.attempt.fresh { 3 } else { 1 };
        let takes = |slowest: Nanos| Nanos(slowest.0.saturating_mul(rounds));
        let places = (self.plan.unit / self.length.max(1)).max(1);
        for case in shuffled(cases.len() as u32, self.plan.seed ^ self.turn as u64) {
            let small = cases[case as usize];
            if probing.target.now() + takes(self.slowest) > self.end {
                return Ok(false);
            }
            // Full AUs are followed by others; opening them does not count.
            if self.attempt.fresh && places > 2 {
                self.round = self.round.next_multiple_of(places);
                self.data(probing)?;
                self.data(probing)?;
            } else if self.round.is_multiple_of(places) {
                self.data(probing)?;
            }
            self.small(probing, small)?;
            // The time of the small write itself does not matter: the next writes show whether it closed a data AU.
            let took = self.data(probing)?;
            self.times.push((small, took.as_secs_f64()));
        }
        self.turn += 1;
        Ok(true)
    }

    /// Address of an AU that holds neither the data nor is one of the first, bytes.
    fn beside(&self) -> u64 {
        self.plan.place(u64::from(self.data) + 1)
    }

    /// Length of a small write, bytes.
    fn piece(&self) -> u64 {
        self.attempt.piece.min(self.plan.unit)
    }

    fn small<T: Target>(
        &self,
        probing: &mut Probing<'_, T>,
        small: Small,
    ) -> Result<(), ProbeError> {
        let at = match small {
            Small::First(number) => u64::from(number) * self.plan.unit,
            Small::None | Small::Beside => self.beside(),
        };
        let piece = self.piece();
        // Rewrites the same eight pieces, as updates of a table do.
        let offset = Bytes(at + self.turn as u64 * piece % (8 * piece).min(self.plan.unit));
        probing.timed(|p| {
            if small != Small::None {
                p.write(offset, Bytes(piece))?;
            }
            match small == Small::None || self.ended_by_reads {
                true => p.read(Bytes(self.beside()), Bytes(piece)),
                false => Ok(Nanos::ZERO),
            }
        })?;
        Ok(())
    }

    /// Writes a piece into each data AU; full AUs are followed by others.
    fn data<T: Target>(&mut self, probing: &mut Probing<'_, T>) -> Result<Nanos, ProbeError> {
        let backwards = self.attempt.turning && self.round % 2 == 1;
        let round = self.round;
        self.round += 1;
        let took = probing.timed(|p| self.pieces(p, round, backwards))?;
        self.slowest = self.slowest.max(took);
        Ok(took)
    }

    fn pieces<T: Target>(
        &self,
        probe: &mut Probe<'_, T>,
        round: u64,
        backwards: bool,
    ) -> Result<Nanos, ProbeError> {
        let places = (self.plan.unit / self.length.max(1)).max(1);
        // There are eleven other AUs between two interleaved ones.
        let shift = round / places % 11;
        let mut spent = Nanos::ZERO;
        for number in 0..self.data {
            let number = match backwards {
                true => self.data - 1 - number,
                false => number,
            };
            let begin = self.plan.place(u64::from(number)) + shift * self.plan.unit;
            let offset = Bytes(begin + round % places * self.length);
            spent += probe.write(offset, Bytes(self.length))?;
        }
        Ok(spent)
    }
}

/// Medians of the times of the data without a small write and after one beside it, s, if there were enough turns and the latter
/// is slower each time. With all turns, one stall on either side is tolerated.
fn levels(mut alone: Vec<f64>, mut beside: Vec<f64>) -> Option<(f64, f64)> {
    alone.sort_unstable_by(f64::total_cmp);
    beside.sort_unstable_by(f64::total_cmp);
    let turns = alone.len().min(beside.len());
    let deep = turns + 1 == TURNS.1 && beside.first() > alone.last().map(|t| DEEP * t).as_ref();
    if turns < TURNS.1 && !deep {
        return None;
    }
    let left_out = usize::from(turns >= TURNS.0);
    let most = alone.iter().rev().nth(left_out).copied();
    let least = beside.get(left_out).copied();
    let (fast, slow) = (median(&alone), median(&beside));
    (slow >= HARM * fast && least > most).then_some((fast, slow))
}

/// Classification of the first AUs by the times of the data after small writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Judged {
    /// Units that are kept open.
    kept: Vec<u32>,
    /// Number of AUs that are not kept open.
    others: usize,
    /// AUs that need more turns.
    unclear: Vec<u32>,
    /// Whether some AU was both quick and slow, as with deferred merges.
    mixed: bool,
    /// Whether any AU was slow.
    slow: bool,
}

impl Judged {
    /// The AUs kept open, as far as the turns so far show; `None` if they are not enough.
    fn in_short(self, times: &[Vec<f64>], levels: (f64, f64)) -> Option<Vec<u32>> {
        let slow = |of: &Vec<f64>| !of.is_empty() && of.iter().all(|t| *t >= bar(AS_SLOW, levels));
        if times.iter().all(slow) {
            return Some(Vec::new());
        }
        let others = self.others >= OTHERS.max(self.kept.len());
        let told = !self.kept.is_empty() && others && !self.mixed;
        told.then_some(self.kept)
    }
}

/// Time of the data with a given share of the delay after a small write beside it, s.
fn bar(share: f64, (fast, slow): (f64, f64)) -> f64 {
    fast + share * (slow - fast)
}

/// Whether small writes to all AUs delay the data by the same: then none is kept open, even if the merges happen within the small
/// writes.
fn alike(times: &[Vec<f64>], fast: f64) -> bool {
    let least = times
        .iter()
        .flatten()
        .copied()
        .fold(f64::INFINITY, f64::min);
    // The medians are free of pauses of the host.
    let most = times.iter().map(|of| median(of)).fold(0.0, f64::max);
    times.iter().all(|of| !of.is_empty()) && least - fast > (ALIKE * (most - least)).max(fast / 8.0)
}

/// Classifies the AUs by the times of the data after small writes to them. `levels` are the times without a small write and after
/// one beside the data.
fn judge(times: &[Vec<f64>], levels: (f64, f64)) -> Judged {
    let bar = |share: f64| bar(share, levels);
    let count = |of: &[f64], is: &dyn Fn(f64) -> bool| of.iter().filter(|t| is(**t)).count();
    let quick = |of: &[f64]| count(of, &|t| t < bar(AS_QUICK));
    // Even with a deferred merge, the data AU must be opened again.
    let same = |of: &[f64]| count(of, &|t| t < SAME * levels.0);
    let long = |of: &[f64]| count(of, &|t| t >= bar(AS_SLOW));
    // A stall makes one turn slow; few turns must all agree.
    let stalls = |of: &[f64]| usize::from(of.len() >= TURNS.0);
    let mixed = |of: &Vec<f64>| quick(of) > stalls(of) && long(of) > stalls(of);
    let mut judged = Judged {
        mixed: times.iter().any(mixed),
        slow: times.iter().any(|of| long(of) > 0),
        ..Judged::default()
    };
    if times.iter().all(|of| of.len() >= 2) && alike(times, levels.0) {
        judged.others = times.len();
        return judged;
    }
    for (number, of) in (0..).zip(times) {
        let enough = of.len() >= TURNS.1;
        let all = |count: usize| enough && count + stalls(of) >= of.len();
        if all(same(of)) || !judged.mixed && all(quick(of)) {
            judged.kept.push(number);
        } else if long(of) >= 2 && same(of) <= stalls(of) {
            judged.others += 1;
        } else {
            judged.unclear.push(number);
        }
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(times: &[&[f64]]) -> Judged {
        let times: Vec<Vec<f64>> = times.iter().map(|t| t.to_vec()).collect();
        judge(&times, (1.0, 10.0))
    }

    #[test]
    fn few_turns_must_agree() {
        let is_kept = |times: &[f64]| {
            // With a second AU, which is not kept open.
            let mut judged = judged(&[times, &[10.0; 2]]);
            judged.others -= 1;
            judged.unclear.is_empty().then_some(judged.others == 0)
        };
        assert_eq!(is_kept(&[10.0]), None);
        assert_eq!(is_kept(&[10.0, 9.0]), Some(false));
        assert_eq!(is_kept(&[1.0, 1.1]), None);
        assert_eq!(is_kept(&[1.0, 1.1, 1.0]), Some(true));
        assert_eq!(is_kept(&[1.0, 10.0, 10.0]), None);
        // A stall may happen once.
        assert_eq!(is_kept(&[1.0, 1.0, 90.0, 1.0, 1.0]), Some(true));
        // A middle delay: only the host was interrupted.
        assert_eq!(is_kept(&[5.0; 5]), None);
    }

    #[test]
    fn where_merges_are_put_off_only_what_opens_nothing_is_kept() {
        let put_off = [2.0, 10.0, 2.0, 10.0, 10.0];
        let found = judged(&[&[1.0; 3], &put_off, &[2.0; 3]]);
        assert!(found.mixed);
        assert_eq!(
            (found.kept, found.others, found.unclear),
            (vec![0], 1, vec![2])
        );
        // Without deferred merges, a small write may cost a little.
        let found = judged(&[&[10.0; 2], &[2.0; 3]]);
        assert_eq!((found.kept, found.unclear), (vec![1], vec![]));
    }

    #[test]
    fn units_that_delay_the_data_alike_are_not_kept_open() {
        // One merge instead of two, or only the opening of the AU.
        for delayed in [5.0, 1.3] {
            let found = judged(&[&[delayed; 2], &[delayed + 0.05; 2]]);
            assert_eq!((found.kept, found.others), (vec![], 2));
        }
        let found = judged(&[&[1.05; 2], &[1.05; 2]]);
        assert_eq!(found.others, 0);
        let found = judged(&[&[1.0; 2], &[1.3; 2]]);
        assert_eq!(found.others, 0);
    }

    #[test]
    fn one_unit_more_must_do_harm_each_time() {
        assert_eq!(levels(vec![1.0; 3], vec![3.0; 3]), Some((1.0, 3.0)));
        assert_eq!(levels(vec![1.0; 2], vec![3.0; 2]), None);
        assert_eq!(levels(vec![1.0; 2], vec![9.0; 2]), Some((1.0, 9.0)));
        assert_eq!(levels(vec![1.0, 1.0, 5.0], vec![3.0; 3]), None);
        let stalled = vec![1.0, 1.0, 1.0, 1.0, 5.0];
        assert_eq!(levels(stalled, vec![3.0; 5]), Some((1.0, 3.0)));
        assert_eq!(levels(vec![1.0; 3], vec![1.2; 3]), None);
    }
}
