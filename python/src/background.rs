//! Long work beside the interpreter: it runs on a thread of its own without the GIL, while the thread that called
//! waits, answers signals and passes progress on. So Ctrl-C works within [`PATIENCE`] and [`INTERVAL`], whatever the
//! work does, and no work ever calls Python.

use crate::error::{self, Failure};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at signals and progress.
const INTERVAL: Duration = Duration::from_millis(30);
/// How long interrupted work may take to stop before the caller continues without it.
const PATIENCE: Duration = Duration::from_millis(120);

// Ctrl-C is answered within 0.2 s.
const _: () = assert!(INTERVAL.as_millis() + PATIENCE.as_millis() <= 200);

/// How far the work has come: its fraction where it is known, the operations done, and the device's time in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share that is done, 0 to 1.
    pub fraction: Option<f64>,
    /// Operations completed.
    pub operations: u64,
    /// Time on the device's clock since the beginning, seconds.
    pub elapsed_s: f64,
}

/// State that the working thread shares with the thread that waits for it.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    progress: Mutex<Option<Progress>>,
}

impl Watch {
    /// Whether the work is to end.
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells how far the work has come.
    pub fn report(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    fn news(&self) -> Option<Progress> {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Does the work and gives its result. `progress` is a callable that gets a fraction or `None`, the operations and
/// the time; an exception of it, as one of a signal, ends the work and is raised. Work that cannot be ended continues
/// until it is done; what it locked is free then.
///
/// # Errors
/// The failure of the work, or the exception of a signal or of the callable.
pub fn run<T, W>(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, work: W) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
{
    let watch = Arc::new(Watch::default());
    let (done, result) = channel();
    let shared = watch.clone();
    thread::Builder::new()
        .name("nandscope".to_string())
        .spawn(move || {
            // A panic is a fault of nandscope: it must not end the interpreter.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&shared)))
                .unwrap_or_else(|payload| Err(error::of_panic(&*payload)));
            // Sending fails only if the caller was interrupted and no longer waits.
            let _ = done.send(outcome);
        })
        .map_err(|e| Failure::File(format!("cannot start a thread: {e}")))?;
    // The receiver belongs to this call alone; the mutex lets it be used without the GIL.
    let result = Mutex::new(result);
    let wait = |limit: Duration| {
        py.detach(|| {
            let result = result.lock().unwrap_or_else(PoisonError::into_inner);
            result.recv_timeout(limit)
        })
    };
    loop {
        let outcome = wait(INTERVAL);
        let told = watch.news().map_or(Ok(()), |news| tell(progress, news));
        match outcome {
            Ok(outcome) => {
                told?;
                return Ok(outcome?);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::internal("a thread ended without a result").into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(exception) = told.and_then(|()| py.check_signals()) {
            watch.stop.store(true, Ordering::Relaxed);
            let began = Instant::now();
            let _ = wait(PATIENCE.saturating_sub(began.elapsed()));
            return Err(exception);
        }
    }
}

/// As [`run`] for a call by a user, whose `progress` may be `None` (a bar if a person watches, named `title`), `True` (a
/// bar), `False` (nothing) or a callable: `nandscope.progress` decides.
///
/// # Errors
/// Those of [`run`], or the exception that `nandscope.progress` raises for another value of `progress`.
pub fn run_shown<T, W>(
    py: Python<'_>,
    title: &str,
    progress: Option<&Bound<'_, PyAny>>,
    work: W,
) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
{
    let module = py.import("nandscope.progress")?;
    let shown = module.call_method1("chosen", (progress, title))?;
    let callable = (!shown.is_none()).then_some(&shown);
    let outcome = run(py, callable, work);
    if callable.is_some() {
        module.call_method1("finish", (&shown,))?;
    }
    outcome
}

fn tell(callable: Option<&Bound<'_, PyAny>>, news: Progress) -> PyResult<()> {
    if let Some(callable) = callable {
        callable.call1((news.fraction, news.operations, news.elapsed_s))?;
    }
    Ok(())
}
