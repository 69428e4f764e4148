"""Tables that cross the border through the Arrow C stream interface: polars, pyarrow or pandas read them."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import polars

SHOWN_ROWS = 10


@runtime_checkable
class ArrowStream(Protocol):
    """Anything with an Arrow C stream capsule."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table:
    """One table of a run. Hand it to any Arrow library: `polars.DataFrame(t)`, `pyarrow.table(t)`, ..."""

    def __init__(self, source: ArrowStream) -> None:
        self._source = source
        self._frame: polars.DataFrame | None = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame, built once."""
        if self._frame is None:
            import polars

            self._frame = polars.DataFrame(self._source)
        return self._frame

    def to_pandas(self) -> Any:  # noqa: ANN401  (pandas is the user's choice, not a dependency)
        """The table as a pandas data frame; needs pandas, which is not installed with Headway."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install 'headway[pandas]'; to_polars() needs nothing"
            ) from error
        return pandas.DataFrame({name: self.to_polars()[name].to_list() for name in self.columns})

    def to_arrow(self) -> Any:  # noqa: ANN401  (pyarrow is the user's choice, not a dependency)
        """The table as a pyarrow table, without a copy; needs pyarrow, which is not installed with Headway."""
        try:
            import pyarrow
        except ImportError as error:
            message = "to_arrow needs pyarrow: pip install 'headway[arrow]'; to_polars() needs nothing"
            raise ImportError(message) from error
        return pyarrow.table(self)

    @property
    def columns(self) -> list[str]:
        """Column names."""
        return self.to_polars().columns

    def __len__(self) -> int:
        return self.to_polars().height

    def __repr__(self) -> str:
        return repr(self.to_polars())

    def _repr_html_(self) -> str:
        frame = self.to_polars()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in frame.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
            for row in frame.head(SHOWN_ROWS).iter_rows()
        )
        rest = frame.height - SHOWN_ROWS
        more = f"<p>and {rest} more rows</p>" if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
