"""The command line as a user meets it: real programs, exit statuses, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from base import VERSION
from runners.host.lock import node_lock
from runners.records.reader import read_records
from tests.faults.small_disk import mounted
from tests.support.cli import argv, pinstudy, pinstudy_without
from tests.support.held import WORK_UNTIL_LOOKED_AT, Gate, held_nap, looks_counted
from tests.support.processes import ended
from tests.support.tools import ROOT, need_tool
from tests.support.trees import build_tree
from tests.support.wait import HANG_S

NAP = """\
# A program that only waits
title: a nap
variants:
  plain: {program: /bin/sleep, runtime: none}
  held: {program: PROGRAM, runtime: none}
sizes:
  short: {arguments: '0.02', estimate: 20 ms}
  bad: {arguments: never}
"""
# At work until it was looked at often enough for a proof: what sleeps decides nothing.
WORK = f"""\
title: work
variants:
  plain: {{program: /bin/sh, runtime: none}}
sizes:
  looked-at:
    arguments: ['-c', '{WORK_UNTIL_LOOKED_AT}']
    estimate: 0.2 s
"""
STUDY = """\
# A study for tests
title: naps
apps:
  - {app: nap, variants: VARIANT, sizes: SIZE, threads: 1}
mappings: [scheduler, pcores-set, pcores-pin, ecores-set, ecores-pin]
governors: current
repetitions: 3
warmup: 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "nap.yaml").write_text(NAP.replace("PROGRAM", str(tmp_path / "nap.sh")))
    for name, variant, size in (
        ("short", "plain", "short"),
        ("held", "held", "short"),
        ("bad", "plain", "bad"),
    ):
        text = STUDY.replace("VARIANT", variant).replace("SIZE", size)
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "apps" / "work.yaml").write_text(WORK.replace("LOOKS", str(tmp_path / "looks")))
    work = STUDY.replace("app: nap, variants: VARIANT", "app: work, variants: plain")
    (tmp_path / "work.yaml").write_text(work.replace("SIZE", "looked-at"))
    return tmp_path


@pytest.fixture
def gate(folder: Path) -> Gate:
    """Where the runs of held.yaml wait."""
    return held_nap(folder / "nap.sh")


@contextmanager
def held_in_a_run(
    folder: Path, gate: Gate, done: int, *options: str
) -> Iterator[subprocess.Popen[str]]:
    """Start held.yaml, let so many runs end, and hold the next one."""
    gate.close(after=done)
    process = subprocess.Popen(
        argv("run", "held.yaml", *options),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ended(process):
        gate.wait_for_run(process)
        yield process


def records(folder: Path) -> list[dict[str, Any]]:
    return [
        record for shards in folder.glob("results/*/*/records") for record in read_records(shards)
    ]


def two_kinds() -> str:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    return f"P={cpus[0]},E={cpus[1]}"


def test_a_study_runs_all_five_mappings_with_proved_placement(folder: Path) -> None:
    with looks_counted(folder / "looks"):
        done = pinstudy(folder, "run", "work.yaml", "--kinds", two_kinds())
    assert done.returncode == 0, done.stderr
    made = records(folder)
    assert len(made) == 5 * (3 + 1)
    assert {r["status"] for r in made} == {"ok"}
    assert {r["placement"]["verdict"] for r in made} == {"proved"}
    assert all(r["kinds_declared"] for r in made)
    assert {r["mapping"] for r in made} == {
        "scheduler",
        "pcores-set",
        "pcores-pin",
        "ecores-set",
        "ecores-pin",
    }
    assert all(r["elapsed_s"] > 0.02 for r in made)
    assert "declared by hand" in done.stdout
    for name in ("tables.md", "tables.csv", "tables.tex", "study.yaml"):
        assert next(folder.glob(f"results/work/*/{name}")).stat().st_size


def test_software_counters_are_measured_and_the_rest_has_reasons(folder: Path) -> None:
    need_tool("perf")
    pinstudy(folder, "run", "short.yaml", "--kinds", two_kinds())
    made = records(folder)
    for record in made:
        for name in ("task_clock_s", "migrations", "context_switches", "cycles", "energy_pkg_j"):
            assert (name in record) != (name in record["unavailable"]), name
        assert record["versions"]["pinstudy"] == VERSION
    # The nap has one thread that sleeps once; nothing of the harness may be counted.
    counted = [record["task_clock_s"] for record in made if "task_clock_s" in record]
    assert all(clock_s > 0 for clock_s in counted)
    assert not counted or median(counted) < 0.02


def test_an_unfinished_study_is_continued_without_losing_or_repeating_a_run(
    folder: Path, gate: Gate
) -> None:
    kinds = two_kinds()
    with held_in_a_run(folder, gate, 3, "--kinds", kinds):
        pass
    gate.open()
    before = {r["run_id"] for r in records(folder)}
    assert len(before) == 3
    done = pinstudy(folder, "run", "held.yaml", "--kinds", kinds)
    assert done.returncode == 0
    where = "was ended from outside before run 4 of 20 (nap-held short x1 "
    kept = "was recorded: 3 runs of it kept, that one is made again"
    assert where in done.stderr.splitlines()[0]
    assert done.stderr.splitlines()[0].endswith(kept)
    made = records(folder)
    assert before <= {r["run_id"] for r in made}
    keys = [(r["case_id"], r["warmup"], r["repetition"]) for r in made]
    assert len(keys) == len(set(keys)) == 20
    assert {r["attempt"] for r in made} == {1, 2}


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
    assert pinstudy(folder, "run", "held.yaml").returncode == 0
    finished = [r for r in records(folder) if r["status"] == "ok"]
    assert len({(r["case_id"], r["warmup"], r["repetition"]) for r in finished}) == len(finished)


def test_a_finished_study_runs_nothing_more_and_fresh_starts_anew(folder: Path) -> None:
    assert pinstudy(folder, "run", "short.yaml").returncode == 0
    before = records(folder)
    assert pinstudy(folder, "run", "short.yaml").returncode == 0
    assert records(folder) == before
    assert pinstudy(folder, "run", "short.yaml", "--fresh").returncode == 0
    after = records(folder)
    assert len(after) == 2 * len(before), "what was measured before is kept"


def test_fresh_moves_nothing_aside_where_nothing_can_run(folder: Path) -> None:
    assert pinstudy(folder, "run", "short.yaml").returncode == 0
    (folder / "apps" / "nap.yaml").write_text(NAP.replace("/bin/sleep", "/nowhere/sleep"))
    kept = list(folder.glob("results/short/*"))
    done = pinstudy(folder, "run", "short.yaml", "--fresh")
    assert done.returncode == 1
    assert "nothing of study short can run here" in done.stderr
    assert list(folder.glob("results/short/*")) == kept


def test_fresh_moves_nothing_from_under_a_running_study(folder: Path) -> None:
    assert pinstudy(folder, "run", "short.yaml").returncode == 0
    kept = list(folder.glob("results/short/*"))
    with node_lock(Path("/")):
        done = pinstudy(folder, "run", "short.yaml", "--fresh")
    assert done.returncode == 1
    assert "another pinstudy is at work on this node" in done.stderr
    assert list(folder.glob("results/short/*")) == kept


def test_a_changed_study_is_not_mixed_with_old_results(folder: Path) -> None:
    pinstudy(folder, "run", "short.yaml")
    text = (folder / "short.yaml").read_text().replace("warmup: 1", "warmup: 2")
    (folder / "short.yaml").write_text(text)
    done = pinstudy(folder, "run", "short.yaml")
    assert done.returncode == 2
    assert "--fresh" in done.stderr


def test_a_study_whose_every_run_fails_is_a_failed_study(folder: Path) -> None:
    done = pinstudy(folder, "run", "bad.yaml")
    assert done.returncode == 1
    assert {r["status"] for r in records(folder) if r["status"] != "skipped"} == {"failed"}
    assert "invalid time interval" in records(folder)[-1]["stderr_tail"]
    assert "exit status 1" in done.stdout


def test_mistakes_in_a_study_are_all_told_with_their_places(folder: Path) -> None:
    (folder / "wrong.yaml").write_text(
        STUDY.replace("SIZE", "shrot").replace("pcores-pin", "pcores-pni").replace("3", "many")
    )
    done = pinstudy(folder, "run", "wrong.yaml")
    assert done.returncode == 2
    assert "wrong.yaml:4:" in done.stderr
    assert "'short'" in done.stderr
    assert "wrong.yaml:5:" in done.stderr
    assert "'pcores-pin'" in done.stderr
    assert "wrong.yaml:7:" in done.stderr
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "no-such-study"),
        ("plna",),
        ("plan",),
        ("tables", "nowhere"),
        ("topology", "--sysroot", "nowhere"),
        ("topology", "--kinds", "Q=0"),
        ("run", "short.yaml", "--results", "/proc/nope"),
        ("plan", "short.yaml", "--kinds", "P=4095"),
    ],
)
def test_a_users_mistake_is_one_message_and_status_2(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    done = pinstudy(folder, *arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_plan_touches_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = pinstudy(folder, "plan", "short.yaml")
    assert done.returncode == 0
    assert sorted(folder.rglob("*")) == before
    assert "LC_ALL=C OMP_NUM_THREADS=1" in done.stdout


def test_a_full_disk_stops_with_one_line(folder: Path) -> None:
    results = folder / "results"
    results.mkdir()
    with mounted(results, "size=64k"):
        done = pinstudy(folder, "run", "short.yaml", "--kinds", two_kinds())
        assert done.returncode == 1
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert records(folder)


def test_a_study_ends_with_its_answer_and_a_report(folder: Path) -> None:
    with looks_counted(folder / "looks"):
        done = pinstudy(folder, "run", "work.yaml", "--kinds", two_kinds(), "--report")
    assert done.returncode == 0, done.stderr
    assert "To pin or not to pin?\n  For time: " in done.stdout
    (records,) = folder.glob("results/work/*/records")
    assert (records.parent / "verdict.md").read_text().startswith("# To pin or not to pin?")
    assert (records.parent / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert f"written: {(records.parent / 'report.html').relative_to(folder)}" in done.stdout


@pytest.mark.parametrize(
    ("module", "told", "files"),
    [
        ("pandas", "no tables: no pandas here; where numpy, pandas and tabulate", []),
        ("matplotlib", "no verdict and no report: no matplotlib here; where scipy", ["tables.md"]),
    ],
)
def test_a_compute_node_without_what_analysis_needs_still_makes_its_runs(
    folder: Path, module: str, told: str, files: list[str]
) -> None:
    done = pinstudy_without(module, folder, "run", "short.yaml", "--report")
    assert done.returncode == 0, done.stderr
    assert told in done.stderr
    assert [path.name for path in folder.glob("results/short/*/*.md")] == files
    assert records(folder)


def test_tables_are_printed_again_in_every_format(folder: Path) -> None:
    pinstudy(folder, "run", "short.yaml")
    for style, sign in {
        "text": "mapping",
        "markdown": "| ",
        "csv": ",",
        "latex": "toprule",
    }.items():
        done = pinstudy(folder, "tables", "results/short", "--format", style)
        assert done.returncode == 0
        assert sign in done.stdout


def test_the_published_layout_has_the_published_columns_on_the_terminal_and_in_files(
    folder: Path,
) -> None:
    pinstudy(folder, "run", "short.yaml")

    done = pinstudy(folder, "tables", "results/short", "--layout", "published")

    assert done.returncode == 0
    assert "test  mapping" in done.stdout
    (page,) = folder.glob("results/short/*/tables.md")
    published = (
        "| test case # | mapping | governor | time mean (s) | time std (s) | frequency mean (GHz) "
        "| CPU migrations | cache misses | energy package (J) |"
    )
    assert published in " ".join(page.read_text().split())
    (numbers,) = folder.glob("results/short/*/tables.csv")
    assert "elapsed_median_s" in numbers.read_text().splitlines()[0]
    done = pinstudy(folder, "tables", "results/short", "--layout", "old")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_tables_import_nothing_that_only_figures_and_statistics_need() -> None:
    code = "import sys, analysis.tables.means; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert "pandas" in imported
    assert not {"scipy", "matplotlib", "jinja2"} & imported


def test_a_report_of_few_runs_needs_no_import_of_scipy_that_takes_half_a_second() -> None:
    code = "import sys, analysis.report.page, analysis.figures.gallery; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert "scipy.special" in imported
    assert not {"scipy.stats", "scipy.sparse.csgraph", "scipy.optimize"} & imported


def test_the_published_study_on_the_published_node(folder: Path) -> None:
    node = build_tree(folder, "i9-14900k-noht")
    done = pinstudy(folder, "plan", "paper", "--sysroot", str(node), "--json")
    assert done.returncode == 0, done.stderr
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
    shown = [(row["vcpu_mapping"], row["vcpu_cpus"], row["cpus"]) for row in table["rows"]]
    assert shown == [
        ("scheduler", "0-23", "0-7"),
        ("pcores-set", "0-7", "0-7"),
        ("pcores-pin", "0-7", "0-7"),
        ("ecores-set", "8-23", "0-7"),
        ("ecores-pin", "8-15", "0-7"),
        ("mixed-set", "0-23", "0-7"),
        ("mixed-pin", "0-3,8-11", "0-7"),
    ]
    said = pinstudy(folder, *plan).stdout
    assert "#5  8 vCPUs ecores-pin on CPUs 8-15; in the guest: scheduler performance" in said
    assert "8 vCPUs and 16384 MiB, booted 7 times" in said


def test_topology_shows_small_caches_of_a_level_before_large_ones(folder: Path) -> None:
    done = pinstudy(folder, "topology", "--sysroot", str(build_tree(folder, "gb10")))
    caches = done.stdout.partition("Caches\n")[2].partition("NUMA nodes")[0].splitlines()
    sizes = [" ".join(line.split()[:3]) for line in caches]
    assert sizes == ["L2 512 KiB", "L2 2048 KiB", "L3 8192 KiB", "L3 16384 KiB"]


def test_topology_is_one_json_object_as_documented(folder: Path) -> None:
    node = build_tree(folder, "i9-14900k-noht")
    done = pinstudy(folder, "topology", "--sysroot", str(node), "--json")
    shown = json.loads(done.stdout)
    assert [(kind["name"], kind["cpus"]) for kind in shown["kinds"]] == [
        ("P", "0-7"),
        ("E", "8-23"),
    ]
    assert all(kind["evidence"] for kind in shown["kinds"])
    assert shown["cores"][0] == {"cpus": "0", "kind": "P", "package": 0}
    assert shown["numa"] == [{"node": 0, "cpus": "0-23"}]
    assert shown["online"] == "0-23"
    assert {"level", "size_bytes", "cpus"} <= set(shown["caches"][0])
