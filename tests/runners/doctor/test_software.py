"""What is installed beside the kernel: programs, OpenMP runtimes, batch systems, QEMU, daemons."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from runners.doctor.capability import Capability
from runners.doctor.report import EVERY_NAME, probe
from runners.host import software
from runners.node.node import open_node
from runners.vm.boot_image import MODULES
from tests.runners.fake_commands import install
from tests.runners.proc_trees import process
from tests.support.tools import ROOT, need_tool
from tests.support.trees import CPU, build_tree, write

LIVE = Path("/")
QEMU = f"qemu-system-{platform.machine()}"


def ask(name: str, root: Path = LIVE) -> dict[str, Capability]:
    (root / CPU).mkdir(parents=True, exist_ok=True)
    return {found.name: found for found in probe(open_node(root), True, [name])}


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
    found = ask(runtime)[runtime]
    assert found.state == "ok"
    assert f"{variable} {value[1]}" in found.reason
    assert re.search(r"[0-9]+\.[0-9]+", found.reason)


def test_programs_that_are_not_built_are_named_with_what_builds_them(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A checkout, of which nothing is built.
    (commands / "CMakeLists.txt").touch()
    monkeypatch.setattr(software, "ROOT", commands)
    assert ask("libomp")["libomp"] == Capability(
        "libomp", "missing", "lu-libomp is not built", "make setup"
    )
    unbuilt = ask("programs")["programs"]
    assert (unbuilt.state, unbuilt.grant) == ("missing", "make setup")
    assert "pinstudy-witness" in unbuilt.reason
    install(commands, "pinstudy-witness", "")
    install(commands, "lu-serial", "")
    some = ask("programs")["programs"]
    assert some.state == "limited"
    assert "lu-libgomp" in some.reason and "lu-serial" not in some.reason
    # `make originals` gets these, and `make setup` does not.
    for original in ("lulesh2.0", "lulesh-llnl", "lu-ompscr", "mandelbrot-ompscr"):
        assert original not in some.reason


def test_a_program_without_a_runtime_is_no_runtime(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(software, "ROOT", commands)
    install(commands, "ldd", "echo '\tstatically linked'")
    install(commands, "lu-libgomp", "")
    assert "loads no OpenMP runtime" in ask("libgomp")["libgomp"].reason


def test_a_runtime_that_does_not_tell_how_it_waits_is_limited(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(software, "ROOT", commands)
    library = commands / "libgomp.so.1"
    library.touch()
    install(commands, "ldd", f"echo '\tlibgomp.so.1 => {library} (0x0)'")
    install(commands, "lu-libgomp", "")
    found = ask("libgomp")["libgomp"]
    assert found.state == "limited"
    assert found.reason.endswith("it does not tell how it waits (GOMP_SPINCOUNT)")


def test_no_batch_system_is_one_line(commands: Path) -> None:
    (found,) = ask("batch").values()
    assert (found.name, found.state, found.optional) == ("batch", "missing", True)
    assert "sbatch, qsub, flux" in found.reason
    assert not list(commands.iterdir())


def test_batch_systems_tell_version_and_whether_they_answer(commands: Path) -> None:
    install(commands, "sbatch", "echo 'slurm-wlm 22.05.8'")
    install(commands, "scontrol", "echo 'Slurmctld(primary) at head is UP'")
    install(commands, "qsub", "echo 'pbs_version = 23.06.06' >&2")
    install(commands, "qstat", "echo 'Connection refused' >&2; exit 111")
    install(commands, "flux", r"""[ "$1" = version ] && printf 'commands:\t\t0.88.0\n' || exit 1""")
    found = ask("batch")
    assert found["batch:slurm"].reason == "version 22.05.8; `scontrol ping` answers"
    assert found["batch:slurm"].state == "ok"
    for name, version, asked in (
        ("batch:pbs", "23.06.06", "qstat -B"),
        ("batch:flux", "0.88.0", "flux getattr size"),
    ):
        assert found[name].state == "limited"
        assert found[name].reason.startswith(f"version {version}; `{asked}` fails")
        assert found[name].optional


CONFIG = "SlurmctldParameters     = (null)\nSlurmdParameters        = {}\nSLURM_VERSION = {}"
GRANT = "ask its administrator for SlurmdParameters=allow_ecores in slurm.conf"
HIDES = "it hides Intel's E-cores (here CPUs 8-23) from jobs: SlurmdParameters of `scontrol show"


@pytest.mark.parametrize(
    ("machine", "config", "hides"),
    [
        ("i9-14900k-noht", CONFIG.format("(null)", "23.11.4"), True),
        ("i9-14900k-noht", CONFIG.format("l3cache_as_socket", "24.05.0"), True),
        ("i9-14900k-noht", CONFIG.format("l3cache_as_socket,Allow_Ecores", "23.02.0"), False),
        # Older versions offer all cores.
        ("i9-14900k-noht", CONFIG.format("(null)", "22.05.8"), False),
        ("i9-14900k-noht", "nothing of use", False),
        ("synthetic-server", CONFIG.format("(null)", "23.11.4"), False),
        ("gb10", CONFIG.format("(null)", "23.11.4"), False),
    ],
)
def test_slurm_that_hides_the_e_cores_of_an_intel_hybrid_is_limited(
    tmp_path: Path, commands: Path, machine: str, config: str, hides: bool
) -> None:
    install(commands, "sbatch", "echo 'slurm-wlm 23.11.4'")
    install(commands, "scontrol", f"[ \"$1\" = ping ] || printf '%s\\n' '{config}'")
    found = ask("batch", build_tree(tmp_path, machine))["batch:slurm"]
    assert found.state == ("limited" if hides else "ok")
    assert (HIDES in found.reason) == hides
    assert found.grant == (GRANT if hides else "")
    assert found.optional


def test_another_systems_qsub_is_not_taken_for_pbs(commands: Path) -> None:
    install(commands, "qsub", "echo 'GE 8.1.9'")
    found = ask("batch")["batch:pbs"]
    assert found.state == "missing"
    assert "(GE 8.1.9)" in found.reason


def test_a_batch_system_that_fails_says_why(commands: Path) -> None:
    install(commands, "sbatch", "echo 'sbatch: fatal: no configuration source' >&2; exit 1")
    found = ask("batch")["batch:slurm"]
    assert found.state == "missing"
    assert found.reason == (
        "`sbatch --version` ended with status 1: sbatch: fatal: no configuration source"
    )


def write_kernel(node: Path) -> None:
    """Give a node the kernel that its guests would boot."""
    release = platform.release()
    write(node, f"boot/vmlinuz-{release}", "")
    built_in = "".join(f"kernel/{name}.ko\n" for name in MODULES)
    write(node, f"lib/modules/{release}/modules.builtin", built_in)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="guests are x86-64 ones so far")
def test_guests_need_busybox_beside_qemu(tmp_path: Path, commands: Path) -> None:
    write(tmp_path, "node/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu vmx")
    write_kernel(tmp_path / "node")
    install(commands, QEMU, "")
    found = ask("virtual-machines", tmp_path / "node")["virtual-machines"]
    assert (found.state, found.grant) == ("missing", "make vm")
    assert "busybox is missing" in found.reason


@pytest.mark.skipif(platform.machine() != "x86_64", reason="guests are x86-64 ones so far")
def test_a_bare_machine_without_virtualisation_names_its_firmware(
    tmp_path: Path, commands: Path
) -> None:
    write(tmp_path, "node/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu")
    write_kernel(tmp_path / "node")
    install(commands, QEMU, "")
    install(commands, "busybox", "")
    found = ask("virtual-machines", tmp_path / "node")["virtual-machines"]
    assert (found.state, found.grant) == ("limited", "enable virtualisation in the firmware")
    assert "no vmx or svm in /proc/cpuinfo" in found.reason


def test_a_guest_without_nested_virtualisation_says_so(tmp_path: Path, commands: Path) -> None:
    write(tmp_path, "node/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu hypervisor")
    root = tmp_path / "node"
    found = ask("virtual-machines", root)["virtual-machines"]
    assert found.state == "missing"
    assert f"{QEMU} is not installed" in found.reason
    install(commands, QEMU, "")
    install(commands, "busybox", "")
    write_kernel(root)
    emulated = ask("virtual-machines", root)["virtual-machines"]
    assert emulated.state == "limited"
    assert "no nested virtualisation" in emulated.reason
    assert emulated.optional


def test_virtual_machines_need_a_kvm_device_that_may_be_used(
    tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(commands, QEMU, "")
    install(commands, "busybox", "")
    write_kernel(tmp_path / "node")
    write(tmp_path, "node/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu vmx")
    monkeypatch.setattr("runners.doctor.software.KVM", str(tmp_path / "kvm"))
    missing = ask("virtual-machines", tmp_path / "node")["virtual-machines"]
    assert missing.state == "limited"
    assert "modprobe" in missing.grant
    (tmp_path / "kvm").touch()
    assert ask("virtual-machines", tmp_path / "node")["virtual-machines"].state == "ok"


def test_daemons_that_interfere_are_named_with_what_stops_them(tmp_path: Path) -> None:
    process(tmp_path, 812, "thermald")
    process(tmp_path, 813, "bash")
    found = ask("daemons", tmp_path)["daemons"]
    assert found == Capability(
        "daemons",
        "limited",
        "thermald runs and changes frequencies, masks or interrupts while measuring",
        "sudo systemctl stop thermald",
        "sudo systemctl disable --now thermald",
    )
    (tmp_path / "proc/812/stat").unlink()
    hidden = ask("daemons", tmp_path)["daemons"]
    assert hidden.state == "limited"
    assert "hidepid" in hidden.reason
    process(tmp_path, 1, "systemd")
    assert ask("daemons", tmp_path)["daemons"].state == "ok"


def test_every_question_is_answered_once_on_this_machine() -> None:
    found = probe(open_node(LIVE), True, EVERY_NAME)
    names = [capability.name for capability in found]
    assert len(names) == len(set(names))
    assert {name.partition(":")[0] for name in names} == {
        name.removesuffix("-sources") for name in EVERY_NAME
    }
