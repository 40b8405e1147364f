"""A study of ranks and threads, as a user runs it."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.cli import pinstudy, started, stop
from tests.support.mpi import ALLOW_ROOT, MPIS, build_ranks, need_mpi
from tests.support.processes import command_line, descendants, name_of
from tests.support.studies import records, write_program
from tests.support.wait import until

STUDY = """\
title: Ranks or threads?
apps:
  - {{app: ranks, builds: {mpi}, sizes: small, ranks: 1, threads: 2}}
  - {{app: ranks, builds: {mpi}, sizes: small, ranks: 2, threads: 1}}
mappings:
  - unpinned
  - {{name: pinned, selection: cores, binding: pin}}
repetitions: 1
warmup: 0
collect: [perf]
"""
APP = """\
title: Ranks of threads
builds:
  {mpi}: {{program: {program}, runtime: libgomp, mpi: {mpi}}}
sizes:
  small: {{arguments: '{seconds}'}}
  endless: {{arguments: '100000'}}
check: {{pattern: ', 2 threads$'}}
"""
# A launcher of one rank that does not end with it, as mpirun of Open MPI 4.1.4 sometimes does.
STAYING = """\
#!/bin/sh
case $1 in --version) echo 'mpirun (Open MPI) 4.1.4'; exit ;; esac
while [ "$1" != -n ]; do shift; done
shift 2
OMPI_COMM_WORLD_RANK=0 "$@" &
exec tail -f /dev/null
"""
# Long beside what Open MPI uses elsewhere while it starts.
SECONDS = {"openmpi": 1.5, "mpich": 0.6}
pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


def write(folder: Path, mpi: str, program: Path) -> None:
    (folder / "apps").mkdir()
    app = APP.format(mpi=mpi, program=program, seconds=SECONDS[mpi])
    (folder / "apps" / "ranks.yaml").write_text(app)
    (folder / "ranks.yaml").write_text(STUDY.format(mpi=mpi))


@pytest.mark.parametrize("mpi", MPIS)
def test_one_rank_of_two_threads_and_two_of_one_are_run_proved_and_reported(
    tmp_path: Path, mpi: str
) -> None:
    need_mpi(mpi)
    write(tmp_path, mpi, build_ranks(mpi))
    pinstudy(tmp_path, "run", "ranks.yaml", status=0, **ALLOW_ROOT)
    made = {
        (run["ranks"]["number"], run["threads"], run["mapping"]): run for run in records(tmp_path)
    }
    assert sorted(made) == [
        (1, 2, "pinned"),
        (1, 2, "unpinned"),
        (2, 1, "pinned"),
        (2, 1, "unpinned"),
    ]
    assert {(run["status"], run["placement"]["verdict"]) for run in made.values()} == {
        ("ok", "proved")
    }, [run["unavailable"] for run in made.values()]
    pinned = made[2, 1, "pinned"]
    busy = {
        thread["rank"]: thread["allowed"]
        for thread in pinned["placement"]["threads"]
        if thread["cpu_s"] > 0.5
    }
    assert busy == dict(enumerate(pinned["ranks"]["cpus"]))
    assert len(set(busy.values())) == 2
    assert pinned["ranks"]["mpi"] == mpi
    tables = pinstudy(tmp_path, "tables", "results/ranks", "--all").stdout
    assert f"ranks ({mpi}), size small, 1 rank of 2 threads, " in tables
    assert f"ranks ({mpi}), size small, 2 ranks of 1 thread, " in tables


def test_a_launcher_that_refuses_root_is_named_before_anything_is_started(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root is refused")
    need_mpi("openmpi")
    write(tmp_path, "openmpi", Path("/bin/true"))
    done = pinstudy(tmp_path, "run", "ranks.yaml", status=2, **dict.fromkeys(ALLOW_ROOT, ""))
    assert done.stderr == (
        "pinstudy: ranks.yaml: Open MPI starts no ranks as root; start as a user, or allow it with "
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
    )
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_rank_and_no_launcher_outlives_pinstudy(
    tmp_path: Path,
    mpi: str,
    number: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
    at_end: ExitStack,
) -> None:
    need_mpi(mpi)
    program = build_ranks(mpi)
    write(tmp_path, mpi, program)
    study = tmp_path / "ranks.yaml"
    study.write_text(study.read_text().replace("small", "endless"))
    # The path of a socket has 107 characters at most.
    temporary = at_end.enter_context(TemporaryDirectory())
    for name, value in {**ALLOW_ROOT, "TMPDIR": temporary}.items():
        monkeypatch.setenv(name, value)
    with started(tmp_path, "run", "ranks.yaml") as process:
        until(lambda: ranks_below(process.pid, program), what="a rank runs")
        assert any(name_of(pid).startswith("mpi") for pid in descendants(process.pid))
        stop(process, number)
    assert not list(Path(temporary).glob("pinstudy-*"))


def test_a_launcher_that_does_not_end_with_its_ranks_does_not_outlive_pinstudy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write_program(tmp_path / "program", "#!/bin/sh\nexec sleep 100000\n")
    write(tmp_path, "openmpi", program)
    study = tmp_path / "ranks.yaml"
    study.write_text(study.read_text().replace("ranks: 2", "ranks: 1"))
    (tmp_path / "path").mkdir()
    write_program(tmp_path / "path" / "mpirun", STAYING)
    path = f"{tmp_path / 'path'}:{os.environ['PATH']}"
    for name, value in {**ALLOW_ROOT, "PATH": path}.items():
        monkeypatch.setenv(name, value)
    with started(tmp_path, "run", "ranks.yaml") as process:
        until(lambda: a_process_below(process.pid, "sleep"), what="the rank runs")
        until(lambda: a_process_below(process.pid, "tail"), what="the launcher waits")
        stop(process, signal.SIGKILL)


def a_process_below(pid: int, name: str) -> bool:
    return any(name_of(below) == name for below in descendants(pid))


def ranks_below(pid: int, program: Path) -> bool:
    return any(command_line(below)[:1] == [str(program)] for below in descendants(pid))
