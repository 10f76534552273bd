//! What a device is, what it has counted, and what its instruments show.

use super::Device;
use crate::error::Failure;
use crate::python::to_python;
use crate::table::{Table, schema};
use arrow_array::{RecordBatch, StringArray};
use arrow_schema::DataType::Utf8;
use nandscope_device::profile::{ProfileError, explain, parse_host, parse_profile};
use nandscope_experiment::memory;
use nandscope_experiment::{Kept, Simulated, Source};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The description of a saved device.
///
/// # Errors
/// `Failure` if its profiles have faults or it does not fit into memory.
pub fn of_kept(kept: Kept, name: String) -> Result<Simulated, Failure> {
    let refused = |faults: Vec<ProfileError>| {
        let lines: Vec<_> = faults.iter().map(ToString::to_string).collect();
        Failure::Input(lines.join("\n"))
    };
    let profile = parse_profile(&kept.profile_file, &kept.profile).map_err(refused)?;
    let host = parse_host(&kept.host_file, &kept.host).map_err(refused)?;
    memory::check(&name, &profile).map_err(|e| Failure::File(e.to_string()))?;
    Ok(Simulated {
        name,
        device_source: Source {
            file: kept.profile_file,
            text: kept.profile,
            profile,
        },
        host_source: Source {
            file: kept.host_file,
            text: kept.host,
            profile: host,
        },
        state: None,
    })
}

#[pymethods]
impl Device {
    /// Name of the device in results, such as `sim:sm2708-250gb`.
    #[getter]
    fn name(&self) -> &str {
        &self.about.name
    }

    /// Seed of the device, and of its runs unless they are given another.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Addressable capacity, bytes.
    #[getter]
    fn capacity(&self) -> u64 {
        self.about.device_source.profile.device.capacity_bytes
    }

    /// Text of the profile, with the overrides in it.
    #[getter]
    fn profile(&self) -> &str {
        &self.about.device_source.text
    }

    /// The way from the host to the device, stage by stage.
    #[getter]
    fn path(&self) -> PyResult<Vec<String>> {
        Ok(self.shared.take()?.device()?.path().to_vec())
    }

    /// Counters since the device was made: bytes of the host, of the flash and of its causes, erases, reads;
    /// and `write_amplification`.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.shared.take()?.device()?.counters();
        let all = to_python(py, &counters)?;
        all.set_item("write_amplification", counters.write_amplification())?;
        Ok(all)
    }

    /// The instruments now: `energy_j`, `smart_temperature_c`, `surface_temperature_c`, `throttle` (share of full
    /// speed), `read_only_since` (ns or `None`), `counters`.
    #[getter]
    fn telemetry<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, &self.shared.take()?.device()?.telemetry())
    }

    /// Answer to the identify command: model, serial, firmware, capacity, discard.
    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, &self.shared.take()?.device()?.identity())
    }

    /// The health log in the units of NVMe's page 02h.
    #[getter]
    fn health<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, &self.shared.take()?.device()?.health())
    }

    /// Every parameter of the profile with its source.
    ///
    /// Columns: key (dotted), value, provenance (datasheet, paper, review, derived, `assumed LOW to HIGH`; empty if
    /// the remark does not say), reason.
    fn explain(&self) -> PyResult<Table> {
        let rows = explain(&self.about.device_source.text);
        let key = |table: &str, key: &str| match table {
            "" => key.to_string(),
            table => format!("{table}.{key}"),
        };
        let provenance = rows.iter().map(|row| row.provenance());
        let (sources, reasons): (Vec<_>, Vec<_>) = rows
            .iter()
            .zip(provenance)
            .map(|(row, provenance)| match provenance {
                Some((source, rest)) => (source.to_string(), rest.to_string()),
                None => (String::new(), row.remark.clone()),
            })
            .unzip();
        let columns = [
            rows.iter().map(|row| key(&row.table, &row.key)).collect(),
            rows.iter().map(|row| row.value.clone()).collect(),
            sources,
            reasons,
        ];
        let columns = columns.map(|texts: Vec<String>| Arc::new(StringArray::from(texts)) as _);
        let names = ["key", "value", "provenance", "reason"];
        let schema = schema(&names.map(|name| (name, Utf8, false)));
        let batch = RecordBatch::try_new(schema, columns.to_vec()).map_err(Failure::internal)?;
        Ok(Table::of(batch))
    }
}
