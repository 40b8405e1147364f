"""Governors: switched, put back, and refused where files are not as they should be."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.reading import Unavailable
from pinstudy.configs.site import GovernorRule
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.node import open_node
from pinstudy.runners.settings.journal import STUDY, Journal, new_entry, state_folder
from pinstudy.runners.settings.recovery import restore
from tests.runners.settings.conftest import NODE
from tests.runners.settings.factors import put_back, text
from tests.support.governors import BY_PINSTUDY, GovernorsAlone
from tests.support.ordinary_user import NOBODY, open_folder
from tests.support.tools import ROOT, missing
from tests.support.trees import CPU, build_tree, write

POLICIES = f"{CPU}/cpufreq"
ALL = tuple(range(24))


def switch_of(
    root: Path, rule: GovernorRule = BY_PINSTUDY, environment: Mapping[str, str] | None = None
) -> GovernorsAlone:
    return GovernorsAlone(root, read_topology(root).cores, rule, environment)


def in_force(root: Path, name: str = "scaling_governor") -> dict[str, list[int]]:
    """Return the policies, by number, of each value."""
    found: dict[str, list[int]] = {}
    for number in sorted(int(path.name[6:]) for path in (root / POLICIES).glob("policy*")):
        value = (root / POLICIES / f"policy{number}" / name).read_text().strip()
        found.setdefault(value, []).append(number)
    return found


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return build_tree(tmp_path, "i9-14900k-noht")


def test_smt_siblings_are_switched_with_a_cpu_because_they_share_its_clock(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    governors = switch_of(root)
    governors.apply("performance", (0, 2, 8))
    assert in_force(root)["performance"] == [0, 1, 2, 3, 8]
    governors.restore()


def test_the_journal_is_on_the_disk_before_the_first_write(node: Path) -> None:
    governors = switch_of(node)
    journal = governors.journal.path
    assert governors.apply("powersave", ALL) is None
    assert not journal.exists(), "nothing was changed"
    governors.apply("performance", ALL)
    first_write_ns = (node / POLICIES / "policy0/scaling_governor").stat().st_mtime_ns
    assert journal.stat().st_mtime_ns <= first_write_ns
    # Limits and turbo that change while a study is at work are put back, too.
    write(node, f"{POLICIES}/policy2/scaling_max_freq", 800000)
    write(node, f"{CPU}/intel_pstate/no_turbo", 1)
    put_back(governors)
    assert text(node, f"{POLICIES}/policy2/scaling_max_freq") == "5700000"
    assert text(node, f"{CPU}/intel_pstate/no_turbo") == "0"


def no_folder_for_the_journal(root: Path) -> None:
    (root / "var").write_text("not a folder")


def a_setting_is_empty(root: Path) -> None:
    write(root, f"{POLICIES}/policy7/scaling_max_freq", "")


def an_earlier_study_s_journal(root: Path) -> None:
    Journal(state_folder(root), STUDY).write(new_entry(Tree(root), []))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (no_folder_for_the_journal, "cannot be saved"),
        (a_setting_is_empty, "policy7/scaling_max_freq is empty"),
        (an_earlier_study_s_journal, "pinstudy restore"),
    ],
)
def test_nothing_is_changed_where_what_was_before_cannot_be_saved(
    node: Path, spoil: Callable[[Path], None], expected: str
) -> None:
    spoil(node)
    assert expected in str(switch_of(node).apply("performance", ALL))
    assert in_force(node) == {"powersave": list(ALL)}


@pytest.mark.parametrize(
    ("rule", "environment", "expected"),
    [
        (GovernorRule("slurm"), {}, "srun --cpu-freq"),
        (GovernorRule("nobody"), {}, "at this site nobody sets it"),
        (BY_PINSTUDY, {"SLURM_CPU_FREQ_REQ": "Performance"}, "Slurm sets it"),
    ],
)
def test_where_another_is_in_charge_only_the_governor_in_force_runs(
    node: Path, rule: GovernorRule, environment: dict[str, str], expected: str
) -> None:
    governors = switch_of(node, rule, environment)
    for reason_of in (governors.problem, governors.apply):
        assert reason_of("powersave", ALL) is None
        reason = reason_of("performance", ALL)
        assert reason is not None and expected in reason and "is not in force" in reason
    assert in_force(node) == {"powersave": list(ALL)}


def test_a_governor_that_the_node_does_not_have_is_a_reason(node: Path, tmp_path: Path) -> None:
    governors = switch_of(node)
    for reason_of in (governors.problem, governors.apply):
        assert "does not offer the governor schedutil" in str(reason_of("schedutil", ALL))
    guest = switch_of(build_tree(tmp_path, "kvm-guest"))
    assert "no frequency scaling here" in str(guest.apply("performance", (0,)))
    assert guest.apply("current", (0,)) is None
    assert guest.restore() is None


# A site's command: sets the governor of a recorded tree's policies, but ondemand.
SITE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from pinstudy.base.cpulist import parse_cpulist
root, governor, cpus = Path(sys.argv[2]), *sys.argv[3:]
if governor == "ondemand":
    sys.exit("ondemand is not allowed at this site")
for cpu in parse_cpulist(cpus):
    policy = root / f"sys/devices/system/cpu/cpufreq/policy{cpu}"
    (policy / "scaling_governor").write_text(governor)
with (root / "log").open("a") as log:
    log.write(f"{governor} {cpus}\\n")
"""


def of_site(root: Path) -> GovernorsAlone:
    command = (sys.executable, "-c", SITE, str(ROOT), str(root), "{governor}", "{cpus}")
    return switch_of(root, GovernorRule("command", command))


def test_a_site_sets_governors_by_its_command_and_they_are_put_back_by_it(node: Path) -> None:
    write(node, f"{POLICIES}/policy5/scaling_governor", "performance")
    governors = of_site(node)
    assert governors.apply("performance", range(8)) is None
    assert in_force(node)["performance"] == list(range(8))
    put_back(governors)
    assert in_force(node)["performance"] == [5]
    calls = (node / "log").read_text().splitlines()
    assert calls == ["performance 0-4,6-7", "powersave 0-4,6-7"]


def test_a_sites_command_that_fails_is_a_reason_with_what_it_said(node: Path) -> None:
    write(node, f"{POLICIES}/policy0/scaling_available_governors", "ondemand powersave")
    lacking = switch_of(node, GovernorRule("command", ("/no/such", "{governor}")))
    for governors, parts in (
        (of_site(node), ("ondemand is not allowed at this site", "status 1")),
        (lacking, ("/no/such", "No such file")),
    ):
        reason = str(governors.apply("ondemand", (0,)))
        assert all(part in reason for part in parts)
        governors.restore()


def test_epp_comes_back_with_the_governor(node: Path) -> None:
    """As intel_pstate does it: performance forces EPP to performance."""
    governors = switch_of(node)
    governors.apply("performance", (0,))
    write(node, f"{POLICIES}/policy0/energy_performance_preference", "performance")
    assert governors.apply("powersave", (0,)) is None
    assert list(in_force(node, "energy_performance_preference")) == ["balance_performance"]
    put_back(governors)
    assert list(in_force(node, "energy_performance_preference")) == ["balance_performance"]


def test_powersave_does_not_keep_the_epp_of_performance(node: Path) -> None:
    """As amd-pstate 6.12 leaves it: on a node that is kept in performance."""
    offered = "default performance balance_performance balance_power power"
    for cpu in ALL:
        policy = f"{POLICIES}/policy{cpu}"
        write(node, f"{policy}/scaling_governor", "performance")
        write(node, f"{policy}/energy_performance_preference", "performance")
        write(node, f"{policy}/energy_performance_available_preferences", offered)
    governors = switch_of(node)
    assert governors.apply("powersave", (0, 1)) is None
    assert in_force(node, "energy_performance_preference")["default"] == [0, 1]
    put_back(governors)
    assert in_force(node, "energy_performance_preference") == {"performance": list(ALL)}
    assert in_force(node) == {"performance": list(ALL)}


def test_the_clock_of_userspace_comes_back_after_that_governor_and_the_limits(node: Path) -> None:
    """As the kernel has it: no clock under others, and the present one on the way back."""
    clock = f"{POLICIES}/policy0/scaling_setspeed"
    for cpu in ALL:
        write(node, f"{POLICIES}/policy{cpu}/scaling_setspeed", "<unsupported>")
    write(node, f"{POLICIES}/policy0/scaling_governor", "userspace")
    write(node, clock, 1200000)
    governors = switch_of(node)

    def next_case() -> None:
        assert governors.apply("current", (0,)) is None

    back: tuple[Callable[[], None], ...] = (next_case, partial(put_back, governors))
    for switch_back in back:
        assert governors.apply("performance", (0,)) is None
        write(node, clock, "<unsupported>")
        saved = governors.journal.read()
        assert saved is not None
        names = [file.name for file in saved.settings]
        assert names[-1] == "scaling_setspeed" and names.count("scaling_setspeed") == 1
        switch_back()
        assert text(node, clock) == "1200000"
        assert in_force(node)["userspace"] == [0]


DEFAULTS = {
    "ondemand": {"up_threshold": "95", "io_is_busy": "0"},
    "conservative": {"up_threshold": "80"},
}


@pytest.fixture(params=[False, True], ids=["together", "each"])
def tunable(
    request: pytest.FixtureRequest, node: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, str]:
    """A node whose governors forget their tuning as in Linux drivers/cpufreq/cpufreq_governor.c.

    With what tunes CPU 0's governor; policies have theirs together, or each its own.
    """
    put = Tree.put
    kernel: dict[str, str] = {}

    def follow() -> None:
        governors = {f"policy{cpu}": text(node, f"{POLICIES}/policy{cpu}/{FILE}") for cpu in ALL}
        folders = (
            governors.items() if request.param else {("", name) for name in governors.values()}
        )
        wanted = {f"{policy}/{name}": name for policy, name in folders if name in DEFAULTS}
        for gone in kernel.keys() - wanted:
            shutil.rmtree(node / POLICIES / gone.lstrip("/"))
        for new in wanted.keys() - kernel:
            for file, value in DEFAULTS[wanted[new]].items():
                write(node, f"{POLICIES}/{new.lstrip('/')}/{file}", value)
        kernel.clear()
        kernel.update(wanted)

    def put_by_kernel(tree: Tree, path: str, value: str) -> Unavailable | None:
        failed = put(tree, path, value)
        follow()
        return failed

    for cpu in ALL:
        write(node, f"{POLICIES}/policy{cpu}/{FILE}", "ondemand")
        offered = "conservative ondemand performance"
        write(node, f"{POLICIES}/policy{cpu}/scaling_available_governors", offered)
    follow()
    monkeypatch.setattr(Tree, "put", put_by_kernel)
    return node, f"{POLICIES}/{'policy0/' if request.param else ''}ondemand"


FILE = "scaling_governor"


def test_a_governor_that_comes_back_is_tuned_as_before_in_each_case(
    tunable: tuple[Path, str],
) -> None:
    node, folder = tunable
    write(node, f"{folder}/up_threshold", 60)
    write(node, f"{folder}/io_is_busy", 1)
    governors = switch_of(node)
    for governor in ("performance", "ondemand", "conservative", "ondemand"):
        assert governors.apply(governor, ALL) is None
        assert (node / folder).exists() == (governor == "ondemand")
        if governor == "ondemand":
            assert text(node, f"{folder}/up_threshold") == "60"
            assert text(node, f"{folder}/io_is_busy") == "1"
    assert governors.apply("performance", ALL) is None
    # CPUs that a case does not use have the governor of before, and its tuning.
    assert governors.apply("conservative", ALL[1:]) is None
    assert text(node, f"{folder}/up_threshold") == "60"
    assert governors.apply("performance", ALL) is None
    put_back(governors)
    assert text(node, f"{folder}/up_threshold") == "60"
    assert in_force(node) == {"ondemand": list(ALL)}


def test_what_tunes_a_governor_and_may_not_be_written_is_no_reason(
    tunable: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node, folder = tunable
    writable = Tree.writable
    monkeypatch.setattr(
        Tree, "writable", lambda tree, path: "ondemand" not in path and writable(tree, path)
    )
    governors = switch_of(node)
    assert governors.apply("performance", ALL) is None
    saved = governors.journal.read()
    assert saved is not None and not any("ondemand" in file.path for file in saved.settings)
    put_back(governors)
    assert text(node, f"{folder}/up_threshold") == "95"


@pytest.mark.parametrize("name", ["scaling_governor", "energy_performance_preference"])
def test_a_file_that_may_not_be_written_is_a_reason_before_anything_is_saved(name: str) -> None:
    if os.geteuid() != 0:
        missing("only root can take a folder for this machine's files: run the tests as root")
    with open_folder() as folder:
        root = build_tree(folder, "i9-14900k-noht")
        for file in (root / POLICIES).glob("policy*/*"):
            file.chmod(0o666)
        (root / POLICIES / f"policy1/{name}").chmod(0o644)
        reason = reason_without_rights(root, "performance", (0, 1))
        assert reason.endswith(f"no permission to write /{POLICIES}/policy1/{name}: run as root")
        assert in_force(root) == {"powersave": list(ALL)}
        assert not list(folder.rglob("study.json"))


def reason_without_rights(root: Path, governor: str, cpus: tuple[int, ...]) -> str:
    """Return the reason of `apply` for a user without rights on the machine below `root`."""
    (root / "state").mkdir()
    (root / "state").chmod(0o777)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.chroot(root)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            cores = open_node(Path("/")).topology.cores
            os.environ["PINSTUDY_STATE"] = "/state"
            governors = GovernorsAlone(Path("/"), cores)
            os.write(writable, str(governors.apply(governor, cpus)).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as answer:
        reason = answer.read()
    os.waitpid(child, 0)
    return reason


def test_a_cpu_that_goes_offline_keeps_no_other_case_from_running(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel answers: the files of its policy stay, and are busy."""
    governors = switch_of(node)
    governors.apply("performance", ALL)
    with monkeypatch.context() as kernel:
        kernel.setattr(os, "open", refusing(os.open, "policy5"))
        assert governors.apply("performance", (0, 1)) is None
        assert governors.apply("powersave", (8, 9)) is None
        assert "no policy covers CPUs 5" in str(governors.apply("powersave", (4, 5)))
        done = governors.restore()
        assert done is not None
        assert {path.split("/")[-2] for path in done.problems} == {"policy5"}
        assert governors.journal.exists()
    # Back online, under the governor that it had: the next command puts it back.
    assert in_force(node) == {"performance": [5], "powersave": [*range(5), *range(6, 24)]}
    again = restore(node, governors.journal)
    assert again is not None and again.problems == {}
    assert in_force(node) == {"powersave": list(ALL)}


def test_a_cpu_that_goes_offline_while_governors_are_set_stops_no_other_case(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SMT that is switched off: the policy is there when policies are listed, and busy then."""
    governors = switch_of(node)
    governors.apply("performance", ALL)
    for needed, problem in (((0, 1), "None"), ((4, 5), "the CPUs of policy5 are offline")):
        with monkeypatch.context() as kernel:
            kernel.setattr(os, "open", refusing(os.open, "policy5/", from_first_write=True))
            assert problem in str(governors.apply("powersave", needed))
        assert governors.apply("performance", ALL) is None


def refusing(
    really_open: Callable[..., int], policy: str, *, from_first_write: bool = False
) -> Callable[..., int]:
    is_offline = not from_first_write

    def busy(path: str, flags: int, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        nonlocal is_offline
        is_offline |= bool(flags & os.O_ACCMODE)
        if is_offline and policy in str(path):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return really_open(path, flags, *arguments, **options)

    return busy


FILES = (
    *("scaling_governor", "scaling_available_governors", "scaling_driver", "affected_cpus"),
    *("energy_performance_preference", "scaling_min_freq", "scaling_max_freq"),
)
SPOILS = ("missing", "folder", "", "garbage with blanks", "\x00", "99999999999999999999", "-1")
spoiled_files = st.dictionaries(
    st.tuples(st.integers(0, 3), st.sampled_from(FILES)), st.sampled_from(SPOILS), max_size=4
)
wanted_governors = st.lists(
    st.tuples(
        st.sampled_from(["performance", "powersave", "current"]),
        st.sets(st.integers(0, 3), min_size=1),
    ),
    min_size=1,
    max_size=4,
)


def spoil(root: Path, spoiled: dict[tuple[int, str], str]) -> None:
    for (number, name), how in spoiled.items():
        file = root / POLICIES / f"policy{number}" / name
        if how in ("missing", "folder"):
            file.unlink()
            if how == "folder":
                file.mkdir()
        else:
            file.write_text(how)


def contents(root: Path) -> dict[Path, str]:
    files = (path for path in (root / CPU).rglob("*") if path.is_file())
    return {path: path.read_text().strip() for path in files}


def governor_by_cpu(root: Path) -> dict[int, str]:
    files = {cpu: root / POLICIES / f"policy{cpu}" / "scaling_governor" for cpu in range(4)}
    return {cpu: file.read_text().strip() if file.is_file() else "" for cpu, file in files.items()}


@settings(max_examples=60)
@given(spoiled=st.just({}) | spoiled_files, wanted=wanted_governors)
def test_what_is_spoiled_from_the_start_is_a_reason_and_nothing_stays_changed(
    spoiled: dict[tuple[int, str], str], wanted: list[tuple[str, set[int]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = build_tree(Path(folder), NODE)
        topology = read_topology(root)
        spoil(root, spoiled)
        before = contents(root)
        governors = GovernorsAlone(root, topology.cores)
        for governor, cpus in wanted:
            problem = governors.apply(governor, sorted(cpus))
            assert problem is None or problem.strip()
            found = governor_by_cpu(root)
            if not spoiled:
                # As before the study but for the case's own, whatever case came before.
                switched = cpus if governor == "performance" else set()
                assert problem is None
                assert {cpu for cpu in found if found[cpu] == "performance"} == switched
            for cpu in cpus if problem is None and governor != "current" else ():
                # A policy may scale CPUs that it does not name by its number, once spoiled.
                if (cpu, "affected_cpus") not in spoiled:
                    assert found[cpu] == governor
        governors.restore()
        assert contents(root) == before
        assert not governors.journal.exists()


@settings(max_examples=60)
@given(spoiled=spoiled_files, wanted=wanted_governors)
def test_what_vanishes_during_a_study_is_said_and_all_else_is_put_back(
    spoiled: dict[tuple[int, str], str], wanted: list[tuple[str, set[int]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = build_tree(Path(folder), NODE)
        before = contents(root)
        governors = GovernorsAlone(root, read_topology(root).cores)
        governors.apply("performance", (0, 1, 2, 3))
        spoil(root, spoiled)
        for governor, cpus in wanted:
            governors.apply(governor, sorted(cpus))
        done = governors.restore()
        assert done is not None
        lost = {f"/{POLICIES}/policy{number}/{name}" for number, name in spoiled}
        assert set(done.problems) <= lost
        assert governors.journal.exists() == bool(done.problems)
        after = contents(root)
        for path, text in before.items():
            if f"/{path.relative_to(root)}" not in lost:
                assert after[path] == text
