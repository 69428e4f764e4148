"""Parquet files of tables, for the native module, which has no writer of its own: polars is there anyway."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from headway._headway import version

if TYPE_CHECKING:
    import polars

    from headway._headway import ArrowSchema, ArrowTable

# As the programs without Python write them: most tables are one group.
GROUP_ROWS = 1 << 20


def write(table: ArrowTable, schema: ArrowSchema) -> bytes:
    """A whole file; `schema` has what it says of the columns."""
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
    import polars

    return polars.read_parquet(path).rechunk()
