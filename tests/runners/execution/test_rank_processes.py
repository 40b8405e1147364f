"""Real ranks of Open MPI and of MPICH: where they are, what they use, and how they end."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.base.errors import StudyError
from pinstudy.configs.app import Build, Size
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.study import AppChoice
from pinstudy.runners.execution.execute import Harness, Observation, execute
from pinstudy.runners.execution.outcome import classify, expected_of, proof_of
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.host.software import find_mpi
from pinstudy.runners.measure.perf.events import perf_command
from pinstudy.runners.placement.thread_placement import Proof
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import build_launch
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import make_plan
from pinstudy.runners.records.perf.output import parse_perf_output
from tests.runners.cases import DEMO, UNPINNED, study
from tests.runners.topologies import topology
from tests.support.held import looks_counted
from tests.support.limits import many_open_files
from tests.support.mpi import ALLOW_ROOT, MPIS, build_ranks, need_mpi
from tests.support.programs import witness
from tests.support.studies import two_cpus, write_program
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

ENVIRONMENT = {"PATH": os.environ["PATH"], **ALLOW_ROOT}
PINNED = Mapping("m", "pcores", "pin")
# While it starts, Open MPI uses CPU time elsewhere: 0.03 s here, over 0.11 s on a busy node.
# 5 % of what the ranks use are forgiven. Seconds of CPU time a thread, and what it is proved for.
PROVED = {"openmpi": (1.5, ["pin"]), "mpich": (0.6, ["pin", "set"])}

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@pytest.fixture(scope="module", params=MPIS)
def mpi(request: pytest.FixtureRequest) -> str:
    """The name of an MPI that is installed."""
    name: str = request.param
    need_mpi(name)
    return name


@pytest.fixture(scope="module")
def program(mpi: str) -> Path:
    """The test's program, built with this MPI."""
    return build_ranks(mpi)


class Job:
    """A case of ranks of a program on two CPUs of one kind, and its launch."""

    def __init__(self, mpi: str, program: Path, mapping: Mapping, *arguments: str) -> None:
        build = Build("libgomp", str(program), "libgomp", mpi=mpi)
        size = Size("small", arguments)
        app = replace(DEMO, builds={"v": build}, sizes={"s": size}, arguments=("{size}",))
        app = replace(app, metrics=(), limit_s=HANG_S)
        node = topology([(str(cpu), "P", 0) for cpu in two_cpus()])
        choice = AppChoice(app, (build,), (size,), (1,), ranks=(2,))
        asked = study(apps=(choice,), mappings=(mapping,), wait_policies=("passive",))
        tools = {"taskset": need_tool("taskset"), **find_mpi()}
        self.case: Case
        (self.case,) = make_plan(asked, node, Path, tools, lambda *_: None).cases
        self.launch: Launch = build_launch(self.case, program, ENVIRONMENT, tools)

    def run(self, command: tuple[str, ...] | None = None, limit_s: float = HANG_S) -> Observation:
        return execute(self.launch, limit_s, Harness(witness(), command))

    def proof(self, seen: Observation) -> Proof:
        return proof_of(seen, expected_of(self.case))


# One rank of two threads, and binding `none`, are in tests/cli/study/test_ranks.py.
def test_ranks_are_proved_where_their_mapping_puts_them(
    mpi: str, program: Path, tmp_path: Path
) -> None:
    work_s, bindings = PROVED[mpi]
    command = perf_command(need_tool("perf"), "task-clock")
    for binding in bindings:
        with looks_counted(tmp_path / "looks") as looks:
            arguments = (str(work_s), "-1", str(looks))
            job = Job(mpi, program, Mapping("m", "pcores", binding), *arguments)
            seen = job.run(command)
        assert seen.stdout == "2 ranks, 2 threads\n", seen.stderr
        assert job.proof(seen) == Proof("proved"), seen.threads
        assert classify(job.case, seen, Proof("proved")) == ("ok", "")
        busy = {trace.team: trace.allowed for trace in seen.threads if trace.cpu_s > work_s / 2}
        assert busy == dict(enumerate((cpu,) for cpu in two_cpus()))
        # A rank that waits for the other one, at the start or at the end, works too.
        assert (seen.ending.cpu_s or 0) >= 2 * work_s
        assert len(seen.teams) == 2
        assert seen.perf_problem == ""
        (row,) = parse_perf_output(seen.perf_output).rows
        counted_s = (row.value or 0) / 1000
        # Open MPI's ranks wait by sched_yield(2); no event counts the switches to other tasks.
        ranks_s = [team.cpu_s or 0.0 for team in seen.teams]
        assert sum(ranks_s) == pytest.approx(seen.ending.cpu_s)
        assert counted_s > max(1.9 * work_s, *ranks_s)
        assert counted_s < 1.1 * sum(ranks_s)
        assert seen.facts["ranks.launcher_cpu_s"] < (seen.ending.cpu_s or 0) / 4


def test_ranks_on_the_same_first_cpu_are_caught(mpi: str, program: Path, tmp_path: Path) -> None:
    # As where a shell's start-up file sets it: the launcher binds nothing, the runtime does.
    binds = f'#!/bin/sh\nOMP_PROC_BIND=true exec {program} "$@"\n'
    trap = write_program(tmp_path / "trap", binds)
    with looks_counted(tmp_path / "looks") as looks:
        job = Job(mpi, trap, UNPINNED, "0.4", "-1", str(looks))
        proof = job.proof(job.run())
    assert proof.verdict == "violated"
    assert f"; ranks 0 and 1 shared CPU {two_cpus()[0]}" in proof.reason


def test_ranks_run_beside_open_files_and_from_a_pasted_line(mpi: str, program: Path) -> None:
    job = Job(mpi, program, PINNED, "0.01")
    with many_open_files():
        assert job.run().stdout == "2 ranks, 2 threads\n"
    line = ["sh", "-c", job.launch.shell_line]
    pasted = subprocess.run(line, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert pasted.stdout == "2 ranks, 2 threads\n"


def test_a_rank_that_fails_ends_the_others(mpi: str, program: Path) -> None:
    seen = Job(mpi, program, PINNED, "0.2", "1").run()
    assert (seen.ending.exit_code, seen.timed_out) == (3, False)
    assert seen.teams[0].wait_status != 0


def test_ranks_are_killed_at_their_limit(mpi: str, program: Path) -> None:
    seen = Job(mpi, program, PINNED, "1000").run(limit_s=0.5)
    assert seen.timed_out
    assert [team.signal for team in seen.teams] == [9, 9]


def test_a_launcher_that_starts_nothing_is_explained(mpi: str, program: Path) -> None:
    job = Job(mpi, program, PINNED, "1")
    job.launch = replace(job.launch, launcher=(job.launch.launcher[0], "--no-such-option"))
    with pytest.raises(LaunchError, match="no-such-option"):
        job.run()


def test_a_folder_for_temporary_files_that_is_too_deep_for_a_socket_is_named(
    mpi: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(StudyError, match=r"too long for a socket.* \$TMPDIR"):
        Job(mpi, program, PINNED, "1").run()
    assert list(deep.iterdir()) == []
