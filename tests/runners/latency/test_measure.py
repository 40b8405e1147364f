"""Measuring latencies: with the program on this machine, and with programs that fail."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from base.decoding import decoded
from base.errors import StudyError
from runners.host.software import find_program
from runners.latency.measure import (
    PROGRAM,
    LatencySettings,
    estimate_s,
    measure,
    plan_of,
    write_latency,
)
from runners.latency.pairs import LatencyPlan, plan_pairs
from runners.node.node import Node, open_node
from runners.records.latency_file import LatencyFile, LeftOutPair, Method
from tests.analysis.latency.made_latency import PLANTED, content_of
from tests.support.machines import NUMA_BIG
from tests.support.processes import alive
from tests.support.studies import write_program
from tests.support.tools import missing
from tests.support.trees import Machine, build_tree
from tests.support.wait import HANG_S

QUICK = LatencySettings(samples=10, precision=None)
RUN = '{"from":0,"to":1,"address":0,"round_trips":9,"one_way_ns":[61.25,60.5],"switched":1}'
PAIR = f'{{"cpus":[0,1],"runs":[{RUN}]}}'
END = '{"end":true,"measured":1,"left_out":0,"elapsed_s":0.1}'


class Seen:
    """A progress that remembers; it stops the measurement after `stop_after` pairs."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.calls: list[tuple[int, int, float | None]] = []
        self._stop_after = stop_after

    def __call__(self, done: int, of: int, left_s: float | None) -> None:
        self.calls.append((done, of, left_s))
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
    seen = Seen()
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
        assert run.round_trips > 0
        assert (run.switched or 0) >= 0
    assert not content.interrupted


def test_the_order_of_runs_is_of_the_seed(real: Path) -> None:
    node = open_node(Path("/"))

    def order(seed: int) -> list[tuple[int, int]]:
        settings = LatencySettings(samples=10, precision=None, seed=seed)
        plan = named(node, node.topology.allowed[:2])  # type: ignore[arg-type]
        (pair,) = measure(node, plan, settings, Seen(), real).pairs
        return [(run.from_cpu, run.address) for run in pair.runs]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_the_file_says_who_measured_and_how(tmp_path: Path, eight: Node) -> None:
    settings = LatencySettings("store", samples=20, precision=0.02, seed=7)
    program = fake(tmp_path, says('{"pingpong":1}', PAIR, END))
    content = measure(eight, named(eight, (0, 1)), settings, Seen(), program)
    expected = {
        "schema": 1,
        "kind": "latency",
        "node_id": eight.node_id,
        "node_digest": eight.digest,
        "method": "store",
        "plan": "given",
        "pairs_of_node": 28,
        "samples_least": 20,
        "precision": 0.02,
        "seed": 7,
        "addresses": 2,
        "governor": "powersave",
        "left_out": [],
    }
    file = json.loads(write_latency(tmp_path / "results", content).read_text())
    assert {name: file[name] for name in expected} == expected
    assert file["pairs"] == [json.loads(PAIR)]
    assert file["topology"]["online"] == "0-7"
    assert file["versions"]["pinstudy"]
    assert "built_with" in file["unavailable"]
    assert (tmp_path / "asked").read_text() == "0:1\n"
    arguments = (tmp_path / "arguments").read_text().split()
    asked = {"--method": "store", "--samples": "20", "--precision": "0.02", "--addresses": "2",
             "--seed": "7"}  # fmt: skip
    assert {name: arguments[arguments.index(name) + 1] for name in asked} == asked


def test_a_pair_that_is_left_out_does_not_stop_the_others(tmp_path: Path, eight: Node) -> None:
    left_out = '{"cpus":[0,2],"left_out":"CPU 2 is offline"}'
    program = fake(tmp_path, says(left_out, PAIR, END))
    seen = Seen()
    content = measure(eight, named(eight, (0, 1), (0, 2)), QUICK, seen, program)
    assert content.left_out == [LeftOutPair((0, 2), "CPU 2 is offline")]
    assert [pair.cpus for pair in content.pairs] == [(0, 1)]
    assert [done for done, _, _ in seen.calls] == [0, 1, 2]
    assert seen.calls[1][2] is not None


def test_what_was_measured_before_a_stop_is_kept(tmp_path: Path, eight: Node) -> None:
    program = fake(tmp_path, says(PAIR) + f"\necho $$ > {tmp_path}/pid; exec sleep 60")
    plan = named(eight, (0, 1), (0, 2))
    content = measure(eight, plan, QUICK, Seen(stop_after=1), program)
    assert content.interrupted
    assert [pair.cpus for pair in content.pairs] == [(0, 1)]
    path = write_latency(tmp_path / "results", content)
    assert decoded(path.read_bytes(), LatencyFile) == content


def test_a_stop_before_the_first_pair_is_a_stop(tmp_path: Path, eight: Node) -> None:
    program = fake(tmp_path, "exec sleep 60")
    with pytest.raises(KeyboardInterrupt):
        measure(eight, named(eight, (0, 1)), QUICK, Seen(stop_after=0), program)
    interrupted = fake(tmp_path, "kill -INT $$; exec sleep 60")
    with pytest.raises(KeyboardInterrupt):
        measure(eight, named(eight, (0, 1)), QUICK, Seen(), interrupted)


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
        measure(eight, named(eight, (0, 1)), QUICK, Seen(), program)
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
    ("machine", "which", "name", "precise"),
    [
        ("synthetic-favoured", "all", "all", True),
        ("synthetic-favoured", "representative", "representative", True),
        ("synthetic-favoured", "brief", "all", False),
        # 256 CPUs have 32640 pairs, which take minutes.
        (NUMA_BIG, "brief", "representative", False),
    ],
)
def test_a_studys_plan_of_pairs_is_brief_by_fewer_pairs_and_samples(
    tmp_path: Path, machine: str | Machine, which: str, name: str, precise: bool
) -> None:
    topology = open_node(build_tree(tmp_path, machine)).topology
    plan, settings = plan_of(topology, which)
    assert plan.name == name
    assert (settings.precision is not None) == precise


def test_pairs_are_left_out_when_the_time_is_up(tmp_path: Path, eight: Node) -> None:
    program = fake(tmp_path, says(PAIR) + "\nexec sleep 1000")
    plan = named(eight, (0, 1), (0, 2), (1, 2))
    settings = LatencySettings(samples=10, precision=None, limit_s=0.0)
    content = measure(eight, plan, settings, Seen(), program)
    assert [pair.cpus for pair in content.pairs] == [(0, 1)]
    assert [pair.cpus for pair in content.left_out] == [(0, 2), (1, 2)]
    assert {pair.reason for pair in content.left_out} == {"the time was up"}
    assert not content.interrupted
