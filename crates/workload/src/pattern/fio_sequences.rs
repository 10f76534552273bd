//! The random sequences of fio 3.33, for jobs that name its generator (`random_generator`): which seed each
//! choice of a thread has. Other jobs draw from sequences of nandscope's own.

use super::Random;
use crate::job::{Job, PerKind, RandomGenerator};

/// fio's seed of offsets, with `randrepeat`.
const OFFSETS_SEED: u64 = 0xb189_9bed;
/// fio's default of `randseed`, from which the other choices follow.
const DEFAULT_SEED: u64 = 0x89;
/// Multiplier between the seeds of two choices.
const NEXT_SEED: u64 = 0x9e37_0001;

/// Places of choices among fio's seeds. The sizes of reads, writes and trims have the first three.
const SIZES: u64 = 0;
const MIX: u64 = 4;
const OFFSETS: u64 = 6;
const ORDER: u64 = 10;

/// Seeds of one thread.
#[derive(Clone, Debug)]
pub(super) struct FioSequences {
    generator: RandomGenerator,
    /// `randrepeat`.
    repeats: bool,
    /// Whether `randseed` is given.
    is_seeded: bool,
    base: u64,
    /// Number among all threads of the job file, from 1.
    thread: u64,
}

/// Random sequences for the sizes, offsets and order of a thread.
#[derive(Clone, Debug)]
pub(super) struct FioDice {
    pub(super) sizes: PerKind<Random>,
    /// Generator of offsets, shared by all directions and files.
    pub(super) offsets: Random,
    pub(super) order: PerKind<Random>,
}

impl FioSequences {
    /// Sequences of a clone of a job that names a generator. `seed` is that of the run, used without `randrepeat` and
    /// `randseed`.
    pub(super) fn of(job: &Job, clone: u32, seed: u64) -> Option<Self> {
        let default = if job.rand_repeat { DEFAULT_SEED } else { seed };
        Some(FioSequences {
            generator: job.generator?,
            repeats: job.rand_repeat,
            is_seeded: job.rand_seed.is_some(),
            base: job.rand_seed.unwrap_or(default),
            thread: u64::from(job.first_thread) + u64::from(clone),
        })
    }

    /// Whether each pass repeats the sequences of the first. As in fio 3.33, with `randseed` they go on.
    pub(super) fn repeats(&self) -> bool {
        self.repeats && !self.is_seeded
    }

    fn seed(&self, choice: u64) -> u64 {
        let mut seed = self.base;
        for _ in 0..4 + choice {
            seed = seed.wrapping_mul(NEXT_SEED);
        }
        seed.wrapping_mul(self.thread).wrapping_add(choice)
    }

    /// The seed of offsets. As in fio, `randseed` does not change it unless `randrepeat=0`.
    pub(super) fn offsets_seed(&self) -> u64 {
        match self.repeats {
            true => OFFSETS_SEED.wrapping_mul(self.thread),
            false => self.seed(OFFSETS),
        }
    }

    /// Whether offsets come from a shift register.
    pub(super) fn is_lfsr(&self) -> bool {
        self.generator == RandomGenerator::Lfsr
    }

    /// A generator with the number of bits that the job requests.
    fn random(&self, seed: u64) -> Random {
        match self.generator {
            RandomGenerator::Tausworthe64 => Random::taus258(seed),
            RandomGenerator::Tausworthe | RandomGenerator::Lfsr => Random::taus88(seed),
        }
    }

    /// For the directions of a mix.
    pub(super) fn mix(&self) -> Random {
        Random::taus88(self.seed(MIX))
    }

    /// For all else, from the start.
    pub(super) fn dice(&self) -> FioDice {
        let sizes = |direction| self.random(self.seed(SIZES + direction));
        FioDice {
            sizes: PerKind {
                read: sizes(0),
                write: sizes(1),
                trim: sizes(2),
            },
            offsets: self.random(self.offsets_seed()),
            order: PerKind::all(Random::taus88(self.seed(ORDER))),
        }
    }
}
