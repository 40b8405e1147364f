"""A search on a real kernel: governors that race and are put back, and an answer that is known."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.tools import ROOT
from tests.vnode.test_ordinary_user import HOME, as_nobody
from vnode.commands import (
    ENVIRONMENT,
    PINSTUDY,
    RESULTS,
    journal_exists,
    pinstudy,
    records,
    settings,
)
from vnode.node import KEPT, VirtualNode

pytestmark = pytest.mark.vnode

PROGRAM = (str(ROOT / "build" / "bin" / "mandelbrot-libgomp"), "1000")
SEARCH = (
    *("advise", "--objective", "energy", "--threads", "1", "--schedules", "none"),
    *("--governors", "powersave", "--results", RESULTS, "--json", "--", *PROGRAM),
)
# The search's study.
ANY = "advise-*"
# The CPUs of mappings that put a thread on an E-core, always or at times.
CPUS = {"ecores-pin": "4", "ecores-set": "4-7", "cores-set": "0,2,4-7", "unpinned": "0-7"}
# powersave takes every clock to its lowest, 0.8 GHz. A busy P-CPU then has 2.9 W instead of 20 W,
# an E-CPU 0.9 W instead of 5 W: far more than the noise of emulated CPUs.
LOWEST_UNDER_POWERSAVE = """
cd /sys/devices/system/cpu/cpufreq
for policy in policy*; do
    echo power >$policy/energy_performance_preference
    echo performance >$policy/scaling_governor
done
"""
# The guest itself waits: a run under powersave may be shorter than two looks of the host.
STOP_UNDER_POWERSAVE = f"""
while [ -e /proc/{{pid}}/exe ]; do
    read -r governor </sys/devices/system/cpu/cpufreq/policy0/scaling_governor
    if [ "$governor" = powersave ] && [ "$(cat {RESULTS}/{ANY}/*/records/*.jsonl | wc -l)" -ge 2 ]
    then
        exec kill -INT {{pid}}
    fi
    sleep 0.05
done
"""


def test_a_search_for_energy_finds_the_governor_and_goes_on_after_ctrl_c(node: VirtualNode) -> None:
    node.shell(LOWEST_UNDER_POWERSAVE)
    node.set_parameters(idle_mw=100)
    before = settings(node)

    stopped = node.start(PINSTUDY, *SEARCH, cwd=KEPT, env=ENVIRONMENT)
    node.shell(STOP_UNDER_POWERSAVE.format(pid=stopped))

    assert node.wait(stopped).status == 130
    assert settings(node) == before
    assert not journal_exists(node)
    earlier = records(node, ANY)

    ended = pinstudy(node, *SEARCH)

    assert ended.status == 0, ended
    assert settings(node) == before
    runs = records(node, ANY)
    assert runs[: len(earlier)] == earlier
    for run in runs:
        assert run["status"] in ("ok", "interrupted"), run
        if run["status"] == "ok":
            assert run["race_value"] == run["energy_pkg_j"]
            under = {"current": "performance", "powersave": "powersave"}[run["governor"]]
            assert run["governor_read"] == under
    first = next(run for run in runs if run["status"] == "ok")
    assert (first["mapping"], first["threads"], first["governor"]) == ("unpinned", 8, "current")

    advice = json.loads(ended.output)
    assert advice["decision"] == "gain", advice["caveats"]
    recommended = advice["recommended"]
    assert (recommended["governor"], recommended["threads"]) == ("powersave", 1)
    assert recommended["cpus"] == CPUS[recommended["mapping"]]
    assert advice["confirmation"]["least_gain"] > 0.5
    lines = {line["tool"]: line["line"] for line in advice["lines"]}
    assert lines["governor"] == f"{PINSTUDY} tune --governor powersave"
    assert lines["governor by cpupower"] == "cpupower frequency-set -g powersave"
    assert "OMP_NUM_THREADS=1" in lines["environment"]
    if recommended["mapping"] != "unpinned":
        assert f"taskset -c {recommended['cpus']} {shlex.join(PROGRAM)}" in lines["taskset"]
    for name in ("advice.md", "tables.md"):
        assert node.shell(f"cat {RESULTS}/{ANY}/*/{name}")
    text = node.shell(lines["environment"])
    assert "Timer Total_time" in text


def test_a_search_for_energy_that_may_not_be_read_is_refused_before_any_run(
    node: VirtualNode,
) -> None:
    node.shell(f"rm -rf {HOME}")

    ended = as_nobody(node, "advise", "--objective", "energy", "--", *PROGRAM)

    assert ended.status == 2, ended
    assert "energy cannot be measured here" in ended.errors
    assert "energy_uj" in ended.errors
    assert node.shell(f"ls {HOME}") == ""
