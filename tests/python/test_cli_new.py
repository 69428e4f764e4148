"""A scenario to begin with, pages, shell completion, and a scenario shown in the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.cli.sketch import links, sketch
from headway.data.toml import parsed
from headway.names import known_scenarios
from headway.scenario import Scenario
from support import Answer

Headway = Callable[..., Answer]


def test_a_new_scenario_is_right_runs_and_explains_itself(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert headway("new", file).status == 0
    assert headway("check", file).err == "", "nothing about it is odd"
    assert f"headway run {file}" in file.read_text(encoding="utf-8")
    answer = headway("run", file, "--set", "traffic.0.flows=5")
    assert "5/5 flows done" in answer.out


def test_nothing_is_overwritten_and_every_mistake_says_what_helps(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("mine", encoding="utf-8")
    for arguments, message in (
        ([file], "is there already"),
        ([tmp_path / "mine"], f"help: {tmp_path / 'mine.toml'}"),
        ([tmp_path / "no" / "mine.toml"], f"mkdir -p {tmp_path / 'no'}"),
        ([tmp_path / "other.toml", "--from", "examples/quikstart"], "did you mean examples/quickstart"),
    ):
        answer = headway("new", *arguments)
        assert answer.status == 2
        assert message in answer.err
    assert file.read_text(encoding="utf-8") == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_a_copy_has_its_comments_and_the_files_that_it_names(headway: Headway, tmp_path: Path) -> None:
    for name in ("examples/quickstart", "amrt/fig20-fairness-rtt"):
        copy = tmp_path / f"{name.rpartition('/')[2]}.toml"
        answer = headway("new", copy, "--from", name)
        assert answer.status == 0, answer.err
        assert copy.read_bytes() == known_scenarios()[name].path.read_bytes()
        assert Scenario.load(copy).digest == Scenario.load(name).digest, "files beside it are there too"
    assert (tmp_path / "fig20-network.toml").is_file()
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "fig20-network.toml").write_text("another", encoding="utf-8")
    refused = headway("new", tmp_path / "again" / "x.toml", "--from", "amrt/fig20-fairness-rtt")
    assert refused.status == 2
    assert "differs from the file of that name" in refused.err
    assert not (tmp_path / "again" / "x.toml").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_this_program(headway: Headway, shell: str) -> None:
    answer = headway("completion", shell)
    assert answer.status == 0
    assert "_HEADWAY_COMPLETE" in answer.out
    assert headway("completion", "tcsh").status == 2


@pytest.mark.parametrize(
    ("words", "number", "offered"),
    [
        ("headway rep", 1, "reproduce"),
        ("headway run examples/q", 2, "examples/quickstart"),
        ("headway run --va", 2, "--variant"),
    ],
)
def test_a_shell_is_offered_commands_options_and_scenarios(words: str, number: int, offered: str) -> None:
    asked = {"_HEADWAY_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    command = [sys.executable, "-m", "headway"]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert f"plain,{offered}" in done.stdout.splitlines()


def test_pages_are_listed_and_printed(headway: Headway) -> None:
    listed = headway("docs").out
    assert "scenario-format" in listed
    assert "transports/amrt" in listed
    page = headway("docs", "scenario-format").out
    assert page.startswith("# ")
    assert headway("docs", "docs/scenario-format.md").out == page
    where = Path(headway("docs", "scenario-format", "--path").out.strip())
    assert where.read_text(encoding="utf-8").strip() == page.strip()
    missed = headway("docs", "scenario-fromat")
    assert missed.status == 2
    assert "did you mean scenario-format" in missed.err


def test_a_scenario_is_shown_with_its_network_and_every_key(headway: Headway, scenario_file: Path) -> None:
    answer = headway("show", scenario_file, "--set", "fabric.payload=1000")
    assert answer.status == 0
    assert "[s0]" in answer.out
    assert "host - switch, tier 1: 10 Gb/s, 1 us, as h0 - s0" in answer.out
    assert "sweep: 4 points; variants amrt, phost; 2 seeds each" in answer.out
    rows = {line.split()[0]: line for line in answer.out.splitlines() if line.startswith(("fabric.", "seed"))}
    assert rows["fabric.header"].endswith("default")
    assert not rows["fabric.buffer"].endswith("default"), "the file sets it"
    assert not rows["fabric.payload"].endswith("default"), "the option sets it"
    assert "transport.mode" not in answer.out
    variant = headway("show", scenario_file, "--variant", "phost").out
    assert "transport.mode" in variant
    found = json.loads(headway("show", scenario_file, "--json").out)
    assert found["keys"]["fabric"]["payload"] == 1460
    assert headway("show", "amrt/fig08-model").status == 0, "a model has no network"


def test_every_network_of_the_project_fits_the_width(subtests: pytest.Subtests) -> None:
    for name, file in known_scenarios().items():
        with subtests.test(name):
            topology = Scenario.load(file.path).topology
            if not topology["nodes"]:
                continue
            for width in (60, 100):
                lines = sketch(topology, width)
                assert max(map(len, lines)) <= width
                assert "".join(lines).strip()
            assert links(topology)


def test_the_template_has_what_a_sweep_and_a_report_need() -> None:
    template = Path(__file__).resolve().parents[2] / "python/headway/templates/scenario.toml"
    document = parsed(template.read_text(encoding="utf-8"))
    assert {"topology", "transport", "traffic", "sample", "variants", "sweep", "report"} <= document.keys()
