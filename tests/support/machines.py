"""Machines for tests; tests/data/nodes/README.md names the sources of their numbers.

Files whose numbers no source has (cache sizes, mostly) are left out of the tree, as they are in
recordings. Machines named `synthetic-…` are made up to provoke one mistake each.
"""

from __future__ import annotations

from typing import Any

from pinstudy.base.cpulist import parse_cpulist
from tests.support.trees import Machine, pairs, siblings_apart, singles

Cache = tuple[int, str, str, str]

INTEL = {"vendor_id": "GenuineIntel", "cpu family": "6", "flags": "fpu vme hwp hfi"}
AMD_ZEN5 = {"vendor_id": "AuthenticAMD", "cpu family": "26", "flags": "fpu vme"}
AMD_ZEN4 = {"vendor_id": "AuthenticAMD", "cpu family": "25", "flags": "fpu vme"}
GUEST = {"vendor_id": "GenuineIntel", "cpu family": "6", "flags": "fpu vme hypervisor lahf_lm"}


def policy(
    max_khz: int, base_khz: int | None = None, driver: str = "intel_pstate"
) -> dict[str, Any]:
    """Return a policy's files as all recorded Intel hybrids have them."""
    files = {
        "scaling_driver": driver,
        "scaling_governor": "powersave",
        "scaling_available_governors": "performance powersave",
        "energy_performance_preference": "balance_performance",
        "cpuinfo_max_freq": max_khz,
        "scaling_max_freq": max_khz,
        "cpuinfo_min_freq": 400000,
        "scaling_min_freq": 400000,
    }
    return files | ({} if base_khz is None else {"base_frequency": base_khz})


def perf(highest: int, nominal: int | None = None) -> dict[str, Any]:
    """Return a CPU's ACPI CPPC files."""
    files = {"acpi_cppc/highest_perf": highest}
    return files | ({} if nominal is None else {"acpi_cppc/nominal_perf": nominal})


def own_l1(cores: tuple[str, ...], size: str = "") -> tuple[Cache, ...]:
    """Return the first-level caches of each core."""
    return tuple((1, type_, size, cpus) for cpus in cores for type_ in ("Data", "Instruction"))


def l2(*cpus: str, size: str = "") -> tuple[Cache, ...]:
    """Return second-level caches with the CPUs that share each."""
    return tuple((2, "Unified", size, listed) for listed in cpus)


def l3(cpus: str, size: str = "") -> tuple[Cache, ...]:
    """Return one third-level cache."""
    return ((3, "Unified", size, cpus),)


PSTATE = {
    "sys/devices/system/cpu/intel_pstate/status": "active",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
    "sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost": "0",
}


def intel_hybrid(
    cores: tuple[str, ...],
    caches: tuple[Cache, ...],
    pmus: dict[str, str],
    values: dict[str, tuple[int, int, int, int]],
) -> Machine:
    """Return an Intel hybrid; `values`: maximum and base kHz, highest and nominal perf."""
    return Machine(
        cores=cores,
        caches=own_l1(cores) + caches,
        pmus=pmus,
        cpus={cpus: perf(highest, nominal) for cpus, (_, _, highest, nominal) in values.items()},
        policies={cpus: policy(top, base) for cpus, (top, base, _, _) in values.items()},
        block=INTEL,
        files=PSTATE,
    )


def arm_part(part: int, capacity: int) -> dict[str, Any]:
    """Return a CPU's MIDR (an Arm design, revision 0) and capacity."""
    midr = 0x41 << 24 | 0xF << 16 | part << 4
    return {"regs/identification/midr_el1": f"0x{midr:016x}", "cpu_capacity": capacity}


def _i9_14900k(p_cores: tuple[str, ...], first_e: int) -> Machine:
    """Return eight P-cores and sixteen E-cores; two P-cores are favoured."""
    e_cpus = f"{first_e}-{first_e + 15}"
    modules = tuple(f"{first_e + 4 * i}-{first_e + 4 * i + 3}" for i in range(4))
    favoured = ",".join(p_cores[4:6])
    others = ",".join(p_cores[:4] + p_cores[6:])
    p_cpus = f"0-{first_e - 1}"
    return Machine(
        cores=p_cores + singles(e_cpus),
        caches=own_l1(p_cores, "48K")
        + own_l1(singles(e_cpus), "32K")
        + l2(*p_cores, size="2048K")
        + l2(*modules, size="4096K")
        + l3(f"0-{first_e + 15}", "36864K"),
        pmus={"cpu_core": p_cpus, "cpu_atom": e_cpus},
        policies={
            favoured: policy(6000000, 3200000),
            others: policy(5700000, 3200000),
            e_cpus: policy(4400000, 2400000),
        },
        block=INTEL | {"model name": "Intel(R) Core(TM) i9-14900K"},
        files=PSTATE,
    )


def _phone() -> Machine:
    """Return a phone with four parts in three tiers; firmware calls its clusters packages."""
    tiers = (("0-2", 0xD46, 280), ("3-4", 0xD4D, 855), ("5-6", 0xD47, 855), ("7", 0xD4E, 1024))
    top = {"0-2": 2016000, "3-6": 2803200, "7": 3187200}
    core_ids = {0: 0, 1: 1, 2: 2, 3: 0, 4: 1, 5: 2, 6: 3, 7: 0}
    cpus: dict[str, dict[str, Any]] = {}
    for listed, part, capacity in tiers:
        for cpu in parse_cpulist(listed):
            cpus[str(cpu)] = arm_part(part, capacity) | {"topology/core_id": core_ids[cpu]}
    return Machine(
        cores=singles("0-7"),
        caches=l2("0", "1-2", "3", "4", "5", "6", "7") + l3("0-7"),
        cpus=cpus,
        policies={listed: {"cpuinfo_max_freq": khz} for listed, khz in top.items()},
        packages={0: "0-2", 1: "3-6", 2: "7"},
    )


def _gb10() -> Machine:
    slow, fast = (0xD87, 2808000), (0xD85, 3900000)
    groups = {
        "0-4": (slow, 108, 718),
        "5-9": (fast, 150, 997),
        "10-14": (slow, 110, 731),
        "15-18": (fast, 153, 1017),
        "19": (fast, 154, 1024),
    }
    return Machine(
        cores=singles("0-19"),
        caches=l2(*singles("0-4,10-14"), size="512K")
        + l2(*singles("5-9,15-19"), size="2048K")
        + l3("0-9", "8192K")
        + l3("10-19", "16384K"),
        cpus={
            cpus: arm_part(kind[0], capacity) | perf(highest)
            for cpus, (kind, highest, capacity) in groups.items()
        },
        policies={
            cpus: policy(kind[1], driver="cppc_cpufreq") for cpus, (kind, _, _) in groups.items()
        },
    )


def _k3() -> Machine:
    """Return eight X100 and eight A100 cores; the kernel shows no VLEN, and marchid is made up."""
    common = "rv64imafdcv{}_zicond_zfa_zawrs_zba_zbb_zbs_zvfh"
    return Machine(
        cores=singles("0-15"),
        policies={"0-7": {"cpuinfo_max_freq": 2400000}, "8-15": {"cpuinfo_max_freq": 2000000}},
        block={"isa": common.format(""), "mmu": "sv39", "mvendorid": "0x710"},
        blocks={
            "0-7": {"marchid": "0x8000000058000002", "hart isa": common.format("h")},
            "8-15": {"marchid": "0x8000000041000003", "hart isa": common.format("")},
        },
    )


_I7_1370P_CORES = pairs("0-11") + singles("12-19")

MACHINES = {
    "rpl0": intel_hybrid(
        pairs("0-7") + singles("8-15"),
        l2(*pairs("0-7"), "8-11", "12-15") + l3("0-15"),
        {"cpu_core": "0-7", "cpu_atom": "8-15"},
        {"0-7": (4600000, 1900000, 59, 24), "8-15": (3400000, 1400000, 34, 19)},
    ),
    # Without PMU files, as the public dump of this machine is.
    "i7-1370p": intel_hybrid(
        _I7_1370P_CORES,
        l2(*pairs("0-11"), size="1280K")
        + l2("12-15", "16-19", size="2048K")
        + l3("0-19", "24576K"),
        {},
        {
            "0-3,6-7,10-11": (5000000, 1900000, 64, 24),
            "4-5,8-9": (5200000, 1900000, 67, 24),
            "12-19": (3900000, 1400000, 39, 19),
        },
    ),
    "arl-h": intel_hybrid(
        singles("0-13"),
        l2(*singles("0-3"), "4-7", "8-11", "12-13") + l3("0-11"),
        {"cpu_core": "0-3", "cpu_atom": "4-11", "cpu_lowpower": "12-13"},
        {
            "0-3": (4500000, 2300000, 72, 36),
            "4-11": (3900000, 1400000, 55, 21),
            "12-13": (2500000, 700000, 25, 7),
        },
    ),
    "lnl0": intel_hybrid(
        singles("0-7"),
        l2(*singles("0-3"), "4-7") + l3("0-3"),
        {"cpu_core": "0-3", "cpu_atom": "4-7"},
        {"0-3": (4500000, 2100000, 52, 24), "4-7": (3500000, 2100000, 35, 21)},
    ),
    "ptl-h": intel_hybrid(
        singles("0-9"),
        l2("0", "1", "2-5", "6-9") + l3("0-5"),
        {"cpu_core": "0-1", "cpu_atom": "2-9"},
        {
            "0-1": (3200000, 2000000, 36, 22),
            "2-5": (2400000, 1600000, 24, 16),
            "6-9": (2400000, 1600000, 24, 16),
        },
    ),
    "lakefield": Machine(
        cores=singles("0-4"),
        caches=own_l1(singles("0-4"))
        + l2("0-3", size="1536K")
        + l2("4", size="512K")
        + l3("0-4", "4096K"),
        cpus={"0-3": perf(28), "4": perf(43)},
        policies={"0-3": policy(2800000, 1400000), "4": policy(3000000, 2000000)},
        block=INTEL,
    ),
    "i9-14900k-noht": _i9_14900k(singles("0-7"), 8),
    "i9-14900k": _i9_14900k(pairs("0-15"), 16),
    "gb10": _gb10(),
    "phone": _phone(),
    "k3": _k3(),
    "hx370": Machine(
        cores=siblings_apart("0-11", 12),
        caches=own_l1(siblings_apart("0-11", 12))
        + l2(*siblings_apart("0-11", 12))
        + l3("0-3,12-15", "16384K")
        + l3("4-11,16-23", "8192K"),
        block=AMD_ZEN5,
    ),
    "kvm-guest": Machine(
        cores=singles("0-1"),
        caches=own_l1(singles("0-1"), "32K") + l2("0", "1", size="1024K") + l3("0-1", "36608K"),
        cpus={"0-1": {"cpu_capacity": 1024}},
        block=GUEST,
    ),
    "synthetic-server": Machine(
        cores=siblings_apart("0-7", 8),
        caches=own_l1(siblings_apart("0-7", 8), "32K")
        + l2(*siblings_apart("0-7", 8), size="1024K")
        + l3("0-3,8-11", "16384K")
        + l3("4-7,12-15", "16384K"),
        cpus={"0-15": {"cpu_capacity": 1024} | perf(35)},
        policies={"0-15": policy(3500000, 2300000)},
        packages={0: "0-3,8-11", 1: "4-7,12-15"},
        nodes={0: "0-3,8-11", 1: "4-7,12-15"},
        block=INTEL,
        files=PSTATE,
    ),
    # Turbo Boost Max 3.0: two favoured cores among equals, by the step of an i9-13900KF's P-cores.
    "synthetic-favoured": Machine(
        cores=singles("0-7"),
        caches=l2(*singles("0-7")) + l3("0-7"),
        cpus={"0-1": perf(74), "2-7": perf(70)},
        policies={"0-1": policy(5800000, 3000000), "2-7": policy(5500000, 3000000)},
        block=INTEL,
    ),
    # Firmware grades every core of a Threadripper; first and last differ by a third.
    "synthetic-threadripper": Machine(
        cores=singles("0-7"),
        caches=l2(*singles("0-7")) + l3("0-3", "32768K") + l3("4-7", "32768K"),
        cpus={str(cpu): perf(231 - 15 * cpu - 20 * (cpu > 3)) for cpu in range(8)},
        policies={"0-3": policy(5300000), "4-7": policy(4500000)},
        block=AMD_ZEN4,
    ),
    # Equal complexes, one with stacked cache and a lower clock.
    "synthetic-x3d": Machine(
        cores=singles("0-15"),
        caches=l2(*singles("0-15")) + l3("0-7", "98304K") + l3("8-15", "32768K"),
        cpus={str(cpu): perf(236 - 5 * cpu) for cpu in range(16)},
        policies={"0-7": policy(5550000), "8-15": policy(5750000)},
        block=AMD_ZEN5,
    ),
    # Speed Select: some of equal cores have a higher guaranteed base.
    "synthetic-speed-select": Machine(
        cores=singles("0-7"),
        caches=l2(*singles("0-7")) + l3("0-7"),
        cpus={"0-7": perf(36)},
        policies={"0-1": policy(3600000, 2800000), "2-7": policy(3600000, 2100000)},
        block=INTEL,
    ),
    # Small cores only, in modules of four; the last module has one CPU left online.
    "synthetic-forest": Machine(
        cores=singles("0-8"),
        caches=own_l1(singles("0-8"), "32K") + l2("0-3", "4-7", "8") + l3("0-8"),
        policies={"0-8": policy(3200000, 2400000)},
        block=INTEL,
        offline="9-11",
    ),
}

# 2 packages x 2 NUMA nodes x 4 complexes of 8 cores with two threads each.
NUMA_BIG = Machine(
    cores=siblings_apart("0-127", 128),
    caches=l2(*siblings_apart("0-127", 128))
    + tuple(
        cache
        for first in range(0, 128, 8)
        for cache in l3(f"{first}-{first + 7},{first + 128}-{first + 135}")
    ),
    packages={0: "0-63,128-191", 1: "64-127,192-255"},
    nodes={
        node: f"{first}-{first + 31},{first + 128}-{first + 159}"
        for node, first in enumerate(range(0, 128, 32))
    },
)
