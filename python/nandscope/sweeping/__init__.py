"""Sweeps: the points of a parameter space, each run once, on any executor."""

from nandscope.sweeping.point import Outcome, Point, run_point
from nandscope.sweeping.run import sweep
from nandscope.sweeping.space import Range, uniform
from nandscope.sweeping.sweep import Sweep

__all__ = ["Outcome", "Point", "Range", "Sweep", "run_point", "sweep", "uniform"]
