"""What is installed and what runs: programs, daemons, batch systems, QEMU, OpenMP runtimes.

How a runtime waits by default depends on its release and on whether the CPU is hybrid: libgomp
spins 300000 rounds, and from GCC 14 on only once on hybrid CPUs (GCC
libgomp/config/linux/x86/spincount.h); libomp spins 200 ms, and not at all on hybrid CPUs (LLVM
openmp/runtime/src/kmp.h).

A /dev/kvm that can be opened is not enough for guests: the CPU must support virtualisation, too.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
from dataclasses import replace

from pinstudy.base.command import output_of
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable
from pinstudy.base.text import one_line
from pinstudy.configs.daemons import UNITS
from pinstudy.configs.inherited_variables import OPENMP_PREFIXES
from pinstudy.configs.site import BATCH_SYSTEMS
from pinstudy.runners.batch_systems.native import NativeSystem
from pinstudy.runners.batch_systems.registry import open_system
from pinstudy.runners.doctor.capability import Capability, ProbedNode
from pinstudy.runners.host.interference import find_daemons, interfering, stop_commands
from pinstudy.runners.host.program_files import find_runtime
from pinstudy.runners.host.software import (
    WITNESS,
    ask_version,
    find_program,
    for_guests,
    for_programs,
    for_tools,
)
from pinstudy.runners.node.node import Node
from pinstudy.runners.vm.host import QEMU, find_guest_host

# The smallest of the programs; with a matrix of two rows it runs for some milliseconds.
_SIZE = "2"
# The setting for how long a runtime spins, and its value as the runtime prints it.
_WAITING = {"libgomp": "GOMP_SPINCOUNT", "libomp": "KMP_BLOCKTIME"}
_WAITING_TIME = r"[0-9]+\s*(?:[mu]s)?|infinit[ey]"
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+\S*")

_MAX_CHARACTERS = 300
KVM = "/dev/kvm"
_INSTALL = "install qemu-system-x86 (Debian, Ubuntu) or qemu-system-x86-core (Fedora)"


def find_programs() -> Capability:
    """Report which of the installation's own programs are built."""
    try:
        names = _own_programs()
    except UserError as error:
        return Capability("programs", "missing", str(error))
    unbuilt = [name for name in names if find_program(name) is None]
    if not unbuilt:
        return Capability("programs", "ok", ", ".join(names))
    build = for_programs(unbuilt).grant
    if WITNESS in unbuilt:
        reason = f"{WITNESS}, which starts and watches every run, is not built"
        return Capability("programs", "missing", reason, build)
    return Capability("programs", "limited", f"not built: {', '.join(unbuilt)}", build)


def _own_programs() -> list[str]:
    # Imported here: the YAML library takes longer to import than most probes take.
    from pinstudy.configs.library import list_apps

    # Others' programs, such as LLNL's, are got by a command that their apps name.
    own = [app for app in list_apps() if not app.obtain]
    return [WITNESS, *dict.fromkeys(v.program for app in own for v in app.builds.values())]


def find_waiting(name: str) -> Capability:
    """Report a runtime's version and how long it spins, in milliseconds without another unit."""
    built, variable = f"lu-{name}", _WAITING[name]
    program = find_program(built)
    if program is None:
        return Capability(name, "missing", f"{built} is not built", for_programs([built]).grant)
    plain = {k: v for k, v in os.environ.items() if not k.startswith(OPENMP_PREFIXES)}
    environment = plain | {"LC_ALL": "C"}
    runtime = find_runtime(program, environment)
    if isinstance(runtime, str):
        return Capability(name, "missing", f"{program}: {runtime}", for_programs().grant)
    # One thread: libgomp spins less with more threads than CPUs.
    verbose = environment | {"OMP_NUM_THREADS": "1", "OMP_DISPLAY_ENV": "verbose"}
    # libgomp and libomp print their settings on stderr.
    settings = output_of([str(program), _SIZE], verbose, with_stderr=True) or ""
    default = re.search(rf"{variable}\s*=\s*'?({_WAITING_TIME})", settings, re.IGNORECASE)
    version = f"{runtime.version} ({runtime.path})"
    if default is None:
        reason = f"{version}; it does not tell how it waits ({variable})"
        return Capability(name, "limited", reason)
    unit = " ms" if variable == "KMP_BLOCKTIME" and default[1].isdigit() else ""
    return Capability(name, "ok", f"{version}; waits by default with {variable} {default[1]}{unit}")


def find_tool(name: str, *others: str) -> Capability:
    """Look for a command by its name or other names; the reason is its path."""
    path = next(filter(None, map(shutil.which, (name, *others))), None)
    if path is None:
        return Capability(name, "missing", f"{name} is not installed", for_tools().grant)
    return Capability(name, "ok", path)


def find_lstopo() -> Capability:
    """Report the version of hwloc's lstopo."""
    tool = find_tool("lstopo", "lstopo-no-graphics")
    return _with_version(tool, f"{tool.reason}, hwloc", for_tools().grant)


def find_likwid_pin() -> Capability:
    """Report the version of likwid-pin; it is run, because its library may not load."""
    return _with_version(find_tool("likwid-pin"), "likwid", "likwid-pin --version")


def _with_version(tool: Capability, words: str, grant: str) -> Capability:
    """Return a tool with the first version that it prints, after `words`; missing without one."""
    if tool.state != "ok":
        return tool
    version = _VERSION.search(ask_version(tool.reason) or "")
    if version is None:
        silent = f"{tool.reason} does not tell its version"
        return replace(tool, state="missing", reason=silent, grant=grant)
    return replace(tool, reason=f"{words} {version[0]}")


def probe_daemons(node: ProbedNode) -> Capability:
    """Report which running daemons change frequencies, affinity masks or interrupts."""
    daemons = find_daemons(node.tree)
    if isinstance(daemons, Unavailable):
        grant = "" if daemons.missing else "sudo mount -o remount,hidepid=0 /proc"
        reason = f"not known whether any interferes: {daemons.reason}"
        return Capability("daemons", "limited", reason, grant)
    if not daemons:
        none = f"none that interferes runs ({', '.join(UNITS)} and others)"
        return Capability("daemons", "ok", none)
    stop = stop_commands(daemons)
    reason = f"{interfering(daemons)} while measuring"
    return Capability("daemons", "limited", reason, stop, stop.replace(" stop ", " disable --now "))


def probe_batch_systems(node: ProbedNode) -> list[Capability]:
    """Report each batch system whose commands are on the PATH, or that there is none."""
    systems = {name: open_system(name) for name in BATCH_SYSTEMS}
    found = [_recognised(name, system, node) for name, system in systems.items()]
    if here := list(filter(None, found)):
        return here
    names = ", ".join(system.name for system in systems.values())
    commands = ", ".join(system.version_command[0] for system in systems.values())
    return [Capability("batch", "missing", f"no commands of {names} on the PATH ({commands})")]


def _recognised(word: str, system: NativeSystem, node: Node) -> Capability | None:
    found = system.recognise(node)
    if found is None:
        return None
    name = f"batch:{word}"
    if not found.version:
        return Capability(name, "missing", one_line(found.problem, _MAX_CHARACTERS))
    if found.problem:
        reason = f"version {found.version}; {found.problem}"
        return Capability(name, "limited", reason, found.remedy)
    return Capability(name, "ok", f"version {found.version}; `{shlex.join(system.ping)}` answers")


def probe_virtual_machines(node: ProbedNode) -> Capability:
    """Report whether guests can be started, and whether they may use hardware virtualisation."""
    name = "virtual-machines"
    slow, grant = without_kvm(node)
    if platform.machine() == "x86_64" and shutil.which(QEMU) is None:
        reason = f"{QEMU} is not installed"
        return Capability(name, "missing", f"{reason}; {slow}" if slow else reason, _INSTALL)
    try:
        qemu = find_guest_host(slow, node.root).qemu
    except UserError as error:
        return Capability(name, "missing", str(error).partition("; ")[0], for_guests().grant)
    if slow:
        return Capability(name, "limited", f"{qemu}, emulating every instruction: {slow}", grant)
    return Capability(name, "ok", f"{qemu} with {KVM}")


def without_kvm(node: Node) -> tuple[str, str]:
    """Return why hardware virtualisation cannot be used and what helps; empty when it can."""
    flags = node.block.get("flags", "").split()
    # KVM may open without the CPU's support (kvm-pvm), but then it runs no ordinary kernel.
    if "flags" in node.block and not {"vmx", "svm"}.intersection(flags):
        if node.guest:
            reason = "this guest has no nested virtualisation (no vmx or svm in /proc/cpuinfo)"
            allow = "allow it on the host (QEMU: -cpu host, and kvm_intel or kvm_amd nested=1)"
            return reason, allow
        return "no vmx or svm in /proc/cpuinfo", "enable virtualisation in the firmware"
    if not os.path.exists(KVM):  # noqa: PTH110 - a name beside os.access
        # On ARM KVM is no module: it exists when the firmware starts the kernel at EL2.
        load = "sudo modprobe kvm_intel || sudo modprobe kvm_amd" if flags else ""
        return f"{KVM} is missing", load
    if not os.access(KVM, os.R_OK | os.W_OK):
        return f"no permission to use {KVM}", 'sudo usermod -aG kvm "$USER", then log in again'
    return "", ""
