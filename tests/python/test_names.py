"""Scenario files by the names that a user types."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import strategies as st

from drawn import drawn
from headway import names
from headway.errors import HeadwayError, NameNotFound, nearest
from headway.names import ROOTS_VARIABLE, known_scenarios, resolve


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of scenarios of its own, before those of the project."""
    root = tmp_path / "scenarios"
    for name in ("paper/fig01-first", "paper/fig11-eleventh", "zoo/zebra"):
        path = root / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = 'title = "x"\n[hosts]\njitter = "1 us"\n[topology]\nkind = "single-switch"\n'
        path.write_text(text, encoding="utf-8")
    (root / "paper" / "claims.toml").write_text("[[claim]]\n", encoding="utf-8")
    (root / "paper" / "ring.toml").write_text("hosts = 2\nlink = []\n", encoding="utf-8")
    monkeypatch.setenv(ROOTS_VARIABLE, str(root))
    return root


def test_exact_name_prefix_and_path_mean_the_same_file(root: Path) -> None:
    wanted = (root / "paper" / "fig01-first.toml").resolve()
    for text in ("paper/fig01-first", "paper/fig01", "paper/fig0", str(wanted)):
        found = resolve(text)
        assert found.path.resolve() == wanted
        assert found.name == "paper/fig01-first"


def test_prefix_of_several_lists_them(root: Path) -> None:
    with pytest.raises(HeadwayError, match=r"paper/fig01-first, paper/fig11-eleventh"):
        resolve("paper/fig")


def test_miss_names_the_nearest(root: Path) -> None:
    with pytest.raises(NameNotFound) as caught:
        resolve("paper/fig01-frist")
    assert caught.value.nearest[0] == "paper/fig01-first"


@pytest.mark.parametrize("text", ["", "no/such.toml"])
def test_nothing_there(root: Path, text: str) -> None:
    with pytest.raises(HeadwayError):
        resolve(text)


def test_directory_is_not_a_scenario_and_says_what_it_holds(root: Path) -> None:
    with pytest.raises(HeadwayError, match="paper/fig11-eleventh"):
        resolve(str(root / "paper"))


def test_claims_and_topologies_are_not_scenarios(root: Path) -> None:
    known = known_scenarios()
    assert "paper/fig01-first" in known
    assert "paper/claims" not in known
    assert "paper/ring" not in known


def test_of_one_name_the_first_scenario_counts(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    for name in ("paper/ring", "paper/fig01-first"):
        path = other / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('title = "x"\n[topology]\nkind = "single-switch"\n', encoding="utf-8")
    monkeypatch.setenv(ROOTS_VARIABLE, os.pathsep.join(map(str, (root, other))))
    for name, folder in (("paper/ring", other), ("paper/fig01-first", root)):
        assert resolve(name) == known_scenarios()[name]
        assert resolve(name).path == (folder / f"{name}.toml").resolve()


def test_an_exact_name_is_found_without_reading_other_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def reads(path: Path, *_: int) -> bool:
        read.append(path)
        return True

    monkeypatch.setattr(names, "_reads_as_scenario", reads)
    assert resolve("zoo/zebra").name == "zoo/zebra"
    assert [path.stem for path in read] == ["zebra"]


def test_a_file_outside_every_root_goes_by_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("", encoding="utf-8")
    assert resolve(str(path)).name == "mine"


def test_the_projects_own_scenarios_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve("amrt/fig01").name == "amrt/fig01-multi-bottleneck"
    assert resolve("examples/quick").name == "examples/quickstart"


@drawn(name=st.text(max_size=30), known=st.lists(st.text(max_size=30), max_size=8))
def test_nearest_only_gives_known_names(name: str, known: list[str]) -> None:
    found = nearest(name, known)
    assert set(found) <= set(known)
    assert len(found) == len(set(found)) <= 3
    if name and name in known:
        assert name in found or all(name in other for other in found)


def test_a_figure_is_found_by_its_number(root: Path) -> None:
    assert resolve("paper/fig1").name == "paper/fig01-first"
    assert resolve("paper/fig011").name == "paper/fig11-eleventh"


def test_a_file_with_a_misspelt_suffix_gets_the_nearest_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('title = "x"\n', encoding="utf-8")
    with pytest.raises(HeadwayError, match=r"no such file\n  help: did you mean .*mine\.toml"):
        resolve(str(tmp_path / "mine.tml"))
