"""Amount and form of the command line's output, and its questions before it begins."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from headway.claims.tables import Source
from headway.claims.values import rounded, unit_and_rest
from headway.cli import sizes, terminal
from headway.data.toml import Document
from headway.errors import ClaimsError, NameNotFound
from headway.names import ROOTS_VARIABLE
from headway.sweeps import forecast
from support import Answer

Headway = Callable[..., Answer]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of progress as soon as there is something to tell."""
    monkeypatch.setattr(terminal, "PLAIN_FIRST_S", 0.0)
    monkeypatch.setattr(terminal, "PLAIN_EVERY_S", 0.0)


@pytest.fixture
def slower(scenario_file: Path) -> Path:
    """The same scenario with flows long enough to be asked for progress on the way."""
    text = scenario_file.read_text(encoding="utf-8").replace('"2 ms"', '"40 ms"').replace("100 kB", "20 MB")
    scenario_file.write_text(text, encoding="utf-8")
    return scenario_file


@pytest.mark.usefixtures("at_once")
def test_progress_is_lines_where_no_terminal_is_and_none_if_it_is_so_asked(headway: Headway, slower: Path) -> None:
    for options, told in (
        ((), True),
        (("--progress", "plain"), True),
        (("--progress", "none"), False),
        (("-q",), False),
    ):
        answer = headway("run", slower, *options)
        assert answer.status == 0
        assert ("two-flows: " in answer.err and " %, " in answer.err) is told, options
        assert answer.out.startswith("two-flows: 2/2 flows done")
    assert "auto|bar|plain|none" in headway("run", "--help").out


@pytest.mark.usefixtures("at_once")
def test_a_sweep_tells_of_the_whole_and_with_v_of_each_point(
    headway: Headway, scenario_file: Path, tmp_path: Path
) -> None:
    usual = headway("sweep", scenario_file, "--out", tmp_path / "usual")
    assert "two-flows: 25 %, 1/4 points" in usual.err
    assert "[1/4]" not in usual.err
    loud = headway("sweep", scenario_file, "--out", tmp_path / "loud", "-v")
    assert loud.err.count("flows done") == 4
    quiet = headway("sweep", scenario_file, "--out", tmp_path / "quiet", "-q")
    assert quiet.err == ""
    assert quiet.out.startswith("variant"), "only the table is left"
    both = headway("run", scenario_file, "-q", "-v")
    assert both.status == 2
    assert "-q and -v contradict each other" in both.err


def test_v_says_what_is_about_to_run_and_q_keeps_warnings_back(headway: Headway, scenario_file: Path) -> None:
    assert "two-flows: 3 hosts, 6 links, 2 flows, seed 1" in headway("run", scenario_file, "-v").err
    odd = ("run", scenario_file, "--set", 'fabric.discipline="drop-tail"')
    assert "warning: `amrt` is meant" in headway(*odd).err
    assert headway(*odd, "-q").err == ""


def test_one_variant_can_be_run(headway: Headway, scenario_file: Path) -> None:
    answer = headway("run", scenario_file, "--variant", "phost", "--json")
    assert answer.out == headway("run", scenario_file, "--set", "transport.name=phost", "--json").out
    assert answer.out != headway("run", scenario_file, "--json").out
    missed = headway("run", scenario_file, "--variant", "phots")
    assert missed.status == 2
    assert "there is no variant `phots`" in missed.err
    assert "did you mean `phost`?" in missed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "FILE", "--set", "sweep.seeds=4"], "`sweep.seeds` has no effect: this is one run"),
        (["run", "FILE", "--variant", "amrt", "--set", "transport.name=dctcp"], "the variant `amrt` sets it"),
        (["sweep", "FILE", "--out", "OUT", "--set", "transport.name=dctcp"], "every variant sets it"),
        (["reproduce", "FILE", "--out", "OUT", "--set", "transport.name=dctcp"], "every variant sets it"),
        (["sweep", "FILE", "--out", "OUT", "--set", "scale.smoke.stop=1 ms"], "`scale.smoke.stop` has no effect"),
    ],
)
def test_an_override_without_effect_is_an_error_at_its_place(
    headway: Headway, scenario_file: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    places = {"FILE": str(scenario_file), "OUT": str(tmp_path / "out")}
    answer = headway(*[places.get(a, a) for a in arguments])
    assert answer.status == 2
    assert message in answer.err
    assert "[--set:1:1]" in answer.err
    assert "help:" in answer.err
    assert not (tmp_path / "out").exists()


def test_much_is_not_written_without_being_asked(
    headway: Headway, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "UNASKED_BYTES", 1000.0)
    commands = {
        "sweep": ["sweep", scenario_file, "--out", tmp_path / "sweep"],
        "reproduce": ["reproduce", scenario_file, "--out", tmp_path / "reproduce"],
        "run": ["run", scenario_file, "--out", tmp_path / "run"],
        "c.pcapng": ["run", scenario_file, "--capture", tmp_path / "c.pcapng"],
    }
    for name, command in commands.items():
        answer = headway(*command)
        assert answer.status == 2, name
        assert f"kB would be written to {tmp_path / name}" in answer.err
        assert "--yes" in answer.err
        assert not (tmp_path / name).exists(), "nothing was begun"
        assert headway(*command, "--yes").status == 0, name
        assert (tmp_path / name).exists()


def test_a_capture_has_about_the_size_that_is_expected(headway: Headway, slower: Path, tmp_path: Path) -> None:
    from headway.cli.run import expected_bytes
    from headway.loading import Scenario

    assert headway("run", slower, "--capture", tmp_path / "c.pcapng").status == 0
    expected = expected_bytes("two-flows", Scenario.load(slower), None, tmp_path / "c.pcapng")
    assert 0.5 < (tmp_path / "c.pcapng").stat().st_size / expected < 2


def test_a_figure_goes_to_a_folder_of_its_name_unless_another_is_named(
    headway: Headway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = headway("reproduce", "amrt/fig08-model")
    assert answer.status == 0, answer.err
    assert "report: out/amrt/fig08-model/report.html" in answer.out
    assert (tmp_path / "out/amrt/fig08-model/report.html").is_file()


def test_smoke_scale_says_first_that_its_verdicts_do_not_count(headway: Headway, tmp_path: Path) -> None:
    answer = headway("reproduce", "amrt/fig08-model", "--scale", "smoke", "--out", tmp_path / "out")
    assert answer.out.startswith("smoke scale: fewer and smaller runs than the paper's, whose verdicts do not count")


class Terminal:
    """Standard output as a terminal of so many columns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((columns, 24)))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


WORDS = ("reproduced", "amrt-fig1-phost-util-after-f2", "about 83.3 %", "of the first bottleneck while both flows last")


@pytest.mark.parametrize("columns", [200, 100, 80, 60, 40, 24])
def test_a_table_breaks_between_words_at_every_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    Terminal(monkeypatch, columns)
    terminal.print_table(["verdict", "claim", "measured", "of"], [list(WORDS)], ["a reason with a number of words"])
    printed = click.unstyle(capsys.readouterr().out)
    for word in " ".join(WORDS).split():
        assert word in printed.split(), f"{word} is in one piece"
    longest = max(len(word) for word in " ".join(WORDS).split())
    assert max(map(len, printed.splitlines())) <= max(columns, len("    measured  ") + longest)


def test_numbers_are_rounded_and_have_their_unit() -> None:
    cases = [
        (84.1372, "percent, first bottleneck", "84.1 %", "first bottleneck"),
        ([4.9983, 4.9979], "Gb/s each, f0 and f1", "5, 5 Gb/s", "each, f0 and f1"),
        (12.3456, "percent lower", "12.3 %", "lower"),
        (1234.5678, "us", "1235 us", ""),
        (0.65782, "share of the second bottleneck", "0.658", "share of the second bottleneck"),
        (16.5, "packets; percent busy", "16.5", "packets; percent busy"),
        (3.0, "RTT until full, earliest and latest", "3", "RTT until full, earliest and latest"),
        ({"amrt": 1.23456}, "ms", "amrt 1.23 ms", ""),
        (None, "us", "-", ""),
    ]
    for value, written, shown, of in cases:
        unit, rest = unit_and_rest(written)
        assert (rounded(value, unit), rest) == (shown, of), written  # type: ignore[arg-type]


def test_an_empty_list_says_where_it_looked(headway: Headway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headway import names

    monkeypatch.setattr(names, "roots", lambda: [tmp_path])
    answer = headway("list", "figures")
    assert f"no figures found; scenarios are looked for in {tmp_path}" in answer.err
    assert ROOTS_VARIABLE in answer.err
    answer = headway("run", "amrt/fig01")
    assert answer.status == 2
    assert f"help: scenarios are looked for in {tmp_path}" in answer.err


def test_a_directory_of_ones_own_is_a_root(headway: Headway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab").mkdir()
    assert headway("new", tmp_path / "lab" / "first.toml").status == 0
    monkeypatch.setenv(ROOTS_VARIABLE, os.pathsep.join([str(tmp_path), "/nowhere"]))
    assert "lab/first" in headway("list", "examples").out
    assert headway("check", "lab/first").status == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dctcp", 'dctcp is a transport: [transport] name = "dctcp"'),
        ("xpass_websearch", "xpass_websearch is a flow-size distribution: [[traffic]]"),
        ("leaf-spine", "leaf-spine is a topology"),
    ],
)
def test_a_name_of_another_kind_is_said_to_be_one(headway: Headway, name: str, said: str) -> None:
    answer = headway("run", name)
    assert answer.status == 2
    assert f"help: {said}" in answer.err


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        ("ports", "Did you mean disciplines?"),
        ("protocols", "Did you mean transports?"),
        ("cdfs", "Did you mean workloads?"),
        ("scenarios", "Did you mean examples?"),
        ("swiches", "Did you mean topologies?"),
        ("trasports", "Did you mean transports?"),
        ("homa", 'homa is a transport: [transport] name = "homa" (headway list transports homa)'),
        ("anti-ecn", "(headway list disciplines anti-ecn)"),
        ("xyzzy", "there is no list of 'xyzzy'. There are: transports, "),
    ],
)
def test_a_list_under_another_name_is_found_by_what_it_holds(headway: Headway, thing: str, said: str) -> None:
    answer = headway("list", thing)
    assert answer.status == 2 and said in answer.err


def test_a_part_of_a_name_narrows_a_list(headway: Headway) -> None:
    listed = headway("list", "workloads", "websearch").out
    assert all(name in listed for name in ("xpass_websearch", "dctcp_websearch", "yaps_websearch"))
    assert "xpass_webserver" not in listed


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "x", "--scael", "smoke"], ["rnu"], ["sweep", "x", "--jobs", "0"], ["list", "nothing"], ["list"]],
)
def test_mistakes_in_the_use_look_like_all_others(headway: Headway, arguments: list[str]) -> None:
    answer = headway(*arguments)
    assert answer.status == 2
    assert answer.err.startswith("error: ")
    assert "\n  help: headway " in answer.err
    assert "Usage:" not in answer.err


def test_a_mistake_in_a_ledger_is_marked_as_one_in_a_scenario(tmp_path: Path) -> None:
    text = '[[claim]]\nid = "x"\n'
    error = Source(tmp_path / "claims.toml", Document("claims.toml", text)).error("claim", 0, "id", "no such thing")
    assert isinstance(error, ClaimsError)
    path = tmp_path / "claims.toml"
    assert str(error) == f'no such thing\n   ╭─[{path}:2:1]\n 2 │ id = "x"\n   · ┬\n   · ╰── here\n   ╰────'


def test_a_name_that_is_not_there_offers_the_nearest() -> None:
    assert str(NameNotFound("point", "phots", ["phost", "amrt"], "all: headway list")) == (
        "no point is called 'phots'\n  help: did you mean phost?\n        all: headway list"
    )


def test_sizes_are_asked_of_what_is_left_to_run(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert headway("sweep", scenario_file, "--out", out).status == 0
    from headway.names import resolve
    from headway.sweeps.plan import plan

    assert forecast.forecast(plan(resolve(str(scenario_file)), out).points, "two-flows", 1).bytes == 0
