"""`make bench-hosts` in its short form: one repetition of the calls."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lacking import absent
from support import LIMIT

TOOL = Path(__file__).parents[2] / "tools/bench_hosts.py"
PROGRAM = Path(sys.executable).with_name("headway-perf")


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The tool's end; network namespaces of its own are gone by then."""
    words = [sys.executable, str(TOOL), "--program", str(PROGRAM), *(str(argument) for argument in arguments)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        out, error = process.communicate(timeout=LIMIT)
    assert not list(Path("/run/netns").glob(f"headway-bench-{process.pid}-*"))
    return subprocess.CompletedProcess(words, process.returncode, out, error)


def on_real_hosts(test: Callable[..., None]) -> Callable[..., None]:
    """Skips a test where two hosts cannot be made, or without the program."""
    root = sys.platform == "linux" and os.geteuid() == 0
    lacks = {
        absent("root", "for network namespaces"): not root,
        absent("ip", "apt install iproute2"): shutil.which("ip") is None,
        absent("headway-perf", "`make install` builds it, on Linux"): not PROGRAM.exists(),
    }
    for reason, lacking in lacks.items():
        test = pytest.mark.skipif(lacking, reason=reason)(test)
    return test


def test_a_line_that_does_not_exist_is_refused() -> None:
    refused = bench("--lines", "carrier-pigeon")
    assert refused.returncode == 2
    assert "no line" in refused.stderr


@on_real_hosts
def test_calls_are_measured_beside_tcp(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    done = bench("--reps", 1, "--calls", 200, "--lines", "latency", "--json", file)
    assert done.returncode == 0, done.stderr
    (results,) = json.loads(file.read_text("utf-8")).values()
    assert list(results) == ["amrt", "amrt, spin", "TCP"]
    for column in results.values():
        (result,) = column
        assert 0 < result["p50"] <= result["p99"]
    assert done.stdout.count("| p50, us |") == done.stdout.count("| p99, us |") == len(results)
    ratio = results["amrt"][0]["p50"] / results["TCP"][0]["p50"]
    assert f"{ratio:.2f} ({ratio:.2f}) |" in done.stdout


@pytest.mark.long
@on_real_hosts
def test_bulk_is_measured_beside_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    done = bench("--reps", 1, "--seconds", 0.2, "--lines", "one stream, MTU 9000", "--json", file)
    assert done.returncode == 0, done.stderr
    (results,) = json.loads(file.read_text("utf-8")).values()
    assert list(results) == ["amrt", "amrt, key", "bare UDP, the bound", "TCP"]
    for column in results.values():
        (result,) = column
        assert result["goodput_gbps"] > 0
        assert result["cpu_s_per_gb"] > 0
