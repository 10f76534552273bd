//! [`Table`]: columns with units, in Arrow's memory. Programs read it through the Arrow C stream interface without a
//! copy (polars, pandas, duckdb, pyarrow); plain Python reads its columns as lists.

use crate::error::Failure;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyList};
use std::sync::Arc;

/// Rows that a notebook shows before it leaves out the middle ones.
const SHOWN: usize = 20;

/// A table of columns, each with a name and a type.
///
/// Every library with the Arrow C stream interface reads it without a copy:
/// `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.sql("select * from table")`.
/// Units are part of the names of columns (`latency_ns`) or a column `unit`.
#[pyclass(frozen, module = "nandscope", name = "Table")]
#[derive(Debug)]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// A table of one part.
    pub fn of(batch: RecordBatch) -> Self {
        Table::of_parts(batch.schema(), vec![batch])
    }

    /// A table of parts with the same columns.
    pub fn of_parts(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Table { schema, batches }
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn index(&self, name: &str) -> PyResult<usize> {
        self.schema.index_of(name).map_err(|_| {
            PyKeyError::new_err(format!(
                "there is no column `{name}`; the table has {}",
                self.names().join(", ")
            ))
        })
    }

    fn names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// The table as HTML, the middle rows of a long one left out.
    pub fn html(&self) -> String {
        let rows = self.rows();
        let (head, tail) = match rows > SHOWN {
            true => (SHOWN / 2, SHOWN / 2),
            false => (rows, 0),
        };
        let line = |cells: Vec<String>, tag: &str| {
            let cells = cells
                .iter()
                .map(|c| format!("<{tag}>{}</{tag}>", escaped(c)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let mut html = format!("<table><thead>{}</thead><tbody>", line(self.names(), "th"));
        html.extend(self.cells(0..head).into_iter().map(|row| line(row, "td")));
        if tail > 0 {
            let rest = self.names().iter().map(|_| "…".to_string()).collect();
            html.push_str(&line(rest, "td"));
            let last = self.cells(rows - tail..rows).into_iter();
            html.extend(last.map(|row| line(row, "td")));
        }
        html.push_str(&format!(
            "</tbody></table><p>{rows} row{}</p>",
            if rows == 1 { "" } else { "s" }
        ));
        html
    }

    /// The cells of some rows as text, for people.
    fn cells(&self, rows: impl Iterator<Item = usize>) -> Vec<Vec<String>> {
        rows.map(|row| {
            let mut row = row;
            for batch in &self.batches {
                if row < batch.num_rows() {
                    return batch.columns().iter().map(|c| cell(c, row)).collect();
                }
                row -= batch.num_rows();
            }
            Vec::new()
        })
        .collect()
    }
}

#[pymethods]
impl Table {
    /// A table of lists of the same length: numbers, texts or bools, `None` where there is no value.
    #[new]
    #[pyo3(signature = (columns: "dict[str, Any]"))]
    fn new(columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (name, values) in columns {
            let name: String = name.extract()?;
            let array = column(&name, &values)?;
            fields.push((name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let fields: Vec<_> = fields
            .iter()
            .map(|(n, t, e)| (n.as_str(), t.clone(), *e))
            .collect();
        if let Some(other) = arrays.iter().find(|a| a.len() != arrays[0].len()) {
            let text = format!("columns of {} and {} values", arrays[0].len(), other.len());
            return Err(Failure::Input(text).into());
        }
        let options =
            RecordBatchOptions::new().with_row_count(Some(arrays.first().map_or(0, |a| a.len())));
        let batch = RecordBatch::try_new_with_options(schema(&fields), arrays, &options);
        Ok(Table::of(batch.map_err(Failure::internal)?))
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows()
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.names()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// The values of a column; rows without a value have `None`.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let index = self.index(name)?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            append(&list, batch.column(index))?;
        }
        Ok(list)
    }

    /// All columns: `{name: [value, …]}`.
    #[pyo3(signature = () -> "dict[str, list[Any]]")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.names() {
            all.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(all)
    }

    /// The Arrow C schema of the columns, as a capsule.
    #[pyo3(signature = () -> "object")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(Failure::internal)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The Arrow C stream of the rows, as a capsule, without a copy. A requested schema is not cast to, as the
    /// interface allows.
    #[pyo3(signature = (requested_schema=None) -> "object")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A polars DataFrame, without a copy of numbers. Needs polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A pandas DataFrame. Needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pandas")?;
        library(slf.py(), "pyarrow")?
            .call_method1("table", (slf,))?
            .call_method0("to_pandas")
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.rows(), self.names().join(", "))
    }

    fn _repr_html_(&self) -> String {
        self.html()
    }
}

/// Imports a library that the user may not have.
fn library<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let text = format!("{name} is not installed; `pip install {name}`");
        let missing = pyo3::exceptions::PyImportError::new_err(text);
        missing.set_cause(py, Some(error));
        missing
    })
}

/// Characters that mean something in HTML, escaped.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A column of the type that all its values have; whole numbers beside others become floats.
fn column(name: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let values: Vec<Bound<'_, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
    let all = |is: &dyn Fn(&Bound<'_, PyAny>) -> bool| values.iter().all(|v| v.is_none() || is(v));
    let is_bool = |v: &Bound<'_, PyAny>| v.is_instance_of::<PyBool>();
    let is_count = |v: &Bound<'_, PyAny>| !is_bool(v) && v.extract::<u64>().is_ok();
    let is_number =
        |v: &Bound<'_, PyAny>| v.is_instance_of::<PyInt>() || v.is_instance_of::<PyFloat>();
    if all(&is_bool) {
        let values = values.iter().map(|v| v.extract::<Option<bool>>());
        return Ok(Arc::new(values.collect::<PyResult<BooleanArray>>()?));
    }
    if all(&is_count) {
        let values = values.iter().map(|v| v.extract::<Option<u64>>());
        return Ok(Arc::new(UInt64Array::from(
            values.collect::<PyResult<Vec<_>>>()?,
        )));
    }
    if all(&is_number) {
        let values = values.iter().map(|v| v.extract::<Option<f64>>());
        return Ok(Arc::new(Float64Array::from(
            values.collect::<PyResult<Vec<_>>>()?,
        )));
    }
    // A column of values of several kinds is shown as text.
    let text = |v: &Bound<'_, PyAny>| match v.is_none() {
        true => Ok(None),
        false => v.str().map(|text| Some(text.to_string())),
    };
    let values = values.iter().map(text).collect::<PyResult<Vec<_>>>();
    Ok(Arc::new(StringArray::from(values.map_err(|e| {
        let refused = PyTypeError::new_err(format!("column `{name}` has a value without a text"));
        Python::attach(|py| refused.set_cause(py, Some(e)));
        refused
    })?)))
}

fn append(list: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    macro_rules! values {
        ($array:expr) => {
            for value in $array.iter() {
                list.append(value)?;
            }
        };
    }
    match column.data_type() {
        DataType::Utf8 => values!(column.as_string::<i32>()),
        DataType::Float64 => values!(column.as_primitive::<Float64Type>()),
        DataType::UInt64 => values!(column.as_primitive::<UInt64Type>()),
        DataType::UInt32 => values!(column.as_primitive::<UInt32Type>()),
        DataType::UInt8 => values!(column.as_primitive::<UInt8Type>()),
        DataType::Boolean => values!(column.as_boolean()),
        other => return Err(Failure::internal(format!("a column of type {other}")).into()),
    }
    Ok(())
}

fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).to_string(),
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            nandscope_units::number::round_significant(value, 6).to_string()
        }
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => String::new(),
    }
}

/// A schema of columns that may be empty (`true`) or not.
pub fn schema(fields: &[(&str, DataType, bool)]) -> SchemaRef {
    let fields = fields
        .iter()
        .map(|(name, kind, nullable)| arrow_schema::Field::new(*name, kind.clone(), *nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
