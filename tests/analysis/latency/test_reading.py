"""Latency files that anybody may have written: what is wrong is named by file and field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.latency.reading import MAX_CPUS, read_latency
from base.errors import UserError
from tests.analysis.latency.made_latency import PLANTED, Planted, content_of, write_latency_file

Content = dict[str, Any]


def first_run(content: Content) -> Content:
    run: Content = content["pairs"][0]["runs"][0]
    return run


def pair(content: Content) -> Content:
    one: Content = content["pairs"][0]
    return one


def put(where: Callable[[Content], Content], name: str, value: object) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        where(content)[name] = value

    return change


def whole(content: Content) -> Content:
    return content


def topology(content: Content) -> Content:
    told: Content = content["topology"]
    return told


WRONG: dict[str, tuple[Callable[[Content], None], str]] = {
    "another kind": (put(whole, "kind", "study"), "kind"),
    "a newer schema": (put(whole, "schema", 2), "schema"),
    "true is no schema": (put(whole, "schema", True), "schema"),
    "no method": (put(whole, "method", ["cas"]), "method"),
    "an unknown plan": (put(whole, "plan", "some"), "plan"),
    "a number as name": (put(whole, "node_id", 7), "node_id"),
    "a name without end": (put(whole, "node_id", "n" * 3000), "node_id"),
    "no pairs": (put(whole, "pairs", []), "pairs"),
    "pairs as a table": (put(whole, "pairs", {}), "pairs"),
    "a text among pairs": (lambda c: c["pairs"].append("x"), "pairs"),
    "a CPU that is not there": (put(pair, "cpus", [0, 99]), "pairs[0].cpus"),
    "a pair of one CPU": (put(pair, "cpus", [0, 0]), "pairs[0].cpus"),
    "a pair twice": (lambda c: c["pairs"].append(c["pairs"][0]), "pairs[1].cpus"),
    "a pair without runs": (put(pair, "runs", []), "pairs[0].runs"),
    "a run of other CPUs": (put(first_run, "from", 1), "pairs[0].runs[0].from"),
    "a run from true": (put(first_run, "from", False), "pairs[0].runs[0].from"),
    "no samples": (put(first_run, "one_way_ns", []), "pairs[0].runs[0].one_way_ns"),
    "a negative time": (put(first_run, "one_way_ns", [1.0, -1.0]), "runs[0].one_way_ns[1]"),
    "a time of zero": (put(first_run, "one_way_ns", [0]), "one_way_ns[0]"),
    "a time of an hour": (put(first_run, "one_way_ns", [3.6e12]), "one_way_ns[0]"),
    "a number of many digits": (put(first_run, "one_way_ns", [10**400]), "one_way_ns[0]"),
    "a text for a time": (put(first_run, "one_way_ns", ["61.2"]), "one_way_ns[0]"),
    "an address that is not there": (put(first_run, "address", 2), "pairs[0].runs[0].address"),
    "half a round trip": (put(first_run, "round_trips", 0.5), "round_trips"),
    "switches below zero": (put(first_run, "switched", -1), "switched"),
    "no topology": (put(whole, "topology", None), "topology"),
    "no CPU online": (put(topology, "online", ""), "topology.online"),
    "millions of CPUs": (put(topology, "online", "0-99999999"), "topology.online"),
    "a CPU in two cores": (
        lambda c: topology(c)["cores"].append(topology(c)["cores"][0]),
        "topology.cores",
    ),
    "a CPU without a core": (lambda c: topology(c)["cores"].pop(), "topology.cores"),
    "a cache of other CPUs": (
        put(topology, "caches", [{"level": 2, "size_bytes": None, "cpus": "0,77"}]),
        "topology.caches[0].cpus",
    ),
    "a cache of level 0": (
        put(topology, "caches", [{"level": 0, "size_bytes": None, "cpus": "0"}]),
        "topology.caches[0].level",
    ),
    "a reason that is a list": (
        put(whole, "left_out", [{"cpus": [0, 1], "reason": []}]),
        "left_out[0].reason",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    change, where = WRONG[name]
    content = content_of(PLANTED["two"])
    change(content)
    path = write_latency_file(tmp_path, content)

    with pytest.raises(UserError) as told:
        read_latency(path)

    message = str(told.value)
    assert message.startswith(f"{path}: ")
    assert where in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize(
    "text", ["", "[", "null", "[1]", '{"kind": NaN}', "[" * 100_000, "\x00", '{"a": 1e']
)
def test_what_is_no_table_in_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "latency.json"
    path.write_text(text)

    with pytest.raises(UserError, match=r"latency\.json"):
        read_latency(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "latency.json")

    with pytest.raises(UserError, match="is not a file"):
        read_latency(tmp_path / "latency.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_latency(tmp_path / "nowhere.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
fields = st.sampled_from(
    [(whole, name) for name in content_of(PLANTED["two"])]
    + [(topology, name) for name in PLANTED["two"].topology()]
    + [(first_run, name) for name in first_run(content_of(PLANTED["two"]))]
)


@given(fields, json_values)
def test_any_value_of_any_field_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    field: tuple[Callable[[Content], Content], str],
    value: object,
) -> None:
    where, name = field
    content = content_of(PLANTED["two"])
    where(content)[name] = value
    path = write_latency_file(tmp_path_factory.getbasetemp(), content)
    try:
        assert read_latency(path).cpus
    except UserError as told:
        assert "latency.json" in str(told)


def test_what_was_measured_comes_back(tmp_path: Path) -> None:
    content = content_of(PLANTED["hybrid"])

    latency = read_latency(write_latency_file(tmp_path, content))

    assert len(latency.pairs) == 32 * 31 // 2
    assert latency.topology.kind_of(16) == "E"
    kept = [t for p in content["pairs"] for r in p["runs"] for t in r["one_way_ns"]]
    assert latency.one_way_ns.tolist() == kept


def test_more_cpus_than_any_node_has_are_refused(tmp_path: Path) -> None:
    many = Planted(MAX_CPUS + 1, 60.0)
    content = content_of(PLANTED["two"]) | {"topology": many.topology()}
    one = json.dumps(content["pairs"][0])
    content["pairs"] = []
    for cpu in range(1, MAX_CPUS + 1):
        pair_of = json.loads(one) | {"cpus": [0, cpu]}
        for run in pair_of["runs"]:
            run["from"], run["to"] = 0, cpu
        content["pairs"].append(pair_of)

    with pytest.raises(UserError, match="at most 1024 CPUs"):
        read_latency(write_latency_file(tmp_path, content))
