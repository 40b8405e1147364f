"""The facts that a results folder keeps by their digest, and in what two of them differ.

Records name the digests of a node, of a program's files and of the variables that it inherited;
files beside the records have what they stand for. Such a file may come from anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, to_builtins

from pinstudy.base.decoding import converted
from pinstudy.base.files import read_regular
from pinstudy.base.text import first_of, one_line, shown
from pinstudy.configs.inherited_variables import variable_changes
from pinstudy.configs.results_folder import ENVIRONMENTS, NODES, PROGRAMS
from pinstudy.runners.records.node_file import NodeFile

# The largest known nodes have files of some 2 MiB.
_MAX_BYTES = 16 * 1024 * 1024
_MAX_NAMED = 6
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
# A fact and its causes: a fact whose cause has changed is not listed.
_FOLLOWS = {"kernel_build": ("kernel",)} | dict.fromkeys(
    ("kinds", "cores", "caches", "numa", "drivers"), ("online",)
)
_BOOT_OPTIONS = "boot_options"
_WORDS = {
    _BOOT_OPTIONS: "boot options",
    "online": "online CPUs",
    "kinds": "core kinds",
    "numa": "NUMA nodes",
    "drivers": "frequency drivers",
    "mode": "the driver's mode",
    "smt": "SMT",
    "cpu_model": "CPU model",
}
# The facts in the digest. Left out: evidence and notes, which are prose; `allowed`, which belongs
# to this process; power_limits and itmt_enabled, which depend on permissions; memory_bytes, which
# varies with the kernel's reservations; cpu_capacity, which kernels from 6.16 on compute anew while
# they run, on x86 hybrids without SMT (drivers/cpufreq/intel_pstate.c, hybrid_update_capacity: at a
# notice of the firmware, a limit, a CPU that goes offline).
_DIGEST_FACTS = (
    "kernel",
    "kernel_build",
    "boot_options",
    "cpu_model",
    "microcode",
    "firmware",
    "virtual_machine",
    "smt",
    "transparent_hugepages",
)
_DIGEST_TOPOLOGY = ("cores", "caches", "numa", "online")
_DIGEST_CPUFREQ = ("drivers", "mode", "turbo")
_SHOWN_DIGITS = 12
_MAX_CHARACTERS = 300


class ProgramFile(Struct, frozen=True):
    """A file of a program."""

    path: str
    sha256: str


class ProgramFacts(Struct, frozen=True):
    """The files of a program by their part in it, and why a part is not known."""

    files: dict[str, ProgramFile]
    unavailable: dict[str, str] = {}


class EnvironmentFacts(Struct, frozen=True):
    """The inherited variables that count, with their values or digests."""

    variables: dict[str, str]


Facts = TypeVar("Facts", NodeFile, ProgramFacts, EnvironmentFacts)


def kept_facts(folder: Path, digest: str | None, kind: type[Facts]) -> Facts | None:
    """Return the facts in the file that the digest names; None when it cannot be read."""
    if digest is None or _DIGEST.fullmatch(digest) is None:
        return None
    try:
        data = read_regular(folder / f"{digest}.json", _MAX_BYTES, links=False)
        # Paths and variables may have bytes that are no UTF-8, which only Python's JSON keeps.
        return converted(json.loads(data), kind) if len(data) <= _MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None


def digest_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that must not change during a study; the digest is over them."""
    kinds = [
        {key: value for key, value in kind.items() if key != "evidence"}
        for kind in facts["topology"]["kinds"]
    ]
    return {
        "kinds": kinds,
        **{name: facts["topology"][name] for name in _DIGEST_TOPOLOGY},
        **{name: facts["cpufreq"].get(name) for name in _DIGEST_CPUFREQ},
        **{name: facts.get(name) for name in _DIGEST_FACTS},
    }


def what_changed(folder: Path, now: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return which facts of the node differ from a record's, with their values then and now.

    `folder` holds the records, and in `nodes` the facts of their nodes. Where these are gone, the
    facts in the record itself are compared.
    """
    try:
        facts = converted(now, NodeFile)
    except ValueError:
        facts = None
    then = kept_facts(folder / NODES, record.get("node_digest"), NodeFile)
    if then and facts and then.topology and facts.topology:
        return _differences(folder, _digest_facts_of(then), _digest_facts_of(facts))
    names = [name for name in ("kernel", "smt", "microcode") if name in record]
    return _differences(folder, record, {name: now.get(name) for name in names})


def changed_between(folder: Path, first: str, second: str) -> str:
    """Return which facts differ between the nodes of two digests, from their files in `nodes`."""
    nodes = [kept_facts(folder / NODES, digest, NodeFile) for digest in (first, second)]
    then, now = (_digest_facts_of(node) if node and node.topology else {} for node in nodes)
    return _differences(folder, then, now if then else {})


def _digest_facts_of(node: NodeFile) -> dict[str, Any]:
    return digest_facts(to_builtins(node))


def _differences(folder: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words which facts changed, without those that follow from another one."""
    different = [name for name in now if then.get(name) != now[name]]
    listed = [name for name in different if not set(_FOLLOWS.get(name, ())).intersection(different)]
    if not listed:
        return f"compare the files in {folder / NODES}"
    return first_of([in_words(name, then.get(name), now[name]) for name in listed], _MAX_NAMED)


def in_words(name: str, then: object, now: object) -> str:
    """Return a fact's values, then and now, in one short line."""
    word = _WORDS.get(name, name.replace("_", " "))
    if name == _BOOT_OPTIONS:
        before, after = (str(value or "").split() for value in (then, now))
        gone, new = ([w for w in a if w not in b] for a, b in ((before, after), (after, before)))
        return f"{word} lost {shown(' '.join(gone))} and got {shown(' '.join(new))}"
    if isinstance(now, list) and name != "kinds":
        return f"{word} differ"
    return f"{word} {'were' if word.endswith('s') else 'was'} {_value(then)}, now {_value(now)}"


def _value(value: object) -> str:
    """Return a fact's value as one short line; core kinds and drivers with their CPUs."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        value = ", ".join(f"{kind['name']} {kind['cpus']}" for kind in value)
    elif isinstance(value, dict):
        value = ", ".join(f"{key} on {cpus}" for key, cpus in value.items()) or "none"
    return shown(value)


def files_between(first: tuple[Path, str], second: tuple[Path, str]) -> str:
    """Return in words which files differ between two digests, each kept in a results folder."""
    then, now = (
        kept_facts(folder / PROGRAMS, digest, ProgramFacts) for folder, digest in (first, second)
    )
    return program_changes(then, now)


def program_changes(before: ProgramFacts | None, now: ProgramFacts | None) -> str:
    """Return in words which files differ between the facts of two programs, if they are known."""
    lines = list(_file_differences(before.files, now.files)) if before and now else []
    if not lines:
        return f"which files differ is not known (expected {PROGRAMS}/ beside the records)"
    return first_of(lines, _MAX_NAMED)


def _file_differences(
    then: Mapping[str, ProgramFile], now: Mapping[str, ProgramFile]
) -> Iterator[str]:
    for part in dict.fromkeys([*then, *now]):
        old, new = then.get(part), now.get(part)
        path = one_line((new or then[part]).path, _MAX_CHARACTERS)
        if old is None:
            yield f"{shown(part)} is new: {path}"
        elif new is None:
            yield f"{shown(part)} is gone: {path}"
        elif old.sha256 != new.sha256:
            was, is_now = (one_line(file.sha256)[:_SHOWN_DIGITS] for file in (old, new))
            yield f"{shown(part)} was {was}, now {is_now}: {path}"


def variables_between(first: tuple[Path, str], second: tuple[Path, str]) -> str:
    """Return in words which variables differ between two digests, each kept in a results folder.

    Empty where none does.
    """
    then, now = (
        kept_facts(folder / ENVIRONMENTS, digest, EnvironmentFacts)
        for folder, digest in (first, second)
    )
    return environment_changes(then, now)


def environment_changes(before: EnvironmentFacts | None, now: EnvironmentFacts | None) -> str:
    """Return in words which variables differ between the facts of two environments.

    Empty where none does.
    """
    if before and now:
        return first_of(variable_changes(before.variables, now.variables), _MAX_NAMED)
    return f"which variables differ is not known (expected {ENVIRONMENTS}/ beside the records)"
