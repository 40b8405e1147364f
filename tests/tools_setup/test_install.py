"""A wheel works by itself: for other users, read-only, from any folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ordinary_user import AS_NOBODY
from tests.support.tools import ROOT, need_tool
from tests.support.wait import HANG_S

# What a checkout alone has: sources of a program, environments of Spack, what set-up makes.
LEFT_OUT = ("pinstudy/runners/witness/", "pinstudy/configs/spack/", "pinstudy/configs/schema.json")
PROGRAMS = ("lu-libgomp", "pinstudy-witness")
STUDY = """\
# Is an installation enough to measure?
title: one case
apps:
  - {app: lu, builds: [libgomp], sizes: n500, threads: [1]}
mappings: [unpinned]
governors: current
repetitions: 2
warmup: 0
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a wheel of the checkout without its programs, which take a minute to build."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation"]
    command += ["--no-deps", "--no-index", "--config-settings=wheel.cmake=false"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=HANG_S)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def prefix(wheel: Path) -> Iterator[Path]:
    """Give a read-only environment with the wheel, the command and two programs.

    It is not in pytest's folders, which others than their owner may not enter.
    """
    with tempfile.TemporaryDirectory() as temporary:
        prefix = Path(temporary) / "pin study"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
        [packages] = prefix.glob("lib/python*/site-packages")
        (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
        shutil.copy(ROOT / "bin/pinstudy", prefix / "bin")
        for name in PROGRAMS:
            shutil.copy(need_tool(str(ROOT / "build/bin" / name)), prefix / "bin")
        Path(temporary).chmod(0o755)
        folders = [path for path in (prefix, *prefix.rglob("*")) if not path.is_symlink()]
        modes = {path: path.stat().st_mode for path in folders}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        yield prefix
        for path, mode in modes.items():
            path.chmod(mode)


def pinstudy(prefix: Path, folder: Path, *arguments: str, **environment: str) -> tuple[str, str]:
    """Run the installed command in a folder of its user; return stdout and stderr."""
    done = subprocess.run(
        [prefix / "bin/pinstudy", *arguments],
        cwd=folder,
        # As root, Python would compile into the read-only tree.
        env={"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        | {"PINSTUDY_REPORT": "0"}
        | {name: os.environ[name] for name in ("PINSTUDY_LOCK", "PINSTUDY_STATE")}
        | environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_everything_that_runs_is_packed_and_nothing_else(wheel: Path) -> None:
    suffixes = {".py", ".jinja", ".css", ".js", ".csv", ".yaml", ".sh", ""}
    tracked = subprocess.run(
        ["git", "ls-files", "pinstudy"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    wanted = {
        name
        for name in tracked
        if Path(name).suffix in suffixes
        and not name.startswith(LEFT_OUT)
        and (ROOT / name).exists()
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed - set(LEFT_OUT) == wanted
    assert not [name for name in packed if not name.startswith("pinstudy/")]


def test_nothing_of_the_checkout_is_used(prefix: Path, tmp_path: Path) -> None:
    out, _ = pinstudy(prefix, tmp_path, "plan", "quick")

    assert f"'{prefix}/bin/lu-libgomp'" in out or f"{prefix}/bin/lu-libgomp" in out
    assert str(ROOT) not in out
    code = "import pinstudy.analysis.tables.means, sys; print(sys.modules['pinstudy'].__path__)"
    [python] = prefix.glob("bin/python3")
    done = subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert str(prefix) in done.stdout and str(ROOT) not in done.stdout


def test_another_user_may_start_it(prefix: Path) -> None:
    if os.geteuid() != 0 or not all(
        path.stat().st_mode & 0o001 for path in Path(sys.executable).resolve().parents
    ):
        pytest.skip("needs root, and an interpreter that others may start")
    command = [str(prefix / "bin/pinstudy"), "apps"]
    done = subprocess.run(command, cwd="/", capture_output=True, check=False, **AS_NOBODY)
    assert done.returncode == 0, done.stderr


def test_a_study_leaves_its_results_where_the_user_wants_them(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STUDY)
    elsewhere = {"PINSTUDY_RESULTS": str(tmp_path / "else where")}

    pinstudy(prefix, tmp_path, "run", "mine.yaml", **elsewhere)

    [records] = tmp_path.glob("else where/mine/*/records/*.jsonl")
    made = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    runs = [record for record in made if record.get("app") == "lu"]
    assert {(run["status"], run["command"][-2]) for run in runs} == {
        ("ok", str(prefix / "bin/lu-libgomp"))
    }
    out, _ = pinstudy(prefix, tmp_path, "tables", "mine", **elsewhere)
    assert "LU, 1 thread" in out
