from __future__ import annotations

from pathlib import Path

import pytest

from base.reading import Unavailable
from runners.host.tree import Tree
from runners.node.cpufreq import dynamic_epp, dynamic_epp_off, governor_label, read_cpufreq
from runners.node.node import state_changes
from tests.support.machines import INTEL, policy
from tests.support.trees import CPU, Machine, build_tree, singles, write

POLICIES = f"{CPU}/cpufreq"


def test_a_policy_has_its_driver_governor_and_limits_in_khz(tmp_path: Path) -> None:
    cpufreq = read_cpufreq(build_tree(tmp_path, "mtl-m-2"))
    first = cpufreq.policies[0]
    assert (first.name, first.cpus) == ("policy0", (0,))
    assert governor_label(first) == "powersave (intel_pstate)"
    assert first.governors == ("performance", "powersave")
    assert first.epp == "balance_performance"
    assert (first.highest_khz, first.base_khz) == (4800000, 1100000)
    assert first.unavailable == {}
    assert [policy.highest_khz for policy in cpufreq.policies[12:]] == [2100000, 2100000]
    assert (cpufreq.mode, cpufreq.turbo) == ("active", True)


def test_policies_of_all_or_of_some_cpus_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    assert [policy.cpus for policy in read_cpufreq(root).policies] == [(n,) for n in range(16)]
    cpufreq = read_cpufreq(root, cpus=(3, 9))
    assert [policy.name for policy in cpufreq.policies] == ["policy3", "policy9"]


def test_a_policy_may_scale_several_cpus(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(singles("0-3"), policies={"0": policy(3000000)}))
    write(root, f"{POLICIES}/policy0/affected_cpus", "0 1 2 3")
    cpufreq = read_cpufreq(root)
    assert cpufreq.policies[0].cpus == (0, 1, 2, 3)
    assert cpufreq.in_force_problem("powersave", (2, 3)) is None


def test_a_governor_that_is_not_in_force_or_not_offered_is_told_with_what_is(
    tmp_path: Path,
) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, f"{POLICIES}/policy3/scaling_governor", "performance")
    cpufreq = read_cpufreq(root)
    assert cpufreq.offer_problem("performance", range(16)) is None
    assert cpufreq.offer_problem("ondemand", (0, 1)) == (
        "intel_pstate does not offer the governor ondemand on CPUs 0 "
        "(but performance and powersave)"
    )
    assert cpufreq.in_force_problem("performance", (3,)) is None
    not_in_force = "the governor performance is not in force (but"
    for cpus, instead in (((2, 3), "powersave on 2, performance on 3"), ((1, 2), "powersave")):
        assert cpufreq.in_force_problem("performance", cpus) == f"{not_in_force} {instead})"


def test_a_node_without_frequency_scaling_says_so(tmp_path: Path) -> None:
    cpufreq = read_cpufreq(build_tree(tmp_path, "kvm-guest"))
    assert cpufreq.policies == ()
    for why in (cpufreq.offer_problem, cpufreq.in_force_problem):
        reason = why("performance", (0,))
        assert reason is not None and "no frequency scaling here" in reason
    assert (cpufreq.mode, cpufreq.turbo) == (None, None)
    state = cpufreq.state_of((0, 1))
    assert state.fields == {}
    assert set(state.unavailable) == {
        *("governor_read", "driver", "driver_mode", "epp", "turbo", "min_khz", "max_khz")
    }


def test_a_cpu_that_no_policy_covers_is_named(tmp_path: Path) -> None:
    machine = Machine(singles("0-3"), policies={"0-1": policy(3000000)})
    cpufreq = read_cpufreq(build_tree(tmp_path, machine))
    reason = cpufreq.offer_problem("powersave", (1, 2, 3))
    assert reason is not None and "no policy covers CPUs 2-3" in reason


def test_the_state_of_a_run_is_that_of_its_cpus(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    write(root, f"{POLICIES}/policy8/scaling_governor", "performance")
    cpufreq = read_cpufreq(root)
    assert cpufreq.state_of((0, 1)).fields == {
        "governor_read": "powersave",
        "driver": "intel_pstate",
        "driver_mode": "active",
        "epp": "balance_performance",
        "turbo": True,
        "min_khz": {"400000": "0-1"},
        "max_khz": {"5700000": "0-1"},
    }
    mixed = cpufreq.state_of((7, 8, 9)).fields
    assert mixed["governor_read"] == "powersave on 7,9, performance on 8"
    assert mixed["max_khz"] == {"5700000": "7", "4400000": "8-9"}


def amd(folder: Path, epp: str, switch: str | None = None) -> Path:
    """Return a node under amd-pstate, with its EPP and the switch that Linux 7.1 and 7.2 have."""
    files = {f"{CPU}/amd_pstate/status": "active"}
    if switch is not None:
        files[f"{CPU}/amd_pstate/dynamic_epp"] = switch
    of_cpu = policy(5_000_000, driver="amd-pstate-epp") | {"energy_performance_preference": epp}
    return build_tree(folder, Machine(singles("0-1"), policies={"0-1": of_cpu}, files=files))


@pytest.mark.parametrize(
    ("epp", "switch", "mode", "off"),
    [
        ("balance_performance", "disabled", "active", None),
        ("balance_performance", None, "active", None),
        ("128", None, "active", None),
        (
            *("performance", "enabled", "active, dynamic EPP"),
            "echo disabled | sudo tee /sys/devices/system/cpu/amd_pstate/dynamic_epp",
        ),
        # As Linux 7.3 prints it.
        (
            *("dynamic(profile:balance_performance)", None, "active, dynamic EPP"),
            "echo balance_performance | sudo tee "
            "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
        ),
    ],
)
def test_dynamic_epp_is_known_of_old_and_new_kernels(
    tmp_path: Path, epp: str, switch: str | None, mode: str, off: str | None
) -> None:
    root = amd(tmp_path, epp, switch)
    cpufreq = read_cpufreq(root)
    assert cpufreq.dynamic_epp == dynamic_epp(Tree(root)) == (off is not None)
    assert cpufreq.mode == "active", "the mode of the driver is a fact of the boot"
    fields = cpufreq.state_of((0, 1)).fields
    assert (fields["driver_mode"], fields["epp"]) == (mode, epp)
    refused = cpufreq.offer_problem("performance", (0,))
    if off is None:
        assert refused is None
    else:
        assert refused is not None and "the EPP of the governor performance cannot be" in refused
        assert dynamic_epp_off(Tree(root)) == off
    # What is in force needs no change.
    assert cpufreq.offer_problem("powersave", (0, 1)) is None


def test_a_node_without_an_epp_has_no_dynamic_one(tmp_path: Path) -> None:
    assert isinstance(dynamic_epp(Tree(build_tree(tmp_path, "kvm-guest"))), Unavailable)


def test_an_epp_that_dynamic_epp_moved_has_that_cause(tmp_path: Path) -> None:
    root = amd(tmp_path, "performance", "enabled")
    before = read_cpufreq(root).state_of((0, 1)).fields
    for cpu in (0, 1):
        write(root, f"{POLICIES}/policy{cpu}/energy_performance_preference", "balance_performance")
    after = read_cpufreq(root).state_of((0, 1)).fields
    assert state_changes(before, after) == (
        "epp was performance before the run and balance_performance after it, by amd-pstate's "
        "dynamic EPP"
    )


@pytest.mark.parametrize("spoil", ["", "garbage", "-1", "1e6", "5.2", "5_000", "\u0663"])
def test_what_cannot_be_read_is_absent_with_its_reason(tmp_path: Path, spoil: str) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, f"{POLICIES}/policy0/cpuinfo_max_freq", spoil)
    (root / POLICIES / "policy0/scaling_governor").unlink()
    cpufreq = read_cpufreq(root)
    first = cpufreq.policies[0]
    assert first.highest_khz is None and first.governor is None
    assert set(first.unavailable) == {"highest_khz", "governor"}
    state = cpufreq.state_of((0,))
    assert state.fields["driver"] == "intel_pstate"
    assert "governor_read" not in state.fields
    assert "policy0/scaling_governor is missing" in state.unavailable["governor_read"]


@pytest.mark.parametrize(
    ("files", "turbo", "mode"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "0"}, True, None),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, False, None),
        ({f"{POLICIES}/boost": "1", f"{CPU}/amd_pstate/status": "guided"}, True, "guided"),
        ({f"{POLICIES}/boost": "0"}, False, None),
        ({f"{POLICIES}/boost": "?"}, None, None),
        ({}, None, None),
    ],
)
def test_turbo_and_mode_are_read_from_whichever_driver_has_them(
    tmp_path: Path, files: dict[str, str], turbo: bool | None, mode: str | None
) -> None:
    machine = Machine(singles("0"), policies={"0": policy(3000000)}, block=INTEL, files=files)
    cpufreq = read_cpufreq(build_tree(tmp_path, machine))
    assert (cpufreq.turbo, cpufreq.mode) == (turbo, mode)
