"""Obtains and builds the programs that the published study ran, for `make originals`.

They are LULESH 2.0 and OmpSCR's Mandelbrot and LU, of which apps/lulesh, apps/mandelbrot and
apps/lu are independent implementations. Their sources are fetched at a pinned revision, or taken
from a folder; they are built as black boxes and are never part of the project. Beside each program
lies PROGRAM.build, which says what it was built from and how; runs are recorded with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "originals"
PROJECT = ROOT / "apps" / "originals"
COMPILERS = {"g++": ("gcc", ("serial", "libgomp")), "clang++": ("clang", ("libomp",))}
FETCH_LIMIT_S = 120.0
# Without a terminal git must not ask for a password; a server that says nothing is given up.
GIT_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
GIT_OPTIONS = ("-c", "safe.directory=*", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=20")
CONTENTS_LIMIT = 4 << 20
# How git, and compilers, linkers and CMake, begin what is wrong.
_FATAL = re.compile("^(fatal|error): ")
_ERROR = re.compile(r"\berror:|CMake Error|undefined reference|cannot find")
ORIGIN = ".origin"


class OriginalsError(Exception):
    """What a user can mend: one line, told without a traceback."""


@dataclass(frozen=True)
class Original:
    """A public program: where it is from, what is taken of it, and what it is called in a table.

    `tree` is git's tree id of `files` at the pinned commit, each with mode 100644. `variable` names
    a folder to take them from instead.
    """

    name: str
    version: str
    by: str
    url: str
    commit: str
    tree: str
    licence: str
    variable: str
    option: str
    files: tuple[str, ...]
    programs: Mapping[str, str]

    def title(self, app: str, tree: str) -> str:
        """Return what a program built from a tree is, for captions of tables."""
        parts = self.programs[app]
        if tree == self.tree:
            return " ".join(
                filter(None, (self.name, self.version, parts, f"({self.by}{self.pin})"))
            )
        other = f"({self.by}tree {tree[:7]}, not the pinned revision {self.pin})"
        return " ".join(filter(None, (self.name, parts, other)))

    @property
    def pin(self) -> str:
        """The pinned commit, as people write it."""
        return self.commit[:7]


LULESH = Original(
    name="LULESH",
    version="2.0.3",
    by="LLNL, ",
    url="https://github.com/LLNL/LULESH",
    commit="3e01c40b3281aadb7f996525cdd4a3354f6d3801",
    tree="e19e40f536022b39924a70d5b56992653792a6c4",
    licence="BSD-3-Clause with a notice of the Department of Energy, LLNL-CODE-461231",
    variable="LULESH_SOURCE",
    option="LULESH",
    files=(
        "lulesh-comm.cc", "lulesh-init.cc", "lulesh-util.cc", "lulesh-viz.cc", "lulesh.cc",
        "lulesh.h", "lulesh_tuple.h",
    ),
    programs={"lulesh-llnl": ""},
)  # fmt: skip
OMPSCR = Original(
    name="OmpSCR",
    version="2.0",
    by="",
    url="https://github.com/utpalbora/OmpSCR_v2.0",
    commit="d277761f6fdc22cfcb52893385cbb802d592d729",
    tree="075363fa7866d949a4738002584aecfe3a94dcb0",
    licence="GPL-2.0-or-later, its common files LGPL-2.1-or-later",
    variable="OMPSCR_SOURCE",
    option="OMPSCR",
    files=(
        "applications/c_LUreduction/c_lu.c", "applications/c_Mandelbrot/c_mandel.c",
        "common/ompscrCommon.c", "common/wtime.c", "include/OmpSCR.h", "include/wtime.h",
    ),
    programs={"mandelbrot-ompscr": "c_mandel", "lu-ompscr": "c_lu"},
)  # fmt: skip
ORIGINALS = (LULESH, OMPSCR)

Contents = dict[str, bytes]


@dataclass(frozen=True)
class Source:
    """The files of an original, and where they are from; `revision` is None where nobody knows."""

    contents: Contents
    place: str
    revision: str | None

    @property
    def tree(self) -> str:
        """The id of the files' tree."""
        return tree_id(self.contents)


def tree_id(contents: Mapping[str, bytes]) -> str:
    """Return the id that git gives a tree of these plain files, by path."""
    entries: dict[str, tuple[bytes, bytes]] = {}
    folders: dict[str, Contents] = {}
    for path, data in contents.items():
        head, _, rest = path.partition("/")
        if rest:
            folders.setdefault(head, {})[rest] = data
        else:
            entries[head] = (b"100644", _object_id(b"blob", data))
    for name, inside in folders.items():
        # Git sorts a folder as if its name ended with a slash.
        entries[f"{name}/"] = (b"40000", bytes.fromhex(tree_id(inside)))
    lines = (
        mode + b" " + name.rstrip("/").encode() + b"\0" + digest
        for name, (mode, digest) in sorted(entries.items())
    )
    return _object_id(b"tree", b"".join(lines)).hex()


def _object_id(kind: bytes, data: bytes) -> bytes:
    return hashlib.sha1(kind + b" %d\0" % len(data) + data, usedforsecurity=False).digest()


def obtain(original: Original, folder: str | None, kept: Path) -> Source:
    """Return an original's files: from a folder, from those obtained before, or from the network.

    `folder` is a checkout, a plain folder or a bare repository; a copy stays in `kept`, so that the
    programs can be built again. Raises OriginalsError.
    """
    source = _from_folder(original, Path(folder).expanduser()) if folder else _kept(original, kept)
    if source is None:
        source = _fetched(original, kept.parent)
    if folder or not kept.exists():
        with _staged(kept) as stage:
            _write(source, stage)
            told = f"{source.tree}\n{source.revision or ''}\n{source.place}\n"
            (stage / ORIGIN).write_text(told, encoding="utf-8")
    return source


def _kept(original: Original, folder: Path) -> Source | None:
    """Return what was obtained before; None where there is nothing, or it is damaged."""
    try:
        tree, revision, place = (folder / ORIGIN).read_text(encoding="utf-8").splitlines()
        contents = {name: (folder / name).read_bytes() for name in original.files}
    except (OSError, ValueError):
        return None
    source = Source(contents, place, revision or None)
    if source.tree == tree:
        return source
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _write(source: Source, folder: Path) -> None:
    for name, data in source.contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _from_folder(original: Original, folder: Path) -> Source:
    if not folder.is_dir():
        raise OriginalsError(f"{original.variable}: {folder} is no folder")
    if (folder / "objects").is_dir() and (folder / "HEAD").is_file():
        return _from_repository(original, folder, str(folder))
    contents = {}
    for name in original.files:
        path = folder / name
        try:
            if path.stat().st_size > CONTENTS_LIMIT:
                raise OriginalsError(f"{original.variable}: {path} is too large to be a source")
            contents[name] = path.read_bytes()
        except OSError as problem:
            raise OriginalsError(
                f"{original.variable}: {path}: {problem.strerror}; expected a checkout of "
                f"{original.url}, or a bare clone of it"
            ) from problem
    pinned = tree_id(contents) == original.tree
    return Source(contents, str(folder), original.commit if pinned else None)


def _from_repository(original: Original, folder: Path, place: str) -> Source:
    pinned = _git(folder, "cat-file", "-e", f"{original.commit}^{{commit}}").returncode == 0
    found = _git(folder, "rev-parse", "--verify", original.commit if pinned else "HEAD^{commit}")
    if found.returncode:
        raise OriginalsError(f"{place}: has no commit: {_telling_line(found.stderr, _FATAL)}")
    revision = found.stdout.decode().strip()
    contents = {}
    for name in original.files:
        shown = _git(folder, "cat-file", "blob", f"{revision}:{name}")
        if shown.returncode:
            raise OriginalsError(
                f"{place}: revision {revision[:7]} has no {name}; expected {original.url}"
            )
        contents[name] = shown.stdout
    return Source(contents, place, revision)


def _fetched(original: Original, scratch: Path) -> Source:
    print(f"set-up: fetches {original.name} from {original.url} ({original.licence})", flush=True)
    if not shutil.which("git"):
        raise OriginalsError(_other_ways(original, "git is not installed"))
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=scratch) as folder:
        repository = Path(folder)
        for arguments in (
            ("init", "--quiet", "--bare", folder),
            ("fetch", "--quiet", "--depth=1", original.url, original.commit),
            ("update-ref", "HEAD", "FETCH_HEAD"),
        ):
            done = _git(repository, *arguments)
            if done.returncode:
                raise OriginalsError(_other_ways(original, _telling_line(done.stderr, _FATAL)))
        source = _from_repository(original, repository, original.url)
        if source.revision != original.commit or source.tree != original.tree:
            raise OriginalsError(_other_ways(original, "its server gave something else"))
        return source


def _other_ways(original: Original, why: str) -> str:
    return (
        f"cannot fetch {original.name} from {original.url} ({why}); name a folder that has it "
        f"(make originals {original.variable}=DIR), or study pinstudy's own programs (make study "
        "STUDY=paper-own)"
    )


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    command = ["git", f"--git-dir={folder}", *GIT_OPTIONS, *arguments]
    try:
        return subprocess.run(
            command,
            env=environment | GIT_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FETCH_LIMIT_S,
            check=False,
        )
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 127, b"", b"git is not installed")
    except subprocess.TimeoutExpired:
        words = f"no answer within {FETCH_LIMIT_S:.0f} s".encode()
        return subprocess.CompletedProcess(command, 124, b"", words)


def _telling_line(output: bytes, pattern: re.Pattern[str]) -> str:
    """Return the first line of an output that says what is wrong, else the last one."""
    lines = output.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    line = next(filter(pattern.search, lines), lines[-1])
    return "".join(c for c in line if c.isprintable()).strip()


@contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Give a folder that takes the place of `path` when all went well, and is gone otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".staged-", dir=path.parent))
    try:
        stage.chmod(0o755)
        yield stage
        shutil.rmtree(path, ignore_errors=True)
        stage.rename(path)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def build(
    original: Original, source: Source, compiler: str, march: str, log: Path, into: Path
) -> list[str]:
    """Build an original's programs with a compiler into a folder; return their names.

    None of them is replaced unless all could be built. Raises OriginalsError.
    """
    c_compiler, variants = COMPILERS[compiler]
    with tempfile.TemporaryDirectory(prefix=".building-", dir=log.parent) as scratch:
        tree = Path(scratch, "source")
        _write(source, tree)
        made = Path(scratch, "build")
        options = {
            "CMAKE_CXX_COMPILER": compiler,
            "CMAKE_C_COMPILER": c_compiler,
            "PINSTUDY_MARCH": march,
            original.option: str(tree),
        }
        given = [f"-D{name}={value}" for name, value in options.items()]
        _run(["cmake", "-S", str(PROJECT), "-B", str(made), *given], original, compiler, log)
        _run(["cmake", "--build", str(made), "--parallel"], original, compiler, log)
        names = [f"{app}-{variant}" for app in original.programs for variant in variants]
        into.mkdir(parents=True, exist_ok=True)
        for name in names:
            _place(made / "bin" / name, _description(original, source, name, made), into)
    return names


def _description(original: Original, source: Source, name: str, made: Path) -> str:
    app, _, variant = name.rpartition("-")
    return "\n".join(
        (
            original.title(app, source.tree),
            f"variant: {variant}",
            f"source: {source.place}",
            f"revision: {source.revision or 'not known'}",
            f"tree: {source.tree}",
            (made / "bin" / f"{name}.flags").read_text().strip(),
            "",
        )
    )


def _place(program: Path, description: str, into: Path) -> None:
    """Put a program and its description in place; the description first leaves, and comes last."""
    told = into / f"{program.name}.build"
    told.unlink(missing_ok=True)
    new = into / f".{program.name}.new"
    shutil.copy2(program, new)
    new.replace(into / program.name)
    new.write_text(description, encoding="utf-8")
    new.replace(told)


def _run(command: Sequence[str], original: Original, compiler: str, log: Path) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except FileNotFoundError:
        raise OriginalsError(f"{command[0]} is not installed: make setup installs it") from None
    with log.open("ab") as file:
        file.write(done.stdout)
    if done.returncode:
        error = _telling_line(done.stdout, _ERROR)
        error = re.sub(r"\S*/\.building-[^/]*/source/", "", error)
        raise OriginalsError(
            f"cannot build {original.name} with {compiler}: {error}; the whole output is in {log}"
        )


def _key(source: Source, compiler: str, march: str) -> str:
    """Return what a build depends on: its source, the compiler, and the flags."""
    path = shutil.which(compiler) or compiler
    status = Path(path).stat()
    parts = [source.tree, str(source.revision), source.place, march, os.path.realpath(path)]
    parts += [str(status.st_size), str(status.st_mtime_ns)]
    cmake = (PROJECT / "CMakeLists.txt", ROOT / "apps" / "cmake" / "PinstudyOptimisation.cmake")
    parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in (*cmake, Path(__file__))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def make(original: Original, folder: str | None, march: str, into: Path) -> None:
    """Build an original's programs with every compiler that is there, unless they hold."""
    name = original.option.lower()
    source = obtain(original, folder, FOLDER / f"{name}-source")
    if folder and source.tree != original.tree:
        print(
            f"set-up: {source.place} is not {original.name} at the pinned revision "
            f"{original.pin}; records and tables will say so (tree {source.tree[:7]})"
        )
    for compiler, (_, variants) in COMPILERS.items():
        names = [f"{app}-{variant}" for app in original.programs for variant in variants]
        if not shutil.which(compiler):
            left_out = ", ".join(variants)
            print(f"set-up: {compiler} is not installed: no variant {left_out} of {original.name}")
            continue
        stamp, key = into / f".{name}-{compiler}", _key(source, compiler, march)
        whole = all((into / f"{program}.build").exists() for program in names)
        if whole and stamp.exists() and stamp.read_text() == key:
            continue
        print(f"set-up: builds {original.name} with {compiler}", flush=True)
        log = FOLDER / f"{name}-{compiler}.log"
        log.unlink(missing_ok=True)
        build(original, source, compiler, march, log, into)
        stamp.write_text(key)


@click.command()
@click.option("--march", default="native", show_default=True, help="Value of -march.")
@click.option("--into", default=str(FOLDER / "bin"), help="Folder for the programs.")
def main(march: str, into: str) -> None:
    """Obtain and build LULESH and OmpSCR's programs, unless that is done already."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    # What an earlier one that was killed has left; set-up lets only one at a time come here.
    for left in FOLDER.glob(".*-*"):
        shutil.rmtree(left, ignore_errors=True)
    try:
        for original in ORIGINALS:
            make(original, os.environ.get(original.variable), march, Path(into))
    except OriginalsError as problem:
        print(f"set-up: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
    except OSError as problem:
        print(f"set-up: {problem.filename}: {problem.strerror}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
