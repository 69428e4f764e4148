"""The closed-form model that a scenario names."""

from __future__ import annotations

from ..model import figure
from ..spec import Figure
from ..study import Study
from .kind import FigureKind


def model(study: Study) -> list[Figure]:
    """The model beside runs, where the [report] table asks for it, or alone where there are none."""
    return [figure(study.results)] if study.results.is_model or study.results.asks_for_model else []


KIND = FigureKind("the scenario's closed-form model", model, needs_runs=False)
