"""`headway diff`: two runs, event by event."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support import Answer

Headway = Callable[..., Answer]
INCAST = Path(__file__).resolve().parents[1] / "golden/behaviour/incast.toml"


def test_a_run_directory_is_the_same_as_its_scenario(headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert headway("run", INCAST, "--set", "seed=3", "--out", out).status == 0
    answer = headway("diff", out, INCAST, "--right-set", "seed=3")
    assert answer.status == 0, answer.out + answer.err
    assert answer.out.startswith("no event differs: ")


def test_the_first_event_is_named_with_time_place_and_packet(headway: Headway) -> None:
    answer = headway("diff", INCAST, INCAST, "--right-set", "fabric.rule=half-slot")
    assert answer.status == 1
    assert 'fabric.rule: "exceeds" | "half-slot"' in answer.out
    assert "is the first that differs" in answer.out
    (left,) = [line for line in answer.out.splitlines() if line.startswith("  left")]
    assert "us  s0->h16: a packet arrives at the switch: data" in left
    assert "s0->h16: a packet arrives at the switch: data of flow " in left
    assert re.search(r": index \d+, window \d+, message bytes \d+$", left), left
    assert "  the packets differ in:\n    ecn (ECN code point, in the two low bits): spare | not-ect\n" in answer.out
    document = json.loads(headway("diff", INCAST, INCAST, "--right-set", "fabric.rule=half-slot", "--json").out)
    assert document["same"] is False
    assert [one["field"] for one in document["first_difference"]["differs"]] == ["ecn"]
    assert document["first_difference"]["left"]["packet"]["ecn"] == "spare"


def test_a_run_of_another_build_is_named(headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert headway("run", INCAST, "--out", out).status == 0
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    manifest |= {"order_digest": "0" * 16, "version": "0.0.9", "commit": "abc"}
    (out / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (out / "SHA256SUMS").unlink()
    answer = headway("diff", out, INCAST)
    assert answer.status == 1
    assert "was made by another build (0.0.9, commit abc)" in answer.out
    assert "no event differs" in answer.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"testbed": {}}, "a run on real packets cannot be repeated"),
        ({"written": None}, "does not say what was run"),
        ({"digest": "0"}, "has changed since"),
    ],
)
def test_a_run_that_cannot_be_repeated_says_why(
    headway: Headway, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    out = tmp_path / "run"
    assert headway("run", INCAST, "--out", out).status == 0
    manifest = json.loads((out / "manifest.json").read_text("utf-8")) | change
    (out / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (out / "SHA256SUMS").unlink()
    answer = headway("diff", out, INCAST)
    assert answer.status == 2
    assert message in answer.err


def test_bad_input_is_told_as_everywhere(headway: Headway, tmp_path: Path) -> None:
    answer = headway("diff", "examples/quickstrat", INCAST)
    assert answer.status == 2
    assert "examples/quickstart" in answer.err
    answer = headway("diff", INCAST, INCAST, "--left-set", "transport.nme=amrt")
    assert answer.status == 2
    assert "nme" in answer.err
    answer = headway("diff", tmp_path, INCAST)
    assert answer.status == 2
    assert "manifest.json" in answer.err
