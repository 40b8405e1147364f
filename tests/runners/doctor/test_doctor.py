"""What a node can do is tried, and every refusal comes with its reason and what would help."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.runners.doctor.capability import Capability, worst_first
from pinstudy.runners.doctor.report import EVERY_NAME, NAMES, probe
from pinstudy.runners.host import software
from pinstudy.runners.node.node import open_node
from pinstudy.runners.vm.boot_image import MODULES
from tests.runners.fake_commands import install
from tests.runners.meter_trees import battery, chip, ina226
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    ROOT_CAPABILITIES,
    add_core_pmu,
    core_row,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
    set_permission,
)
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree, zone_folder
from tests.runners.proc_trees import process
from tests.support.limits import only_cpus
from tests.support.machines import INTEL, policy
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.power_supplies import SUPPLIES, plug_in, unplug
from tests.support.studies import two_cpus, write_program
from tests.support.tools import DATA, ROOT, need_tool
from tests.support.trees import CPU, Machine, build_tree, singles, spoilt, write

RECORDED = DATA / "perf"
LIVE = Path("/")
QEMU = f"qemu-system-{platform.machine()}"
CPUINFO = "vendor_id\t: GenuineIntel\nflags\t\t: fpu"
POLICY = "/sys/devices/system/cpu/cpufreq/policy"
PROFILE = "sys/firmware/acpi/platform_profile"
FOUR = Machine(
    singles("0-3"),
    pmus={"cpu_core": "0-1", "cpu_atom": "2-3"},
    policies={"0-1": policy(5000000, 3000000), "2-3": policy(4000000, 2000000)},
    block=INTEL,
)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A bare machine: no counters, no energy, no frequency scaling, root's permissions."""
    root = tmp_path / "bare"
    (root / CPU).mkdir(parents=True)
    (root / "proc/sys/kernel").mkdir(parents=True)
    write(root, "proc/cpuinfo", CPUINFO)
    set_permission(root, paranoid="2", capabilities=ROOT_CAPABILITIES)
    return root


@pytest.fixture
def reachable() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


def every(root: Path, name: str, live: bool = True) -> dict[str, Capability]:
    """Return the answers to a question, by their names."""
    return {found.name: found for found in probe(open_node(root), live, [name])}


def ask(root: Path, name: str, live: bool = True) -> Capability:
    """Return the answer of this name."""
    question = "energy-sources" if name.startswith("energy:") else name.partition(":")[0]
    return every(root, question, live)[name]


def test_every_state_has_one_line_that_ends_with_what_helps(node: Path, commands: Path) -> None:
    found = probe(open_node(node), live=True)
    assert [capability.name for capability in found] == list(NAMES)
    for capability in found:
        assert capability.state == "missing"
        assert capability.why and capability.why.isprintable()
        assert capability.why.endswith(capability.grant)
    assert found[0] == Capability("perf", "missing", "perf is not installed", "make setup")
    assert not list(commands.iterdir())


def test_every_question_is_answered_once_on_this_machine() -> None:
    names = [capability.name for capability in probe(open_node(LIVE), True, EVERY_NAME)]
    assert len(names) == len(set(names))
    questions = {name.removesuffix("-sources") for name in EVERY_NAME}
    assert {name.partition(":")[0] for name in names} == questions


def test_only_what_is_asked_for_is_tried_and_nothing_on_a_recorded_tree(
    node: Path, commands: Path
) -> None:
    for name in ("perf", "taskset", "numactl", "likwid-pin", "lstopo", "sbatch", "qsub"):
        install(commands, name, f"touch '{commands}/ran'")
    probe(open_node(node), True, ["energy", "cpus"])
    with pytest.raises(KeyError):
        probe(open_node(node), True, ["telepathy"])
    add_pmus(node, {"cpu": None})
    states = {found.name: found.state for found in probe(open_node(node), False, EVERY_NAME)}
    assert states.pop("settings") == "ok", "no journal is in the tree"
    assert (states.pop("core-kinds"), states.pop("cpus")) == ("ok", "ok"), "files tell them"
    assert set(states.values()) == {"missing"}
    assert "recorded tree" in ask(node, "perf", live=False).why
    assert not (commands / "ran").exists()


def test_the_worst_come_first_and_else_the_order_stays() -> None:
    states = {"a": "ok", "b": "limited", "c": "missing", "d": "ok", "e": "missing"}
    found = tuple(Capability(name, state, "") for name, state in states.items())  # type: ignore[arg-type]
    assert [capability.name for capability in worst_first(found)] == ["c", "e", "b", "a", "d"]


def add_pmus(root: Path, cpus: dict[str, str | None]) -> None:
    for name, text in cpus.items():
        folder = root / "sys/bus/event_source/devices" / name
        folder.mkdir(parents=True)
        if text is not None:
            (folder / "cpus").write_text(text)


def counting_perf(folder: Path, version: str, rows: str = "", script: str = "") -> None:
    """Install a perf that prints recorded rows, or does what a script says."""
    install(
        folder,
        "perf",
        f'if [ "$1" = --version ]; then echo "perf version {version}"; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done; output=$2\n'
        + (script or f"cat '{RECORDED / rows}' > \"$output\""),
    )


HYBRID: dict[str, str | None] = {"cpu_atom": "16-31", "cpu_core": "0-15", "power": None}
ARM: dict[str, str | None] = {"armv8_cortex_a55": "2-3", "armv8_cortex_a76": "0-1"}
COUNTED = "cycles, instructions"
LACKS = COUNTED + "; {} does not have cache-misses"
NOT_TOLD = "perf does not tell {} from other PMUs; a newer perf"


@pytest.mark.parametrize(
    ("version", "rows", "pmus", "state", "why"),
    [
        ("6.8.12", "hybrid-6.8.csv", HYBRID, "limited", LACKS),
        # Events that a PMU does not list are said to be lacking.
        ("6.1.192", "arm64-6.1.csv", ARM, "limited", "cycles; {} does not have instructions"),
        # A PMU that refuses every event, and a perf that is older than the hybrid node.
        ("6.1.187", "guest.csv", {"cpu": None}, "missing", COUNTED + ", cache-misses: not"),
        ("5.10.1", "guest.csv", HYBRID, "missing", NOT_TOLD),
    ],
)
def test_counters_are_told_pmu_by_pmu(
    node: Path,
    commands: Path,
    version: str,
    rows: str,
    pmus: dict[str, str | None],
    state: str,
    why: str,
) -> None:
    add_pmus(node, pmus)
    counting_perf(commands, version, rows)
    counters = every(node, "hardware-counters")
    found = {name.partition(":")[2]: told for name, told in counters.items()}
    assert found.keys() == ({""} if len(pmus) == 1 else pmus.keys() - {"power"})
    for name, told in found.items():
        if (rows, name) == ("hybrid-6.8.csv", "cpu_core"):
            assert (told.state, told.why) == ("ok", f"{COUNTED}, cache-misses")
        else:
            assert told.state == state and told.why.startswith(why.format(name))
    assert ask(node, "perf").reason == f"perf {version.rpartition('.')[0]}"
    assert ask(node, "migrations").state == "ok"


def test_a_guest_without_counters_says_what_would_give_them(node: Path, commands: Path) -> None:
    assert not ask(node, "hardware-counters", live=False).hinders
    write(node, "proc/cpuinfo", f"{CPUINFO} hypervisor")
    counting_perf(commands, "6.1.187", "guest.csv")
    counters = ask(node, "hardware-counters")
    assert counters.state == "missing"
    assert counters.why.startswith(
        "cycles, instructions, cache-misses: not supported by this node "
        "(no hardware PMU in this virtual machine); "
    )
    assert ask(node, "migrations").state == "ok"
    add_pmus(node, {"msr": None})
    assert ask(node, "hardware-counters", live=False).hinders


def test_an_ordinary_user_is_told_that_migrations_are_hidden(node: Path, commands: Path) -> None:
    set_permission(node, paranoid="2", capabilities=NO_CAPABILITIES)
    counting_perf(commands, "6.1.187", "guest-user.csv")
    assert ask(node, "perf").state == "limited"
    migrations = ask(node, "migrations")
    assert migrations.state == "missing"
    assert migrations.grant == "sudo sysctl kernel.perf_event_paranoid=1"
    # A kernel that forbids counting is named with its level.
    set_permission(node, paranoid="4", capabilities=NO_CAPABILITIES)
    counting_perf(commands, "6.8.12", script="echo 'Access is limited.' >&2; exit 255")
    for name in ("perf", "migrations"):
        assert ask(node, name).state == "missing"
        assert "perf_event_paranoid is 4" in ask(node, name).why


@pytest.mark.parametrize(
    ("version", "script", "said"),
    [
        ("6.8.12", "exit 255", "no performance events"),
        ("4.18.0-553.el8", "echo 'unknown option' >&2; exit 129", "version 5.10 can"),
        ("6.8.12", "printf 'Not\\npermitted' >&2; exit 1", "perf stat failed: Not permitted"),
        ("", "#!/bin/sh\necho 'perf not found for kernel 6.8' >&2; exit 2", "not work: perf not"),
        ("", "#!/nowhere/interpreter\n", "does not run"),
    ],
)
def test_why_perf_cannot_count_is_told(
    node: Path, commands: Path, version: str, script: str, said: str
) -> None:
    if said == "no performance events":
        (node / "proc/sys/kernel/perf_event_paranoid").unlink()
    if version:
        counting_perf(commands, version, script=script)
    else:
        write_program(commands / "perf", script)
    perf = ask(node, "perf")
    assert said in perf.why
    assert "permitted" not in said or "CAP_PERFMON" in perf.grant


def test_perf_c2c_is_tried_and_what_grants_it_is_named(node: Path, commands: Path) -> None:
    refused = RECORDED.parent / "c2c" / "refused-guest.txt"
    assert ask(node, "perf-c2c", live=False).reason == "not tried: the node is a recorded tree"
    assert ask(node, "perf-c2c").reason == "perf is not installed"
    install(commands, "perf", "exit 0")
    assert ask(node, "perf-c2c") == Capability(
        "perf-c2c", "ok", "samples accesses of user space", optional=True
    )
    install(commands, "perf", f"cat '{refused}' >&2; exit 255")
    write(node, "proc/cpuinfo", f"{CPUINFO} hypervisor")
    found = ask(node, "perf-c2c")
    assert (found.state, found.optional) == ("missing", True)
    assert "memory events not supported" in found.reason
    assert "pmu=on" in found.grant
    set_permission(node, paranoid="2", capabilities="0")
    assert ask(node, "perf-c2c") == found
    denied = refused.with_name("refused-permission.txt")
    install(commands, "perf", f"cat '{denied}' >&2; exit 255")
    found = ask(node, "perf-c2c")
    assert "CAP_PERFMON" in found.reason
    assert found.grant == "sudo sysctl kernel.perf_event_paranoid=1"
    assert found.lasting
    (node / "proc/cpuinfo").write_text("CPU implementer\t: 0x41\n")
    assert (ask(node, "perf-c2c").state, ask(node, "perf-c2c").grant) == ("missing", "")


def test_tools_are_found_on_the_path_and_tell_their_versions(node: Path, commands: Path) -> None:
    for name in ("likwid-pin", "lstopo"):
        install(commands, name, "echo 'error while loading shared libraries' >&2; exit 127")
        assert ask(node, name).state == "missing"
    (commands / "lstopo").unlink()
    install(commands, "taskset", "")
    install(commands, "lstopo-no-graphics", "echo 'lstopo-no-graphics 2.11.2'")
    install(commands, "likwid-pin", "echo 'likwid-pin -- Version 5.4.1 (commit: 0)'")
    assert ask(node, "taskset") == Capability("taskset", "ok", str(commands / "taskset"))
    found = f"{commands}/lstopo-no-graphics, hwloc 2.11.2"
    assert ask(node, "lstopo") == Capability("lstopo", "ok", found, optional=True)
    assert ask(node, "likwid-pin") == Capability("likwid-pin", "ok", "likwid 5.4.1", optional=True)
    assert ask(node, "numactl").grant == "make setup"


@pytest.mark.parametrize(
    ("runtime", "variable"), [("libgomp", "GOMP_SPINCOUNT"), ("libomp", "KMP_BLOCKTIME")]
)
def test_a_runtimes_default_waiting_is_what_the_runtime_itself_says(
    runtime: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = need_tool(str(ROOT / f"build/bin/lu-{runtime}"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    environment = {"PATH": os.environ["PATH"], "OMP_DISPLAY_ENV": "verbose", "OMP_NUM_THREADS": "1"}
    said = subprocess.run(
        [program, "2"], env=environment, capture_output=True, text=True, check=True
    ).stderr
    value = re.search(rf"{variable}\s*=\s*'(\w+)", said)
    assert value is not None
    found = ask(LIVE, runtime)
    assert found.state == "ok"
    assert f"{variable} {value[1]}" in found.reason
    assert re.search(r"[0-9]+\.[0-9]+", found.reason)


def test_programs_that_are_not_built_are_named_with_what_builds_them(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A checkout, of which nothing is built.
    (commands / "CMakeLists.txt").touch()
    monkeypatch.setattr(software, "ROOT", commands)
    unbuilt = Capability("libomp", "missing", "lu-libomp is not built", "make setup")
    assert ask(LIVE, "libomp") == unbuilt
    found = ask(LIVE, "programs")
    assert (found.state, found.grant) == ("missing", "make setup")
    assert "pinstudy-witness" in found.reason
    install(commands, "pinstudy-witness", "")
    install(commands, "lu-serial", "")
    found = ask(LIVE, "programs")
    assert found.state == "limited"
    assert "lu-libgomp" in found.reason and "lu-serial" not in found.reason
    # `make originals` gets these, and `make setup` does not.
    for original in ("lulesh2.0", "lulesh-llnl", "lu-ompscr", "mandelbrot-ompscr"):
        assert original not in found.reason


def test_a_runtime_that_does_not_tell_how_it_waits_is_limited_and_none_is_missing(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(software, "ROOT", commands)
    install(commands, "ldd", "echo '\tstatically linked'")
    install(commands, "lu-libgomp", "")
    assert "loads no OpenMP runtime" in ask(LIVE, "libgomp").reason
    library = commands / "libgomp.so.1"
    library.touch()
    install(commands, "ldd", f"echo '\tlibgomp.so.1 => {library} (0x0)'")
    found = ask(LIVE, "libgomp")
    assert found.state == "limited"
    assert found.reason.endswith("it does not tell how it waits (GOMP_SPINCOUNT)")


FATAL = "sbatch: fatal: no configuration source"


@pytest.mark.parametrize(
    ("scripts", "name", "state", "reason"),
    [
        ({}, "batch", "missing", "sbatch, qsub, flux"),
        (
            {"sbatch": "echo 'slurm-wlm 22.05.8'", "scontrol": "echo 'Slurmctld(primary) is UP'"},
            *("batch:slurm", "ok", "version 22.05.8; `scontrol ping` answers"),
        ),
        (
            {"qsub": "echo 'pbs_version = 23.06.06' >&2", "qstat": "echo 'refused' >&2; exit 111"},
            *("batch:pbs", "limited", "version 23.06.06; `qstat -B` fails"),
        ),
        (
            {"flux": r"""[ "$1" = version ] && printf 'commands:\t\t0.88.0\n' || exit 1"""},
            *("batch:flux", "limited", "version 0.88.0; `flux getattr size` fails"),
        ),
        # Another system's qsub is not taken for PBS.
        ({"qsub": "echo 'GE 8.1.9'"}, "batch:pbs", "missing", "(GE 8.1.9)"),
        (
            {"sbatch": f"echo '{FATAL}' >&2; exit 1"},
            *("batch:slurm", "missing", f"`sbatch --version` ended with status 1: {FATAL}"),
        ),
    ],
)
def test_batch_systems_tell_version_and_whether_they_answer(
    commands: Path, scripts: dict[str, str], name: str, state: str, reason: str
) -> None:
    for command, script in scripts.items():
        install(commands, command, script)
    (found,) = every(LIVE, "batch").values()
    assert (found.name, found.state, found.optional) == (name, state, True)
    assert reason in found.reason


CONFIG = "SlurmctldParameters     = (null)\nSlurmdParameters        = {}\nSLURM_VERSION = {}"
GRANT = "ask its administrator for SlurmdParameters=allow_ecores in slurm.conf"
HIDES = "it hides Intel's E-cores (here CPUs 2-3) from jobs: SlurmdParameters of `scontrol show"


@pytest.mark.parametrize(
    ("machine", "parameters", "version", "hides"),
    [
        ("i9", "(null)", "23.11.4", True),
        ("i9", "l3cache_as_socket", "24.05.0", True),
        ("i9", "l3cache_as_socket,Allow_Ecores", "23.02.0", False),
        # Older versions offer all cores.
        ("i9", "(null)", "22.05.8", False),
        ("i9", "(null)", "", False),
        ("synthetic-forest", "(null)", "23.11.4", False),
        ("gb10", "(null)", "23.11.4", False),
    ],
)
def test_slurm_that_hides_the_e_cores_of_an_intel_hybrid_is_limited(
    tmp_path: Path, commands: Path, machine: str, parameters: str, version: str, hides: bool
) -> None:
    config = CONFIG.format(parameters, version) if version else "nothing of use"
    install(commands, "sbatch", "echo 'slurm-wlm 23.11.4'")
    install(commands, "scontrol", f"[ \"$1\" = ping ] || printf '%s\\n' '{config}'")
    found = ask(build_tree(tmp_path, FOUR if machine == "i9" else machine), "batch:slurm")
    assert found.state == ("limited" if hides else "ok")
    assert (HIDES in found.reason) == hides
    assert found.grant == (GRANT if hides else "")
    assert found.optional


def test_virtual_machines_need_qemu_busybox_and_a_kvm_device_that_may_be_used(
    node: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("guests are x86-64 ones so far")
    release = platform.release()
    write(node, f"boot/vmlinuz-{release}", "")
    built_in = "".join(f"kernel/{name}.ko\n" for name in MODULES)
    write(node, f"lib/modules/{release}/modules.builtin", built_in)
    monkeypatch.setattr("pinstudy.runners.doctor.software.KVM", str(commands / "kvm"))

    def told(flags: str) -> Capability:
        write(node, "proc/cpuinfo", f"{CPUINFO} {flags}")
        return ask(node, "virtual-machines")

    found = told("hypervisor")
    assert found.state == "missing" and f"{QEMU} is not installed" in found.reason
    install(commands, QEMU, "")
    found = told("vmx")
    assert (found.state, found.grant) == ("missing", "make vm")
    assert "busybox is missing" in found.reason
    install(commands, "busybox", "")
    found = told("")
    assert (found.state, found.grant) == ("limited", "enable virtualisation in the firmware")
    assert "no vmx or svm in /proc/cpuinfo" in found.reason
    found = told("hypervisor")
    assert (found.state, found.optional) == ("limited", True)
    assert "no nested virtualisation" in found.reason
    found = told("vmx")
    assert found.state == "limited" and "modprobe" in found.grant
    (commands / "kvm").touch()
    assert told("vmx").state == "ok"


def test_daemons_that_interfere_are_named_with_what_stops_them(node: Path) -> None:
    process(node, 812, "thermald")
    process(node, 813, "bash")
    assert ask(node, "daemons") == Capability(
        "daemons",
        "limited",
        "thermald runs and changes frequencies, masks or interrupts while measuring",
        "sudo systemctl stop thermald",
        "sudo systemctl disable --now thermald",
    )
    (node / "proc/812/stat").unlink()
    hidden = ask(node, "daemons")
    assert hidden.state == "limited" and "hidepid" in hidden.reason
    process(node, 1, "systemd")
    assert ask(node, "daemons").state == "ok"


OFFERED = "powersave (intel_pstate); offered: performance powersave;"
SWITCH = f"{CPU}/amd_pstate/dynamic_epp"
DYNAMIC = "amd-pstate's dynamic EPP is on: it moves the EPP during runs"
MODULE = "sys/class/hwmon/hwmon3"
HEAT = {
    f"{MODULE}/name": "coretemp",
    f"{MODULE}/temp1_label": "Package id 0",
    f"{MODULE}/temp1_input": "45000",
}
THROTTLED = {f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count": "0" for cpu in range(4)}
ISOLCPUS = "start the node without the boot option isolcpus"
UNKNOWN = "not compared: /proc/cpuinfo has no flags of CPU 0"


@pytest.mark.parametrize(
    ("machine", "files", "name", "state", "said", "grant"),
    [
        ("mtl-m-2", {}, "core-kinds", "ok", "P 0-3: the cpu_core PMU lists", ""),
        # One kind is all that a node has which is no guest.
        ("synthetic-forest", {}, "core-kinds", "ok", "", ""),
        ("synthetic-forest", {}, "cpus", "ok", "online: 0-8; offline: 9-11", ""),
        # A mask does not make the kernel balance threads.
        (FOUR, {f"{CPU}/isolated": "0-1"}, "cpus", "limited", "CPUs 0-1 are isolated", ISOLCPUS),
        (FOUR, {f"{CPU}/nohz_full": "0-1"}, "cpus", "ok", "CPUs 0-1 are without the timer", ""),
        (FOUR, {}, "governor", "ok", OFFERED, ""),
        (FOUR, {SWITCH: "disabled"}, "governor", "ok", "", ""),
        (FOUR, {SWITCH: "enabled"}, "governor", "limited", DYNAMIC, "echo disabled | sudo tee /"),
        (FOUR, {f"{CPU}/intel_pstate/no_turbo": "0"}, "turbo", "ok", "on", ""),
        ("kvm-guest", {}, "governor", "missing", "", "set governors on the virtual machine's host"),
        ("kvm-guest", {}, "turbo", "missing", "", ""),
        # Only where it would help.
        (FOUR, {}, "energy:perf", "missing", "", "sudo modprobe rapl"),
        ("kvm-guest", {}, "energy:perf", "missing", "", ""),
        ("gb10", {}, "energy:perf", "missing", "", ""),
        (FOUR, {}, "temperatures", "missing", "", ""),
        (FOUR, HEAT, "temperatures", "ok", "package 0 45 °C", ""),
        (FOUR, {}, "throttle-counters", "missing", "", ""),
        (FOUR, THROTTLED, "throttle-counters", "ok", "core_count", ""),
        (FOUR, {}, "instruction-sets", "ok", "the same on all CPUs", ""),
        *(
            ("kvm-guest", {"proc/cpuinfo": text}, "instruction-sets", "missing", UNKNOWN, "")
            for text in ("processor\t: 0", "processor\t: 0\nflags\t: \x1b[31m")
        ),
        (FOUR, {f"{SUPPLIES}/x": ""}, "power-supply", "ok", "no battery of the node", ""),
    ],
)
def test_what_a_recorded_node_has_is_told_with_what_would_help(
    tmp_path: Path,
    machine: str | Machine,
    files: dict[str, str],
    name: str,
    state: str,
    said: str,
    grant: str,
) -> None:
    root = build_tree(tmp_path, machine)
    for path, text in files.items():
        write(root, path, text)
    found = ask(root, name, live=False)
    assert (found.state, said in found.reason) == (state, True)
    assert found.grant.startswith(grant) and bool(found.grant) == bool(grant)


@pytest.mark.parametrize(
    ("kind", "allowed", "grant"),
    [
        # A login shell: no mask helps. A job has fewer of the other CPUs, too.
        ("isolcpus", (0, 2, 3), ISOLCPUS),
        ("isolcpus", (0,), "taskset -pc 0,2-3 $$"),
        ("root", (0, 2, 3), "end the cpuset partition, or start in it"),
        ("root", (0,), "taskset -pc 0,2-3 $$"),
        ("isolated", (0, 2, 3), ISOLCPUS),
        # This process is in it.
        ("own", (1,), "end the cpuset partition, or start outside of it"),
    ],
)
def test_a_mask_is_a_remedy_only_for_cpus_that_are_not_apart(
    tmp_path: Path, kind: str, allowed: tuple[int, ...], grant: str
) -> None:
    root = build_tree(tmp_path, FOUR)
    if kind == "isolcpus":
        write(root, f"{CPU}/isolated", "1")
    else:
        write(root, "proc/self/cgroup", "0::/bench" if kind == "own" else "0::/")
        kind = "isolated" if kind == "own" else kind
        write(root, "sys/fs/cgroup/bench/cpuset.cpus.partition", kind)
        write(root, "sys/fs/cgroup/bench/cpuset.cpus.effective", "1")
    node = open_node(root)
    restricted = replace(node, topology=replace(node.topology, allowed=allowed))
    (found,) = probe(restricted, False, ["cpus"])
    assert found.state == "limited"
    partition = f"CPU 1 is a cpuset partition ({kind}) of other processes"
    by_boot = kind == "isolcpus" or allowed == (1,)
    assert ("CPU 1 is isolated" if by_boot else partition) in found.reason
    assert found.grant.startswith(grant)


def test_an_affinity_mask_names_the_cpus_that_are_missing() -> None:
    first, second = two_cpus()
    with only_cpus({first}):
        found = ask(LIVE, "cpus")
    assert found.state == "limited"
    assert found.why.startswith(f"this process may use {first}, and not ")
    assert str(second) in found.why.partition("not ")[2]
    assert "taskset -pc " in found.why


def test_mains_and_battery_are_told_with_the_platform_profile(tmp_path: Path) -> None:
    root = build_tree(tmp_path, FOUR)
    plug_in(root)
    write(root, PROFILE, "balanced")
    told = Capability("power-supply", "ok", "mains; platform profile balanced")
    assert ask(root, "power-supply", live=False) == told
    unplug(root)
    (root / PROFILE).unlink()
    told = ask(root, "power-supply", live=False)
    assert (told.state, told.hinders) == ("limited", True)
    assert told.why == (
        "battery: the limits of power and turbo are often lower than on mains; connect the "
        "adapter before you measure"
    )


def test_a_guest_says_once_what_its_host_has_and_that_kinds_may_be_declared(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    found = probe(open_node(root), False, EVERY_NAME)
    (told,) = (item for item in found if "platform profile" in item.why or "EPP" in item.why)
    assert (told.name, told.state, told.hinders) == ("power-supply", "missing", False)
    assert told.why == "a virtual machine: supply, platform profile and dynamic EPP are its host's"
    kinds = ask(root, "core-kinds", live=False)
    assert (kinds.state, kinds.hinders) == ("limited", True)
    assert "--kinds" in kinds.grant
    (declared,) = probe(open_node(root, "P=0-1"), False, ["core-kinds"])
    assert declared.state == "ok"
    (declared,) = probe(open_node(root, "P=0,E=1"), False, ["core-kinds"])
    assert declared.reason.startswith("P 0: declared by --kinds P=0,E=1; E 1: ")


def test_governors_that_only_some_cpus_can_have_are_told_with_these(tmp_path: Path) -> None:
    root = build_tree(tmp_path, FOUR)
    for cpu in (2, 3):
        write(root, f"{POLICY[1:]}{cpu}/scaling_available_governors", "powersave")
    only_some = "offered: performance powersave on CPUs 0-1, powersave on CPUs 2-3; "
    found = ask(root, "governor", live=False)
    assert (found.state, only_some in found.reason) == ("ok", True)
    for file in (root / f"{POLICY[1:]}1").iterdir():
        file.unlink()
    (root / f"{POLICY[1:]}1").rmdir()
    found = ask(root, "governor", live=False)
    assert (found.state, found.reason.partition("on CPUs 2-3; ")[2]) == (
        *("limited", "no policy covers CPUs 1"),
    )


def test_a_governor_that_may_not_be_set_has_the_exact_grant(reachable: Path) -> None:
    root = build_tree(reachable, FOUR)
    assert ask(root, "governor").state == "ok"
    (root / CPU / "cpufreq/policy3/scaling_governor").chmod(0o444)
    with ordinary_user():
        found = ask(root, "governor")
    assert found.state == "limited"
    assert f"no permission to write {POLICY}" in found.why
    assert found.grant.startswith(f'sudo chown "$USER" {POLICY}*/scaling_governor ')
    assert f"{POLICY}*/energy_performance_preference" in found.grant
    assert found.lasting.endswith("| sudo tee /etc/tmpfiles.d/pinstudy.conf")
    # Nor may one be set whose preference may not be put back.
    for file in (root / CPU / "cpufreq").glob("policy*/scaling_governor"):
        file.chmod(0o666)
        file.with_name("energy_performance_preference").chmod(0o444)
    with ordinary_user():
        found = ask(root, "governor")
    assert found.state == "limited"
    assert f"no permission to write {POLICY}0/energy_performance_preference" in found.why


def test_instructions_of_some_cpus_are_told_with_the_programs_built_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = {"0-1": {"flags": "fpu avx512f avx512vl"}, "2-3": {"flags": "fpu"}}
    root = build_tree(tmp_path, replace(FOUR, blocks=blocks))
    recorded = ask(root, "instruction-sets", live=False)
    assert (recorded.state, recorded.hinders) == ("limited", True)
    assert recorded.reason == (
        "CPUs 0-1 also have avx512f avx512vl; CPUs 2-3 have nothing more: -march=native is the CPU "
        "that a compiler ran on"
    )
    assert recorded.grant.startswith("build programs for what all CPUs have: PINSTUDY_MARCH")
    install(tmp_path, "lu-serial", "echo 'lu-serial 0.1.0'; echo 'flags: -O3 -march=native'")
    install(tmp_path, "lu-libgomp", "echo 'lu-libgomp 0.1.0'; echo 'flags: -march=x86-64-v3'")
    monkeypatch.setattr(software, "program_folders", lambda: (tmp_path,))
    live = ask(root, "instruction-sets")
    assert live.reason == f"{recorded.reason}, and so were built: lu-serial"


def test_energy_is_tried_domain_by_domain_and_one_source_is_enough(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, INTEL_CLIENT)
    told = Capability("energy", "ok", "package, core, uncore, psys, by powercap")
    assert ask(root, "energy") == told
    sources = every(root, "energy-sources", live=False)
    assert (sources["energy:powercap"].state, sources["energy:perf"].state) == ("ok", "missing")
    assert not sources["energy:perf"].hinders
    (zone_folder(root, "intel-rapl:0") / "energy_uj").unlink()
    limited = ask(root, "energy")
    assert limited.state == "limited" and "core, uncore, psys only; " in limited.why


def test_each_meter_is_listed_and_one_that_cannot_be_used_says_why(node: Path) -> None:
    ina226(node)
    chip(node, 1, "amdgpu", power1_average=9_000_000)
    battery(node, status="Full", power_now=0)
    found = every(node, "energy-sources", live=False)

    board = found["energy:hwmon:ina226/power1"]
    assert (board.state, board.reason) == ("ok", "board, W every 0.035 s: runs of 0.7 s or more")
    assert ask(node, "energy", live=False) == replace(board, name="energy", optional=False)
    graphics = found["energy:hwmon:amdgpu/power1"]
    assert (graphics.state, graphics.grant) == (
        "limited", "`meter: hwmon:amdgpu/power1` in the study",
    )  # fmt: skip
    supply = found["energy:battery:BAT0"]
    assert supply.state == "missing"
    assert "the adapter feeds the node" in supply.reason
    assert supply.grant == "disconnect the adapter"
    # One works: no other one is missed.
    assert not any(source.hinders for source in found.values())


def test_energy_without_permission_has_a_command_for_now_and_a_rule_for_good(
    reachable: Path,
) -> None:
    root = powercap_tree(reachable / "node", {"intel-rapl:0": ("package-0", 1)})
    (zone_folder(root, "intel-rapl:0") / "energy_uj").chmod(0)
    with ordinary_user():
        source = ask(root, "energy:powercap")
    assert source.state == "missing"
    assert source.grant == "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"
    assert source.lasting == (
        """echo 'SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", """
        """RUN+="/bin/chmod a+r /sys/%p/energy_uj"' """
        "| sudo tee /etc/udev/rules.d/70-pinstudy.rules"
    )


def test_perfs_power_pmu_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = power_pmu_tree(tmp_path, ("energy-pkg", "energy-ram"))
    recorded = ask(root, "energy:perf", live=False)
    assert recorded.reason.startswith("not tried") and not recorded.hinders
    monkeypatch.setenv("PATH", str(tmp_path))
    install_perf(tmp_path, joules_row("energy-pkg", "0.02"), joules_row("energy-ram", "0.01"))
    found = every(root, "energy-sources")
    perf = found["energy:perf"]
    assert (perf.state, perf.reason) == ("ok", "package, dram, by perf's power PMU")
    assert not found["energy:powercap"].hinders
    assert ask(root, "energy").state == "ok"
    install_perf(tmp_path, "<not supported>;Joules;power/energy-pkg/;0;100.00;;")
    refused = ask(root, "energy:perf")
    assert (refused.state, refused.grant) == ("missing", "")
    assert refused.reason == "energy-pkg is not supported"
    set_permission(root, "2", NO_CAPABILITIES)
    forbidden = ask(root, "energy:perf")
    assert forbidden.state == "missing" and "sysctl" not in forbidden.reason
    assert forbidden.grant == "sudo sysctl kernel.perf_event_paranoid=0"
    assert forbidden.lasting.endswith("| sudo tee /etc/sysctl.d/70-pinstudy.conf")


def test_the_counters_of_single_cores_are_tried_and_never_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cores() -> Capability:
        found = ask(root, "energy:cores")
        assert found.state == "ok" or not found.hinders
        return found

    root = add_core_pmu(build_tree(tmp_path, "hx370"), "0-11")
    monkeypatch.setenv("PATH", str(tmp_path))
    install_perf(tmp_path, *(core_row(cpu, "0.000000") for cpu in range(12)))
    assert (cores().state, cores().reason) == ("ok", "P, E, by perf's power_core PMU")
    write(root, "sys/bus/event_source/devices/power_core/cpumask", "0-10")
    limited = cores()
    assert limited.state == "limited"
    assert limited.reason.startswith("P, by perf's power_core PMU; the core of CPUs 11,23 has no")
    install_failing_perf(tmp_path, "Operation not permitted")
    assert cores().reason == "perf could not attach: Operation not permitted"
    set_permission(root, "2", NO_CAPABILITIES)
    forbidden = (cores().state, cores().grant)
    assert forbidden == ("missing", "sudo sysctl kernel.perf_event_paranoid=0")


GARBAGE = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"", b"\n", b"0-65535\n", b"-1\n", b"9" * 30])
)


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A tree with something for every question to read."""
    root = build_tree(tmp_path_factory.mktemp("hybrid"), FOUR)
    for key, (name, energy_uj) in INTEL_CLIENT.items():
        write(root, f"sys/class/powercap/{key}/name", name)
        write(root, f"sys/class/powercap/{key}/energy_uj", energy_uj)
    pmu = "sys/bus/event_source/devices/power"
    files = {f"{pmu}/cpumask": "0", f"{pmu}/events/energy-pkg": "event=0x02"}
    for path, text in (files | HEAT | THROTTLED).items():
        write(root, path, text)
    return root, sorted(file for file in root.rglob("*") if file.is_file())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data())
def test_no_missing_file_and_no_garbage_raises(
    hybrid: tuple[Path, list[Path]], data: st.DataObject
) -> None:
    root, files = hybrid
    chosen = data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=12, unique=True))
    contents = {file: data.draw(st.none() | GARBAGE) for file in chosen}
    with spoilt(contents):
        found = probe(open_node(root), False, EVERY_NAME)
    assert all(capability.reason for capability in found)
    assert all(capability.why.isprintable() for capability in found)
