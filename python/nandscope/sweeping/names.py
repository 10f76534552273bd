"""Names of the axes and metrics of sweeps: short names of axes, units of metrics, labels of plots."""

import re
from collections.abc import Iterable, Mapping

from nandscope.errors import Error

# First words of keys that would look like measured times without the table they are in, as `controller.read_us`.
_LIKE_MEASURED = ("read", "write", "program", "erase")
# Units at the ends of keys and counters, the longest first.
_SUFFIXES = {
    "mb_per_s": "MB/s",
    "mt_per_s": "MT/s",
    "j_per_gb": "J/GB",
    "k_per_w": "K/W",
    "j_per_k": "J/K",
    "pj_per_byte": "pJ/byte",
    "percent": "%",
    "cycles": "P/E cycles",
    "bytes": "bytes",
    "kib": "KiB",
    "mib": "MiB",
    "gb": "GB",
    "ns": "ns",
    "us": "µs",
    "ms": "ms",
    "mw": "mW",
    "s": "s",
    "c": "°C",
    "j": "J",
}
# Units of fio's options, where their values are numbers.
_OPTIONS = {
    "bs": "bytes",
    "blocksize": "bytes",
    "io_size": "bytes",
    "offset_increment": "bytes",
    "rate": "bytes/s",
    "rate_iops": "IOPS",
    "runtime": "s",
    "rwmixread": "%",
    "rwmixwrite": "%",
    "size": "bytes",
    "thinktime": "µs",
}
_METRIC = re.compile(r"(?:(?P<way>read|write)\.)?(?P<what>waf|energy|iops|bw|mean|p\d+(?:\.\d+)?)")
_WORDS = {"waf": "WAF", "energy": "energy", "iops": "IOPS", "bw": "bandwidth", "mean": "mean latency"}


def short_names(axes: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """The short name of each axis: `iodepth` for `job.iodepth`, `slc_cache.dynamic_gb` for `ftl.slc_cache.dynamic_gb`.

    The first part of a key is dropped unless the rest is the name of another axis or one of `others`, or reads as a
    measured time.
    """
    keys = list(axes)
    rests = [_rest(key) for key in keys]
    taken = set(others) | {key for key in keys if "." not in key}
    return {
        key: key if rest in taken or rests.count(rest) > 1 else rest
        for key, rest in zip(keys, rests, strict=True)
    }


def _rest(key: str) -> str:
    first, _, rest = key.partition(".")
    if first == "job":
        return rest or key
    return key if not rest or rest[0].isdigit() or rest.split("_")[0] in _LIKE_MEASURED else rest


def resolve(name: str, axes: Mapping[str, str], metrics: Mapping[str, str]) -> str:
    """The axis or metric that a user names, in full or by its short name or column; `axes` and `metrics` map names to them.

    Raises `Error` if there is none.
    """
    if name in axes or name in metrics or name == "seed":
        return name
    for known in (axes, metrics):
        for full, short in known.items():
            if name == short:
                return full
    raise Error(f"the sweep has no `{name}`; it has the axes {', '.join(axes.values()) or 'none'}"
                f" and the metrics {', '.join(metrics) or 'none'}")


def metric_unit(name: str) -> str:
    """The unit of a metric, as in the tables of `nandscope sweep`; empty for ratios and counts."""
    short = _METRIC.fullmatch(name)
    what = short["what"] if short else name
    if what == "iops" or what.endswith(".iops"):
        return "IOPS"
    if what == "bw" or what.endswith(".bandwidth"):
        return "MB/s"
    if what == "energy" or what.endswith(".energy-per-gb"):
        return "J/GB"
    if what == "mean" or ".latency." in what or (short and what.startswith("p")):
        return "µs"
    return ""


def metric_column(name: str) -> str:
    """The column of a metric in tables: its name with the unit, as `p99_us` and `bw_mb_per_s`."""
    if name.endswith(".energy-per-gb"):
        return name + "_j"
    endings = {"MB/s": "_mb_per_s", "J/GB": "_j_per_gb", "µs": "_us"}
    return name + endings.get(metric_unit(name), "")


def metric_heading(name: str) -> str:
    """The heading of a metric in a table for people, as `p99 (µs)`."""
    return _with_unit(name, metric_unit(name))


def metric_label(name: str) -> str:
    """The label of a metric at a plot, as `read p99 latency (µs)`."""
    short = _METRIC.fullmatch(name)
    if short is None:
        return metric_heading(name) if metric_unit(name) else axis_label(name)
    what = _WORDS.get(short["what"], f"{short['what']} latency")
    unit = "" if what == "IOPS" else metric_unit(name)
    return _with_unit(f"{short['way']} {what}" if short["way"] else what, unit)


def axis_label(name: str, *, is_number: bool = True) -> str:
    """The label of an axis of the space at a plot, from its short name: `slc_cache.dynamic (GB)`.

    Sizes such as `4k` have their unit in the value: `is_number` is false for them.
    """
    if not is_number:
        return name
    if name in _OPTIONS:
        return _with_unit(name, _OPTIONS[name])
    for suffix, unit in _SUFFIXES.items():
        if name.endswith("_" + suffix):
            return _with_unit(name.removesuffix("_" + suffix), unit)
    return name


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
