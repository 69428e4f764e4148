"""A run on several threads: the same files, and the speed that more threads would give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import Scenario
from headway.loading import thread_count
from headway.sweeps.capacity import divided
from support import LIMIT, Answer

TEXT = """
stop = "3 ms"
[topology]
kind = "leaf-spine"
racks = 4
hosts_per_rack = 4
spines = 2
host_rate = "10 Gbps"
host_delay = "2 us"
spine_rate = "10 Gbps"
spine_delay = "2 us"
[transport]
name = "{transport}"
[[traffic]]
kind = "poisson"
cdf = {{ kind = "uniform", mean = "100 kB", spread = 0.9 }}
load = 0.6
flows = 60
[sample]
every = "100 us"
flows = "all"
links = "all"
"""

# Clocks differ from run to run, and `version` files of checksums follow from them.
CLOCKS = ("wall_s", "events_per_s", "packet_hops_per_s", "host", "memory_estimate_bytes")


def files(directory: Path) -> dict[str, bytes | str]:
    """Files of a run, without the clock's numbers in its manifest."""
    found: dict[str, bytes | str] = {}
    for file in sorted(directory.iterdir()):
        if file.name == "SHA256SUMS":
            continue
        if file.name == "manifest.json":
            manifest = json.loads(file.read_text("utf-8"))
            found[file.name] = json.dumps({key: value for key, value in manifest.items() if key not in CLOCKS})
        else:
            found[file.name] = file.read_bytes()
    return found


@pytest.mark.parametrize("transport", ["amrt", "ndp", "dctcp"])
def test_files_are_the_same_to_the_byte_for_every_number_of_threads(transport: str, tmp_path: Path) -> None:
    scenario = Scenario.from_text(TEXT.format(transport=transport))
    written = {}
    for threads in (1, 2, 4):
        out = tmp_path / str(threads)
        capture = tmp_path / f"{threads}.pcapng"
        scenario.run(out, threads=threads, capture=capture)
        written[threads] = files(out), capture.read_bytes()
    assert "series.parquet" in written[1][0]
    assert written[2] == written[1]
    assert written[4] == written[1]


# Flows that are there for as long as it takes to stop some of them.
LARGE = ['traffic.0.cdf="dctcp_websearch"', "stop=10 ms"]
OTHERS = """
until = "known"
[hosts]
queue = "fifo"
buffer = "40 packets"
[fabric]
forwarding = "cut-through"
[[fabric.at]]
links = "core"
buffer = "20 packets"
[[fabric.at]]
links = ["leaf0->spine0"]
discipline = "drop-tail"
"""


@pytest.mark.parametrize("transport", ["homa", "expresspass", "dctcp"])
def test_keys_of_other_simulators_change_nothing_about_that(transport: str) -> None:
    text = OTHERS.split("[hosts]")[0] + TEXT.format(transport=transport) + "[hosts]" + OTHERS.split("[hosts]")[1]
    scenario = Scenario.from_text(text, sets=[*LARGE, "traffic.0.stop=3 ms", "traffic.0.share=2.5"])
    runs = [scenario.run(threads=threads) for threads in (1, 2, 4)]
    first = runs[0]
    assert first.summary["flows_stopped"] > 0 and first.summary["host_queue_max_bytes"] > 0
    assert first.summary["sender_fct_mean_s"] > first.summary["fct_mean_s"]
    for other in runs[1:]:
        assert other.summary == first.summary
        assert other.manifest["order_digest"] == first.manifest["order_digest"]


def test_scaling_counts_what_each_part_has_to_do() -> None:
    scenario = Scenario.from_text(TEXT.format(transport="amrt"))
    found = scenario.scaling([2, 4, 64])
    two, four, most = found["threads"]
    assert (two["parts"], four["parts"], most["parts"]) == (2, 4, 4), "four racks make four parts at most"
    for row in found["threads"]:
        assert found["events"] / row["parts"] <= row["critical_events"] <= found["events"]
        assert 1.0 <= row["speedup_without_waiting"] <= row["parts"]
        assert row["speedup"] <= row["speedup_without_waiting"]


@pytest.mark.long
def test_a_network_with_one_switch_is_one_part(headway: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        '[topology]\nkind = "single-switch"\nhosts = 3\nrate = "10 Gbps"\ndelay = "1 us"\n[transport]\nname = "amrt"\n'
        '[[traffic]]\nkind = "incast"\nsenders = 2\nreceiver = 2\nbytes = "30 kB"\n',
        "utf-8",
    )
    answer = headway("run", file, "--dry-scaling")
    assert answer.status == 0, answer.err
    assert "the network cannot be divided" in answer.out


@pytest.mark.parametrize("wrong", ["0", "129", "two", "1.5"])
def test_numbers_of_threads_that_make_no_sense_are_refused(headway: Callable[..., Answer], wrong: str) -> None:
    answer = headway("run", "examples/quickstart", "--threads", wrong)
    assert answer.status == 2
    assert "neither a number from 1 to 128 nor 'auto'" in answer.err


def test_python_refuses_them_too() -> None:
    for wrong in (0, 129, True, "many"):
        with pytest.raises(ValueError, match="1 to 128"):
            thread_count(wrong)  # type: ignore[arg-type]


def test_runs_side_by_side_come_before_threads() -> None:
    assert divided(16, 10**12, 100, 0, most_threads=16) == (16, 1)
    assert divided(16, 10**12, 2, 0, most_threads=16) == (2, 8)
    # Memory for four runs: the other cores are threads.
    assert divided(16, 5 * 10**9, 100, 10**9, most_threads=16) == (4, 4)


def test_a_command_that_makes_one_run_keeps_its_free_memory(tmp_path: Path) -> None:
    """The kernel then clears each page once; a command that makes many runs frees the memory between them."""
    file = tmp_path / "one.toml"
    file.write_text(TEXT.format(transport="amrt"))
    ask = "from headway.cli.main import status_of; from headway._headway import keep_memory; "
    for command in (["run", str(file), "-q"], ["check", str(file)]):
        answer = subprocess.run(
            [sys.executable, "-c", f"{ask}print(status_of({command!r}), keep_memory())"],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
        status, delay = answer.stdout.splitlines()[-1].split()
        assert status == "0"
        assert (int(delay) == -1) == (command[0] == "run")
