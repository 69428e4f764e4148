"""Tables and their Parquet files for a native module without the feature `parquet`: polars is installed anyway."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING

from headway._headway import version
from headway.errors import FeatureMissing
from headway.forks import left_behind

if TYPE_CHECKING:
    import polars

    from headway._headway import ArrowSchema, _Column

# As the programs without Python write them: most tables are one group.
GROUP_ROWS = 1 << 20


def frame(columns: Iterable[_Column]) -> polars.DataFrame:
    """A table of columns as the native module gives them."""
    _refuse_after_fork()
    # Here, because most processes that import the package look into no table.
    import numpy as np
    import polars

    def series(name: str, kind: str, values: bytes, valid: bytes | None, texts: list[str] | None) -> polars.Series:
        made = polars.Series(name, np.frombuffer(values, np.dtype(kind)))
        if valid is not None:
            made = made.set(polars.Series(~np.frombuffer(valid, bool)), None)
        return made if texts is None else polars.Series(name, texts, polars.String).gather(made)

    return polars.DataFrame([series(*column) for column in columns])


def write(columns: Iterable[_Column], schema: ArrowSchema) -> bytes:
    """A whole file; `schema` has the descriptions of the columns."""
    file = BytesIO()
    frame(columns).write_parquet(
        file,
        compression="snappy",
        row_group_size=GROUP_ROWS,
        arrow_schema=schema,
        metadata={"headway": version()},
    )
    return file.getvalue()


def read(path: str) -> list[_Column]:
    """The columns of a file, as the native module takes them."""
    _refuse_after_fork()
    import polars

    def column(series: polars.Series) -> _Column:
        name, texts = series.name, None
        valid = series.is_not_null().to_numpy().tobytes() if series.has_nulls() else None
        if series.dtype == polars.String:
            texts = series.drop_nulls().unique().to_list()
            numbers = series.replace_strict(texts, range(len(texts)), return_dtype=polars.UInt32)
            # Without a text there is nothing to replace, and the type stays.
            series = numbers.cast(polars.UInt32)
        values = series.fill_null(strategy="zero").to_numpy()
        return name, str(series.dtype).lower(), values.tobytes(), valid, texts

    return [column(series) for series in polars.read_parquet(path)]


def _refuse_after_fork() -> None:
    if left_behind():
        message = "this process was forked from one that had used polars, which cannot go on here"
        raise FeatureMissing(
            f"{message}: start it by `spawn`; without that", "the feature `parquet` of the native module"
        )
