"""Latency files: what samples say of pairs, and what is wrong is named by file and field."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.latency.reading import Latency, read_latency
from base.errors import UserError
from runners.records.latency_file import MAX_CPUS
from tests.analysis.latency.made_latency import PLANTED, Planted, content_of, write_latency_file
from tests.support.changed import JSON_VALUES, with_value

TWO = content_of(PLANTED["two"])
PAIR, RUN = "pairs.0", "pairs.0.runs.0"
CORE = {"cpus": "0", "kind": "P", "package": 0}


# What is put where, and which field is named.
@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("kind", "study", "kind"),
        ("schema", 2, "schema"),
        ("schema", True, "schema"),
        ("method", ["cas"], "method"),
        ("plan", "some", "plan"),
        ("node_id", 7, "node_id"),
        ("node_id", "n" * 3000, "node_id"),
        ("pairs", [], "pairs"),
        ("pairs", {}, "pairs"),
        ("pairs", ["x"], "pairs"),
        ("pairs", TWO["pairs"] * 2, "pairs[1].cpus"),
        (f"{PAIR}.cpus", [0, 99], "pairs[0]: runs[0]: expected from and to to be CPUs 0 and 99"),
        (f"{PAIR}.cpus", [0, 0], "pairs[0]: cpus: expected two different CPUs"),
        (f"{PAIR}.runs", [], "pairs[0].runs"),
        (f"{RUN}.from", 1, "pairs[0]: runs[0]: expected from and to to be CPUs 0 and 1"),
        (f"{RUN}.from", False, "pairs[0].runs[0].from"),
        (f"{RUN}.one_way_ns", [], "pairs[0].runs[0].one_way_ns"),
        (f"{RUN}.one_way_ns", [1.0, -1.0], "runs[0].one_way_ns[1]"),
        (f"{RUN}.one_way_ns", [0], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", [5e-324], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", [3.6e12], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", [10**400], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", ["61.2"], "one_way_ns[0]"),
        (f"{RUN}.address", 2, "pairs: expected addresses from 0 to 1"),
        (f"{RUN}.address", 64, "pairs[0].runs[0].address"),
        (f"{RUN}.round_trips", 0.5, "round_trips"),
        (f"{RUN}.switched", -1, "switched"),
        ("topology", None, "topology"),
        ("topology.online", "", "topology.online"),
        ("topology.online", "0-99999999", "topology.online"),
        ("topology.cores", [CORE], "topology.cores"),
        ("topology.cores", [CORE, CORE, CORE | {"cpus": "1"}], "topology.cores"),
        ("topology.caches", [{"level": 2, "size_bytes": None, "cpus": "0,77"}], "caches[0].cpus"),
        ("topology.caches", [{"level": 0, "size_bytes": None, "cpus": "0"}], "caches[0].level"),
        ("left_out", [{"cpus": [0, 1], "reason": []}], "left_out[0].reason"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    tmp_path: Path, path: str, value: object, named: str
) -> None:
    file = write_latency_file(tmp_path, with_value(TWO, path, value))

    with pytest.raises(UserError) as error:
        read_latency(file)

    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert named in message
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


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "latency.json")

    with pytest.raises(UserError, match="is not a file"):
        read_latency(tmp_path / "latency.json")
    with pytest.raises(UserError, match="No such file"):
        read_latency(tmp_path / "nowhere.json")


FIELDS = [*TWO, *(f"topology.{name}" for name in TWO["topology"])]
FIELDS += [f"{RUN}.{name}" for name in TWO["pairs"][0]["runs"][0]]


@given(st.sampled_from(FIELDS), JSON_VALUES)
def test_any_value_of_any_field_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: object
) -> None:
    path = write_latency_file(tmp_path_factory.getbasetemp(), with_value(TWO, field, value))
    try:
        assert read_latency(path).cpus
    except UserError as error:
        assert "latency.json" in str(error)


def test_what_was_measured_comes_back(tmp_path: Path) -> None:
    content = content_of(PLANTED["hybrid"])

    latency = read_latency(write_latency_file(tmp_path, content))

    assert len(latency.pairs) == 32 * 31 // 2
    assert latency.topology.kind_of(16) == "E"
    kept = [t for p in content["pairs"] for r in p["runs"] for t in r["one_way_ns"]]
    assert latency.one_way_ns.tolist() == kept


def test_more_cpus_than_any_node_has_are_refused(tmp_path: Path) -> None:
    (pair,) = TWO["pairs"]
    pairs = []
    for cpu in range(1, MAX_CPUS + 1):
        runs = [run | {"from": 0, "to": cpu} for run in pair["runs"]]
        pairs.append({"cpus": [0, cpu], "runs": runs})
    topology = Planted(MAX_CPUS + 1, 60.0).topology()

    with pytest.raises(UserError, match="at most 1024 CPUs"):
        read_latency(write_latency_file(tmp_path, TWO | {"topology": topology, "pairs": pairs}))


def two_cpus(folder: Path, *runs: tuple[int, int, list[float]]) -> Latency:
    content: dict[str, Any] = TWO | {"addresses": len(runs)}
    content["pairs"] = [
        {
            "cpus": [0, 1],
            "runs": [
                {"from": a, "to": b, "address": n, "round_trips": 10, "one_way_ns": times}
                for n, (a, b, times) in enumerate(runs)
            ],
        }
    ]
    return read_latency(write_latency_file(folder, content))


def test_both_directions_are_reported_separately_and_together(tmp_path: Path) -> None:
    latency = two_cpus(tmp_path, (0, 1, [50.0, 52.0, 90.0]), (1, 0, [60.0, 61.0]))

    assert latency.matrix[0, 1] == 52.0
    assert latency.matrix[1, 0] == 60.5
    assert latency.both_ways[0, 1] == latency.both_ways[1, 0] == 60.0
    assert np.isnan(latency.matrix[0, 0])


def test_spread_is_sd_quantiles_and_the_medians_of_runs(tmp_path: Path) -> None:
    latency = two_cpus(tmp_path, (0, 1, [10.0, 20.0, 30.0]), (1, 0, [40.0, 100.0]))

    (row,) = latency.pairs.to_dict("records")
    assert (row["n"], row["median_ns"], row["mean_ns"]) == (5, 30.0, 40.0)
    assert row["sd_ns"] == pytest.approx((900 + 400 + 100 + 0 + 3600) ** 0.5 / 2)
    assert (row["q05_ns"], row["q95_ns"]) == (pytest.approx(12.0), pytest.approx(88.0))
    assert (row["runs"], row["least_run_ns"], row["most_run_ns"]) == (2, 20.0, 70.0)


def test_cpus_of_pairs_that_were_left_out_have_a_row(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=[0, 1])
    content["left_out"] = [{"cpus": [0, 9], "reason": "the kernel refused CPU 9"}]

    latency = read_latency(write_latency_file(tmp_path, content))

    assert latency.cpus == (0, 1, 9)
    assert np.isnan(latency.both_ways[2]).all()


def test_a_disturbed_pair_is_named_and_another_package_is_only_far(tmp_path: Path) -> None:
    medians = PLANTED["complexes"].ns()
    medians[3, 12] = medians[12, 3] = 4000.0

    content = content_of(PLANTED["complexes"], medians)
    ((a, b, ns),) = read_latency(write_latency_file(tmp_path, content)).disturbed
    assert (a, b) == (3, 12)
    assert ns == pytest.approx(4000.0, rel=0.1)
    packages = content_of(PLANTED["packages"])
    assert read_latency(write_latency_file(tmp_path, packages)).disturbed == ()
