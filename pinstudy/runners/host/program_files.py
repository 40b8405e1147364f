"""Identifies a program by digests of its file, of its interpreters and of its libraries.

Results belong to one program. A file is read again only when its device, inode, size, or the time
in nanoseconds of its last change of content or of state differs. That misses changes without a new
time: within a tick of the file system's clock, so a file that changed seconds ago is read each
time; and by another node on a network file system, until this node's cache shows them.

The libraries are those that the loader resolves, as ldd(1) prints them. A library that a program
opens while it runs (dlopen) is not among them. One of them is the OpenMP runtime, which decides
placement, spinning and loop schedules.

Programs are read as ELF files (elf(5)), within bounds and without starting them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from pinstudy.base.command import CommandResult, output_of, run
from pinstudy.base.errors import ShortageError, is_shortage
from pinstudy.base.files import NotAFileError, open_regular, read_regular, sha256_of_json
from pinstudy.configs.variables import BY_AFFINITY
from pinstudy.runners.records.kept_facts import ProgramFacts, ProgramFile

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile


# Programs have some 10 segments and 40 sections.
MAX_SEGMENTS = 1000
MAX_SECTIONS = 10_000

_Content = TypeVar("_Content")


class UnreadableProgramError(Exception):
    """The file cannot be read as a program; the text is the reason."""


def read_elf(path: Path, read: Callable[[ELFFile, BinaryIO], _Content]) -> _Content:
    """Return what `read` finds in an ELF file, opened as such and as bytes.

    Untrusted files are read within bounds. Raises UnreadableProgramError when the file cannot be
    read, is damaged or of another kind, ShortageError when there are too few files or memory.
    """
    try:
        # Imported here: few commands look into programs.
        from elftools.common.exceptions import ELFError
        from elftools.construct import ConstructError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise UnreadableProgramError("the Python package pyelftools is not installed") from None
    # What pyelftools raises when it follows the offsets of a damaged file.
    damage = (ELFError, ConstructError, AssertionError, AttributeError, LookupError, TypeError)
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            if stream.read(4) != b"\x7fELF":
                raise UnreadableProgramError("it is a script, or no program of this system")
            file = ELFFile(stream)
            # pyelftools goes through all sections, and a damaged file may claim any number.
            if file.num_segments() > MAX_SEGMENTS or file.num_sections() > MAX_SECTIONS:
                raise UnreadableProgramError("it is not a sound ELF file")
            return read(file, stream)
    except NotAFileError:
        raise UnreadableProgramError("it is no file") from None
    except OSError as error:
        if is_shortage(error):
            raise ShortageError(f"{path} cannot be read: {error.strerror}") from None
        # EINVAL: a damaged file has an offset that no file can have.
        if error.errno == errno.EINVAL:
            raise UnreadableProgramError("it is not a sound ELF file") from None
        raise UnreadableProgramError(error.strerror or "it cannot be read") from None
    except (*damage, ValueError, OverflowError):
        raise UnreadableProgramError("it is not a sound ELF file") from None


def has_loader(path: Path) -> bool:
    """Return whether a program names a loader for its libraries (PT_INTERP).

    Without, the kernel starts it alone: it is linked statically. Raises UnreadableProgramError when
    that is not known.
    """
    return read_elf(path, lambda file, _: next(file.iter_segments("PT_INTERP"), None) is not None)


PROGRAM = "program"
RUNTIME_NAMES = {"libgomp": "libgomp", "libomp": "libomp", "libiomp5": "libomp"}
# Each package's name and version, and below them its files after a blank (dpkg-query(1)).
_WITH_FILES = "${Package} ${Version}\n${db-fsys:Files}"
# Libraries with threads of their own, and what tells them how many: OpenBLAS's README ("Setting the
# number of threads"; NumPy's and SciPy's packages bring it as libscipy_openblas), oneMKL's guide
# ("Environment variables"), BLIS's guide (Multithreading), oneTBB's reference
# (`info::default_concurrency`, by the process's affinity mask).
_TOLD_BY = {
    re.compile(r"lib(?:scipy_)?openblas\S*\.so\S*"): "OPENBLAS_NUM_THREADS",
    re.compile(r"libmkl_(?:rt|core|tbb_thread|intel_thread|gnu_thread)\.so\S*"): "MKL_NUM_THREADS",
    re.compile(r"libblis\S*\.so\S*"): "BLIS_NUM_THREADS",
    re.compile(r"libtbb\.so\S*"): BY_AFFINITY,
}
# FAT stores times of content in steps of two seconds; other file systems have finer clocks.
_SETTLED_NS = 2 * 10**9
_PIECE_BYTES = 1 << 20
# The kernel's limits: a script's first line, and interpreters in a row (fs/binfmt_script.c).
_FIRST_LINE_BYTES = 256
_MAX_INTERPRETERS = 5
_SCRIPT = re.compile(r".+\.(?:sh|bash|py|pl|rb|jl|lua|tcl|[rR])")
_ELF, _SHEBANG = b"\x7fELF", b"#!"
# The files that decide, besides folders, which libraries the loader finds (ld.so(8)).
_LOADER_FILES = (Path("/etc/ld.so.cache"), Path("/etc/ld.so.preload"))

_Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class ProgramFiles:
    """The files of a program, by their part in it, such as `program` or `libm.so.6`.

    `unavailable` is why a part, or what it loads, is not known; empty when everything is known.
    """

    paths: dict[str, Path]
    digests: dict[str, str]
    unavailable: dict[str, str]

    def add(self, part: str, path: Path) -> None:
        """Add a file; two programs may load different files of the same name."""
        present = self.paths.setdefault(part, path)
        if present != path:
            self.paths[f"{part} ({path})"] = path

    @property
    def digest(self) -> str:
        """The SHA-256 of all digests by part; the files' paths do not count."""
        return sha256_of_json(self.digests)

    def facts(self) -> ProgramFacts:
        """Return what is stored beside the records."""
        files = {
            part: ProgramFile(str(path), self.digests[part])
            for part, path in self.paths.items()
            if part in self.digests
        }
        return ProgramFacts(files, self.unavailable)


def programs_in(program: Path, arguments: Iterable[str]) -> tuple[Path, ...]:
    """Return a program and those of its arguments that are the path of a program or of a script.

    This covers a launcher's program and an interpreter's script, but not what these start or open
    while they run.
    """
    return (program, *(Path(word) for word in arguments if _names_a_program(word)))


class ProgramReader:
    """Reads the files of programs; files that have not changed are not read again."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment` is the one in which the programs are started."""
        self._environment = environment
        self._digests: dict[Path, tuple[_Stamp, str]] = {}
        self._files: dict[tuple[Path, ...], tuple[list[_Stamp | None], ProgramFiles]] = {}

    def read(self, programs: tuple[Path, ...]) -> ProgramFiles:
        """Return the files of the programs, of their interpreters and of their libraries.

        Raises ShortageError when the host lacks what it takes to know them.
        """
        cached = self._files.get(programs)
        if cached and cached[0] == self._stamps(cached[1]):
            return cached[1]
        files = self._files_of(programs)
        stamps = self._stamps(files)
        if all(stamp is None or _is_settled(stamp) for stamp in stamps):
            self._files[programs] = (stamps, files)
        return files

    def _stamps(self, files: ProgramFiles) -> list[_Stamp | None]:
        """Return the stamps of all files and folders on which the result depends."""
        searched = re.split("[:;]", self._environment.get("LD_LIBRARY_PATH", ""))
        folders = [Path(folder) for folder in searched if folder]
        return [_stamp_of(path) for path in (*files.paths.values(), *_LOADER_FILES, *folders)]

    def _files_of(self, programs: tuple[Path, ...]) -> ProgramFiles:
        files = ProgramFiles({}, {}, {})
        for number, path in enumerate(programs):
            self._add_program(files, PROGRAM if number == 0 else f"argument {path.name}", path)
        for part, path in files.paths.items():
            try:
                files.digests[part] = self._digest(path)
            except (OSError, ValueError) as error:
                _check_shortage(path, error)
                reason = getattr(error, "strerror", None) or str(error)
                files.unavailable[part] = f"{path} cannot be read ({reason})"
        return files

    def _add_program(self, files: ProgramFiles, part: str, path: Path) -> None:
        """Add a file, its interpreters, and the libraries of the file that the kernel loads."""
        files.add(part, path)
        for _ in range(_MAX_INTERPRETERS):
            script = path
            path = _interpreter_of(script, self._environment) or script
            if path == script:
                break
            files.add(f"interpreter {path.name}", path)
        if _begin(path, len(_ELF)).startswith(_ELF):
            libraries = known_libraries(path, self._environment)
            if isinstance(libraries, str):
                files.unavailable[f"libraries of {path.name}"] = libraries
            else:
                for name, library in libraries.items():
                    files.add(name, library)

    def _digest(self, path: Path) -> str:
        """Return the SHA-256 of a file; raises OSError when it cannot be read."""
        descriptor = open_regular(path)
        try:
            stamp = _stamp(os.fstat(descriptor))
            cached = self._digests.get(path)
            if cached and cached[0] == stamp:
                return cached[1]
            digest = hashlib.sha256()
            while piece := os.read(descriptor, _PIECE_BYTES):
                digest.update(piece)
            found = digest.hexdigest()
            if _stamp(os.fstat(descriptor)) == stamp and _is_settled(stamp):
                self._digests[path] = (stamp, found)
            return found
        finally:
            os.close(descriptor)


def _interpreter_of(path: Path, environment: Mapping[str, str]) -> Path | None:
    """Return a script's interpreter, or what its env(1) finds; None for any other file."""
    first_line = _begin(path, _FIRST_LINE_BYTES).partition(b"\n")[0]
    if not first_line.startswith(_SHEBANG):
        return None
    words = os.fsdecode(first_line[len(_SHEBANG) :]).split()
    if not words:
        return None
    if Path(words[0]).name != "env":
        return Path(words[0])
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = shutil.which(named[0], path=environment.get("PATH")) if named else None
    return Path(found) if found else Path(words[0])


def _names_a_program(word: str) -> bool:
    if _SCRIPT.fullmatch(word):
        return _stamp_of(Path(word)) is not None
    return "/" in word and _begin(Path(word), len(_ELF)).startswith((_ELF, _SHEBANG))


def _begin(path: Path, size: int) -> bytes:
    """Return a file's first bytes, none where it cannot be read; raises ShortageError."""
    try:
        return read_regular(path, size)
    except (OSError, ValueError) as error:
        _check_shortage(path, error)
        return b""


def _check_shortage(path: Path, error: Exception) -> None:
    """Raise ShortageError if a file could not be read for want of files or memory."""
    if isinstance(error, OSError) and is_shortage(error):
        raise ShortageError(f"{path} cannot be read: {error.strerror}") from None


def _stamp_of(path: Path) -> _Stamp | None:
    try:
        return _stamp(path.stat())
    except (OSError, ValueError) as error:
        _check_shortage(path, error)
        return None


def _stamp(status: os.stat_result) -> _Stamp:
    when = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_size, *when)


def _is_settled(stamp: _Stamp) -> bool:
    """Return whether the next change of a file with this stamp will give it another one."""
    return max(stamp[3:]) + _SETTLED_NS < time.time_ns()


# What ldd says of static programs, with status 0 and 1, and why nothing is known.
_STATIC, _NOT_DYNAMIC = "statically linked", "not a dynamic executable"
_NO_ANSWER = "ldd could not be asked"
# `libm.so.6 => /lib/libm.so.6 (0x…)`; without an arrow: the loader itself, preloaded libraries.
_LOADED = re.compile(r"^\s*(?:(\S+) => )?(/.+) \(0x", re.MULTILINE)


def known_libraries(program: Path, environment: Mapping[str, str]) -> dict[str, Path] | str:
    """Return what `loaded_libraries` does; raises ShortageError, too, where ldd was killed."""
    libraries = loaded_libraries(program, environment)
    if libraries == _NO_ANSWER:
        raise ShortageError(f"{_NO_ANSWER} for the libraries of {program}: it was killed")
    return libraries


def loaded_libraries(program: Path, environment: Mapping[str, str]) -> dict[str, Path] | str:
    """Return the libraries by the names that the program requests, or why they are not known.

    A program that is linked statically has none. Raises ShortageError when the host lacks what ldd
    needs.
    """
    answer = _ask_ldd(program, environment)
    if _is_whole(answer):
        return libraries_in(answer.stdout)
    if _is_static(program, answer):
        return {}
    if not answer.started:
        return f"{_NO_ANSWER} ({answer.problem})"
    # It says so, too, where it could not try the loader, and often nothing: ask of another program.
    python = Path(sys.executable)
    known = _ask_ldd(python, environment)
    if not (_is_whole(known) or _is_static(python, known)):
        raise ShortageError(f"ldd tells the libraries of no program: {known.error}")
    return "ldd cannot tell its libraries" if _NOT_DYNAMIC in answer.stderr else _NO_ANSWER


def _ask_ldd(program: Path, environment: Mapping[str, str]) -> CommandResult:
    """Ask ldd of a program, and once more if it was killed; raises ShortageError."""
    answer = CommandResult("")
    for _ in range(2):
        # Its messages are compared with English ones.
        answer = run(["ldd", str(program)], environment={**environment, "LC_ALL": "C"})
        if answer.shortage:
            raise ShortageError(f"ldd could not be asked: {answer.shortage}")
        if not answer.problem and answer.status >= 0:
            break
    return answer


def _is_whole(answer: CommandResult) -> bool:
    """Whether ldd has told all libraries; it names none of a static program that may be moved."""
    whole = not answer.failed and answer.stdout.endswith("\n")
    return whole and (_LOADED.search(answer.stdout) is not None or _STATIC in answer.stdout)


def _is_static(program: Path, answer: CommandResult) -> bool:
    """Whether a program loads no libraries: as its file says, or ldd of what is no such file."""
    try:
        return not has_loader(program)
    except UnreadableProgramError:
        is_elf = _begin(program, len(_ELF)).startswith(_ELF)
        return not is_elf and _NOT_DYNAMIC in answer.stdout + answer.stderr


def libraries_in(output: str) -> dict[str, Path]:
    """Return the libraries in the output of ldd."""
    return {Path(name or path).name: Path(path) for name, path in _LOADED.findall(output)}


@dataclass(frozen=True)
class OpenMPRuntime:
    """The runtime as loaded: its family, its file, and the file's package and version.

    These are the fields of the record's `runtime`.
    """

    name: str
    path: str
    version: str


def find_runtime(program: Path, environment: Mapping[str, str]) -> OpenMPRuntime | str:
    """Return the OpenMP runtime that the loader would give the program, or why it is not known.

    Raises ShortageError.
    """
    libraries = known_libraries(program, environment)
    return libraries if isinstance(libraries, str) else runtime_among(libraries)


def has_threads(library: str) -> bool:
    """Return whether a library of this name is an OpenMP runtime or has threads of its own."""
    return library.partition(".so")[0] in RUNTIME_NAMES or threads_told_by([library]) is not None


def threads_told_by(libraries: Iterable[str]) -> tuple[str, str] | None:
    """Return the first library with threads that OMP_NUM_THREADS does not count, and what does.

    That is a variable or BY_AFFINITY; OpenMP runtimes are no such libraries.
    """
    for library in libraries:
        for pattern, told_by in _TOLD_BY.items():
            if pattern.fullmatch(library):
                return library, told_by
    return None


def runtime_among(libraries: Mapping[str, Path]) -> OpenMPRuntime | str:
    """Return the runtime among a program's libraries, or why there is none."""
    for name, library in libraries.items():
        if family := RUNTIME_NAMES.get(name.partition(".so")[0]):
            path = library.resolve()
            return OpenMPRuntime(family, str(path), _package_version(path))
    return "the program loads no OpenMP runtime"


@cache
def _package_version(path: Path) -> str:
    """Return the package of a library and its version; distributions strip the compiler's own mark.

    dpkg-query -S reads the lists of all packages: 0.4 s where they are in memory, far longer where
    they are not. Debian names the package of a library after it, so such names are asked first.
    """
    named = f"{path.name.partition('.so')[0]}*"
    if found := _owner(path, output_of(["dpkg-query", "-W", "-f", _WITH_FILES, named]) or ""):
        return found
    owner = output_of(["dpkg-query", "-S", str(path)])
    if owner:
        package = owner.split(": ")[0]
        answer = output_of(["dpkg-query", "-W", "-f", "${Package} ${Version}", package])
    else:
        answer = output_of(["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}", str(path)])
    return answer.strip() if answer else "not known: the file belongs to no package"


def _owner(path: Path, packages: str) -> str:
    """Return the line of the package with this file, among those that `_WITH_FILES` prints."""
    package = ""
    for line in packages.splitlines():
        if not line.startswith(" "):
            package = line
        elif line[1:] == str(path):
            return package
    return ""
