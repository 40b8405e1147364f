"""What can be measured and placed on a node, what cannot, why, and what would change that."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

from runners.ask import ask
from runners.core_pmus import read_core_pmus, why_unsupported
from runners.cpufreq import governor_label, read_cpufreq
from runners.perf_events import HARDWARE_EVENTS, PerfPermission, event_list, read_permission
from runners.perf_trial import PerfTrial, try_perf
from runners.powercap import DOMAINS, GRANT, find_zones
from runners.raw_counts import HIDDEN_FROM_USERS
from runners.sysfs import Absent

State = Literal["ok", "limited", "missing"]

_SETUP = "make setup"
_LET_USERS_COUNT = "sudo sysctl kernel.perf_event_paranoid=1"
_NOT_TRIED = "not tried: the node is a recorded tree"


@dataclass(frozen=True)
class Capability:
    """One thing that a study may need; `why` is one line and ends with `grant`, if there is one.

    `grant` is the command or the change that would help, empty where nothing is needed or known.
    """

    name: str
    state: State
    why: str
    grant: str = ""


@dataclass(frozen=True)
class _Node:
    """The node under question; what is expensive is asked once, and only when needed."""

    root: Path
    live: bool

    @cached_property
    def permission(self) -> PerfPermission:
        return read_permission(self.root)

    @cached_property
    def perf(self) -> str | None:
        return shutil.which("perf") if self.live else None

    @cached_property
    def trial(self) -> PerfTrial | None:
        """The rows of a real run; None where there is no perf to try."""
        if self.perf is None:
            return None
        return try_perf(self.perf, event_list(user_only=self.permission.user_only))


def probe(root: Path, live: bool, names: Iterable[str] | None = None) -> tuple[Capability, ...]:
    """Return what the node whose files are under `root` is capable of, in the order of NAMES.

    With `live` the node is this machine and its tools are tried, at a cost of some 30 ms for
    perf and 10 ms for likwid-pin; `names` restricts what is asked. Never raises for what the node
    is; raises KeyError for a name that is not in NAMES.
    """
    wanted = NAMES if names is None else tuple(names)
    node = _Node(root, live)
    return tuple(found for name in wanted for found in _PROBES[name](node))


def _capability(name: str, state: State, why: str, grant: str = "") -> Capability:
    return Capability(name, state, f"{why}; {grant}" if grant else why, grant)


def _perf(node: _Node) -> Iterator[Capability]:
    trial = node.trial
    if trial is None:
        yield _no_perf(node, "perf")
    elif trial.problem:
        yield _capability("perf", "missing", *_why_no_rows(node, trial))
    else:
        version = "perf" if trial.version is None else "perf {}.{}".format(*trial.version)
        if trial.user_only:
            yield _capability(
                "perf", "limited", f"{version}, of programs' user mode only", _LET_USERS_COUNT
            )
        else:
            yield _capability("perf", "ok", version)


def _no_perf(node: _Node, name: str) -> Capability:
    if not node.live:
        return _capability(name, "missing", _NOT_TRIED)
    return _capability(name, "missing", "perf is not installed", _SETUP)


def _why_no_rows(node: _Node, trial: PerfTrial) -> tuple[str, str]:
    """Return the reason and what helps when perf gave no rows."""
    if trial.version is None:
        return trial.problem, "install the perf of the running kernel ($(uname -r))"
    if node.permission.paranoid is None:
        return "this kernel has no performance events", "boot one with CONFIG_PERF_EVENTS"
    if node.permission.forbidden:
        level = node.permission.paranoid
        return f"kernel.perf_event_paranoid is {level}: no counting at all", _LET_USERS_COUNT
    return trial.problem, "in a container, allow perf_event_open and CAP_PERFMON"


def _hardware_counters(node: _Node) -> Iterator[Capability]:
    name = "hardware-counters"
    pmus = [pmu.name for pmu in read_core_pmus(node.root)]
    if not pmus:
        yield _capability(name, "missing", _events_refused(node), _pmu_grant(node))
        return
    for pmu in pmus:
        of_pmu = f"{name}:{pmu}" if len(pmus) > 1 else name
        trial = node.trial
        if trial is None:
            yield _no_perf(node, of_pmu)
        elif trial.problem:
            yield _capability(of_pmu, "missing", *_why_no_rows(node, trial))
        else:
            yield _of_pmu(node, of_pmu, pmu, trial, len(pmus) - 1)


def _of_pmu(node: _Node, name: str, pmu: str, trial: PerfTrial, others: int) -> Capability:
    rows = [row for row in trial.rows_of(pmu, others) if row.event in HARDWARE_EVENTS]
    if not rows:
        newer = "a newer perf"
        return _capability(name, "missing", f"perf does not tell {pmu} from other PMUs", newer)
    works = [row.event for row in rows if row.state != "not supported"]
    if not works:
        return _capability(name, "missing", _events_refused(node), _pmu_grant(node))
    refused = [row.event for row in rows if row.state == "not supported"]
    if refused:
        return _capability(
            name, "limited", f"{', '.join(works)}; {pmu} does not have {', '.join(refused)}"
        )
    return _capability(name, "ok", ", ".join(works))


def _events_refused(node: _Node) -> str:
    why = why_unsupported(node.root)
    return f"{', '.join(HARDWARE_EVENTS)}: not supported by this node ({why})"


def _pmu_grant(node: _Node) -> str:
    if "virtual machine" in why_unsupported(node.root):
        return "give the guest one (QEMU: -cpu host,pmu=on), or measure on the host"
    return "a newer kernel"


def _migrations(node: _Node) -> Iterator[Capability]:
    trial = node.trial
    if trial is None:
        yield _no_perf(node, "migrations")
        return
    if trial.problem:
        yield _capability("migrations", "missing", *_why_no_rows(node, trial))
        return
    row = next((row for row in trial.rows if row.event == "cpu-migrations"), None)
    if row is None or row.state == "not supported":
        yield _capability("migrations", "missing", "perf does not count cpu-migrations here")
    elif row.user_only:
        reason = HIDDEN_FROM_USERS.partition(";")[0]
        yield _capability("migrations", "missing", reason, _LET_USERS_COUNT)
    else:
        yield _capability("migrations", "ok", "migrations and context switches, by perf")


def _energy(node: _Node) -> Iterator[Capability]:
    zones = find_zones(node.root)
    problems = dict(zones.unavailable)
    for zone in zones.chosen:
        value = zones.read_uj(zone)
        if isinstance(value, Absent):
            problems.setdefault(zone.domain, value.reason)
    readable = [domain for domain in DOMAINS if domain not in problems]
    reason = problems.get("package", "")
    grant = GRANT if reason.endswith(GRANT) else ""
    reason = reason.removesuffix(f"; as root: {GRANT}")
    if grant:
        grant = f"sudo {grant}"
    if "package" in readable:
        yield _capability("energy", "ok", f"{', '.join(readable)}, by powercap")
    elif readable:
        yield _capability("energy", "limited", f"{', '.join(readable)} only; {reason}", grant)
    else:
        yield _capability("energy", "missing", reason, grant)


def _governor(node: _Node) -> Iterator[Capability]:
    cpufreq = read_cpufreq(node.root)
    if not cpufreq.policies:
        yield _capability("governor", "missing", cpufreq.reason)
        return
    reasons = [policy.unavailable.get("governor") for policy in cpufreq.policies]
    labels = dict.fromkeys(governor_label(policy) for policy in cpufreq.policies if policy.governor)
    unreadable = next(filter(None, reasons), "")
    if not labels:
        yield _capability("governor", "missing", unreadable)
    elif unreadable:
        yield _capability("governor", "limited", f"{', '.join(labels)}; {unreadable}")
    else:
        yield _capability("governor", "ok", ", ".join(labels))


def _tool(name: str, *others: str) -> Callable[[_Node], Iterator[Capability]]:
    def look(node: _Node) -> Iterator[Capability]:
        if not node.live:
            yield _capability(name, "missing", _NOT_TRIED)
            return
        path = next(filter(None, map(shutil.which, (name, *others))), None)
        if path is None:
            yield _capability(name, "missing", f"{name} is not installed", _SETUP)
        else:
            yield _capability(name, "ok", path)

    return look


def _likwid_pin(node: _Node) -> Iterator[Capability]:
    (found,) = _tool("likwid-pin")(node)
    if found.state != "ok":
        yield found
        return
    version = _word_after(found.why, "Version")
    if version is None:
        yield _capability(
            "likwid-pin",
            "missing",
            f"{found.why} does not tell its version",
            "likwid-pin --version",
        )
    else:
        yield _capability("likwid-pin", "ok", f"likwid {version}")


def _word_after(command: str, word: str) -> str | None:
    """Return the word that follows `word` in what `command --version` prints, or None."""
    words = (ask([command, "--version"]) or "").split()
    return next((after for at, after in pairwise(words) if at == word), None)


_PROBES: dict[str, Callable[[_Node], Iterator[Capability]]] = {
    "perf": _perf,
    "hardware-counters": _hardware_counters,
    "migrations": _migrations,
    "energy": _energy,
    "governor": _governor,
    "taskset": _tool("taskset"),
    "numactl": _tool("numactl"),
    "likwid-pin": _likwid_pin,
    "lstopo": _tool("lstopo", "lstopo-no-graphics"),
}
NAMES = tuple(_PROBES)
