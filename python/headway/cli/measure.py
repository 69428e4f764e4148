"""`headway measure`: numbers of a run by the expressions that claims are measured with."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from headway.claims.context import Context
from headway.claims.functions import VOCABULARY
from headway.claims.language import CannotMeasure, Evaluator, Expression, ExpressionError, Vocabulary, parse
from headway.claims.series import Series
from headway.cli.terminal import print_table
from headway.data.point import Point
from headway.data.run import read
from headway.errors import HeadwayError, ResultsError, shown
from headway.layout import SWEEP_FILE

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


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("expressions", nargs=-1, required=True, metavar="EXPR...")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object and nothing else.")
def measure(directory: Path, expressions: tuple[str, ...], as_json: bool) -> None:
    """Measure a run directory, as "mean(rate('f1'), '1 ms', '2 ms')".

    The language is that of the claims. NAME=EXPR gives a number a name that later expressions may use. A directory of
    `headway testbed run` is measured beside the simulator's run of the same scenario, with the ratio of both.
    """
    named = _parse(expressions)
    measured = {"measured": _measure(directory, named)}
    if (directory / SIMULATOR).is_dir():
        measured[SIMULATOR] = _measure(directory / SIMULATOR, named)
    if as_json:
        click.echo(json.dumps(measured, indent=2, ensure_ascii=False))
        return
    heads = ["", *measured]
    rows = [[name, *(_shown(column[name]) for column in measured.values())] for name in named]
    if SIMULATOR in measured:
        heads.append("ratio")
        for row, name in zip(rows, named, strict=True):
            row.append(_ratio(*(column[name] for column in measured.values())))
    print_table(heads, rows)


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


def _measure(directory: Path, named: Mapping[str, Expression]) -> dict[str, Any]:
    if directory.is_file():
        raise ResultsError(directory, "is a file; name the run directory that it lies in")
    if directory.is_dir() and not (directory / "manifest.json").exists():
        raise ResultsError(directory, "holds no run: manifest.json is missing", _hint(directory))
    run = read(directory)
    if not run.manifest.get("scenario"):
        raise ResultsError(directory, "its manifest holds no scenario")
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
    """Where the run may be instead."""
    if (directory / SWEEP_FILE).exists():
        return "it holds a sweep: name one of the folders in its points/"
    return "name a directory that `headway run --out` or `headway testbed run --out` wrote"


def _is_numeric(value: Any) -> bool:  # noqa: ANN401
    """Whether it is a number, a truth value, or several of them in a list or a table."""
    if isinstance(value, list | dict):
        return all(map(_is_numeric, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float)


def _shown(value: Any) -> str:  # noqa: ANN401
    return f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _ratio(one: Any, other: Any) -> str:  # noqa: ANN401
    if not isinstance(one, int | float) or not isinstance(other, int | float) or not other:
        return "-"
    return f"{one / other:.3f}"


COMMAND = measure
