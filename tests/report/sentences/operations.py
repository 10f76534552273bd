"""Rates and times recomputed from the operations and series of a result: nothing here reads a figure of it."""

import re

# Words in the names of jobs that prepare a test, and are no tests themselves.
PREPARES = ("warm-up", "warmup", "prepare", "make test file")


def is_test(step, job):
    return step["section"] != "Preparation" and not any(word in job["name"].lower() for word in PREPARES)


def jobs(document, mode):
    return [(step, job) for step in document.of_mode(mode) for job in step["jobs"]]


def direction(job, kind):
    return next((d for d in job["directions"] if d["kind"] == kind and d["operations"]), None)


# Seconds and bytes below both of which a job says nothing about the rate of the device.
SHORT_S, SHORT_BYTES = 0.5, 50e6


def is_short(job):
    return job["runtime_s"] < SHORT_S and sum(d["bytes"] for d in job["directions"]) < SHORT_BYTES


def is_too_short(step):
    """Whether all jobs of a step are short; a step without jobs is judged by its own time."""
    if not step["jobs"]:
        return step["end_s"] - step["start_s"] < SHORT_S
    return all(is_short(job) for job in step["jobs"])


def busy(job):
    """Seconds in which a job did not pause."""
    return job["runtime_s"] - job["idle_s"]


def mb_s(job, kind):
    """Bytes over the time in which the job did not pause, MB/s."""
    found = direction(job, kind)
    return found["bytes"] / busy(job) / 1e6 if found and busy(job) > 0 else None


def iops(job, kind):
    found = direction(job, kind)
    return found["operations"] / busy(job) if found and busy(job) > 0 else None


def of_step(document, mode, ending):
    """The steps of a mode whose identifier ends so; the mode comes before it."""
    return [step for step in document.of_mode(mode) if step["id"] == ending or step["id"].endswith("-" + ending)]


def runs(document, mode, step, name):
    """The jobs of a step whose names match; an unfinished step has no figures."""
    steps = [s for s in of_step(document, mode, step) if not s["incomplete"]]
    return [job for s in steps for job in s["jobs"] if re.fullmatch(name, job["name"])]


def best(values):
    return max((v for v in values if v is not None), default=None)


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def intervals(step, name):
    """Rate and length of each interval of a series. The last ends with the step and may have any length; the first of
    several is whole."""
    series = next((s for s in step["series"] if s["name"] == name), None)
    if not series:
        return []
    usual, times = series["interval_s"], series["t_s"]
    before = times[0] - usual if usual and len(times) > 1 else step["start_s"]
    out = []
    for t, v in zip(times, series["v"]):
        length, before = t - before, t
        # Nothing was recorded in a gap.
        if usual and length > 1.5 * usual + 1e-9:
            length = usual
        if v is not None:
            out.append((v, length))
    return out


def of_table(document, mode, step, title, pick):
    """A value of the rows of a table that the step measured without jobs."""
    for s in of_step(document, mode, step):
        for table in s["tables"]:
            if table["title"] == title:
                return pick(table["rows"])
    return None
