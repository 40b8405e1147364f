"""What can be read and set of the CPUs.

Core kinds, the CPUs that this process may use, governors, turbo, mains or battery, temperatures,
throttling, instructions, settings that a tuning, or a study that is gone, has left changed, and
whether the instruments were tested.

`-march=native` stands for the CPU that the compiler ran on. Where CPUs differ, that is one of
several, so that such a program may be killed on the others, or be tuned for them wrongly.
"""

from __future__ import annotations

from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import cpulists_by_value, format_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable, known
from pinstudy.base.text import first_of, one_line
from pinstudy.runners.doctor.capability import Capability, ProbedNode, State
from pinstudy.runners.host.control_groups import read_partitions
from pinstudy.runners.host.privileges import may_be_root, write_problem
from pinstudy.runners.host.software import build_of, find_program
from pinstudy.runners.measure.conditions.temperature import NO_SENSOR, Thermometer
from pinstudy.runners.measure.conditions.throttling import ThrottleMeter
from pinstudy.runners.node.cpufreq import (
    BOOST,
    DYNAMIC_EPP,
    NO_TURBO,
    POLICIES,
    dynamic_epp_off,
    governor_label,
)
from pinstudy.runners.node.cpuinfo import cpus_by_extras, read_extras
from pinstudy.runners.node.power import NO_BATTERY, PLATFORM_PROFILE, read_power_supply
from pinstudy.runners.node.scheduler import isolation_notes
from pinstudy.runners.prove.proof import latest_proof
from pinstudy.runners.records.settings_of_runs import BATTERY
from pinstudy.runners.settings.files import unwritable_file
from pinstudy.runners.settings.journal import STUDY, TUNE, Journal, open_journal
from pinstudy.runners.settings.registry import POLICY_FILES

NOT_PROVED = "not tested on this node as it is configured now"
_UNDO = f"{PINSTUDY} restore"


def probe_core_kinds(node: ProbedNode) -> Capability:
    """Report the core kinds and their evidence; a guest with one kind may hide others."""
    topology = node.topology
    listed = "; ".join(
        f"{kind.name} {format_cpulist(kind.cpus)}: {kind.evidence}" for kind in topology.kinds
    )
    declared = any(kind.declared for kind in topology.kinds)
    if topology.hybrid or declared or not node.guest:
        return Capability("core-kinds", "ok", listed)
    reason = f"{listed}; virtual machines hide the core kinds of their host"
    grant = "name them if you know them: --kinds P=…,E=…"
    return Capability("core-kinds", "limited", reason, grant)


def probe_cpus(node: ProbedNode) -> Capability:
    """Report which CPUs this process may use."""
    topology = node.topology
    online = format_cpulist(topology.online)
    offline = f"; offline: {format_cpulist(topology.offline)}" if topology.offline else ""
    denied = set(topology.online).difference(topology.allowed)
    state = f"{'all of' if node.live else 'online:'} {online}"
    grant = ""
    if denied:
        state = (
            f"this process may use {format_cpulist(topology.allowed)}, and not "
            f"{format_cpulist(denied)}"
        )
    partitions = read_partitions(node.tree)
    own = next((part for part in partitions if part.own), None)
    beyond = denied if own else set().union(*(part.cpus for part in partitions))
    apart = beyond.union(topology.isolated)
    # A mask that has isolated CPUs does not make the kernel balance threads onto them, and none can
    # have those of another cpuset partition.
    if denied.difference(apart):
        balanced = format_cpulist(set(topology.online).difference(apart))
        grant = (
            f"taskset -pc {balanced} $$, or start outside the batch job, container or cgroup that "
            "restricts it"
        )
    elif own and denied:
        grant = "end the cpuset partition, or start outside of it"
    elif topology.isolated:
        grant = "start the node without the boot option isolcpus, or end the cpuset partition"
    elif denied:
        grant = "end the cpuset partition, or start in it"
    notes = isolation_notes(topology.isolated, topology.tickless, partitions)
    reason = "; ".join([f"{state}{offline}", *notes])
    return Capability("cpus", "limited" if grant else "ok", reason, grant)


def probe_governor(node: ProbedNode) -> Capability:
    """Report the governors in force, those offered, and whether this process may set them."""
    cpufreq = node.cpufreq
    if not cpufreq.policies:
        where = "set governors on the virtual machine's host" if node.guest else ""
        return Capability("governor", "missing", cpufreq.reason, where)
    reasons = [policy.unavailable.get("governor") for policy in cpufreq.policies]
    labels = dict.fromkeys(governor_label(policy) for policy in cpufreq.policies if policy.governor)
    problem = next(filter(None, reasons), "")
    if not labels:
        return Capability("governor", "missing", problem)
    governors = {
        cpu: " ".join(policy.governors) for policy in cpufreq.policies for cpu in policy.cpus
    }
    offered = cpulists_by_value(governors)
    listed = [
        (names or "none") + (f" on CPUs {cpus}" if len(offered) > 1 else "")
        for names, cpus in offered.items()
    ]
    state = ", ".join(labels) + (f"; offered: {', '.join(listed)}" if any(offered) else "")
    if left := set(node.topology.online).difference(governors):
        problem = problem or f"no policy covers CPUs {format_cpulist(left)}"
    if problem:
        return Capability("governor", "limited", f"{state}; {problem}")
    if cpufreq.dynamic_epp:
        reason = f"{state}; amd-pstate's {DYNAMIC_EPP} is on: it moves the EPP during runs"
        return Capability("governor", "limited", reason, dynamic_epp_off(node.tree))
    if not node.live:
        return Capability("governor", "ok", f"{state}; setting it was not tried")
    return _settable(node, state)


def probe_turbo(node: ProbedNode) -> Capability:
    """Report whether turbo is on: whether frequencies above the base may be used."""
    turbo = node.cpufreq.turbo
    if turbo is None:
        reason = f"{NO_TURBO} and {BOOST} are missing: not known whether it is on"
        return Capability("turbo", "missing", reason)
    return Capability("turbo", "ok", "on" if turbo else "off")


def probe_power_supply(node: ProbedNode) -> Capability:
    """Report whether the node runs from mains or battery, and its platform profile."""
    name, supply = "power-supply", read_power_supply(node.tree)
    if node.guest and isinstance(supply, Unavailable):
        reason = "a virtual machine: supply, platform profile and dynamic EPP are its host's"
        return Capability(name, "missing", reason, optional=True)
    profile = known(node.tree.word(PLATFORM_PROFILE))
    told = f"; platform profile {profile}" if profile else ""
    if not isinstance(supply, Unavailable):
        if supply == BATTERY:
            reason = f"{supply}: the limits of power and turbo are often lower than on mains{told}"
            return Capability(name, "limited", reason, "connect the adapter before you measure")
        return Capability(name, "ok", f"{supply}{told}")
    # A node without a battery cannot be on it.
    state: State = "ok" if supply.reason == NO_BATTERY else "missing"
    return Capability(name, state, f"{supply.reason}{told}", optional=state != "ok")


def _settable(node: ProbedNode, state: str) -> Capability:
    locked = unwritable_file(node.tree, node.cpufreq.directories(node.topology.online))
    if locked is None:
        return Capability("governor", "ok", f"{state}; this process may set it")
    problem, mount = write_problem(locked)
    reason = f"{state}; {problem}"
    if may_be_root():
        return Capability("governor", "limited", reason, mount)
    there = known(node.tree.names(locked.rpartition("/")[0])) or ()
    # A change of governor writes the first, and all of them have to be put back after it.
    written = [name for name in POLICY_FILES if name in there]
    grant = f'sudo chown "$USER" {" ".join(f"{POLICIES}/policy*/{name}" for name in written)}'
    # Policies are no devices, so udev has no rules for them; systemd-tmpfiles runs at each boot.
    lines = "\\n".join(f"z {POLICIES}/policy*/{name} - $USER -" for name in written)
    lasting = f'printf "{lines}\\n" | sudo tee /etc/tmpfiles.d/pinstudy.conf'
    return Capability("governor", "limited", reason, grant, lasting)


def probe_temperatures(node: ProbedNode) -> Capability:
    """Read every package's sensor once."""
    celsius_of, problems = Thermometer(node.tree, node.topology).read_c()
    shown = ", ".join(f"{package} {celsius:g} °C" for package, celsius in celsius_of.items())
    trouble = "; ".join(problems.values())
    if not celsius_of:
        return Capability("temperatures", "missing", trouble or NO_SENSOR)
    if problems:
        return Capability("temperatures", "limited", f"{shown}; {trouble}")
    return Capability("temperatures", "ok", shown)


def probe_throttling(node: ProbedNode) -> Capability:
    """Read every throttle counter once."""
    meter = ThrottleMeter(node.tree, node.topology)
    meter.start()
    meter.stop()
    reading = meter.reading()
    if counters := reading.fields.get("throttle"):
        return Capability("throttle-counters", "ok", ", ".join(counters))
    reasons = "; ".join(dict.fromkeys(reading.unavailable.values()))
    return Capability("throttle-counters", "missing", reasons)


def probe_settings(node: ProbedNode) -> Capability:
    """Report changed settings that are not put back yet, and who changed them."""
    left, tuned = (open_journal(node.root, purpose) for purpose in (STUDY, TUNE))
    if left.exists():
        return Capability("settings", "limited", f"changed by a study: {_describe(left)}", _UNDO)
    if tuned.exists():
        return Capability("settings", "ok", f"tuned for measuring: {_describe(tuned)}", _UNDO)
    return Capability("settings", "ok", "none is changed by pinstudy")


def probe_instruments(node: ProbedNode) -> Capability:
    """Report when the node's instruments were tested, and which were off."""
    proof = latest_proof(node)
    if proof is None:
        return Capability("instruments", "missing", NOT_PROVED, f"{PINSTUDY} prove", optional=True)
    boot = "" if proof.boot_id == node.boot_id else ", before the last boot"
    when = f"tested on {proof.proved_at}{boot}: {proof.summary}"
    if proof.off:
        return Capability("instruments", "limited", f"{when}; off: {proof.names_off}")
    return Capability("instruments", "ok", when)


def _describe(journal: Journal) -> str:
    try:
        entry = journal.read()
    except UserError as error:
        return str(error)
    return entry.process if entry else "not any more"


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
