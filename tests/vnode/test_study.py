"""A whole study on a virtual node: every column of its table, and restored settings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from vnode.commands import pinstudy, records, settings, start_study, study, until, vary_settings
from vnode.node import VirtualNode
from vnode.shell import ten_cases

pytestmark = pytest.mark.vnode


@pytest.mark.parametrize(
    ("name", "repetitions", "absent", "most_late"),
    [
        ("ten-cases-twice", 2, [], 3),
        ("ten-cases", 1, ["sd (one run has no standard deviation)"], 2),
    ],
    ids=["twice", "once"],
)
def test_the_ten_cases_fill_every_column_and_leave_the_node_as_it_was(
    node: VirtualNode,
    tmp_path: Path,
    name: str,
    repetitions: int,
    absent: list[str],
    most_late: int,
) -> None:
    vary_settings(node)
    before = settings(node)

    # The gallery of the documentation shows this study, where it is kept.
    folder = Path(os.environ.get("PINSTUDY_VNODE_STUDY", tmp_path))
    status = ten_cases(node, folder, name)

    assert status == 0
    assert settings(node) == before
    (tables,) = folder.glob("*/*/tables.md")
    text = tables.read_text(encoding="utf-8")
    assert "numbers of a virtual node's model, not of hardware" in text
    assert "n/a" not in text
    assert re.findall(r"not measured: (.*)", text) == absent
    runs = records(node, name)
    assert sorted(run["case_number"] for run in runs) == sorted([*range(1, 11)] * repetitions)
    late = []
    for run in runs:
        assert run["status"] == "ok", run
        assert run["node"] == "virtual"
        for field in (
            *("elapsed_s", "freq_mean_ghz", "migrations", "context_switches", "cache_misses"),
            *("energy_pkg_j", "energy_core_j", "temperature_before_c", "throttle"),
        ):
            if field not in run:
                reason = run["unavailable"][field]
                assert reason.endswith("ask for fewer events"), (field, reason)
                late.append(run["run_id"])
        assert run["governor_read"] == run["governor"]
        assert (run["driver"], run["driver_mode"]) == ("intel_pstate", "active")
        assert run["energy_pkg_j"] > run["energy_core_j"] > 0
    # If the host stalls an emulated CPU while its counters are switched on, they miss a hundredth
    # of a short run, and its counts are left out.
    assert len(set(late)) <= most_late, late


@pytest.mark.usefixtures("records_only")
def test_frequencies_and_residency_are_those_of_the_mapping_and_governor(node: VirtualNode) -> None:
    assert pinstudy(node, *study("ten-cases")).status == 0

    # The module's clocks: the maximum under performance; under powersave 128/255 of the way down
    # to 0.8 GHz, as the preference balance_performance says.
    clocks = {
        ("pcores-set", "performance"): {"P": 5.6},
        ("pcores-pin", "performance"): {"P": 5.6},
        ("ecores-set", "performance"): {"E": 4.4},
        ("ecores-pin", "performance"): {"E": 4.4},
        ("pcores-set", "powersave"): {"P": 3.19},
        ("pcores-pin", "powersave"): {"P": 3.19},
        ("ecores-set", "powersave"): {"E": 2.593},
        ("ecores-pin", "powersave"): {"E": 2.593},
    }
    runs = {(run["mapping"], run["governor"]): run for run in records(node, "ten-cases")}
    for case, expected in clocks.items():
        run = runs[case]
        assert run["freq_ghz"] == pytest.approx(expected, rel=1e-6), f"{case}: {run['counters']}"
        (kind,) = expected
        other = {"P": "E", "E": "P"}[kind]
        assert run["residency"] == {kind: 1.0, other: 0.0}, f"{case}: {run['counters']}"


@pytest.mark.usefixtures("records_only")
def test_a_second_study_is_refused_while_one_runs(node: VirtualNode) -> None:
    first = start_study(node, "ten-cases")
    until(node, lambda: len(records(node, "ten-cases")) > 0)

    second = pinstudy(node, *study("one-case"))

    assert second.status == 1, second
    assert f"{first}" in second.errors
    assert "Traceback" not in second.errors
    assert node.wait(first).status == 0
    assert len(records(node, "ten-cases")) == 10
    assert records(node, "one-case") == []
