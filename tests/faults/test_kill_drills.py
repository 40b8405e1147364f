"""Whoever of a run is stopped or killed, in which order: nothing is left for the next run."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from pinstudy.runners.records.reader import read_records
from tests.faults.trial import Trial
from tests.support.mpi import ALLOW_ROOT, need_mpi
from tests.support.processes import alive, children, command_line, descendants, name_of
from tests.support.studies import write_app, write_program
from tests.support.tools import need_tool
from tests.support.wait import until

# Who is struck, and by which signals, in which order.
PLAIN = (
    *("witness INT", "witness TERM", "witness HUP", "witness QUIT", "witness USR1"),
    *("witness KILL", "witness KILL, pinstudy KILL", "pinstudy KILL, witness KILL"),
    *("witness STOP, pinstudy KILL", "witness STOP, pinstudy INT", "witness STOP, pinstudy TERM"),
    *("pinstudy STOP, witness KILL, pinstudy KILL", "pinstudy STOP, witness TERM, pinstudy KILL"),
    *("pinstudy KILL", "pinstudy INT", "pinstudy TERM", "pinstudy HUP"),
    *("perf KILL", "perf TERM", "perf STOP, pinstudy KILL"),
    *("perf STOP, witness STOP, pinstudy KILL", "perf STOP, witness KILL, pinstudy KILL"),
)
BESIDE = (
    *("supervisor KILL", "supervisor TERM", "supervisor STOP, pinstudy KILL"),
    *("witness STOP, supervisor KILL", "witness STOP, supervisor KILL, pinstudy KILL"),
    *("supervisor KILL, witness KILL, pinstudy KILL", "pinstudy KILL, supervisor KILL"),
)
RANKS = (
    *("witness TERM", "witness KILL", "ranks KILL", "launcher KILL", "launcher TERM"),
    *("witness STOP, pinstudy KILL", "launcher STOP, witness STOP, pinstudy KILL"),
    *("ranks STOP, witness STOP, pinstudy KILL", "witness STOP, launcher KILL, pinstudy KILL"),
    *("witness KILL, pinstudy KILL", "launcher KILL, witness KILL, pinstudy KILL"),
)
# Each run has two daemons: one clears its environment.
PROGRAM = """\
#!/bin/sh
{only}
if [ -e {folder}/hold ]; then
    setsid sleep 1000 & echo $! >>{folder}/daemons
    {second}
else
    for pid in $(cat {earlier}); do
        read -r _ _ state _ </proc/$pid/stat && [ $state != Z ] && echo $pid >>{folder}/beside
    done 2>/dev/null
fi
{work}
echo $$ >>{folder}/starts
while [ -e {folder}/hold ]; do sleep 0.02; done
"""
SECOND = "env -i setsid /bin/sleep 1000 & echo $! >>{folder}/daemons"
# CPU time, 10 ticks of the kernel's, by which a co-runner is seen to run.
WORK = "t=0; while [ $t -lt 10 ]; do read -r s </proc/$$/stat; set -- ${s##*) }; t=${12}; done"
# A co-runner ends at once where it runs alone: its witness is not started by a supervisor.
ONLY = (
    "read -r s </proc/$PPID/stat; set -- ${s##*) }; "
    "grep -q co_runner_supervisor /proc/$2/cmdline || exit 0"
)


@dataclass
class Counts:
    """What became of planned runs, and what outlived them."""

    attempts: int = 0
    lost: int = 0
    doubled: int = 0
    left_over: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, of.name) + getattr(other, of.name) for of in fields(self)))


class Drilled:
    """A study that is struck in its first run, and made again."""

    def __init__(self, folder: Path, kind: str, blows: str) -> None:
        self.trial = Trial(folder, 1)
        self.folder = folder
        self.kind = kind
        # The path of a socket has 107 characters at most.
        self.temporary = Path(tempfile.mkdtemp())
        daemons = folder / "daemons"
        daemons.touch()
        # Nothing tells whose it is once both parents are gone.
        orphaned = "witness KILL" in blows and "pinstudy KILL" in blows
        second = "" if orphaned else SECOND.format(folder=folder)
        work = WORK if kind == "beside" else ""
        text = PROGRAM.format(folder=folder, second=second, work=work, only="", earlier=daemons)
        write_program(folder / "nap", text)
        study = folder / "trial.yaml"
        app = folder / "apps" / "nap.yaml"
        text = study.read_text() + "collect: [perf]\n"
        self.planned = self.trial.runs
        if kind == "beside":
            # It starts again beside what its own last execution has left.
            other = PROGRAM.format(
                folder=folder, second=second, work=work, only=ONLY, earlier=os.devnull
            )
            program = write_program(folder / "other", other)
            write_app(folder, "other", program, {"short": {"arguments": []}})
            one = "{app: other, build: plain, size: short, threads: 1, mapping: unpinned}"
            text += f"co_runners: {one}\n"
            self.planned *= 2
        if kind == "ranks":
            text = text.replace("threads: 1}", "threads: 1, ranks: 2}")
            runtime = "runtime: none"
            app.write_text(app.read_text().replace(runtime, f"{runtime}, mpi: openmpi"))
        study.write_text(text)

    def variables(self) -> dict[str, str]:
        return {"TMPDIR": str(self.temporary), **(ALLOW_ROOT if self.kind == "ranks" else {})}

    def strike(self, blows: str) -> None:
        """Hold a run, strike, and let all go that still can."""
        self.trial.hold()
        runner = self.trial.start(**self.variables())
        together = 1 if self.kind == "plain" else 2
        until(lambda: self.trial.starts() == together, runner)
        victims = self._victims(runner)
        for blow in blows.split(", "):
            name, number = blow.split()
            assert victims[name], name
            for pid in victims[name]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.Signals[f"SIG{number}"])
        self.trial.release()
        _, err = self.trial.wait_for(runner)
        assert "Traceback" not in err, err

    def _victims(self, runner: subprocess.Popen[str]) -> dict[str, list[int]]:
        everyone = list(descendants(runner.pid))
        witnesses = [pid for pid in everyone if name_of(pid) == "pinstudy-witnes"]
        return {
            "pinstudy": [runner.pid],
            "witness": witnesses,
            "ranks": [pid for witness in witnesses for pid in children(witness)],
            "perf": [pid for pid in everyone if name_of(pid).startswith("perf")],
            "launcher": [pid for pid in everyone if name_of(pid).startswith("mpirun")],
            "supervisor": [
                pid for pid in everyone if "co_runner_supervisor.py" in " ".join(command_line(pid))
            ],
        }

    def again(self) -> Counts:
        """Run the study again; return what is counted."""
        status, err = self.trial.run(**self.variables())
        assert "Traceback" not in err, err
        assert status in (0, 1), err
        runs = self.trial.final_runs()
        keys = [(run["case_id"], run["warmup"], run["repetition"]) for run in runs]
        left: list[object] = [*self._numbers("beside"), *filter(alive, self._numbers("daemons"))]
        left += [*self.trial.processes(), *self.temporary.glob("pinstudy-*")]
        if left:
            print("left over:", left, err)
        doubled = len(keys) - len(set(keys))
        return Counts(1, self.planned - len(set(keys)), doubled, len(left))

    def _numbers(self, name: str) -> Iterable[int]:
        path = self.folder / name
        return map(int, path.read_text().split()) if path.exists() else ()

    def end(self) -> None:
        """End what a failed test leaves, and remove its folder."""
        shutil.rmtree(self.temporary)
        left = [int(line.partition(":")[0]) for line in self.trial.processes()]
        for pid in (*left, *self._numbers("daemons")):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def drill(folder: Path, kind: str, blows: str) -> Counts:
    folder.mkdir()
    drilled = Drilled(folder, kind, blows)
    try:
        drilled.strike(blows)
        return drilled.again()
    finally:
        drilled.end()


@pytest.mark.faults
@pytest.mark.parametrize(
    ("kind", "table"),
    [("plain", PLAIN), ("beside", BESIDE), ("ranks", RANKS)],
    ids=["plain", "beside", "ranks"],
)
def test_whoever_is_struck_nothing_outlives_the_run(
    tmp_path: Path, kind: str, table: tuple[str, ...]
) -> None:
    need_tool("perf")
    if kind == "ranks":
        need_mpi("openmpi")
    counts = {blows: drill(tmp_path / str(at), kind, blows) for at, blows in enumerate(table)}
    for blows, counted in counts.items():
        print(f"{kind:<7} {blows:<46} {counted}")
    together = sum(counts.values(), Counts())
    print(f"{kind}: {together}")
    assert together == Counts(len(table)), counts


# One of each kind in every run of the tests.
@pytest.mark.parametrize(
    ("kind", "blows"),
    [
        ("plain", "witness TERM"),
        ("plain", "witness KILL"),
        ("plain", "witness KILL, pinstudy KILL"),
        ("plain", "perf STOP, witness STOP, pinstudy KILL"),
        ("beside", "witness STOP, supervisor KILL, pinstudy KILL"),
        ("ranks", "witness STOP, pinstudy KILL"),
    ],
)
def test_one_drill_of_each_kind(tmp_path: Path, kind: str, blows: str) -> None:
    need_tool("perf")
    if kind == "ranks":
        need_mpi("openmpi")
    assert drill(tmp_path / "drill", kind, blows) == Counts(1)


RUNS = 150
# As the kernel has them, cut to 15 characters; the program is a script that becomes a sleep.
PARTS = ("taskset", "pinstudy-witnes", "perf", "nap", "sleep")
REASONS = (
    r"ended by SIGKILL",
    r"\S*(taskset|pinstudy-witness) was ended by SIGKILL: no message",
    r"\S*(taskset|pinstudy-witness) ended with status \d+: no message",
    # taskset or the witness itself had no time to start the program.
    r"could not be started: .*",
)


def strike(runner: subprocess.Popen[str], chance: random.Random) -> None:
    """Kill one of the runner's current processes, or its process group."""
    # Not a command that it runs between runs: if one fails twice, the study ends in a line.
    victims = [pid for pid in descendants(runner.pid) if name_of(pid) in PARTS]
    if victims:
        victim = chance.choice(victims)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if chance.random() < 0.2 and os.getpgid(victim) == victim:
                os.killpg(victim, signal.SIGKILL)
            else:
                os.kill(victim, signal.SIGKILL)


@pytest.mark.faults
def test_a_killed_part_is_recorded_and_no_number_is_wrong(tmp_path: Path) -> None:
    need_tool("perf")
    trial = Trial(tmp_path, RUNS, nap_s=0.15)
    study = tmp_path / "trial.yaml"
    study.write_text(study.read_text().replace("[unpinned]", "[pcores-pin]"))
    chance = random.Random(11)
    runner = trial.start("run", "trial.yaml", "--kinds", f"P={min(os.sched_getaffinity(0))}")
    trial.wait_for_start_after(0)
    while runner.poll() is None:
        time.sleep(chance.uniform(0, 0.4))
        if trial.starts() < RUNS:
            strike(runner, chance)
    status, err = trial.wait_for(runner)
    assert status == 0, err
    assert "Traceback" not in err
    trial.assert_no_process_left()
    runs = [r for r in read_records(trial.records_folder) if r["status"] != "skipped"]
    assert len({(r["warmup"], r["repetition"]) for r in runs}) == len(runs) == trial.runs
    statuses = Counter(record["status"] for record in runs)
    assert set(statuses) <= {"ok", "failed", "placement-violated"}
    assert statuses["ok"] > RUNS // 10
    assert statuses["failed"] > RUNS // 10
    hit = 0
    for record in runs:
        if record["status"] == "failed":
            reason = record["reason"]
            assert any(re.fullmatch(pattern, reason) for pattern in REASONS), reason
        if record["status"] == "ok":
            assert record["elapsed_s"] >= 0.15
            why = record["unavailable"].get("context_switches")
            assert (why is None) is ("context_switches" in record)
            if why:
                hit += 1
                assert re.search(r"perf (was ended by SIGKILL|could not attach)", why), why
                assert "task_clock_s" not in record
                assert "migrations" not in record
            else:
                assert 0 < record["task_clock_s"] < record["elapsed_s"]
                assert record["context_switches"] >= 1
    assert hit, "perf was never hit"
