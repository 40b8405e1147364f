"""A running job is looked at on its node, by its id, its step's, or as a task of an array."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.cpulist import parse_cpulist
from tests.slurm.cluster import PINSTUDY, Cluster
from tests.support.ordinary_user import NOBODY
from tests.support.studies import two_cpus
from tests.support.tools import ROOT, need_tool
from tests.support.wait import until

pytestmark = pytest.mark.slurm

PROGRAM = ("--team-only", "--duration", "3600")
# Somebody else, who may nevertheless enter root's folders, where the tests and Slurm's files are.
SOMEBODY = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
# Seconds; a busy node gives seven looks even so.
LOOK = ("look", "--seconds", "2")


class Job:
    """A team of two threads, each pinned, and a step of two tasks of a thread each."""

    def __init__(self, slurm: Cluster, folder: Path) -> None:
        program = " ".join((need_tool(str(ROOT / "build/bin/threadmap-libgomp")), *PROGRAM))
        first, second = two_cpus()
        places = f"OMP_PLACES='{{{first}}},{{{second}}}' OMP_PROC_BIND=close"
        bound = f"--ntasks=2 --cpus-per-task=1 --overlap --cpu-bind=map_cpu:{first},{second}"
        script = f"OMP_NUM_THREADS=1 srun {bound} {program} &\n{places} {program} --threads=2"
        self.slurm = slurm
        self.id = slurm.checked(
            *("sbatch", "--parsable", "--exclusive", "--nodes=1", "--ntasks=2"),
            *(f"--output={folder}/job.log", "--wrap", script),
        )
        until(lambda: slurm.jobs()[self.id] == "RUNNING", what="the job runs")
        self.node = slurm.checked("squeue", "--noheader", "--format=%N", "--jobs", self.id)
        until(self._has_worked, what="all four threads have worked")

    @property
    def cpus(self) -> str:
        """The CPUs that Slurm gives the job."""
        told = self.slurm.checked("scontrol", "show", "job", "--details", self.id)
        found = re.search(r"CPU_IDs=(\S+)", told)
        assert found, told
        return found[1]

    def look(self, *arguments: str, suffix: str = "", who: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - JSON
        command = (*who, PINSTUDY, *LOOK, "--job", self.id + suffix, "--json", *arguments)
        return json.loads(self.slurm.on(self.node, *command))

    def _has_worked(self) -> bool:
        """Return whether each thread of the programs has worked for a tenth of a second."""
        read = "cat $(grep -l threadmap /proc/[0-9]*/task/*/comm | sed s/comm/schedstat/)"
        done = self.slurm.run_on(self.node, "sh", "-c", read)
        used_ns = [int(line.split()[0]) for line in done.stdout.splitlines()]
        return len(used_ns) == 4 and min(used_ns) > 10**8


@pytest.fixture
def job(bound_slurm: Cluster, tmp_path: Path) -> Job:
    return Job(bound_slurm, tmp_path)


def test_a_job_is_looked_at_with_all_its_tasks_or_by_one_step(job: Job) -> None:
    first, second = two_cpus()
    whole = job.look()
    assert _at_work(whole) == {"threadmap-libgo": 4}
    assert {first, second} <= set(parse_cpulist(job.cpus))
    assert set(parse_cpulist(whole["cpus"])) == {first, second}

    for suffix, pids in ((".0", 2), (".batch", 1)):
        seen = job.look("--expect", f"{first},{second}", "--pin", "--threads", "2", suffix=suffix)
        assert (seen["placement"]["verdict"], len(seen["pids"])) == ("proved", pids)
        busy = [thread for thread in seen["threads"] if thread["at_work"]]
        assert sorted(thread["allowed"] for thread in busy) == [str(first), str(second)]
        assert all(thread["ran_on"] == thread["allowed"] for thread in busy)
        assert len({thread["pid"] for thread in busy}) == pids

    elsewhere = (*LOOK, "--job", f"{job.id}.0", "--expect", str(first))
    done = job.slurm.run_on(job.node, PINSTUDY, *elsewhere)
    assert done.returncode == 1
    assert re.search(f"placement violated: thread .* CPU {second}, outside {first}$", done.stderr)


def test_a_job_is_looked_at_by_somebody_else_and_from_within(job: Job) -> None:
    assert _at_work(job.look(who=SOMEBODY)) == {"threadmap-libgo": 4}
    # The way of users who may not log in to the node; pinstudy is a step of the job then.
    inside = ("srun", "--overlap", f"--jobid={job.id}", "--ntasks=1")
    assert _at_work(job.look(who=inside)) == {"threadmap-libgo": 4}
    with job.slurm.mounted(job.node, "-t", "proc", "-o", "hidepid=2", "proc", "/proc"):
        done = job.slurm.run_on(job.node, *SOMEBODY, PINSTUDY, *LOOK, "--job", job.id)
    assert (done.returncode, done.stderr) == (
        2,
        f"pinstudy: job {job.id}: none of its processes here can be seen: /proc hides them "
        "(hidepid), or they have just ended; look as the job's user\n",
    )


def test_a_job_that_has_no_process_here_is_told_in_a_line(job: Job) -> None:
    slurm = job.slurm
    other = ("sbatch", "--parsable", "--exclusive", "--nodes=1", f"--chdir={slurm.folder}")
    array = slurm.checked(*other, "--array=0-1", "--output=/dev/null", "--wrap", "exec sleep 3600")
    tasks = [f"{array}_{task}" for task in range(2)]
    until(lambda: [slurm.jobs()[task] for task in tasks] == ["RUNNING"] * 2, what="the array runs")
    waiting = slurm.checked(*other, "--begin=now+1hour", "--wrap", "true")
    held = slurm.checked(*other, "--hold", "--wrap", "true")
    nodes = slurm.checked("squeue", "--noheader", "--array", "--format=%i %N", "--jobs", array)
    node_of = dict(line.split() for line in nodes.splitlines())

    # A task of an array has a number of its own, of which its user sees nothing.
    for task in tasks:
        shown = slurm.on(node_of[task], PINSTUDY, *LOOK, "--job", task)
        assert re.match("process [0-9]+ +sleep 3600\n", shown), shown
    slurm.checked("scancel", tasks[1])
    until(lambda: slurm.jobs()[tasks[1]] == "CANCELLED", what="a task has ended")

    runs_there = "has no process on this node: it runs on {}; look there"
    looked_at_while = "; a job can be looked at while it runs"
    told = {
        tasks[0]: runs_there.format(node_of[tasks[0]]),
        tasks[1]: "has ended (CANCELLED)" + looked_at_while,
        waiting: "waits (BeginTime)" + looked_at_while,
        held: "is held (PENDING: JobHeldUser)" + looked_at_while,
        f"{job.id}.7": "has no step 7 here, but 0, batch",
        "99": "is not known to Slurm, or no longer; `squeue --me` lists yours",
    }
    for name, reason in told.items():
        done = slurm.run_on(job.node, PINSTUDY, *LOOK, "--job", name)
        assert (done.returncode, done.stdout, done.stderr) == (
            *(2, ""),
            f"pinstudy: job {name} {reason}\n",
        )
    done = slurm.pinstudy(*LOOK, "--job", job.id)
    assert runs_there.format(job.node) in done.stderr


def _at_work(seen: Any) -> dict[str, int]:  # noqa: ANN401 - JSON
    """Return the number of threads at work by their name."""
    names = [thread["name"] for thread in seen["threads"] if thread["at_work"]]
    return {name: names.count(name) for name in names}
