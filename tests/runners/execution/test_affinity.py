"""Affinity masks: pinstudy's own while a program runs, and those that OpenMP runtimes set."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.configs.app import Build
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.study import AppChoice
from pinstudy.runners.execution.execute import (
    Harness,
    Observation,
    execute,
    free_cpus,
    move_to_housekeeping_cpus,
)
from pinstudy.runners.execution.outcome import expected_of, proof_of
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.placement.thread_placement import Proof
from pinstudy.runners.plan.command_line import build_launch
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import make_plan
from tests.runners.cases import DEMO, study
from tests.runners.topologies import topology
from tests.support.held import looks_counted
from tests.support.programs import build_team, built, witness
from tests.support.studies import two_cpus
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

SMT = ((0, 8), (1, 9), (2, 10), (3, 11))


@pytest.mark.parametrize(
    ("allowed", "used", "expected"),
    [
        (range(12), {0, 1}, {2, 3, 4, 5, 6, 7, 10, 11}),
        ({0, 1, 8, 9}, {0, 1}, {8, 9}),
        ({0, 1}, {0, 1}, set()),
        ({0, 1}, {0, 1, 2}, set()),
        ({5, 6}, {0}, {5, 6}),
    ],
)
def test_siblings_are_taken_last(allowed: set[int], used: set[int], expected: set[int]) -> None:
    assert free_cpus(allowed, used, SMT) == expected


def mask_of_self() -> set[int]:
    """Return this thread's mask as the kernel's own file has it."""
    text = Path("/proc/thread-self/status").read_text()
    return set(parse_cpulist(text.partition("Cpus_allowed_list:")[2].split()[0]))


class Masks(list[set[int]]):
    """Masks of this process while programs run; Ctrl-C comes with the first if `interrupted`."""

    interrupted = False

    def run(
        self,
        program: list[str],
        cpus: tuple[int, ...],
        launcher: tuple[str, ...] = (),
        limit_s: float = HANG_S,
    ) -> Observation:
        """Run a program on these CPUs; the mask afterwards is the one before."""
        launch = Launch(launcher, tuple(program), {"PATH": os.environ["PATH"]}, {}, ())
        before = mask_of_self()
        try:
            return execute(launch, limit_s, Harness(witness(), None), self._started, cpus)
        finally:
            assert mask_of_self() == before

    def _started(self, _program: int) -> None:
        self.append(mask_of_self())
        if self.interrupted:
            raise KeyboardInterrupt


def test_the_runner_sits_elsewhere_and_the_program_keeps_its_own_mask() -> None:
    first, second = two_cpus()
    allowed, masks = os.sched_getaffinity(0), Masks()
    seen = masks.run(["/bin/sleep", "0.5"], (first,))
    assert masks == [allowed - {first}]
    # What runs without a launcher has the mask that pinstudy was started with.
    assert {thread.allowed for thread in seen.threads} == {tuple(sorted(allowed))}
    assert seen.cost is not None
    assert first not in seen.cost.cpus and second in seen.cost.cpus
    # The cost of watching a sleeper is small and not nothing; between looks the runner slept.
    assert 0 < seen.cost.cpu_s < 0.25
    assert seen.cost.context_switches >= 5


def test_a_program_under_taskset_keeps_the_cpu_that_the_runner_left() -> None:
    first, _ = two_cpus()
    launcher = (need_tool("taskset"), "-c", str(first))
    seen = Masks().run(["/bin/sleep", "0.1"], (first,), launcher)
    assert {thread.allowed for thread in seen.threads} == {(first,)}


def test_a_program_on_every_cpu_leaves_the_runner_where_it_is() -> None:
    allowed, masks = mask_of_self(), Masks()
    seen = masks.run(["/bin/true"], tuple(sorted(allowed)))
    assert masks == [allowed]
    assert seen.cost is not None and set(seen.cost.cpus) == allowed


def test_the_mask_is_given_back_when_the_run_fails_or_is_interrupted() -> None:
    first, _ = two_cpus()
    masks = Masks()
    masks.run(["/no/such/program"], (first,))
    masks.run(["/bin/sleep", "9"], (first,), limit_s=0.05)
    with pytest.raises(LaunchError):
        masks.run(["/bin/true"], (first,), ("/no/such/launcher",))
    masks.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        masks.run(["/bin/sleep", "9"], (first,))
    assert masks[-1] == mask_of_self() - {first}


def test_every_thread_goes_aside_and_gets_its_own_mask_back() -> None:
    first, second = two_cpus()
    ready, done = threading.Event(), threading.Event()
    numbers: list[int] = []

    def wait() -> None:
        os.sched_setaffinity(0, {first})
        numbers.append(threading.get_native_id())
        ready.set()
        done.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait()
    try:
        with move_to_housekeeping_cpus((first,)) as cpus:
            assert second in cpus
            assert first not in os.sched_getaffinity(numbers[0])
        assert os.sched_getaffinity(numbers[0]) == {first}
    finally:
        done.set()
        thread.join()


Team = Callable[..., Proof]


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Team]:
    """Runs a team of a runtime that works until there were enough looks at it."""
    with looks_counted(tmp_path / "looks") as looks:
        yield partial(bound_team, looks)


def bound_team(
    looks: Path, runtime: str, *mapping: str, kinds: str = "PP", threads: int = 2
) -> Proof:
    """Run the team under a mapping of two CPUs of these kinds; return the proof."""
    program = Build(runtime, str(build_team(runtime)), runtime)
    app = replace(DEMO, builds={runtime: program}, arguments=())
    cpus = two_cpus()
    cores = [(str(cpu), kind, 0) for cpu, kind in zip(cpus, kinds, strict=True)]
    node = topology(cores, [(3, ",".join(map(str, cpus)))], core_types=True)
    tools = {"taskset": need_tool("taskset")}
    choice = AppChoice(app, (program,), tuple(app.sizes.values()), (threads,))
    mappings = (Mapping("m", *mapping),)  # type: ignore[arg-type]
    asked = study(apps=(choice,), mappings=mappings, wait_policies=("passive",))
    plan = make_plan(asked, node, Path, tools, lambda *_: None)
    if plan.skipped:
        return Proof("not started", plan.skipped[0].reason)
    (case,) = plan.cases
    environment = {"PATH": os.environ["PATH"], "LOOKS": str(looks)}
    launch = build_launch(case, Path(program.program), environment, tools)
    return proof_of(execute(launch, HANG_S, Harness(witness(), None)), expected_of(case))


@pytest.mark.parametrize(("binding", "threads"), [("pin", 2), ("set", 2), ("pin", 1)])
@pytest.mark.parametrize("mechanism", ["kmp-affinity", "kmp-hw-subset"])
def test_libomp_follows_its_words(bound: Team, mechanism: str, binding: str, threads: int) -> None:
    assert bound("libomp", "pcores", binding, mechanism, threads=threads) == Proof("proved")


def bound_to(runtime: str, name: str) -> set[tuple[int, ...]]:
    """Return the CPUs to which the runtime says that it has bound each of two threads."""
    both = ",".join(map(str, two_cpus()))
    variables = {"OMP_NUM_THREADS": "2", "OMP_PLACES": name, "OMP_PROC_BIND": "close"}
    variables |= {"OMP_DISPLAY_AFFINITY": "true", "OMP_AFFINITY_FORMAT": "bound to %A"}
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
def test_places_by_name_are_proved_if_the_same(bound: Team, runtime: str, name: str) -> None:
    both = two_cpus()
    meant = {(cpu,) for cpu in both} if PLACES[name] == 2 else {tuple(sorted(both))}
    # In virtual machines libomp may find other caches, by CPUID, than the kernel's files show.
    same = bound_to(runtime, name) == meant
    proof = bound(runtime, "all", "pin", "omp-places-named", name)
    assert proof.verdict == ("proved" if same else "violated"), proof


@pytest.mark.parametrize(
    "mapping",
    [
        ("ecores", "pin", "kmp-hw-subset"),
        ("ecores", "set", "kmp-hw-subset"),
        ("ecores", "pin", "kmp-hw-subset-eff"),
        ("ecores", "set", "kmp-hw-subset-eff"),
        ("ecpus", "pin", "omp-places-named", "cores:intel_atom"),
    ],
)
def test_core_types_that_libomp_lacks_are_violated(bound: Team, mapping: tuple[str, ...]) -> None:
    # The CPUs of this machine have core types for pinstudy only.
    proof = bound("libomp", *mapping, kinds="PE", threads=1)
    assert proof.verdict == "violated"
    # Where no thread is bound to a place, libomp from 16 on says nothing.
    if mapping[1] == "pin":
        assert "the OpenMP runtime says: OMP: Warning" in proof.reason


def test_what_libgomp_does_not_read_is_not_started(bound: Team) -> None:
    proof = bound("libgomp", "pcores", "pin", "kmp-hw-subset")
    why = "libgomp does not read KMP_HW_SUBSET; use omp-places"
    assert proof == Proof("not started", why)
