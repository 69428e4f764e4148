"""Scenarios that are built in Python: each function is as the reader declares it, and its results read back."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import stubs

import headway
from headway import Scenario, ScenarioError, names
from headway.building import declared, tables
from headway.building.parts import Part, Topology, Traffic
from headway.data.toml import Document, apply, assignment, write
from support import HOW_MANY, chosen

REPOSITORY = Path(__file__).resolve().parents[2]
PAIR = """
topology = { kind = "dumbbell", senders = 2, receivers = 2, rate = "10 Gbps", delay = "10 us" }
transport = { name = "amrt" }
"""
# Tables of ledgers, which pages show too.
OTHER_FILES = {"choice", "claim", "contradiction", "testbed"}
ENTRY = '[[traffic]]\nkind = "flows"\nflows = [{ name = "f0", src = 0, dst = 2, bytes = "1 MB" }]\n'


@pytest.mark.parametrize("module", declared.MODULES)
def test_editors_read_the_signatures_that_the_functions_have(module: str) -> None:
    made = import_module(f"headway.building.{module}")
    tree = ast.parse(stubs.stub(module))
    written = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    assert sorted(written) == made.__all__
    for name, one in written.items():
        function = getattr(made, name)
        parameters = inspect.signature(function).parameters.values()
        arguments = zip(one.args.kwonlyargs, one.args.kw_defaults, strict=True)
        assert [(key.name, key.annotation, key.default is key.empty) for key in parameters] == [
            (key.arg, ast.unparse(key.annotation or key).replace("'", '"'), default is None)
            for key, default in arguments
        ]
        assert ast.get_docstring(one) == inspect.getdoc(function)


def test_every_function_has_a_name_of_its_own() -> None:
    assert len(set(headway.__all__)) == len(headway.__all__)
    assert [name for name in headway.__all__ if not hasattr(headway, name)] == []


def known(text: str) -> set[str]:
    """The keys that the reader knows where `text` has a key that it does not."""
    with pytest.raises(ScenarioError, match="unknown key") as raised:
        Scenario.from_text(text)
    help_text = str(raised.value).split("help: there is ")[1]
    return {key.strip() for key in help_text.split(",")}


@pytest.mark.parametrize("function", ["fabric", "hosts", "start", "sample", "fault", "flow", "scenario"])
def test_a_function_has_the_keys_that_the_reader_knows(function: str) -> None:
    written = {
        # Of the keys of [fabric], those that are there for one discipline are missing if the port is another.
        "fabric": f"{PAIR}{ENTRY}[fabric]\nzzz = 1\ndiscipline = 'strict-priority'\n",
        "sample": f"{PAIR}{ENTRY}[sample]\nevery = '1 us'\nzzz = 1\n",
        "fault": f"{PAIR}{ENTRY}[[fault]]\nzzz = 1\n",
        "flow": f"{PAIR}{ENTRY}".replace("src = 0", "src = 0, zzz = 1"),
        "scenario": f"{PAIR}{ENTRY}[zzz]\n",
    }.get(function, f"{PAIR}{ENTRY}[{function}]\nzzz = 1\n")
    arguments = {name.removesuffix("_") for name in inspect.signature(getattr(headway, function)).parameters}
    parameters = {"levels", "control_apart"} if function == "fabric" else set()
    if function == "scenario":
        arguments -= {"name", "folder", "transports"}  # of the object, not of the file
    assert arguments == known(written) - parameters


def files(how_many: str) -> Iterator[tuple[str, str, Path]]:
    """Scenarios of the repository, then every one of the documentation: name, text, and where its paths begin."""
    known = names.known_scenarios()
    for name, file in ((name, known[name]) for name in chosen(known, how_many)):
        yield name, file.path.read_text("utf-8"), file.path.parent
    for page in sorted((REPOSITORY / "docs").rglob("*.md")):
        blocks = re.findall(r"^```toml([^\n]*)\n(.*?)^```$", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for index, (word, text) in enumerate(blocks):
            # Files that a page writes are run there, and some are wrong on purpose.
            other = word.strip() in ("wrong", "graph") or "file=" in word
            if not other and not OTHER_FILES & Document(page.stem, text).value.keys():
                yield f"{page.stem}-{index}", text, REPOSITORY


def whole(text: str) -> str:
    """A part of a scenario with its required values."""
    document = Document("part", text).value
    if "at" in document.get("fabric", {}):
        # Ports that differ are of several tiers.
        two = {"kind": "dumbbell", "senders": 4, "receivers": 4, "rate": "10 Gbps", "delay": "1 us"}
        document["topology"] = {**two, "bottleneck_rate": "10 Gbps", "bottleneck_delay": "1 us"}
    for key, value in Document("pair", PAIR + ENTRY).value.items():
        if key != "transport" or "stack" not in str(document.get("traffic")):
            document.setdefault(key, value)
    return write(document)


def called(function: Any, table: Mapping[str, Any]) -> Part | Mapping[str, Any]:  # noqa: ANN401  (a function of parts)
    """Part that a function makes of the keys of a table; the table, if it has others."""
    named = {f"{key}_" if key == "class" else key: value for key, value in table.items()}
    if named.keys() <= inspect.signature(function).parameters.keys():
        made: Part = function(**named)
        return made
    return table


def of_kind(package: Any, table: Mapping[str, Any], key: str = "kind") -> Part:  # noqa: ANN401  (a module)
    """The part that the function of a table's kind makes of it."""
    rest = {name: value for name, value in table.items() if name != key}
    if "flows" in rest and isinstance(rest["flows"], list):
        rest["flows"] = [called(headway.flow, one) for one in rest["flows"]]
    part = called(getattr(package, table[key].replace("-", "_")), rest)
    assert isinstance(part, Part), f"{table} has keys that its function lacks"
    return part


def fabric(table: Mapping[str, Any]) -> Part | Mapping[str, Any]:
    """A fabric, with its discipline's parameters where it names the discipline."""
    own = {key: value for key, value in table.items() if key in inspect.signature(tables.fabric).parameters}
    if own == table or "discipline" not in table:
        return called(tables.fabric, table)
    others = {key: value for key, value in table.items() if key not in own or key == "discipline"}
    return tables.fabric(**{**own, "discipline": of_kind(headway.disciplines, others, "discipline")})


def rebuilt(document: Mapping[str, Any], name: str, folder: Path) -> Scenario:
    """The scenario of a parsed text, built by functions."""
    parts = dict(document)
    if "topology" in parts:
        parts["topology"] = of_kind(headway, parts["topology"])
        assert isinstance(parts["topology"], Topology)
    if "transport" in parts:
        parts["transport"] = of_kind(headway.transports, parts["transport"], "name")
    if "traffic" in parts:
        parts["traffic"] = [of_kind(headway, one) for one in parts["traffic"]]
        assert all(isinstance(one, Traffic) for one in parts["traffic"])
    if "fabric" in parts:
        parts["fabric"] = fabric(parts["fabric"])
    if "model" in parts:
        parts["model"] = of_kind(headway.models, parts["model"], "name")
    for key in ("hosts", "start", "sample"):
        if key in parts:
            parts[key] = getattr(headway, key)(**parts[key])
    if "fault" in parts:
        parts["fault"] = [headway.fault(**one) for one in parts["fault"]]
    return headway.scenario(**parts, name=name, folder=folder)


def same(one: Scenario, other: Scenario) -> None:
    """Assert that two scenarios are equal, with their sweeps and the figures of their reports."""
    assert one.resolved == other.resolved
    assert one.digest == other.digest
    assert one.report == other.report
    assert (one.native.swept(), one.native.variants()) == (other.native.swept(), other.native.variants())


@HOW_MANY
def test_every_scenario_can_be_built_and_written_and_reads_back(how_many: str) -> None:
    counts = {"whole": 0, "part": 0}
    for name, text, folder in files(how_many):
        try:
            scenario = Scenario.from_text(text, name, folder=folder)
            counts["whole"] += 1
        except ScenarioError:
            text = whole(text)
            scenario = Scenario.from_text(text, name, folder=folder)
            counts["part"] += 1
        built = rebuilt(Document(name, text).value, name, folder)
        same(scenario, built)
        same(scenario, Scenario.from_text(built.to_toml(), name, folder=folder))
        same(scenario, pickle.loads(pickle.dumps(built)))
    assert counts["whole"] > len(chosen(names.known_scenarios(), how_many)), (
        "those of the repository are whole, and some of the pages"
    )
    assert counts["part"] >= 8, counts


@pytest.mark.parametrize("name", ["amrt/fig01", "examples/coexistence", "examples/quickstart", "l2dct/fig12"])
def test_a_scenario_with_overrides_can_be_written(name: str) -> None:
    plain = Scenario.load(name, scale="smoke", sets={"seed": 7})
    for scenario in [plain, *map(plain.at, plain.points()[:3])]:
        folder = scenario.path.parent if scenario.path else None
        again = Scenario.from_text(scenario.to_toml(), scenario.native.name, folder=folder)
        same(scenario, again)
        assert [point.label for point in again.points()] == [point.label for point in scenario.points()]


def test_an_override_of_the_transport_takes_the_parameters_of_the_former_along() -> None:
    scenario = Scenario.from_text(PAIR.replace('"amrt"', '"amrt", window = 3') + ENTRY, sets=["transport.name=phost"])
    assert "window" not in scenario.to_toml()
    same(scenario, Scenario.from_text(scenario.to_toml()))
    assert apply({"transport": {"name": "a", "x": 1}}, [("transport.name", "a")]) == {
        "transport": {"name": "a", "x": 1}
    }
    assert assignment("topology.rate=25 Gbps") == ("topology.rate", "25 Gbps")


def small(**changed: Any) -> Scenario:  # noqa: ANN401  (arguments of a scenario)
    """A scenario of four hosts."""
    parts: dict[str, Any] = {
        "topology": headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
        "transport": "amrt",
        "traffic": headway.permutation(bytes="20 kB"),
    }
    return headway.scenario(**{**parts, **changed})


WRONG: dict[str, dict[str, Any]] = {
    "`rate` of headway.single_switch(...), in the argument `topology`": {
        "topology": headway.single_switch(hosts=4, rate="10 gbps", delay="1 us")
    },
    "`receiver` of headway.incast(...), in the argument `traffic[1]`": {
        "traffic": [headway.permutation(bytes=1), headway.incast(senders=2, receiver=9, bytes=1)]
    },
    "`class_` of headway.flow(...), in the argument `traffic[0].flows[1]`": {
        "traffic": headway.flows(
            flows=[headway.flow(src=0, dst=1, bytes=1), headway.flow(src=0, dst=1, bytes=1, class_=-1)]
        )
    },
    "`rule` of headway.disciplines.anti_ecn(...), in the argument `fabric`": {
        "fabric": headway.fabric(discipline=headway.disciplines.anti_ecn(rule="x"))  # type: ignore[arg-type]
    },
    "the argument `transport`": {"transport": "amrrt"},
    "`window` of headway.transports.amrt(...), in the argument `transport`": {
        "transport": headway.transports.amrt(window=-1)
    },
    "the argument `seed`": {"seed": -1},
    "the argument `traffic`": {"traffic": []},
    "`figure` in the argument `report`": {"report": {"figure": "fct-laod"}},
}


@pytest.mark.parametrize("where", WRONG)
def test_a_message_shows_the_place_and_names_the_argument(where: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        small(**WRONG[where])
    message = str(raised.value)
    assert f"  in Python: {where}\n" in message
    assert re.search(r"─\[scenario:\d+:\d+\]", message), "it shows the place in the text that was made"


def test_what_no_scenario_can_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="not <object"):
        small(seed=object())
    with pytest.raises(TypeError, match=r"headway.transports.homa is a function: write headway.transports.homa\(...\)"):
        small(transport=headway.transports.homa)
    with pytest.raises(TypeError, match=r"variants are a dict .*: write {\"homa\": headway.transports.homa\(\)"):
        small(variants=["homa", "ndp"])
    with pytest.raises(TypeError, match=r"fabric=headway.fabric\(discipline="):
        small(fabric=headway.disciplines.drop_tail())
    with pytest.raises(TypeError, match=r"'spine'; did you mean spines\?"):
        headway.leaf_spine(spine=3)  # type: ignore[call-arg]


def fct_mean(scenario: Scenario) -> float:
    """The mean completion time of its run."""
    return float(scenario.run().summary["fct_mean_s"])


def test_scenarios_run_in_a_pool_of_processes(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("id,src,dst,bytes,start_s\n0,0,1,90000,0\n1,2,1,30000,0\n", "utf-8")
    scenarios = [small(transport=name) for name in ("amrt", "phost")]
    scenarios.append(small(traffic=headway.file(path="flows.csv"), folder=tmp_path))
    scenarios.append(scenarios[0].at(scenarios[0].points()[0]))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(fct_mean, scenarios)) == [fct_mean(one) for one in scenarios]
