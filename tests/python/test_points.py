"""Points of figures on record: what is written is read again, marks lie where a paper's numbers hold, none is stale."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from headway.cli.main import cli
from headway.names import ScenarioFile, known_scenarios, resolve
from headway.reporting import spec
from headway.reporting.spec import Panel
from headway.reproducing import points
from headway.reproducing.points import POINTS_FILE, disagreements, recorded_points

NAME = "amrt/fig06-filling"
MOST_BYTES = 5_000_000
RECORDED = [file for file in known_scenarios().values() if recorded_points(file)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> ScenarioFile:
    """A copy of AMRT's Fig. 6 that was reproduced with its points on record."""
    folder = tmp_path_factory.mktemp("copy") / "scenarios/amrt"
    folder.mkdir(parents=True)
    source = resolve(NAME).path.parent
    for name in ("fig06-filling.toml", "claims.toml"):
        shutil.copy(source / name, folder / name)
    path = folder / "fig06-filling.toml"
    arguments = ["reproduce", str(path), "--seeds", "1", "--out", str(folder / "out"), "--record", "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_SCENARIOS", str(folder.parent))
        assert cli.main(arguments, standalone_mode=False) == 0
    return ScenarioFile(NAME, path)


def test_what_is_recorded_is_read_again(recorded: ScenarioFile) -> None:
    found = recorded_points(recorded)
    assert found is not None and found.seeds == 1
    assert [figure.id for figure in found.figures] == ["utilisation-time", "queue-time"]
    lines = {
        curve.key: curve for panel in found.figures[0].panels if isinstance(panel, Panel) for curve in panel.series
    }
    assert set(lines) == {"v:spread", "v:block"} and set(lines) <= set(found.styles)
    full = max(lines["v:spread"].y)
    assert 0.99 < full <= 1.0, "AMRT fills the path"
    assert len(lines["v:spread"].x) == len(lines["v:block"].x) > 20
    assert found.measured["amrt-fig6-min-fill"] == pytest.approx(2)
    assert disagreements(recorded) == []


def test_points_of_another_run_are_found(recorded: ScenarioFile, tmp_path: Path) -> None:
    folder = tmp_path / "scenarios/amrt"
    shutil.copytree(recorded.path.parent, folder)
    file = ScenarioFile(NAME, folder / "fig06-filling.toml")
    verdicts = json.loads((folder / "verdicts.json").read_text("utf-8"))
    verdicts["amrt-fig6-max-fill"]["measured"] = 7.0
    (folder / "verdicts.json").write_text(json.dumps(verdicts), "utf-8")
    (fault,) = disagreements(file)
    assert "amrt-fig6-max-fill" in fault and "7.0" in fault
    file.path.write_text(file.path.read_text("utf-8").replace('"200 us"', '"190 us"'), "utf-8")
    assert "has changed since" in disagreements(file)[0]
    file.path.write_text(file.path.read_text("utf-8").replace("Busy share", "Share"), "utf-8")
    assert len(disagreements(file)) == 2, "words do not count"


def test_a_number_that_is_not_finite_breaks_the_line() -> None:
    curve = spec.Curve("v:a", (0.0, 1.0, 2.0), (1.0, math.nan, 3.0))
    stored = json.loads(json.dumps(points._encoded(curve)))
    again = points._decoded(spec.Curve, stored)
    assert again.x == curve.x and math.isnan(again.y[1]) and again.y[2] == 3.0


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name)
def test_points_on_record_agree_with_scenario_and_verdicts(file: ScenarioFile) -> None:
    assert disagreements(file) == []
    found = recorded_points(file)
    assert found is not None and found.figures
    for mark in found.marks:
        assert 0 <= mark.start < mark.end and mark.value >= 0


def test_points_on_record_are_small() -> None:
    folders = {file.path.parent for file in known_scenarios().values()}
    assert (
        sum((folder / POINTS_FILE).stat().st_size for folder in folders if (folder / POINTS_FILE).exists()) < MOST_BYTES
    )
