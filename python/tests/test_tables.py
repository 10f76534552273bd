"""Tables and the libraries that read them."""

import duckdb
import pandas
import polars
import pyarrow
import pytest
from conftest import reads, writes

import nandscope


@pytest.fixture
def result(drive: nandscope.Device) -> nandscope.Result:
    return drive.run(writes(), operations=True)


def test_every_library_reads_a_table(result: nandscope.Result) -> None:
    operations = result.operations
    assert len(operations) == operations.num_rows == 500
    total = sum(operations["length_bytes"])
    assert polars.DataFrame(operations)["length_bytes"].sum() == result.to_polars("operations")["length_bytes"].sum() == total
    assert pyarrow.table(operations).schema.names == operations.columns
    assert duckdb.sql("select sum(length_bytes) from operations").fetchall() == [(total,)]
    frame = result.to_pandas("operations")
    assert isinstance(frame, pandas.DataFrame) and frame["length_bytes"].sum() == total
    for name in ("figures", "series", "jobs", "counters", "events"):
        assert len(result.to_polars(name)) == len(getattr(result, name))
    with pytest.raises(nandscope.Error, match="unknown table `x`"):
        result.to_polars("x")


def test_operations_are_those_of_the_job(result: nandscope.Result, drive: nandscope.Device) -> None:
    table = result.operations
    assert set(table["operation"]) == {1} and set(table["status"]) == {0} and set(table["length_bytes"]) == {4096}
    completed = table["completed_ns"]
    assert completed == sorted(completed)
    latencies = [c - s for c, s in zip(completed, table["submitted_ns"], strict=True)]
    [mean] = result.jobs["mean_us"]
    assert sum(latencies) / len(latencies) / 1000 == pytest.approx(mean)
    with pytest.raises(nandscope.Error, match="operations=True"):
        _ = drive.run(reads()).operations


def test_numbers_are_not_copied(result: nandscope.Result) -> None:
    one, two = (pyarrow.table(result.operations).column("offset_bytes").chunk(0).buffers()[1].address for _ in range(2))
    assert one == two
    series = polars.DataFrame(result.operations)["offset_bytes"]
    assert series.to_arrow().buffers()[1].address == one


def test_a_table_of_lists() -> None:
    columns = {"n": [1, None, 3], "x": [1, 2.5, None], "t": ["a", None, "c"], "b": [True, False, None]}
    table = nandscope.Table(columns)
    assert table.to_dict() == columns
    assert len(nandscope.Table({})) == 0 and repr(table) == "Table(3 rows: n, x, t, b)"
    assert nandscope.Table({"n": [1]})._repr_html_().endswith("<p>1 row</p>")
    html = nandscope.Table({"<n>": list(range(100))})._repr_html_()
    assert "&lt;n&gt;" in html and "<td>…</td>" in html and "<td>99</td>" in html and "<td>50</td>" not in html
    with pytest.raises(nandscope.Error, match="columns of 1 and 2"):
        nandscope.Table({"a": [1], "b": [1, 2]})
    with pytest.raises(KeyError, match="there is no column `y`"):
        table["y"]
