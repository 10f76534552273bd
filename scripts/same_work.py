"""Checks that both sides of a comparison did the same work: operations, bytes and queue depth. Two programs that
did different work cannot be compared by their speed."""

import dataclasses
import sys

# Share of the requested queue depth that must be outstanding on average. A generator that takes as long as the device
# keeps half of it; a synchronous one keeps 1 of 32.
LEAST_DEPTH = 0.5
# The same for short runs on a busy machine, where clones start and end at different times.
LEAST_DEPTH_BUSY = 0.2
# Little's law, applied to rounded figures, may exceed the depth a little.
MOST_DEPTH = 1.1


@dataclasses.dataclass(frozen=True)
class Work:
    """Work of one run."""

    operations: int
    bytes: int
    # Mean number of operations outstanding: rate × mean latency (Little's law).
    depth: float

    @classmethod
    def of_fio(cls, job):
        """Work of a job in the JSON output of fio."""
        part = job["read"] if job["read"]["total_ios"] else job["write"]
        if job["error"] or part["short_ios"] or part["drop_ios"]:
            sys.exit(f"fio: job `{job['jobname']}` has errors or short operations")
        return cls(part["total_ios"], part["io_bytes"], part["iops"] * part["lat_ns"]["mean"] / 1e9)

    @classmethod
    def of_nandscope(cls, document):
        """Work of the only direction of the only job of a result document."""
        job, = document["steps"][0]["jobs"]
        part, = job["directions"]
        if job.get("errors"):
            sys.exit(f"nandscope: job `{job['name']}` has errors: {job['errors']}")
        return cls(part["operations"], part["bytes"], part["iops"] * part["latency"]["mean_ns"] / 1e9)


def fault(name, work, operations, size, depth, least=LEAST_DEPTH):
    """What is wrong with the work of one side, or `None`: it must be `operations` of `size` bytes at `depth`, of which the share
    `least` must be outstanding on average."""
    if work.operations != operations:
        return f"{name} did {work.operations} operations instead of {operations}"
    if work.bytes != operations * size:
        return f"{name} moved {work.bytes} bytes instead of {operations * size}"
    if not least * depth <= work.depth <= MOST_DEPTH * depth:
        return f"{name} kept {work.depth:.2f} operations outstanding on average instead of {depth}"
    return None


def demand(case, sides, operations, size, depth, least=LEAST_DEPTH):
    """Ends the program with a message unless each side, a name and its `Work`, did exactly this work."""
    for name, work in sides.items():
        wrong = fault(name, work, operations, size, depth, least)
        if wrong:
            sys.exit(f"{case}: {wrong}; the sides did different work and cannot be compared")
