//! ATA security erase, through hdparm. A drive is erased by setting a password and then giving the erase command, which also
//! removes the password.

use super::{Method, Offer, PurgeError};
use crate::program;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Password during the erasure. If it is interrupted, the drive stays locked with it.
const PASSWORD: &str = "nandscope";
/// Time limit for commands other than the erasure.
const SHORT: Duration = Duration::from_secs(20);
/// Erasure may take so many times as long as the drive states, and at least this long.
const LONGER: u32 = 2;
const ERASE_LEAST: Duration = Duration::from_secs(600);

/// Security section of `hdparm -I`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Security {
    supported: bool,
    enabled: bool,
    locked: bool,
    frozen: bool,
    enhanced: bool,
    minutes: Option<u32>,
    enhanced_minutes: Option<u32>,
}

/// Reads what the drive reports about security erase.
pub(super) fn read(hdparm: &Path, node: &Path) -> Result<Security, PurgeError> {
    let output = run(hdparm, &["-I"], node, SHORT)?;
    Ok(parse(&String::from_utf8_lossy(&output)))
}

fn run(
    hdparm: &Path,
    options: &[&str],
    node: &Path,
    longest: Duration,
) -> Result<Vec<u8>, PurgeError> {
    let mut command = Command::new(hdparm);
    command.args(options).arg(node).stdin(Stdio::null());
    // Ctrl-C goes to the whole group of a terminal, and must not end an erasure between its commands.
    command.process_group(0);
    let (status, output) = program::run(&mut command, longest).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => PurgeError::Missing("hdparm"),
        _ => PurgeError::Program(format!("hdparm {}: {e}", options.join(" "))),
    })?;
    match status.success() {
        true => Ok(output),
        false => Err(PurgeError::Program(format!(
            "hdparm {} failed ({status})",
            options.join(" ")
        ))),
    }
}

fn parse(text: &str) -> Security {
    let section = text.lines().skip_while(|l| !l.starts_with("Security:"));
    let section = section.skip(1).take_while(|l| l.starts_with([' ', '\t']));
    let mut found = Security::default();
    for line in section {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["supported"] => found.supported = true,
            ["enabled"] => found.enabled = true,
            ["locked"] => found.locked = true,
            ["frozen"] => found.frozen = true,
            ["supported:", "enhanced", "erase"] => found.enhanced = true,
            _ => {}
        }
        if line.contains("SECURITY ERASE UNIT") {
            found.minutes = minutes(line, "min for SECURITY ERASE UNIT");
            found.enhanced_minutes = minutes(line, "min for ENHANCED SECURITY ERASE UNIT");
        }
    }
    found
}

/// The number before these words, as in `42min for SECURITY ERASE UNIT. 4min for ENHANCED …`.
fn minutes(line: &str, words: &str) -> Option<u32> {
    let before = &line[..line.find(words)?];
    let number = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok()
}

impl Security {
    /// The ways to purge this drive.
    pub(super) fn offers(&self) -> Vec<Offer> {
        let hindered = match self {
            Security {
                supported: false, ..
            } => Some("the drive does not support it"),
            Security { locked: true, .. } => {
                Some("the drive is locked with a password; unlock it with hdparm --security-unlock")
            }
            Security { enabled: true, .. } => {
                Some("a password is set; remove it with hdparm --security-disable")
            }
            Security { frozen: true, .. } => Some(
                "the firmware of this machine has frozen the drive's security; suspend and resume the machine, or plug the drive in while it runs",
            ),
            _ => None,
        };
        let enhanced = match self.enhanced {
            true => hindered,
            false => hindered.or(Some("the drive does not support it")),
        };
        let offer = |method, why_not: Option<&str>, minutes| Offer {
            minutes,
            ..Offer::new(method, why_not.map(str::to_string))
        };
        vec![
            offer(Method::SecurityErase, hindered, self.minutes),
            offer(Method::EnhancedErase, enhanced, self.enhanced_minutes),
        ]
    }

    /// Erases the drive.
    pub(super) fn purge(
        &self,
        hdparm: &Path,
        node: &Path,
        method: Method,
    ) -> Result<(), PurgeError> {
        let (option, minutes) = match method {
            Method::SecurityErase => ("--security-erase", self.minutes),
            Method::EnhancedErase => ("--security-erase-enhanced", self.enhanced_minutes),
            _ => return Err(PurgeError::NotOffered(method)),
        };
        let stated = Duration::from_secs(60 * u64::from(minutes.unwrap_or(0)));
        let longest = (stated * LONGER).max(ERASE_LEAST);
        let set = ["--user-master", "u", "--security-set-pass", PASSWORD];
        run(hdparm, &set, node, SHORT)?;
        let erase = ["--user-master", "u", option, PASSWORD];
        run(hdparm, &erase, node, longest).map(drop).map_err(|e| {
            // Without its password a drive is not locked after the next power cycle.
            let remove = ["--user-master", "u", "--security-disable", PASSWORD];
            match run(hdparm, &remove, node, SHORT) {
                Ok(_) => e,
                Err(_) => PurgeError::Program(format!(
                    "{e}; the drive may now be locked with the password `{PASSWORD}`: hdparm --security-disable {PASSWORD} {} removes it",
                    node.display()
                )),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &str = "\n/dev/sda:\n\nATA device, with non-removable media\nSecurity: \n\tMaster password revision code = 65534\n\t\tsupported\n\tnot\tenabled\n\tnot\tlocked\n\tnot\tfrozen\n\tnot\texpired: security count\n\t\tsupported: enhanced erase\n\t2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.\nLogical Unit WWN Device Identifier: 5002538\n";

    #[test]
    fn the_security_section_is_understood() {
        let ready = parse(READY);
        let wanted = Security {
            supported: true,
            enhanced: true,
            minutes: Some(2),
            enhanced_minutes: Some(8),
            ..Security::default()
        };
        assert_eq!(ready, wanted);
        assert!(ready.offers().iter().all(|o| o.why_not.is_none()));
        assert_eq!(parse(""), Security::default());
        // Words of other sections do not count.
        assert_eq!(parse("Commands:\n\tfrozen\n"), Security::default());
    }

    #[test]
    fn a_frozen_locked_or_protected_drive_is_not_erased() {
        for (state, named) in [
            ("frozen", "frozen"),
            ("locked", "locked"),
            ("enabled", "password"),
        ] {
            let text = READY.replace(&format!("not\t{state}\n"), &format!("\t{state}\n"));
            let offers = parse(&text).offers();
            for offer in &offers {
                let why = offer.why_not.as_deref().unwrap_or_default();
                assert!(why.contains(named), "{state}: {why}");
            }
        }
        let plain = parse(&READY.replace("\t\tsupported: enhanced erase\n", ""));
        let offered: Vec<bool> = plain.offers().iter().map(|o| o.why_not.is_none()).collect();
        assert_eq!(offered, [true, false]);
    }
}
