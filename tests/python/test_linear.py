"""The cost of a sweep grows with its points, and not with their square: operations are counted, not timed."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import headway as package
from headway import names
from headway.cli.main import status_of
from headway.comparison import compare_variants
from headway.data.sweep import read_sweep
from headway.reporting import page_text
from headway.sweeps.plan import State, plan
from support import TWO_FLOWS

FEW = 30


def operations(work: Callable[[], object]) -> int:
    """Number of calls that are made, in Python and from it."""
    count = 0

    def seen(_frame: FrameType, event: str, _value: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def assert_linear(cost: Callable[[int], int], few: int = FEW) -> None:
    """Twice as many points add about twice the cost; a constant cost does not count."""
    cost(few)  # What is imported and kept is counted with none.
    one, two, four = (cost(few * times) for times in (1, 2, 4))
    assert two > one
    assert four - two <= 2.2 * (two - one), (one, two, four)


def written(folder: Path, count: int, key: str = '"fabric.buffer"') -> Path:
    """A scenario with so many values of a key."""
    values = ", ".join(f'"{100 + i} kB"' for i in range(count)) if key != "seeds" else ", ".join(map(str, range(count)))
    path = folder / f"of-{count}.toml"
    text = TWO_FLOWS.format(stop="2 ms", size="20 kB").replace("seeds = 2", f"{key} = [{values}]")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("key", ['"fabric.buffer"', "seeds"])
def test_check(tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    def cost(count: int) -> int:
        path = written(tmp_path, count, key)
        return operations(lambda: status_of(["check", str(path)]))

    assert_linear(cost)
    assert "points" in capsys.readouterr().out


@pytest.mark.parametrize("key", ['"fabric.buffer"', "seeds"])
def test_what_is_left_of_a_sweep(tmp_path: Path, key: str) -> None:
    def cost(count: int) -> int:
        found = plan(names.resolve(str(written(tmp_path, count, key))), tmp_path / f"out-{count}")

        def work() -> None:
            found.prepare()
            states, _ = found.survey()
            found.begin()
            found.record({**states, found.points[0].label: State.FAILED}, {}, final=True)
            assert found.is_recorded

        return operations(work)

    assert_linear(cost)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run without checksums."""
    root = tmp_path_factory.mktemp("linear")
    package.Scenario.from_text(TWO_FLOWS.format(stop="2 ms", size="20 kB")).run(root / "run")
    (root / "run" / "SHA256SUMS").unlink()
    return root / "run"


def copied(run: Path, out: Path, count: int) -> Path:
    """A sweep of so many points of two variants, which are all this run."""
    rows = []
    for number in range(count):
        for variant in ("amrt", "phost"):
            label = f"{variant},buffer={number},seed=1"
            shutil.copytree(run, out / "points" / label)
            axes = {"fabric.buffer": number}
            row = {"label": label, "variant": variant, "axes": axes, "seed": 1, "digest": "0"}
            (out / "points" / label / "point.json").write_text(json.dumps(row), encoding="utf-8")
            rows.append({**row, "dir": f"points/{label}", "state": "done"})
    (out / "sweep.json").write_text(json.dumps(rows), encoding="utf-8")
    return out


@pytest.mark.parametrize("how", ["compare", "table", "report"])
def test_reading_results(one: Path, tmp_path: Path, how: str) -> None:
    work: dict[str, Callable[[Path], object]] = {
        "compare": compare_variants,
        "table": lambda out: read_sweep(out).summary,
        "report": page_text,
    }
    made: dict[int, Path] = {}

    def cost(count: int) -> int:
        if count not in made:
            made[count] = copied(one, tmp_path / str(count), count)
        return operations(lambda: work[how](made[count]))

    assert_linear(cost, few=4)


@pytest.mark.parametrize("key", [pytest.param('"fabric.buffer"', marks=pytest.mark.long), "seeds"])
def test_points_of_the_native_module(tmp_path: Path, key: str) -> None:
    """Its operations cannot be counted: eight times as many points cost the square of that, or not nearly."""

    def cost(count: int) -> float:
        scenario = package.Scenario.load(written(tmp_path, count, key))
        taken = []
        for _ in range(3):
            start = time.thread_time()
            for point in scenario.points(checked=True)[:: count // 50]:
                scenario.at(point)
            scenario.native.check_points()
            taken.append(time.thread_time() - start)
        return min(taken)

    assert cost(2400) < 24 * cost(300)
