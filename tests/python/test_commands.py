"""The commands as functions of the package, and sweeps of scenarios that are built."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import headway
from headway import HeadwayError, ResultsError
from headway.cli import explain, listing, report, reproduce
from headway.cli.compare import COMMAND as COMPARE
from headway.cli.sweep import COMMAND as SWEEP
from support import LIMIT

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


def small(**changed: Any) -> headway.Scenario:  # noqa: ANN401  (arguments of a scenario)
    """A scenario of four hosts."""
    parts: dict[str, Any] = {
        "topology": headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
        "transport": "amrt",
        "traffic": headway.permutation(bytes="20 kB"),
    }
    return headway.scenario(**{**parts, **changed})


# Options that a function has under another name, and those that only a terminal has a use for.
RENAMED = {"force": "overwrite", "everything": "all", "most": "best", "fmt": "format", "places": "results"}
RENAMED |= {"file": "scenario"}
OF_THE_TERMINAL = {"as_json", "markdown", "help", "quiet", "verbose", "progress", "yes"}


@pytest.mark.parametrize(
    ("function", "command"),
    [
        (headway.reproduce, reproduce.COMMAND),
        (headway.explain, explain.COMMAND),
        (headway.report, report.COMMAND),
        (headway.list, listing.COMMAND),
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
    assert missing <= {"scenario"} if function is headway.reproduce else missing <= {"page", "judged", "causes"}


def test_functions_stay_when_packages_of_the_same_name_are_imported() -> None:
    import headway.cli.main
    import headway.explain.record
    import headway.report.page

    assert all(inspect.isfunction(one) for one in (headway.explain, headway.report, headway.scenario))


def test_lists_are_those_of_the_command() -> None:
    (amrt,) = headway.list("transports", "amrt")
    assert {"name", "summary", "params"} <= amrt.keys()
    assert headway.list("claims", "amrt/fig01")
    with pytest.raises(HeadwayError, match="there is no list of 'transport'"):
        headway.list("transport")  # type: ignore[arg-type]
    with pytest.raises(HeadwayError, match="did you mean phost"):
        headway.list("transports", "phots")


def test_a_figure_is_reproduced_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = headway.reproduce("amrt/fig08", tmp_path, scale="smoke")
    assert done.report.exists()
    assert done.claims == tuple(json.loads((tmp_path / "claims.json").read_text("utf-8")))
    assert {"id", "verdict", "measured"} <= done.claims[0].keys()
    assert f"{len(done.claims)} reproduced" in repr(done)
    assert capsys.readouterr().out == ""
    drawn = headway.report(done, format="svg")
    assert drawn and all(path.suffix == ".svg" and path.exists() for path in drawn)


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
    # The copy is that of the file as it is now: what was made of the former is another sweep.
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
