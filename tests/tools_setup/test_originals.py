"""`make originals`: what is obtained and built, what is said of it, and what is left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from runners.records.values import OK
from tests.support.tools import ROOT
from tools.originals import LULESH, OMPSCR, Original, tree_id

# Programs of our own making that have the files of the originals.
MAIN = {"lulesh.cc": '#include <cstdio>\nint main() { std::puts("Run completed:"); }\n'}
SMALL_MAIN = 'int puts(const char *);\nint main(void) { puts("Timer 1"); return 0; }\n'
NINE = sorted(
    f"{app}-{variant}.build"
    for original in (LULESH, OMPSCR)
    for app in original.programs
    for variant in ("serial", "libgomp", "libomp")
)


class Checkout:
    """A copy of what `make originals` reads of a checkout, and a home of its own for git."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        for path in ("tools/originals.py", "apps/originals", "apps/cmake"):
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy2
            copy(ROOT / path, target)
        self.sources = {
            "LULESH_SOURCE": self._tree(folder / "lulesh", LULESH, MAIN),
            "OMPSCR_SOURCE": self._tree(
                folder / "ompscr",
                OMPSCR,
                {name: SMALL_MAIN for name in OMPSCR.files if name.startswith("applications")},
            ),
        }

    def _tree(self, folder: Path, original: Original, texts: Mapping[str, str]) -> Path:
        for name in original.files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts.get(name, "/* nothing */\n"))
        return folder

    @property
    def programs(self) -> Path:
        return self.root / "build/originals/bin"

    def make(self, **variables: str | Path) -> subprocess.CompletedProcess[str]:
        """Run it with these variables; without any, with both folders."""
        given = variables or self.sources
        environment = {**os.environ, "HOME": str(self.home), "PYTHONPATH": ""}
        environment |= {name: str(value) for name, value in given.items()}
        return subprocess.run(
            [sys.executable, "-m", "tools.originals", "--march", ""],
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
    """A checkout in which all was built, a copy of its folder, and what was said."""
    folder = tmp_path_factory.mktemp("made") / "all"
    checkout = Checkout(folder)
    done = checkout.make()
    assert done.returncode == 0, done.stderr
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept, symlinks=True)
    return checkout, kept, done.stdout


@pytest.fixture
def made(first: tuple[Checkout, Path, str]) -> Iterator[Checkout]:
    """The checkout in which all was built, to be changed at will."""
    checkout, kept, _ = first
    yield checkout
    shutil.rmtree(checkout.root.parent)
    shutil.copytree(kept, checkout.root.parent, symlinks=True)


def built(checkout: Checkout) -> dict[str, int]:
    """Return when each program was built, by its name."""
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


def test_nine_programs_are_built_and_told_what_they_are(made: Checkout) -> None:
    assert sorted(path.name for path in made.programs.glob("*.build")) == NINE
    for told in made.programs.glob("*.build"):
        program = told.with_suffix("")
        assert subprocess.run([program], capture_output=True, check=True).stdout
        lines = told.read_text().splitlines()
        assert lines[1] == f"variant: {program.name.rpartition('-')[2]}"
        assert [line.partition(":")[0] for line in lines[2:]] == [
            "source", "revision", "tree", "compiler", "flags", "openmp",
        ]  # fmt: skip
        assert "-O3 -DNDEBUG -ffp-contract=fast -fno-math-errno" in lines[6]
    serial, openmp = (
        (made.programs / f"lulesh-llnl-{name}.build").read_text() for name in ("serial", "libgomp")
    )
    assert "-fopenmp" not in serial
    assert "-fopenmp" in openmp


def test_done_again_it_does_nothing_also_without_the_folders(made: Checkout) -> None:
    before = built(made)

    for variables in (made.sources, {"LANG": "C"}):
        done = made.make(**variables)
        assert (done.returncode, done.stderr) == (0, "")
        assert "builds" not in done.stdout
    assert built(made) == before


def test_another_revision_is_built_and_says_so(
    made: Checkout, first: tuple[Checkout, Path, str]
) -> None:
    source = made.sources["LULESH_SOURCE"]
    tree = tree_id({name: (source / name).read_bytes() for name in LULESH.files})
    assert (
        "is not LULESH at the pinned revision 3e01c40; records and tables will say so" in first[2]
    )
    title, *rest = (made.programs / "lulesh-llnl-serial.build").read_text().splitlines()
    assert title == f"LULESH (LLNL, tree {tree[:7]}, not the pinned revision 3e01c40)"
    assert f"source: {source}" in rest
    assert "revision: not known" in rest
    assert f"tree: {tree}" in rest


def test_a_changed_folder_is_built_again_and_the_other_original_is_not(made: Checkout) -> None:
    before = built(made)

    (made.sources["LULESH_SOURCE"] / "lulesh.h").write_text("// changed\n")
    made.make()

    changed = {name for name, time in built(made).items() if before[name] != time}
    assert {name.partition("-l")[0] for name in changed} == {"lulesh"}
    assert "lulesh-llnl-libomp" in changed


def test_a_bare_repository_is_read_at_its_newest_commit(made: Checkout, tmp_path: Path) -> None:
    folder = made.sources["LULESH_SOURCE"]
    in_git(folder, "init", "--quiet")
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "--quiet", "-m", "all")
    bare = tmp_path / "bare.git"
    in_git(folder, "clone", "--quiet", "--bare", str(folder), str(bare))

    done = made.make(**made.sources | {"LULESH_SOURCE": bare})

    assert done.returncode == 0, done.stderr
    told = (made.programs / "lulesh-llnl-serial.build").read_text()
    assert f"revision: {in_git(folder, 'rev-parse', 'HEAD')}\n" in told


def test_a_compiler_s_error_is_one_line_and_leaves_the_programs_that_were_there(
    made: Checkout,
) -> None:
    before = built(made)

    (made.sources["LULESH_SOURCE"] / "lulesh-viz.cc").write_text("what is this\n")
    done = made.make()

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("set-up: cannot build LULESH with g++: lulesh-viz.cc:1:1: error:")
    log = made.root / "build/originals/lulesh-g++.log"
    assert line.endswith(f"; the whole output is in {log}")
    assert "what is this" in log.read_text()
    assert built(made) == before
    left = {path.name for path in (made.root / "build/originals").iterdir()}
    assert not [name for name in left if name.startswith(".")]


def test_a_folder_without_the_sources_is_one_line(checkout: Checkout, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    for folder, said in (
        (empty, f"{empty}/lulesh-comm.cc: No such file or directory; expected a checkout of"),
        (tmp_path / "nowhere", f"{tmp_path}/nowhere is no folder"),
    ):
        done = checkout.make(**checkout.sources | {"LULESH_SOURCE": folder})
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"set-up: LULESH_SOURCE: {said}")
    assert not checkout.programs.exists()


WAYS_OUT = (
    "; name a folder that has it (make originals LULESH_SOURCE=DIR), or study pinstudy's own "
    "programs (make study STUDY=paper-own)"
)


def test_what_cannot_be_fetched_names_both_ways_out(checkout: Checkout, tmp_path: Path) -> None:
    # As without a network: git is sent to a repository that is not there.
    config = f'[url "{tmp_path}/nowhere"]\n\tinsteadOf = {LULESH.url}\n'
    (checkout.home / ".gitconfig").write_text(config)

    done = checkout.make(OMPSCR_SOURCE=checkout.sources["OMPSCR_SOURCE"])

    assert done.returncode == 2
    assert done.stdout.startswith(f"set-up: fetches LULESH from {LULESH.url} (BSD-3-Clause")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"set-up: cannot fetch LULESH from {LULESH.url} (fatal: ")
    assert line.endswith(WAYS_OUT)
    assert not checkout.programs.exists()


def test_a_server_that_has_another_history_is_not_believed(checkout: Checkout) -> None:
    folder = checkout.sources["LULESH_SOURCE"]
    in_git(folder, "init", "--quiet")
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "--quiet", "-m", "all")
    (checkout.home / ".gitconfig").write_text(f'[url "{folder}"]\n\tinsteadOf = {LULESH.url}\n')

    done = checkout.make(OMPSCR_SOURCE=checkout.sources["OMPSCR_SOURCE"])

    assert done.returncode == 2
    assert done.stderr.strip().endswith(WAYS_OUT)
    assert not (checkout.root / "build/originals/lulesh-source").exists()


def test_without_git_only_folders_serve(checkout: Checkout, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "make", "gmake", "gcc", "g++", "cc1", "ld", "as", "ar", "ranlib"):
        if path := shutil.which(name):
            (tools / name).symlink_to(path)

    done = checkout.make(PATH=tools, OMPSCR_SOURCE=checkout.sources["OMPSCR_SOURCE"])
    assert (done.returncode, "(git is not installed)" in done.stderr) == (2, True)

    done = checkout.make(**checkout.sources | {"PATH": tools})
    assert done.returncode == 0, done.stderr
    assert "clang++ is not installed: no variant libomp of LULESH" in done.stdout
    assert sorted(built(checkout)) == [
        "lu-ompscr-libgomp",
        "lulesh-llnl-libgomp",
        "mandelbrot-ompscr-libgomp",
    ]


def test_a_tree_has_the_id_that_git_gives_it(tmp_path: Path) -> None:
    contents = {
        "a": b"1\n", "b/c": b"2\n", "b.c": b"3\n", "b-c": b"", "b/d/e": b"4", "b0": b"\0\xff",
    }  # fmt: skip
    for name, data in contents.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    in_git(tmp_path, "init", "--quiet")
    in_git(tmp_path, "-c", "core.autocrlf=false", "add", "-A")

    assert tree_id(contents) == in_git(tmp_path, "write-tree")


def test_the_recipe_of_spack_builds_the_same_revision() -> None:
    recipe = (ROOT / "spack_repo/pinstudy/packages/ompscr/package.py").read_text()
    assert f'commit="{OMPSCR.commit}"' in recipe
    assert f"tree: {OMPSCR.tree}\\n" in recipe
    for path in OMPSCR.files:
        assert path.startswith("include/") or path in recipe


@pytest.fixture
def real_sources() -> dict[str, str]:
    """The folders with the originals themselves, where they are given."""
    names = (LULESH.variable, OMPSCR.variable)
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
        told.name: told.read_text().splitlines()[0] for told in checkout.programs.glob("*.build")
    }
    assert first["lulesh-llnl-libgomp.build"] == "LULESH 2.0.3 (LLNL, 3e01c40)"
    assert first["lu-ompscr-serial.build"] == "OmpSCR 2.0 c_lu (d277761)"
    for app in ("lulesh-llnl", "mandelbrot-ompscr", "lu-ompscr"):
        assert statuses_of_a_study(app, checkout.programs, tmp_path) == {OK}


def statuses_of_a_study(app: str, programs: Path, folder: Path) -> set[str]:
    """Study an original's variants by the shipped app, with the programs of a folder."""
    import json

    text = (ROOT / f"configs/apps/{app}.yaml").read_text()
    (folder / "apps").mkdir(exist_ok=True)
    (folder / "apps" / f"{app}.yaml").write_text(text.replace("program: ", f"program: {programs}/"))
    study = folder / f"{app}-study.yaml"
    study.write_text(
        f"title: an original\nmappings: [scheduler]\nrepetitions: 2\nwarmup: 0\napps:\n"
        f"  - {{app: {app}, variants: [serial, libgomp, libomp], sizes: quick, threads: 1}}\n"
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
