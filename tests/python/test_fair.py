"""One setting of switches for all variants of a comparison, proposed and applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headway import Scenario
from headway.errors import HeadwayError
from headway.fair import fair_setting
from support import Answer

TEXT = """
stop = "2 ms"
[topology]
kind = "single-switch"
hosts = 9
rate = "100 Gbps"
delay = "1 us"
[transport]
name = "homa"
[[traffic]]
kind = "incast"
receiver = 0
senders = 8
bytes = 500000
[variants.homa]
"transport.name" = "homa"
[variants.amrt]
"transport.name" = "amrt"
[variants.ndp]
"transport.name" = "ndp"
[variants.dctcp]
"transport.name" = "dctcp"
"fabric.buffer" = "20 packets"
[variants.dcqcn]
"transport.name" = "dcqcn"
fabric = { pfc = {} }
"""


def fair(text: str = TEXT) -> Scenario:
    """A scenario with the setting that suits all its variants."""
    setting = fair_setting(Scenario.from_text(text), whole=True)
    assert setting is not None
    return Scenario.from_text(text, sets=setting.sets)


def test_every_variant_has_the_memory_of_one_chip() -> None:
    scenario = fair()
    memories = {name: scenario.variant(name).resolved["fabric"] for name in scenario.native.variants()}
    # Nine ports of 100 Gb/s.
    assert {name: (one.get("memory") or one["pfc"])["chip"] for name, one in memories.items()} == dict.fromkeys(
        memories, "trident3"
    )
    assert "memory" not in memories["dcqcn"]
    # The short queue of trimming ports is part of the design, and a written buffer is none.
    assert memories["ndp"]["buffer"].endswith(" packets")
    assert memories["dctcp"]["buffer"] == memories["homa"]["buffer"] == "32599040 B"
    assert memories["dctcp"]["threshold"] == 20


def test_transports_that_lost_by_their_buffers_alone_lose_nothing() -> None:
    drops = {
        name: (
            Scenario.from_text(TEXT).variant(name).run().summary["data_drops"],
            fair().variant(name).run().summary["data_drops"],
        )
        for name in ("homa", "amrt", "dctcp")
    }
    assert all(before > 0 for before, _ in drops.values()), drops
    assert all(after == 0 for _, after in drops.values()), drops


def test_a_run_without_variants_and_one_of_a_variant_have_it_too() -> None:
    whole = Scenario.from_text(TEXT)
    alone = fair_setting(whole, whole=False)
    assert alone is not None and alone.sets == ('fabric.memory.chip="trident3"',)
    one = fair_setting(whole, whole=False, variant="dcqcn")
    assert one is not None and one.sets == ('variants.dcqcn.fabric.pfc.chip="trident3"',)


def test_what_cannot_be_set_is_said() -> None:
    dotted = TEXT.replace("[variants.amrt]", '[variants."a.b"]')
    with pytest.raises(HeadwayError, match=r"whose name has a dot: 'a\.b'"):
        fair_setting(Scenario.from_text(dotted), whole=True)


def test_the_commands_propose_it_and_apply_it(headway: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "compare.toml"
    file.write_text(TEXT)
    proposed = headway("check", file)
    assert "one setting for all variants, by --fair: the 32.6 MB of a `trident3`" in proposed.out
    applied = headway("check", file, "--fair")
    assert "by --fair" not in applied.out and "shared memory" in applied.out
    run = headway("run", file, "--fair", "--out", tmp_path / "run")
    assert run.status == 0


def test_a_default_buffer_shorter_than_the_path_is_said(headway: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "fast.toml"
    file.write_text(TEXT.partition("[variants")[0].replace("100 Gbps", "400 Gbps").replace('"1 us"', '"3 us"'))
    said = "the default buffer, 128 packets at any rate, holds less than the longest path does"
    assert said in headway("check", file).err
    assert said not in headway("check", file, "--set", "fabric.buffer=1 MB").err
    assert said not in headway("check", file, "--fair").err
