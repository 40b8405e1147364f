"""Settings as factors on a real kernel: put in force, read back, in the tables, and put back."""

from __future__ import annotations

import csv
import random
import signal
from io import StringIO
from pathlib import Path

import pytest

from vnode.commands import (
    journal_exists,
    packed_results,
    pinstudy,
    read_on_host,
    records,
    settings,
    start_study,
    study,
    until,
    vary_settings,
)
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

NAME = "settings"
# Two governors x two EPPs x two limits x two mappings; under performance there is one EPP.
CASES, POSSIBLE = 16, 12
KILLS = 6
_LIMITS = "grep -H . /sys/class/powercap/intel-rapl:0/constraint_*_power_limit_uw"


def all_settings(node: VirtualNode) -> str:
    return settings(node) + node.shell(_LIMITS)


def test_each_case_has_the_settings_that_it_asks_for_and_its_row(
    node: VirtualNode, tmp_path: Path
) -> None:
    vary_settings(node)
    before = all_settings(node)

    ended = pinstudy(node, *study(NAME))

    assert ended.status == 0, ended
    assert all_settings(node) == before
    assert not journal_exists(node)
    runs = records(node, NAME)
    made = [run for run in runs if run["status"] != "skipped"]
    assert len(made) == POSSIBLE, [run.get("reason") for run in runs]
    for run in made:
        asked = run["settings"]
        assert run["governor_read"] == run["governor"]
        assert run["epp"] == asked["epp"]
        assert run["turbo"] is False
        assert run["power_limits"]["package-0"]["pl1_w"] == 65
        (khz,) = run["max_khz"]
        assert (int(khz) == 2_000_000) == (asked["max_frequency"] == "2 GHz")
        read = run["settings_read"]
        assert (read["turbo"], read["power_limit"]) == ("off", "65 W")
    left_out = [run for run in runs if run["status"] == "skipped"]
    assert len(left_out) == CASES - POSSIBLE
    assert all("the EPP is always performance" in run["reason"] for run in left_out)
    table = read_on_host(packed_results(node, NAME), tmp_path, "tables", "--format", "csv")
    rows = list(csv.DictReader(StringIO(table)))
    found = {(row["governor"], row["settings"], row["mapping"]) for row in rows}
    assert len(rows) == len(found) == CASES
    assert {settings for _, settings, _ in found} == {
        f"epp={epp} | max_frequency={limit} | turbo=off | power_limit=65 W"
        for epp in ("performance", "power")
        for limit in ("2 GHz", "highest")
    }


def test_after_kills_at_random_moments_every_setting_is_as_before(node: VirtualNode) -> None:
    vary_settings(node)
    before = all_settings(node)
    moments = random.Random(11)
    for _ in range(KILLS):
        running = start_study(node, NAME)
        until(node, lambda: journal_exists(node))
        node.run("sleep", f"{moments.uniform(0, 4):.2f}")
        node.kill(running, signal.SIGKILL)
        node.wait(running)

        done = pinstudy(node, "mappings")

        assert done.status == 0, done
        assert all_settings(node) == before, done.errors
        assert not journal_exists(node)
    assert pinstudy(node, *study(NAME)).status == 0
    good = [run["run_id"] for run in records(node, NAME) if run["status"] == "ok"]
    assert len(good) == len(set(good))
    assert all_settings(node) == before


@pytest.mark.parametrize("made", [0, 1, 4])
def test_after_a_kill_the_next_command_puts_everything_back(node: VirtualNode, made: int) -> None:
    vary_settings(node)
    before = settings(node)
    killed = start_study(node, "ten-cases")
    until(node, lambda: journal_exists(node) and len(records(node, "ten-cases")) >= made)
    if made == 0:
        until(node, lambda: settings(node) != before)

    node.kill(killed, signal.SIGKILL)
    assert node.wait(killed).status == -signal.SIGKILL
    assert journal_exists(node)
    assert pinstudy(node, "mappings").status == 0

    assert settings(node) == before
    assert not journal_exists(node)
    assert node.run("pgrep", "-f", "mandelbrot-libgomp").status == 1
