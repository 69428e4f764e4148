"""Runs all points of a scenario's sweep on this machine's cores; a finished run is never repeated."""

from headway.sweeps.plan import Job, State, SweepPlan, plan
from headway.sweeps.run import SweepOutcome, run_sweep

__all__ = ["Job", "State", "SweepOutcome", "SweepPlan", "plan", "run_sweep"]
