"""The facts that a results folder keeps by their digest, and in what two of them differ.

Records name the digests of a node, of a program's files and of the variables that it inherited;
files beside the records have what they stand for. Such a file may come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from base.files import read_object
from base.text import first_of, one_line, shown
from configs.inherited_variables import variable_changes
from configs.results_folder import ENVIRONMENTS, NODES, PROGRAMS

# The largest known nodes have files of some 2 MiB.
_MAX_BYTES = 16 * 1024 * 1024
_MAX_NAMED = 6
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
# A fact and its causes: a fact whose cause has changed is not listed.
_FOLLOWS = {
    "kernel_build": ("kernel",),
    "kinds": ("online",),
    "cores": ("online",),
    "caches": ("online",),
    "numa": ("online",),
    "drivers": ("online",),
}
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
# The key of the variables in their file.
VARIABLES = "variables"


def load_facts(folder: Path, digest: object) -> dict[str, Any] | None:
    """Return the object in the file that the digest names; None when it cannot be read."""
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        return None
    try:
        return read_object(folder / f"{digest}.json", _MAX_BYTES)
    except (OSError, ValueError):
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
    then = _load_digest_facts(folder, record.get("node_digest"))
    if then is not None and now:
        return _differences(folder, then, digest_facts(now))
    names = [name for name in ("kernel", "smt", "microcode") if name in record]
    return _differences(folder, record, {name: now.get(name) for name in names})


def changed_between(folder: Path, first: str, second: str) -> str:
    """Return which facts differ between the nodes of two digests, from their files in `nodes`."""
    then, now = (_load_digest_facts(folder, digest) for digest in (first, second))
    return _differences(folder, then or {}, now if then and now else {})


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
        value = ", ".join(f"{_get(item, 'name')} {_get(item, 'cpus')}" for item in value)
    elif isinstance(value, dict):
        value = ", ".join(f"{key} on {cpus}" for key, cpus in value.items()) or "none"
    return shown(value)


def _get(item: object, name: str) -> str:
    return str(item.get(name)) if isinstance(item, dict) else "?"


def _load_digest_facts(folder: Path, digest: object) -> dict[str, Any] | None:
    """Return the digest facts of the node with this digest; None if missing or malformed."""
    try:
        return digest_facts(load_facts(folder / NODES, digest) or {})
    except (LookupError, TypeError, AttributeError):
        return None


def changed_programs(folder: Path, first: str, second: str) -> str:
    """Return in words which files differ between two digests that are kept in a results folder."""
    return files_between((folder, first), (folder, second))


def files_between(first: tuple[Path, str], second: tuple[Path, str]) -> str:
    """Return the same of two digests that are each kept in a results folder of its own."""
    then, now = (load_facts(folder / PROGRAMS, digest) for folder, digest in (first, second))
    return program_changes(then, now)


def program_changes(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    """Return in words which files differ between the facts of two programs, if they are known."""
    then, files = (facts.get("files") if facts else None for facts in (before, now))
    lines: list[str] = []
    if isinstance(then, dict) and isinstance(files, dict):
        lines += _file_differences(then, files)
    if not lines:
        return f"which files differ is not known (expected {PROGRAMS}/ beside the records)"
    return first_of(lines, _MAX_NAMED)


def _file_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Describe the parts that differ; both sides may be from files, which may hold anything."""
    for part in dict.fromkeys([*then, *now]):
        old, new = (_file_of(files, part) for files in (then, now))
        if old is None:
            yield f"{shown(part)} is new: {_text(new, 'path')}"
        elif new is None:
            yield f"{shown(part)} is gone: {_text(old, 'path')}"
        elif old.get("sha256") != new.get("sha256"):
            was, is_now = (_text(of, "sha256")[:_SHOWN_DIGITS] for of in (old, new))
            yield f"{shown(part)} was {was}, now {is_now}: {_text(new, 'path')}"


def _text(of: Mapping[str, Any] | None, name: str) -> str:
    return one_line(str((of or {}).get(name)), _MAX_CHARACTERS)


def _file_of(files: Mapping[str, Any], part: str) -> Mapping[str, Any] | None:
    file = files.get(part)
    return file if isinstance(file, dict) else None


def changed_variables(folder: Path, first: str, second: str) -> str:
    """Return in words which variables differ between two digests, by the files in a folder.

    Empty where none does.
    """
    return variables_between((folder, first), (folder, second))


def variables_between(first: tuple[Path, str], second: tuple[Path, str]) -> str:
    """Return the same of two digests that are each kept in a results folder of its own."""
    then, now = (load_facts(folder / ENVIRONMENTS, digest) for folder, digest in (first, second))
    return environment_changes(then, now)


def environment_changes(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    """Return in words which variables differ between the facts of two environments.

    Empty where none does.
    """
    then, these = (of.get(VARIABLES) if of else None for of in (before, now))
    if isinstance(then, dict) and isinstance(these, dict):
        return first_of(variable_changes(then, these), _MAX_NAMED)
    return f"which variables differ is not known (expected {ENVIRONMENTS}/ beside the records)"
