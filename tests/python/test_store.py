"""The store of finished runs: which runs are shared, and the treatment of damaged ones."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import Scenario, _headway, checksums, store
from support import LIMIT, TWO_FLOWS, Answer

Headway = Callable[..., Answer]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own, empty."""
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "store"))
    return tmp_path / "store"


def scenario(tmp_path: Path, name: str = "one", title: str = "Two flows") -> Path:
    path = tmp_path / f"{name}.toml"
    text = TWO_FLOWS.format(stop="2 ms", size="100 kB").replace("Two flows through one switch", title)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_that_was_made_is_taken_for_another_scenario_that_runs_the_same(tmp_path: Path, root: Path) -> None:
    first = Scenario.load(scenario(tmp_path, "one")).run(tmp_path / "a")
    other = Scenario.load(scenario(tmp_path, "two", title="Another title"))
    second = other.run(tmp_path / "b")
    assert (first.reused, second.reused, second.note) == (False, True, "")
    assert second.flows.to_polars().equals(first.flows.to_polars())
    assert second.summary == first.summary
    assert (first.manifest["name"], second.manifest["name"]) == ("one", "two")
    assert second.manifest["scenario"] == other.resolved
    assert second.manifest["digest"] == first.manifest["digest"] == other.digest
    assert checksums.verify(tmp_path / "b")
    (entry,) = store.entries(root)
    assert entry.damage() == ""
    assert entry.facts["name"] == "one"
    assert entry.facts["epoch"] == _headway.epoch() == first.manifest["epoch"]


def test_what_differs_is_run(tmp_path: Path, root: Path) -> None:
    path = scenario(tmp_path)
    runs = [
        Scenario.load(path).run(tmp_path / "a"),
        Scenario.load(path, sets={"seed": 7}).run(tmp_path / "b"),
        Scenario.load(path, sets={"fabric.buffer": "50 kB"}).run(tmp_path / "c"),
        Scenario.load(path).run(tmp_path / "d", csv=True),
        Scenario.load(path).run(tmp_path / "e", capture=tmp_path / "e.pcapng"),
        Scenario.load(path).run(tmp_path / "f", stored=False),
    ]
    assert [run.reused for run in runs] == [False] * 6
    assert (tmp_path / "d/flows.csv").exists()
    assert len(list(store.entries(root))) == 3
    assert Scenario.load(path).run(tmp_path / "d").reused
    assert not (tmp_path / "d/flows.csv").exists(), "what the run does not have goes"


def test_a_run_that_was_stopped_is_not_kept(long_scenario_file: Path, tmp_path: Path, root: Path) -> None:
    run = Scenario.load(long_scenario_file).run(tmp_path / "a", progress=lambda _: False)
    assert run.interrupted
    assert list(store.entries(root)) == []


@pytest.mark.parametrize("name", ["flows.parquet", "summary.json", "manifest.json", "SHA256SUMS"])
def test_what_is_damaged_is_found_and_run_again(tmp_path: Path, root: Path, headway: Headway, name: str) -> None:
    path = scenario(tmp_path)
    first = Scenario.load(path).run(tmp_path / "a")
    (entry,) = store.entries(root)
    file = entry.path / name
    damaged = bytes(byte ^ 1 for byte in file.read_bytes())
    file.unlink()
    file.write_bytes(damaged)
    verified = headway("store", "verify")
    assert verified.status == 1
    assert "1 runs, 1 damaged" in verified.out
    again = Scenario.load(path).run(tmp_path / "b")
    assert not again.reused
    assert again.summary == first.summary
    assert headway("store", "verify").out == "1 runs, 0 damaged\n"


def test_results_and_the_store_do_not_spoil_one_another(tmp_path: Path, root: Path) -> None:
    path = scenario(tmp_path)
    Scenario.load(path).run(tmp_path / "a")
    Scenario.load(path).run(tmp_path / "b")
    for folder in ("a", "b"):
        for file in (tmp_path / folder).iterdir():
            file.unlink()
    (entry,) = store.entries(root)
    assert entry.damage() == ""
    third = Scenario.load(path).run(tmp_path / "c")
    entry.remove()
    assert third.reused
    assert checksums.verify(tmp_path / "c")


def test_sweeps_share_points_and_say_so(tmp_path: Path, root: Path, headway: Headway) -> None:
    first = headway("sweep", scenario(tmp_path, "one"), "--out", tmp_path / "a")
    assert "4/4 points done, in" in first.out + first.err
    assert len(list(store.entries(root))) == 4
    second = headway("reproduce", scenario(tmp_path, "two", title="T"), "--out", tmp_path / "b")
    assert "4/4 points done (4 from the store), in" in second.out + second.err
    assert second.status == 0
    resumed = headway("sweep", scenario(tmp_path, "one"), "--out", tmp_path / "a")
    assert "(4 from before)" in resumed.out + resumed.err
    run = headway("run", scenario(tmp_path, "one"), "--set", "seed=1", "--out", tmp_path / "c")
    assert run.status == 0


def test_a_store_that_cannot_be_written_costs_the_run_nothing(tmp_path: Path, root: Path, headway: Headway) -> None:
    root.write_text("in the way", encoding="utf-8")
    answer = headway("run", scenario(tmp_path), "--out", tmp_path / "a")
    assert answer.status == 0
    assert f"warning: the run is not kept in the store {root}" in answer.err
    sweep = headway("sweep", scenario(tmp_path), "--out", tmp_path / "b")
    assert sweep.status == 0
    assert "the run is not kept" in sweep.err


def test_du_and_prune(tmp_path: Path, root: Path, headway: Headway) -> None:
    assert headway("store", "du").out == f"0 runs, 0 B, in {root}\n"
    headway("sweep", scenario(tmp_path), "--out", tmp_path / "a")
    found = json.loads(headway("store", "du", "--json").out)
    assert [(row["scenario"], row["runs"]) for row in found["scenarios"]] == [("one", 4)]
    assert found["scenarios"][0]["bytes"] > 4000
    assert "one" in headway("store", "du").out
    old, foreign, *_ = store.entries(root)
    weeks_ago = time.time() - 3 * 604800
    os.utime(old.path / store.ENTRY_FILE, (weeks_ago, weeks_ago))
    facts = foreign.facts | {"epoch": _headway.epoch() + 1}
    (foreign.path / store.ENTRY_FILE).write_text(json.dumps(facts), encoding="utf-8")
    assert headway("store", "prune", "--dry-run").out.startswith("1 runs,")
    assert headway("store", "prune", "--older-than", "2w").out.startswith("2 runs,")
    assert [e.path for e in store.entries(root)] == [e.path for e in store.entries(root) if e not in (old, foreign)]
    assert len(list(store.entries(root))) == 2
    wrong = headway("store", "prune", "--older-than", "soon")
    assert (wrong.status, "'soon' is not an age such as 30d" in wrong.err) == (2, True)
    assert headway("store", "prune", "--all").out.startswith("2 runs,")
    assert list(store.entries(root)) == []


def test_without_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headway: Headway) -> None:
    monkeypatch.setenv(store.VARIABLE, "off")
    path = scenario(tmp_path)
    assert [Scenario.load(path).run(tmp_path / name).reused for name in "ab"] == [False, False]
    answer = headway("store", "du")
    assert (answer.status, "HEADWAY_STORE says off" in answer.err) == (2, True)
    monkeypatch.setenv(store.VARIABLE, " ")
    assert "HEADWAY_STORE is empty" in headway("store", "du").err
    monkeypatch.delenv(store.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert store.directory() == tmp_path / "cache/headway/runs"


def test_what_dead_processes_left_goes_and_what_is_being_written_stays(
    tmp_path: Path, root: Path, headway: Headway
) -> None:
    Scenario.load(scenario(tmp_path)).run(tmp_path / "a")
    (entry,) = store.entries(root)
    old = [root / store.SCRATCH / "dead", entry.path.parent / f"{store.GONE}dead"]
    new = [root / store.SCRATCH / "alive", entry.path.parent / f"{store.GONE}alive"]
    for path in (*old, *new):
        path.mkdir(parents=True)
        (path / "flows.parquet").write_bytes(b"half")
    for path in old:
        os.utime(path, (time.time() - 2 * store.LEFT_S,) * 2)
    assert headway("store", "prune", "--dry-run").out == "0 runs, 0 B, and 2 half-written would go\n"
    assert all(path.exists() for path in (*old, *new))
    assert headway("store", "prune").out == "0 runs, 0 B, and 2 half-written removed\n"
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in new)
    assert entry.path.is_dir()
    for path in new:
        os.utime(path, (time.time() - 2 * store.LEFT_S,) * 2)
    answer = headway("store", "prune", "--all").out
    assert answer.startswith("1 runs, ")
    assert answer.endswith(", and 2 half-written removed\n")
    assert list(root.glob("??/*")) == list((root / store.SCRATCH).iterdir()) == []


def test_processes_that_run_the_same_at_once_keep_it_once(tmp_path: Path, root: Path, headway: Headway) -> None:
    path = scenario(tmp_path)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    # Both wait for one file, so that they run together and not one after the other.
    code = (
        "import sys, time; from pathlib import Path; from headway import Scenario\n"
        "loaded = Scenario.load(sys.argv[1])\n"
        "Path(sys.argv[2] + '.ready').touch()\n"
        "while not Path(sys.argv[3]).exists(): time.sleep(0.001)\n"
        "assert loaded.run(sys.argv[2]).note == ''"
    )
    outs, go = [tmp_path / name for name in ("a", "b", "c")], tmp_path / "go"
    both = [subprocess.Popen([sys.executable, "-c", code, path, out, go], env=env) for out in outs]
    try:
        end = time.monotonic() + LIMIT
        while not all(out.with_name(f"{out.name}.ready").exists() for out in outs) and time.monotonic() < end:
            time.sleep(0.01)
        go.touch()
        assert [process.wait(timeout=LIMIT) for process in both] == [0] * len(outs)
    finally:
        for process in both:
            process.kill()
            process.wait()
    assert len(list(store.entries(root))) == 1
    assert headway("store", "verify").out == "1 runs, 0 damaged\n"
    assert list((root / store.SCRATCH).iterdir()) == []
    assert all(checksums.verify(out) for out in outs)
    assert len({(out / "flows.parquet").read_bytes() for out in outs}) == 1
    assert len(list(root.glob("??/*"))) == 1, "and nothing beside it"


def _reseal(entry: Path) -> None:
    """Write the checksums again, as an attacker would who can write into the store."""
    names = [path.name for path in sorted(entry.iterdir()) if path.name not in (store.ENTRY_FILE, "SHA256SUMS")]
    sums = "".join(f"{hashlib.sha256((entry / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (entry / "SHA256SUMS").write_text(sums, "utf-8")


def _edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


FILES = (
    "manifest.json",
    "summary.json",
    "flows.parquet",
    "links.parquet",
    "series.parquet",
    "SHA256SUMS",
    "stored.json",
)


def _missing(file: Path, _: Path) -> None:
    file.unlink()


def _cut(file: Path, _: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _emptied(file: Path, _: Path) -> None:
    file.write_bytes(b"")


def _flipped(file: Path, _: Path) -> None:
    data = bytearray(file.read_bytes())
    # In a document, a digit of a checksum or a letter of a key; in a table, anything.
    data[len(data) // 3] ^= 1
    file.write_bytes(data)


def _another(file: Path, other: Path) -> None:
    file.write_bytes((other / file.name).read_bytes())


def _linked(file: Path, _: Path) -> None:
    file.rename(away := file.parent.parent.parent / file.name)
    file.symlink_to(away)


def _folder(file: Path, _: Path) -> None:
    file.unlink()
    file.mkdir()


def _whole_tables(entry: Path, other: Path) -> None:
    for table in other.glob("*.parquet"):
        (entry / table.name).write_bytes(table.read_bytes())
    _reseal(entry)


def _whole_other(entry: Path, other: Path) -> None:
    for file in other.iterdir():
        (entry / file.name).write_bytes(file.read_bytes())


def _older(entry: Path, _: Path) -> None:
    _edit(entry / "manifest.json", digest="0" * 16, version="0.0.9")
    _reseal(entry)


def _relabelled(entry: Path, other: Path) -> None:
    _whole_other(entry, other)
    _edit(entry / "manifest.json", digest=entry.name)
    _reseal(entry)


def _unlisted(entry: Path, _: Path) -> None:
    sums = entry / "SHA256SUMS"
    sums.write_text("".join(line for line in sums.read_text().splitlines(True) if "flows" not in line))


def _link_to_other(entry: Path, other: Path) -> None:
    shutil.rmtree(entry)
    entry.symlink_to(other)


def _file(entry: Path, _: Path) -> None:
    shutil.rmtree(entry)
    entry.write_text("nothing")


def _extra(entry: Path, _: Path) -> None:
    (entry / "edges.parquet").write_bytes(b"PAR1")


def _outside(entry: Path, _: Path) -> None:
    with (entry / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  ../outside\n")


ENTRY = (_whole_tables, _whole_other, _older, _relabelled, _unlisted, _link_to_other, _file, _extra, _outside)
OF_FILES = (_missing, _cut, _emptied, _flipped, _another, _linked, _folder)


def test_every_kind_of_damage_is_found_and_never_handed_out(tmp_path: Path, root: Path, headway: Headway) -> None:
    path = scenario(tmp_path)
    loaded, changed = Scenario.load(path), Scenario.load(path, sets={"transport.window": 3})
    good, strange = loaded.run(tmp_path / "good"), changed.run(tmp_path / "strange")
    assert good.summary != strange.summary
    entry, other = (root / one.digest[:2] / one.digest for one in (loaded, changed))
    kept = tmp_path / "kept"
    shutil.copytree(entry, kept)
    count = 0
    for damage, place in [*((d, entry / n) for d in OF_FILES for n in FILES), *((d, entry) for d in ENTRY)]:
        damage(place, other)
        said = store.Entry(entry).damage()
        assert said, (damage, place)
        if place == entry:
            answer = headway("store", "verify")
            assert answer.status == 1 and said in answer.out, damage
            run = loaded.run(tmp_path / f"again-{count}")
            assert not run.reused and run.summary == good.summary, damage
        if entry.is_symlink() or entry.is_file():
            entry.unlink()
        elif entry.exists():
            shutil.rmtree(entry)
        shutil.copytree(kept, entry)
        assert store.Entry(entry).damage() == "", damage
        count += 1
    assert count == 58
    assert loaded.run(tmp_path / "last").reused


def test_writing_into_a_result_changes_nothing_in_the_store(tmp_path: Path, root: Path) -> None:
    loaded = Scenario.load(scenario(tmp_path))
    made = loaded.run(tmp_path / "made")
    taken = loaded.run(tmp_path / "taken")
    assert taken.reused
    (entry,) = store.entries(root)
    for folder in (tmp_path / "made", tmp_path / "taken"):
        for file in folder.iterdir():
            with file.open("r+b") as open_file:
                open_file.write(b"overwritten in place")
    assert entry.damage() == ""
    again = loaded.run(tmp_path / "again")
    assert again.reused and again.summary == made.summary
    assert not (tmp_path / "again" / "flows.parquet").samefile(entry.path / "flows.parquet")


def test_runs_of_another_project_or_user_are_not_reused_unseen(
    tmp_path: Path, root: Path, headway: Headway, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = scenario(tmp_path)
    for name in ("mine", "theirs"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert "the store" not in headway("run", file, "--out", "a").err
    own = headway("run", file, "--out", "b").err
    assert f"1 run from the store {root}; {store.VARIABLE}=off" in own
    monkeypatch.chdir(tmp_path / "mine/deep")
    assert re.search(rf"\d+ runs? from the store {root};", headway("sweep", file, "--out", "c").err)
    monkeypatch.chdir(tmp_path / "theirs")
    told = headway("sweep", file, "--out", "d").err
    assert re.search(rf"(\d+) runs? from the store {root}: \1 kept by you in {tmp_path / 'mine'};", told)
    for entry in store.entries(root):
        facts = {**json.loads((entry.path / store.ENTRY_FILE).read_text()), "user": "alice"}
        del facts["seal"]
        (entry.path / store.ENTRY_FILE).write_text(json.dumps({**facts, "seal": store._sum_of(facts)}))
    assert f"1 kept by alice in {tmp_path / 'mine'}" in headway("run", file, "--out", "e").err
    assert headway("run", file, "--out", "f", "-q").err == ""
