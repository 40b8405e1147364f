"""Which programs, launchers and helpers are there, and how each OpenMP runtime waits by default.

The default depends on the runtime's release and on whether the CPU is hybrid: libgomp spins 300000
rounds, and from GCC 14 on only once on hybrid CPUs (GCC libgomp/config/linux/x86/spincount.h);
libomp spins 200 ms, and not at all on hybrid CPUs (LLVM openmp/runtime/src/kmp.h).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from base.command import output_of
from base.errors import UserError
from runners.doctor.capability import AskedNode, Capability
from runners.host.program_files import find_runtime
from runners.host.software import WITNESS, ask_version, find_program, for_programs, for_tools
from runners.plan.command_line import REMOVED_PREFIXES

# The smallest of the programs; with a matrix of two rows it runs for some milliseconds.
_PROGRAM, _SIZE = "lu-{}", "2"
_SPINS = re.compile(r"GOMP_SPINCOUNT\s*=\s*'?([0-9]+|INFINITY)", re.IGNORECASE)
_BLOCKTIME = re.compile(r"KMP_BLOCKTIME\s*=\s*'?([0-9]+\s*(?:[mu]s)?|infinite)", re.IGNORECASE)
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+\S*")


def probe_programs(_node: AskedNode) -> Iterator[Capability]:
    """Tell which of the installation's own programs are built."""
    try:
        names = _own_programs()
    except UserError as error:
        yield Capability("programs", "missing", str(error))
        return
    unbuilt = [name for name in names if find_program(name) is None]
    if WITNESS in unbuilt:
        reason = f"{WITNESS}, which starts and watches every run, is not built"
        yield Capability("programs", "missing", reason, for_programs().grant)
    elif unbuilt:
        yield Capability(
            "programs", "limited", f"not built: {', '.join(unbuilt)}", for_programs().grant
        )
    else:
        yield Capability("programs", "ok", ", ".join(names))


def probe_libgomp(_node: AskedNode) -> Iterator[Capability]:
    """Tell libgomp's version and how long it spins."""
    yield _runtime("libgomp", _SPINS, "GOMP_SPINCOUNT")


def probe_libomp(_node: AskedNode) -> Iterator[Capability]:
    """Tell libomp's version and how long it spins, in milliseconds unless it says otherwise."""
    yield _runtime("libomp", _BLOCKTIME, "KMP_BLOCKTIME")


def _own_programs() -> list[str]:
    # Imported here: the YAML library takes longer to import than most probes take.
    from configs.library import list_apps

    variants = [variant for app in list_apps() for variant in app.variants.values()]
    # The runtime `other` marks programs that others built, such as LLNL's lulesh2.0.
    own = dict.fromkeys(v.program for v in variants if v.runtime != "other")
    return [WITNESS, *own]


def _runtime(name: str, waiting: re.Pattern[str], variable: str) -> Capability:
    program = find_program(_PROGRAM.format(name))
    if program is None:
        return Capability(
            name, "missing", f"{_PROGRAM.format(name)} is not built", for_programs().grant
        )
    environment = _clean_environment()
    runtime = find_runtime(program, environment)
    if isinstance(runtime, str):
        return Capability(name, "missing", f"{program}: {runtime}", for_programs().grant)
    default = waiting.search(_settings(program, environment))
    version = f"{runtime.version} ({runtime.path})"
    if default is None:
        reason = f"{version}; it does not tell how it waits ({variable})"
        return Capability(name, "limited", reason)
    unit = " ms" if variable == "KMP_BLOCKTIME" and default[1].isdigit() else ""
    return Capability(name, "ok", f"{version}; waits by default with {variable} {default[1]}{unit}")


def _clean_environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(REMOVED_PREFIXES)}
    return kept | {"LC_ALL": "C"}


def _settings(program: Path, environment: dict[str, str]) -> str:
    """Return the settings that the runtime prints; libgomp and libomp print them on stderr."""
    # One thread: libgomp spins less with more threads than CPUs.
    asked = environment | {"OMP_NUM_THREADS": "1", "OMP_DISPLAY_ENV": "verbose"}
    return output_of([str(program), _SIZE], asked, with_stderr=True) or ""


def probe_taskset(_node: AskedNode) -> Iterator[Capability]:
    """Tell where taskset is."""
    yield _tool("taskset")


def probe_numactl(_node: AskedNode) -> Iterator[Capability]:
    """Tell where numactl is; it prints no version."""
    yield _tool("numactl")


def probe_lstopo(_node: AskedNode) -> Iterator[Capability]:
    """Tell the version of hwloc's lstopo."""
    found = _tool("lstopo", "lstopo-no-graphics")
    if found.state != "ok":
        yield found
        return
    version = _version(found.reason)
    if version is None:
        yield Capability(
            "lstopo", "missing", f"{found.reason} does not tell its version", for_tools().grant
        )
    else:
        yield Capability("lstopo", "ok", f"{found.reason}, hwloc {version}")


def probe_likwid_pin(_node: AskedNode) -> Iterator[Capability]:
    """Tell the version of likwid-pin; it is run, because its library may not load."""
    found = _tool("likwid-pin")
    if found.state != "ok":
        yield found
        return
    version = _version(found.reason)
    if version is None:
        silent = f"{found.reason} does not tell its version"
        yield Capability("likwid-pin", "missing", silent, "likwid-pin --version")
    else:
        yield Capability("likwid-pin", "ok", f"likwid {version}")


def _version(command: str) -> str | None:
    """Return the first version in what `command --version` prints, or None."""
    found = _VERSION.search(ask_version(command) or "")
    return found[0] if found else None


def _tool(name: str, *others: str) -> Capability:
    """Look for a command by its name or other names; the reason is its path."""
    path = next(filter(None, map(shutil.which, (name, *others))), None)
    if path is None:
        return Capability(name, "missing", f"{name} is not installed", for_tools().grant)
    return Capability(name, "ok", path)
