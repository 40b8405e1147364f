"""Whether all CPUs have the same instructions, and which programs are built for some of them only.

`-march=native` stands for the CPU that the compiler ran on. Where CPUs differ, that is one of
several, so that such a program may be killed on the others, or be tuned for them wrongly.
"""

from __future__ import annotations

from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable
from pinstudy.base.text import first_of, one_line
from pinstudy.runners.doctor.capability import Capability, ProbedNode
from pinstudy.runners.host.software import build_of, find_program
from pinstudy.runners.node.instruction_sets import cpus_by_extras, read_extras

NAME = "instruction-sets"
# GCC's and Clang's words for the CPU that they run on.
_NATIVE = ("-march=native", "-mcpu=native", "-mtune=native")
_REBUILD = "build programs for what all CPUs have: PINSTUDY_MARCH in docs/install.md"
# Vector extensions alone have dozens of names.
_MAX_FLAGS = 8
_MAX_CHARACTERS = 600


def probe_instruction_sets(node: ProbedNode) -> Capability:
    """Report the flags that only some CPUs have, and the programs for which that matters."""
    extras = read_extras(node.tree, node.topology.online)
    if isinstance(extras, Unavailable):
        return Capability(NAME, "missing", f"not compared: {extras.reason}", optional=True)
    if not any(extras.values()):
        return Capability(NAME, "ok", "the same on all CPUs")
    differ = "; ".join(
        f"CPUs {cpus} {_beyond(flags)}" for flags, cpus in cpus_by_extras(extras).items()
    )
    reason = f"{differ}: -march=native is the CPU that a compiler ran on"
    if native := _built_natively() if node.live else []:
        reason += f", and so were built: {', '.join(native)}"
    return Capability(NAME, "limited", one_line(reason, _MAX_CHARACTERS), _REBUILD)


def _beyond(flags: str) -> str:
    """Return in words what these CPUs have beyond what all have."""
    words = flags.split()
    return f"also have {first_of(words, _MAX_FLAGS, ' ')}" if words else "have nothing more"


def _built_natively() -> list[str]:
    """Return the programs of the installation whose recorded build is for the building CPU."""
    # Imported here: the YAML library takes longer to import than most probes take.
    from pinstudy.configs.library import list_apps

    try:
        names = dict.fromkeys(v.program for app in list_apps() for v in app.builds.values())
    except UserError:
        return []
    found = ((name, path) for name in names if (path := find_program(name)))
    builds = ((name, build_of(path)) for name, path in found)
    return [name for name, build in builds if isinstance(build, str) and _is_native(build)]


def _is_native(build: str) -> bool:
    return any(option in build.split() for option in _NATIVE)
