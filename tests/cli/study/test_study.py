"""Studies as a user runs them: what is run, recorded, continued, kept, and said at the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest

from benchmarks.cost.tools import Pinstudy
from benchmarks.detection import FIRST, SECOND, run_study
from benchmarks.lib.kernel import Kernel, read_spans
from pinstudy.base import VERSION
from pinstudy.base.cpulist import parse_cpulist
from pinstudy.configs.library import load_study
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.records.reader import read_records
from tests.faults.small_disk import mounted
from tests.runners.c2c_recordings import need_perf
from tests.runners.measure.perf.test_c2c import LOCAL
from tests.runners.study.test_extras import LINE, install_sampling_perf
from tests.support.cli import argv, pinstudy, pinstudy_without, started
from tests.support.held import WORK_UNTIL_LOOKED_AT, Gate, held_nap, looks_counted
from tests.support.processes import errors_of
from tests.support.studies import keys_of, records, two_kinds, write_app, write_program, write_study
from tests.support.tools import need_tool
from tests.support.trees import build_tree
from tests.support.wait import HANG_S, until

MAPPINGS = ["unpinned", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin"]
STUDY = {"mappings": MAPPINGS, "repetitions": 3, "warmup": 1}
NAPS = {"short": {"arguments": "0.02", "estimate": "20 ms"}, "bad": {"arguments": "never"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_app(tmp_path, "nap", "/bin/sleep", NAPS)
    write_study(tmp_path, "short", "nap", "short", **STUDY)
    return tmp_path


@pytest.fixture
def gate(folder: Path) -> Gate:
    """The gate of the runs of held.yaml."""
    write_app(folder, "held", folder / "nap.sh", NAPS)
    write_study(folder, "held", "held", "short", **STUDY)
    return held_nap(folder / "nap.sh")


@contextmanager
def held_in_a_run(
    folder: Path, gate: Gate, done: int, *options: str
) -> Iterator[subprocess.Popen[str]]:
    """Start held.yaml, let `done` runs end, and hold the next one."""
    gate.close(after=done)
    with started(folder, "run", "held.yaml", *options) as process:
        gate.wait_for_run(process)
        yield process


def test_a_study_runs_all_mappings_proves_where_and_ends_with_its_answer(tmp_path: Path) -> None:
    # Works until there were enough looks for a proof: a sleeping thread proves nothing.
    work = WORK_UNTIL_LOOKED_AT.replace("LOOKS", str(tmp_path / "looks"))
    looked_at = {"arguments": ["-c", work], "estimate": "0.2 s"}
    write_app(tmp_path, "work", "/bin/sh", {"looked-at": looked_at})
    write_study(tmp_path, "work", "work", "looked-at", **STUDY)

    with looks_counted(tmp_path / "looks"):
        done = pinstudy(tmp_path, "run", "work.yaml", *two_kinds(), "--report")

    assert done.returncode == 0, done.stderr
    runs = records(tmp_path)
    assert len(runs) == 5 * (3 + 1)
    assert {r["status"] for r in runs} == {"ok"}
    unproved = [r["placement"] for r in runs if r["placement"]["verdict"] != "proved"]
    assert not unproved
    assert all(r["kinds_declared"] for r in runs)
    assert {r["mapping"] for r in runs} == set(MAPPINGS)
    assert all(r["elapsed_s"] > 0.02 for r in runs)
    assert "declared by hand" in done.stdout
    (results,) = tmp_path.glob("results/work/*")
    for name in ("tables.md", "tables.csv", "tables.tex", "study.yaml"):
        assert (results / name).stat().st_size
    assert "To pin or not to pin?" in done.stdout
    assert "\nDecision   " in done.stdout
    assert (results / "verdict.md").read_text().startswith("# To pin or not to pin?")
    assert (results / "report.html").read_text().startswith("<!DOCTYPE html>")
    files = done.stdout.rpartition("\nFiles ")[2].split()
    assert files[0] == f"{results.relative_to(tmp_path)}/"
    assert "report.html" in files


def test_an_unfinished_study_is_continued_without_losing_or_repeating_a_run(
    folder: Path, gate: Gate
) -> None:
    kinds = two_kinds()
    with held_in_a_run(folder, gate, 3, *kinds):
        pass
    gate.open()
    before = {r["run_id"] for r in records(folder)}
    assert len(before) == 3
    done = pinstudy(folder, "run", "held.yaml", *kinds, status=0)
    where = "was ended from outside before run 4 of 20 (held-plain short x1 "
    message = "was recorded: 3 runs of it kept, that one is made again"
    assert where in done.stderr.splitlines()[0]
    assert done.stderr.splitlines()[0].endswith(message)
    runs = records(folder)
    assert before <= {r["run_id"] for r in runs}
    assert len(runs) == len(keys_of(runs)) == 20
    assert {r["attempt"] for r in runs} == {1, 2}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_study_records_the_run_in_flight_and_leaves_nothing(
    folder: Path, gate: Gate, number: signal.Signals
) -> None:
    with held_in_a_run(folder, gate, 1) as runner:
        runner.send_signal(number)
        assert "Traceback" not in errors_of(runner, 130)
    gate.open()
    statuses = [r["status"] for r in records(folder) if r["status"] != "skipped"]
    assert statuses == ["ok", "interrupted"]
    pinstudy(folder, "run", "held.yaml", status=0)
    assert set(keys_of(records(folder)).values()) == {1}


def test_a_finished_study_runs_nothing_more_and_fresh_starts_anew_where_it_can(
    folder: Path,
) -> None:
    pinstudy(folder, "run", "short.yaml", status=0)
    before, kept = records(folder), list(folder.glob("results/short/*"))
    pinstudy(folder, "run", "short.yaml", status=0)
    assert records(folder) == before

    with node_lock(Path("/")):
        done = pinstudy(folder, "run", "short.yaml", "--fresh", status=1)
    assert "another pinstudy is at work on this node" in done.stderr
    write_app(folder, "nap", "/nowhere/sleep", NAPS)
    done = pinstudy(folder, "run", "short.yaml", "--fresh", status=1)
    assert "nothing of study short can run here" in done.stderr
    assert list(folder.glob("results/short/*")) == kept

    write_app(folder, "nap", "/bin/sleep", NAPS)
    pinstudy(folder, "run", "short.yaml", "--fresh", status=0)
    assert len(records(folder)) == 2 * len(before), "what was measured before is kept"


def test_a_study_whose_every_run_fails_is_a_failed_study(folder: Path) -> None:
    write_study(folder, "bad", "nap", "bad")
    done = pinstudy(folder, "run", "bad.yaml", status=1)
    assert {r["status"] for r in records(folder)} == {"failed"}
    assert "invalid time interval" in records(folder)[-1]["stderr_tail"]
    assert "exit status 1" in done.stdout


def test_plan_touches_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = pinstudy(folder, "plan", "short.yaml", status=0)
    assert sorted(folder.rglob("*")) == before
    assert "LC_ALL=C OMP_NUM_THREADS=1" in done.stdout


def test_the_plan_says_which_cases_a_bound_adds(folder: Path) -> None:
    builds = {"omp": {"program": "/bin/sleep", "runtime": "libgomp"}}
    write_app(folder, "team", "", NAPS, builds=builds)
    apps = [{"app": "team", "builds": "omp", "sizes": "short", "threads": 4}]
    write_study(folder, "left", "", "", apps=apps, mappings="mixed-pin", bound=True)
    node = str(build_tree(folder / "node", "i9-14900k-noht"))

    done = pinstudy(folder, "plan", "left.yaml", "--sysroot", node, status=0)
    assert done.stdout.count("a run  added by `bound`\n") == 2
    assert "2 cases more by `bound`: one thread on a core of each kind, which" in done.stdout

    as_data = pinstudy(folder, "plan", "left.yaml", "--sysroot", node, "--json", status=0)
    rows = [row for table in json.loads(as_data.stdout)["tables"] for row in table["rows"]]
    assert [(row["mapping"], row["cpus"], row.get("added_by")) for row in rows] == [
        ("mixed-pin", "0-1,8-9", None),
        ("pcores-pin", "0", "bound"),
        ("ecores-pin", "8", "bound"),
    ]


def test_a_full_disk_stops_with_one_line(folder: Path) -> None:
    results = folder / "results"
    results.mkdir()
    with mounted(results, "size=64k"):
        done = pinstudy(folder, "run", "short.yaml", *two_kinds(), status=1)
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert records(folder)


@pytest.mark.parametrize(
    ("module", "message", "files"),
    [
        ("pandas", "no tables: no pandas here; where numpy, pandas and tabulate", []),
        ("matplotlib", "no verdict and no report: no matplotlib here; where scipy", ["tables.md"]),
    ],
)
def test_a_compute_node_without_what_analysis_needs_still_makes_its_runs(
    folder: Path, module: str, message: str, files: list[str]
) -> None:
    done = pinstudy_without(module, folder, "run", "short.yaml", "--report")
    assert done.returncode == 0, done.stderr
    assert message in done.stderr
    assert [path.name for path in folder.glob("results/short/*/*.md")] == files
    assert records(folder)


def test_the_published_study_on_the_published_node(folder: Path) -> None:
    node = build_tree(folder, "i9-14900k-noht")
    done = pinstudy(folder, "plan", "paper", "--sysroot", str(node), "--json", status=0)
    outline = json.loads(done.stdout)
    # Tables 3 to 5: one thread; 6 and 7: Lulesh, 8 and 9: Mandelbrot, with 2 and 8 threads.
    assert [(t["rows"][0]["app"], t["rows"][0]["threads"]) for t in outline["tables"]] == [
        ("lulesh-llnl", 1),
        ("mandelbrot-ompscr", 1),
        ("lu-ompscr", 1),
        ("lulesh-llnl", 2),
        ("lulesh-llnl", 8),
        ("mandelbrot-ompscr", 2),
        ("mandelbrot-ompscr", 8),
    ]
    assert (outline["cases"], outline["skipped"], outline["repetitions"]) == (70, 0, 10)
    for table in outline["tables"]:
        threads = table["rows"][0]["threads"]
        pinned = {1: ("0", "8"), 2: ("0-1", "8-9"), 8: ("0-7", "8-15")}[threads]
        expected = ["0-23", "0-7", pinned[0], "8-23", pinned[1]]
        assert [row["number"] for row in table["rows"]] == list(range(1, 11))
        assert [row["cpus"] for row in table["rows"]] == expected * 2
        assert [row["governor"] for row in table["rows"]] == ["performance"] * 5 + ["powersave"] * 5


COUNTING = """\
#!/bin/sh
echo run >> runs
wc -l < runs
[ $(wc -l < runs) -ne 3 ]
"""
# The second result is a wrong one.
VERIFY = """\
#!/bin/sh
read result
echo "$result $LC_ALL" >> "$1"
[ $result -ne 2 ] || { echo "2 is wrong" >&2; exit 4; }
"""


def test_a_run_whose_result_the_command_refuses_is_no_good_run(tmp_path: Path) -> None:
    program = write_program(tmp_path / "count.sh", COUNTING)
    write_program(tmp_path / "verify.sh", VERIFY)
    check = {"command": ["./verify.sh", "checked"]}
    write_app(tmp_path, "count", program, {"default": {"arguments": ""}}, check=check)
    write_study(tmp_path, "counts", "count", "default", repetitions=3, warmup=1, collect="energy")

    pinstudy(tmp_path, "run", "counts.yaml", status=0)
    assert [(record["status"], record.get("reason", "")) for record in records(tmp_path)] == [
        ("ok", ""),
        ("check-failed", "the check './verify.sh checked' ended with exit status 4: 2 is wrong"),
        # The output of a run that has failed is not checked.
        ("failed", "exit status 1"),
        ("ok", ""),
    ]
    assert (tmp_path / "checked").read_text() == "1 C\n2 C\n4 C\n"


# The program changes the files of its study, as a user may during a results_of.
CHANGING = """\
#!/bin/sh
echo '# changed' >> study.yaml
echo '# changed' >> apps/own.yaml
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    program = write_program(tmp_path / "program", CHANGING)
    write_app(tmp_path, "own", program, {"only": {"arguments": []}})
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "apps/own.yaml", tmp_path / "elsewhere/other.yaml")
    write_two_apps(tmp_path, "elsewhere/other.yaml")
    return tmp_path


def write_two_apps(kept: Path, other: str) -> None:
    """Write a study of two apps, the user's own and another."""
    choice = {"builds": "plain", "sizes": "only", "threads": 1}
    apps = [{"app": "own", **choice}, {"app": other, **choice}]
    write_study(kept, "study", "own", "only", apps=apps, repetitions=2)


def results_of(kept: Path) -> Path:
    pinstudy(kept, "run", "study.yaml", status=0)
    (results,) = kept.glob("results/study/*")
    return results


def test_the_files_that_were_run_by_are_kept_as_they_were_read(kept: Path) -> None:
    originals = {name: (kept / name).read_bytes() for name in ("study.yaml", "apps/own.yaml")}
    results = results_of(kept)
    assert (kept / "apps/own.yaml").read_bytes() != originals["apps/own.yaml"]
    assert {name: (results / name).read_bytes() for name in originals} == originals
    copy = (results / "apps/other.yaml").read_bytes()
    assert copy == (kept / "elsewhere/other.yaml").read_bytes()


def test_the_kept_files_are_a_study_that_asks_for_the_same(kept: Path, tmp_path: Path) -> None:
    write_two_apps(kept, "other")
    (kept / "elsewhere/other.yaml").rename(kept / "apps/other.yaml")
    results = results_of(kept)
    (tmp_path / "again").mkdir()
    shutil.copy(results / "study.yaml", tmp_path / "again")
    shutil.copytree(results / "apps", tmp_path / "again/apps")
    again = load_study(tmp_path / "again/study.yaml")
    (record, *_) = read_records(results / "records")
    assert again.digest == record["study_digest"]


# Prints what it was told, as a number for each.
TELLING = """\
#!/bin/sh
echo "threads $OPENBLAS_NUM_THREADS, OpenMP ${OMP_NUM_THREADS:-0}, own $OWN, arguments $*" >> told
"""


def written(folder: Path) -> str:
    """Write an app and a study that set variables; return the study's file."""
    program = write_program(folder / "tell.sh", TELLING)
    write_app(
        *(folder, "tell", program, {"default": {"arguments": ""}}),
        arguments=["{size}", "-t", "{threads}"],
        threads_by=["OPENBLAS_NUM_THREADS", "arguments"],
        variables={"OWN": "app {threads}", "OTHER": "of the app"},
    )
    write_study(
        *(folder, "told", "tell", "default"),
        variables={"OWN": "study {threads} on {cpus}"},
        mappings=[{"name": "first", "selection": "cores", "binding": "pin"}],
        collect="energy",
        warmup=0,
        repetitions=1,
    )
    return str(folder / "told.yaml")


def test_a_program_gets_its_variables_and_its_thread_count(tmp_path: Path) -> None:
    study = written(tmp_path)
    plan = pinstudy(tmp_path, "plan", study, status=0).stdout
    assert "'OWN=study 1 on " in plan
    assert "      OTHER: set by app tell\n      OWN: set by study told\n" in plan

    pinstudy(tmp_path, "run", "told.yaml", status=0, OPENBLAS_NUM_THREADS="9", OMP_NUM_THREADS="9")
    (record,) = records(tmp_path)
    cpus = record["cpus"]
    told = (tmp_path / "told").read_text()
    assert told == f"threads 1, OpenMP 0, own study 1 on {cpus}, arguments -t 1\n"
    set_variables = record["environment"]["set"]
    assert set_variables["OWN"] == f"study 1 on {cpus}"
    assert set_variables["OPENBLAS_NUM_THREADS"] == "1"
    assert record["environment"]["removed"] == ["OMP_NUM_THREADS"]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    need_tool("g++")
    return Kernel.build(tmp_path_factory.mktemp("kernel"))


def test_the_work_of_the_second_name_is_multiplied(kernel: Kernel, tmp_path: Path) -> None:
    # The placement of a shorter run cannot be proved, and only proved runs are compared.
    outcome = run_study(kernel, tmp_path, 0.3, repetitions=2, factor=5, seed=1)
    assert outcome.df == 1
    # On a busy machine 0.3 s of work may last as long as 1.5 s.
    cpu_s = dict.fromkeys((FIRST, SECOND), 0.0)
    for run in records(tmp_path):
        cpu_s[run["mapping"]] += 0 if run["warmup"] else run["cpu_s"]
    assert cpu_s[SECOND] > 2 * cpu_s[FIRST] > 0


def test_pinstudys_own_clock_is_beside_that_of_each_run(kernel: Kernel, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pinstudy = Pinstudy("pinstudy", "", "unpinned", tmp_path / "study")
    used = pinstudy.use(kernel.command(0.001, "--log", str(log)), 2)
    spans = read_spans(log)
    assert len(spans) == len(used.reported_s) == 2
    # What is told holds all of main, and the use all of both.
    for span, reported_s in zip(spans, used.reported_s, strict=True):
        assert reported_s > span.took_s
    assert used.began_s < spans[0].began_s < spans[1].ended_s < used.ended_s


SHORT = {"short": {"arguments": "0.02", "estimate": "20 ms"}}


def nap(folder: Path, **keys: object) -> Path:
    """Write a study of short naps into a folder, and return the folder."""
    write_app(folder, "nap", "/bin/sleep", SHORT)
    study = {"mappings": ["unpinned", "pcores-pin", "ecores-pin"], "repetitions": 3}
    write_study(folder, "short", "nap", "short", **study | keys)
    return folder


@pytest.mark.parametrize("batch", [False, True])
def test_the_priority_that_programs_inherit_is_recorded(tmp_path: Path, batch: bool) -> None:
    def be_nice() -> None:
        os.nice(3)
        if batch:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

    folder = nap(tmp_path, mappings=["unpinned"], repetitions=1)
    done = subprocess.run(
        argv("run", "short.yaml"),
        cwd=folder, preexec_fn=be_nice, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    nice = f"nice {min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3)}"
    expected = f"SCHED_BATCH, {nice}" if batch else nice
    assert {run["priority"] for run in records(folder)} == {expected}
    assert ("start it without chrt(1)" in done.stderr) == batch
    assert f"programs ran with {expected}, inherited from pinstudy" in done.stdout


def test_every_record_has_counts_foreign_tasks_and_the_harness_cpus(tmp_path: Path) -> None:
    need_tool("perf")
    folder = nap(tmp_path)
    pinstudy(folder, "run", "short.yaml", *two_kinds(), status=0)
    runs = records(folder)
    for record in runs:
        accounted_for = record.keys() | {name.partition(".")[0] for name in record["unavailable"]}
        for name in ("task_clock_s", "migrations", "context_switches", "cycles", "energy_pkg_j"):
            assert (name in record) != (name in record["unavailable"]), name
        for name in (
            *("temperature_before_c", "temperature_after_c", "throttle", "load_1min", "harness"),
            *("foreign_cpu_s", "interrupts_s", "steal_s", "foreign_tasks"),
        ):
            assert name in accounted_for
        assert "gate_reached" not in accounted_for
        assert record["versions"]["pinstudy"] == VERSION
        assert record["harness"]["context_switches"] >= 1
        assert record.get("foreign_cpu_s", 0.0) >= 0.0
        assert len(record["foreign_tasks"]) <= 5
        own, used = (set(parse_cpulist(part["cpus"])) for part in (record["harness"], record))
        if record["mapping"] == "unpinned":
            assert own == used
        else:
            assert own and own.isdisjoint(used)
    assert median(record["harness"]["cpu_s"] for record in runs) < 0.1
    # The nap has one thread that sleeps once; nothing of the harness may be counted.
    counted = [record["task_clock_s"] for record in runs if "task_clock_s" in record]
    assert all(clock_s > 0 for clock_s in counted)
    assert not counted or median(counted) < 0.02


def test_a_daemon_that_interferes_is_warned_about_once_and_recorded(tmp_path: Path) -> None:
    program = tmp_path / "auto-cpufreq"
    shutil.copy("/bin/sleep", program)
    folder = nap(tmp_path)
    with subprocess.Popen([program, "600"]) as process:
        done = pinstudy(folder, "run", "short.yaml")
        process.kill()
    (warning,) = (line for line in done.stderr.splitlines() if line.startswith("warning: "))
    assert "sudo systemctl stop" in warning and warning.split()[-1] == "auto-cpufreq"
    assert done.stderr.index(warning) < done.stderr.index("[1/")
    assert all("auto-cpufreq" in r["daemons"] for r in records(folder) if r["status"] == "ok")


# The third execution is under perf c2c; it hangs if a file exists.
SHARED = f"""\
#!/bin/sh
echo x >> "$0.runs"
[ "$(wc -l < "$0.runs")" = 3 ] && [ -e "$0.hang" ] && exec sleep 600
exec {sys.executable} -S -c pass
"""


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    # The start of Python touches enough memory.
    program = write_program(tmp_path / "shared.sh", SHARED)
    write_app(tmp_path, "shared", program, {"small": {"arguments": "small"}}, c2c=True)
    write_study(tmp_path, "lines", "shared", "small", repetitions=2, collect=["c2c"])
    return tmp_path


@pytest.fixture
def sampling(lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A perf that samples six loads of a line that another core had modified."""
    perf = need_perf()
    tools = lines / "tools"
    tools.mkdir()
    (tools / "accesses.json").write_text(json.dumps([(0, LINE, LOCAL)] * 6))
    install_sampling_perf(tools, perf)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")


def c2c_of(folder: Path) -> tuple[dict[str, bytes], int, int]:
    """Return the files of c2c, how many runs are recorded, and how many executions were made."""
    files = {path.name: path.read_bytes() for path in folder.glob("results/lines/*/c2c/*")}
    executions = (folder / "shared.sh.runs").read_text().count("x")
    return files, len(records(folder, "lines")), executions


@pytest.mark.usefixtures("sampling")
def test_one_execution_under_c2c_is_made_after_the_runs_and_only_once(lines: Path) -> None:
    done = pinstudy(lines, "run", "lines.yaml", status=0)
    assert [line[:5] for line in done.stderr.splitlines()] == ["[1/2]", "[2/2]", "perf "]
    before = c2c_of(lines)
    ((name, text),) = before[0].items()
    assert name == f"{records(lines, 'lines')[0]['case_id']}.json"
    found = [(line["address"], line["hitm"]) for line in json.loads(text)["lines"]]
    assert found == [(hex(LINE), 6)]
    assert before[1:] == (2, 3)
    pinstudy(lines, "run", "lines.yaml", status=0)
    assert c2c_of(lines) == before
    pinstudy(lines, "run", "lines.yaml", "--fresh", status=0)
    assert [path.name for path in lines.glob("results/lines/*/c2c/*")] == [name, name]


@pytest.mark.usefixtures("sampling")
def test_stopping_c2c_leaves_no_file_and_the_next_command_makes_it(lines: Path) -> None:
    (lines / "shared.sh.hang").touch()
    with started(lines, "run", "lines.yaml") as running:
        assert running.stderr
        for line in running.stderr:
            if line.startswith("perf c2c"):
                break
        until(lambda: c2c_of(lines)[2] == 3, running)
        running.send_signal(signal.SIGINT)
        messages = running.stderr.read()
        assert running.wait(HANG_S) == 130
    assert "the same command continues" in messages
    assert c2c_of(lines)[:2] == ({}, 2)
    pinstudy(lines, "run", "lines.yaml", status=0)
    files, runs, executions = c2c_of(lines)
    assert (len(files), runs, executions) == (1, 2, 4)
