"""The report of a run, a sweep or a reproduction: one offline HTML page, or figures fit for a paper.

`load` reads the files, and `study` arranges them. Each file of `figures` prepares a kind of figure as plain data
(`spec`), and `assemble` puts the figures in order. `page` draws them as HTML with inline SVG, and `paper` draws them
with matplotlib.
"""

from __future__ import annotations

from pathlib import Path

from headway.errors import ResultsError

__all__ = ["ResultsError", "build"]

FORMATS = ("html", "svg", "pdf")


def build(directory: Path, fmt: str = "html") -> list[Path]:
    """Write the report of `directory` into it and return the files written.

    `html` writes `report.html`; `svg` and `pdf` write one file a figure into `figures/`. Raises `ResultsError`, which
    names the file, if a result is missing, truncated or of the wrong shape, or if the report cannot be written.
    """
    if fmt not in FORMATS:
        raise ValueError(f"format {fmt!r} is not one of {', '.join(FORMATS)}")
    from .assemble import assemble
    from .load import load

    directory = Path(directory)
    report = assemble(load(directory))
    try:
        if fmt == "html":
            from .page import write_page

            return [write_page(report, directory / "report.html")]
        from .paper import write_figures

        return write_figures(report, directory / "figures", fmt)
    except OSError as error:
        raise ResultsError(Path(error.filename or directory), f"cannot be written ({error.strerror})") from None
