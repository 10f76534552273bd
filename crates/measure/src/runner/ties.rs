//! Dependences between the threads of a run: a thread begins when others have ended, shares its operations with them,
//! ends with them, or is judged together with them. Each thread may have its own loop, so all of this state is shared
//! and changes at any time.

use super::Thread;
use super::steady::{Judge, Verdict};
use nandscope_units::Nanos;
use nandscope_workload::job::{ExitScope, Job};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Dependence of a thread on the others of its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ties {
    /// Number of its job; clones have the same.
    pub job: usize,
    /// Job that must have ended before this one begins (`wait_for`).
    pub after: Option<usize>,
    /// Its share of the operations (`flow`).
    pub flow: Option<Flow>,
    /// Whether the end of the job ends others (`exitall`).
    pub ends_others: bool,
    /// Whether the end of the job by an error ends others (`exitall_on_error`).
    pub ends_others_on_error: bool,
    /// Threads that end as well.
    pub scope: ExitScope,
    /// Group of the job for [`ExitScope::Group`].
    pub group: usize,
    /// Whether its steady state is judged together with that of the other threads of its record.
    pub is_judged_together: bool,
}

impl Ties {
    /// The ties of jobs that run in parallel.
    #[must_use]
    pub fn of_group(group: &[Job]) -> Vec<Ties> {
        let mut number = 0;
        let mut all = Vec::new();
        for (job, options) in group.iter().enumerate() {
            let relation = &options.relation;
            number += usize::from(options.new_group && job > 0);
            let waits_for = |name: &String| {
                let earlier = group[..job].iter();
                earlier.rev().position(|other| other.name == *name)
            };
            let back = relation.wait_for.as_ref().and_then(waits_for);
            all.push(Ties {
                job,
                after: back.map(|back| job - 1 - back),
                flow: (relation.flow != 0).then_some(Flow {
                    id: relation.flow_id,
                    weight: relation.flow,
                    sleep: relation.flow_sleep,
                }),
                ends_others: relation.exit_all,
                ends_others_on_error: relation.exit_on_error,
                scope: relation.exit_what,
                group: number,
                is_judged_together: options.group_reporting,
            });
        }
        all
    }
}

/// A share of the operations of all threads with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Identifier of the flow, whose threads share operations.
    pub id: u32,
    /// Weight of the thread.
    pub weight: u32,
    /// Pause of a thread ahead of its share; zero waits for an operation of another thread.
    pub sleep: Nanos,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Board {
    /// Threads of each job that have not ended.
    live: Vec<AtomicUsize>,
    flows: BTreeMap<u32, Mutex<Shares>>,
    /// Groups that have been ended.
    ended: Vec<AtomicBool>,
    ends_run: AtomicBool,
    ends_file: AtomicBool,
    /// Judges of steady state, by the number of their first thread.
    judges: BTreeMap<usize, Mutex<Judge>>,
    /// Number of ended threads.
    ends: AtomicU64,
    /// Number of changes that a waiting thread may react to.
    changes: AtomicU64,
}

/// Operations of a flow, and the weights of its threads.
#[derive(Clone, Copy, Debug)]
struct Shares {
    operations: u64,
    weight: u32,
}

impl Board {
    /// A board for these threads, each with the number of its judge; `None` if they are independent.
    pub(super) fn new(threads: &[Thread]) -> Option<Arc<Board>> {
        let is_tied = |thread: &Thread| {
            let ties = &thread.ties;
            let ends = ties.ends_others || ties.ends_others_on_error;
            ties.after.is_some() || ties.flow.is_some() || ends || thread.pacing.steady.seconds > 0
        };
        if !threads.iter().any(is_tied) {
            return None;
        }
        let of = |number: fn(&Ties) -> usize| threads.iter().map(move |t| number(&t.ties));
        let count = |numbers: usize| (0..numbers).map(|_| AtomicUsize::new(0)).collect();
        let jobs = of(|t| t.job.max(t.after.unwrap_or(0)))
            .max()
            .map_or(0, |n| n + 1);
        let live: Vec<AtomicUsize> = count(jobs);
        let mut judges = BTreeMap::new();
        for (number, thread) in threads.iter().enumerate() {
            live[thread.ties.job].fetch_add(1, Ordering::Relaxed);
            if thread.pacing.steady.seconds > 0 {
                let judge = judge_of(threads, number);
                judges
                    .entry(judge)
                    .or_insert_with(|| Mutex::new(Judge::new(thread.pacing.steady)));
            }
        }
        let flows = threads.iter().filter_map(|thread| thread.ties.flow);
        let shares = Shares {
            operations: 1,
            weight: 0,
        };
        let groups = of(|t| t.group).max().map_or(0, |n| n + 1);
        Some(Arc::new(Board {
            live,
            flows: flows.map(|flow| (flow.id, Mutex::new(shares))).collect(),
            ended: (0..groups).map(|_| AtomicBool::new(false)).collect(),
            ends_run: AtomicBool::new(false),
            ends_file: AtomicBool::new(false),
            judges,
            ends: AtomicU64::new(0),
            changes: AtomicU64::new(0),
        }))
    }

    /// Whether all threads of a job have ended.
    pub(super) fn is_over(&self, job: usize) -> bool {
        self.live[job].load(Ordering::Acquire) == 0
    }

    /// Whether threads of this group have to end.
    pub(super) fn is_ended(&self, group: usize) -> bool {
        self.ends_run.load(Ordering::Acquire) || self.ended[group].load(Ordering::Acquire)
    }

    /// Whether the whole file has to end.
    pub(super) fn ends_file(&self) -> bool {
        self.ends_file.load(Ordering::Acquire)
    }

    /// Number of ends so far.
    pub(super) fn ends(&self) -> u64 {
        self.ends.load(Ordering::Acquire)
    }

    /// Number of changes so far for which a thread may be waiting.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Adds a thread to its flow.
    pub(super) fn join(&self, flow: Flow) {
        let mut shares = self.shares(flow.id);
        shares.weight = shares.weight.wrapping_add(flow.weight);
    }

    /// Counts an operation of a thread that has had `own`, unless the thread is ahead of its share. As in fio 3.33,
    /// with weights modulo 2^32.
    pub(super) fn admit(&self, flow: Flow, own: u64) -> bool {
        let mut shares = self.shares(flow.id);
        let had = own as f64 / shares.operations as f64;
        let share = f64::from(flow.weight) / f64::from(shares.weight);
        if had > share {
            return false;
        }
        shares.operations += 1;
        drop(shares);
        self.changes.fetch_add(1, Ordering::AcqRel);
        true
    }

    /// Removes an ended thread with these ties, which has had `operations` of its flow.
    pub(super) fn leave(&self, ties: &Ties, began: bool, operations: u64, failed: bool) {
        if let Some(flow) = ties.flow.filter(|_| began) {
            let mut shares = self.shares(flow.id);
            shares.weight = shares.weight.wrapping_sub(flow.weight);
            shares.operations = shares.operations.saturating_sub(operations).max(1);
        }
        if ties.ends_others || (failed && ties.ends_others_on_error) {
            match ties.scope {
                ExitScope::Group => self.ended[ties.group].store(true, Ordering::Release),
                ExitScope::Stonewall => self.ends_run.store(true, Ordering::Release),
                ExitScope::All => {
                    self.ends_file.store(true, Ordering::Release);
                    self.ends_run.store(true, Ordering::Release);
                }
            }
        }
        self.live[ties.job].fetch_sub(1, Ordering::AcqRel);
        self.ends.fetch_add(1, Ordering::AcqRel);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// A thread with this judge has done an operation.
    pub(super) fn count(&self, judge: usize, bytes: u64) {
        if let Some(mut judge) = self.judge(judge) {
            judge.count(bytes);
        }
    }

    /// Judges the rates of the last second; true if the state is steady. `start` is the start of the calling thread.
    pub(super) fn is_steady(&self, judge: usize, start: Nanos, now: Nanos) -> bool {
        let Some(mut judge) = self.judge(judge) else {
            return false;
        };
        let before = judge.is_attained();
        let steady = judge.look(start, now);
        if steady && !before {
            self.ends.fetch_add(1, Ordering::AcqRel);
        }
        steady
    }

    /// Finding of the judge of a thread.
    pub(super) fn verdict(&self, judge: usize) -> Option<Verdict> {
        self.judge(judge).map(|judge| judge.verdict())
    }

    fn judge(&self, number: usize) -> Option<MutexGuard<'_, Judge>> {
        self.judges.get(&number).map(lock)
    }

    fn shares(&self, id: u32) -> MutexGuard<'_, Shares> {
        // Every id was entered when the board was made.
        lock(&self.flows[&id])
    }
}

/// The number of the judge of a thread: that of the first one judged together with it.
pub(super) fn judge_of(threads: &[Thread], number: usize) -> usize {
    let thread = &threads[number];
    if !thread.ties.is_judged_together {
        return number;
    }
    let same = |other: &Thread| other.record == thread.record && other.ties.is_judged_together;
    threads.iter().position(same).unwrap_or(number)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Code under these locks does not panic in the middle of a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
