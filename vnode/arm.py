"""An arm64 node with big and LITTLE cores: its shape, and QEMU's device tree with additions.

It needs no test module: the device tree alone makes its cores differ.
QEMU's `virt` machine describes equal cores. Linux sees two kinds by these additions, which follow
its Documentation/devicetree/bindings: capacities (arm/cpu-capacity.txt), clusters
(cpu/cpu-topology.txt), a PMU for each kind (arm/pmu.yaml), and for each cluster a clock with two
frequencies (clock/gpio-mux-clock.txt, opp/opp-v2.yaml), which cpufreq-dt switches.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base import ROOT

# A folder of /sys/firmware/devicetree/base, by which pinstudy knows a model of a node.
MARK = "pinstudy-virtual-node"
# On the `virt` machine; the GPIO's lines select the clusters' clocks.
_GPIO = "&{/pl061@9030000}"
# Shared interrupts that nothing else uses. A PMU's driver wants one for each of its CPUs.
_FIRST_INTERRUPT = 200


@dataclass(frozen=True)
class Cluster:
    """CPUs of one kind, which change their frequency together. Capacity is in DMIPS/MHz."""

    core: str
    cpus: Sequence[int]
    capacity: int
    slow_hz: int
    fast_hz: int


def write(own: bytes, clusters: Sequence[Cluster], output: Path) -> None:
    """Write the device tree that QEMU made (`own`), changed for these clusters."""
    source = _compiler("dtb", "dts", own) + additions(clusters).encode()
    output.write_bytes(_compiler("dts", "dtb", source))


def additions(clusters: Sequence[Cluster]) -> str:
    """Return the source that turns the cores of QEMU's tree into these clusters."""
    pieces = [f"/ {{ {MARK} {{ }}; /delete-node/ pmu; cpus {{ /delete-node/ cpu-map; }}; }};"]
    for number, cluster in enumerate(clusters):
        pieces.append(_clock(number, cluster))
        pieces.append(_pmu(cluster))
        pieces.append(f"/ {{ cpus {{ {_cores(number, cluster)} }}; }};")
    return "\n".join(pieces)


def _cores(number: int, cluster: Cluster) -> str:
    placed = " ".join(f"core{i} {{ cpu = <{_cpu(cpu)}>; }};" for i, cpu in enumerate(cluster.cpus))
    described = " ".join(
        f'cpu@{cpu} {{ compatible = "arm,{cluster.core}"; '
        f"capacity-dmips-mhz = <{cluster.capacity}>; "
        f"clocks = <&clock{number}>; operating-points-v2 = <&points{number}>; }};"
        for cpu in cluster.cpus
    )
    return f"cpu-map {{ cluster{number} {{ {placed} }}; }}; {described}"


def _pmu(cluster: Cluster) -> str:
    interrupts = " ".join(f"0 {_FIRST_INTERRUPT + cpu} 4" for cpu in cluster.cpus)
    cpus = " ".join(_cpu(cpu) for cpu in cluster.cpus)
    return (
        f'/ {{ pmu-{cluster.core} {{ compatible = "arm,{cluster.core}-pmu"; '
        f"interrupts = <{interrupts}>; interrupt-affinity = <{cpus}>; }}; }};"
    )


def _clock(number: int, cluster: Cluster) -> str:
    """Return two fixed clocks, the GPIO line that selects one, and the operating points."""
    fixed, points = "", ""
    for name, frequency in (("slow", cluster.slow_hz), ("fast", cluster.fast_hz)):
        fixed += (
            f'{name}{number}: {name}-{number} {{ compatible = "fixed-clock"; #clock-cells = <0>; '
            f'clock-frequency = <{frequency}>; clock-output-names = "{name}-{number}"; }};\n'
        )
        points += f"opp-{name} {{ opp-hz = /bits/ 64 <{frequency}>; }}; "
    return (
        f"/ {{ {fixed}"
        f'clock{number}: clock-{number} {{ compatible = "gpio-mux-clock"; #clock-cells = <0>; '
        f"clocks = <&slow{number} &fast{number}>; select-gpios = <{_GPIO} {number} 0>; }};\n"
        f'points{number}: points-{number} {{ compatible = "operating-points-v2"; opp-shared; '
        f"{points}}}; }};"
    )


def _cpu(cpu: int) -> str:
    return f"&{{/cpus/cpu@{cpu}}}"


def _compiler(from_format: str, to_format: str, text: bytes) -> bytes:
    command = ["dtc", "-q", "-I", from_format, "-O", to_format]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout


IMAGE = ROOT / "build" / "vnode-arm"
_MACHINE = "virt,gic-version=3"


@dataclass(frozen=True)
class BigLittle:
    """Counts of Cortex-A76 (`p`) and Cortex-A55 cores (`e`), each kind a cluster."""

    p: int = 2
    e: int = 2

    qemu = "qemu-system-aarch64"
    image = IMAGE
    kernel_line = (
        f"console=ttyAMA0 mitigations=off pinstudy.start=/start-arm.sh pinstudy.checkout={ROOT}"
    )

    def kinds(self) -> dict[str, tuple[int, ...]]:
        """Return each kind's CPUs; the big ones come first."""
        cpus = tuple(range(self.p + self.e))
        return {"P": cpus[: self.p], "E": cpus[self.p :], "LP-E": ()}

    def clusters(self) -> tuple[Cluster, ...]:
        """Return the clusters of the device tree."""
        kinds = self.kinds()
        return (
            Cluster("cortex-a76", kinds["P"], 1024, 1_000_000_000, 2_800_000_000),
            Cluster("cortex-a55", kinds["E"], 500, 600_000_000, 1_800_000_000),
        )

    def boot_options(self, folder: Path) -> list[str]:
        """Return QEMU's options for machine, CPUs and kernel.

        The device tree is written into `folder`.
        """
        own, changed = folder / "own.dtb", folder / "node.dtb"
        # QEMU 7.2 cannot mix two types of cores in one machine: all are the big one.
        cpus = ["-cpu", "cortex-a76", "-smp", str(self.p + self.e)]
        # QEMU writes the file and ends.
        dump = [self.qemu, "-M", f"{_MACHINE},dumpdtb={own}", *cpus, "-display", "none"]
        subprocess.run(dump, check=True, capture_output=True)
        write(own.read_bytes(), self.clusters(), changed)
        return [
            *("-M", _MACHINE, *cpus, "-dtb", str(changed)),
            *("-kernel", str(IMAGE / "vmlinuz"), "-initrd", str(IMAGE / "initramfs")),
        ]

    def shares(self) -> dict[str, Path]:
        """Return the folders that the guest mounts, by tag: its own root, and the checkout."""
        return {"hostroot": IMAGE / "tree", "checkout": ROOT}

    def module_parameters(self) -> list[str]:
        """Return no parameters: there is no test module."""
        return []

    def qemu_indices(self, kind: str) -> list[int]:
        """Return QEMU's numbers for a kind's CPUs: they are the kernel's."""
        return list(self.kinds()[kind])
