//! Parses the values of options: sizes, times, numbers, flags and lists by direction. Independent of the options.

use super::arithmetic::evaluate;
use super::error::Problem;
use super::extent::Extent;
use super::kinds::PerKind;
use nandscope_units::{Bytes, Nanos, SizeBase, parse_duration, parse_size};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Value of an option, with the context needed to parse it.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    pub(crate) key: &'a str,
    /// `None` for a flag without `=`.
    pub(crate) text: Option<&'a str>,
    pub(crate) base: SizeBase,
}

impl<'a> Value<'a> {
    /// A part of the value, to be parsed separately.
    pub(crate) fn with<'b>(&self, text: &'b str) -> Value<'b>
    where
        'a: 'b,
    {
        Value {
            text: Some(text),
            key: self.key,
            base: self.base,
        }
    }

    /// The text; a bare option that needs a value is a fault.
    pub(crate) fn text(&self) -> Result<&'a str, Problem> {
        match self.text {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(Problem::new(
                format!("`{}` has no value", self.key),
                format!("write `{}=value`", self.key),
            )),
        }
    }

    pub(crate) fn bad(&self, why: impl Display, remedy: impl Into<String>) -> Problem {
        Problem::new(
            format!("`{}={}`: {why}", self.key, self.text.unwrap_or_default()),
            remedy,
        )
    }

    /// Parses a flag: an empty value and 1 are true, 0 is false.
    pub(crate) fn flag(&self) -> Result<bool, Problem> {
        match self.text {
            None | Some("1" | "true") => Ok(true),
            Some("0" | "false") => Ok(false),
            Some(_) => Err(self.bad("neither 0 nor 1", "write 0 or 1")),
        }
    }

    pub(crate) fn size_of(&self, text: &str) -> Result<Bytes, Problem> {
        if text.starts_with('(') {
            return self.computed(text).map(Bytes);
        }
        let lower = text.to_ascii_lowercase();
        if let Some(hex) = lower.strip_prefix("0x") {
            return u64::from_str_radix(hex, 16)
                .map(Bytes)
                .map_err(|e| self.bad(e, "write a size such as 4k, 32m or 1g"));
        }
        // fio turns the meaning round: with kb_base=1024 `4KiB` is 4000 bytes there.
        if self.base == SizeBase::Binary && self.has_odd_unit(text) {
            let number = lower.trim_end_matches("ib").trim_end_matches('i');
            return parse_size(number, SizeBase::Decimal)
                .map_err(|e| self.bad(e, "write a size such as 4k, 32m or 1g"));
        }
        parse_size(text, self.base).map_err(|e| self.bad(e, "write a size such as 4k, 32m or 1g"))
    }

    /// Whether a size has a unit such as `KiB` that fio does not interpret as its name says.
    pub(crate) fn has_odd_unit(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let unit = lower.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let odd = ["ki", "mi", "gi", "ti", "pi"];
        self.base == SizeBase::Binary
            && unit.len() < lower.len()
            && odd.contains(&unit.trim_end_matches('b'))
    }

    /// The value of an arithmetic expression; numbers in it may have units of size.
    fn computed(&self, text: &str) -> Result<u64, Problem> {
        let number = |token: &str| {
            let whole = token.parse::<u64>().ok();
            let size = || parse_size(token, self.base).ok().map(|b| b.0);
            whole.or_else(size).map(i128::from)
        };
        const REMEDY: &str = "write such as (4*1024)";
        let value = evaluate(text, &number).map_err(|why| self.bad(why, REMEDY))?;
        u64::try_from(value).map_err(|_| self.bad(format!("{value} is not a size"), REMEDY))
    }

    /// A size that one operation can have: 512 bytes to just below 4 GiB, whole sectors.
    pub(crate) fn block(&self, text: &str) -> Result<u32, Problem> {
        let bytes = self.size_of(text)?.0;
        if bytes == 0 || !bytes.is_multiple_of(512) {
            return Err(self.bad(
                format!("{bytes} bytes are not a whole number of 512-byte sectors"),
                "use a multiple of 512",
            ));
        }
        u32::try_from(bytes).map_err(|_| self.bad("4 GiB or more in one operation", "use less"))
    }

    /// A size, or a percentage with `%`.
    pub(crate) fn extent(&self) -> Result<Extent, Problem> {
        let text = self.text()?;
        match text.strip_suffix('%') {
            None => Ok(Extent::Bytes(self.size_of(text)?)),
            Some(percent) => match percent.trim().parse::<u32>() {
                Ok(p) if p <= 100 => Ok(Extent::Percent(p)),
                _ => Err(self.bad("no percentage from 0 to 100", "write such as `80%`")),
            },
        }
    }

    /// Parses a time; a number without a unit counts in `unit`. fio resolves microseconds.
    pub(crate) fn time(&self, unit: Nanos) -> Result<Nanos, Problem> {
        let text = self.text()?;
        if text.starts_with('(') {
            return self.computed_time(text, unit);
        }
        let time = parse_duration(text, unit.0)
            .map_err(|e| self.bad(e, "write a time such as 30s, 200ms or 50us"))?;
        if !time.0.is_multiple_of(1_000) {
            return Err(self.bad("finer than a microsecond", "round it to microseconds"));
        }
        Ok(time)
    }

    /// Value of an expression of times: numbers without a unit count in `unit`.
    fn computed_time(&self, text: &str, unit: Nanos) -> Result<Nanos, Problem> {
        let has_units = text.contains(|c: char| c.is_ascii_alphabetic());
        let number = |token: &str| match token.parse::<u64>() {
            Ok(n) => Some(i128::from(n)),
            Err(_) => parse_duration(token, unit.0).ok().map(|t| i128::from(t.0)),
        };
        let scale = if has_units { 1 } else { i128::from(unit.0) };
        const REMEDY: &str = "write such as (2*60)";
        let value = evaluate(text, &number).map_err(|why| self.bad(why, REMEDY))?;
        let ns = value.checked_mul(scale).map(u64::try_from);
        match ns {
            Some(Ok(ns)) => Ok(Nanos(ns - ns % 1_000)),
            _ => Err(self.bad(format!("{value} is not a time"), REMEDY)),
        }
    }

    /// A whole number in a range.
    pub(crate) fn number_of<N>(&self, text: &str, range: RangeInclusive<N>) -> Result<N, Problem>
    where
        N: TryFrom<u64> + PartialOrd + Display,
    {
        let n = match text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
            true => text.parse::<u64>().ok(),
            // fio's integers take size units as well: `number_ios=1m`.
            false => self.size_of(text).ok().map(|b| b.0),
        };
        n.and_then(|n| N::try_from(n).ok())
            .filter(|n| range.contains(n))
            .ok_or_else(|| {
                let (low, high) = range.into_inner();
                self.bad(
                    format!("`{text}` is not a whole number from {low} to {high}"),
                    "write a number in that range",
                )
            })
    }

    /// The value of a word of a table.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)], remedy: &str) -> Result<T, Problem> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| self.bad("unknown", remedy))
    }

    /// The size of one operation, bytes; `None` for `0`.
    pub(crate) fn block_or_none(&self) -> Result<Option<u32>, Problem> {
        match self.text()? {
            "0" => Ok(None),
            text => self.block(text).map(Some),
        }
    }

    pub(crate) fn float(&self, text: &str, low: f64, high: f64) -> Result<f64, Problem> {
        match text.parse::<f64>() {
            Ok(x) if x >= low && x <= high => Ok(x),
            _ => Err(self.bad(
                format!("`{text}` is not a number from {low} to {high}"),
                "write a number in that range",
            )),
        }
    }

    /// Parses `read,write,trim` as fio does: one part is for all; of two the second is for writes and trims; an empty
    /// part keeps the earlier value.
    pub(crate) fn by_kind<T>(
        &self,
        into: &mut PerKind<T>,
        mut read: impl FnMut(&str) -> Result<T, Problem>,
    ) -> Result<(), Problem>
    where
        T: Clone,
    {
        let parts: Vec<&str> = self.text()?.split(',').map(str::trim).collect();
        let (r, w, t) = match parts[..] {
            [all] => (all, all, all),
            [r, rest] => (r, rest, rest),
            [r, w, t] => (r, w, t),
            _ => {
                return Err(self.bad(
                    "more than three parts",
                    "give one value, or read,write,trim",
                ));
            }
        };
        for (text, place) in [
            (r, &mut into.read),
            (w, &mut into.write),
            (t, &mut into.trim),
        ] {
            if !text.is_empty() {
                *place = read(text)?;
            }
        }
        Ok(())
    }
}
