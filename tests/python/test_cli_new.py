"""A scenario to begin with, pages, shell completion, and a scenario shown in the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import _headway
from headway.cli.sketch import links, sketch
from headway.data.toml import parsed
from headway.in_effect import MARKINGS, TRIMMING
from headway.loading import Scenario
from headway.names import known_scenarios
from headway.pages import read
from headway.sections import FOLDER, sections
from support import LIMIT, Answer

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
    done = subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, timeout=LIMIT, check=False
    )
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
    assert read(where).strip() == page.strip()
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
    first, other = answer.out.split("variant phost, where it differs from amrt:")
    assert "transport.mode" not in first
    assert "transport.mode" in other
    variant = headway("show", scenario_file, "--variant", "phost").out
    assert "transport.mode" in variant
    found = json.loads(headway("show", scenario_file, "--json").out)
    assert found["keys"]["fabric"]["payload"] == 1460
    assert [one["transport"] for one in found["in_effect"]] == ["amrt", "phost"]
    assert headway("show", "amrt/fig08-model").status == 0, "a model has no network"


def test_pages_are_searched_by_words_and_printed_by_section(headway: Headway) -> None:
    found = headway("docs", "--search", "Homa buffer")
    assert found.status == 0
    names = [line.split()[0] for line in found.out.splitlines()[1:-2] if not line.startswith(" ")]
    assert "choosing#what-defaults-decide" in names
    assert names[0] == "transports/homa#the-port-strict-priority", "the page of Homa, of its port"
    assert len(names) == len(set(names)) <= 15
    for name in names:
        section = headway("docs", name)
        assert section.status == 0, name
        text = f"{name} {section.out}".lower()
        assert "homa" in text, name
        assert "buffer" in text, name
    within = headway("docs", "transports/homa", "--search", "buffer").out.splitlines()
    rows = [line.split()[0] for line in within[1:] if line.startswith("transports")]
    assert rows
    assert all(name.partition("#")[0] == "transports/homa" for name in rows)
    missed = headway("docs", "--search", "slowdwon")
    assert missed.status == 2
    assert "did you mean slowdown" in missed.err
    assert "fewer words find more" in headway("docs", "--search", "perfetto cutoff_1").err
    assert "did you mean sample?" in headway("docs", "scenario-format#sampl").err
    assert headway("docs", "--search", " ").status == 2


def test_without_a_section_that_has_all_words_those_with_most_are_shown(headway: Headway) -> None:
    words = ["homa", "buffer", "perfetto", "cutoff_1"]
    answer = headway("docs", "--search", " ".join(words))
    assert answer.status == 0
    said = "no section holds all of 'homa' and 'buffer' and 'perfetto' and 'cutoff_1'; these hold 3 of the 4 words"
    assert answer.err.strip() == said
    names = [line.split()[0] for line in answer.out.splitlines()[1:] if line and line[0] not in " 0123456789"]
    for name in names[:-1]:
        text = f"{name} {headway('docs', name).out}".lower()
        assert sum(word in text for word in words) == 3, name
    misspelt = headway("docs", "--search", "homa buffer slowdwon")
    assert misspelt.status == 0
    assert "these hold 2 of the 3 words; no page has 'slowdwon': did you mean slowdown" in misspelt.err


@pytest.mark.long
def test_every_section_of_every_page_is_printed_by_its_name(subtests: pytest.Subtests) -> None:
    for file in sorted(FOLDER.rglob("*.md")):
        page = file.relative_to(FOLDER).with_suffix("").as_posix()
        with subtests.test(page):
            text = read(file)
            assert "<!-- declared" not in text
            found = list(sections(page, text))
            assert found[0].level == 1
            assert len({one.anchor for one in found}) == len(found)
            # Nothing is lost between sections, and headings in programs are none.
            assert sum(len(one.lines) + 1 for one in found) + found[0].start == len(text.splitlines())


VARIANTS = """
[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"
[transport]
name = "dctcp"
[fabric]
header = 60
[[traffic]]
kind = "incast"
senders = 2
receiver = 2
bytes = "1 MB"
[scale.smoke]
"fabric.framing" = 50
[variants.dctcp]
"transport.name" = "dctcp"
[variants.swift]
"transport.name" = "swift"
[variants.homa]
"transport.name" = "homa"
"transport.preset" = "linux"
"fabric.buffer" = "1 MB"
[sweep]
"""


def test_show_and_check_tell_preset_and_port_of_every_variant(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text(VARIANTS, encoding="utf-8")
    for command in ("show", "check"):
        lines = headway(command, file).out.splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith("variant  "))
        rows = {line.split()[0]: line for line in lines[first + 1 : first + 4]}
        assert list(rows) == ["dctcp", "swift", "homa"]
        assert "paper-ns2*  " in rows["dctcp"]
        assert "ecn-threshold*  " in rows["dctcp"]
        assert "128 packets, 199 kB*" in rows["dctcp"], "1460 + 60 + 38 bytes on the wire"
        assert "datacenter*  " in rows["swift"]
        assert "linux  " in rows["homa"], "the variant says it"
        assert "642 packets, 1.00 MB" in rows["homa"]
        assert not rows["homa"].endswith("*")
        assert "bandwidth-delay product of the longest path: 5.32 packets, 7.76 kB" in lines[first + 4]
        assert lines[first + 5] == "routing: ecmp*"
        assert lines[first + 6] == "* the default"
        assert all(len(line) <= 80 for line in rows.values())
    swept = headway("check", file, "--set", 'sweep={"fabric.buffer" = ["1 MB", "2 MB"]}', "--set", "variants={}")
    assert "128 packets, 199 kB**" in swept.out
    assert "** before the sweep varies it" in swept.out
    several = headway(
        "check", file, "--set", 'variants.homa={"transport.name" = "homa", "topology.rate" = "40 Gbps"}'
    ).out
    assert "  bandwidth-delay product" in several.splitlines()[1], "not the same for all: a column"
    assert max(map(len, several.splitlines()[1:])) <= 100
    lossless = headway("check", file, "--set", "fabric.pfc={}", "--set", "variants={}").out
    assert "ecn-threshold, lossless" in lossless


def test_the_page_names_the_transports_that_need_room() -> None:
    page = " ".join((FOLDER / "choosing.md").read_text(encoding="utf-8").split())
    listed = json.loads(_headway.catalogue("transports"))
    for need, said in (
        ("ports that hardly drop data", "suppose ports that hardly drop data"),
        ("switches that lose nothing", "or switches that lose nothing"),
    ):
        names = ", ".join(f"`{one['name']}`" for one in listed if need in one["needs"])
        assert f"{said} ({names})" in page


def test_show_lists_the_first_variant_and_how_the_others_differ(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text(VARIANTS, encoding="utf-8")
    first, swift, homa = headway("show", file, "--scale", "smoke").out.split("\nvariant ")[-3:]
    assert first.startswith("dctcp, the first:")
    rows = {line.split()[0]: line for line in first.splitlines() if line}
    assert not rows["fabric.framing"].endswith("default"), "the scale sets it"
    assert rows["fabric.control"].endswith("default")
    for other, name, key in ((swift, "swift", "transport.max_mdf"), (homa, "homa", "transport.overcommit")):
        assert other.startswith(f"{name}, where it differs from dctcp:")
        keys = [line.split()[0] for line in other.splitlines()[2:] if line]
        assert key in keys
        assert "transport.name" in keys
        assert "topology.hosts" not in keys, "as the first has it"
    alone = headway("show", file, "--variant", "homa").out
    assert "topology.hosts" in alone
    assert "where it differs" not in alone
    wide = {line.split()[0]: line for line in alone.splitlines() if line.startswith("fabric.")}
    assert '"1000000 B"' in wide["fabric.buffer"]


def test_what_has_no_room_in_a_drawing_is_gathered_or_said(
    headway: Headway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "wide.toml"
    file.write_text(
        '[topology]\nkind = "leaf-spine"\nracks = 4\nhosts_per_rack = 8\nspines = 2\nhost_rate = "100 Gbps"\n'
        'spine_rate = "400 Gbps"\nhost_delay = "1 us"\n[transport]\nname = "dctcp"\n[[traffic]]\nkind = "incast"\n'
        'senders = 3\nreceiver = 31\nbytes = "1 MB"\n',
        encoding="utf-8",
    )
    for columns in (60, 80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = headway("show", file, "--no-keys").out
        drawing = shown.split("switch, tier 1 - switch")[0]
        assert max(map(len, drawing.splitlines()[1:])) <= columns
        for ends in ("h0..h7", "h8..h15", "h16..h23", "h24..h31"):
            assert ends in drawing, columns
        assert "no room" not in shown
    crowded = {
        "nodes": [
            {"name": f"host-{i:02}", "kind": "host", "tier": 0, "x": i / 40, "y": 1.0, "count": 1} for i in range(40)
        ]
        + [{"name": f"s{i}", "kind": "switch", "tier": 1, "x": i / 40, "y": 0.0, "count": 1} for i in range(40)],
        "links": [{"a": f"host-{i:02}", "b": f"s{i}", "rate_bps": 1e9, "delay_s": 1e-6} for i in range(40)],
    }
    left_out = sketch(crowded, 80).left_out
    assert any("of 40 have no room" in note for note in left_out), "nodes without a common neighbour"


def test_every_network_of_the_project_fits_the_width(subtests: pytest.Subtests) -> None:
    for name, file in known_scenarios().items():
        with subtests.test(name):
            topology = Scenario.load(file.path).topology
            if not topology["nodes"]:
                continue
            for width in (60, 100):
                drawing = sketch(topology, width)
                assert max(map(len, drawing.lines)) <= width
                assert "".join(drawing.lines).strip()
                said = [note for note in drawing.left_out if "no room" in note]
                assert bool(said) == (len(drawing.shown) < len(topology["nodes"])), "what is not there is told"
            assert links(topology)


def test_the_template_has_what_a_sweep_and_a_report_need() -> None:
    template = Path(__file__).resolve().parents[2] / "python/headway/templates/scenario.toml"
    document = parsed(template.read_text(encoding="utf-8"))
    assert {"topology", "transport", "traffic", "sample", "variants", "sweep", "report"} <= document.keys()


TABLE_OF_VARIANTS = """
[topology]
kind = "leaf-spine"
racks = 2
hosts_per_rack = 4
spines = 2
host_rate = "10 Gbps"
spine_rate = "40 Gbps"
host_delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "incast"
receiver = 0
senders = [1, 2, 3, 4]
bytes = "20 kB"

[variants.dctcp]
"transport.name" = "dctcp"
"fabric.threshold" = 65

[variants.ndp]
"transport.name" = "ndp"
"fabric.routing" = "spray"

[variants.homa]
"transport.name" = "homa"

[variants.dcqcn]
"transport.name" = "dcqcn"
"fabric.kmin" = "50 kB"
"""


def test_marking_routing_and_room_for_headers_are_told_of_each_variant(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "variants.toml"
    file.write_text(TABLE_OF_VARIANTS, encoding="utf-8")
    lines = headway("check", file).out.splitlines()
    assert lines[1].split() == ["variant", "preset", "ports", "buffer", "routing"]
    rows = {line.split()[0]: line.split()[-1] for line in lines[2:6]}
    assert rows == {"dctcp": "ecmp*", "ndp": "spray", "homa": "ecmp*", "dcqcn": "ecmp*"}
    # A port of 10 Gb/s has two fifths of the 400 kB of one of 25 Gb/s.
    marks = "from 65 packets (dctcp); from 50.0 kB to 160 kB (32.5 to 104 packets), at 10 Gb/s (dcqcn)"
    assert f"marks data: {marks}" in " ".join(" ".join(lines).split())
    assert "room for trimmed headers: 12.3 kB* (ndp)" in lines
    assert max(map(len, lines[1:])) <= 100
    file.write_text(TABLE_OF_VARIANTS.partition("[variants.dcqcn]")[0], encoding="utf-8")
    lines = headway("check", file).out.splitlines()
    assert lines[1].endswith("  routing  marks data")
    assert [line.split("  ")[-1].strip() for line in lines[2:5]] == ["from 65 packets", "-", "-"]
    file.write_text(TABLE_OF_VARIANTS, encoding="utf-8")
    found = {one["variant"]: one for one in json.loads(headway("show", file, "--json").out)["in_effect"]}
    assert found["ndp"]["headers_bytes"] == 12304 and found["dctcp"]["headers_bytes"] == 0
    assert found["dctcp"]["marks"] == "from 65 packets" and found["homa"]["marks"] == "-"
    assert "fabric.routing" in found["dctcp"]["defaults"] and "fabric.routing" not in found["ndp"]["defaults"]
    # Values that all share, and those that do not fit, are printed below it.
    same = headway("check", file, "--set", "topology.racks=3").out
    assert "room for trimmed headers" in same
    long = TABLE_OF_VARIANTS.replace("variants.", "variants.a-name-that-leaves-hardly-any-room-in-a-row-")
    file.write_text(long.replace('"fabric.routing" = "spray"', ""), encoding="utf-8")
    lines = headway("check", file).out.splitlines()
    assert "routing: ecmp*" in lines
    assert any(line.startswith("marks data: from 65 packets (a-name-") for line in lines)
    assert max(map(len, lines[6:])) <= 100


def test_every_discipline_that_marks_or_trims_says_so_in_the_table_of_variants() -> None:
    disciplines = json.loads(_headway.catalogue("disciplines"))
    assert {one["name"] for one in disciplines if "marks" in one["rewrites"]} == set(MARKINGS)
    assert {one["name"] for one in disciplines if "payload" in one["rewrites"]} == set(TRIMMING)
    for one in disciplines:
        if one["name"] in MARKINGS:
            assert set(MARKINGS[one["name"]].keys) <= {parameter["name"] for parameter in one["params"]}
