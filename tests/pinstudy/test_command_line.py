"""The command line as a user meets it: real programs, exit statuses and messages."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from runners.host.lock import node_lock
from runners.node.cpufreq import read_cpufreq
from tests.faults.small_disk import mounted
from tests.support.cli import pinstudy, pinstudy_without, started
from tests.support.held import WORK_UNTIL_LOOKED_AT, Gate, held_nap, looks_counted
from tests.support.studies import keys_of, records, two_kinds, write_app, write_study
from tests.support.tools import ROOT
from tests.support.trees import build_tree, write
from tests.support.wait import HANG_S

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
        _, errors = runner.communicate(timeout=HANG_S)
    gate.open()
    assert runner.returncode == 130
    assert "Traceback" not in errors
    statuses = [r["status"] for r in records(folder) if r["status"] != "skipped"]
    assert statuses == ["ok", "interrupted"]
    pinstudy(folder, "run", "held.yaml", status=0)
    assert set(keys_of(records(folder)).values()) == {1}


def test_a_finished_study_runs_nothing_more_and_fresh_starts_anew(folder: Path) -> None:
    pinstudy(folder, "run", "short.yaml", status=0)
    before = records(folder)
    pinstudy(folder, "run", "short.yaml", status=0)
    assert records(folder) == before
    pinstudy(folder, "run", "short.yaml", "--fresh", status=0)
    after = records(folder)
    assert len(after) == 2 * len(before), "what was measured before is kept"


@pytest.mark.parametrize("problem", ["nothing can run", "a study is running"])
def test_fresh_moves_nothing_where_it_cannot_begin(
    folder: Path, at_end: ExitStack, problem: str
) -> None:
    pinstudy(folder, "run", "short.yaml", status=0)
    before = list(folder.glob("results/short/*"))
    if problem == "nothing can run":
        write_app(folder, "nap", "/nowhere/sleep", NAPS)
        message = "nothing of study short can run here"
    else:
        at_end.enter_context(node_lock(Path("/")))
        message = "another pinstudy is at work on this node"
    done = pinstudy(folder, "run", "short.yaml", "--fresh", status=1)
    assert message in done.stderr
    assert list(folder.glob("results/short/*")) == before


def test_a_study_of_the_publication_says_what_runs_on_a_node_without_governors(
    tmp_path: Path,
) -> None:
    if read_cpufreq(Path("/")).policies:
        pytest.skip("this node has governors, under which the study would run for hours")
    for name in ("paper-own", "paper"):
        done = pinstudy(tmp_path, "run", name, status=1)
        assert f"nothing of study {name} can run here" in done.stderr
        assert "can run" in done.stderr and done.stderr.count("\n") == 1


def test_a_changed_study_is_not_mixed_with_old_results(folder: Path) -> None:
    pinstudy(folder, "run", "short.yaml")
    write_study(folder, "short", "nap", "short", **STUDY | {"warmup": 2})
    done = pinstudy(folder, "run", "short.yaml", status=2)
    assert "--fresh" in done.stderr


def test_a_study_whose_every_run_fails_is_a_failed_study(folder: Path) -> None:
    write_study(folder, "bad", "nap", "bad", **STUDY)
    done = pinstudy(folder, "run", "bad.yaml", status=1)
    assert {r["status"] for r in records(folder) if r["status"] != "skipped"} == {"failed"}
    assert "invalid time interval" in records(folder)[-1]["stderr_tail"]
    assert "exit status 1" in done.stdout


def test_all_mistakes_in_a_study_are_reported_with_their_places(folder: Path) -> None:
    write_study(folder, "wrong", "nap", "shrot", mappings=["pcores-pni"], repetitions="many")
    done = pinstudy(folder, "run", "wrong.yaml", status=2)
    for part in ("wrong.yaml:3:", "'short'", "wrong.yaml:4:", "'pcores-pin'", "wrong.yaml:5:"):
        assert part in done.stderr
    assert not (folder / "results").exists()


def test_plan_touches_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = pinstudy(folder, "plan", "short.yaml", status=0)
    assert sorted(folder.rglob("*")) == before
    assert "LC_ALL=C OMP_NUM_THREADS=1" in done.stdout


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


@pytest.mark.parametrize(
    "error", ["MemoryError()", "ImportError('{}.so: failed to map segment from shared object')"]
)
def test_too_little_memory_is_told_in_one_line(folder: Path, error: str) -> None:
    pinstudy(folder, "run", "short.yaml")
    done = pinstudy_without("pandas", folder, "tables", "results/short", error=error)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("pinstudy: there is not enough memory")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("MemoryError", "pinstudy: there is not enough memory (`ulimit -v` shows a limit)\n"),
        (
            "OSError(12, 'Cannot allocate memory', '/a/b.py')",
            "pinstudy: cannot start: /a/b.py: Cannot allocate memory\n",
        ),
    ],
)
def test_too_little_memory_for_the_start_is_told_in_one_line(
    tmp_path: Path, error: str, line: str
) -> None:
    tree = tmp_path / "pinstudy"
    tree.mkdir()
    shutil.copy(ROOT / "pinstudy" / "__main__.py", tree)
    (tree / "cli.py").write_text(f"raise {error}\n")
    done = subprocess.run([sys.executable, tree], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, line)


def test_tables_are_printed_again_in_every_format_and_layout(folder: Path) -> None:
    pinstudy(folder, "run", "short.yaml")
    for option, value, sign in (
        ("--format", "text", "mapping"),
        ("--format", "markdown", "| "),
        ("--format", "csv", ","),
        ("--format", "latex", "toprule"),
        ("--layout", "published", "test  mapping"),
    ):
        done = pinstudy(folder, "tables", "results/short", option, value, status=0)
        assert sign in done.stdout
    (page,) = folder.glob("results/short/*/tables.md")
    published = (
        "| test case # | mapping | governor | time mean (s) | time std (s) | frequency mean (GHz) "
        "| CPU migrations | cache misses | energy package (J) |"
    )
    assert published in " ".join(page.read_text().split())
    numbers = page.with_suffix(".csv").read_text()
    assert "elapsed_median_s" in numbers.splitlines()[0]
    pinstudy(folder, "tables", "results/short", "--layout", "old", status=2)


@pytest.mark.parametrize(
    ("modules", "needed", "spared"),
    [
        (
            "analysis.tables.means, analysis.tables.short, analysis.format.terminal",
            "pandas",
            {"scipy", "matplotlib", "jinja2", "yaml", "configs.study", "runners.node.node"},
        ),
        (
            "analysis.report.page, analysis.figures.gallery",
            "scipy.special",
            {"scipy.stats", "scipy.sparse.csgraph", "scipy.optimize"},
        ),
    ],
)
def test_nothing_is_imported_that_takes_long_and_is_not_needed(
    modules: str, needed: str, spared: set[str]
) -> None:
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert needed in imported
    assert not spared & imported


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


def test_the_published_guests_on_the_published_node(folder: Path) -> None:
    node = build_tree(folder, "i9-14900k-noht")
    plan = ("plan", "paper-vm", "--sysroot", str(node))
    (table,) = json.loads(pinstudy(folder, *plan, "--json").stdout)["tables"]
    guests = [(row["guest"], row["cpus"]) for row in table["rows"]]
    mappings = [(guest["mapping"], guest["cpus"], cpus) for guest, cpus in guests]
    assert mappings == [
        ("unpinned", "0-23", "0-7"),
        ("pcores-set", "0-7", "0-7"),
        ("pcores-pin", "0-7", "0-7"),
        ("ecores-set", "8-23", "0-7"),
        ("ecores-pin", "8-15", "0-7"),
        ("mixed-set", "0-23", "0-7"),
        ("mixed-pin", "0-3,8-11", "0-7"),
    ]
    output = pinstudy(folder, *plan).stdout
    assert "#5  8 vCPUs ecores-pin on CPUs 8-15; in the guest: unpinned performance" in output
    assert "8 vCPUs and 16384 MiB, booted 35 times" in output


def test_topology_shows_small_caches_of_a_level_before_large_ones(folder: Path) -> None:
    done = pinstudy(folder, "topology", "--sysroot", str(build_tree(folder, "gb10")))
    caches = done.stdout.partition("Caches\n")[2].partition("NUMA nodes")[0].splitlines()
    sizes = [" ".join(line.split()[:3]) for line in caches]
    assert sizes == ["L2 512 KiB", "L2 2048 KiB", "L3 8192 KiB", "L3 16384 KiB"]


def test_topology_names_cpus_that_are_offline_or_of_no_kind_or_not_to_be_used(folder: Path) -> None:
    node = build_tree(folder, "synthetic-forest")
    write(node, "sys/devices/system/node/node1/cpulist", "")
    shown = pinstudy(folder, "topology", "--sysroot", str(node), "--kinds", "E=0-6").stdout
    assert "  E: 0 1 2 3 4 5 6\n  of no kind: 7 8\n" in shown
    assert "Offline: CPUs 9-11\n" in shown
    assert "NUMA nodes\n  0  CPUs 0-8\n  1  no CPUs\n" in shown
    assert "This process may use" not in shown


def test_topology_is_one_json_object_as_documented(folder: Path) -> None:
    node = build_tree(folder, "i9-14900k-noht")
    done = pinstudy(folder, "topology", "--sysroot", str(node), "--json")
    topology = json.loads(done.stdout)
    assert [(kind["name"], kind["cpus"]) for kind in topology["kinds"]] == [
        ("P", "0-7"),
        ("E", "8-23"),
    ]
    assert all(kind["evidence"] for kind in topology["kinds"])
    assert topology["cores"][0] == {"cpus": "0", "kind": "P", "package": 0}
    assert topology["numa"] == [{"node": 0, "cpus": "0-23"}]
    assert topology["online"] == "0-23"
    assert {"level", "size_bytes", "cpus"} <= set(topology["caches"][0])


def test_the_apps_beside_a_study_are_listed_and_one_is_checked(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    builds = "builds: {serial: {program: ./mine, runtime: none}}"
    check = "check: {command: [./verify]}"
    own = f"title: Mine\n{builds}\n{check}\nsizes: {{a: {{arguments: ''}}}}\n"
    (tmp_path / "apps" / "mine.yaml").write_text(own)
    listed = pinstudy(tmp_path, "apps", ".").stdout
    assert listed.startswith("mine: Mine\n")
    assert "./mine was not found" in listed
    assert "./verify was not found" in listed
    assert "\nlulesh: " in listed
    checked = pinstudy(tmp_path, "apps", "apps/mine.yaml")
    assert checked.stdout.endswith("apps/mine.yaml: no mistakes\n")
    assert "lulesh" not in checked.stdout
    (tmp_path / "apps" / "mine.yaml").write_text(own.replace("runtime", "rumtime"))
    wrong = pinstudy(tmp_path, "apps", "apps/mine.yaml", status=2)
    assert "apps/mine.yaml:2:" in wrong.stderr


# Runs a command as `bin/pinstudy` does, then prints how many threads the process has.
_THREADS = """\
import os, runpy, sys
sys.argv = ["pinstudy", "tables", "published:galante-2025"]
try:
    runpy.run_path({main!r}, run_name="__main__")
finally:
    print(len(os.listdir("/proc/self/task")), "threads", os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="BLAS has no more threads than CPUs")
@pytest.mark.parametrize(("given", "expected"), [(None, "1 threads None"), ("2", "2 threads 2")])
def test_no_thread_is_started_that_a_login_node_may_not_grant(
    tmp_path: Path, given: str | None, expected: str
) -> None:
    environment = {name: of for name, of in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if given:
        environment["OPENBLAS_NUM_THREADS"] = given
    code = _THREADS.format(main=str(ROOT / "pinstudy" / "__main__.py"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == expected, done.stderr
