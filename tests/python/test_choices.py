"""`[[choice]]` tables: their keys, their effect on a run, and that the project's own can be run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from headway import names
from headway.claims.choices import Choices, Value, load_choices
from headway.errors import ClaimsError, HeadwayError
from headway.loading import Scenario
from support import TWO_FLOWS

LEDGERS = sorted((Path(__file__).parents[2] / "scenarios").glob("*/claims.toml"))

RANGE = """
[[choice]]
id = "first-window"
question = "How much of the path does a first window fill?"
range = [0.25, 4.0]
scale = "log"
unit = "of the pipe"
default = 1.0
evidence = { place = "§4", quotation = "a window" }
natural = "usual"
excludes = [{ choice = "timer", value = "long" }]
[[choice.set]]
transports = ["amrt"]
overrides = { window = "value * bdp" }
[[choice.set]]
transports = ["phost"]
overrides = { free_tokens = "value * bdp" }
"""
WORDS = """
[[choice]]
id = "timer"
question = "How long is the time-out?"
values = ["own", "short", "long"]
default = "own"
evidence = "silent"
natural = "strained"
joint = false
[[choice.set]]
transports = ["phost"]
at = "short"
overrides = { resend_wait = "'1 ms' * rate / packet" }
[[choice.set]]
at = "long"
overrides = { "fabric.buffer" = "64 packets" }
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claims.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def choices(tmp_path: Path) -> Choices:
    return load_choices(write(tmp_path, RANGE + WORDS))


@pytest.fixture
def two_flows(tmp_path: Path) -> Scenario:
    path = tmp_path / "two-flows.toml"
    path.write_text(TWO_FLOWS.format(stop="2 ms", size="100 kB"), encoding="utf-8")
    return Scenario.load(path)


def set_by(choices: Choices, values: Mapping[str, Value], scenario: Scenario) -> list[str]:
    return choices.sets(choices.reading(values), "mine/two-flows", scenario)


def test_a_range_is_tried_at_its_ends_its_default_and_evenly_on_its_scale(choices: Choices) -> None:
    assert choices["first-window"].grid(5) == (0.25, 0.5, 1.0, 2.0, 4.0)
    assert choices["first-window"].grid(2) == (0.25, 1.0, 4.0)
    assert choices["timer"].grid(5) == ("own", "short", "long")
    assert choices["first-window"].middle(0.5, 2.0) == pytest.approx(1.0)


def test_one_that_differs_by_transport_costs_two_degrees_of_freedom(choices: Choices) -> None:
    assert choices.degrees(choices.reading({"first-window": 0.5})) == 1
    assert choices.degrees(choices.reading({"timer": "short"})) == 2
    assert choices.degrees(choices.reading({"first-window": 1.0, "timer": "own"})) == 0, "all at their defaults"
    assert choices.strain(choices.reading({"timer": "short"})) > choices.strain(choices.reading({"first-window": 2.0}))
    assert choices["timer"].silent
    assert not choices["first-window"].silent


def test_formulas_are_of_the_path_of_the_run(choices: Choices, two_flows: Scenario) -> None:
    path = two_flows.native.longest_path()
    assert path is not None
    whole = set_by(choices, {"first-window": 2.0}, two_flows)
    half = set_by(choices, {"first-window": 0.5}, two_flows)
    (whole_packets,) = (int(text.removeprefix("transport.window=")) for text in whole)
    (half_packets,) = (int(text.removeprefix("transport.window=")) for text in half)
    # 10 Gb/s, and a full packet is 1538 bytes on the wire: bytes that are given to a count are full packets, rounded.
    assert path["rate_bps"] == 1e10
    assert whole_packets == pytest.approx(2 * path["bdp_bytes"] / path["packet_bytes"], abs=1)
    assert half_packets == pytest.approx(0.5 * path["bdp_bytes"] / path["packet_bytes"], abs=1)
    assert two_flows.at(next(iter(two_flows.points()))).resolved["transport"]["window"] != whole_packets


def test_a_choice_touches_only_the_transports_that_it_names(choices: Choices, two_flows: Scenario) -> None:
    assert set_by(choices, {"timer": "short"}, two_flows) == [], "amrt has no such timer"
    assert set_by(choices, {"timer": "long"}, two_flows) == ['fabric.buffer="64 packets"']
    assert two_flows.path is not None
    phost = Scenario.load(two_flows.path, sets={"transport": {"name": "phost"}})
    assert [text.partition("=")[0] for text in set_by(choices, {"timer": "short"}, phost)] == ["transport.resend_wait"]


def test_what_excludes_each_other_is_named_with_both_values(choices: Choices) -> None:
    assert choices.conflict(choices.reading({"first-window": 0.5, "timer": "short"})) == ""
    reason = choices.conflict(choices.reading({"first-window": 0.5, "timer": "long"}))
    assert reason == "first-window=0.5 excludes timer=long"


def test_a_reading_is_the_same_in_whatever_order_it_is_said(choices: Choices) -> None:
    one = choices.parse(["timer=short", "first-window=0.5"])
    assert one == choices.parse(["first-window=0.50", "timer=short"])
    assert one.key == choices.reading({"first-window": 0.5, "timer": "short"}).key
    assert choices.show(one) == "first-window 0.5 of the pipe, timer short"


@pytest.mark.parametrize("written", ["0.015625", "0.01562"])
def test_a_number_of_a_list_is_known_as_the_ledger_and_as_messages_write_it(tmp_path: Path, written: str) -> None:
    text = WORDS.replace('values = ["own", "short", "long"]', 'values = ["own", "short", "long", 0.015625]')
    choices = load_choices(write(tmp_path, text))
    assert dict(choices.parse([f"timer={written}"]).values) == {"timer": 0.015625}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first-windw=1", "nearest: first-window"),
        ("first-window", "is no CHOICE=VALUE, such as first-window=0.25"),
        ("first-window=wide", "takes a number, not 'wide'"),
        ("first-window=5", "outside 0.25 to 4"),
        ("first-window=nan", "outside 0.25 to 4"),
        ("timer=longer", "its values: own, short, long"),
    ],
)
def test_readings_that_nobody_declared_are_refused(choices: Choices, text: str, message: str) -> None:
    with pytest.raises(HeadwayError, match=message):
        choices.parse([text])


def test_two_choices_that_set_one_key_apart_are_named(tmp_path: Path, two_flows: Scenario) -> None:
    other = WORDS.replace('"timer"', '"buffer"').replace("64 packets", "32 packets")
    choices = load_choices(write(tmp_path, RANGE + WORDS + other))
    with pytest.raises(HeadwayError, match=r"timer and buffer both set fabric\.buffer, to different values"):
        set_by(choices, {"timer": "long", "buffer": "long"}, two_flows)


FINE = """
[[choice]]
id = "phost-window"
question = "How much of it does pHost's fill?"
values = ["as all", 2.0]
default = "as all"
evidence = "silent"
natural = "strained"
joint = false
refines = "first-window"
[[choice.set]]
transports = ["phost"]
overrides = { free_tokens = "value * bdp" }
"""


def test_a_choice_that_refines_another_takes_precedence(tmp_path: Path, two_flows: Scenario) -> None:
    # Declared before and after the choice that it refines: the order says nothing.
    for text in (RANGE + FINE + WORDS, FINE + RANGE + WORDS):
        choices = load_choices(write(tmp_path, text))
        assert two_flows.path is not None
        phost = Scenario.load(two_flows.path, sets={"transport": {"name": "phost"}})
        both = {"first-window": 0.5, "phost-window": 2.0}
        assert set_by(choices, both, phost) == set_by(choices, {"first-window": 2.0}, phost)
        assert set_by(choices, both, phost) == set_by(choices, {"phost-window": 2.0}, phost)
        assert set_by(choices, both, two_flows) == set_by(choices, {"first-window": 0.5}, two_flows), "amrt"
        assert choices.degrees(choices.reading(both)) == 3
        assert choices.parse(["phost-window=2", "first-window=0.5"]).key == choices.reading(both).key


FINE_MISTAKES = [
    (
        '"first-window"',
        '"first-windw"',
        "'refines' names another choice, which refines none itself; nearest: first-window",
    ),
    ('"first-window"', '"phost-window"', "which refines none itself"),
    ("joint = false", "joint = true", "treats transports differently: joint = false"),
]


@pytest.mark.parametrize(("old", "new", "message"), FINE_MISTAKES, ids=[m[2] for m in FINE_MISTAKES])
def test_each_mistake_of_a_refinement_is_shown(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FINE
    with pytest.raises(ClaimsError) as caught:
        load_choices(write(tmp_path, RANGE + WORDS + FINE.replace(old, new, 1)))
    assert message in str(caught.value)


@pytest.mark.parametrize("own", ['"amrt"', '{ name = "amrt", window = 7 }'])
def test_a_mixture_keeps_what_each_of_its_transports_was_given(choices: Choices, tmp_path: Path, own: str) -> None:
    """Entries of traffic with transports of their own get each its part of the reading."""
    text = TWO_FLOWS.format(stop="2 ms", size="100 kB")
    text = text[: text.index("[variants.amrt]")].replace('[transport]\nname = "amrt"\n', "")
    text = text.replace("[fabric]", '[fabric]\ndiscipline = "anti-ecn"')
    head, flows = text.split("[[traffic]]")
    flows, rest = flows.split("[sample]")
    one = f"[[traffic]]\ntransport = {own}{flows}"
    other = f'[[traffic]]\ntransport = "phost"{flows}'.replace('"f0"', '"g0"').replace('"f1"', '"g1"')
    path = tmp_path / "mixture.toml"
    path.write_text(f"{head}{one}{other}[sample]{rest}", encoding="utf-8")
    mixture = Scenario.load(path)
    assert set_by(choices, {}, mixture) == []
    sets = choices.sets(choices.reading({"first-window": 0.5}), "mine/mixture", mixture)
    found = Scenario.load(path, sets=sets).resolved
    kept = Scenario.load(path).resolved
    tables = {one["name"]: one for one in found["transports"]}
    before = {one["name"]: one for one in kept["transports"]}
    assert tables["amrt"]["window"] != before["amrt"]["window"]
    assert tables["phost"]["free_tokens"] != before["phost"]["free_tokens"]
    for name, table in tables.items():
        moved = {key for key in table if table[key] != before[name][key]}
        assert moved == {"window" if name == "amrt" else "free_tokens"}


MISTAKES = [
    ("question", "qestion", "unknown key 'qestion'; nearest: question"),
    ('question = "How long is the time-out?"\n', "", "the key 'question' is missing"),
    ('natural = "strained"', 'natural = "odd"', "'natural' is one of: usual, plausible, strained"),
    ('natural = "strained"', "natural = 3", "'natural' is of the wrong type"),
    ('id = "timer"', 'id = "first-window"', "the id 'first-window' is used twice"),
    ('id = "timer"', 'id = "my timer"', "an id has neither blanks"),
    ('values = ["own", "short", "long"]\n', "", "either 'values' or a 'range'"),
    ('["own", "short", "long"]', '["own"]', "at least two"),
    ('["own", "short", "long"]', '["own", "short", "long", "own"]', "stands there twice"),
    ('default = "own"', 'default = "owm"', "the default is one of the values"),
    ("joint = false", "joint = 1", "'joint' is of the wrong type"),
    ("joint = false", 'scale = "log"', "'scale' is for a range"),
    ("joint = false", "scope = [1]", "'scope' lists scenarios by name"),
    ('evidence = "silent"', 'evidence = "none"', "'evidence' is \"silent\", or"),
    ('evidence = "silent"', 'evidence = { place = "§1" }', "'evidence' is \"silent\", or"),
    ("joint = false", 'excludes = [{ choice = "first-windwo" }]', "names no other choice 'first-windwo'; nearest"),
    ("joint = false", 'excludes = [{ choice = "timer" }]', "names no other choice 'timer'"),
    ("joint = false", 'excludes = [{ choice = "first-window", at = "x" }]', "'at' is one of the choice's own values"),
    ('at = "short"', 'at = "own"', "'at' is one of the choice's values but its default"),
    ('at = "short"', 'att = "short"', "unknown key 'att' in [[choice.set]]; nearest: at"),
    ('transports = ["phost"]\nat', 'transports = ["phsot"]\nat', "no transport 'phsot'; nearest: phost"),
    ('transports = ["phost"]\nat', "at", "'resend_wait' is a parameter: 'transports' says of which"),
    ("resend_wait", "resend_wiat", "phost has no parameter 'resend_wiat'; nearest: resend_wait"),
    ('"64 packets" }', "[64] }", "takes a text, a number or a boolean"),
    ("\"'1 ms' * rate / packet\"", '"1 * rte"', "'resend_wait': "),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[m[2] for m in MISTAKES])
def test_each_mistake_is_shown_at_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WORDS
    text = RANGE + WORDS.replace(old, new, 1)
    with pytest.raises(ClaimsError) as caught:
        load_choices(write(tmp_path, text))
    assert message in str(caught.value)
    shown = str(caught.value).split("claims.toml:")[1]
    line = int(shown.split()[0].split(":")[0])
    first = text[: text.index(WORDS.lstrip()[:10], len(RANGE))].count("\n") + 1
    assert first <= line <= text.count("\n"), "a line of the table that is wrong"


RANGES = [
    ("[0.25, 4.0]", "[4.0, 0.25]", "two numbers, the lower first"),
    ("[0.25, 4.0]", "[0.0, 4.0]", "begins above 0"),
    ("[0.25, 4.0]", '["a", "b"]', "two numbers, the lower first"),
    ("default = 1.0", "default = 5.0", "lies in the range, from 0.25 to 4"),
    ("default = 1.0", "default = true", "lies in the range"),
    ('"log"', '"lgo"', "'scale' is one of: linear, log"),
]


@pytest.mark.parametrize(("old", "new", "message"), RANGES, ids=[f"{r[0]}-{r[1]}" for r in RANGES])
def test_each_mistake_of_a_range_is_shown(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in RANGE
    with pytest.raises(ClaimsError, match=message):
        load_choices(write(tmp_path, RANGE.replace(old, new, 1) + WORDS))


@pytest.mark.parametrize("ledger", LEDGERS, ids=lambda path: path.parent.name)
def test_choices_of_the_project_name_figures_that_there_are(ledger: Path) -> None:
    known = names.known_scenarios()
    for choice in load_choices(ledger).all:
        assert all(name in known for name in choice.scope), choice.id
        assert choice.question.endswith((".", "?")), f"{choice.id}: a sentence"
        moved = {str(s.at) for s in choice.settings}
        if choice.span is None and "None" not in moved:
            others = {str(value) for value in choice.values if value != choice.default}
            assert others <= moved, f"{choice.id}: a value that sets nothing"
