"""Runtimes are asked in their own words to bind threads; their affinity masks show the result."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from base.cpulist import parse_cpulist
from configs.app import Build
from configs.mapping import Mapping
from configs.study import AppChoice
from runners.execution.execute import Harness, execute
from runners.execution.outcome import expected_of, proof_of
from runners.placement.thread_placement import Proof
from runners.plan.command_line import build_launch
from runners.plan.plan import make_plan
from tests.runners.cases import DEMO, study
from tests.runners.topologies import topology
from tests.support.held import looks_counted
from tests.support.programs import build_team, built, witness
from tests.support.studies import two_cpus
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

Team = Callable[..., Proof | str]


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Team]:
    """Runs a team of a runtime that works until there were enough looks at it."""
    with looks_counted(tmp_path / "looks") as looks:
        yield partial(bound_team, looks)


def bound_team(
    looks: Path, runtime: str, mapping: Mapping, *, kinds: str = "PP", threads: int = 2
) -> Proof | str:
    """Run the team under a mapping of two CPUs of these kinds; return why not, or the proof."""
    program = Build(runtime, str(build_team(runtime, looks.parent)), runtime)
    app = replace(DEMO, builds={runtime: program}, arguments=())
    cpus = two_cpus()
    node = topology(
        [(str(cpu), kind, 0) for cpu, kind in zip(cpus, kinds, strict=True)],
        [(3, ",".join(map(str, cpus)))],
        core_types=True,
    )
    tools = {"taskset": need_tool("taskset")}
    choice = AppChoice(app, (program,), tuple(app.sizes.values()), (threads,))
    asked = study(apps=(choice,), mappings=(mapping,), wait_policies=("passive",))
    plan = make_plan(asked, node, Path, tools, lambda *_: None)
    if plan.skipped:
        return plan.skipped[0].reason
    (case,) = plan.cases
    environment = {"PATH": os.environ["PATH"], "LOOKS": str(looks)}
    launch = build_launch(case, Path(program.program), environment, tools)
    return proof_of(execute(launch, HANG_S, Harness(witness(), None)), expected_of(case))


@pytest.mark.parametrize("binding", ["pin", "set"])
@pytest.mark.parametrize("mechanism", ["kmp-affinity", "kmp-hw-subset"])
def test_libomp_follows_its_own_variables(bound: Team, mechanism: str, binding: str) -> None:
    assert bound("libomp", Mapping("m", "pcores", binding, mechanism)) == Proof("proved")


@pytest.mark.parametrize("mechanism", ["kmp-affinity", "kmp-hw-subset"])
def test_libomp_confines_a_thread_to_a_part_of_the_node(bound: Team, mechanism: str) -> None:
    mapping = Mapping("m", "pcores", "pin", mechanism)
    assert bound("libomp", mapping, threads=1) == Proof("proved")


def bound_to(runtime: str, name: str) -> set[tuple[int, ...]]:
    """Return the CPUs to which the runtime says that it has bound each of two threads."""
    both = ",".join(map(str, two_cpus()))
    variables = {
        "OMP_NUM_THREADS": "2",
        "OMP_PLACES": name,
        "OMP_PROC_BIND": "close",
        "OMP_DISPLAY_AFFINITY": "true",
        "OMP_AFFINITY_FORMAT": "bound to %A",
    }
    ended = subprocess.run(
        [need_tool("taskset"), "-c", both, built(f"mandelbrot-{runtime}"), "1000"],
        env={"PATH": os.environ["PATH"], **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return {parse_cpulist(cpus) for cpus in re.findall("^bound to (.+)$", ended.stdout, re.M)}


# One place a CPU, or one of both, in a node of two cores that share a package and an L3 cache.
PLACES = {"threads": 2, "cores": 2, "sockets": 1, "ll_caches": 1}


@pytest.mark.parametrize("runtime", ["libgomp", "libomp"])
@pytest.mark.parametrize("name", PLACES)
def test_places_by_name_are_proved_where_the_runtime_means_the_same_by_them(
    bound: Team, runtime: str, name: str
) -> None:
    both = two_cpus()
    meant = {(cpu,) for cpu in both} if PLACES[name] == 2 else {tuple(sorted(both))}
    # In virtual machines libomp may find other caches, by CPUID, than the kernel's files show.
    same = bound_to(runtime, name) == meant

    proof = bound(runtime, Mapping("m", "all", "pin", "omp-places-named", name))

    assert isinstance(proof, Proof)
    assert proof.verdict == ("proved" if same else "violated"), proof


@pytest.mark.parametrize(
    "mapping",
    [
        Mapping("m", "ecores", "pin", "kmp-hw-subset"),
        Mapping("m", "ecores", "set", "kmp-hw-subset"),
        Mapping("m", "ecores", "pin", "kmp-hw-subset-eff"),
        Mapping("m", "ecores", "set", "kmp-hw-subset-eff"),
        Mapping("m", "ecpus", "pin", "omp-places-named", "cores:intel_atom"),
    ],
)
def test_core_types_that_libomp_does_not_find_violate_the_placement(
    bound: Team, mapping: Mapping
) -> None:
    # The CPUs of this machine have core types for pinstudy only.
    proof = bound("libomp", mapping, kinds="PE", threads=1)
    assert isinstance(proof, Proof)
    assert proof.verdict == "violated"
    # Where no thread is bound to a place, libomp from 16 on says nothing.
    if mapping.binding == "pin":
        assert "the OpenMP runtime says: OMP: Warning" in proof.reason


def test_what_libgomp_does_not_read_is_not_started(bound: Team) -> None:
    reason = bound("libgomp", Mapping("m", "pcores", "pin", "kmp-hw-subset"))
    assert reason == "libgomp does not read KMP_HW_SUBSET; use omp-places"
