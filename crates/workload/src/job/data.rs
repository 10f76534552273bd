//! Contents of writes: fio's options of buffers and patterns. This module describes the data; the measure crate makes
//! it.

use super::value::Value;
use super::{error::Problem, surroundings::Surroundings};

/// fio's own limit, bytes.
const LONGEST: usize = 512;
/// Length of the offset of a block in a pattern: eight bytes, the lowest first.
const OFFSET: usize = size_of::<u64>();

/// Bytes that are repeated, `buffer_pattern` and `verify_pattern`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataPattern {
    bytes: Vec<u8>,
    /// Positions in `bytes` of the offset of a block (`%o`), ascending.
    offsets: Vec<usize>,
}

impl DataPattern {
    /// Fills `block`, at `offset` of the target, with the pattern from its beginning on.
    pub fn fill(&self, block: &mut [u8], offset: u64) {
        self.fill_from(block, offset, 0);
    }

    /// Fills `bytes`, which begin `position` bytes after the beginning of a block at `offset` of the target.
    pub fn fill_from(&self, bytes: &mut [u8], offset: u64, position: u64) {
        let mut once = self.bytes.clone();
        for at in &self.offsets {
            once[*at..at + OFFSET].copy_from_slice(&offset.to_le_bytes());
        }
        let begin = (position % once.len().max(1) as u64) as usize;
        for (byte, value) in bytes.iter_mut().zip(once.iter().cycle().skip(begin)) {
            *byte = *value;
        }
    }

    /// Length of the pattern, bytes, after which it repeats.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the pattern contains the offset of the block.
    pub fn has_offsets(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// Reads numbers (`0xdeadface`, `-12`), texts (`"abcd"`) and, in patterns to verify, offsets (`%o`), one after
    /// another.
    pub(super) fn parse(v: Value<'_>, takes_offsets: bool) -> Result<DataPattern, Problem> {
        let remedy = "write such as 0xdeadface, \"abcd\" or -12";
        let mut pattern = DataPattern::default();
        let mut rest = v.text()?;
        while !rest.is_empty() {
            rest = if let Some(text) = rest.strip_prefix('"') {
                let end = text
                    .find('"')
                    .ok_or_else(|| v.bad("a text that is not closed", remedy))?;
                pattern.bytes.extend_from_slice(&text.as_bytes()[..end]);
                &text[end + 1..]
            } else if let Some(after) = rest.strip_prefix("%o").filter(|_| takes_offsets) {
                pattern.offsets.push(pattern.bytes.len());
                pattern.bytes.extend([0; OFFSET]);
                after
            } else {
                let (bytes, after) = number(rest)
                    .ok_or_else(|| v.bad(format!("`{rest}` is not a pattern of bytes"), remedy))?;
                pattern.bytes.extend(bytes);
                after
            };
        }
        if pattern.bytes.is_empty() || pattern.bytes.len() > LONGEST {
            let length = pattern.bytes.len();
            return Err(v.bad(format!("{length} bytes"), "give 1 to 512 bytes"));
        }
        Ok(pattern)
    }

    /// Text of the pattern in the form that can be parsed again.
    pub(super) fn show(&self) -> String {
        let mut text = String::new();
        let mut at = 0;
        let ends = self.offsets.iter().copied().chain([self.bytes.len()]);
        for end in ends {
            if at < end {
                text.push_str("0x");
                let digits = self.bytes[at..end].iter().map(|byte| format!("{byte:02x}"));
                text.extend(digits);
            }
            if end < self.bytes.len() {
                text.push_str("%o");
            }
            at = end + OFFSET;
        }
        text
    }
}

/// Bytes of the number at the beginning of a text, and the rest of the text. Hexadecimal numbers keep their order;
/// others have 32 bits, the lowest byte first, without zeros at the end. As in fio, the `0` of a following `0x` begins
/// the next number.
fn number(text: &str) -> Option<(Vec<u8>, &str)> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => hexadecimal(hex),
        None => decimal(text),
    }
}

fn hexadecimal(text: &str) -> Option<(Vec<u8>, &str)> {
    let digits = count(text, |c| c.is_ascii_hexdigit());
    let (mut digits, mut after) = text.split_at(digits);
    if after.starts_with(['x', 'X']) && digits.ends_with('0') {
        (digits, after) = text.split_at(digits.len() - 1);
    }
    let nibble = |c: char| c.to_digit(16).map(|d| d as u8);
    let mut nibbles: Vec<u8> = digits.chars().filter_map(nibble).collect();
    if nibbles.len() % 2 == 1 {
        nibbles.insert(0, 0);
    }
    let bytes = nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]);
    (!digits.is_empty()).then(|| (bytes.collect(), after))
}

fn decimal(text: &str) -> Option<(Vec<u8>, &str)> {
    let number = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let next = number.to_ascii_lowercase().find("0x");
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let sign = number.len() - unsigned.len();
    let digits = count(unsigned, |c| c.is_ascii_digit());
    let (number, after) = number.split_at((sign + digits).min(next.unwrap_or(usize::MAX)));
    let mut bytes = number.parse::<i32>().ok()?.to_le_bytes().to_vec();
    while bytes.len() > 1 && bytes.last() == Some(&0) {
        bytes.pop();
    }
    Some((bytes, after))
}

/// Number of characters at the beginning of a text for which `is_one` is true, in bytes.
fn count(text: &str, is_one: fn(char) -> bool) -> usize {
    text.find(|c| !is_one(c)).unwrap_or(text.len())
}

/// Puts in the contents of the files (`'name'`) that a pattern names.
pub(super) fn with_files(
    name: &str,
    text: &str,
    around: &dyn Surroundings,
) -> Result<String, Problem> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"']) {
        let (before, quoted) = rest.split_at(at);
        let (quote, inside) = quoted.split_at(1);
        let Some((inside, after)) = inside.split_once(quote) else {
            break;
        };
        out.push_str(before);
        if quote == "\"" {
            out.push_str(&format!("\"{inside}\""));
        } else {
            let bytes = around.bytes(inside, LONGEST).map_err(|why| {
                Problem::new(
                    format!("`{name}={text}`: `{inside}`: {why}"),
                    "name a file of this folder that can be read",
                )
            })?;
            // The empty texts separate a number from what would continue it.
            out.push_str("\"\"0x");
            out.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
            out.push_str("\"\"");
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Which earlier block a repeated block equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repetition {
    /// The previous block.
    #[default]
    Previous,
    /// A block of a working set, whose size is a percentage of the blocks.
    WorkingSet,
}

/// Contents of the writes of a job. Random data that neither compresses nor repeats by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteData {
    /// `buffer_pattern`.
    pub pattern: Option<DataPattern>,
    /// `zero_buffers`.
    pub zeros: bool,
    /// `refill_buffers`: all data is made again for each write.
    pub refill: bool,
    /// `scramble_buffers`: data that are used again are changed a little.
    pub scramble: bool,
    /// `buffer_compress_percentage`.
    pub compressible: u32,
    /// `buffer_compress_chunk`: size of the chunks that each end with their compressible part, bytes; `None` is
    /// 512.
    pub chunk: Option<u32>,
    /// `dedupe_percentage`.
    pub repeated: u32,
    /// `dedupe_mode`.
    pub repetition: Repetition,
    /// `dedupe_working_set_percentage`.
    pub working_set: u32,
    /// `dedupe_global`: jobs with this option repeat each other's blocks.
    pub is_global: bool,
}

impl Default for WriteData {
    fn default() -> Self {
        WriteData {
            pattern: None,
            zeros: false,
            refill: false,
            scramble: true,
            compressible: 0,
            chunk: None,
            repeated: 0,
            repetition: Repetition::Previous,
            working_set: 5,
            is_global: false,
        }
    }
}
