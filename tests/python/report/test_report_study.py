"""Arrangement of points: axes, panels, and the treatment of several seeds."""

from __future__ import annotations

import json
from pathlib import Path

from headway.reporting import build
from headway.reporting.load import load
from headway.reporting.study import Study, natural
from report.make_runs import make_load_sweep
from report.page_reader import Page


def edit(directory: Path, name: str, **changes: object) -> None:
    """Change keys of the scenario in every manifest of a sweep, or of its records."""
    for path in directory.glob("points/*/manifest.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        record[name] |= changes
        path.write_text(json.dumps(record), encoding="utf-8")


def test_load_is_the_x_axis_and_the_workload_a_facet(results: Path) -> None:
    study = Study(load(results / "sweep"))
    assert study.x_key == "traffic.0.load"
    assert [facet.text for facet in study.facets] == ["xpass_websearch", "vl2_datamining"]
    assert study.xs(study.facets[0]) == [0.3, 0.7]
    assert [p.seed for p in study.group("phost", study.facets[1])] == [1, 2, 3]


def test_the_report_table_chooses_what_is_drawn_over_what(tmp_path: Path) -> None:
    make_load_sweep(tmp_path, workloads=("a",), loads=(0.3, 0.7), seeds=(1,), count=60)
    edit(tmp_path, "scenario", report={"figure": "fct-load", "y": "bottleneck_utilisation"})
    page = Page(build(tmp_path)[0].read_text(encoding="utf-8"))
    (name,) = (key for key in page.data if key.startswith("fct-load"))
    assert page.data[name]["y"]["quantity"] == "percent"
    assert page.series(name, "amrt") == ([0.3, 0.7], [0.3, 0.7])
    assert "Bottleneck utilisation against load" in page.text


def test_two_numeric_axes_give_one_panel_for_each_value_of_the_other(tmp_path: Path) -> None:
    make_load_sweep(tmp_path, workloads=("a",), loads=(0.3, 0.7), seeds=(1,), count=60)
    path = tmp_path / "sweep.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    for i, record in enumerate(records):
        record["axes"] = {"fabric.buffer_packets": 16 * (1 + i % 2), "traffic.0.load": record["axes"]["traffic.0.load"]}
    path.write_text(json.dumps(records), encoding="utf-8")
    study = Study(load(tmp_path))
    assert study.x_key == "traffic.0.load"
    assert [facet.text for facet in study.facets] == ["buffer_packets = 16", "buffer_packets = 32"]
    page = Page(build(tmp_path)[0].read_text(encoding="utf-8"))
    titles = [panel["title"] for name, panel in page.data.items() if name.startswith("fct-load")]
    assert "buffer_packets = 32 · mean FCT" in titles


def test_a_sweep_over_something_else_than_load_says_so(tmp_path: Path) -> None:
    make_load_sweep(tmp_path, workloads=("a",), loads=(0.5,), seeds=(1,), transports=("amrt",), count=60)
    path = tmp_path / "sweep.json"
    (record,) = json.loads(path.read_text(encoding="utf-8"))
    records = [{**record, "label": f"{record['label']}/{n}", "axes": {"traffic.0.senders": n}} for n in (8, 16)]
    path.write_text(json.dumps(records), encoding="utf-8")
    text = build(tmp_path)[0].read_text(encoding="utf-8")
    assert "Mean FCT, p99 FCT against senders" in text


def test_an_axis_of_quantities_is_drawn_in_their_unit_and_in_their_order(tmp_path: Path) -> None:
    make_load_sweep(tmp_path, workloads=("a",), loads=(0.5,), seeds=(1,), transports=("amrt",), count=60)
    path = tmp_path / "sweep.json"
    (record,) = json.loads(path.read_text(encoding="utf-8"))
    sizes = ("20 MB", 200_000, "1 MB")
    records = [{**record, "label": f"{record['label']}/{n}", "axes": {"traffic.0.bytes": n}} for n in sizes]
    path.write_text(json.dumps(records), encoding="utf-8")
    study = Study(load(tmp_path))
    assert (study.x_key, study.x_quantity) == ("traffic.0.bytes", "bytes")
    assert study.xs(study.facets[0]) == [200e3, 1e6, 20e6]
    assert study.at_text(study.facets[0]) == " at bytes 20 MB"
    page = Page(build(tmp_path)[0].read_text(encoding="utf-8"))
    (name,) = (key for key in page.data if key.startswith("fct-load") and "mean" in page.data[key]["title"])
    assert page.data[name]["x"]["quantity"] == "bytes"
    assert page.data[name]["x"]["log"] is True
    assert page.series(name, "amrt")[0] == [200e3, 1e6, 20e6]


def test_a_load_that_does_not_vary_is_not_what_figures_are_drawn_against(tmp_path: Path) -> None:
    make_load_sweep(tmp_path, workloads=("a",), loads=(0.5,), seeds=(1,), transports=("amrt",), count=60)
    path = tmp_path / "sweep.json"
    (record,) = json.loads(path.read_text(encoding="utf-8"))
    axes = ({"fabric.buffer": size, "traffic.0.load": 0.5} for size in ("128 kB", "64 kB"))
    records = [{**record, "label": f"{record['label']}/{n}", "axes": axis} for n, axis in enumerate(axes)]
    path.write_text(json.dumps(records), encoding="utf-8")
    study = Study(load(tmp_path))
    assert (study.x_key, len(study.facets)) == ("fabric.buffer", 1)
    assert study.xs(study.facets[0]) == [64e3, 128e3]


def test_an_axis_of_names_or_of_several_units_is_none_to_draw_against(tmp_path: Path) -> None:
    make_load_sweep(tmp_path, workloads=("a",), loads=(0.5,), seeds=(1,), transports=("amrt",), count=60)
    path = tmp_path / "sweep.json"
    (record,) = json.loads(path.read_text(encoding="utf-8"))
    for values in (("fair", "srpt"), ("5 MB", "5 ms"), ("5 ms", 5)):
        records = [{**record, "label": f"{record['label']}/{n}", "axes": {"traffic.0.x": n}} for n in values]
        path.write_text(json.dumps(records), encoding="utf-8")
        assert Study(load(tmp_path)).x_key is None


def test_flows_are_sorted_as_people_count() -> None:
    assert sorted(["f10", "f2", "f1", "g0"], key=natural) == ["f1", "f2", "f10", "g0"]
