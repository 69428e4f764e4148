"""Parquet files of tables, for a native module without the feature `parquet`: polars is installed anyway."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from headway._headway import version
from headway.errors import FeatureMissing
from headway.forks import left_behind

if TYPE_CHECKING:
    import polars

    from headway._headway import ArrowSchema, ArrowTable

# As the programs without Python write them: most tables are one group.
GROUP_ROWS = 1 << 20


def write(table: ArrowTable, schema: ArrowSchema) -> bytes:
    """A whole file; `schema` has what it says of the columns."""
    _refuse_after_fork()
    # Here, because most processes that import the package write no table.
    import polars

    file = BytesIO()
    polars.DataFrame(table).write_parquet(
        file,
        compression="snappy",
        row_group_size=GROUP_ROWS,
        arrow_schema=schema,
        metadata={"headway": version()},
    )
    return file.getvalue()


def read(path: str) -> polars.DataFrame:
    """A whole table, in one piece."""
    _refuse_after_fork()
    import polars

    return polars.read_parquet(path).rechunk()


def _refuse_after_fork() -> None:
    if left_behind():
        message = "this process was forked from one that had used polars, which cannot go on here"
        raise FeatureMissing(
            f"{message}: start it by `spawn`; without that", "the feature `parquet` of the native module"
        )
