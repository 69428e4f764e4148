"""Morris' elementary effects of choices, with SALib's design."""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable, Sequence

from headway.claims.choices import Choice, Value

LEVELS = 4
SEED = 1
# Trajectories that are drawn for each one that is wanted: of some, the choices exclude each other on the way.
DRAWN = 32


def installed() -> bool:
    """True if the library is there; it comes with the extra `explain`."""
    return importlib.util.find_spec("SALib") is not None


class Design:
    """Trajectories through the values of choices, each step of which moves one choice.

    Those come first in which every row fits; others are there if there are not enough of these.
    """

    def __init__(
        self, choices: Sequence[Choice], trajectories: int, fits: Callable[[dict[str, Value]], bool] | None = None
    ) -> None:
        import numpy as np
        from SALib.sample import morris

        self._choices = tuple(choices)
        self.names = [choice.id for choice in choices]
        self._problem = {"num_vars": len(choices), "names": self.names, "bounds": [[0.0, 1.0]] * len(choices)}
        drawn = morris.sample(self._problem, DRAWN * trajectories, num_levels=LEVELS, seed=SEED)
        rows = [tuple(_value(c, float(u)) for c, u in zip(choices, row, strict=True)) for row in drawn]
        length = len(choices) + 1
        misfits = {
            start: sum(1 for row in rows[start : start + length] if fits and not fits(self.values(row)))
            for start in range(0, len(rows), length)
        }
        chosen = sorted(misfits, key=lambda start: misfits[start])[:trajectories]
        kept = [index for start in chosen for index in range(start, start + length)]
        self._sample = np.array([drawn[index] for index in kept])
        self.rows = [rows[index] for index in kept]

    def values(self, row: Sequence[Value]) -> dict[str, Value]:
        """A row as a value for each choice."""
        return dict(zip(self.names, row, strict=True))

    def effects(self, answers: Sequence[float | None]) -> dict[str, tuple[float, float]]:
        """For each choice the mean of the sizes of its effects, and the spread of the effects.

        A trajectory of which a step has no answer is left out; nothing is known if none is whole.
        """
        import numpy as np
        from SALib.analyze import morris

        length = len(self._choices) + 1
        whole = [
            start
            for start in range(0, len(answers), length)
            if all(a is not None and math.isfinite(a) for a in answers[start : start + length])
        ]
        if not whole:
            return {}
        rows = np.array([index for start in whole for index in range(start, start + length)])
        measured = np.array([answers[index] for index in rows], dtype=float)
        # The spread over one trajectory is undefined, about which the library also warns on standard error.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = morris.analyze(self._problem, self._sample[rows], measured, num_levels=LEVELS, seed=SEED)
        pairs = zip(found["names"], found["mu_star"], found["sigma"], strict=True)
        return {name: (float(mean), _finite(float(spread))) for name, mean, spread in pairs}


def _value(choice: Choice, share: float) -> Value:
    """The value of a choice at a share of its range, or of its list of values."""
    if choice.span is not None:
        return choice.within(share)
    return choice.values[min(int(share * len(choice.values)), len(choice.values) - 1)]


def _finite(value: float) -> float:
    """A spread over one trajectory is none."""
    return value if math.isfinite(value) else 0.0
