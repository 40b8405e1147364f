"""`make originals`: what it fetches and builds, its messages, and what it leaves alone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pinstudy.runners.records.status import OK
from tests.support.tools import ROOT, need_tool

TABLE = (ROOT / "apps/originals/obtain.sh").read_text(encoding="utf-8")


def words(original: str) -> list[str]:
    """Return an original's words of the table in apps/originals/obtain.sh."""
    (text,) = re.findall(rf"^ +{original}=\((.*?)\)$", TABLE, re.DOTALL | re.MULTILINE)
    return shlex.split(text)


# Programs of our own making that have the files of the originals.
MAIN = '#include <cstdio>\nint main() { std::puts("Run completed:"); }\n'
SMALL_MAIN = 'int puts(const char *);\nint main(void) { puts("Timer 1"); return 0; }\n'
NINE = sorted(
    f"{app}-{build}.build"
    for app in ("lulesh-llnl", "mandelbrot-ompscr", "lu-ompscr")
    for build in ("serial", "libgomp", "libomp")
)


class Checkout:
    """A copy of the files that `make originals` reads, with its own home folder for git."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        for path in ("tools", "apps/originals", "apps/cmake"):
            shutil.copytree(ROOT / path, self.root / path)
        (self.root / "vnode").mkdir()
        shutil.copy(ROOT / "vnode/images.sh", self.root / "vnode")
        self.sources = {}
        for original in ("LULESH", "OMPSCR"):
            self.sources[f"{original}_SOURCE"] = folder / original
            for name in words(original)[7:]:
                file = folder / original / name
                file.parent.mkdir(parents=True, exist_ok=True)
                text = MAIN if name == "lulesh.cc" else "/* nothing */\n"
                file.write_text(SMALL_MAIN if name.startswith("applications") else text)

    @property
    def programs(self) -> Path:
        return self.root / "build/originals/bin"

    def make(self, **variables: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `make originals` with these variables, by default with both folders."""
        settings = variables or self.sources
        environment = {**os.environ, "HOME": str(self.home), "PINSTUDY_NO_SPACK": "1"}
        environment |= {"PINSTUDY_NO_SYSTEM_PACKAGES": "1", "MARCH": "x86-64"}
        environment |= {name: str(value) for name, value in settings.items()}
        return subprocess.run(
            [need_tool("bash"), "tools/setup.sh", "originals"],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, Path, str]:
    """A checkout in which all was built, a copy of its folder, and the output."""
    folder = tmp_path_factory.mktemp("made") / "all"
    checkout = Checkout(folder)
    done = checkout.make()
    assert done.returncode == 0, done.stderr
    backup = folder.with_name("kept")
    shutil.copytree(folder, backup, symlinks=True)
    return checkout, backup, done.stdout


@pytest.fixture
def ready(first: tuple[Checkout, Path, str]) -> Iterator[Checkout]:
    """The checkout in which all was built; each test gets it unchanged."""
    checkout, backup, _ = first
    yield checkout
    shutil.rmtree(checkout.root.parent)
    shutil.copytree(backup, checkout.root.parent, symlinks=True)


def built(checkout: Checkout) -> dict[str, int]:
    """Return the time at which each program was built, by name."""
    return {
        path.name: path.stat().st_mtime_ns
        for path in checkout.programs.glob("*-lib*")
        if not path.suffix
    }


def in_git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    return subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_nine_programs_are_built_and_described(ready: Checkout) -> None:
    assert sorted(path.name for path in ready.programs.glob("*.build")) == NINE
    for path in ready.programs.glob("*.build"):
        program = path.with_suffix("")
        assert subprocess.run([program], capture_output=True, check=True).stdout
        lines = path.read_text().splitlines()
        assert lines[1] == f"build: {program.name.rpartition('-')[2]}"
        assert [line.partition(":")[0] for line in lines[2:]] == [
            "source", "revision", "tree", "compiler", "flags", "openmp",
        ]  # fmt: skip
        assert "-O3 -DNDEBUG -ffp-contract=fast -fno-math-errno" in lines[6]
    serial, openmp = (
        (ready.programs / f"lulesh-llnl-{name}.build").read_text() for name in ("serial", "libgomp")
    )
    assert "-fopenmp" not in serial
    assert "-fopenmp" in openmp


def test_done_again_it_does_nothing_also_without_the_folders(ready: Checkout) -> None:
    before = built(ready)

    for variables in (ready.sources, {"LANG": "C"}):
        done = ready.make(**variables)
        assert (done.returncode, done.stderr) == (0, "")
        assert "builds" not in done.stdout
    assert built(ready) == before


def test_another_revision_is_built_and_says_so(
    ready: Checkout, first: tuple[Checkout, Path, str]
) -> None:
    source = ready.sources["LULESH_SOURCE"]
    in_git(source, "init", "--quiet")
    in_git(source, "add", "-A")
    tree = in_git(source, "write-tree")
    assert (
        "is not LULESH at the pinned revision 3e01c40; records and tables will say so" in first[2]
    )
    title, *rest = (ready.programs / "lulesh-llnl-serial.build").read_text().splitlines()
    assert title == f"LULESH (LLNL, tree {tree[:7]}, not the pinned revision 3e01c40)"
    assert f"source: {source}" in rest
    assert "revision: not known" in rest
    assert f"tree: {tree}" in rest


def test_a_changed_folder_is_built_again_and_the_other_original_is_not(ready: Checkout) -> None:
    before = built(ready)

    (ready.sources["LULESH_SOURCE"] / "lulesh.cc").write_text(MAIN.replace("completed", "over"))
    ready.make()

    changed = {name for name, time in built(ready).items() if before[name] != time}
    assert {name.partition("-l")[0] for name in changed} == {"lulesh"}
    assert "lulesh-llnl-libomp" in changed


def test_a_bare_repository_is_read_at_its_newest_commit(ready: Checkout, tmp_path: Path) -> None:
    folder = ready.sources["LULESH_SOURCE"]
    in_git(folder, "init", "--quiet")
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "--quiet", "-m", "all")
    bare = tmp_path / "bare.git"
    in_git(folder, "clone", "--quiet", "--bare", str(folder), str(bare))

    done = ready.make(**ready.sources | {"LULESH_SOURCE": bare})

    assert done.returncode == 0, done.stderr
    path = (ready.programs / "lulesh-llnl-serial.build").read_text()
    assert f"revision: {in_git(folder, 'rev-parse', 'HEAD')}\n" in path


def test_a_compiler_s_error_is_shown_and_leaves_the_programs_that_were_there(
    ready: Checkout,
) -> None:
    before = built(ready)

    (ready.sources["LULESH_SOURCE"] / "lulesh-viz.cc").write_text("what is this\n")
    done = ready.make()

    assert done.returncode == 2
    assert re.search(r"^set-up: cannot build the originals with g\+\+:$", done.stderr, re.MULTILINE)
    assert "/lulesh-viz.cc:1:1: error:" in done.stderr
    assert done.stderr.endswith(f"the whole output is in {ready.root}/build/setup.log\n")
    assert built(ready) == before


def test_a_folder_without_the_sources_is_one_line(checkout: Checkout, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    for folder, message in (
        (empty, f"{empty}/lulesh-comm.cc: No such file; expected a checkout of"),
        (tmp_path / "nowhere", f"{tmp_path}/nowhere is no folder"),
    ):
        done = checkout.make(**checkout.sources | {"LULESH_SOURCE": folder})
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"set-up: LULESH_SOURCE: {message}")
    assert not checkout.programs.exists()


WAYS_OUT = (
    "; name a folder that has it (make originals LULESH_SOURCE=DIR), or study pinstudy's own "
    "programs (make study STUDY=paper-own)"
)


def test_what_cannot_be_fetched_names_both_ways_out(checkout: Checkout, tmp_path: Path) -> None:
    # As without a network: git is redirected to a missing repository.
    config = f'[url "{tmp_path}/nowhere"]\n\tinsteadOf = {words("LULESH")[3]}\n'
    (checkout.home / ".gitconfig").write_text(config)

    done = checkout.make(OMPSCR_SOURCE=checkout.sources["OMPSCR_SOURCE"])

    assert done.returncode == 2
    assert done.stdout.startswith(f"set-up: fetches LULESH from {words('LULESH')[3]} (BSD-3-Clause")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"set-up: cannot fetch LULESH from {words('LULESH')[3]} (fatal: ")
    assert line.endswith(WAYS_OUT)
    assert not checkout.programs.exists()


def test_a_server_that_has_another_history_is_not_believed(checkout: Checkout) -> None:
    folder = checkout.sources["LULESH_SOURCE"]
    in_git(folder, "init", "--quiet")
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "--quiet", "-m", "all")
    (checkout.home / ".gitconfig").write_text(
        f'[url "{folder}"]\n\tinsteadOf = {words("LULESH")[3]}\n'
    )

    done = checkout.make(OMPSCR_SOURCE=checkout.sources["OMPSCR_SOURCE"])

    assert done.returncode == 2
    assert done.stderr.strip().endswith(WAYS_OUT)
    assert not (checkout.root / "build/originals/lulesh-source").exists()


def test_without_git_set_up_says_so(checkout: Checkout, tmp_path: Path) -> None:
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).glob("*"):
            link = tmp_path / "tools" / tool.name
            link.parent.mkdir(exist_ok=True)
            if tool.name != "git" and not link.is_symlink():
                link.symlink_to(tool)

    done = checkout.make(**checkout.sources | {"PATH": tmp_path / "tools"})

    assert (done.returncode, done.stderr) == (2, "set-up: cannot go on without git\n")


def test_the_recipe_of_spack_builds_the_same_revision() -> None:
    recipe = (ROOT / "spack_repo/pinstudy/packages/ompscr/package.py").read_text()
    commit, tree, _, *files = words("OMPSCR")[4:]
    assert f'commit="{commit}"' in recipe
    assert f"tree: {tree}\\n" in recipe
    for path in files:
        assert path.startswith("include/") or path in recipe


@pytest.fixture
def real_sources() -> dict[str, str]:
    """The folders of the real originals, if the environment names them."""
    names = ("LULESH_SOURCE", "OMPSCR_SOURCE")
    if not all(os.environ.get(name) for name in names):
        pytest.skip(f"set {' and '.join(names)} to folders with the originals")
    return {name: os.environ[name] for name in names}


def test_the_originals_are_those_that_are_pinned_and_come_to_the_known_results(
    checkout: Checkout, real_sources: Mapping[str, str], tmp_path: Path
) -> None:
    done = checkout.make(**real_sources)

    assert done.returncode == 0, done.stderr
    assert "not the pinned" not in done.stdout
    first = {
        path.name: path.read_text().splitlines()[0] for path in checkout.programs.glob("*.build")
    }
    assert first["lulesh-llnl-libgomp.build"] == "LULESH 2.0.3 (LLNL, 3e01c40)"
    assert first["lu-ompscr-serial.build"] == "OmpSCR 2.0 c_lu (d277761)"
    for app in ("lulesh-llnl", "mandelbrot-ompscr", "lu-ompscr"):
        assert statuses_of_a_study(app, checkout.programs, tmp_path) == {OK}


def statuses_of_a_study(app: str, programs: Path, folder: Path) -> set[str]:
    """Study an original's builds by the shipped app, with the programs of a folder."""
    import json

    text = (ROOT / f"pinstudy/configs/apps/{app}.yaml").read_text()
    (folder / "apps").mkdir(exist_ok=True)
    (folder / "apps" / f"{app}.yaml").write_text(text.replace("program: ", f"program: {programs}/"))
    study = folder / f"{app}-study.yaml"
    study.write_text(
        f"title: an original\nmappings: [unpinned]\nrepetitions: 2\nwarmup: 0\napps:\n"
        f"  - {{app: {app}, builds: [serial, libgomp, libomp], sizes: quick, threads: 1}}\n"
    )
    subprocess.run(
        [ROOT / "bin/pinstudy", "run", study, "--no-report"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    records = [
        json.loads(line)
        for shard in (folder / "results" / study.stem).glob("*/records/*.jsonl")
        for line in shard.read_text().splitlines()
    ]
    assert len(records) == 6
    return {record["status"] for record in records}
