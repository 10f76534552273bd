//! A run in real time: each thread has its own loop, its own queue to the target and its own thread of the system, so
//! that no thread waits for another. The calling thread reads the instruments, informs the observer, passes a stop on,
//! and merges the parts.
//!
//! Running threads share only a few counters, each written by one thread at most once a second or every 65,536
//! operations, and, if jobs depend on each other, the state of `ties`.

use super::conclude::Part;
use super::drive::Run;
use super::interim::{LoopObserver, Parts};
use super::span::{self, Span};
use super::ties::Board;
use super::{GroupOutcome, Observer, Progress, Thread, Tied, tied};
use crate::recorder::IntervalPlan;
use crate::target::{QueueRequest, Target, TargetError, ThreadQueues};
use nandscope_units::{Bytes, Nanos};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Longest delay before a stop is passed on.
const WATCH_EVERY: Nanos = Nanos::from_millis(50);
/// Time between two calls of the observer.
const OBSERVE_EVERY: Nanos = Nanos::from_millis(500);

/// Progress of a thread, for others to see.
#[derive(Debug, Default)]
struct Gauge {
    operations: AtomicU64,
    bytes: AtomicU64,
    /// Bits of the finished share as a float; NaN if unknown.
    fraction: AtomicU64,
}

impl Gauge {
    fn set(&self, progress: &Progress) {
        self.operations
            .store(progress.operations, Ordering::Relaxed);
        self.bytes.store(progress.bytes.0, Ordering::Relaxed);
        let fraction = progress.fraction.unwrap_or(f64::NAN);
        self.fraction.store(fraction.to_bits(), Ordering::Relaxed);
    }
}

/// Observer of a thread: sets the gauge, and sends the thread's parts to the watching thread.
struct Reporter<'a> {
    gauge: &'a Gauge,
    interval: Option<Nanos>,
    number: usize,
    said: &'a Sender<News>,
}

impl Observer for Reporter<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.gauge.set(progress);
    }

    fn interim_interval(&self) -> Option<Nanos> {
        self.interval
    }
}

impl LoopObserver for Reporter<'_> {
    fn part(&mut self, part: Part) {
        let _ = self.said.send(News::Part(self.number, Box::new(part)));
    }
}

/// Message of a thread to the watching thread.
enum News {
    /// The thread has its queue and waits for the start.
    Ready,
    /// Interim measurements of the thread of this number.
    Part(usize, Box<Part>),
    /// The thread with this number has ended; `None` if it never began.
    Ended(usize, Option<Box<Part>>),
    /// The thread did not get its queue.
    Refused(TargetError),
}

/// Runs every thread in its own loop, with its own queue.
pub(super) fn run<T: Target + ?Sized>(
    target: &mut T,
    queues: &dyn ThreadQueues,
    threads: Vec<Thread>,
    plan: Option<IntervalPlan>,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> GroupOutcome {
    let first_reading = target.reading();
    let interval = observer.interim_interval();
    let gauges: Vec<Gauge> = threads.iter().map(|_| Gauge::default()).collect();
    let cancelled = AtomicBool::new(false);
    // The start is put in when the last queue is open.
    let shape = Span::new(&threads, Nanos::ZERO, plan);
    let board = Board::new(&threads);
    let threads = tied(threads, board.as_ref());
    let (say, news) = channel();
    thread::scope(|scope| {
        let mut watch = Watch {
            news,
            starters: Vec::new(),
            unready: 0,
            running: 0,
            refusal: None,
            cancelled: &cancelled,
        };
        for (number, (thread, gauge)) in threads.into_iter().zip(&gauges).enumerate() {
            let (starter, begin) = channel();
            let worker = Worker {
                number,
                thread,
                queues,
                gauge,
                interval,
                cancelled: &cancelled,
                begin,
            };
            let said = say.clone();
            let spawned = thread::Builder::new()
                .name(format!("job {number}"))
                .spawn_scoped(scope, move || worker.work(&said));
            match spawned {
                Ok(_) => watch.expect(starter),
                Err(e) => watch.refuse(TargetError::Other(format!(
                    "thread {number} of the run cannot be started: {e}"
                ))),
            }
        }
        drop(say);
        watch.until_ready();
        let span = shape.begun_at(target.now());
        let mut whole = Part::empty(&span, first_reading);
        watch.start(&span);
        watch.follow(target, &span, &mut whole, &gauges, observer, stop);
        whole.outcome(board.as_deref())
    })
}

/// One thread of the run.
struct Worker<'a> {
    number: usize,
    thread: Tied,
    queues: &'a dyn ThreadQueues,
    gauge: &'a Gauge,
    /// Interval between two parts sent while the thread runs; `None` for no parts.
    interval: Option<Nanos>,
    cancelled: &'a AtomicBool,
    begin: Receiver<Span>,
}

impl Worker<'_> {
    /// Runs the thread. Sending fails only if the watching thread is gone because another thread panicked; the message
    /// is then lost.
    fn work(self, said: &Sender<News>) {
        let request = QueueRequest {
            number: self.number,
            cpus: self.thread.thread.cpus.clone(),
        };
        let load = span::load(std::slice::from_ref(&self.thread.thread));
        let threads = vec![self.thread];
        let opened = self.queues.open(&request).and_then(|mut queue| {
            queue.prepare(&load)?;
            Ok(queue)
        });
        let mut queue = match opened {
            Ok(queue) => queue,
            Err(error) => {
                let _ = said.send(News::Refused(error));
                return;
            }
        };
        let _ = said.send(News::Ready);
        let Ok(span) = self.begin.recv() else {
            let _ = said.send(News::Ended(self.number, None));
            return;
        };
        let cancelled = self.cancelled;
        let mut reporter = Reporter {
            gauge: self.gauge,
            interval: self.interval,
            number: self.number,
            said,
        };
        let mut run = Run::new(&mut *queue, threads, &span, self.number).among_others();
        let failure = run
            .drive(&mut reporter, &|| cancelled.load(Ordering::Relaxed))
            .err();
        let part = Some(Box::new(run.part(failure)));
        let _ = said.send(News::Ended(self.number, part));
    }
}

/// The thread that watches the other threads.
struct Watch<'a> {
    news: Receiver<News>,
    starters: Vec<Sender<Span>>,
    unready: usize,
    running: usize,
    refusal: Option<TargetError>,
    cancelled: &'a AtomicBool,
}

impl Watch<'_> {
    fn expect(&mut self, starter: Sender<Span>) {
        self.starters.push(starter);
        self.unready += 1;
        self.running += 1;
    }

    fn refuse(&mut self, error: TargetError) {
        self.refusal.get_or_insert(error);
    }

    fn until_ready(&mut self) {
        while self.unready > 0 {
            match self.news.recv() {
                Ok(News::Ready) => {}
                Ok(News::Refused(error)) => {
                    self.running -= 1;
                    self.refuse(error);
                }
                Ok(News::Ended(..)) => self.running -= 1,
                // No thread measures before the start.
                Ok(News::Part(..)) => continue,
                Err(_) => return,
            }
            self.unready -= 1;
        }
    }

    /// Starts all threads, or none if one could not begin.
    fn start(&mut self, span: &Span) {
        let starters = std::mem::take(&mut self.starters);
        if self.refusal.is_none() {
            for starter in starters {
                // A send fails only if the thread has ended, which it has reported with its reason.
                let _ = starter.send(*span);
            }
        }
    }

    /// Waits for the end of all threads; meanwhile reads the instruments and passes a stop on.
    fn follow<T: Target + ?Sized>(
        mut self,
        target: &mut T,
        span: &Span,
        whole: &mut Part,
        gauges: &[Gauge],
        observer: &mut dyn Observer,
        stop: &dyn Fn() -> bool,
    ) {
        if let Some(error) = self.refusal.take() {
            whole.fail(error);
        }
        let mut observed = span.start;
        let mut parts = Parts::default();
        while self.running > 0 {
            if stop() {
                self.cancelled.store(true, Ordering::Relaxed);
            }
            let now = target.now();
            if now >= whole.next_sample() {
                whole.sample(now, target.reading());
            }
            if now.saturating_sub(observed) >= OBSERVE_EVERY {
                observed = now;
                observer.progress(&sum(gauges, now.saturating_sub(span.start)));
            }
            let wait = whole
                .next_sample()
                .saturating_sub(now)
                .clamp(Nanos(1), WATCH_EVERY);
            match self.news.recv_timeout(Duration::from_nanos(wait.0)) {
                Ok(News::Part(number, part)) => {
                    parts.take(number, *part);
                    if let Some(so_far) = parts.next(self.running, whole) {
                        observer.interim(&so_far.outcome(None));
                    }
                }
                Ok(News::Ended(number, part)) => {
                    self.running -= 1;
                    parts.end(number);
                    if let Some(part) = part {
                        if part.target_lost() {
                            self.cancelled.store(true, Ordering::Relaxed);
                        }
                        whole.merge(*part);
                    }
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now = target.now();
        whole.sample(now, target.reading());
    }
}

fn sum(gauges: &[Gauge], elapsed: Nanos) -> Progress {
    let total = |of: fn(&Gauge) -> &AtomicU64| -> u64 {
        gauges.iter().map(|g| of(g).load(Ordering::Relaxed)).sum()
    };
    let shares = gauges
        .iter()
        .map(|g| f64::from_bits(g.fraction.load(Ordering::Relaxed)));
    let share = shares.sum::<f64>() / gauges.len().max(1) as f64;
    Progress {
        elapsed,
        operations: total(|g| &g.operations),
        bytes: Bytes(total(|g| &g.bytes)),
        fraction: (!share.is_nan()).then_some(share),
    }
}
