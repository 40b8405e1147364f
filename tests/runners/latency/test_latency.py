"""Latencies: which pairs of CPUs are measured, by the program, and by programs that fail."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.decoding import decoded
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.units import duration
from pinstudy.runners.host.software import find_program
from pinstudy.runners.latency.measure import (
    PROGRAM,
    LatencySettings,
    estimate_s,
    measure,
    plan_of,
    write_latency,
)
from pinstudy.runners.latency.pairs import (
    PAIRS_OF_A_CLASS,
    PAIRS_OF_A_CPU,
    LatencyPlan,
    classes,
    parse_pairs,
    plan_lines,
    plan_pairs,
)
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.node import Node, open_node
from pinstudy.runners.node.topology import ACROSS_PACKAGES, SHARED_L2, SHARED_L3, Topology
from pinstudy.runners.records.latency_file import LatencyFile, Method
from tests.analysis.latency.made_latency import PLANTED, content_of
from tests.runners.topologies import topology
from tests.support.machines import NUMA_BIG
from tests.support.processes import alive
from tests.support.studies import write_program
from tests.support.tools import missing
from tests.support.trees import Machine, build_tree
from tests.support.wait import HANG_S


def topology_of(tmp_path: Path, machine: str | Machine) -> Topology:
    return read_topology(build_tree(tmp_path, machine))


FOUR = topology([(str(cpu), "P", 0) for cpu in range(4)])
TWO_ALLOWED = topology([(str(cpu), "P", 0) for cpu in range(4)], allowed="1,3")


@st.composite
def nodes(draw: st.DrawFn) -> Topology:
    """Draw nodes of cores in L2 groups in L3 groups in packages, with or without SMT and kinds."""
    threads = draw(st.integers(1, 2))
    sizes = st.lists(st.integers(1, 3), min_size=1, max_size=3)
    packages = st.lists(st.lists(sizes, min_size=1, max_size=3), min_size=1, max_size=2)
    cores: list[tuple[str, str, int]] = []
    caches: list[tuple[int, str]] = []
    cpu = 0
    for package, l3_groups in enumerate(draw(packages)):
        for l2_groups in l3_groups:
            first_of_l3 = cpu
            for size in l2_groups:
                first_of_l2 = cpu
                for _ in range(size):
                    kind = draw(st.sampled_from(("P", "E")))
                    cores.append((f"{cpu}-{cpu + threads - 1}", kind, package))
                    cpu += threads
                caches.append((2, f"{first_of_l2}-{cpu - 1}"))
            caches.append((3, f"{first_of_l3}-{cpu - 1}"))
    return topology(cores, caches)


@pytest.mark.parametrize(
    ("node", "which", "pairs", "name"),
    [
        (FOUR, "all", ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)), "all"),
        # Named pairs are put in order.
        (FOUR, "3:0,1:2", ((0, 3), (1, 2)), "given"),
        # Only allowed CPUs are paired.
        *((TWO_ALLOWED, name, ((1, 3),), name) for name in ("all", "representative")),
        (TWO_ALLOWED, "3:1", ((1, 3),), "given"),
    ],
)
def test_pairs_are_each_once_in_order_and_of_allowed_cpus(
    node: Topology, which: str, pairs: tuple[tuple[int, int], ...], name: str
) -> None:
    plan = plan_pairs(node, which)
    assert (plan.pairs, plan.name) == (pairs, name)
    assert plan.pairs_of_node == (6 if node is FOUR else 1)


@pytest.mark.parametrize("which", ["all", "representative", "0:1"])
def test_one_cpu_makes_no_pair(which: str) -> None:
    two = topology([("0", "P", 0), ("1", "P", 0)], allowed="1")
    with pytest.raises(UserError, match="needs two of them, and this process may use only CPU 1;"):
        plan_pairs(two, which)


def test_classes_tell_kinds_apart(tmp_path: Path) -> None:
    found = classes(topology_of(tmp_path, "i9-14900k-noht"))
    # 8 P-cores, 16 E-cores in modules of four: 28 + 24 + 96 + 128 = 276 pairs.
    assert {name: len(pairs) for name, pairs in found.items()} == {
        (SHARED_L2, "E"): 4 * 6,
        (SHARED_L3, "P"): 28,
        (SHARED_L3, "P and E"): 8 * 16,
        (SHARED_L3, "E"): 120 - 24,
    }


def test_a_cpu_that_was_declared_of_no_kind_is_in_classes_of_its_own() -> None:
    l3 = [(3, "0-3")]
    left_out = topology([("0", "P", 0), ("1", "E", 0), ("2", "", 0), ("3", "", 0)], l3)
    assert plan_pairs(left_out, "representative").why == (
        "one L3 (P and E): 1 of 1, one L3 (P and no kind): 2 of 2, one L3 (E and no kind): 2 of 2, "
        "one L3 (no kind): 1 of 1"
    )


def expect_representative(node: Topology, seed: int) -> None:
    plan = plan_pairs(node, "representative", seed=seed)
    assert plan.name == "representative"
    assert len(set(plan.pairs)) == len(plan.pairs)
    assert all(a < b and {a, b} <= set(node.allowed) for a, b in plan.pairs)
    assert plan_pairs(node, "representative", seed=seed) == plan
    for pairs in classes(node).values():
        drawn = set(pairs).intersection(plan.pairs)
        assert len(drawn) >= min(PAIRS_OF_A_CLASS, len(pairs))
    met = Counter(cpu for pair in plan.pairs for cpu in pair)
    assert all(met[cpu] >= min(PAIRS_OF_A_CPU, len(node.allowed) - 1) for cpu in node.allowed)
    assert ("nearest partner" in plan.why) == (len(plan.pairs) < plan.pairs_of_node)


@given(nodes().filter(lambda node: len(node.allowed) > 1), st.integers(0, 3))
def test_representative_pairs_are_of_every_class_and_every_cpu(node: Topology, seed: int) -> None:
    expect_representative(node, seed)


def test_a_large_node_needs_few_representative_pairs_and_is_told_so(tmp_path: Path) -> None:
    node = topology_of(tmp_path, NUMA_BIG)
    plan = plan_pairs(node, "representative")
    assert plan.pairs_of_node == 256 * 255 // 2
    assert len(plan.pairs) < 2 * 256
    expect_representative(node, seed=2)
    assert plan.why.startswith("SMT siblings: ")
    assert f"{ACROSS_PACKAGES}: {PAIRS_OF_A_CLASS} of {128 * 128}" in plan.why
    # The shorter plan that is suggested is of the chosen CPUs.
    chosen = plan_pairs(node, "all", "0-60", seed=3)
    shorter = plan_pairs(node, "representative", "0-60", seed=3)
    assert plan_lines(node, chosen, 1830.0, seed=3) == [
        "1830 pairs of 32640, about 30 min 30 s",
        f"--pairs representative is shorter: {len(shorter.pairs)} pairs, about "
        f"{duration(len(shorter.pairs))}",
    ]
    # A study's plan is brief by fewer pairs, which take minutes here, and by fewer samples.
    brief, settings = plan_of(node, "brief")
    assert (brief.name, settings.precision) == ("representative", None)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("some", "'some' is no pair of CPUs; expected all, representative, or"),
        ("0:0", "pair 0:0: is one CPU"),
        ("0:1,1:0", "pair 1:0: stands twice"),
        ("0:4", r"pair 0:4: CPU 4 is none of those that this process may use \(0-3\)"),
    ],
)
def test_named_pairs_that_cannot_be_are_refused(pairs: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_pairs(FOUR, pairs)


@pytest.mark.parametrize(
    "text", ["", "0", "0:1:2", "a:b", "0:-1", "0:1,", "0-1:2", "0:²", "0000001:2"]
)
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"is no pair of CPUs; expected .* such as 0:1,0:2"):
        parse_pairs(text)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1))
def test_pairs_survive_being_written_and_read(pairs: list[tuple[int, int]]) -> None:
    assert parse_pairs(",".join(f"{a}:{b}" for a, b in pairs)) == pairs


@given(st.text(max_size=40))
def test_any_text_is_pairs_or_refused(text: str) -> None:
    try:
        pairs = parse_pairs(text)
    except UserError:
        return
    assert pairs


QUICK = LatencySettings(samples=10, precision=None)
RUN = '{"from":0,"to":1,"address":0,"round_trips":9,"one_way_ns":[61.25,60.5],"switched":1}'
PAIR = f'{{"cpus":[0,1],"runs":[{RUN}]}}'
END = '{"end":true,"measured":1,"left_out":0,"elapsed_s":0.1}'


class Progress:
    """A progress that remembers; it stops the measurement after `stop_after` pairs."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.calls: list[tuple[int, int, float | None]] = []
        self._stop_after = stop_after

    def __call__(self, done: int, total: int, left_s: float | None) -> None:
        self.calls.append((done, total, left_s))
        if done == self._stop_after:
            raise KeyboardInterrupt


@pytest.fixture
def real() -> Path:
    """Return the program, where it is built and this process has two CPUs."""
    program = find_program(PROGRAM)
    if program is None:
        missing(f"{PROGRAM} is missing: build it with `make setup`")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    return program


@pytest.fixture
def eight(tmp_path: Path) -> Node:
    """Return a recorded node with eight CPUs."""
    return open_node(build_tree(tmp_path, "synthetic-favoured"))


def fake(tmp_path: Path, body: str) -> Path:
    """Write a program that reads its pairs into the file `asked`, then does what `body` says."""
    text = f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\ncat > {tmp_path}/asked\n{body}\n'
    return write_program(tmp_path / "pingpong-fake", text)


def says(*lines: str) -> str:
    return "\n".join(f"echo '{line}'" for line in lines)


def named(node: Node, *pairs: tuple[int, int]) -> LatencyPlan:
    return plan_pairs(node.topology, ",".join(f"{a}:{b}" for a, b in pairs))


@pytest.mark.parametrize("method", ["cas", "store"])
def test_this_machine_is_measured_in_both_directions(real: Path, method: Method) -> None:
    node = open_node(Path("/"))
    a, b = node.topology.allowed[:2]
    seen = Progress()
    settings = LatencySettings(method, samples=12, precision=0.5)
    content = measure(node, named(node, (b, a)), settings, seen, real)
    assert [(done, of) for done, of, _ in seen.calls] == [(0, 1), (1, 1)]
    assert [left for *_, left in seen.calls] == [None, 0.0]
    (pair,) = content.pairs
    assert pair.cpus == (a, b)
    runs = {(run.from_cpu, run.to_cpu, run.address) for run in pair.runs}
    assert runs == {(*ends, address) for ends in ((a, b), (b, a)) for address in range(2)}
    for run in pair.runs:
        assert 12 <= len(run.one_way_ns) <= 300
        # Between what light needs across a chip and what a disturbed hand-over takes.
        assert all(0.1 < value < 1e8 for value in run.one_way_ns)
        assert run.round_trips is not None and run.round_trips > 0
        assert (run.switched or 0) >= 0
    assert not content.interrupted


def test_the_order_of_runs_is_of_the_seed(real: Path) -> None:
    node = open_node(Path("/"))

    def order(seed: int) -> list[tuple[int, int | None]]:
        settings = LatencySettings(samples=10, precision=None, seed=seed)
        plan = named(node, node.topology.allowed[:2])  # type: ignore[arg-type]
        (pair,) = measure(node, plan, settings, Progress(), real).pairs
        return [(run.from_cpu, run.address) for run in pair.runs]

    assert order(1) == order(1) != order(2)


def test_the_file_says_who_measured_and_how(tmp_path: Path, eight: Node) -> None:
    settings = LatencySettings("store", samples=20, precision=0.02, seed=7)
    # A pair that is left out does not stop the others.
    left_out = {"cpus": [0, 2], "left_out": "CPU 2 is offline"}
    program = fake(tmp_path, says('{"pingpong":1}', json.dumps(left_out), PAIR, END))
    progress = Progress()
    content = measure(eight, named(eight, (0, 1), (0, 2)), settings, progress, program)
    expected = {
        **{"schema": 1, "kind": "latency", "node_id": eight.node_id, "node_digest": eight.digest},
        **{"method": "store", "plan": "given", "pairs_of_node": 28, "samples_least": 20},
        **{"precision": 0.02, "seed": 7, "addresses": 2, "governor": "powersave"},
        "left_out": [{"cpus": [0, 2], "reason": "CPU 2 is offline"}],
        "pairs": [json.loads(PAIR)],
    }
    file = json.loads(write_latency(tmp_path / "results", content).read_text())
    assert {name: file[name] for name in expected} == expected
    assert file["topology"]["online"] == "0-7"
    assert file["versions"]["pinstudy"]
    assert "built_with" in file["unavailable"]
    assert [done for done, _, _ in progress.calls] == [0, 1, 2]
    assert progress.calls[1][2] is not None
    assert (tmp_path / "asked").read_text() == "0:1\n0:2\n"
    arguments = (tmp_path / "arguments").read_text()
    for asked in ("method store", "samples 20", "precision 0.02", "addresses 2", "seed 7"):
        assert f"--{asked}" in arguments


def test_what_was_measured_before_a_stop_is_kept(tmp_path: Path, eight: Node) -> None:
    program = fake(tmp_path, says(PAIR) + f"\necho $$ > {tmp_path}/pid; exec sleep 60")
    plan = named(eight, (0, 1), (0, 2))
    content = measure(eight, plan, QUICK, Progress(stop_after=1), program)
    assert content.interrupted
    assert [pair.cpus for pair in content.pairs] == [(0, 1)]
    path = write_latency(tmp_path / "results", content)
    assert decoded(path.read_bytes(), LatencyFile) == content


def test_a_stop_before_the_first_pair_is_a_stop(tmp_path: Path, eight: Node) -> None:
    program = fake(tmp_path, "exec sleep 60")
    with pytest.raises(KeyboardInterrupt):
        measure(eight, named(eight, (0, 1)), QUICK, Progress(stop_after=0), program)
    interrupted = fake(tmp_path, "kill -INT $$; exec sleep 60")
    with pytest.raises(KeyboardInterrupt):
        measure(eight, named(eight, (0, 1)), QUICK, Progress(), interrupted)


def test_a_program_that_does_not_read_its_pairs_is_stopped_all_the_same(
    tmp_path: Path, eight: Node
) -> None:
    pid = tmp_path / "pid"
    text = f"#!/bin/sh\necho $$ > {pid}\necho '{PAIR}'\nexec sleep {HANG_S:.0f}\n"
    program = write_program(tmp_path / "pingpong-deaf", text)
    # Their text does not fit into a pipe.
    plan = LatencyPlan("given", ((0, 1),) * 40_000, 28, "many")

    def stop(done: int, _of: int, _left_s: float | None) -> None:
        if done == 1:
            assert alive(int(pid.read_text()))
            raise KeyboardInterrupt

    assert measure(eight, plan, QUICK, stop, program).interrupted
    assert not alive(int(pid.read_text()))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "cannot be started"),
        ("echo 'pingpong: no memory' >&2; exit 1", r"no memory \(exit status 1\)"),
        ("exit 3", "exit status 3"),
        ("kill -KILL $$", "ended by SIGKILL"),
        (says(PAIR), "exit status 0"),
        (says("no JSON"), "its output cannot be read"),
        (says("[]"), "its output cannot be read"),
        (says('{"cpus":[0,5],"runs":[]}'), "a pair that was not asked for"),
        (says('{"cpus":[0,1]}'), "its output cannot be read"),
        (
            says('{"cpus":[0,1],"left_out":"CPU 1 is offline"}', END) + "\nexit 1",
            "no pair could be measured: CPUs 0 and 1: CPU 1 is offline",
        ),
    ],
)
def test_a_program_that_fails_is_one_line(
    tmp_path: Path, eight: Node, body: str | None, message: str
) -> None:
    program = fake(tmp_path, body) if body is not None else tmp_path / "nothing"
    with pytest.raises(StudyError, match=message) as failed:
        measure(eight, named(eight, (0, 1)), QUICK, Progress(), program)
    assert "\n" not in str(failed.value)


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    content = decoded(json.dumps(content_of(PLANTED["two"])).encode(), LatencyFile)
    path = write_latency(tmp_path / "new" / "folder", content)
    assert path == tmp_path / "new" / "folder" / "latency.json"
    assert decoded(path.read_bytes(), LatencyFile) == content
    assert [file.name for file in path.parent.iterdir()] == ["latency.json"]
    with pytest.raises(StudyError, match="cannot be written"):
        write_latency(path, content)


def test_the_estimate_grows_with_pairs_and_samples() -> None:
    few = estimate_s(100, LatencySettings())
    assert estimate_s(200, LatencySettings()) == pytest.approx(2 * few)
    # 28 pairs x 4 runs x 30 samples x 50 us are 0.168 s, to which warm-up and threads add.
    assert 0.168 < estimate_s(28, LatencySettings()) < 0.4
    assert estimate_s(100, LatencySettings(samples=300)) > 5 * few


@pytest.mark.parametrize("samples", [10, 10_000])
def test_the_program_takes_what_settings_take(real: Path, samples: int) -> None:
    settings = LatencySettings(samples=samples, precision=0.999, seed=2**32)
    arguments = [*settings.arguments(), "--pairs", "65534:65535"]
    ended = subprocess.run([real, *arguments], capture_output=True, text=True, check=False)
    assert ended.stderr == "pingpong: none of the pairs could be measured\n"


@pytest.mark.parametrize(
    ("which", "name", "precise"),
    [("all", "all", True), ("representative", "representative", True), ("brief", "all", False)],
)
def test_a_studys_plan_of_pairs_is_brief_by_fewer_samples(
    eight: Node, which: str, name: str, precise: bool
) -> None:
    plan, settings = plan_of(eight.topology, which)
    assert (plan.name, settings.precision is not None) == (name, precise)


def test_pairs_are_left_out_when_the_time_is_up(tmp_path: Path, eight: Node) -> None:
    program = fake(tmp_path, says(PAIR) + "\nexec sleep 1000")
    plan = named(eight, (0, 1), (0, 2), (1, 2))
    settings = LatencySettings(samples=10, precision=None, limit_s=0.0)
    content = measure(eight, plan, settings, Progress(), program)
    assert [pair.cpus for pair in content.pairs] == [(0, 1)]
    assert [pair.cpus for pair in content.left_out] == [(0, 2), (1, 2)]
    assert {pair.reason for pair in content.left_out} == {"the time was up"}
    assert not content.interrupted
