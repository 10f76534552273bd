//! Choice of the part of the target (fio's file) for the next operation: `file_service_type`.

use super::{Normal, Pareto, Random, Zipf};
use crate::job::FileService;

/// Parts of the distribution per file, as in fio.
const RANGES_PER_FILE: u64 = 1 << 10;

/// Chooses files.
#[derive(Clone, Debug)]
pub(super) struct Service {
    files: usize,
    choice: Choice,
    random: Random,
    /// Present file, and its remaining number of operations.
    now: Option<usize>,
    left: u64,
    /// Start of the next round.
    next: usize,
}

#[derive(Clone, Debug)]
enum Choice {
    InTurn(u64),
    Sequential,
    Random(u64),
    Zipf(Zipf),
    Pareto(Pareto),
    Normal(Normal),
}

impl Service {
    /// The order of `files` files; 0 counts as 1.
    pub(super) fn new(service: FileService, files: usize, random: Random) -> Self {
        let ranges = files as u64 * RANGES_PER_FILE;
        let choice = match service {
            FileService::RoundRobin(operations) => Choice::InTurn(operations.into()),
            FileService::Sequential => Choice::Sequential,
            FileService::Random(operations) => Choice::Random(operations.into()),
            FileService::Zipf(theta) => Choice::Zipf(Zipf::new(ranges, theta)),
            FileService::Pareto(h) => Choice::Pareto(Pareto::new(ranges, h)),
            FileService::Normal(percent) => {
                Choice::Normal(Normal::new(ranges, 0.5, (percent / 100.0).clamp(0.0, 1.0)))
            }
        };
        Service {
            files,
            choice,
            random,
            now: None,
            left: 0,
            next: 0,
        }
    }

    /// Whether a file whose end is reached starts over at once, because the law demands it.
    pub(super) fn is_skewed(&self) -> bool {
        matches!(
            self.choice,
            Choice::Zipf(_) | Choice::Pareto(_) | Choice::Normal(_)
        )
    }

    /// File of the next operation; `None` if `is_done` is true of all.
    #[inline]
    pub(super) fn next(&mut self, is_done: impl Fn(usize) -> bool) -> Option<usize> {
        if self.files == 1 {
            return (!is_done(0)).then_some(0);
        }
        self.next_of_many(is_done)
    }

    fn next_of_many(&mut self, is_done: impl Fn(usize) -> bool) -> Option<usize> {
        if let Some(now) = self.now.filter(|now| !is_done(*now)) {
            if matches!(self.choice, Choice::Sequential) {
                return Some(now);
            }
            if self.left > 0 {
                self.left -= 1;
                return Some(now);
            }
        }
        if (0..self.files).all(&is_done) {
            return None;
        }
        let drawn = match &self.choice {
            Choice::InTurn(_) | Choice::Sequential => self.next,
            Choice::Random(_) => self.random.below(self.files as u64) as usize,
            Choice::Zipf(law) => Self::file(law.rank(&mut self.random)),
            Choice::Pareto(law) => Self::file(law.rank(&mut self.random)),
            Choice::Normal(law) => Self::file(law.block(&mut self.random)),
        };
        // fio draws again if a file is finished. Taking the next one instead has the same probabilities only for the
        // first two laws; a skewed law never finishes a file.
        let found = match &self.choice {
            Choice::Random(_) => self.undone_at_random(drawn, &is_done),
            _ => (0..self.files)
                .map(|step| (drawn + step) % self.files)
                .find(|file| !is_done(*file))?,
        };
        self.next = (found + 1) % self.files;
        self.now = Some(found);
        self.left = match self.choice {
            Choice::InTurn(operations) | Choice::Random(operations) => operations.max(1) - 1,
            _ => 0,
        };
        Some(found)
    }

    /// Draws until a file is not finished; there must be one.
    fn undone_at_random(&mut self, drawn: usize, is_done: &impl Fn(usize) -> bool) -> usize {
        let mut file = drawn;
        while is_done(file) {
            file = self.random.below(self.files as u64) as usize;
        }
        file
    }

    fn file(range: u64) -> usize {
        (range / RANGES_PER_FILE) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(service: FileService, files: usize, done_after: usize) -> Vec<usize> {
        let mut service = Service::new(service, files, Random::new(1, &[]));
        let mut counts = vec![0; files];
        let mut all = Vec::new();
        while let Some(file) = service.next(|file| counts[file] >= done_after) {
            counts[file] += 1;
            all.push(file);
        }
        all
    }

    /// As fio 3.33 logs them for `nrfiles=3`.
    #[test]
    fn files_take_turns() {
        let turns = sequence(FileService::RoundRobin(1), 3, 2);
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        let twice = sequence(FileService::RoundRobin(2), 3, 5);
        assert_eq!(twice, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2]);
        let one_by_one = sequence(FileService::Sequential, 3, 2);
        assert_eq!(one_by_one, [0, 0, 1, 1, 2, 2]);
        let mut random = sequence(FileService::Random(1), 3, 4);
        random.sort_unstable();
        assert_eq!(random, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn skewed_laws_prefer_the_first_file() {
        let mut service = Service::new(FileService::Zipf(1.2), 4, Random::new(1, &[]));
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            counts[service.next(|_| false).unwrap()] += 1;
        }
        assert!(counts[0] > 8_000 && counts[1] > counts[3], "{counts:?}");
    }
}
