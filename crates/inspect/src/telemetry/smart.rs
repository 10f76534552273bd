//! SMART of NVMe and ATA devices, through the JSON that `smartctl --json` writes (smartmontools 7.0
//! and later). smartctl needs the rights of root, and sends the device one command for each page.

use super::{Absent, Reading};
use crate::program;
use nandscope_units::Bytes;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// An NVMe data unit: 1000 blocks of 512 bytes (NVMe base specification, log page 02h).
const DATA_UNIT: u64 = 512_000;
/// Time limit for smartctl.
const LONGEST: Duration = Duration::from_secs(10);

/// Health of a device. What it does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Smart {
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Revision, as the device states it.
    pub firmware: Option<String>,
    /// `NVMe`, `ATA` or `SCSI`.
    pub protocol: Option<String>,
    /// Its own verdict on its health.
    pub passed: Option<bool>,
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Used part of the rated endurance in percent; NVMe may exceed 100.
    pub used_percent: Option<f64>,
    /// Spare blocks that are left, percent.
    pub spare_percent: Option<f64>,
    /// Amount of data that the host has read during the device's life.
    pub host_read: Option<Bytes>,
    /// Amount of data that the host has written during the device's life.
    pub host_written: Option<Bytes>,
    /// Hours of operation.
    pub power_on_hours: Option<u64>,
    /// Number of times that the device was switched on.
    pub power_cycles: Option<u64>,
    /// Times it lost its power without notice (NVMe).
    pub unsafe_shutdowns: Option<u64>,
    /// Errors of the medium (NVMe), or uncorrectable ones that were reported (ATA).
    pub media_errors: Option<u64>,
    /// Errors of the link (ATA).
    pub link_errors: Option<u64>,
    /// Bits of the critical warning (NVMe).
    pub critical_warning: Option<u64>,
    /// Minutes above the temperature of the warning (NVMe).
    pub warning_minutes: Option<u64>,
    /// Minutes above the critical temperature (NVMe).
    pub critical_minutes: Option<u64>,
    /// Attributes of ATA as they are.
    pub attributes: Vec<Attribute>,
}

/// One attribute of ATA SMART. What it means, its maker decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attribute {
    /// Number.
    pub id: u64,
    /// Name used by smartmontools.
    pub name: String,
    /// The normalised value.
    pub value: u64,
    /// The raw value.
    pub raw: u64,
}

/// Parses the output of `smartctl --json --all`.
///
/// # Errors
/// `Absent` if it is not JSON of smartctl, or smartctl reports why it could not read the device.
pub fn parse(json: &[u8]) -> Reading<Smart> {
    let root: Value = serde_json::from_slice(json).map_err(|e| {
        Absent::new(format!(
            "smartctl wrote no JSON: {e}; it must be version 7.0 or later"
        ))
    })?;
    if root.get("smartctl").is_none() {
        return Err(Absent::new("this JSON is not from smartctl"));
    }
    // Bits 0 and 1: the command line is wrong, the device could not be opened.
    let status = number(&root, "/smartctl/exit_status").unwrap_or(0);
    if status & 3 != 0 {
        let said = text(&root, "/smartctl/messages/0/string");
        return Err(Absent::new(format!(
            "smartctl: {}",
            said.unwrap_or_else(|| "it could not read the device".to_string())
        )));
    }
    let mut smart = common(&root);
    if let Some(log) = root.get("nvme_smart_health_information_log") {
        nvme(log, &mut smart);
    }
    if let Some(Value::Array(table)) = root.pointer("/ata_smart_attributes/table") {
        ata(table, &root, &mut smart);
    }
    Ok(smart)
}

fn common(root: &Value) -> Smart {
    Smart {
        model: text(root, "/model_name"),
        serial: text(root, "/serial_number"),
        firmware: text(root, "/firmware_version"),
        protocol: text(root, "/device/protocol"),
        passed: root
            .pointer("/smart_status/passed")
            .and_then(Value::as_bool),
        temperature_c: real(root, "/temperature/current"),
        power_on_hours: number(root, "/power_on_time/hours"),
        power_cycles: number(root, "/power_cycle_count"),
        ..Smart::default()
    }
}

fn nvme(log: &Value, smart: &mut Smart) {
    let units = |name: &str| number(log, name).map(|n| Bytes(n.saturating_mul(DATA_UNIT)));
    smart.temperature_c = smart.temperature_c.or_else(|| real(log, "/temperature"));
    smart.used_percent = real(log, "/percentage_used");
    smart.spare_percent = real(log, "/available_spare");
    smart.host_read = units("/data_units_read");
    smart.host_written = units("/data_units_written");
    smart.unsafe_shutdowns = number(log, "/unsafe_shutdowns");
    smart.media_errors = number(log, "/media_errors");
    smart.critical_warning = number(log, "/critical_warning");
    smart.warning_minutes = number(log, "/warning_temp_time");
    smart.critical_minutes = number(log, "/critical_comp_time");
}

/// Only attributes whose meaning their name settles are understood; numbers alone mean different
/// things with different makers.
fn ata(table: &[Value], root: &Value, smart: &mut Smart) {
    smart.attributes = table.iter().filter_map(attribute).collect();
    let block = number(root, "/logical_block_size").unwrap_or(512);
    for attribute in &smart.attributes {
        let raw = attribute.raw;
        let times = |unit: u64| Some(Bytes(raw.saturating_mul(unit)));
        match attribute.name.as_str() {
            "Total_LBAs_Written" => smart.host_written = times(block),
            "Total_LBAs_Read" => smart.host_read = times(block),
            "Host_Writes_32MiB" => smart.host_written = times(32 << 20),
            "Host_Reads_32MiB" => smart.host_read = times(32 << 20),
            "Host_Writes_GiB" | "Total_Writes_GiB" => smart.host_written = times(1 << 30),
            "Host_Reads_GiB" | "Total_Reads_GiB" => smart.host_read = times(1 << 30),
            "Reported_Uncorrect" => smart.media_errors = Some(raw),
            "UDMA_CRC_Error_Count" | "CRC_Error_Count" => smart.link_errors = Some(raw),
            // Normalised: the remaining part, from 100 down.
            "Percent_Lifetime_Remain" | "SSD_Life_Left" | "Media_Wearout_Indicator" => {
                smart.used_percent = 100u64.checked_sub(attribute.value).map(|n| n as f64);
            }
            _ => {}
        }
    }
}

fn attribute(entry: &Value) -> Option<Attribute> {
    Some(Attribute {
        id: number(entry, "/id")?,
        name: text(entry, "/name")?,
        value: number(entry, "/value")?,
        raw: number(entry, "/raw/value")?,
    })
}

fn number(root: &Value, pointer: &str) -> Option<u64> {
    root.pointer(pointer)?.as_u64()
}

fn real(root: &Value, pointer: &str) -> Option<f64> {
    root.pointer(pointer)?.as_f64()
}

fn text(root: &Value, pointer: &str) -> Option<String> {
    let text = root.pointer(pointer)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_string())
}

/// Reads SMART through smartctl.
#[derive(Clone, Debug)]
pub struct Smartctl {
    program: PathBuf,
    device: PathBuf,
}

impl Smartctl {
    /// `program` is `smartctl` or its path; `device` a node such as `/dev/nvme0n1`.
    pub fn new(program: &Path, device: &Path) -> Self {
        Smartctl {
            program: program.to_path_buf(),
            device: device.to_path_buf(),
        }
    }

    /// Reads once, without waking a sleeping device. Takes some milliseconds, or ten seconds if the
    /// device does not respond: call it from a dedicated thread.
    ///
    /// # Errors
    /// `Absent` if smartctl is missing or not permitted, or the device has no SMART.
    pub fn read(&self) -> Reading<Smart> {
        let mut command = Command::new(&self.program);
        command
            .args(["--json=c", "--all", "--nocheck=standby,0"])
            .arg(&self.device);
        command.stdin(Stdio::null());
        let (_, output) = program::run(&mut command, LONGEST).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Absent::new("smartctl is not installed (smartmontools)")
            }
            _ => Absent::new(format!("smartctl: {e}")),
        })?;
        parse(&output)
    }
}
