"""Results with an attacker's files: none of them is executed, no link is followed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from analysis.imports.summary_file import import_summaries
from analysis.published import FOLDER
from base.errors import StoppedError
from runners.records.shard import LATE, Shard
from tests.support.results import record, write
from tests.support.studies import write_program
from tests.support.tools import ROOT, need_tool

MODULES = (
    *("sitecustomize", "usercustomize", "types", "contextlib", "multiprocessing", "concurrent"),
    *("numpy", "pandas", "matplotlib", "scipy", "yaml", "click", "analysis", "configs"),
)
COMMANDS = ("python3", "perf", "ldd", "lstopo", "readlink", "taskset", "squeue", "lulesh-serial")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Give results whose folder has files that pinstudy might load or start by mistake."""
    folder = tmp_path / "made-up" / "node1"
    write(folder, [record(number, of) for number in (1, 2) for of in (1, 2, 3)])
    trap = f"open({str(tmp_path / 'executed')!r}, 'a').write(__file__ + '\\n')\n"
    for name in MODULES:
        (folder / f"{name}.py").write_text(trap)
    for name in COMMANDS:
        write_program(folder / name, f"#!/bin/sh\necho $0 >>{tmp_path / 'executed'}\n")
    # The planted settings would draw every figure by LaTeX, with a planted preamble.
    (folder / "matplotlibrc").write_text("text.usetex: True\ntext.latex.preamble: \\hello\n")
    (folder / "apps").mkdir()
    shutil.copy(ROOT / "configs/apps/lu.yaml", folder / "apps")
    return folder


def test_nothing_is_executed_from_a_results_folder(planted: Path) -> None:
    need_tool(str(ROOT / ".venv/bin/python"))
    (planted / "study.yaml").write_text("title: evil\n")
    home = os.environ.get("HOME", "/")
    for command in (["report", "."], ["status", "quick"]):
        done = subprocess.run(
            [ROOT / "bin/pinstudy", *command],
            cwd=planted,
            env={"PATH": f".:{os.environ['PATH']}:", "PYTHONPATH": ":.", "HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )

        assert "Traceback" not in done.stderr and "latex" not in done.stderr.lower()
        assert done.returncode == (0 if command[1] == "." else 2), done.stderr
    assert (planted / "report.html").stat().st_size > 10_000
    assert not (planted.parents[1] / "executed").exists()


def test_an_interpreter_without_an_environment_of_its_own_imports_nothing_from_there(
    planted: Path,
) -> None:
    installation = planted.parents[1] / "installed"
    (installation / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin/pinstudy", installation / "bin")
    (installation / "lib").mkdir()
    tree = installation / "lib" / "pinstudy"
    tree.mkdir()
    for name in ("pinstudy", "base", "configs", "runners", "analysis"):
        (tree / name).symlink_to(ROOT / name)
    (tree / "interpreter").write_text(f"{sys.executable}\n")
    packages = next(path for path in sys.path if path.endswith("site-packages"))

    done = subprocess.run(
        [installation / "bin/pinstudy", "apps"],
        cwd=planted,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f":{packages}:."},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert not (planted.parents[1] / "executed").exists()


# Started as `python FILE`, so that the folder of the results is in no list of this process.
WORK = """
import os, sys
sys.path[0] = sys.argv[1]
def main():
    from analysis.processes import pool
    with pool(2) as processes:
        print([job.result() for job in [processes.submit(os.getcwd) for _ in range(3)]])
if __name__ == "__main__":
    main()
"""


def test_processes_that_share_work_import_nothing_from_there(planted: Path) -> None:
    script = planted.parents[1] / "work.py"
    script.write_text(WORK)
    done = subprocess.run(
        [sys.executable, script, ROOT], cwd=planted, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{[str(planted)] * 3}\n", done.stderr
    assert not (planted.parents[1] / "executed").exists()


def test_a_late_record_is_not_written_through_a_link(tmp_path: Path, at_end: ExitStack) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious\n")
    shard = at_end.enter_context(closing(Shard(tmp_path / "records", "n")))
    at_end.enter_context(closing(Shard(tmp_path / "records", "n")))
    (tmp_path / LATE).mkdir()
    (tmp_path / LATE / "n-0001.jsonl").symlink_to(precious)
    with pytest.raises(StoppedError, match="lost, because"):
        shard.append(record())
    assert precious.read_text() == "precious\n"


def test_imported_means_are_not_written_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious\n")
    into = tmp_path / "into"
    into.mkdir()
    (into / f".summaries.csv.{os.getpid()}").symlink_to(precious)
    import_summaries(next(FOLDER.glob("*/summaries.csv")), into)
    assert precious.read_text() == "precious\n"
    assert not (into / "summaries.csv").is_symlink()
