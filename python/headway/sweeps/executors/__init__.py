"""Kinds of executors: one file for each kind, which declares `KIND`, and its line here.

The name that users write is the file's. A user's object becomes the first kind here that knows it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from headway.errors import HeadwayError, did_you_mean, nearest, with_help
from headway.sweeps.executor import Executor, ExecutorKind

KINDS = (
    "local",
    "slurm",
    "dask",
    "futures",
)


@cache
def kinds() -> dict[str, ExecutorKind]:
    """Declaration of each file, by name."""
    return {name: import_module(f"{__name__}.{name}").KIND for name in KINDS}


def forms() -> str:
    """Notation of each executor, in words."""
    *others, last = (form for kind in kinds().values() for form in kind.forms)
    return f"{', '.join(others)} or {last}" if others else last


def named(text: str) -> Executor:
    """The executor of a name, such as `dask:tcp://10.0.0.1:8786`; raises `HeadwayError` for a name that is none."""
    name, colon, rest = text.strip().partition(":")
    known = {name: kind for name, kind in kinds().items() if kind.forms}
    if name in known:
        executor = known[name].written(rest if colon else None)
        if executor is None:
            raise HeadwayError(f"{text!r} is no executor: write {forms()}")
        return executor
    close = nearest(name, known)
    lines = [did_you_mean(close)] if close else []
    raise HeadwayError(f"no executor is called {text!r}{with_help(*lines, f'write {forms()}')}")


def executor_of(what: Any) -> Executor:  # noqa: ANN401  (a name, or any pool)
    """The executor of a name or of a pool: `concurrent.futures`, a Dask client, mpi4py's or submitit's executor."""
    if what is None:
        return named(KINDS[0])
    if isinstance(what, str):
        return named(what)
    for kind in kinds().values():
        found = what if isinstance(what, kind.type) else kind.wraps(what)
        if found is not None:
            return found
    raise HeadwayError(f"{type(what).__name__} is no executor: it has no `submit`; {forms()}, or such an object")
