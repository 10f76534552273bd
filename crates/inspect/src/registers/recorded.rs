//! Registers of a card that somebody recorded: lines of a name and a value, such as `cid 035053…`, or what
//! `grep . /sys/block/mmcblk0/size /sys/block/mmcblk0/device/*` prints.

use super::{Checksum, Cid, Family, RegisterTexts, Registers};
use nandscope_units::Bytes;
use std::collections::BTreeMap;
use thiserror::Error;

/// Registers of a card that is not here.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRegisters {
    /// The decoded registers.
    pub registers: Registers,
    /// Size of the card's block device, if it was recorded.
    pub size: Option<Bytes>,
}

/// A text that holds no registers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RecordedError(String);

/// Names of values. The registers are in hexadecimal digits; the fields of a CID as the kernel prints them.
const NAMES: [&str; 14] = [
    "type", "cid", "csd", "scr", "ssr", "ext_csd", "manfid", "oemid", "name", "hwrev", "fwrev",
    "serial", "date", "size",
];
/// `size` counts sectors of this length, as in sysfs.
const SECTOR: u64 = 512;

/// Reads recorded registers; `name` is for messages. A `size` counts sectors of 512 bytes. Without `type`, the card is an eMMC if
/// there is an `ext_csd`, and an SD card otherwise. Without a `cid` its fields count: `manfid`, `oemid`, `name`, `serial`, `date`.
///
/// # Errors
/// [`RecordedError`] with the line if a line has no name or no value, a name is unknown or there twice, or a value is no number;
/// and if there are no registers.
pub fn read_recorded(name: &str, text: &str) -> Result<RecordedRegisters, RecordedError> {
    let values = values(name, text)?;
    let family = match values.get("type").map(|v| (v.line, v.text)) {
        Some((_, "SD")) => Family::Sd,
        Some((_, "MMC")) => Family::Mmc,
        Some((line, other)) => {
            let other = nandscope_units::printable(other);
            return Err(fault(
                name,
                line,
                &format!("type `{other}` is neither SD nor MMC"),
            ));
        }
        None if values.contains_key("ext_csd") => Family::Mmc,
        None => Family::Sd,
    };
    let of = |key: &str| values.get(key).map(|v| v.text.to_string());
    let mut registers = Registers::decode(&RegisterTexts {
        family,
        cid: of("cid"),
        csd: of("csd"),
        scr: of("scr"),
        ssr: of("ssr"),
        ext_csd: of("ext_csd"),
    });
    if !values.contains_key("cid") {
        registers.cid = fields(name, family, &values)?;
    }
    let nothing = registers.cid.is_none()
        && registers.csd.is_none()
        && registers.ext_csd.is_none()
        && registers.faults.is_empty();
    if nothing {
        return Err(RecordedError(format!(
            "{name} holds no registers: lines are `cid DIGITS`, `csd DIGITS`, `ext_csd DIGITS`, or `manfid`, `oemid`, `name`, `serial` and `date` as in /sys/block/mmcblk0/device"
        )));
    }
    let size = values
        .get("size")
        .map(|v| number(name, v, u64::MAX / SECTOR));
    Ok(RecordedRegisters {
        registers,
        size: size.transpose()?.map(|sectors| Bytes(sectors * SECTOR)),
    })
}

/// A value and the number of its line.
struct Value<'a> {
    line: usize,
    text: &'a str,
}

type Values<'a> = BTreeMap<&'static str, Value<'a>>;

fn fault(name: &str, line: usize, why: &str) -> RecordedError {
    RecordedError(format!("{name}, line {line}: {why}"))
}

fn values<'a>(name: &str, text: &'a str) -> Result<Values<'a>, RecordedError> {
    let mut values = Values::new();
    for (i, line) in text.lines().enumerate() {
        let (number, line) = (i + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |why: &str| fault(name, number, why);
        let end = line.find([':', '=', ' ', '\t']);
        let (key, value) = line.split_at(end.unwrap_or(line.len()));
        let value = value.trim_start_matches([':', '=', ' ', '\t']);
        // grep prints the path of a file before each line of it.
        let (folder, last) = key
            .rsplit_once('/')
            .map_or((false, key), |(_, last)| (true, last));
        let Some(known) = NAMES.iter().find(|known| **known == last) else {
            if folder {
                // Another file of the kernel.
                continue;
            }
            return Err(fault(&format!(
                "`{}` is no register; known are {}",
                nandscope_units::printable(key),
                NAMES.join(", ")
            )));
        };
        if value.is_empty() && *known != "name" {
            return Err(fault(&format!("`{known}` has no value")));
        }
        let value = Value {
            line: number,
            text: value,
        };
        if let Some(before) = values.insert(known, value) {
            return Err(fault(&format!(
                "`{known}` is in line {} as well; record one card per file",
                before.line
            )));
        }
    }
    Ok(values)
}

/// A number in decimal or, after `0x`, hexadecimal digits, `most` at most.
fn number(name: &str, value: &Value<'_>, most: u64) -> Result<u64, RecordedError> {
    let read = match value.text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.text.parse(),
    };
    let read = read.ok().filter(|n| *n <= most);
    read.ok_or_else(|| {
        let shown = nandscope_units::printable(value.text);
        fault(
            name,
            value.line,
            &format!("`{shown}` is no number up to {most}"),
        )
    })
}

/// The CID as the kernel prints its fields; `None` without a manufacturer.
fn fields(name: &str, family: Family, values: &Values<'_>) -> Result<Option<Cid>, RecordedError> {
    let Some(manufacturer) = values.get("manfid") else {
        return Ok(None);
    };
    let needed = |key: &'static str| {
        values.get(key).ok_or_else(|| {
            RecordedError(format!(
                "{name} has `manfid` and no `{key}`: the fields of a CID are `manfid`, `oemid`, `name`, `serial` and `date`"
            ))
        })
    };
    let date = needed("date")?;
    let parsed = date.text.split_once('/').and_then(|(month, year)| {
        let month: Option<u8> = month.parse().ok();
        month.zip(year.parse().ok())
    });
    let Some((month, year)) = parsed else {
        let shown = nandscope_units::printable(date.text);
        return Err(fault(
            name,
            date.line,
            &format!("`{shown}` is no date such as 03/2016"),
        ));
    };
    let optional = |key: &str| match values.get(key) {
        Some(value) => number(name, value, u64::MAX),
        None => Ok(0),
    };
    // The firmware revision of an eMMC is 64 bits; what an SD card has are four.
    let nibble = |value: u64| u8::try_from(value).ok().filter(|n| *n < 16).unwrap_or(0);
    let manufacturer = number(name, manufacturer, u64::from(u8::MAX))? as u8;
    let oem = number(name, needed("oemid")?, u64::from(u16::MAX))? as u16;
    Ok(Some(Cid {
        manufacturer,
        oem,
        maker: Cid::maker_of(family, manufacturer, oem),
        product: needed("name")?.text.to_string(),
        revision: (nibble(optional("hwrev")?), nibble(optional("fwrev")?)),
        serial: number(name, needed("serial")?, u64::from(u32::MAX))? as u32,
        year,
        month,
        checksum: Checksum::NotGiven,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_read_as_lines_and_as_grep_prints_them() {
        let plain = "# a card\ntype SD\ncid 035054534c31364730da0a5d93010101\ncsd 400e00325b59000073a77f800a400001\nsize 31116288\n";
        let found = read_recorded("r.txt", plain).unwrap();
        let cid = found.registers.cid.as_ref().unwrap();
        assert_eq!((cid.manufacturer, cid.product.as_str()), (0x03, "SL16G"));
        assert_eq!(found.size, Some(Bytes(31_116_288 * 512)));
        let printed = "\
/sys/block/mmcblk0/size:31116288
/sys/block/mmcblk0/device/cid:035054534c31364730da0a5d93010101
/sys/block/mmcblk0/device/csd:400e00325b59000073a77f800a400001
/sys/block/mmcblk0/device/preferred_erase_size:4194304
/sys/block/mmcblk0/device/type:SD
/sys/block/mmcblk0/device/uevent:DRIVER=mmcblk
/sys/block/mmcblk0/device/uevent:MMC_TYPE=SD
";
        assert_eq!(read_recorded("r.txt", printed).unwrap(), found);
    }

    #[test]
    fn fields_of_a_cid_are_a_cid() {
        let text = "manfid=0x000000\noemid=0x0000\nname=SMI\nserial=0x00000017\ndate=11/2020\nhwrev=0x1\nfwrev=0x0d00020000000000\n";
        let cid = read_recorded("r.txt", text).unwrap().registers.cid.unwrap();
        assert_eq!(
            (cid.manufacturer, cid.serial, cid.year, cid.month),
            (0, 0x17, 2020, 11)
        );
        assert_eq!(
            (cid.revision, cid.maker, cid.checksum),
            ((1, 0), None, Checksum::NotGiven)
        );
        let known = text.replace("0x000000\noemid=0x0000", "0x000003\noemid=0x5344");
        let cid = read_recorded("r.txt", &known)
            .unwrap()
            .registers
            .cid
            .unwrap();
        assert_eq!(cid.maker, Some("SanDisk"));
    }

    #[test]
    fn faults_name_the_line() {
        let cases = [
            ("", "r.txt holds no registers"),
            ("type SD\n", "r.txt holds no registers"),
            ("\nhello\n", "r.txt, line 2: `hello` is no register"),
            ("cid\n", "r.txt, line 1: `cid` has no value"),
            (
                "cid 00\ncid 00\n",
                "r.txt, line 2: `cid` is in line 1 as well",
            ),
            (
                "type USB\n",
                "r.txt, line 1: type `USB` is neither SD nor MMC",
            ),
            ("manfid 3\n", "r.txt has `manfid` and no `date`"),
            (
                "manfid 300\ndate 1/2020\n",
                "r.txt, line 1: `300` is no number up to 255",
            ),
            ("manfid 3\ndate x\n", "r.txt, line 2: `x` is no date"),
            ("csd 00\nsize many\n", "r.txt, line 2: `many` is no number"),
        ];
        for (text, expected) in cases {
            let error = read_recorded("r.txt", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        // A register that cannot be decoded is a sign, not an error.
        let found = read_recorded("r.txt", "cid 1234\n").unwrap();
        assert!(found.registers.faults[0].starts_with("CID: "), "{found:?}");
    }
}
