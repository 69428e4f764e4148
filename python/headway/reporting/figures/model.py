"""The closed-form model that a scenario names."""

from __future__ import annotations

from ..model import figure
from ..spec import Figure
from ..study import Study
from .kind import FigureKind, closed_form


def model(study: Study) -> list[Figure]:
    """The scenario's model, together with the runs if there are any."""
    return [figure(study.results)] if study.results.is_model or study.results.asks_for_model else []


KIND = FigureKind("the scenario's closed-form model", model, needs_runs=False, needs=(closed_form,))
