"""File trees of nodes for tests: recordings unpacked, and others written from short descriptions.

    root = build_tree(tmp_path, "i9-14900k-noht")
    topology = read_topology(root)

The names are those of tests/support/machines.py and of the recordings in tests/data/nodes.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pinstudy.base.cpulist import format_cpulist, parse_cpulist

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "nodes"
CPU = "sys/devices/system/cpu"
_INDEX = {(1, "Data"): 0, (1, "Instruction"): 1, (2, "Unified"): 2, (3, "Unified"): 3}


@dataclass(frozen=True)
class Machine:
    """A short description of a node; CPU lists are in the kernel's form.

    `caches` are (level, type, size or "", CPUs that share it); `pmus` the core PMUs' `cpus` files;
    `cpus` files of single CPUs below cpuN/ by the CPUs that have them; `policies` files of each
    CPU's own cpufreq policy; `packages` and `nodes` the CPUs of each; `block` the fields that all
    CPUs have in /proc/cpuinfo, and `blocks` those of some CPUs; `files` any other files, by path
    from the root.
    """

    cores: tuple[str, ...]
    caches: tuple[tuple[int, str, str, str], ...] = ()
    pmus: dict[str, str] = field(default_factory=dict)
    cpus: dict[str, dict[str, object]] = field(default_factory=dict)
    policies: dict[str, dict[str, object]] = field(default_factory=dict)
    packages: dict[int, str] = field(default_factory=dict)
    nodes: dict[int, str] = field(default_factory=dict)
    block: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, dict[str, str]] = field(default_factory=dict)
    offline: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @property
    def online(self) -> str:
        """The CPUs of all cores, as a list."""
        return format_cpulist(cpu for core in self.cores for cpu in parse_cpulist(core))


def build_tree(directory: Path, machine: str | Machine) -> Path:
    """Write a machine's files below `directory`, and return the root to read them from."""
    if isinstance(machine, Machine):
        root, files = directory / "node", _files(machine)
    elif (recording := RECORDINGS / f"{machine}.tar.xz").is_file():
        root, files = directory / machine, _recorded(recording)
    else:
        from tests.support.machines import MACHINES

        root, files = directory / machine, _files(MACHINES[machine])
    for folder in {path.rpartition("/")[0] for path in files}:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (root / path).write_text(text + "\n" * (not text.endswith("\n")))
    return root


def write(root: Path, path: str, text: object) -> None:
    """Write one file of a tree, ended by a newline as the kernel's are."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


@contextmanager
def spoilt(contents: Mapping[Path, bytes | None]) -> Iterator[None]:
    """Give files other contents, or remove them for None, while the context lasts."""
    before = {file: file.read_bytes() for file in contents}
    try:
        for file, content in contents.items():
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content)
        yield
    finally:
        for file, content in before.items():
            file.write_bytes(content)


def pairs(cpus: str) -> tuple[str, ...]:
    """Return cores of two neighbouring CPUs each: `0-3` -> `0-1`, `2-3`."""
    numbers = parse_cpulist(cpus)
    return tuple(format_cpulist(numbers[i : i + 2]) for i in range(0, len(numbers), 2))


def singles(cpus: str) -> tuple[str, ...]:
    """Return cores of one CPU each."""
    return tuple(str(cpu) for cpu in parse_cpulist(cpus))


def siblings_apart(cpus: str, distance: int) -> tuple[str, ...]:
    """Return cores of a CPU and the one `distance` above it, as servers number them."""
    return tuple(f"{cpu},{cpu + distance}" for cpu in parse_cpulist(cpus))


def _files(machine: Machine) -> dict[str, str]:
    """Return every file of the tree by its path from the root."""
    online = parse_cpulist(machine.online)
    return {
        f"{CPU}/online": machine.online,
        f"{CPU}/offline": machine.offline,
        f"{CPU}/present": format_cpulist((*online, *parse_cpulist(machine.offline))),
        **{f"{CPU}/cpu{cpu}/online": "0" for cpu in parse_cpulist(machine.offline)},
        "proc/cpuinfo": _cpuinfo(machine, online),
        **dict(_topology(machine)),
        **dict(_caches(machine)),
        **dict(_policies(machine)),
        **{
            f"{CPU}/cpu{cpu}/{name}": str(value)
            for cpus, values in machine.cpus.items()
            for cpu in parse_cpulist(cpus)
            for name, value in values.items()
        },
        **{
            f"sys/{where}/{name}/cpus": cpus
            for name, cpus in machine.pmus.items()
            for where in ("devices", "bus/event_source/devices")
        },
        **{
            f"sys/devices/system/node/node{node}/cpulist": cpus
            for node, cpus in (machine.nodes or {0: machine.online}).items()
        },
        **machine.files,
    }


def _topology(machine: Machine) -> Iterator[tuple[str, str]]:
    for core in machine.cores:
        for cpu in parse_cpulist(core):
            directory = f"{CPU}/cpu{cpu}/topology"
            yield f"{directory}/core_cpus_list", core
            yield f"{directory}/thread_siblings_list", core
            yield f"{directory}/physical_package_id", str(_package(machine, cpu))


def _caches(machine: Machine) -> Iterator[tuple[str, str]]:
    for level, type_, size, cpus in machine.caches:
        for cpu in parse_cpulist(cpus):
            index = f"{CPU}/cpu{cpu}/cache/index{_INDEX[level, type_]}"
            yield f"{index}/level", str(level)
            yield f"{index}/type", type_
            yield f"{index}/shared_cpu_list", cpus
            if size:
                yield f"{index}/size", size


def _policies(machine: Machine) -> Iterator[tuple[str, str]]:
    for cpus, values in machine.policies.items():
        for cpu in parse_cpulist(cpus):
            directory = f"{CPU}/cpufreq/policy{cpu}"
            yield f"{directory}/affected_cpus", str(cpu)
            yield f"{directory}/related_cpus", str(cpu)
            for name, value in values.items():
                yield f"{directory}/{name}", str(value)


def _package(machine: Machine, cpu: int) -> int:
    return next((id_ for id_, cpus in machine.packages.items() if cpu in parse_cpulist(cpus)), 0)


def _cpuinfo(machine: Machine, online: tuple[int, ...]) -> str:
    own = {cpu: of for cpus, of in machine.blocks.items() for cpu in parse_cpulist(cpus)}
    blocks = ({"processor": str(cpu)} | machine.block | own.get(cpu, {}) for cpu in online)
    return "\n".join(
        "".join(f"{name:<16}: {value}\n" for name, value in block.items()) for block in blocks
    )


@cache
def _recorded(recording: Path) -> dict[str, str]:
    """Return a recording's files by path, without the idle states: half of all, and never read."""
    files = {}
    with tarfile.open(recording) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and "/cpuidle/" not in member.name:
                files[member.name.removeprefix("./").partition("/")[2]] = content.read().decode()
    return files
