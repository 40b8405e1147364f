"""Settings that a study asks for: put in force, read back, put back; or a reason before that."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import AS_IT_IS, NAMES, settings_of
from pinstudy.configs.site import GovernorRule, SchedulerRule, Site
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.node import state_changes
from pinstudy.runners.settings.files import put_in_force, read_scaling
from pinstudy.runners.settings.journal import TUNE, Journal, state_folder
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.settings.recovery import restore
from pinstudy.runners.settings.registry import FACTORS, is_valid
from pinstudy.runners.settings.setting import Present, SettingFile
from pinstudy.runners.settings.tune import changes_of, tune
from tests.runners.settings.factors import (
    CACHE_AWARE,
    ENERGY_AWARE,
    ITMT,
    MMIO,
    NO_TURBO,
    PACKAGE,
    PLATFORM,
    VALUES,
    all_settings,
    distinct_settings,
    put_back,
    text,
)
from tests.support.trees import CPU, build_tree, write

# The P-cores and the E-cores of an i9-14900K without SMT.
PCORES, ECORES, ALL = tuple(range(8)), tuple(range(8, 24)), tuple(range(24))
BOOST = f"{CPU}/cpufreq/boost"
BOOSTS = tuple(f"{CPU}/cpufreq/policy{cpu}/boost" for cpu in ALL)
UPPER = "constraint_0_power_limit_uw"
POLICY = f"/{CPU}/cpufreq/policy3"
GOVERNOR = f"{POLICY}/scaling_governor"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    root = build_tree(tmp_path, "i9-14900k-noht")
    distinct_settings(root)
    return root


def node_settings(root: Path, site: Site | None = None) -> NodeSettings:
    return NodeSettings(root, read_topology(root), site, {})


def policy(root: Path, cpu: int, name: str) -> str:
    return text(root, f"{CPU}/cpufreq/policy{cpu}/{name}")


def test_every_setting_that_a_study_may_ask_for_has_its_file() -> None:
    assert set(FACTORS) == {*NAMES, "governor"}
    # A scheduler of sched_ext is a program, with tests of its own.
    assert set(VALUES) == set(NAMES) - {"sched_ext"}


@pytest.mark.parametrize("name", VALUES)
def test_each_value_is_in_force_read_back_and_put_back(node: Path, name: str) -> None:
    before = all_settings(node)
    settings = node_settings(node)
    for value in (*VALUES[name], VALUES[name][0]):
        wanted = settings_of(**{name: value})
        assert settings.problem("powersave", wanted, ECORES) is None
        assert settings.apply("powersave", wanted, ECORES) is None
        read = settings.read_back("powersave", wanted, ECORES).fields["settings_read"]
        assert set(read) == {name, "governor"}
        assert read[name] == {"highest": "4.4 GHz", "lowest": "0.8 GHz"}.get(value, value)
    assert all_settings(node) != before
    assert settings.apply("current", AS_IT_IS, ALL) is None
    assert all_settings(node) == before, "a case that asks for nothing has what was before"
    put_back(settings)
    assert all_settings(node) == before
    assert not settings.journal_path.exists()


def test_a_limit_is_that_of_the_case_s_cpus_alone(node: Path) -> None:
    before = all_settings(node)
    settings = node_settings(node)
    wanted = settings_of(max_frequency="2.4 GHz", min_frequency="1.2 GHz")
    # In the second case, the CPUs of the first one are as before.
    for cpus, others in ((ECORES, PCORES), (PCORES, ECORES)):
        assert settings.apply("current", wanted, cpus) is None
        assert {policy(node, cpu, "scaling_max_freq") for cpu in cpus} == {"2400000"}
        assert {policy(node, cpu, "scaling_min_freq") for cpu in cpus} == {"1200000"}
        now = all_settings(node)
        paths = [f"{CPU}/cpufreq/policy{cpu}/scaling_max_freq" for cpu in others]
        assert [now[path] for path in paths] == [before[path] for path in paths]
    put_back(settings)
    assert all_settings(node) == before


def test_words_of_a_frequency_mean_each_cpu_s_own(node: Path) -> None:
    settings = node_settings(node)
    wanted = settings_of(max_frequency="highest")
    assert settings.apply("current", wanted, ALL) is None
    read = settings.read_back("current", wanted, ALL).fields["settings_read"]
    # Intel's data sheet: 5.6 GHz by two preferred cores alone 6 GHz, E-cores 4.4 GHz.
    assert read["max_frequency"].endswith("4.4 GHz on 8-23")
    settings.restore()


def test_a_power_limit_is_written_to_each_interface_of_a_package_alone(node: Path) -> None:
    settings = node_settings(node)
    assert settings.apply("current", settings_of(power_limit="65 W"), ALL) is None
    assert text(node, f"{PACKAGE}/{UPPER}") == text(node, f"{MMIO}/{UPPER}") == "65000000"
    assert text(node, f"{PLATFORM}/{UPPER}") == "300000000"
    assert text(node, f"{PACKAGE}/constraint_1_power_limit_uw") == "250000000"
    put_back(settings)
    assert text(node, f"{MMIO}/{UPPER}") == "253000000"


@pytest.mark.parametrize(("shown", "is_in_force"), [("65062500", True), ("64875000", False)])
def test_a_power_limit_is_in_force_within_an_eighth_of_a_watt(
    node: Path, shown: str, is_in_force: bool
) -> None:
    write(node, f"{PACKAGE}/{UPPER}", shown)
    write(node, f"{MMIO}/{UPPER}", "65000000")
    settings = node_settings(node)
    assert settings.apply("current", settings_of(power_limit="65 W"), ALL) is None
    assert (settings.restore() is None) == is_in_force


@pytest.mark.parametrize(
    ("paths", "on", "off"),
    [
        ((NO_TURBO,), "0", "1"),
        ((BOOST,), "1", "0"),
        (BOOSTS, "1", "0"),
    ],
    ids=["intel_pstate", "node", "policies"],
)
def test_turbo_is_off_where_a_file_says_so_in_its_own_sense(
    node: Path, paths: tuple[str, ...], on: str, off: str
) -> None:
    (node / NO_TURBO).unlink()
    for path in paths:
        write(node, path, on)
    settings = node_settings(node)
    assert settings.apply("current", settings_of(turbo="off"), (0,)) is None
    assert {text(node, path) for path in paths} == {off}
    put_back(settings)
    assert {text(node, path) for path in paths} == {on}


def test_a_power_limit_needs_an_interface_whose_limit_is_enabled(node: Path) -> None:
    """A zone shows 0 where its limit is disabled, and where the firmware has locked it."""
    wanted = settings_of(power_limit="125 W")
    write(node, f"{MMIO}/{UPPER}", "28000000")
    write(node, f"{MMIO}/enabled", "0")
    settings = node_settings(node)
    present = Present(Tree(node), read_cpufreq(node))
    assert FACTORS["power_limit"].read(present) == "125 W"
    # A limit that may be locked is set all the same, and would show it.
    assert settings.apply("current", wanted, ALL) is None
    assert text(node, f"{MMIO}/{UPPER}") == "125000000"
    put_back(settings)
    assert text(node, f"{MMIO}/{UPPER}") == "28000000"
    # Nothing tells whether what is shown is in force.
    write(node, f"{PACKAGE}/enabled", "0")
    reason = settings.problem("current", wanted, ALL)
    assert reason == settings.apply("current", wanted, ALL)
    assert reason is not None and reason.startswith(
        "the power limit (PL1) cannot be 125 W: PL1 of package-0 is disabled, or locked by the "
        "firmware: the kernel does not tell which (/sys/class/powercap/intel-rapl"
    )
    assert reason.endswith("/enabled` enables it)")
    assert text(node, f"{MMIO}/{UPPER}") == "28000000"


@pytest.fixture
def boosted(node: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node of Linux 6.7 or newer, whose switches of turbo follow the kernel's rules."""
    (node / NO_TURBO).unlink()
    for path in (BOOST, *BOOSTS):
        write(node, path, "1")
    put = Tree.put

    def put_by_kernel(tree: Tree, path: str, value: str) -> Unavailable | None:
        """Linux drivers/cpufreq/cpufreq.c, store_local_boost and cpufreq_boost_trigger_state."""
        if path[1:] in BOOSTS and text(node, BOOST) == "0":
            return Unavailable(f"{path}: Invalid argument")
        if path[1:] == BOOST:
            for policy_path in BOOSTS:
                write(node, policy_path, value)
        return put(tree, path, value)

    monkeypatch.setattr(Tree, "put", put_by_kernel)
    return node


def test_tuning_switches_turbo_on_for_policies_that_are_off_by_themselves(boosted: Path) -> None:
    write(boosted, BOOSTS[3], "0")
    before = all_settings(boosted)
    changes = tune(boosted, changes_of(Tree(boosted), "keep", "on"))
    assert [change.path for change in changes] == [f"/{BOOSTS[3]}"]
    assert {text(boosted, path) for path in BOOSTS} == {"1"}
    restored = restore(boosted, Journal(state_folder(boosted), TUNE))
    assert restored is not None and restored.problems == {}
    assert all_settings(boosted) == before


@pytest.mark.parametrize(
    ("of_node", "off", "words"),
    [
        ("1", (), "on"),
        ("0", ALL, "off"),
        ("1", (3, 4), "on on 0-2,5-23, off on 3-4"),
        ("1", ALL, "off"),
    ],
)
def test_turbo_of_a_node_and_of_its_policies_is_switched_and_put_back_from_every_state(
    boosted: Path, of_node: str, off: tuple[int, ...], words: str
) -> None:
    write(boosted, BOOST, of_node)
    for cpu in off:
        write(boosted, BOOSTS[cpu], "0")
    before = all_settings(boosted)
    present = Present(Tree(boosted), read_cpufreq(boosted))
    assert FACTORS["turbo"].read(present) == words
    assert present.cpufreq.turbo == (words == "on")
    settings = node_settings(boosted)
    for value, shown in (("on", "1"), ("off", "0"), ("on", "1")):
        wanted = settings_of(turbo=value)
        assert settings.apply("current", wanted, (0,)) is None
        assert {text(boosted, path) for path in (BOOST, *BOOSTS)} == {shown}
        assert settings.read_back("current", wanted, (0,)).fields["settings_read"] == {
            "turbo": value
        }
        assert settings.apply("current", AS_IT_IS, ALL) is None
        assert all_settings(boosted) == before
        assert settings.apply("current", wanted, PCORES) is None
    put_back(settings)
    assert all_settings(boosted) == before


def test_itmt_is_switched_where_newer_kernels_have_it(node: Path) -> None:
    newer = "sys/kernel/debug/x86/sched_itmt_enabled"
    (node / ITMT).unlink()
    write(node, newer, "Y")
    settings = node_settings(node)
    assert settings.apply("current", settings_of(itmt="off"), ALL) is None
    assert text(node, newer) == "N"
    put_back(settings)
    assert text(node, newer) == "Y"


def test_without_turbo_a_lower_limit_than_the_highest_is_no_failure(node: Path) -> None:
    for cpu in ALL:
        write(node, f"{CPU}/cpufreq/policy{cpu}/base_frequency", 3_200_000)
    settings = node_settings(node)
    wanted = settings_of(turbo="off", max_frequency="highest")
    assert settings.apply("current", wanted, PCORES) is None
    # What intel_pstate does is done by hand: the limit falls to what is possible without turbo.
    for cpu in PCORES:
        write(node, f"{CPU}/cpufreq/policy{cpu}/scaling_max_freq", 3_200_000)
    assert settings.problem("current", wanted, PCORES) is None
    write(node, NO_TURBO, 0)
    settings.restore()


UPSIDE_DOWN = {"max_frequency": "2 GHz", "min_frequency": "2.4 GHz"}
OFFERED = f"{CPU}/cpufreq/policy3/energy_performance_available_preferences"


@pytest.mark.parametrize(
    ("governor", "asked", "cpus", "gone", "reason"),
    [
        ("performance", {"epp": "power"}, ALL, (), "always performance under the governor perf"),
        ("powersave", {"max_frequency": "4.5 GHz"}, ECORES, (), "which run at 0.8 GHz to 4.4 GHz"),
        ("powersave", {"max_frequency": "500 MHz"}, PCORES, (), "which run at 0.8 GHz to"),
        ("current", UPSIDE_DOWN, ALL, (), "(2.4 GHz) would be above the highest one (2 GHz)"),
        ("powersave", {"epp": "power"}, ALL, (OFFERED,), "missing"),
        ("powersave", {"turbo": "off"}, ALL, (NO_TURBO,), "missing"),
        ("current", {"cache_aware": "off"}, ALL, (CACHE_AWARE,), "missing"),
        ("current", {"energy_aware": "off"}, ALL, (ENERGY_AWARE,), "is missing"),
        ("current", {"itmt": "off"}, ALL, (ITMT,), "is missing"),
        (
            *("current", {"power_limit": "65 W"}, ALL),
            *((f"{PACKAGE}/name", f"{MMIO}/name"), "no package"),
        ),
    ],
)
def test_what_the_node_cannot_have_is_a_reason_before_anything_is_changed(
    node: Path,
    governor: str,
    asked: dict[str, str],
    cpus: tuple[int, ...],
    gone: tuple[str, ...],
    reason: str,
) -> None:
    for path in gone:
        (node / path).unlink()
    before = all_settings(node)
    settings = node_settings(node)
    wanted = settings_of(**asked)
    found = settings.problem(governor, wanted, cpus)
    assert found is not None and reason in found
    assert settings.apply(governor, wanted, cpus) == found
    assert settings.restore() is None
    assert all_settings(node) == before


def test_a_virtual_machine_has_no_frequency_turbo_or_power_limit(tmp_path: Path) -> None:
    settings = node_settings(build_tree(tmp_path, "kvm-guest"))
    for name in ("epp", "max_frequency", "min_frequency", "turbo", "power_limit"):
        for value in VALUES[name]:
            wanted = settings_of(**{name: value})
            assert settings.problem("current", wanted, (0,))
            assert settings.apply("current", wanted, (0,))
    assert settings.restore() is None


def test_an_epp_that_amd_pstate_moves_cannot_be_held_and_is_put_back_by_its_word(
    node: Path,
) -> None:
    # Linux 7.3 shows the profile that it follows, and takes the word alone.
    for cpu in ALL:
        folder = f"{CPU}/cpufreq/policy{cpu}"
        write(node, f"{folder}/energy_performance_preference", "dynamic(profile:balanced)")
        write(node, f"{folder}/scaling_governor", "powersave")
    settings = node_settings(node)
    assert settings.apply("current", settings_of(epp="power"), ALL) is None
    assert policy(node, 3, "energy_performance_preference") == "power"
    put_back(settings)
    assert {policy(node, cpu, "energy_performance_preference") for cpu in ALL} == {"dynamic"}
    write(node, f"{CPU}/amd_pstate/dynamic_epp", "enabled")
    reason = node_settings(node).problem("current", settings_of(epp="power"), (1, 4, 7))
    assert reason is not None and "amd-pstate's dynamic EPP moves it" in reason


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ({"max_frequency": "1.9 GHz"}, "1.8 GHz and 2.4 GHz"),
        ({"min_frequency": "2.3 GHz"}, "1.8 GHz and 2.4 GHz"),
        ({"max_frequency": "4 GHz"}, "2.4 GHz and 4.4 GHz"),
        ({"max_frequency": "2.4 GHz", "min_frequency": "lowest"}, ""),
        ({"max_frequency": "highest"}, ""),
    ],
)
def test_a_driver_with_a_table_has_its_frequencies_alone(
    node: Path, asked: dict[str, str], near: str
) -> None:
    for cpu in ECORES:
        folder = f"{CPU}/cpufreq/policy{cpu}"
        write(node, f"{folder}/scaling_driver", "acpi-cpufreq")
        write(node, f"{folder}/scaling_available_frequencies", "2400000 1800000 800000 ")
        write(node, f"{folder}/scaling_boost_frequencies", "4400000 ")
    settings = node_settings(node)
    wanted, cpufreq = settings_of(**asked), read_cpufreq(node)
    reason = settings.impossible("current", wanted, ECORES, cpufreq)
    if not near:
        assert reason is None
        return
    assert reason is not None and reason.endswith(
        f"on CPUs 8: next to it acpi-cpufreq offers {near}"
    )
    assert settings.apply("current", wanted, ECORES) == reason
    assert settings.restore() is None


@pytest.mark.parametrize("shown", [2_400_000, 4_400_000])
def test_the_highest_frequency_may_be_beyond_a_drivers_table(node: Path, shown: int) -> None:
    """acpi-cpufreq's end has boost, its table not; newer kernels show the table's end."""
    for cpu in ECORES:
        folder = f"{CPU}/cpufreq/policy{cpu}"
        write(node, f"{folder}/scaling_driver", "acpi-cpufreq")
        write(node, f"{folder}/scaling_available_frequencies", "2400000 1800000 800000 ")
        write(node, f"{folder}/cpuinfo_max_freq", 4_400_000)
        write(node, f"{folder}/scaling_max_freq", shown)
    settings = node_settings(node)
    highest = settings_of(max_frequency="highest")
    assert settings.impossible("current", highest, ECORES, read_cpufreq(node)) is None
    assert settings.apply("current", highest, ECORES) is None
    assert settings.restore() is None


@pytest.fixture
def amd(node: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node whose EPPs follow amd-pstate: under performance there is that one alone."""
    put = Tree.put

    def show(folder: Path) -> None:
        performs = (folder / "scaling_governor").read_text().strip() == "performance"
        offered = "performance" if performs else f"default performance {' '.join(VALUES['epp'])}"
        (folder / "energy_performance_available_preferences").write_text(f"{offered} \n")
        if performs:
            (folder / "energy_performance_preference").write_text("performance\n")

    def put_by_kernel(tree: Tree, path: str, value: str) -> Unavailable | None:
        folder = node / path[1:].rpartition("/")[0]
        if path.endswith("_preference"):
            offered = (folder / "energy_performance_available_preferences").read_text()
            if value not in offered.split():
                return Unavailable(f"{path}: Device or resource busy")
        failed = put(tree, path, value)
        if path.endswith("scaling_governor"):
            show(folder)
        return failed

    for cpu in ALL:
        folder = node / CPU / f"cpufreq/policy{cpu}"
        (folder / "scaling_driver").write_text("amd-pstate-epp\n")
        (folder / "scaling_governor").write_text("performance\n")
        show(folder)
    monkeypatch.setattr(Tree, "put", put_by_kernel)
    return node


def test_an_epp_that_amd_pstate_hides_under_performance_is_possible(amd: Path) -> None:
    before = all_settings(amd)
    settings, cpufreq = node_settings(amd), read_cpufreq(amd)
    wanted = settings_of(epp="power")
    assert settings.impossible("powersave", wanted, ALL, cpufreq) is None
    for governor in ("current", "performance"):
        assert "under the governor performance" in str(settings.problem(governor, wanted, ALL))
    for governor, value in (("powersave", "power"), ("performance", None), ("powersave", "power")):
        asked = settings_of(epp=value) if value else AS_IT_IS
        assert settings.apply(governor, asked, ALL) is None
        shown = policy(amd, 3, "energy_performance_preference")
        assert shown == (value or "performance")
    # What it does not list under another governor, it does not have.
    hidden = settings_of(epp="balance_performance")
    assert "is not offered" in str(settings.problem("powersave", hidden, ALL))
    put_back(settings)
    assert all_settings(amd) == before


def test_in_passive_mode_every_epp_is_possible_under_every_governor(node: Path) -> None:
    for cpu in ALL:
        folder = f"{CPU}/cpufreq/policy{cpu}"
        write(node, f"{folder}/scaling_driver", "intel_cpufreq")
        write(node, f"{folder}/scaling_available_governors", "performance powersave schedutil")
        write(node, f"{folder}/scaling_governor", "schedutil")
        write(node, f"{folder}/energy_performance_preference", "balance_power")
    before = all_settings(node)
    settings = node_settings(node)
    for governor, asked, epp in (
        ("performance", "power", "power"),
        # What a case does not ask for is as it was before, as under every governor.
        ("performance", "", "balance_power"),
        ("schedutil", "power", "power"),
    ):
        wanted = settings_of(epp=asked) if asked else AS_IT_IS
        assert settings.problem(governor, wanted, ALL) is None
        assert settings.apply(governor, wanted, ALL) is None
        shown = (
            policy(node, 3, "scaling_governor"),
            policy(node, 3, "energy_performance_preference"),
        )
        assert shown == (governor, epp)
    put_back(settings)
    assert all_settings(node) == before


@pytest.mark.parametrize("name", VALUES)
def test_where_nobody_sets_settings_only_those_in_force_run(node: Path, name: str) -> None:
    before = all_settings(node)
    site = Site("site", "A site", GovernorRule("nobody"), SchedulerRule("nobody"))
    settings = node_settings(node, site)
    # They have one EPP, and the governor powersave.
    wanted = [settings_of(**{name: value}) for value in VALUES[name]]
    reasons = [settings.apply("current", value, (1, 4, 7)) for value in wanted]
    found = [reason for reason in reasons if reason is not None]
    assert found and all(reason.endswith("at this site nobody sets it") for reason in found)
    assert settings.restore() is None
    assert all_settings(node) == before


READ = {"epp": "power", "power_limit": "65 W"}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        *(
            ({name: "a"}, {name: "b"}, f"{name} was a before the run and b after it")
            for name in ("epp", "sched_energy_aware", "sched_ext", "sched_ext_scheduler")
        ),
        ({"governor_read": "a"}, {"governor_read": "b"}, "governor was a before the run and b "),
        ({"governor_read": "a"}, {}, "governor was a before the run and unread"),
        ({"turbo": True}, {"turbo": False}, "turbo was "),
        ({"min_khz": {"8": "0"}}, {"min_khz": {"4": "0"}}, "min_khz was 8 kHz on 0 before"),
        (
            {"max_khz": {"800000": "0-7"}},
            {"max_khz": {"800000": "0-3", "400000": "4-7"}},
            "max_khz was 800000 kHz on 0-7 before the run and 800000 kHz on 0-3, 400000 kHz on 4-7",
        ),
        (
            {"epp": "power", "settings_read": READ},
            {"epp": "power", "settings_read": READ | {"power_limit": "45 W"}},
            "power_limit was 65 W before the run and 45 W after it",
        ),
        # What another field tells is told once.
        (
            {"epp": "power", "settings_read": {"epp": "power"}},
            {"epp": "default", "settings_read": {"epp": "default"}},
            "epp was power before the run and default after it",
        ),
    ],
)
def test_every_setting_that_changed_during_a_run_is_named(
    before: dict[str, object], after: dict[str, object], message: str
) -> None:
    assert state_changes(before | {"x": 1}, before | {"x": 2}) == ""
    found = state_changes(before, after)
    assert found.startswith(message) and found.count(" was ") == 1


def test_limits_that_heat_lowers_during_a_run_are_no_change_of_settings() -> None:
    fixed, hot = (
        {"min_khz": {khz: "0-1"}, "max_khz": {khz: "0-1"}, "settings_read": {"min_frequency": khz}}
        for khz in ("2000000", "1400000")
    )
    assert state_changes(fixed, hot, cooled=True) == ""
    assert "min_khz was" in state_changes(fixed, hot)


def test_scaling_is_saved_with_governors_first_then_epp_then_limits_then_turbo(
    root: Path, tmp_path: Path
) -> None:
    found = read_scaling(Tree(root))
    assert not isinstance(found, Unavailable)
    names = [setting.path.rpartition("/")[2] for setting in found]
    limits = ("scaling_max_freq", "scaling_min_freq")
    order = ["scaling_governor", "energy_performance_preference", *limits, "no_turbo"]
    assert list(dict.fromkeys(names)) == order
    # Four policies with four files each, and one switch of turbo.
    assert len(found) == 4 * 4 + 1
    assert SettingFile(GOVERNOR, "powersave") in found
    assert read_scaling(Tree(build_tree(tmp_path, "kvm-guest"))) == ()


@pytest.mark.parametrize("content", ["", "two words", "x" * 65, "../../etc"])
def test_what_cannot_be_put_back_is_not_saved(root: Path, content: str) -> None:
    write(root, GOVERNOR[1:], content)
    found = read_scaling(Tree(root))
    assert isinstance(found, Unavailable)
    assert GOVERNOR in found.reason


def test_what_differs_is_written_and_what_is_in_force_is_not(root: Path) -> None:
    file = root / GOVERNOR[1:]
    before = file.stat().st_mtime_ns
    assert put_in_force(Tree(root), [SettingFile(GOVERNOR, "powersave")]) == {}
    assert file.stat().st_mtime_ns == before
    assert put_in_force(Tree(root), [SettingFile(GOVERNOR, "performance")]) == {}
    assert file.read_text() == "performance\n"


def test_a_setting_that_does_not_take_its_value_is_a_problem_with_its_path(
    root: Path, tmp_path: Path
) -> None:
    wanted = [SettingFile(GOVERNOR, "performance")]
    file, outside = root / GOVERNOR[1:], tmp_path / "outside"
    outside.write_text("powersave\n")
    file.unlink()
    missing = f"{GOVERNOR} is missing (wanted: performance)"
    assert put_in_force(Tree(root), wanted) == {GOVERNOR: missing}
    # A link out of a recorded tree is not followed.
    file.symlink_to(outside)
    assert put_in_force(Tree(root), wanted)
    assert outside.read_text() == "powersave\n"
    # What is written into a directory is not there afterwards.
    file.unlink()
    file.mkdir()
    (reason,) = put_in_force(Tree(root), wanted).values()
    assert GOVERNOR in reason and "wanted: performance" in reason


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{POLICY}/../../../../../../etc/passwd", "performance"),
        (f"{POLICY}/scaling_governor\n", "performance"),
        ("/proc/sys/kernel/core_pattern", "performance"),
        (f"{POLICY}/scaling_setspeed", "performance"),
        (GOVERNOR[1:], "performance"),
        *((GOVERNOR, value) for value in ("", "a b", "performance\n", "a/b", "ä", "x" * 65)),
    ],
)
def test_a_setting_has_a_known_path_and_a_plain_word(path: str, value: str) -> None:
    assert is_valid(SettingFile(GOVERNOR, "performance"))
    assert not is_valid(SettingFile(path, value))
