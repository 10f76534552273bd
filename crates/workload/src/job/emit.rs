//! A job as text: options and values in fio's names. Only what differs from the defaults is
//! written, beside the access, the block size and the depth, which a reader looks for.

use super::distribution;
use super::kinds::PerKind;
use super::model::{Access, BlockSizes, DEFAULT_PERCENTILES, Extent, Job, UnifiedRw};
use super::text::{size_text, time_text};
use crate::RateLimit;
use nandscope_units::Nanos;
use std::collections::BTreeMap;

impl Job {
    /// The job as it was understood, global options included: option and value in fio's names.
    pub fn options(&self) -> BTreeMap<String, String> {
        let mut options = Options(self.inert.clone());
        self.put_pattern(&mut options);
        self.put_region(&mut options);
        self.put_pace(&mut options);
        self.put_report(&mut options);
        self.put_trace(&mut options);
        options.0
    }

    /// The job as a section of a job file that fio takes too. Options of ours (`nandscope_…`) stand
    /// under a comment that says so; fio takes the section once those lines are removed.
    pub fn to_fio(&self) -> String {
        let options = self.options();
        let mut text = format!("[{}]\n", self.name);
        let (ours, fios): (Vec<_>, Vec<_>) = options
            .iter()
            .partition(|(key, _)| key.starts_with("nandscope_"));
        for (key, value) in fios {
            // A log without a prefix is a flag to fio; an empty value that was written stays one.
            match value.as_str() {
                "" if !self.inert.contains_key(key) => text.push_str(&format!("{key}\n")),
                _ => text.push_str(&format!("{key}={value}\n")),
            }
        }
        if !ours.is_empty() {
            text.push_str("; extensions of nandscope: fio refuses them\n");
        }
        for (key, value) in ours {
            text.push_str(&format!("{key}={value}\n"));
        }
        text
    }

    fn put_pattern(&self, o: &mut Options) {
        o.put("rw", rw_text(self));
        o.put_if(self.rw.identical, "rw_sequencer", "identical");
        put_blocks(o, &self.bs);
        let align = |a: &Option<u32>| a.map(|a| size_text(a.into())).unwrap_or_default();
        if self.block_align.iter().any(Option::is_some) {
            o.put("ba", by_kind(&self.block_align, align));
        }
        o.put_if(self.rwmix_read != 50, "rwmixread", self.rwmix_read);
        o.put_if(
            self.percentage_random.iter().any(|p| *p != 100),
            "percentage_random",
            by_kind(&self.percentage_random, u32::to_string),
        );
        let distribution = distribution::show(&self.distribution);
        o.put_if(
            distribution != "random",
            "random_distribution",
            distribution,
        );
        o.put_if(!self.random_map, "norandommap", 1);
        if let Some(seed) = self.rand_seed {
            o.put("randseed", seed);
        }
        o.put_if(self.fsync > 0, "fsync", self.fsync);
        o.put_if(self.fdatasync > 0, "fdatasync", self.fdatasync);
        o.put_if(self.end_fsync, "end_fsync", 1);
        o.put_if(self.fsync_on_close, "fsync_on_close", 1);
        if let Some(method) = &self.verify.method {
            o.put("verify", method);
        }
        o.put_if(!self.verify.read_back, "do_verify", 0);
    }

    fn put_region(&self, o: &mut Options) {
        if let Some(size) = self.size {
            o.put("size", extent_text(size));
        }
        if let Some(size) = self.io_size {
            o.put("io_size", extent_text(size));
        }
        o.put_if(
            self.offset != Extent::ZERO,
            "offset",
            extent_text(self.offset),
        );
        if let Some(align) = self.offset_align {
            o.put("offset_align", size_text(align.into()));
        }
        let increment = self.offset_increment;
        o.put_if(
            increment != Extent::ZERO,
            "offset_increment",
            extent_text(increment),
        );
        if let Some(n) = self.number_ios {
            o.put("number_ios", n);
        }
        if let Some(percent) = self.fullness_percent {
            o.put("nandscope_fullness", format!("{percent}%"));
        }
    }

    fn put_pace(&self, o: &mut Options) {
        let p = &self.pacing;
        o.put("iodepth", p.iodepth);
        o.put_if(self.numjobs > 1, "numjobs", self.numjobs);
        o.put_if(self.stonewall, "stonewall", 1);
        if let Some(runtime) = p.runtime {
            o.put("runtime", time_text(runtime));
        }
        o.put_if(p.time_based, "time_based", 1);
        o.put_time("ramp_time", p.ramp_time);
        o.put_time("startdelay", p.start_delay);
        o.put_if(p.loops > 1, "loops", p.loops);
        o.put_time("thinktime", p.thinktime);
        o.put_if(
            p.thinktime_blocks > 1,
            "thinktime_blocks",
            p.thinktime_blocks,
        );
        let limits = PerKind {
            read: p.read_limit,
            write: p.write_limit,
            trim: p.trim_limit,
        };
        let bytes = limits
            .iter()
            .any(|l| matches!(l, RateLimit::BytesPerSecond(_)));
        o.put_if(
            bytes,
            "rate",
            by_kind(&limits, |l| match l {
                RateLimit::BytesPerSecond(n) => size_text(*n),
                _ => "0".to_string(),
            }),
        );
        let ops = limits
            .iter()
            .any(|l| matches!(l, RateLimit::OpsPerSecond(_)));
        o.put_if(
            ops,
            "rate_iops",
            by_kind(&limits, |l| match l {
                RateLimit::OpsPerSecond(n) => n.to_string(),
                _ => "0".to_string(),
            }),
        );
        if let Some(duty) = p.duty_cycle {
            let burst = size_text(duty.burst_bytes);
            o.put(
                "nandscope_duty_cycle",
                format!("{burst}:{}", duty.busy_percent),
            );
        }
        if let Some(cap) = p.idle_cap {
            o.put("nandscope_idle_cap", time_text(cap));
        }
    }

    fn put_report(&self, o: &mut Options) {
        if let Some(text) = &self.description {
            o.put("description", text);
        }
        o.put_if(self.group_reporting, "group_reporting", 1);
        o.put_if(self.new_group, "new_group", 1);
        for (key, log) in [
            ("write_bw_log", &self.logs.bandwidth),
            ("write_iops_log", &self.logs.iops),
            ("write_lat_log", &self.logs.latency),
        ] {
            if let Some(prefix) = log {
                o.put(key, prefix);
            }
        }
        let interval = self.logs.interval;
        o.put_if(!interval.is_zero(), "log_avg_msec", interval.0 / 1_000_000);
        if self.percentiles != DEFAULT_PERCENTILES {
            let list: Vec<String> = self.percentiles.iter().map(f64::to_string).collect();
            o.put("percentile_list", list.join(":"));
        }
        match self.unified_rw {
            UnifiedRw::None => {}
            UnifiedRw::Mixed => o.put("unified_rw_reporting", "mixed"),
            UnifiedRw::Both => o.put("unified_rw_reporting", "both"),
        }
    }

    fn put_trace(&self, o: &mut Options) {
        let Some(trace) = &self.trace else { return };
        o.put("read_iolog", &trace.path);
        o.put_if(trace.no_stall, "replay_no_stall", 1);
        let scale = trace.time_scale_percent;
        o.put_if(scale != 100, "replay_time_scale", scale);
        o.put_if(
            trace.offset_divisor > 1,
            "replay_scale",
            trace.offset_divisor,
        );
        if let Some(align) = trace.align {
            o.put("replay_align", size_text(align.into()));
        }
        if let Some(format) = &trace.format {
            o.put("nandscope_trace_format", format);
        }
    }
}

struct Options(BTreeMap<String, String>);

impl Options {
    fn put(&mut self, key: &str, value: impl ToString) {
        self.0.insert(key.to_string(), value.to_string());
    }

    fn put_if(&mut self, given: bool, key: &str, value: impl ToString) {
        if given {
            self.put(key, value);
        }
    }

    fn put_time(&mut self, key: &str, time: Nanos) {
        self.put_if(!time.is_zero(), key, time_text(time));
    }
}

fn rw_text(job: &Job) -> String {
    let word = match job.rw.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Trim => "trim",
        Access::ReadWrite => "rw",
        Access::TrimWrite => "trimwrite",
    };
    let random = if job.rw.random { "rand" } else { "" };
    match job.rw.modifier {
        None => format!("{random}{word}"),
        Some(n) if job.rw.random => format!("{random}{word}:{n}"),
        Some(n) => format!("{word}:{}", size_text(n)),
    }
}

fn put_blocks(o: &mut Options, bs: &PerKind<BlockSizes>) {
    let size = |n: u32| size_text(n.into());
    if bs.iter().any(|b| matches!(b, BlockSizes::Split(_))) {
        let split = |b: &BlockSizes| match b {
            BlockSizes::Split(parts) => parts
                .iter()
                .map(|(bytes, share)| format!("{}/{share}", size(*bytes)))
                .collect::<Vec<_>>()
                .join(":"),
            other => format!("{}/100", size(other.min())),
        };
        o.put("bssplit", by_kind(bs, split));
    } else if bs.iter().any(|b| matches!(b, BlockSizes::Range { .. })) {
        let range = |b: &BlockSizes| match b {
            BlockSizes::Range { min, max } => format!("{}-{}", size(*min), size(*max)),
            other => format!("{0}-{0}", size(other.min())),
        };
        o.put("bsrange", by_kind(bs, range));
    } else {
        o.put("bs", by_kind(bs, |b| size(b.min())));
    }
}

fn by_kind<T: PartialEq>(values: &PerKind<T>, show: impl Fn(&T) -> String) -> String {
    if values.read == values.write && values.write == values.trim {
        return show(&values.read);
    }
    let parts: Vec<String> = values.iter().map(show).collect();
    parts.join(",")
}

fn extent_text(extent: Extent) -> String {
    match extent {
        Extent::Bytes(bytes) => size_text(bytes.0),
        Extent::Percent(p) => format!("{p}%"),
    }
}
