"""Runs all points of a scenario's sweep, on this machine or elsewhere; a finished run is never repeated."""

from headway.sweeps.board import SweepOutcome
from headway.sweeps.plan import Job, Shard, State, SweepPlan, plan
from headway.sweeps.run import run_sweep

__all__ = ["Job", "Shard", "State", "SweepOutcome", "SweepPlan", "plan", "run_sweep"]
