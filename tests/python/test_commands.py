"""The commands as functions of the package, and sweeps of scenarios that are built."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import headway
from headway import HeadwayError, ResultsError
from headway.cli import explain, listing, report, reproduce
from headway.cli.compare import COMMAND as COMPARE
from headway.cli.diff import COMMAND as DIFF
from headway.cli.measure import COMMAND as MEASURE
from headway.cli.sweep import COMMAND as SWEEP
from headway.data.jsonable import Jsonable
from headway.reporting.look import Look
from support import LIMIT, Answer

SCRIPT = """
import sys
import headway

scenario = headway.scenario(
    topology=headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
    traffic=headway.permutation(bytes="20 kB"),
    transport="amrt",
    variants={"amrt": {}, "phost": headway.transports.phost()},
    sweep={"seeds": 2},
    name="mine",
)
sweep = headway.sweep(scenario, sys.argv[1])
print(len(sweep), sweep.failed, sweep[0].manifest["name"])
"""


@pytest.fixture
def command(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    """The command line, whose fixture has the name of the package."""
    found: Callable[..., Answer] = request.getfixturevalue("headway")
    return found


def small(**changed: Any) -> headway.Scenario:  # noqa: ANN401  (arguments of a scenario)
    """A scenario of four hosts."""
    parts: dict[str, Any] = {
        "topology": headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
        "transport": "amrt",
        "traffic": headway.permutation(bytes="20 kB"),
    }
    return headway.scenario(**{**parts, **changed})


# Options that a function has under another name, and those that only a terminal has a use for.
RENAMED = {"force": "overwrite", "most": "best", "fmt": "format", "places": "results"}
RENAMED |= {"file": "scenario"}
# `--all` is a function of its own.
OF_THE_TERMINAL = {"as_json", "markdown", "help", "quiet", "verbose", "progress", "yes", "everything"}


@pytest.mark.parametrize(
    ("function", "command"),
    [
        (headway.reproduce, reproduce.COMMAND),
        (headway.reproduce_all, reproduce.COMMAND),
        (headway.explain, explain.COMMAND),
        (headway.report, report.COMMAND),
        (headway.measure, MEASURE),
        (headway.diff, DIFF),
        (headway.catalogue, listing.COMMAND),
        (headway.sweep, SWEEP),
        (headway.compare, COMPARE),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_function_has_the_options_of_its_command(function: Any, command: click.Command) -> None:  # noqa: ANN401
    options = {str(parameter.name) for parameter in command.params}
    arguments = set(inspect.signature(function).parameters)
    missing = {RENAMED.get(option, option) for option in options - OF_THE_TERMINAL} - arguments
    # The figure is `figure` of reproduce; a table of `compare` becomes a page by `Comparison.page`, and causes are
    # told by `compare_causes`.
    figures = (headway.reproduce, headway.reproduce_all)
    # The look of figures is `look` of report, whose names and values a test of its own tries. CSV is a method of
    # sweeps and comparisons. Critical paths are in the summary of a run.
    allowed = {"scenario"} if function in figures else {"page", "judged", "causes", "as_csv", "as_path"}
    if function is headway.catalogue:
        # Every entry of transports says itself what it lacks in a network.
        allowed = {"deploy"}
    if function is headway.report:
        allowed = {one.name for one in fields(Look)}
    assert missing <= allowed


# Writes the output of a command with `--json` and the result of the function, of several directories at once.
TOGETHER = """
import sys
from concurrent.futures import ThreadPoolExecutor
import headway

def figure(number):
    return headway.reproduce("amrt/fig08", f"{sys.argv[1]}/{number}", scale="smoke")

def listed(thing):
    return headway.catalogue(thing)

with ThreadPoolExecutor(8) as pool:
    figures = [pool.submit(figure, number) for number in range(3)]
    lists = [pool.submit(listed, thing) for thing in ("transports", "topologies", "models") * 2]
    drawn = [pool.submit(headway.report, one.result(), format="svg") for one in figures]
    assert len({one.result().to_json() for one in figures}) == 1
    assert len({one.result().to_json() for one in lists}) == 3
    assert len({one.result()[0].read_bytes() for one in drawn}) == 1
assert sys.modules["__main__"].__dict__ is globals()
"""


def test_functions_work_in_several_threads(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TOGETHER, str(tmp_path)], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


def test_sweeps_in_several_threads_leave_the_program_as_it_was(tmp_path: Path) -> None:
    program = sys.modules["__main__"]
    scenario = small(sweep={"seeds": 2})
    with ThreadPoolExecutor(3) as pool:
        swept = list(pool.map(lambda number: headway.sweep(scenario, tmp_path / str(number), jobs=2), range(3)))
    assert [len(one) for one in swept] == [2, 2, 2]
    assert sys.modules["__main__"] is program


def test_lists_are_those_of_the_command(command: Callable[..., Answer]) -> None:
    (amrt,) = headway.catalogue("transports", "amrt")
    assert (amrt.name, amrt.discipline) == ("amrt", "anti-ecn")
    assert amrt.parameters and amrt.summary
    claims = headway.catalogue("claims", "amrt/fig01")
    assert {one.scenario for one in claims} == {"amrt/fig01-multi-bottleneck"}
    for thing in ("transports", "disciplines", "models", "examples"):
        answer = command("list", thing, "--json")
        assert answer.out == headway.catalogue(thing).to_json() + "\n"
    assert command("list", "claims", "amrt/fig01", "--json").out == claims.to_json() + "\n"
    with pytest.raises(HeadwayError, match="there is no list of 'transport'"):
        headway.catalogue("transport")
    with pytest.raises(HeadwayError, match="did you mean phost"):
        headway.catalogue("transports", "phots")


def test_a_figure_is_reproduced_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: Callable[..., Answer]
) -> None:
    done = headway.reproduce("amrt/fig08", tmp_path / "a", scale="smoke")
    assert done.report.exists()
    assert done.document() == json.loads((tmp_path / "a/claims.json").read_text("utf-8"))
    assert done.claims[0].verdict == "reproduced" and done.claims[0].measured is not None
    assert f"{len(done.claims)} reproduced" in repr(done)
    drawn = headway.report(done, format="svg")
    assert drawn and all(path.suffix == ".svg" and path.exists() for path in drawn)
    assert capsys.readouterr() == ("", ""), "functions print nothing"
    answer = command("reproduce", "amrt/fig08", "--scale", "smoke", "--out", tmp_path / "b", "--json")
    assert answer.out == done.to_json() + "\n"


def test_results_show_themselves_in_a_notebook(tmp_path: Path) -> None:
    done = headway.reproduce("amrt/fig08", tmp_path, scale="smoke")
    claim = done.claims[0]
    for shown in (done, headway.catalogue("claims", "amrt/fig08")):
        page = shown._repr_html_()
        assert claim.id in page and claim.verdict in page
    assert "phost" in headway.catalogue("transports")._repr_html_()
    assert "<svg" in headway.report(done, format="svg")._repr_html_()
    assert "report.html" in headway.report(done)._repr_html_()


def test_runs_are_measured_and_compared(tmp_path: Path, command: Callable[..., Answer]) -> None:
    run = small().run(tmp_path)
    expressions = ("mean_s=summary('fct_mean_s')", "mean_s * 1e6", "mean_s > 0")
    found = headway.measure(tmp_path, *expressions)
    assert found["mean_s"] == run.summary["fct_mean_s"] and found["mean_s > 0"] is True
    assert headway.measure(small().run(), *expressions) == found
    assert command("measure", tmp_path, *expressions, "--json").out == found.to_json() + "\n"
    assert "mean_s" in found._repr_html_()
    with pytest.raises(HeadwayError, match="the name 'a' is given twice"):
        headway.measure(tmp_path, "a=1", "a=2")
    difference = headway.diff("examples/incast", "examples/incast", right_set={"seed": 2})
    assert not difference.same and "seed" in difference._repr_html_()
    answer = command("diff", "examples/incast", "examples/incast", "--right-set", "seed=2", "--json")
    assert (answer.status, answer.out) == (1, difference.to_json() + "\n")


@pytest.mark.parametrize(
    "result",
    [
        headway.Catalogue,
        headway.Causes,
        headway.Comparison,
        headway.Difference,
        headway.Explanation,
        headway.Measured,
        headway.ReportFiles,
        headway.Reproduction,
        headway.Reproductions,
        headway.Variants,
    ],
)
def test_results_are_frozen(result: type) -> None:
    assert is_dataclass(result)
    assert vars(result)["__dataclass_params__"].frozen
    assert callable(vars(result)["_repr_html_"])
    assert issubclass(result, Jsonable)


def test_mistakes_are_errors_of_the_package(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="no scenario is called"):
        headway.reproduce("amrt/fig01x", tmp_path)
    with pytest.raises(HeadwayError, match="--record is for the scenario as it is written"):
        headway.reproduce("amrt/fig08", tmp_path, sets=["seed=2"], record=True)
    with pytest.raises(HeadwayError, match="amrt-fig01-nothing"):
        headway.explain("amrt-fig01-nothing", tmp_path)
    with pytest.raises(ResultsError, match="no such directory"):
        headway.report(tmp_path / "none")
    with pytest.raises(ResultsError, match="was not written to a directory"):
        headway.report(small().run())
    with pytest.raises(HeadwayError, match="an empty list"):
        headway.report([])
    with pytest.raises(HeadwayError, match="one directory at a time"):
        headway.report([tmp_path, tmp_path])


def test_a_plain_script_sweeps_a_scenario_that_it_builds(tmp_path: Path) -> None:
    # At the top level, and from a pipe: processes that run points do not run the program again.
    command = [sys.executable, "-", str(tmp_path / "out")]
    ran = subprocess.run(command, input=SCRIPT, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ran.stdout == "4 {} mine\n", ran.stderr
    again = headway.read_sweep(tmp_path / "out")
    assert sorted(one.label for one in again) == ["amrt,seed=1", "amrt,seed=2", "phost,seed=1", "phost,seed=2"]


def test_a_sweep_has_the_overrides_and_the_scale_of_its_scenario(tmp_path: Path) -> None:
    loaded = headway.Scenario.load("examples/quickstart", scale="smoke", sets={"traffic.0.flows": 20})
    swept = headway.sweep(loaded, tmp_path, jobs=1)
    assert swept.unfinished == 0
    assert {one.scenario["traffic"][0]["flows"] for one in swept} == {20}


def test_files_that_a_built_scenario_names_go_with_it_into_the_sweep(tmp_path: Path) -> None:
    text = "id,src,dst,bytes,start_s\n0,0,1,9000,0\n"
    inside = tmp_path / "inside"
    inside.mkdir()
    for folder in (tmp_path, inside):
        (folder / "flows.csv").write_text(text, "utf-8")
    near = small(traffic=headway.file(path="flows.csv"), folder=tmp_path)
    swept = headway.sweep(near, tmp_path / "out", jobs=1)
    assert swept.unfinished == 0
    assert swept[0].manifest["digest"] == near.at(near.points()[0]).digest
    # The copy is that of the file as it is now: the results of the former are another sweep.
    (tmp_path / "flows.csv").write_text(text.replace("9000", "8000"), "utf-8")
    changed = small(traffic=headway.file(path="flows.csv"), folder=tmp_path)
    with pytest.raises(ResultsError, match="as it was then"):
        headway.sweep(changed, tmp_path / "out")
    # Nothing is copied to a place outside of the results.
    above = small(traffic=headway.file(path="../flows.csv"), folder=inside)
    with pytest.raises(HeadwayError, match="paths that begin elsewhere"):
        headway.sweep(above, tmp_path / "other")
    whole = small(traffic=headway.file(path=tmp_path / "flows.csv"))
    assert headway.sweep(whole, tmp_path / "whole", jobs=1).unfinished == 0
