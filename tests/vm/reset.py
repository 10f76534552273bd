"""A review that goes on after the machine was reset."""

from commands import complete, destroy
from devices import path
from machine import Failed


def review_continues(vm, boot):
    """`boot` starts the machine again and returns it."""
    device = path(vm, "nvme2")
    review = f"nandscope review {destroy(device, 'nvme2')} --quick --suite speed-class -o /share/kept/review"
    vm.run("mkdir -p /share/kept")
    job = vm.start(review)
    steps = vm.share / "kept/review/result.steps"
    vm.until(lambda: job.has_ended() or (steps.exists() and steps.read_bytes().count(b"NSJF") >= 3), 600, "a finished step")
    if job.has_ended():
        raise Failed(f"it ended before the reset:\n{job.wait()}")
    vm.kill()
    finished = steps.stat().st_size
    print(f"    reset after {finished} bytes of finished steps")
    vm = boot()
    device = path(vm, "nvme2")
    review = f"nandscope review {destroy(device, 'nvme2')} --quick --suite speed-class -o /share/kept/review"
    # Without --resume finished steps are not overwritten.
    vm.run(review).demand(2, says="--resume")
    ran = vm.run(f"{review} --resume", 400).demand(0)
    document = complete(vm, "/share/kept/review/result.json")
    ids = [step["id"] for step in document["steps"]]
    if len(ids) != len(set(ids)):
        raise Failed(f"a step was measured twice: {ids}\n{ran}")
