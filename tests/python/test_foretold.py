"""The expectations of `scenarios/clusters` are older than the results, and the tool that says so can say otherwise."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import lacking
from support import LIMIT

ROOT = Path(__file__).parents[2]
CLAIM = """
[[claim]]
id = "it-{name}"
figure = "fig"
place = ["a calculation"]
metric = "completion"
published = {value}
unit = "ms"
qualifier = "at most"
scenario = "here/one"
transports = ["ndp"]
how = "by hand"
measure = "summary('fct_mean_s')"
"""


@pytest.fixture(scope="module")
def foretold() -> ModuleType:
    spec = importlib.util.spec_from_file_location("foretold", ROOT / "tools" / "foretold.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_expectations_are_older_than_their_verdicts(foretold: ModuleType) -> None:
    try:
        assert foretold.younger(ROOT, "scenarios/clusters") == []
    except foretold.NoHistoryError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("folder", "told"), [("no-such-folder", "claims.toml"), ("scenarios/examples", "claims.toml")])
def test_a_folder_without_a_ledger_is_named(
    folder: str,
    told: str,
    foretold: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    try:
        foretold.younger(ROOT, "scenarios/clusters")
    except foretold.NoHistoryError as error:
        pytest.skip(str(error))
    assert foretold.main([folder]) == 2
    said = capsys.readouterr().err
    assert folder in said
    assert told in said


def test_what_is_expected_afterwards_is_found(foretold: ModuleType, tmp_path: Path) -> None:
    lacking.program("git")
    folder = tmp_path / "here"
    folder.mkdir()

    def git(*words: str) -> None:
        identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, timeout=LIMIT)

    def claims(**values: int) -> None:
        text = "".join(CLAIM.format(name=name, value=value) for name, value in values.items())
        (folder / "claims.toml").write_text(text, encoding="utf-8")

    def verdicts(**given: str) -> None:
        entries = {f"it-{name}": {"verdict": verdict} for name, verdict in given.items()}
        (folder / "verdicts.json").write_text(json.dumps(entries), encoding="utf-8")

    def commit() -> None:
        git("add", ".")
        git("commit", "-m", "a step")

    git("init")
    claims(one=1, two=2)
    verdicts()
    commit()
    # A claim that could not be measured may be measured in another way.
    verdicts(one="pending")
    commit()
    claims(one=3, two=2)
    commit()
    assert foretold.younger(tmp_path, "here") == []
    verdicts(one="reproduced", two="not-reproduced")
    assert foretold.younger(tmp_path, "here") == []
    commit()
    assert foretold.younger(tmp_path, "here") == []
    claims(one=3, two=4, three=5)
    assert [line.split(":")[0] for line in foretold.younger(tmp_path, "here")] == ["it-two"]
    verdicts(one="reproduced", two="reproduced", three="reproduced")
    commit()
    assert [line.split(":")[0] for line in foretold.younger(tmp_path, "here")] == ["it-three", "it-two"]
