"""An installation by CMake works by itself: for other users, read-only, from any folder."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinstudy.configs.library import list_apps
from tests.support.tools import ROOT, missing, need_tool
from tests.support.wait import HANG_S

PACKAGES = ("base", "configs", "runners", "analysis", "pinstudy")
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


def install(destination: Path, prefix: str) -> None:
    """Install the build of the checkout below `destination`, as packagers do."""
    build = ROOT / "build/gcc"
    script = build / "cmake_install.cmake"
    if not script.exists() or "lib/pinstudy" not in script.read_text(encoding="utf-8"):
        missing(f"{build} is missing or older than its sources: `make test` builds it")
    python = Path(sys.executable).parent
    subprocess.run(
        [need_tool("cmake"), "--install", str(build), "--prefix", prefix],
        # python3 is the interpreter of these tests, which has what the schema is made with.
        env=os.environ | {"DESTDIR": str(destination), "PATH": f"{python}:{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL,
        check=True,
    )


@pytest.fixture(scope="module")
def prefix() -> Iterator[Path]:
    """Give a read-only installation with the interpreter of these tests.

    It is not in pytest's folders, which others than their owner may not enter.
    """
    with tempfile.TemporaryDirectory() as temporary:
        prefix = Path(temporary) / "opt/pin study"
        stale = prefix / "lib/pinstudy/runners/stale.py"
        stale.parent.mkdir(parents=True)
        stale.touch()
        (prefix / "lib/pinstudy/configs/sites").mkdir(parents=True)
        (prefix / "lib/pinstudy/configs/sites/ours.yaml").touch()
        install(Path(temporary), "/opt/pin study")
        (prefix / "lib/pinstudy/interpreter").write_text(f"{sys.executable}\n")
        Path(temporary).chmod(0o755)
        modes = {path: path.stat().st_mode for path in (prefix, *prefix.rglob("*"))}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        yield prefix
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give the folder of a user of the installation."""
    with tempfile.TemporaryDirectory() as temporary:
        if user() is not None:
            os.chown(temporary, user() or 0, -1)
        yield Path(temporary)


def user() -> int | None:
    """Return a user who cannot write read-only files, unlike root; None if there is none."""
    interpreter = Path(sys.executable)
    folders = {*interpreter.parents, *interpreter.resolve().parents}
    if os.getuid() != 0 or not all(path.stat().st_mode & 0o001 for path in folders):
        return None
    return pwd.getpwnam("nobody").pw_uid


def start(prefix: Path, folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    known = {"HOME": str(folder), "PATH": os.environ["PATH"], "PINSTUDY_REPORT": "0"}
    if user() is None:
        # As root, Python would compile into the read-only tree.
        known["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.Popen(
        [str(prefix / "bin/pinstudy"), *arguments],
        cwd=folder,
        env=known | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        user=user(),
    )


def pinstudy(prefix: Path, folder: Path, *arguments: str, **environment: str) -> tuple[str, str]:
    """Run the installed command in a folder; return stdout and stderr."""
    with start(prefix, folder, *arguments, **environment) as running:
        out, err = running.communicate(timeout=HANG_S)
    assert running.returncode == 0, err
    return out, err


def test_everything_that_runs_is_installed_and_nothing_else(prefix: Path) -> None:
    tree = prefix / "lib/pinstudy"
    built = {path.name for path in (ROOT / "build/bin").iterdir()}
    by_gcc = {v.program for app in list_apps() for v in app.builds.values() if v.name != "libomp"}
    # No app: `pinstudy prove` runs it.
    yardsticks = {"yardstick-pthreads", "yardstick-libgomp"}
    programs = {"pinstudy-witness", *yardsticks, *by_gcc} & built
    assert "lu-serial" in programs
    assert {path.name for path in (prefix / "bin").iterdir()} == {"pinstudy", *programs}
    for package in PACKAGES:
        wanted = {
            path.relative_to(ROOT)
            for path in (ROOT / package).rglob("*")
            if path.is_file() and path.suffix in {".py", ".jinja", ".css", ".js", ".csv", ".yaml"}
            if path.relative_to(ROOT).parts[:2] != ("configs", "spack")
        }
        if package == "configs":
            wanted |= {
                Path("pinstudy/configs/sites/ours.yaml"),
                Path("pinstudy/configs/schema.json"),
            }
        if package == "runners":
            wanted |= {
                Path("pinstudy/runners/vm/guest/init"),
                Path("pinstudy/runners/vm/guest/start.sh"),
            }
        found = {path.relative_to(tree) for path in (tree / package).rglob("*") if path.is_file()}
        assert found == wanted


def test_the_documentation_is_installed_as_its_links_say(prefix: Path) -> None:
    documentation = prefix / "share/doc/pinstudy"
    assert (documentation / "LICENSE").exists()
    readme = (documentation / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\((docs/[^)#]+)\)", readme):
        assert (documentation / link).exists()


def test_nothing_of_the_checkout_is_used(prefix: Path, folder: Path) -> None:
    out, imported = pinstudy(prefix, folder, "plan", "quick", PYTHONVERBOSE="1")

    assert f"{prefix}/lib/pinstudy/runners/plan/plan.py" in imported
    for package in PACKAGES:
        assert str(ROOT / package) not in imported
    assert f"'{prefix}/bin/lulesh-libgomp'" in out
    assert str(ROOT) not in out


def test_several_users_look_at_once(prefix: Path, folder: Path) -> None:
    commands = [("apps",), ("mappings",), ("tables", "published:galante-2025"), ("plan", "quick")]

    running = [start(prefix, folder, *command) for command in commands]

    for process in running:
        out, err = process.communicate(timeout=HANG_S)
        assert (process.returncode, err) == (0, "")
        assert out


def test_a_study_leaves_its_results_where_the_user_is_or_wants_them(
    prefix: Path, folder: Path
) -> None:
    (folder / "mine.yaml").write_text(STUDY)

    pinstudy(prefix, folder, "run", "mine.yaml")
    pinstudy(prefix, folder, "run", "mine.yaml", PINSTUDY_RESULTS=str(folder / "else where"))

    for results in ("results", "else where"):
        [records] = folder.glob(f"{results}/mine/*/records/*.jsonl")
        made = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
        runs = [record for record in made if record.get("app") == "lu"]
        assert {(run["status"], run["command"][-2]) for run in runs} == {
            ("ok", str(prefix / "bin/lu-libgomp"))
        }
    out, _ = pinstudy(prefix, folder, "tables", "mine", PINSTUDY_RESULTS=str(folder / "else where"))
    assert "LU, 1 thread" in out
