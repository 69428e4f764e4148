"""Where the points of a sweep run: one file a kind."""

from __future__ import annotations

from typing import Any

from headway.errors import HeadwayError, did_you_mean, nearest, with_help
from headway.sweeps.executor import Executor
from headway.sweeps.executors.dask import Dask
from headway.sweeps.executors.futures import Futures
from headway.sweeps.executors.local import Local
from headway.sweeps.executors.slurm import Slurm

KINDS = ("local", "slurm", "dask")
FORMS = "local, slurm, slurm:KEY=VALUE,... or dask:ADDRESS"

__all__ = ["FORMS", "Dask", "Executor", "Futures", "Local", "Slurm", "executor_of", "named"]


def named(text: str) -> Executor:
    """The executor of a name, such as `dask:tcp://10.0.0.1:8786`; raises `HeadwayError` for what is none."""
    kind, colon, rest = text.strip().partition(":")
    if kind == "local" and not colon:
        return Local()
    if kind == "dask" and rest:
        return Dask(rest)
    if kind == "slurm" and (rest or not colon):
        return Slurm(dict(map(_option, rest.split(","))) if rest else None)
    if kind == "dask":
        raise HeadwayError("dask needs the address of its scheduler: write dask:tcp://HOST:8786")
    if kind in KINDS:
        raise HeadwayError(f"{text!r} is no executor: write {FORMS}")
    close = nearest(kind, KINDS)
    lines = [did_you_mean(close)] if close else []
    raise HeadwayError(f"no executor is called {text!r}{with_help(*lines, f'write {FORMS}')}")


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise HeadwayError(f"--executor slurm: {text!r} is no option: write slurm:partition=short,time=60")
    return key.strip(), value.strip()


def executor_of(what: Any) -> Executor:  # noqa: ANN401  (a name, or any pool)
    """The executor of a name or of a pool: `concurrent.futures`, a Dask client, mpi4py's or submitit's executor."""
    if what is None:
        return Local()
    if isinstance(what, str):
        return named(what)
    if isinstance(what, Local | Dask | Slurm | Futures):
        return what
    if callable(getattr(what, "get_executor", None)) and callable(getattr(what, "scheduler_info", None)):
        return Dask(client=what)
    if callable(getattr(what, "submit", None)):
        return Futures(what)
    raise HeadwayError(f"{type(what).__name__} is no executor: it has no `submit`; {FORMS}, or such an object")
