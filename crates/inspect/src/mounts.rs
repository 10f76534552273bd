//! Parsers of `/proc/self/mountinfo` and `/proc/swaps` (proc(5)). They read text only.

use crate::DeviceNumber;
use crate::roots::{self, Roots};
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// The kernel's number of the mount.
    #[serde(skip)]
    pub id: u64,
    /// The device that `stat` of a file in there gives, as a rule.
    pub number: DeviceNumber,
    /// Mount point.
    #[serde(serialize_with = "crate::lossy::path")]
    pub point: PathBuf,
    /// The type of the file system.
    pub file_system: String,
    /// The device, or whatever the file system calls its source.
    #[serde(serialize_with = "crate::lossy::path")]
    pub source: PathBuf,
    /// Options of the mount and of the file system, one after the other, as the kernel shows them.
    pub options: Vec<String>,
}

/// Parses the text of `mountinfo`. Malformed lines are skipped: the kernel writes this file, and a field added by a
/// later kernel must not hide the mounts.
pub fn parse_mounts(bytes: &[u8]) -> Vec<Mount> {
    bytes.split(|b| *b == b'\n').filter_map(mount).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ').filter(|f| !f.is_empty());
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let number = std::str::from_utf8(fields.nth(1)?).ok()?.parse().ok()?;
    let point = path(fields.nth(1)?);
    let mut options = list(fields.next()?);
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = String::from_utf8_lossy(rest.next()?).into_owned();
    let source = path(rest.next()?);
    for option in rest.next().map(list).unwrap_or_default() {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount {
        id,
        number,
        point,
        file_system,
        source,
        options,
    })
}

/// Reads the files and devices out of the text of `swaps`.
pub fn parse_swaps(bytes: &[u8]) -> Vec<PathBuf> {
    bytes
        .split(|b| *b == b'\n')
        .skip(1)
        // Blanks, tabs and line ends within a path are escaped, and no others.
        .filter_map(|line| line.split(|b| matches!(b, b' ' | b'\t')).next())
        .filter(|field| field.first() == Some(&b'/'))
        .map(path)
        .collect()
}

/// The mounts visible to this process.
///
/// # Errors
/// `io::Error` if `/proc` cannot be read.
pub fn mounts(roots: &Roots) -> io::Result<Vec<Mount>> {
    roots::read_all(&roots.proc.join("self/mountinfo")).map(|bytes| parse_mounts(&bytes))
}

/// Swap devices and files; none if the kernel has no swap.
///
/// # Errors
/// `io::Error` if the file exists but cannot be read.
pub fn swaps(roots: &Roots) -> io::Result<Vec<PathBuf>> {
    match roots::read_all(&roots.proc.join("swaps")) {
        Ok(bytes) => Ok(parse_swaps(&bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// The mount of a path without links: the one with this number, or else the one with the longest mount
/// point; of several on the same point, the last.
pub fn mount_at<'a>(mounts: &'a [Mount], path: &Path, id: Option<u64>) -> Option<&'a Mount> {
    let around = || mounts.iter().filter(|m| path.starts_with(&m.point));
    let counted = around().find(|mount| Some(mount.id) == id);
    counted.or_else(|| around().max_by_key(|mount| mount.point.components().count()))
}

fn list(field: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(field)
        .split(',')
        .filter(|option| !option.is_empty())
        .map(str::to_string)
        .collect()
}

/// The kernel writes blanks, tabs, line ends and backslashes as `\040` and the like.
fn path(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match octal(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn octal(bytes: &[u8]) -> Option<u8> {
    let [b'\\', digits @ ..] = bytes.get(..4)? else {
        return None;
    };
    let text = std::str::from_utf8(digits).ok()?;
    let are_digits = text.bytes().all(|b| b.is_ascii_digit());
    u8::from_str_radix(text, 8).ok().filter(|_| are_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_with_blanks_and_optional_fields() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            36 35 98:0 /a /mnt\\040two rw,noatime master:1 shared:2 - btrfs /dev/sd\\134x rw,ssd\n\
            37 35 98:0 /a\n\
            nonsense\n";
        let mounts = parse_mounts(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].options, ["rw", "relatime", "discard"]);
        assert_eq!(mounts[1].point, Path::new("/mnt two"));
        assert_eq!(mounts[1].source, Path::new("/dev/sd\\x"));
        assert_eq!(mounts[1].number.to_string(), "98:0");
        assert_eq!(mounts[1].file_system, "btrfs");
    }

    #[test]
    fn the_innermost_and_last_mount_holds_a_path() {
        let line = |n: u32, point: &str| format!("1 1 8:{n} / {point} rw - ext4 /dev/x rw\n");
        let text = [line(1, "/"), line(2, "/a"), line(3, "/a"), line(4, "/ab")].concat();
        let mounts = parse_mounts(text.as_bytes());
        let minor = |path| mount_at(&mounts, Path::new(path), None).map(|m| m.number.minor);
        assert_eq!(minor("/a/b"), Some(3));
        assert_eq!(minor("/abc"), Some(1));
        assert_eq!(minor("/ab"), Some(4));
    }

    #[test]
    fn of_two_mounts_around_a_path_the_number_decides() {
        let text = b"21 1 8:1 / /a rw - ext4 /dev/x rw\n22 1 8:2 / /a/b rw - ext4 /dev/y rw\n";
        let mounts = parse_mounts(text);
        let minor = |id| mount_at(&mounts, Path::new("/a/b/c"), id).map(|m| m.number.minor);
        assert_eq!(
            [
                minor(Some(21)),
                minor(Some(22)),
                minor(Some(99)),
                minor(None)
            ],
            [Some(1), Some(2), Some(2), Some(2)]
        );
    }

    #[test]
    fn swaps_have_a_line_of_titles() {
        let text =
            b"Filename\t\t\tType\t\tSize\n/dev/sda2    partition 1 0 -2\n/a\\040b file 1 0 -3\n";
        assert_eq!(
            parse_swaps(text),
            [Path::new("/dev/sda2"), Path::new("/a b")]
        );
        // The kernel does not escape these, and they end no field.
        let text = b"Filename\n/a\x0cb\rc\xff\\012d file\t1 0 -3\n";
        let path = OsString::from_vec(b"/a\x0cb\rc\xff\nd".to_vec());
        assert_eq!(parse_swaps(text), [PathBuf::from(path)]);
    }
}
