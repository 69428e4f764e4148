"""Functions of closed-form models, for expressions: the native module declares them and evaluates them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from headway import _headway
from headway.claims.context import Context
from headway.claims.language import CannotMeasure


def _function(name: str, doc: str, arguments: list[str]) -> Callable[..., Any]:
    """One function of a model, which has the signature that the model declares."""

    def evaluated(_: Context, *values: Any) -> Any:  # noqa: ANN401  (numbers, lists of numbers, words)
        try:
            return _headway.evaluate(name, *values)
        except (TypeError, ValueError) as error:
            raise CannotMeasure(str(error)) from None

    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(argument, positional) for argument in ("_", *arguments)]
    evaluated.__name__, evaluated.__doc__ = name, doc
    evaluated.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return evaluated


MODELS = tuple(
    _function(function["name"], function["doc"], function["arguments"])
    for model in json.loads(_headway.catalogue("models"))
    for function in model["functions"]
)
