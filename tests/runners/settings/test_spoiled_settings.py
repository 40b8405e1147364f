"""Governors on nodes whose files are missing, empty, garbage, or vanish between two accesses."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.node.discovery import read_topology
from runners.node.node import state_changes
from tests.runners.settings.conftest import NODE
from tests.support.governors import GovernorsAlone
from tests.support.trees import CPU, build_tree

POLICIES = f"{CPU}/cpufreq"
FILES = (
    *("scaling_governor", "scaling_available_governors", "scaling_driver", "affected_cpus"),
    *("energy_performance_preference", "scaling_min_freq", "scaling_max_freq"),
)
SPOILS = ("missing", "folder", "", "garbage with blanks", "\x00", "99999999999999999999", "-1")

spoiled_files = st.dictionaries(
    st.tuples(st.integers(0, 3), st.sampled_from(FILES)), st.sampled_from(SPOILS), max_size=4
)
cases = st.lists(
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


def governors_of(root: Path) -> dict[int, str]:
    files = {cpu: root / POLICIES / f"policy{cpu}" / "scaling_governor" for cpu in range(4)}
    return {cpu: file.read_text().strip() if file.is_file() else "" for cpu, file in files.items()}


@settings(max_examples=60)
@given(spoiled=st.just({}) | spoiled_files, wanted=cases)
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
            found = governors_of(root)
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
@given(spoiled=spoiled_files, wanted=cases)
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


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("governor_read", "powersave", "performance", "governor was powersave before the run and "),
        ("governor_read", "powersave", None, "governor was powersave before the run and unread"),
        ("epp", "balance_performance", "power", "epp was balance_performance before the run"),
        ("min_khz", {"800000": "0-7"}, {"400000": "0-7"}, "min_khz was 800000 kHz on 0-7 before"),
        (
            "max_khz",
            {"5000000": "0-7"},
            {"5000000": "0-3", "800000": "4-7"},
            "max_khz was 5000000 kHz on 0-7 before the run and 5000000 kHz on 0-3, 800000 kHz on 4",
        ),
        ("turbo", True, False, "turbo was "),
        ("sched_energy_aware", "on", "impossible", "sched_energy_aware was on before the run and "),
        ("sched_ext", "disabled", "enabled", "sched_ext was disabled before the run and enabled "),
        ("sched_ext_scheduler", "none", "lavd", "sched_ext_scheduler was none before the run and "),
    ],
)
def test_every_setting_that_changed_during_a_run_is_named(
    name: str, before: object, after: object, message: str
) -> None:
    found = {} if after is None else {name: after}
    assert state_changes({name: before, "x": 1}, {name: before, "x": 2}) == ""
    assert state_changes({name: before}, found).startswith(message)
