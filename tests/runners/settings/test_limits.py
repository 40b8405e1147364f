"""Limits of frequency on a node whose files follow the kernel: what is read is what is in force."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import settings_of
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.settings.files import without_heat
from pinstudy.runners.settings.journal import TUNE, Journal, state_folder
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.settings.recovery import restore
from pinstudy.runners.settings.setting import SettingFile
from pinstudy.runners.settings.tune import changes_of, tune
from tests.runners.settings.conftest import NODE
from tests.runners.settings.factors import NO_TURBO, put_back, text
from tests.support.trees import CPU, build_tree, write

ALL = (0, 1, 2, 3)
TURBO, BASE, LOWEST = 3_000_000, 2_000_000, 400_000
NOBODY = 2**31 - 1
STATE = "sys/class/thermal/cooling_device0/cur_state"


def policy(cpu: int, name: str) -> str:
    return f"{CPU}/cpufreq/policy{cpu}/{name}"


class Kernel:
    """The rules of Linux drivers/cpufreq: cpufreq.c, cpufreq_cooling.c, intel_pstate.c (6.10).

    What is written to `scaling_max_freq` is a request, which stays; the lowest of it, the limit of
    heat and the hardware's own is shown, and no lower limit above it. The hardware's follows turbo,
    unless `old`. Turning turbo off lowers `min_perf_pct`.
    """

    def __init__(self, root: Path, *, old: bool = False) -> None:
        self.root, self.old = root, old
        self.requests, self.lower = dict.fromkeys(ALL, NOBODY), dict.fromkeys(ALL, LOWEST)
        self.heat_khz, self.top_khz = NOBODY, TURBO
        write(root, "sys/class/thermal/cooling_device0/type", "cpufreq-cpu0")
        for cpu in ALL:
            write(root, policy(cpu, "base_frequency"), BASE)
        self.show()

    def show(self) -> None:
        turbo = text(self.root, NO_TURBO) == "0"
        end = self.top_khz if turbo else BASE
        for cpu, request in self.requests.items():
            write(self.root, policy(cpu, "cpuinfo_max_freq"), self.top_khz if self.old else end)
            shown = min(request, end, self.heat_khz)
            write(self.root, policy(cpu, "scaling_max_freq"), shown)
            write(self.root, policy(cpu, "scaling_min_freq"), min(self.lower[cpu], shown))

    def heat(self, khz: int = NOBODY) -> None:
        """Let the cooling device limit all CPUs, or none."""
        self.heat_khz = khz
        write(self.root, STATE, int(khz != NOBODY))
        self.show()

    def turbo(self, on: bool) -> None:
        write(self.root, NO_TURBO, int(not on))
        self.show()

    def took(self, path: str, value: str) -> None:
        requests = {"scaling_max_freq": self.requests, "scaling_min_freq": self.lower}
        if (name := path.split("/")[-1]) in requests:
            requests[name][int(path.split("/")[-2].removeprefix("policy"))] = int(value)
        lower = self.root / MIN_PERFORMANCE
        if path.endswith("no_turbo") and value == "1" and lower.exists():
            lower.write_text(f"{min(int(lower.read_text()), BASE * 100 // TURBO)}\n")
        self.show()

    @property
    def shown(self) -> set[str]:
        return {text(self.root, policy(cpu, "scaling_max_freq")) for cpu in ALL}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel(build_tree(tmp_path, NODE))
    put = Tree.put

    def put_by_kernel(tree: Tree, path: str, value: str) -> Unavailable | None:
        failed = put(tree, path, value)
        made.took(path, value)
        return failed

    monkeypatch.setattr(Tree, "put", put_by_kernel)
    return made


def switch_of(kernel: Kernel) -> NodeSettings:
    return NodeSettings(kernel.root, read_topology(kernel.root), None, {})


def apply(settings: NodeSettings, governor: str = "current", **asked: str) -> None:
    assert settings.apply(governor, settings_of(**asked), ALL) is None


def begun_hot(kernel: Kernel) -> NodeSettings:
    """Return the settings of a study whose first case found CPUs hot; they have cooled since."""
    kernel.heat(1_400_000)
    settings = switch_of(kernel)
    apply(settings, "performance")
    kernel.heat()
    return settings


def test_what_heat_has_lowered_before_a_study_is_nobodys_limit(kernel: Kernel) -> None:
    kernel.lower = dict.fromkeys(ALL, 1_600_000)
    put_back(begun_hot(kernel))
    assert set(kernel.requests.values()) == {NOBODY}
    assert set(kernel.lower.values()) == {1_600_000}
    assert kernel.shown == {str(TURBO)}
    # What root's part reads of a policy beside the paths that it is asked to save.
    kernel.heat(1_400_000)
    limits = {"scaling_max_freq": "1400000", "scaling_min_freq": "400000"}
    files = [SettingFile(f"/{policy(0, name)}", khz) for name, khz in limits.items()]
    assert without_heat(Tree(kernel.root), files) == (files[1],)
    assert without_heat(Tree(kernel.root), [files[0], replace(files[1], value="1400000")]) == ()
    assert without_heat(Tree(kernel.root), files, [files[0].path]) == tuple(files)
    # And before tuning.
    kernel.heat(1_400_000)
    tune(kernel.root, changes_of(Tree(kernel.root), None, None))
    kernel.heat()
    done = restore(kernel.root, Journal(state_folder(kernel.root), TUNE))
    assert done is not None and done.problems == {}
    assert set(kernel.requests.values()) == {NOBODY}


def test_a_limit_that_a_later_case_asks_for_is_read_when_it_is_asked_for(kernel: Kernel) -> None:
    kernel.requests = dict.fromkeys(ALL, 1_800_000)
    settings = begun_hot(kernel)
    apply(settings, "performance", max_frequency="1.2 GHz")
    assert kernel.shown == {"1200000"}
    apply(settings, "performance")
    assert kernel.shown == {"1800000"}
    put_back(settings)
    assert set(kernel.requests.values()) == {1_800_000}


def test_a_study_that_ends_hot_puts_all_back(kernel: Kernel) -> None:
    settings = switch_of(kernel)
    apply(settings, "performance", max_frequency="1.2 GHz")
    kernel.heat(1_400_000)
    put_back(settings)
    assert not settings.journal_path.exists()
    kernel.heat()
    assert kernel.shown == {str(TURBO)}


def test_while_cpus_are_hot_each_case_still_asks_for_its_own_limit(kernel: Kernel) -> None:
    kernel.heat(1_400_000)
    settings = switch_of(kernel)
    for asked, khz in (("1.8 GHz", 1_800_000), ("1.2 GHz", 1_200_000), ("1.8 GHz", 1_800_000)):
        apply(settings, max_frequency=asked)
        assert set(kernel.requests.values()) == {khz}
    settings.restore()


def test_a_limit_that_could_not_be_written_is_told_of_hot_cpus_too(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.heat(1_400_000)
    settings = switch_of(kernel)
    with monkeypatch.context() as locked:
        locked.setattr(Tree, "put", lambda _tree, path, _value: Unavailable(f"{path}: no"))
        problem = settings.apply("current", settings_of(max_frequency="1.8 GHz"), ALL)
    assert problem is not None and "could not be set" in problem
    settings.restore()


def test_while_cpus_are_hot_a_clock_can_be_fixed_above_what_heat_allows(kernel: Kernel) -> None:
    kernel.heat(1_400_000)
    settings = switch_of(kernel)
    apply(settings, max_frequency="2 GHz", min_frequency="2 GHz")
    assert set(kernel.lower.values()) == set(kernel.requests.values()) == {2_000_000}
    put_back(settings)
    assert set(kernel.lower.values()) == {LOWEST}


def test_who_may_set_governors_alone_is_not_told_of_limits_that_heat_has_lowered(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Tree.put

    def put_governors(tree: Tree, path: str, value: str) -> Unavailable | None:
        if path.endswith("scaling_governor"):
            return put(tree, path, value)
        return Unavailable(f"{path}: Permission denied")

    monkeypatch.setattr(Tree, "put", put_governors)
    monkeypatch.setattr(Tree, "writable", lambda _tree, path: path.endswith("scaling_governor"))
    settings = switch_of(kernel)
    governors = {text(kernel.root, policy(cpu, "scaling_governor")) for cpu in ALL}
    for cpu in ALL:
        (kernel.root / policy(cpu, "energy_performance_preference")).unlink(missing_ok=True)
    apply(settings, "performance")
    kernel.heat(1_400_000)
    put_back(settings)
    assert not settings.journal_path.exists()
    assert {text(kernel.root, policy(cpu, "scaling_governor")) for cpu in ALL} == governors


def test_a_limit_at_the_end_without_turbo_is_put_back_as_none(kernel: Kernel) -> None:
    kernel.turbo(on=False)
    settings = switch_of(kernel)
    for asked in ("1.2 GHz", "base"):
        apply(settings, max_frequency=asked)
    put_back(settings)
    assert set(kernel.requests.values()) == {NOBODY}


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("asked", [{}, {"max_frequency": "1.2 GHz"}])
@pytest.mark.parametrize("last", ["off", "on"])
def test_where_turbo_was_off_no_limit_is_left_behind(
    kernel: Kernel, old: bool, asked: dict[str, str], last: str
) -> None:
    kernel.old = old
    kernel.turbo(on=False)
    settings = switch_of(kernel)
    for turbo in ("off", "on", last):
        apply(settings, turbo=turbo, **asked)
    put_back(settings)
    assert (text(kernel.root, NO_TURBO), kernel.shown) == ("1", {str(BASE)})
    kernel.turbo(on=True)
    assert kernel.shown == {str(TURBO)}


@pytest.mark.parametrize("on", [False, True])
def test_a_users_own_limit_comes_back_whatever_turbo_was_last(kernel: Kernel, on: bool) -> None:
    kernel.requests = dict.fromkeys(ALL, 1_600_000)
    kernel.turbo(on)
    settings = switch_of(kernel)
    for turbo in ("off", "on", "off"):
        apply(settings, turbo=turbo, max_frequency="1.2 GHz")
    put_back(settings)
    assert set(kernel.requests.values()) == {1_600_000}


def test_the_highest_frequency_is_that_of_the_cases_own_turbo(kernel: Kernel) -> None:
    settings = switch_of(kernel)
    for turbo, khz in (("off", BASE), ("on", TURBO), ("off", BASE), ("on", TURBO)):
        apply(settings, turbo=turbo, max_frequency="highest", min_frequency="highest")
        assert kernel.shown == {str(khz)}
        assert {text(kernel.root, policy(cpu, "scaling_min_freq")) for cpu in ALL} == {str(khz)}
    put_back(settings)
    assert {text(kernel.root, policy(cpu, "scaling_min_freq")) for cpu in ALL} == {str(LOWEST)}


def test_a_limit_that_needs_turbo_is_possible_with_turbo_alone(kernel: Kernel) -> None:
    kernel.turbo(on=False)
    settings = switch_of(kernel)
    for asked in ({"max_frequency": "2.8 GHz"}, {"turbo": "off", "max_frequency": "2.8 GHz"}):
        wanted, cpufreq = settings_of(**asked), read_cpufreq(kernel.root)
        reason = settings.impossible("current", wanted, ALL, cpufreq)
        assert reason is not None and "run at 0.4 GHz to 2 GHz" in reason
    apply(settings, turbo="on", max_frequency="2.8 GHz")
    assert kernel.shown == {"2800000"}
    apply(settings, turbo="on", max_frequency="highest", min_frequency="2.4 GHz")
    put_back(settings)


MIN_PERFORMANCE = f"{CPU}/intel_pstate/min_perf_pct"


@pytest.mark.parametrize("last", ["off", "on"])
def test_the_lower_limit_that_turbo_off_squashes_comes_back_with_turbo(
    kernel: Kernel, last: str
) -> None:
    """100 % is 3 GHz, so that 66 % are possible without turbo."""
    write(kernel.root, MIN_PERFORMANCE, 80)
    settings = switch_of(kernel)
    for turbo in ("off", "on", last):
        apply(settings, turbo=turbo)
        assert text(kernel.root, MIN_PERFORMANCE) == ("80" if turbo == "on" else "66")
    apply(settings)
    assert text(kernel.root, MIN_PERFORMANCE) == "80"
    apply(settings, turbo=last)
    put_back(settings)
    assert text(kernel.root, MIN_PERFORMANCE) == "80"
