"""Files that are written in one step, also by several writers at once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from headway.errors import ResultsError
from headway.files import write_json


def test_writers_of_one_file_do_not_take_each_others_scratch_files(tmp_path: Path) -> None:
    """Threads of one process have one process number; each write is whole and none fails."""
    target = tmp_path / "one.json"
    failed: list[BaseException] = []

    def write(own: int) -> None:
        try:
            for turn in range(200):
                write_json(target, {"writer": own, "turn": turn, "filling": [own] * 500})
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(own,)) for own in range(4)]
    for one in writers:
        one.start()
    while any(one.is_alive() for one in writers):
        if target.exists():
            seen = json.loads(target.read_text(encoding="utf-8"))
            assert seen["filling"] == [seen["writer"]] * 500
    assert failed == []
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


def test_a_file_whose_folder_is_missing_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"nowhere is not there\n  help: mkdir -p .*nowhere"):
        write_json(tmp_path / "nowhere/one.json", {})
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ResultsError, match=r"file is no directory"):
        write_json(tmp_path / "file/one.json", {})
