"""Commands of the command line as functions: each calls the command itself, with the same options.

What a command prints as JSON is what the function returns. `overwrite` is `--force`, as it is of `headway.sweep`.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from headway.data.reader import read_list
from headway.data.run import Run
from headway.data.sweep import Sweep, read_sweep
from headway.directories import directory_of
from headway.errors import HeadwayError, ResultsError
from headway.layout import CLAIMS_FILE, EXPECTATIONS_FILE, REPORT_FILE
from headway.scenario import Threads, assignments, thread_count
from headway.sweeps.executors import executor_of
from headway.sweeps.plan import Shard

if TYPE_CHECKING:
    import click

Scale = Literal["smoke", "proxy", "paper"]
Thing = Literal[
    "transports",
    "topologies",
    "traffic",
    "workloads",
    "disciplines",
    "models",
    "figures",
    "examples",
    "claims",
]
INTERRUPTED = 130


@dataclass(frozen=True)
class Reproduction:
    """A published figure, run and judged.

    `claims` are the entries of `claims.json`, with `id`, `verdict`, `published` and `measured`; `expectations` are of
    what is expected beyond the paper's claims.
    """

    directory: Path
    claims: tuple[dict[str, Any], ...]
    expectations: tuple[dict[str, Any], ...] = ()

    @property
    def sweep(self) -> Sweep:
        """Its runs."""
        return read_sweep(self.directory)

    @property
    def report(self) -> Path:
        """Its page."""
        return self.directory / REPORT_FILE

    @classmethod
    def read(cls, directory: Path) -> Reproduction:
        """What `headway reproduce` left in a directory."""
        claims = read_list(directory / CLAIMS_FILE, "claims")
        return cls(directory, tuple(claims), tuple(read_list(directory / EXPECTATIONS_FILE, "expectations")))

    def __repr__(self) -> str:
        verdicts = [str(claim.get("verdict")) for claim in self.claims]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        return f"<Reproduction in {self.directory}: {counts or 'no claims'}>"


@overload
def reproduce(
    figure: str | Path,
    out: str | Path,
    *,
    scale: Scale | None = None,
    seeds: int | None = None,
    sets: Mapping[str, Any] | Sequence[str] = (),
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,  # noqa: ANN401
    shard: str | None = None,
    overwrite: bool = False,
    record: bool = False,
    all: Literal[False] = False,
) -> Reproduction: ...


@overload
def reproduce(
    figure: str | None,
    out: str | Path,
    *,
    scale: Scale | None = None,
    seeds: int | None = None,
    sets: Mapping[str, Any] | Sequence[str] = (),
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,  # noqa: ANN401
    shard: str | None = None,
    overwrite: bool = False,
    record: bool = False,
    all: Literal[True],
) -> builtins.list[Reproduction]: ...


def reproduce(
    figure: str | Path | None,
    out: str | Path,
    *,
    scale: Scale | None = None,
    seeds: int | None = None,
    sets: Mapping[str, Any] | Sequence[str] = (),
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,
    shard: str | None = None,
    overwrite: bool = False,
    record: bool = False,
    all: bool = False,
) -> Reproduction | builtins.list[Reproduction]:
    """Run a published figure's sweep, judge the paper's claims about it, and write `report.html`: `headway reproduce`.

    >>> done = headway.reproduce("amrt/fig01", "out/fig01", scale="smoke")
    >>> [(claim["id"], claim["verdict"]) for claim in done.claims]

    With `all`, every figure of a paper (`"amrt"`), or of all papers (`None`), and what the command prints is printed.
    Points that fail are in `.sweep.failed`. Raises `KeyboardInterrupt` if it is stopped; called again, it goes on.
    """
    from headway.cli.reproduce import COMMAND

    directory = directory_of(out)
    where = executor_of(executor)
    try:
        status, _ = _called(
            COMMAND,
            shown=all,
            file=None if figure is None else str(figure),
            out=directory,
            scale=scale,
            seeds=seeds,
            sets=tuple(assignments(sets)),
            jobs=jobs,
            threads=thread_count(threads) if threads != "auto" else "auto",
            executor=where,
            shard=None if shard is None else Shard.parse(shard),
            force=overwrite,
            record=record,
            everything=all,
            yes=True,
            as_json=not all,
        )
    finally:
        if where is not executor:
            where.close()
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if not all:
        return Reproduction.read(directory)
    found = (path.parent for path in directory.rglob(CLAIMS_FILE))
    return [Reproduction.read(path) for path in sorted(found)]


def explain(
    target: str,
    out: str | Path,
    *,
    seeds: int = 5,
    search_seeds: int | None = None,
    trajectories: int | None = None,
    best: int | None = None,
    search_only: bool = False,
    readings: Sequence[str] = (),
    figures: Sequence[str] = (),
    jobs: int | None = None,
    executor: Any = None,  # noqa: ANN401  (a name, or any pool)
    overwrite: bool = False,
    record: bool = False,
) -> dict[str, Any]:
    """Search the readings of a paper under which its claims come out: `headway explain`. Returns `explain.json`.

    `target` is a claim, a figure or a paper. Numbers that are None are those of the command line. Raises
    `KeyboardInterrupt` if it is stopped; called again, it goes on from there.
    """
    from headway.cli.explain import COMMAND

    where = executor_of(executor)
    numbers: dict[str, Any] = {"search_seeds": search_seeds, "trajectories": trajectories, "most": best}
    try:
        status, printed = _called(
            COMMAND,
            target=target,
            out=directory_of(out),
            seeds=seeds,
            search_only=search_only,
            readings=tuple(readings),
            figures=tuple(figures),
            jobs=jobs,
            executor=where,
            force=overwrite,
            record=record,
            as_json=True,
            **{key: value for key, value in numbers.items() if value is not None},
        )
    finally:
        if where is not executor:
            where.close()
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return dict(json.loads(printed))


def report(
    results: str | Path | Run | Sweep | Reproduction | Sequence[str | Path],
    *,
    format: Literal["html", "svg", "pdf", "png"] = "html",
    replay: bool = False,
) -> builtins.list[Path]:
    """Write the report of a run, a sweep or a reproduction into its directory: `headway report`. Returns the files.

    `html` is one page, `report.html`; the other formats are one file a figure, in `figures/`. With `replay`, the page
    of a small run also shows its packets on the topology. A list of files is one of traces of messages between real
    hosts (`trace_file` of an endpoint), whose page is written beside the first.
    """
    from headway.cli.report import COMMAND

    given = results if isinstance(results, str | Path | Sequence) else results.directory
    if given is None:
        raise ResultsError(Path("run"), "this run was not written to a directory", "run it with out=...")
    places = (given,) if isinstance(given, str | Path) else tuple(given)
    if not places:
        raise HeadwayError("an empty list names neither results nor traces")
    _, printed = _called(COMMAND, places=tuple(map(directory_of, places)), fmt=format, replay=replay)
    return [Path(line) for line in printed.splitlines()]


def list(thing: Thing, name: str | None = None) -> Any:  # noqa: ANN401  (as `headway list`; what its JSON holds)
    """What `headway list` lists, as a list of dicts: transports with their parameters, scenarios, claims and others.

    >>> [one["name"] for one in headway.list("transports")]

    With `name`, those whose name begins with it.
    """
    from headway.cli.listing import COMMAND, THINGS

    if thing not in THINGS:
        raise HeadwayError(f"there is no list of {thing!r}; there are: {', '.join(THINGS)}")
    _, printed = _called(COMMAND, thing=thing, name=name, as_json=True, markdown=False)
    return json.loads(printed)


def _called(command: click.Command, *, shown: bool = False, **options: Any) -> tuple[int, str]:  # noqa: ANN401  (options)
    """The status of a command and what it printed, which is printed here too if it is to be `shown`.

    Options that are not given have their defaults.
    """
    import click

    printed = io.StringIO()
    target = contextlib.nullcontext() if shown else contextlib.redirect_stdout(printed)
    with click.Context(command) as context, target:
        try:
            status = context.invoke(command, **options)
        except click.UsageError as error:
            raise HeadwayError(error.message) from None
    return int(status or 0), printed.getvalue()
