"""A study by a user without rights, on a real kernel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tools import ROOT
from vnode.commands import PINSTUDY, STUDIES, records_in, settings
from vnode.node import Ended, VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

NOBODY = 65534
HOME = "/tmp/nobody"
# The checkout and its Python may be in root's own folder. Open it in the guest's layer in memory.
WAY_IN = f"""
for end in {PINSTUDY} $(realpath {ROOT}/.venv/bin/python); do
    while [ $end != / ]; do
        end=$(dirname $end)
        chmod o+x $end
    done
done
install -d -o {NOBODY} {HOME}
"""


def as_nobody(node: VirtualNode, *arguments: str) -> Ended:
    node.shell(WAY_IN)
    env = {"HOME": HOME, "COLUMNS": "200"}
    return node.run(PINSTUDY, *arguments, user=NOBODY, cwd=HOME, env=env)


def study_as_nobody(node: VirtualNode, name: str) -> list[dict[str, Any]]:
    node.shell(f"rm -rf {HOME}")
    results = ("--results", f"{HOME}/results")
    ended = as_nobody(node, "run", str(STUDIES / f"{name}.yaml"), *results)
    assert ended.status == 0, ended
    text = node.shell(f"cat {HOME}/results/{name}/*/records/*.jsonl")
    return records_in(text)


def test_without_rights_a_study_runs_and_says_what_it_could_not_do(node: VirtualNode) -> None:
    before = settings(node)

    runs = study_as_nobody(node, "ten-cases")

    # After a boot the governor is powersave: cases 6 to 10. Nobody may set the other.
    good = [run for run in runs if run["status"] == "ok"]
    assert sorted(run["case_number"] for run in good) == [6, 7, 8, 9, 10]
    skipped = [run for run in runs if run["status"] == "skipped"]
    assert sorted(run["case_number"] for run in skipped) == [1, 2, 3, 4, 5]
    assert all("ermission" in run["reason"] for run in skipped), skipped
    for run in good:
        assert "energy_pkg_j" not in run
        assert "energy_uj" in run["unavailable"]["energy_pkg_j"]
    assert settings(node) == before


# Documentation/admin-guide/sysctl/kernel.rst: from 1 on no counting of whole CPUs, from 2 on none
# of what the kernel does; 3 is Debian's own: nothing. Energy belongs to CPUs.
@pytest.mark.parametrize(
    ("paranoid", "countable"),
    [
        (0, {"cycles", "migrations", "energy_pkg_j"}),
        (1, {"cycles", "migrations"}),
        (2, {"cycles"}),
        (3, set()),
    ],
    ids=["0", "1", "2", "3"],
)
def test_what_perf_may_not_count_is_absent_and_never_0(
    node: VirtualNode, paranoid: int, countable: set[str]
) -> None:
    node.shell(f"echo {paranoid} >/proc/sys/kernel/perf_event_paranoid")

    (run,) = study_as_nobody(node, "one-case")

    assert run["status"] == "ok"
    for field in ("cycles", "migrations", "energy_pkg_j"):
        assert (field in run) == (field in countable), run["unavailable"].get(field)
        assert (field in run["unavailable"]) == (field not in countable)
