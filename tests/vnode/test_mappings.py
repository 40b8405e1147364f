"""Threads on a node with SMT and two core kinds, by a mapping or in a runtime's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tools import ROOT
from vnode.commands import decided_runs, pinstudy, study
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

# CPUs 0-3 are two P-cores with SMT, 4-7 E-cores. Thread 0 is with 1, thread 2 with 3.
PLACES = {"same-cpu": "0,0,2,2", "siblings": "0,1,2,3", "across-kinds": "0,4,2,5"}
ROUNDS = {"same-cpu": 2700, "siblings": 500, "across-kinds": 500}

# QEMU translates a program when it is first run, which takes longer than a run may be unbound.
TRANSLATE = f"""
cd {ROOT}/build/emulated/bin
for program in contention-libgomp contention-pthreads; do
    ./$program integer --rounds 1 --threads 4 --pin 0,0,2,2
done
./pingpong-libgomp --samples 10 --sample-us 1000 --threads 2 --pin 0,1
./smt-libgomp accumulate --items 1000 --rounds 1 --threads 2 --pin 0,1
./threadmap-libgomp --team-only --duration 0.1 --threads 4 --pin 0,4,2,5
./threadmap-libomp --team-only --duration 0.1
"""


def test_pairs_are_where_their_mappings_say_however_they_are_pinned(node: VirtualNode) -> None:
    node.shell(TRANSLATE)

    runs = decided_runs(node, "pairs")

    for run in runs.values():
        assert (run["status"], run["placement"]["verdict"]) == ("ok", "proved"), run[
            "unavailable"
        ].get("placement", run)
    for place, cpus in PLACES.items():
        for build in ("libgomp", "pthreads"):
            # The program fails its check when a thread may run elsewhere than on its own CPU.
            by_program = runs["long-contention", build, f"{place}-pin-program"]
            assert by_program["command"][-2:] == ["--pin", cpus]
            assert _masks(by_program) == sorted(cpus.split(","))
        outside = runs["long-contention", "libgomp", f"{place}-pin"]
        assert outside["command"][-2:] == ["--expect", cpus]
        assert _masks(outside) == sorted(cpus.split(","))
        assert outside["metrics"]["rounds"] == by_program["metrics"]["rounds"] == ROUNDS[place]
    assert _masks(runs["long-pingpong", "libgomp", "siblings-pin"]) == ["0", "1"]
    assert _masks(runs["long-smt", "libgomp", "across-kinds-pin"]) == ["0", "4"]
    assert runs["team", "libgomp", "across-kinds-pin"]["metrics"]["bound"] == 4
    assert runs["team", "libgomp", "unpinned"]["metrics"]["bound"] == 0


def test_what_a_node_has_not_is_left_out_with_its_reason(node: VirtualNode) -> None:
    plan = pinstudy(node, "plan", *study("pairs")[1:]).output

    assert "across-packages-pin current  left out: the node has one package" in plan


def _masks(run: dict[str, Any]) -> list[str]:
    return sorted(thread["allowed"] for thread in run["placement"]["threads"])


def test_places_by_name_are_proved_and_core_types_that_no_guest_sees_are_left_out(
    node: VirtualNode,
) -> None:
    node.shell(TRANSLATE)

    runs = {mapping: run for (_, _, mapping), run in decided_runs(node, "words").items()}

    # CPUs 0-3 are two P-cores with SMT, 4-7 E-cores.
    for mapping, masks in (
        ("cores-pin-named", ["0-1", "2-3", "4", "5"]),
        ("ecores-pin-kmp", ["4", "5", "6", "7"]),
    ):
        run = runs[mapping]
        assert run["placement"]["verdict"] == "proved", (run.get("reason"), run["unavailable"])
        assert sorted(thread["allowed"] for thread in run["placement"]["threads"]) == masks
    # The guest's runtime sees no core types.
    assert "pcores-pin-subset" not in runs
