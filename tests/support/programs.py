"""Programs that tests start: those of the build, and those that work until they were looked at."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from pinstudy.runners.execution.execute import Harness, Observation, execute
from pinstudy.runners.host.software import WITNESS, find_program
from pinstudy.runners.plan.launch import Launch
from tests.support.tools import ROOT, need_tool

# They wait for the looks that tests.support.held counts (work.h).
PLACED = ROOT / "tests" / "runners" / "execution" / "placed"


def built(name: str) -> Path:
    """Return the path of a program that `make setup` builds."""
    path = find_program(name)
    assert path, f"{name} is not built; run `make setup`"
    return path


def witness() -> Path:
    """Return the path of the parent of programs under study."""
    return built(WITNESS)


def compiled(source: Path, *command: str) -> Path:
    """Return the path of a program, built by a command and kept in build/tests."""
    texts = [path.read_bytes() for path in (source, *sorted(source.parent.glob("*.h")))]
    digest = hashlib.sha256(b"\0".join([*map(os.fsencode, command), *texts])).hexdigest()[:16]
    path = ROOT / "build" / "tests" / f"{source.stem}-{digest}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Tests beside this one may build it, too.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / source.stem
            subprocess.run([*command, "-o", str(made), str(source)], check=True)
            made.rename(path)
    return path


def build_placed(name: str, compiler: str = "gcc", option: str = "-pthread") -> Path:
    """Build a program of PLACED; return its path."""
    return compiled(PLACED / f"{name}.c", need_tool(compiler), "-O1", option)


def run_placed(
    program: list[str], mask: tuple[int, ...], looks: Path, limit_s: float
) -> Observation:
    """Run a program of PLACED on these CPUs; `looks` is the file for which it waits (work.h)."""
    launcher = (need_tool("taskset"), "-c", ",".join(map(str, mask)))
    environment = {"PATH": os.environ["PATH"], "LOOKS": str(looks)}
    launch = Launch(launcher, tuple(program), environment, {}, ())
    return execute(launch, limit_s, Harness(witness(), None))


def build_team(runtime: str) -> Path:
    """Build the program of a team of libgomp's or libomp's threads; return its path."""
    compiler = {"libgomp": "gcc", "libomp": "clang"}[runtime]
    return build_placed("self_placed", compiler, "-fopenmp")
