"""A laptop that is unplugged: during a run, and between two attempts of a study."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pinstudy.hybrid_namespace import Namespace, hybrid_namespace
from tests.support.held import Gate, held_nap
from tests.support.power_supplies import plug_in, unplug
from tests.support.studies import records, two_cpus, two_kinds, write_app, write_study
from tests.support.wait import HANG_S

STUDY = ("run", "naps.yaml", *two_kinds())
LOWER = "made on battery: limits of power and turbo are often lower than on mains"


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Namespace]:
    two_cpus()
    held_nap(tmp_path / "nap.sh")
    sizes = {"short": {"arguments": "0.005", "estimate": "5 ms"}}
    write_app(tmp_path, "nap", tmp_path / "nap.sh", sizes)
    keys = {"mappings": ["unpinned"], "governors": ["current"], "repetitions": 3}
    write_study(tmp_path, "naps", "nap", "short", **keys)
    plug_in(tmp_path)
    with hybrid_namespace(tmp_path, classes=tmp_path / "sys/class") as namespace:
        yield namespace


@pytest.fixture
def gate(laptop: Namespace) -> Gate:
    return Gate(laptop.folder / "nap.sh")


def test_a_run_during_which_the_node_was_unplugged_is_not_averaged(
    laptop: Namespace, gate: Gate
) -> None:
    gate.close(after=1)
    running = laptop.start(*STUDY)
    gate.wait_for_run(running)
    unplug(laptop.folder)
    gate.open()
    out, _ = running.communicate(timeout=HANG_S)
    runs = records(laptop.folder)
    assert [run["status"] for run in runs] == ["ok", "settings-changed", "ok"]
    assert runs[1]["reason"] == "the node went from mains to battery power"
    assert [run["power_supply"] for run in runs] == ["mains", "battery", "battery"]
    assert "settings-changed (the node went from mains to battery power)" in " ".join(out.split())


def test_a_later_attempt_on_battery_is_refused_and_told(laptop: Namespace, gate: Gate) -> None:
    gate.close(after=1)
    running = laptop.start(*STUDY, apart=True)
    gate.wait_for_run(running)
    running.kill()
    running.communicate(timeout=HANG_S)
    gate.open()
    unplug(laptop.folder)
    refused = laptop.run(*STUDY, status=2)
    assert "power supply was 'mains', now 'battery'" in refused.stderr
    plug_in(laptop.folder)
    laptop.run(*STUDY, status=0)
    assert {run["power_supply"] for run in records(laptop.folder)} == {"mains"}


def test_a_study_on_battery_says_so(laptop: Namespace) -> None:
    unplug(laptop.folder)
    done = laptop.run(*STUDY, status=0)
    assert " ".join(done.stdout.split()).count(LOWER) == 1
    verdict = laptop.run("verdict", "results/naps", status=0)
    assert LOWER in " ".join(verdict.stdout.split())
    laptop.run("card", "results/naps", status=0)
    (card,) = (laptop.folder / "results").rglob("card.json")
    assert json.loads(card.read_text())["power_supplies"] == ["battery"]
    tables = laptop.run("tables", str(card), "--no-files", status=0)
    assert LOWER in " ".join(tables.stdout.split())
