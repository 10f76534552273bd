//! What is fuzzed: one function for each kind of file that nandscope reads. Each reads its bytes
//! and, where they were accepted, demands what must hold then. It must not panic, hang, or use
//! memory out of proportion. libFuzzer drives the same functions as the test
//! `crates/cli/tests/mutate.rs`, which needs no nightly compiler.

use nandscope_device::profile::{parse_host, parse_profile};
use nandscope_device::{Command, CommandKind, Device};
use nandscope_inspect::mounts::{parse_mounts, parse_swaps};
use nandscope_inspect::registers::{Cid, Csd, ExtCsd, Family, Scr, Ssr, read_recorded};
use nandscope_inspect::telemetry::meter::MeterFile;
use nandscope_result::json::{from_json, to_json};
use nandscope_suite::flashbench::recorded::Recorded;
use nandscope_suite::flashbench::{boundaries, open_units, treatments};
use nandscope_twin::{Ensemble, Observation, State};
use nandscope_units::{Bytes, Fnv1a, Lba, Nanos};
use nandscope_workload::OpSource;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;
use nandscope_workload::trace::{
    Fit, Format, Replay, ReplayOptions, Timing, Trace, read_nstrace, unpacked, write_nstrace,
};
use std::path::Path;

#[path = "bodies/served.rs"]
mod served;

use served::SERVED;
pub use served::{fuse, linux, nbd, vhost, virtio};

/// A small device, so that random maps stay small.
const CAPACITY: Bytes = Bytes::mib(64);
/// Operations that are drawn from a source.
const OPERATIONS: usize = 2000;

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
#[allow(dead_code, reason = "libFuzzer takes them one by one")]
pub const ALL: [Target; 30] = [
    ("profile", profile),
    ("host", host),
    ("job", job),
    ("iolog", iolog),
    ("blkparse", blkparse),
    ("csv", csv),
    ("nstrace", nstrace),
    ("result", result),
    ("fio", fio),
    ("snapshot", snapshot),
    ("flashbench", flashbench),
    ("registers", registers),
    ("mountinfo", mountinfo),
    ("smart", smart),
    ("meter", meter),
    ("signatures", signatures),
    ("nbd", nbd),
    ("fuse", fuse),
    ("vhost", vhost),
    ("virtio", virtio),
    ("journal", journal),
    ("steps", steps),
    ("undo", undo),
    ("linux", linux),
    ("requirement", requirement),
    ("measurements", measurements),
    ("fio_measurements", fio_measurements),
    ("ensemble", ensemble),
    ("iostat", iostat),
    ("health_log", health_log),
];

/// A device profile: faults name a line of the text; what is accepted explains itself.
pub fn profile(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lines = text.lines().count().max(1) + 1;
    match parse_profile("fuzz", text) {
        Ok(_) => assert!(!nandscope_device::profile::explain(text).is_empty()),
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(fault.line >= 1 && fault.line <= lines, "{fault}");
                assert!(text.get(fault.span.clone()).is_some(), "{fault}");
            }
        }
    }
}

/// A host profile, likewise.
pub fn host(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match parse_host("fuzz", text) {
        Ok(host) => {
            // A device that has every link of the host, on whichever port.
            assert!(host.attach(&host.links()).is_ok());
        }
        Err(faults) => {
            for fault in &faults {
                assert!(text.get(fault.span.clone()).is_some(), "{fault}");
            }
            assert!(!faults.is_empty());
        }
    }
}

/// A job file: what is accepted reads the same after it was written, and its operations stay
/// within the device.
pub fn job(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let jobs = match JobFile::parse("fuzz", text) {
        Ok(jobs) => jobs,
        Err(error) => {
            assert!(!error.faults.is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    let written = jobs.to_fio();
    let again = JobFile::parse("again", &written);
    let again = again.unwrap_or_else(|e| panic!("{e}\n{written}"));
    assert_eq!(written, again.to_fio());
    for job in &jobs.jobs {
        let Ok(mut source) = Generator::new(job, 0, CAPACITY, 1) else {
            continue;
        };
        for _ in 0..OPERATIONS {
            let Some(next) = source.next_op() else { break };
            let end = next.op.offset.0 + u64::from(next.op.length);
            assert!(end <= CAPACITY.0, "{:?} of {job:?}", next.op);
        }
    }
}

/// A fio iolog.
pub fn iolog(data: &[u8]) {
    trace(Format::FioIolog, data);
}

/// Text of blkparse.
pub fn blkparse(data: &[u8]) {
    trace(Format::Blkparse, data);
    trace(Format::Blktrace, data);
}

/// The two kinds of CSV.
pub fn csv(data: &[u8]) {
    trace(Format::MsrCambridge, data);
    trace(Format::Alibaba, data);
    trace(Format::Spc, data);
    trace(Format::Systor, data);
}

/// Recorded tables of flashbench: what is accepted can be judged.
pub fn flashbench(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(report) = nandscope_infer::probe::from_flashbench("fuzz", text) {
        assert!(!report.findings.is_empty());
    }
    let mut all = Recorded::default();
    let _ = all.read_open_au("fuzz", text);
    let _ = all.read_find_fat("fuzz", text);
    let _ = all.read_align("fuzz", text);
    for run in all.align.keys() {
        let rows = all.median_align(std::slice::from_ref(run));
        let _ = boundaries(&[rows.unwrap_or_default()]);
    }
    for rates in all.open_au.values() {
        let rates: Vec<_> = rates
            .iter()
            .map(|r| (r.units, r.length, r.bytes_per_s))
            .collect();
        assert_eq!(open_units(&rates).is_some(), !rates.is_empty());
    }
    for run in all.find_fat.keys() {
        let _ = all.find_fat_rates(run).map(|rates| treatments(&rates));
    }
}

/// Our own file, and the guess at a format. The bytes are tried as they are, and with a right checksum.
pub fn nstrace(data: &[u8]) {
    let _ = Format::detect(data);
    let _ = unpacked("fuzz", data, 1 << 20);
    trace(Format::Nstrace, data);
    let mut sealed = data.to_vec();
    if let Some((head, body)) = sealed.split_first_chunk_mut::<12>() {
        head[8..].copy_from_slice(&crc32(body).to_le_bytes());
        trace(Format::Nstrace, &sealed);
    }
}

/// CRC-32 (ISO-HDLC), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum));
    !bytes.iter().fold(!0, byte)
}

/// A trace that was accepted survives our own format, and its replay stays within the device.
fn trace(format: Format, data: &[u8]) {
    let Ok((trace, _)) = Trace::parse(format, "fuzz", data) else {
        return;
    };
    let bytes = write_nstrace("fuzz", "fuzz", &trace);
    match read_nstrace("again", &bytes) {
        Ok((_, again)) => assert_eq!(trace, again),
        Err(error) => panic!("{error}"),
    }
    for fit in [Fit::Exact, Fit::Wrap, Fit::Scale] {
        let options = ReplayOptions {
            timing: Timing::ClosedLoop,
            fit,
        };
        // Wrapping a few requests of gigabytes makes thousands of small ones of each.
        if trace
            .records()
            .iter()
            .map(|r| u64::from(r.length))
            .sum::<u64>()
            > 1 << 34
        {
            return;
        }
        let Ok(mut replay) = Replay::new(&trace, &options, CAPACITY) else {
            continue;
        };
        for _ in 0..OPERATIONS {
            let Some(next) = replay.next_op() else { break };
            let end = next.op.offset.0 + u64::from(next.op.length);
            assert!(end <= CAPACITY.0, "{:?} {fit:?}", next.op);
        }
    }
}

/// A result document: what is accepted can be written, and reads the same again; a report can be
/// made of it.
pub fn result(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(document) = from_json(text, Path::new("fuzz")) else {
        return;
    };
    let Ok(written) = to_json(&document) else {
        return;
    };
    match from_json(&written, Path::new("again")) {
        Ok(again) => assert_eq!(document, again),
        Err(error) => panic!("{error}"),
    }
    let _ = nandscope_report::html::render(&document);
    let _ = nandscope_report::terminal::summary(&document, &[], &Default::default());
}

/// fio's JSON becomes a result document that can be written, read again and shown.
pub fn fio(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = nandscope_measure::fio_output::recognised(text);
    let Ok(document) = nandscope_measure::fio_output::read(text, "fuzz") else {
        return;
    };
    for step in &document.steps {
        for direction in step.jobs.iter().flat_map(|job| &job.directions) {
            let histogram = &direction.latency.histogram;
            if !histogram.is_empty() {
                assert!(nandscope_result::histogram::decode(histogram).is_ok());
            }
        }
    }
    match to_json(&document) {
        Ok(written) => result(written.as_bytes()),
        Err(error) => panic!("{error}"),
    }
}

/// Requirements of an application: faults name a line of the text.
pub fn requirement(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(faults) = nandscope_fitness::requirement::parse("fuzz", text) {
        assert!(!faults.is_empty());
        for fault in faults {
            assert!(!fault.to_string().is_empty());
        }
    }
}

/// Output of iostat: each disk that was written makes a job that is accepted.
pub fn iostat(data: &[u8]) {
    use nandscope_fitness::iostat::{Order, job, parse};
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for load in parse("fuzz", text).unwrap_or_default() {
        if let Some(text) = job(&load, Order::Random) {
            assert!(JobFile::parse("fuzz", &text).is_ok(), "{text}");
        }
    }
}

/// A log of health: readings are in order, and a forecast is not before its first one.
pub fn health_log(data: &[u8]) {
    use nandscope_fitness::health::{forecast, read};
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let readings = read("fuzz", text).unwrap_or_default();
    assert!(readings.is_sorted_by_key(|r| r.time));
    if let Some(forecast) = forecast(&readings) {
        assert!(
            forecast
                .latest
                .is_none_or(|latest| latest >= forecast.earliest)
        );
        assert!(forecast.readings >= 2 && forecast.since <= forecast.earliest);
    }
}

/// A table of measurements for a fit: what passes the checks is finite.
pub fn measurements(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(read) = nandscope_twin::csv::read("fuzz", text, State::Filled) {
        screened(read);
    }
    if let Ok(read) = nandscope_twin::flashbench::read("fuzz", text, State::Filled) {
        screened(read.observations);
    }
    if let Ok((clues, _)) = nandscope_twin::fill::read("fuzz", text) {
        assert!(clues.slc_gb.is_none_or(|gb| gb.is_finite() && gb > 0.0));
    }
}

/// fio's JSON as measurements for a fit.
pub fn fio_measurements(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(read) = nandscope_twin::fio::read("fuzz", text, State::Filled) {
        screened(read);
    }
}

fn screened(read: Vec<Observation>) {
    let Ok(screened) = nandscope_twin::screen(read) else {
        return;
    };
    assert!(
        screened
            .noise
            .is_none_or(|noise| noise.is_finite() && noise >= 0.0)
    );
    for observation in &screened.kept {
        let iops = observation.figures.iops;
        assert!(iops.is_finite() && iops > 0.0, "{iops}");
    }
}

/// Sets of values beside a fitted profile.
pub fn ensemble(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(ensemble) = Ensemble::read("fuzz", text) {
        assert!(
            ensemble
                .members
                .iter()
                .all(|m| m.len() == ensemble.keys.len())
        );
    }
}

/// A device's snapshot. The bytes are tried as they are, and with a right checksum, since the
/// fuzzer would hardly find that by itself. What is accepted works as any device does.
pub fn snapshot(data: &[u8]) {
    if let Ok(device) = Device::load(data) {
        use_device(device);
    }
    if let Some(content) = data.len().checked_sub(8).map(|end| &data[..end]) {
        let mut sealed = content.to_vec();
        sealed.extend(Fnv1a::of_words(content).to_le_bytes());
        if let Ok(device) = Device::load(&sealed) {
            use_device(device);
        }
    }
}

/// A few commands: each completes, and the state stays one that a device can be in.
fn use_device(mut device: Device) {
    let own = u64::MAX - 8;
    let kinds = [
        CommandKind::Read,
        CommandKind::Write { fua: false },
        CommandKind::Discard,
        CommandKind::Write { fua: true },
        CommandKind::Read,
    ];
    for (tag, kind) in (own..).zip(kinds) {
        let command = Command {
            tag,
            kind,
            lba: Lba(0),
            sectors: 8,
        };
        let now = device.now();
        assert!(device.submit(command, now).is_ok());
    }
    let (mut open, mut done) = (kinds.len(), Vec::new());
    while open > 0 {
        assert!(device.next_event().is_some(), "{open} commands are lost");
        device.advance(Nanos::MAX, &mut done);
        open -= done.drain(..).filter(|c| c.tag >= own).count();
    }
    assert_eq!(device.audit(), Ok(()));
    let _ = device.telemetry();
}

/// Registers of cards in hexadecimal, a line each, whichever they are.
pub fn registers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // A file of several registers: what it holds is decoded, or a fault of it.
    let _ = read_recorded("fuzz", text);
    for line in text.lines() {
        for family in [Family::Sd, Family::Mmc] {
            if let Ok(cid) = Cid::from_hex(line, family, Some(8)) {
                assert!(cid.month < 16 && cid.year >= 1997);
            }
            let _ = Csd::from_hex(line, family);
        }
        let _ = Scr::from_hex(line);
        let _ = Ssr::from_hex(line).map(|ssr| ssr.classes());
        let _ = ExtCsd::from_hex(line);
    }
}

/// Mounts and swap: not more of them than lines.
pub fn mountinfo(data: &[u8]) {
    let lines = data.split(|b| *b == b'\n').count();
    assert!(parse_mounts(data).len() <= lines);
    assert!(parse_swaps(data).len() < lines.max(1));
}

/// JSON of smartctl: reads identity, temperature and health.
pub fn smart(data: &[u8]) {
    let _ = nandscope_inspect::telemetry::smart::parse(data);
}

/// The table of a USB meter: samples are numbers, whatever the cells hold.
pub fn meter(data: &[u8]) {
    if let Ok(samples) = MeterFile::new(Path::new("fuzz")).take(data) {
        assert!(samples.iter().all(|sample| sample.watts.is_finite()));
    }
}

/// A device with these bytes: what is found lies on it.
pub fn signatures(data: &[u8]) {
    let size = Bytes(data.len() as u64);
    match nandscope_inspect::signature::probe(data, size) {
        Ok(found) => assert!(found.iter().all(|s| s.offset < size)),
        Err(error) => panic!("{error}"),
    }
}

/// The undo journal of a verification: every record is a whole block or listed as damaged.
pub fn undo(data: &[u8]) {
    use nandscope_infer::authenticity::Contents;
    let Ok(contents) = Contents::read(data) else {
        return;
    };
    let block = contents.journaled().block_bytes;
    let records = contents.originals().len() + contents.damaged().len();
    assert!(records <= data.len() / block + 1);
    let in_batches: usize = contents.batches().map(<[_]>::len).sum();
    assert_eq!(in_batches, contents.originals().len());
    for original in contents.originals() {
        assert_eq!(original.contents.len(), block);
        assert!(contents.original(original.place).is_some());
    }
    assert!(contents.places().len() <= records);
    assert!(contents.witnesses().len() <= data.len() / 16);
}

/// The journal of a served device: what was read is done on a small device or refused.
pub fn journal(data: &[u8]) {
    use nandscope_device::FixedLatencyDevice;
    use nandscope_export::command_journal::{CommandJournal, Replay};

    let Ok(journal) = CommandJournal::read(data) else {
        return;
    };
    assert!(journal.entries.len() <= data.len() / 32);
    let mut model = FixedLatencyDevice::new(SERVED, Nanos(1000));
    let mut replay = Replay::new(&mut model);
    if replay.play(&journal).is_ok() {
        let replayed = replay.finish();
        assert!(replayed.commands as usize <= journal.entries.len());
    }
}

/// A journal of finished steps, as it is and with its lines as records whose checksums are right (a digit
/// for the kind, then the payload): what was read is a document that can be written and read.
pub fn steps(data: &[u8]) {
    use nandscope_measure::steps::{read, sealed};

    let records = data.split(|byte| *byte == b'\n').filter_map(|line| {
        let (kind, payload) = line.split_first()?;
        Some((u32::from(kind.wrapping_sub(b'0')), payload))
    });
    for bytes in [data.to_vec(), sealed(records)] {
        let Ok(contents) = read(&bytes) else { continue };
        for damage in &contents.damages {
            assert!(damage.start < damage.end && damage.end <= bytes.len());
        }
        assert!(contents.head.differences(&contents.head.asked).is_empty());
        let document = contents.recovered("fuzz");
        assert!(!document.complete && document.steps.len() >= contents.steps());
        let text = to_json(&document).expect("every number of JSON is finite");
        assert!(from_json(&text, Path::new("fuzz")).is_ok_and(|again| again == document));
        if let Some((document, _, records)) = contents.resume_point() {
            assert!((1..=contents.records.len()).contains(&records));
            assert!(document.steps.len() <= contents.recovered("fuzz").steps.len());
        }
    }
}
