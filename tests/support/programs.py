"""Programs that tests start: those of the build, and those that work until they were looked at."""

from __future__ import annotations

import os
import subprocess
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


def build_placed(name: str, folder: Path, compiler: str = "gcc", option: str = "-pthread") -> Path:
    """Build a program of PLACED; return its path."""
    path = folder / name
    source = PLACED / f"{name}.c"
    command = [need_tool(compiler), "-O1", option, "-o", str(path), str(source)]
    subprocess.run(command, check=True)
    return path


def run_placed(
    program: list[str], mask: tuple[int, ...], looks: Path, limit_s: float
) -> Observation:
    """Run a program of PLACED on these CPUs; `looks` is the file for which it waits (work.h)."""
    launcher = (need_tool("taskset"), "-c", ",".join(map(str, mask)))
    environment = {"PATH": os.environ["PATH"], "LOOKS": str(looks)}
    launch = Launch(launcher, tuple(program), environment, {}, ())
    return execute(launch, limit_s, Harness(witness(), None))


def build_team(runtime: str, folder: Path) -> Path:
    """Build the program of a team of libgomp's or libomp's threads; return its path."""
    compiler = {"libgomp": "gcc", "libomp": "clang"}[runtime]
    return build_placed("self_placed", folder, compiler, "-fopenmp")
