//! Health of industrial SD cards, from the page of their makers: asked from a card, or in a file.

use super::source::{identity, named, now};
use crate::failure::Failure;
use crate::input;
use nandscope_fitness::health::HealthReading;
use nandscope_inspect::Roots;
use nandscope_inspect::card_health::{self, CardHealth, Layout, PAGE_BYTES, READS, decode};
use nandscope_inspect::guard::Guard;
use nandscope_inspect::identity::Transport;
use nandscope_inspect::registers::Register;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The health in a page in a file, at the time of the file.
///
/// # Errors
/// `Exit::Usage` if it is no such page; `Exit::File` if it cannot be read.
pub fn recorded(
    file: &Path,
    without_signature: bool,
) -> Result<(HealthReading, Vec<String>), Failure> {
    let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let bytes = input::bytes(file, "the health page")?;
    let page = match bytes.len() {
        PAGE_BYTES => bytes,
        _ => digits(&bytes).map_err(wrong)?,
    };
    let layout = without_signature.then_some(Layout::Apacer);
    let health = decode(&page, layout).map_err(|e| {
        wrong(format!(
            "{e}; --layout apacer reads it as a page of Apacer or Kingston, which have no signature"
        ))
    })?;
    let changed = std::fs::metadata(file).and_then(|about| about.modified());
    let since = changed.ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    let reading = HealthReading {
        time: since.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0)),
        device: file.display().to_string(),
        ..HealthReading::default()
    };
    Ok(with_health(reading, health))
}

/// The bytes of a page in hexadecimal digits, with spaces or lines between them.
fn digits(text: &[u8]) -> Result<Vec<u8>, String> {
    let text: String = String::from_utf8_lossy(text).split_whitespace().collect();
    let page = Register::<PAGE_BYTES>::from_hex(&text).map_err(|_| {
        format!("it must have {PAGE_BYTES} bytes, or their hexadecimal digits and nothing else")
    })?;
    Ok(page.0.to_vec())
}

/// Asks the card in a slot of this machine.
///
/// # Errors
/// `Exit::Usage` if it is no SD card; `Exit::File` if there is no such device, or it cannot be opened.
pub fn asked(name: &str) -> Result<(HealthReading, Vec<String>), Failure> {
    let roots = Roots::default();
    let identity = identity(&roots, name)?;
    if identity.transport != Transport::Sd || identity.partition_of.is_some() {
        return Err(Failure::usage(format!(
            "--vendor works with SD cards in a native slot only, by the name of the whole device such as /dev/mmcblk0; {name} is none"
        )));
    }
    let opened = Guard::new(roots).open_to_read(Path::new(name));
    let opened = opened.map_err(crate::target::real::refused)?;
    let reading = named(&identity, now());
    let mut absent = Vec::new();
    for argument in READS {
        let page = card_health::read(&opened.file, argument).map_err(|e| e.to_string());
        let health = page.and_then(|page| decode(&page, None).map_err(|e| e.to_string()));
        match health {
            Ok(health) => return Ok(with_health(reading, health)),
            Err(why) => absent.push(format!("CMD56 with {argument:#010x}: {why}")),
        }
    }
    Ok((reading, absent))
}

/// Values that contradict each other are not stated: which of them is right is not known.
fn with_health(reading: HealthReading, health: CardHealth) -> (HealthReading, Vec<String>) {
    let is_sound = health.contradictions.is_empty();
    let reading = HealthReading {
        used_percent: is_sound.then_some(health.used_percent),
        step_percent: is_sound.then_some(health.step_percent),
        ..reading
    };
    let contradictions = health.contradictions.iter();
    let unknown = contradictions.map(|c| format!("which of these values is right: {c}"));
    (reading, unknown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_be_a_dump_in_digits() {
        let mut text = "44 53 ".to_string();
        text.push_str(&"0a".repeat(510));
        let page = digits(text.as_bytes()).unwrap();
        assert_eq!(&page[..3], [0x44, 0x53, 0x0a]);
        for wrong in ["", "44", "zz"] {
            assert!(digits(wrong.as_bytes()).unwrap_err().contains("512 bytes"));
        }
        let wrong = "g".repeat(1024);
        assert!(digits(wrong.as_bytes()).is_err());
    }
}
