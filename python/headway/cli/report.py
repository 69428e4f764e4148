"""`headway report`: draw what a results directory holds."""

from __future__ import annotations

import re
from pathlib import Path

import click

from headway.cli.echo import echo
from headway.cli.options import DIRECTORY, as_usage
from headway.cli.progress import loudness_options
from headway.cli.terminal import print_notes as print_lines
from headway.reporting.look import LEGENDS, SCALES, Look
from headway.reports import Format, ReportFiles, write_report

FORMATS = ("html", "svg", "pdf", "png", "csv")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
LIMITS = re.compile(rf"(?P<low>{_NUMBER})?\s*,\s*(?P<high>{_NUMBER})?")


@click.command()
@click.argument("places", nargs=-1, required=True, type=DIRECTORY, metavar="DIR|FILE...")
@click.option("--format", "fmt", type=click.Choice(FORMATS), default="html", show_default=True)
@click.option("--replay", is_flag=True, help="Also show the packets of a small run on its topology, moving.")
@click.option("--brief", is_flag=True, help="One page to decide by: a picture, a table, three sentences; brief.html.")
@click.option("--width", type=float, metavar="INCHES", help="Of figures: 3.33 for a column, 7 for a page.")
@click.option("--height", type=float, metavar="INCHES", help="Of figures; default: as their panels need.")
@click.option("--style", metavar="STYLE", help="Styles of matplotlib, or .mplstyle files, with commas between them.")
@click.option("--font", metavar="FONT", help="Font family of figures, such as serif or Times New Roman.")
@click.option("--variants", metavar="A,B", help="The variants that figures show, in this order.")
@click.option("--label", "labels", multiple=True, metavar="VARIANT=TEXT", help="What figures call a variant.")
@click.option("--xscale", type=click.Choice(SCALES), help="Scale of x.")
@click.option("--yscale", type=click.Choice(SCALES), help="Scale of y.")
@click.option("--xlim", metavar="LOW,HIGH", help="Limits of x in base units (s, B, bit/s); either may be empty.")
@click.option("--ylim", metavar="LOW,HIGH", help="Limits of y.")
@click.option("--legend", type=click.Choice(LEGENDS), help="Where the legend of a figure is.")
@loudness_options
def report(
    places: tuple[Path, ...],
    fmt: Format,
    replay: bool,
    brief: bool,
    width: float | None,
    height: float | None,
    style: str | None,
    font: str | None,
    variants: str | None,
    labels: tuple[str, ...],
    xscale: str | None,
    yscale: str | None,
    xlim: str | None,
    ylim: str | None,
    legend: str | None,
) -> None:
    """Write the report of a run, a sweep or a reproduction into its directory and print the paths.

    Files are traces of messages between real hosts (`trace_file` of an endpoint): their page stands beside the first.
    `headway docs figures-for-a-paper` shows what the options of figures do.
    """
    given = {
        "width": width, "height": height, "style": style and style.split(","), "font": font,
        "variants": variants and [name.strip() for name in variants.split(",")], "labels": dict(map(_label, labels)),
        "xscale": xscale, "yscale": yscale, "xlim": xlim and _limits("--xlim", xlim),
        "ylim": ylim and _limits("--ylim", ylim), "legend": legend,
    }  # fmt: skip
    wanted = {key: value for key, value in given.items() if value}
    with as_usage():
        written = write_report(places, fmt, replay=replay, look=Look.of(wanted)[0] if wanted else None, brief=brief)
    print_notes(written)
    for path in written:
        echo(str(path))


def _label(text: str) -> tuple[str, str]:
    """A variant and what figures call it."""
    name, sign, label = text.partition("=")
    if not sign:
        raise click.UsageError(f"--label {text!r}: write VARIANT=TEXT, as --label amrt='AMRT (ours)'")
    return name.strip(), label


def _limits(option: str, text: str) -> tuple[float | None, float | None]:
    """The ends of an axis."""
    found = LIMITS.fullmatch(text.strip())
    if found is None:
        raise click.UsageError(f"{option} {text!r}: write LOW,HIGH with numbers, as {option} 0,1e-3")
    low, high = (float(found[side]) if found[side] else None for side in ("low", "high"))
    return low, high


def print_notes(written: ReportFiles) -> None:
    """Print warnings about missing parts of a report, unless the command is quiet."""
    print_lines(written.notes, "warning: ")


COMMAND = report
