"""submit, worker, status and cancel as a user meets them; a real Slurm is in tests/slurm."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pinstudy.runners.batch.worker import Fence
from pinstudy.runners.records.race_state import OVERHEAD_S
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.shard import LATE
from tests.faults.small_disk import mounted
from tests.support.cli import argv, pinstudy
from tests.support.held import RATE, RATE_PROGRAM, Gate, held_nap, looks_counted
from tests.support.limits import only_cpus
from tests.support.processes import command_line, descendants, ended, errors_of
from tests.support.studies import two_cpus, write_app, write_program, write_study
from tests.support.tools import ROOT
from tests.support.wait import HANG_S, until

SITE = """\
title: The cluster of the tests
batch_system: slurm
time_limit: 10 min
features: [hybrid, homog]
"""
THERE = ("submit", "naps.yaml", "--site", "there.yaml")
TO_OWN = ("submit", "naps.yaml", "--site", "own.yaml", "--spread", "split", "--workers", "2")
SPLIT_BY_ONE = ["--spread", "split", "--workers", "1"]
# Runs pinstudy; its wait for a signal after its program's lasts until a file exists. Another file
# shows that it waits.
WAITS_FOR_SIGNAL = f"""\
import runpy, sys, time
from pathlib import Path
from types import SimpleNamespace
sys.path[0] = {str(ROOT)!r}
from pinstudy.runners.execution import execute

over, *sys.argv[1:] = sys.argv[1:]

def sleep(_seconds):
    Path(over + ".awaited").touch()
    while not Path(over).exists():
        time.sleep(0.01)

execute.time = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
runpy.run_path({str(ROOT / "pinstudy")!r}, run_name="__main__")
"""
# Slurm's answers: an id that counts up; the states of all submitted jobs, from files.
SBATCH = """\
#!/bin/sh
cd "$(dirname "$0")"
[ ! -e refuse ] || { echo "sbatch: error: $(cat refuse)" >&2; exit 1; }
id=$(( $(cat id 2>/dev/null || echo 40) + 1 ))
echo "$id" > id
echo "$id"
"""
SQUEUE = """\
#!/bin/sh
cd "$(dirname "$0")"
[ ! -e away ] || { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
cat queue 2>/dev/null
exit 0
"""
SCANCEL = """\
#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> cancelled
rm -f queue
"""
# Another batch system by its commands, and what they are: its jobs have states in files.
OWN_SITE = """\
title: A site with commands of its own
batch_system:
  submit: mysub -n {name} {script}
  poll: [myq, '{job}']
  cancel: mydel {job}
  patterns: {job: 'Your job (.+) has', pending: '^waits', running: '^runs', ended: 'over|unknown'}
time_limit: 10 min
"""
OWN_COMMANDS = {
    "mysub": SBATCH.replace('echo "$id"\n', 'echo "Your job j$id has been submitted"\n', 1)
    .replace('echo "Your', 'echo "Welcome"; echo waits >"j$id"; echo "Your')
    .replace('echo "$id" > id', 'echo "$id" > id; cp "$3" script.$id'),
    "myq": '#!/bin/sh\ncd "$(dirname "$0")"\ncat "$1" || { echo "$1 unknown"; exit 1; }\n',
    "mydel": '#!/bin/sh\ncd "$(dirname "$0")"\necho over >"$1"\n',
}


@dataclass
class Place:
    """A folder with a study, a site and the commands of a Slurm, in which pinstudy is run.

    The runs of the study wait at the gate. Started processes are ended with the test.
    """

    folder: Path
    gate: Gate
    started: ExitStack

    def write(self, size: str = "short", mapping: object = "pcores-pin", **keys: object) -> None:
        """Write the study, with these keys in addition."""
        study = {"mappings": ["unpinned", mapping], "repetitions": 4, "warmup": 1, **keys}
        write_study(self.folder, "naps", "nap", size, **study)

    @property
    def path(self) -> str:
        return f"{self.folder / 'slurm'}:{os.environ['PATH']}"

    def start(
        self, *arguments: str, python: Sequence[str] = (str(ROOT / "pinstudy"),)
    ) -> subprocess.Popen[str]:
        """Start pinstudy with the signal handlers of a shell's child."""
        process = subprocess.Popen(
            [sys.executable, *python, *arguments],
            cwd=self.folder,
            env=os.environ | {"PATH": self.path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.started.enter_context(ended(process))

    def run(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        done = pinstudy(self.folder, *arguments, status=status, PATH=self.path)
        return done.stdout, done.stderr

    def split(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        return self.submit("--spread", "split", "--workers", "2", *arguments, status=status)

    def submit(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        return self.run(*THERE, *arguments, status=status)

    def worker(self, number: int, submission: int = 1) -> list[str]:
        """Return the arguments by which a job starts a worker."""
        folder = self.folder / f"results/naps/submissions/{submission:04d}"
        return ["worker", "--submission", str(folder), "--worker", str(number)]

    @property
    def fence(self) -> Fence:
        """Where workers take over from earlier submissions."""
        return Fence(self.folder / "results/naps/submissions/fence")

    def records(self, where: str = "split-there") -> list[dict[str, Any]]:
        return list(read_records(self.folder / "results/naps" / where / "records"))

    def status(self, *arguments: str) -> list[dict[str, Any]]:
        out, _ = self.run("status", "naps", "--json", *arguments)
        submissions: list[dict[str, Any]] = json.loads(out)
        return submissions

    def states(self) -> list[str]:
        """Return the states of the jobs of the only submission."""
        (submission,) = self.status()
        return [job["state"] for worker in submission["workers"] for job in worker["jobs"]]

    def queue(self, *lines: str) -> None:
        (self.folder / "slurm/queue").write_text("".join(f"{line}\n" for line in lines))

    def start_and_hold(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a worker; return when its first run is recorded and its second one is held."""
        self.gate.close(after=1)
        process = self.start(*arguments)
        self.gate.wait_for_run(process)
        return process

    def start_a_long_run(self, *python: str) -> subprocess.Popen[str]:
        """Submit a study of long runs; return a worker of it whose program sleeps."""
        self.write("long")
        self.split()
        process = self.start(*self.worker(0), python=python or (str(ROOT / "pinstudy"),))
        sleeping = ["sleep", "600.5"]
        until(
            lambda: any(command_line(pid) == sleeping for pid in descendants(process.pid)), process
        )
        return process


@pytest.fixture
def place(tmp_path: Path, at_end: ExitStack) -> Place:
    (tmp_path / "slurm").mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        write_program(tmp_path / "slurm" / name, text)
    gate = held_nap(tmp_path / "nap.sh")
    short = {"arguments": "0.05", "estimate": "50 ms"}
    # Long enough to take the same time on a busy node.
    steady = {"arguments": "0.8", "estimate": "0.8 s"}
    long = {"arguments": "600.5", "estimate": "30 s"}
    write_app(
        tmp_path, "nap", tmp_path / "nap.sh", {"short": short, "steady": steady, "long": long}
    )
    (tmp_path / "there.yaml").write_text(SITE)
    (tmp_path / "own.yaml").write_text(OWN_SITE)
    place = Place(tmp_path, gate, at_end)
    place.write()
    return place


def good(records: Sequence[dict[str, Any]]) -> Counter[tuple[str, int]]:
    return Counter(
        (record["case_id"], record["repetition"])
        for record in records
        if record["status"] == "ok" and not record["warmup"]
    )


def test_a_job_that_cannot_be_written_down_is_ended(place: Place) -> None:
    results = place.folder / "results"
    results.mkdir()
    sbatch = place.folder / "slurm/sbatch"
    sbatch.write_text(SBATCH + f"head -c 1000000 /dev/zero >{results}/filler 2>&1\nexit 0\n")
    with mounted(results, "size=400k"):
        _, messages = place.split(status=1)
        assert "No space left on device" in messages
        assert "job 41 was ended" in messages.splitlines()[-1]
        assert (place.folder / "slurm/cancelled").read_text() == "41\n"
        assert not list(results.glob("naps/submissions/0*"))
        (results / "filler").unlink()
        sbatch.write_text(SBATCH)
        assert "submitted: job 42 (2 workers)" in place.split()[0]


def test_the_study_is_kept_as_it_was_read_whatever_became_of_its_file(place: Place) -> None:
    place.split()
    study = place.folder / "naps.yaml"
    before = study.read_text()
    (place.folder / "slurm/squeue").write_text(f"#!/bin/sh\nrm -f '{study}'\n")
    place.split()
    assert (place.folder / "results/naps/submissions/0002/study.yaml").read_text() == before


def test_workers_divide_a_study_and_what_is_missing_is_submitted_again(place: Place) -> None:
    out, _ = place.split()
    assert "submitted: job 41 (2 workers)" in out
    place.run(*place.worker(0))
    (submission,) = place.status()
    assert [(row["done"], row["left"]) for row in submission["workers"]] == [(4, 0), (0, 4)]
    out, _ = place.run("status", "naps")
    again = out.partition("not complete; `")[2].partition("`")[0]
    assert shlex.split(again)[:2] == ["pinstudy", "submit"]
    # The printed command works unchanged, from any folder.
    (place.folder / "elsewhere").mkdir()
    done = pinstudy(
        place.folder / "elsewhere", *shlex.split(again)[1:], "--dry-run", PATH=place.path
    )
    assert "of what is missing: split: 2 blocks" in done.stdout
    place.split()
    for number in (0, 1):
        place.run(*place.worker(number, submission=2))
    runs = place.records()
    assert len(good(runs)) == 8
    assert set(good(runs).values()) == {1}
    assert {record["pool"] for record in runs} == {"split-there"}
    # `pinstudy run` would begin anew in another folder.
    assert not any("study_file" in record for record in runs)
    submissions = {(record["submission"], record["attempt"]) for record in runs}
    assert submissions == {(1, 1), (2, 2), (2, 3)}
    by_attempt = {(record["attempt"], record["repetition"]) for record in runs if record["block"]}
    assert by_attempt == {(1, 1), (1, 3), (2, 2), (3, 4)}
    out, _ = place.run("tables", "results/naps/split-there")
    assert "divided over interchangeable nodes" in out
    out, _ = place.split()
    assert "nothing is missing" in out
    assert json.loads(place.split("--json")[0])["jobs"] == 0
    assert not (place.folder / "results/naps/submissions/0003").exists()


def test_what_an_earlier_submission_has_made_is_done_for_a_later_one_too(place: Place) -> None:
    place.split()
    place.split("--again")
    place.submit("--features", "hybrid")
    for number in (0, 1):
        place.run(*place.worker(number))
    per_node, split = place.status("--all")[2], place.status("--all")[1]
    assert [(row["done"], row["left"]) for row in split["workers"]] == [(4, 0), (4, 0)]
    # The whole study on one node is another result.
    assert [(row["done"], row["left"]) for row in per_node["workers"]] == [(0, None)]
    out, _ = place.run("status", "naps", "--all")
    assert out.count("not complete") == 1
    assert "nothing is missing" in place.split()[0]


def test_a_job_s_own_variables_are_no_other_environment_and_openmps_are_one(place: Place) -> None:
    place.submit("--spread", "split", "--workers", "4")
    for number in range(4):
        (place.folder / f"job{number}").mkdir()
        variables = {
            "SLURM_JOB_ID": f"{4711 + number}",
            "SLURM_ARRAY_TASK_ID": f"{number}",
            "SLURM_JOB_NODELIST": f"n[{number}-9]",
            "TMPDIR": str(place.folder / f"job{number}"),
            "TERM": f"terminal{number}",
            "XDG_SESSION_ID": f"{number}",
            "PATH": place.path,
        }
        worker = place.worker(number)
        if number == 3:
            done = pinstudy(place.folder, *worker, status=2, OMP_STACKSIZE="64M", **variables)
            told = "the environment is not that of the runs there: OMP_STACKSIZE was not set"
            assert told in done.stderr
        pinstudy(place.folder, *worker, status=0, **variables)
    assert len(good(place.records())) == 8
    assert set(good(place.records()).values()) == {1}
    assert len({record["environment_digest"] for record in place.records()}) == 1


def test_what_was_made_is_found_whatever_clocks_files_and_folders_say(place: Place) -> None:
    hybrid = ("--features", "hybrid")
    place.submit(*hybrid)
    for _ in range(2):
        place.run(*place.worker(0))
    first = place.folder / "results/naps/submissions/0001/attempts/w000.g0001.json"
    changed = {"started_at": "2099-01-01T00:00:00+00:00", "ended": 75, "left": 3}
    first.write_text(json.dumps(json.loads(first.read_text()) | changed))
    assert place.status()[0]["workers"][0]["exit_status"] == 0
    assert "nothing is missing" in place.submit(*hybrid)[0]
    place.write(repetitions=2)
    assert "nothing is missing" in place.submit(*hybrid)[0]
    (place.folder / "results").rename(place.folder / "kept")
    assert place.status("--results", "kept")[0]["workers"][0]["left"] == 0
    assert "nothing is missing" in place.submit(*hybrid, "--results", "kept")[0]


@pytest.mark.parametrize("spread", [["--features", "hybrid"], SPLIT_BY_ONE])
def test_records_that_are_lost_are_missing_for_status_and_for_submit(
    place: Place, spread: list[str]
) -> None:
    place.submit(*spread)
    place.run(*place.worker(0))
    (shard,) = place.folder.glob("results/naps/*/records/*.jsonl")
    *kept, _ = shard.read_text().splitlines(keepends=True)
    shard.write_text("".join(kept))
    assert [row["left"] for row in place.status()[0]["workers"]] == [1]
    out, _ = place.run("status", "naps")
    assert "not complete" in out
    assert "time left" in out
    assert " 0 s " not in out
    assert "submitted: job 42" in place.submit(*spread)[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [(4, 6), ({"decide": {"first": 3, "max": 4}}, {"decide": {"first": 3, "max": 5}})],
)
def test_more_repetitions_are_submitted_for_the_same_study(
    place: Place, before: object, after: object
) -> None:
    size = "short" if before == 4 else "steady"
    place.write(size, repetitions=before)
    place.submit("--features", "hybrid")
    place.run(*place.worker(0))
    assert "nothing is missing" in place.submit("--features", "hybrid")[0]
    place.write(size, repetitions=after)
    assert "submitted: job 42" in place.submit("--features", "hybrid")[0]
    place.run(*place.worker(0, submission=2))
    assert "nothing is missing" in place.submit("--features", "hybrid")[0]


def test_a_worker_ends_at_the_first_look_where_all_is_decided(place: Place) -> None:
    program = write_program(place.folder / "rate.sh", RATE_PROGRAM)
    size = {"arguments": "", "estimate": "0.3 s"}
    write_app(place.folder, "nap", program, {"short": size}, fixed_time=True, metrics=RATE)
    place.write(repetitions={"decide": {"first": 4, "max": 40}})
    place.submit("--features", "hybrid")
    with looks_counted(place.folder / "looks"):
        _, messages = place.run(*place.worker(0))
    assert "after 4 repetitions: every comparison is decided" in messages
    assert "nothing is missing" in place.submit("--features", "hybrid")[0]
    (submission,) = place.status()
    (worker,) = submission["workers"]
    # Two mappings and a warm-up run of each.
    assert (worker["runs"], worker["done"], worker["left"]) == (10, 10, 0)


def test_the_command_that_goes_on_names_pinstudy_as_it_was_called(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.split()
    monkeypatch.setenv("PINSTUDY_CALLED", "/opt/bin/pinstudy")
    out, _ = place.start("status", "naps").communicate(timeout=HANG_S)
    assert "not complete; `/opt/bin/pinstudy submit " in out


def test_cases_that_the_node_cannot_run_are_refused_by_name_and_status(place: Place) -> None:
    place.write(mapping={"name": "far", "selection": "across-packages", "binding": "pin"})
    place.split()
    _, err = place.run(*place.worker(0), status=3)
    assert "1 case cannot be run on this node" in err
    out, _ = place.run("status", "naps")
    assert "refused on node" in out
    assert "far under current: the node has one package" in out


def test_an_allocation_smaller_than_a_case_is_refused_with_wanted_and_found(place: Place) -> None:
    online = sorted(os.sched_getaffinity(0))
    two_cpus()
    place.submit("--features", "hybrid")
    with only_cpus(online[1:]):
        _, err = place.run(*place.worker(0), status=1)
    assert f"may use CPUs {online[1]}" in err
    assert f"missing: {online[0]}" in err
    assert "ask for the whole node" in err


@pytest.mark.parametrize(
    ("first", "name"), [("nap.sh", "SIGTERM"), ("witness", "SIGTERM"), ("nap.sh", "SIGUSR2")]
)
def test_a_program_that_gets_the_jobs_signal_before_its_worker_has_not_failed(
    place: Place, tmp_path: Path, first: str, name: str
) -> None:
    (tmp_path / "nap.sh").write_text('#!/bin/sh\nsleep "$1"\n')
    process = place.start_a_long_run("-c", WAITS_FOR_SIGNAL, str(tmp_path / "over"))
    os.kill(pid_of(process.pid, first), signal.Signals[name])
    until((tmp_path / "over.awaited").exists, process)
    process.send_signal(signal.Signals[name])
    (tmp_path / "over").touch()
    errors_of(process, 75)
    assert [record["status"] for record in place.records()] == ["interrupted"]


def pid_of(ancestor: int, word: str) -> int:
    """Return the last process among the descendants whose command line has this word, or file."""
    names = (word, f"pinstudy-{word}")
    return [
        pid
        for pid in descendants(ancestor)
        if any(Path(part).name in names for part in command_line(pid))
    ][-1]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        *((name, "ok") for name in ("SIGUSR1", "SIGUSR2")),
        *((name, "interrupted") for name in ("SIGTERM", "SIGALRM", "SIGXCPU", "SIGHUP", "SIGINT")),
    ],
)
def test_a_warning_lets_the_run_in_flight_end_and_what_kills_soon_stops_it(
    place: Place, name: str, last: str
) -> None:
    place.split()
    process = place.start_and_hold(*place.worker(0))
    process.send_signal(signal.Signals[name])
    if last == "ok":
        place.gate.open()
    err = errors_of(process, 75)
    assert last != "ok" or f"time is up ({name})" in err
    assert [record["status"] for record in place.records()] == ["ok", last]
    (submission,) = place.status()
    assert submission["workers"][0]["exit_status"] == 75


def test_a_program_that_fails_by_itself_has_failed(place: Place) -> None:
    process = place.start_a_long_run()
    os.kill(pid_of(process.pid, "600.5"), signal.SIGTERM)
    until(lambda: any(record["status"] == "failed" for record in place.records()), process)
    process.terminate()
    process.communicate(timeout=HANG_S)
    assert place.records()[0]["status"] == "failed"


@pytest.mark.parametrize(
    ("limit", "status", "message"),
    [
        # A tenth of the limit is reserved: a run would have to start as soon as its worker does.
        (
            f"{(30 + OVERHEAD_S) / 0.9 + 1e-9:.9f} s",
            75,
            "would not end before the job's time limit",
        ),
        ("31 s", 1, "submit with a longer --time-limit"),
    ],
)
def test_no_run_starts_that_would_not_end_before_the_time_limit(
    place: Place, limit: str, status: int, message: str
) -> None:
    place.write("long")
    place.split("--time-limit", limit)
    assert message in place.run(*place.worker(0), status=status)[1]


def test_a_newer_attempt_takes_over_and_the_last_record_of_the_older_is_kept_aside(
    place: Place,
) -> None:
    place.split()
    older = place.start_and_hold(*place.worker(0))
    # As on a node that its batch system lost: the older worker goes on while a newer one starts.
    place.fence.claim_next("split-there-0001-w000")
    place.gate.open()
    assert "a newer worker has taken over" in errors_of(older, 75)
    assert len(list(read_records(place.folder / "results/naps/split-there" / LATE))) == 1
    place.run(*place.worker(0))
    assert set(good(place.records()).values()) == {1}
    assert len(good(place.records())) == 4


def test_a_later_submission_takes_over_from_all_workers_of_an_earlier_one(place: Place) -> None:
    place.split()
    place.split("--again")
    older = place.start_and_hold(*place.worker(1, submission=1))
    newer = place.start(*place.worker(0, submission=2))
    until(lambda: place.fence.newest_of_all().get("split-there-submission") == 2, newer)
    place.gate.open()
    # Both are on one node here: the newer waits until the older has noticed it and ended.
    err = errors_of(older, 75)
    assert "taken over split-there-submission" in err
    errors_of(newer, 0)
    assert set(good(place.records()).values()) == {1}


def test_two_workers_do_not_measure_each_other_on_one_node(place: Place) -> None:
    place.split()
    first = place.start_and_hold(*place.worker(0))
    _, err = place.run(*place.worker(1), status=75)
    place.gate.open()
    assert "another pinstudy is at work on this node" in err
    errors_of(first, 0)


def test_a_study_that_has_changed_since_is_not_run(place: Place) -> None:
    place.split()
    place.write(seed=7)
    _, err = place.run(*place.worker(0), status=2)
    assert "has changed since it was submitted" in err
    # Its job started a worker, which did not begin.
    place.queue("41_0|COMPLETED|None|n1", "41_1|COMPLETED|None|n1")
    assert "no worker got to work: see what the job" in " ".join(
        place.run("status", "naps")[0].split()
    )


@pytest.mark.parametrize("spread", [["--nodes", "n1"], SPLIT_BY_ONE])
def test_a_changed_study_is_not_submitted_to_add_to_the_runs_of_the_one_before(
    place: Place, spread: list[str]
) -> None:
    place.submit(*spread)
    place.run(*place.worker(0))
    place.write(seed=7)
    _, err = place.submit(*spread, status=2)
    assert "holds runs of another version of study naps" in err
    assert "--results" in err
    assert not (place.folder / "results/naps/submissions/0002").exists()
    assert "submitted: job 42" in place.submit(*spread, "--results", "anew")[0]
    # A job with a feature may get another node.
    assert "submitted: job 43" in place.submit("--features", "hybrid")[0]
    _, err = place.run(*place.worker(0, submission=2), status=2 if "n1" in spread else 0)
    assert ("as jobs have to, in another folder with --results" in err) == ("n1" in spread)


def test_a_working_directory_that_is_gone_is_named(place: Place) -> None:
    gone = place.folder / "gone"
    gone.mkdir()
    command = argv("submit", str(place.folder / "naps.yaml"), "--site", "example-slurm")
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *command],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == (
        "pinstudy: the working directory is not there any more: start pinstudy in another one\n"
    )


def test_while_jobs_may_be_at_work_nothing_is_submitted_beside_them(place: Place) -> None:
    place.split()
    place.run(*place.worker(0))
    place.queue("41_0|RUNNING|None|n1", "41_1|PENDING|ReqNodeNotAvail, UnavailableNodes:n2|")
    _, err = place.split(status=2)
    assert "may still be at work" in err
    assert "pinstudy cancel naps" in err
    assert place.states() == ["running", "queued"]
    out, _ = place.run("status", "naps")
    assert "ReqNodeNotAvail, UnavailableNodes:n2" in " ".join(out.split())
    # A controller that does not answer fails nothing.
    (place.folder / "slurm/away").touch()
    assert place.states() == ["unknown"] * 2
    (submission,) = place.status()
    assert "Unable to contact slurm controller" in submission["workers"][0]["jobs"][0]["reason"]
    assert submission["workers"][0]["done"] == 4
    assert "(unknown)" in place.split(status=2)[1]
    place.split("--again")


def test_cancel_ends_what_it_started_and_nothing_else(place: Place) -> None:
    place.split()
    place.queue("41_1|RUNNING|None|n2", "99|RUNNING|None|n1")
    assert "ended 41" in place.run("cancel", "naps")[0]
    assert "99" not in (place.folder / "slurm/cancelled").read_text()
    assert "ended" not in place.run("cancel", "naps")[0]
    (ended_jobs,) = json.loads(place.run("cancel", "naps", "--json")[0])
    assert (ended_jobs["submission"], ended_jobs["problem"]) == (1, "")
    _, err = place.run("cancel", "other", status=2)
    assert "has no submissions" in err


def test_each_node_of_a_list_has_a_job_unless_it_is_refused(place: Place) -> None:
    out, _ = place.submit("--features", "hybrid,homog")
    assert "submitted: job 41 (feature hybrid)" in out
    assert "submitted: job 42 (feature homog)" in out
    place.run(*place.worker(1))
    (submission,) = place.status()
    node = submission["workers"][1]["node"]
    assert submission["workers"][1]["done"] == 10
    assert len(good(place.records(node))) == 8
    # The batch system refuses the second job of another submission.
    refusing = SBATCH.replace("[ ! -e refuse ]", "[ ! -e refuse ] || [ ! -s id ]")
    text = "Batch job submission failed: Invalid feature specification"
    (place.folder / "slurm/refuse").write_text(text)
    (place.folder / "slurm/id").unlink()
    (place.folder / "slurm/sbatch").write_text(refusing)
    anew = ("--results", "anew")
    _, err = place.submit("--features", "hybrid,homog", *anew, status=1)
    assert text in err and "feature homog" in err
    out, _ = place.run("status", "naps", *anew)
    assert "job 41 ended" in out
    assert "feature homog" in out
    assert "no job was submitted for it" in out


def test_a_submission_that_is_stopped_holds_the_job_that_was_being_submitted(place: Place) -> None:
    sbatch = place.folder / "slurm/sbatch"
    sbatch.write_text(SBATCH + "touch asked\nwhile [ ! -e answer ]; do sleep 0.01; done\n")
    process = place.start("submit", "naps.yaml", "--site", "there.yaml")
    until((place.folder / "slurm/asked").exists, process)
    process.terminate()
    (place.folder / "slurm/answer").touch()
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err.splitlines()[-1]) == (130, "pinstudy: stopped")
    jobs = [[job["id"] for job in worker["jobs"]] for worker in place.status()[0]["workers"]]
    assert jobs == [["41"], []]


def test_a_study_whose_runs_have_all_failed_lacks_none(place: Place) -> None:
    write_program(place.folder / "nap.sh", "#!/bin/sh\nexit 3\n")
    place.submit("--features", "hybrid")
    place.run(*place.worker(0), status=1)
    (worker,) = place.status()[0]["workers"]
    assert (worker["done"], worker["failed"], worker["left"]) == (10, 10, 0)
    assert "nothing is missing" in place.submit("--features", "hybrid")[0]
    assert "not complete" not in place.run("status", "naps")[0]


def test_a_dry_run_says_what_a_study_takes_and_writes_nothing(place: Place) -> None:
    # Ten runs of 30 s need more than a job of 302 s has for runs, and less than one of 330 s has.
    place.write("long", "cores-pin")
    planned = ("--dry-run", "--sysroot", "/")
    advised = ("--features", "hybrid", *planned, "--time-limit")
    assert "submit 2 jobs in turn with --chain 2" in place.submit(*advised, "302 s")[0]
    assert "--chain" not in place.submit(*advised, "330 s")[0]
    assert "6 jobs (3 in turn)" in place.split(*planned, "--chain", "3")[0]
    out, _ = place.split(*planned)
    assert "#SBATCH --array=0-1" in out
    assert "2 jobs of at most 10 min 00 s each: at most 0.333 node-hours" in out
    data = json.loads(place.split(*planned, "--json")[0])
    assert (data["jobs"], data["submission"]) == (2, None)
    assert "worker --submission" in data["script"]
    assert not (place.folder / "results").exists()
    assert not (place.folder / "slurm/id").exists()
    submitted = json.loads(place.split("--json")[0])
    assert Path(submitted["submission"]).is_dir() and submitted["accepted"]


def test_the_expected_time_is_of_the_blocks_that_are_missing_and_of_warm_up_runs(
    place: Place,
) -> None:
    place.split()
    made = json.loads(place.run(*place.worker(0), "--json")[0])
    assert (made["status"], made["runs_left"]) == (0, 0) and made["runs"] > 0
    app = place.folder / "apps/nap.yaml"
    app.write_text(app.read_text().replace("50 ms", "30 s"))
    # Two blocks are left for two workers: each makes two warm-up runs, and one of each case.
    out, _ = place.split("--dry-run", "--sysroot", "/")
    assert "of what is missing: split: 2 blocks divided over 2 nodes" in out
    assert "expected time of each worker: about 2 min 00 s" in out


def test_a_study_may_say_itself_that_it_is_for_a_batch_system(place: Place) -> None:
    spread = {"site": "./there.yaml", "spread": "split", "workers": 2}
    place.write(engine="batch", batch=spread)
    _, err = place.run("run", "naps.yaml", status=2)
    assert "`pinstudy submit naps.yaml`" in err
    out, _ = place.run("submit", "naps.yaml")
    assert "split: 4 blocks divided over 2 nodes" in out
    place.run(*place.worker(0))
    # The site's file is found beside the study's, from any folder.
    (place.folder / "elsewhere").mkdir()
    done = pinstudy(
        place.folder / "elsewhere", "submit", "../naps.yaml", "--dry-run", PATH=place.path
    )
    assert "split: 4 blocks divided over 2 nodes" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("submit", "naps.yaml"), "no site is named"),
        (("submit", "naps.yaml", "--site", "plain.yaml"), "has no batch system"),
        ((*THERE, "--time-limit", "soon"), "--time-limit"),
        ((*THERE, "--nodes", "n1,;rm -rf"), "--nodes"),
        ((*THERE, "--chain", "0"), "--chain 0"),
        ((*THERE, "--kinds", "P:0-7"), "--kinds: 'P:0-7' does not start with a"),
        ((*TO_OWN, "--chain", "2"), "--chain 2: the batch system of own is asked for one job at"),
        (
            ("worker", "--submission", "elsewhere/0001", "--worker", "0"),
            "is the results folder shared with this node?",
        ),
    ],
)
def test_mistakes_of_the_command_line_are_one_line(
    own: Place, arguments: tuple[str, ...], message: str
) -> None:
    (own.folder / "plain.yaml").write_text("title: a site without any\n")
    _, err = own.run(*arguments, status=2)
    assert message in err
    assert not (own.folder / "results").exists()


FLUX = """\
#!/bin/sh
cd "$(dirname "$0")"
id=$(( $(cat id 2>/dev/null || echo 0) + 1 ))
echo "$id" > id
for option; do case $option in --dependency=*) after=${option#*:} ;; esac; done
echo "$id after ${after:-none}" >> told
echo "\u0192$id"
"""


def test_without_arrays_no_more_jobs_run_at_a_time_than_the_site_allows(place: Place) -> None:
    write_program(place.folder / "slurm/flux", FLUX)
    site = SITE.replace("slurm", "flux") + "most_at_once: 2\n"
    (place.folder / "flux.yaml").write_text(site)
    split = ("--spread", "split", "--workers", "3", "--chain", "2")
    place.run("submit", "naps.yaml", "--site", "flux.yaml", *split)
    # Jobs 1, 3, 4, 6 run one after another, and so do 2 and 5.
    assert (place.folder / "slurm/told").read_text().splitlines() == [
        *("1 after none", "2 after none", "3 after \u01921"),
        *("4 after \u01923", "5 after \u01922", "6 after \u01924"),
    ]


@pytest.fixture
def own(place: Place) -> Place:
    """Give a place whose site has commands of its own."""
    for name, text in OWN_COMMANDS.items():
        write_program(place.folder / "slurm" / name, text)
    return place


def test_a_study_is_made_by_a_sites_own_commands(own: Place) -> None:
    out, _ = own.run(*TO_OWN)
    assert "#   mysub -n pinstudy-naps THIS-FILE\n" in out
    assert "submitted: job j41 (1 worker)\nsubmitted: job j42 (1 worker)\n" in out
    (own.folder / "slurm/j42").write_text("runs since today\n")
    assert own.states() == ["queued", "running"]
    assert ": j41 (queued), j42 (running); see" in own.run(*TO_OWN, status=2)[1]
    out, _ = own.run("cancel", "naps")
    assert "ended j41, j42" in out
    assert own.states() == ["ended", "ended"]
    for number in (41, 42):
        script = own.folder / f"slurm/script.{number}"
        subprocess.run(["/bin/bash", str(script)], check=True, timeout=HANG_S)
    assert len(good(own.records("split-own"))) == 8
    assert "nothing is missing" in own.run(*TO_OWN)[0]
