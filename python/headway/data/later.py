"""`polars`, `numpy` and `portalocker`, imported when they are first used.

Importing the first two takes longer than all else that a worker of a sweep or a short command does before it begins,
and most of these never look into a table. The third is an eighth of the rest, and most never lock a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    import portalocker
else:

    class _Later:
        def __init__(self, name: str) -> None:
            self._module = name

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever the module has by that name)
            found = getattr(import_module(self._module), name)
            # The next time it is found without this.
            setattr(self, name, found)
            return found

    np = _Later("numpy")
    pl = _Later("polars")
    portalocker = _Later("portalocker")

__all__ = ["np", "pl", "portalocker"]
