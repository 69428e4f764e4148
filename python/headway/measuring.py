"""Numbers of a run by the expressions that claims are measured with: `headway.measure`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from headway.claims.context import Context
from headway.claims.functions import VOCABULARY
from headway.claims.language import CannotMeasure, Evaluator, Expression, ExpressionError, Vocabulary, parse
from headway.claims.series import Series
from headway.data.jsonable import SPARE, Jsonable, table
from headway.data.point import Point
from headway.data.reader import of_results
from headway.data.run import Run, read
from headway.errors import HeadwayError, ResultsError, shown
from headway.layout import SWEEP_FILE

# A number, a truth value, or several of them.
Number: TypeAlias = float | bool | list[Any] | dict[str, Any]

NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", re.DOTALL)
SIMULATOR = "simulator"
# Forms that make sense for one run; the others compare the runs of a sweep.
OF_ONE_RUN = ("among", "cannot")


def _of_a_sweep(name: str) -> Callable[..., Any]:
    def refuse(evaluator: Evaluator, context: Context, *arguments: ast.expr) -> Any:  # noqa: ANN401
        raise CannotMeasure(f"{name}() compares runs of a sweep, and this is one run; claims about a sweep can use it")

    return refuse


WORDS = Vocabulary(
    VOCABULARY.plain,
    {name: form if name in OF_ONE_RUN else _of_a_sweep(name) for name, form in VOCABULARY.forms.items()},
    VOCABULARY.literal,
)


@dataclass(frozen=True)
class Measured(Jsonable):
    """Values of expressions, by their names or their texts.

    `simulator` has the same values of the simulator's run, for a run on real packets.
    """

    measured: Mapping[str, Number]
    simulator: Mapping[str, Number] = field(default_factory=dict, metadata=SPARE)

    def __getitem__(self, name: str) -> Number:
        return self.measured[name]

    @property
    def columns(self) -> dict[str, Mapping[str, Number]]:
        """Both by name, as far as they are there."""
        return {"measured": self.measured} | ({SIMULATOR: self.simulator} if self.simulator else {})

    def _repr_html_(self) -> str:
        columns = self.columns
        return table(("", *columns), [(name, *(one[name] for one in columns.values())) for name in self.measured])


@of_results
def measure(directory: str | Path | Run, *expressions: str) -> Measured:
    """Measure a run by expressions of the language of claims (docs/measures.md): `headway measure`.

    >>> headway.measure("out/run", "before=mean(rate('f1'), '1 ms', '2 ms')", "before / 2")["before"]

    `NAME=EXPR` gives a number a name that later expressions may use. A directory of `headway testbed run` is measured
    beside the simulator's run of the same scenario. Raises `HeadwayError` for an expression that is wrong, or that the
    run cannot answer.
    """
    named = _parse(expressions)
    run = directory if isinstance(directory, Run) else _read(Path(directory))
    beside = run.directory / SIMULATOR if run.directory is not None else None
    measured = _evaluated(run, named)
    return Measured(measured, _evaluated(_read(beside), named) if beside is not None and beside.is_dir() else {})


def _parse(texts: Sequence[str]) -> dict[str, Expression]:
    named: dict[str, Expression] = {}
    for text in texts:
        match = NAMED.fullmatch(text)
        name, body = (match[1], match[2]) if match else (text, text)
        if name in named:
            raise HeadwayError(f"the name '{name}' is given twice")
        if not body.strip():
            raise HeadwayError(f"'{text}': an expression is missing{' after =' if match else ''}")
        try:
            named[name] = parse(body, WORDS, defined=dict(named))
        except ExpressionError as error:
            raise HeadwayError(shown(str(error), f"EXPR:1:{error.column + 1}", 1, body, error.column)) from None
    return named


def _read(directory: Path) -> Run:
    if directory.is_file():
        raise ResultsError(directory, "is a file; name the run directory that it lies in")
    if directory.is_dir() and not (directory / "manifest.json").exists():
        raise ResultsError(directory, "holds no run: manifest.json is missing", _hint(directory))
    run = read(directory)
    if not run.manifest.get("scenario"):
        raise ResultsError(directory, "its manifest holds no scenario")
    return run


def _evaluated(run: Run, named: Mapping[str, Expression]) -> dict[str, Number]:
    directory = run.directory or "run"
    context = Context([Point("", "", {}, 0, results=run)])
    found: dict[str, Any] = {}
    for name, expression in named.items():
        try:
            found[name] = expression.evaluate(context)
        except CannotMeasure as error:
            raise HeadwayError(f"{directory}: {name}: {error}") from None
        if isinstance(found[name], Series):
            raise HeadwayError(f"{directory}: {name}: it is a series; take its mean, peak or trough over a window")
        if not _is_numeric(found[name]):
            raise HeadwayError(f"{directory}: {name}: it is no number, but {json.dumps(found[name])}")
    return found


def _hint(directory: Path) -> str:
    """Advice on the run's place."""
    if (directory / SWEEP_FILE).exists():
        return "it holds a sweep: name one of the folders in its points/"
    return "name a directory that `headway run --out` or `headway testbed run --out` wrote"


def _is_numeric(value: Any) -> bool:  # noqa: ANN401
    """True if it is a number, a truth value, or several of them in a list or a table."""
    if isinstance(value, list | dict):
        return all(map(_is_numeric, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float)
