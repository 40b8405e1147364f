"""Settings and power as a user meets them: real commands that write /sys, killed, disturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.hybrid_namespace import CPUFREQ, EPP, GOVERNOR, Namespace, hybrid_namespace
from tests.support.held import Gate, held_nap
from tests.support.power_supplies import plug_in, unplug
from tests.support.processes import errors_of
from tests.support.studies import (
    records,
    two_cpus,
    two_kinds,
    write_app,
    write_program,
    write_study,
)
from tests.support.wait import HANG_S

# The first kills hit a run whose settings are changed, the others whatever is at random moments.
HELD_KILLS = 4


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Namespace]:
    two_cpus()
    held_nap(tmp_path / "nap.sh")
    short = {"arguments": "0.005", "estimate": "5 ms"}
    long = {"arguments": "0.3", "estimate": "0.3 s"}
    write_app(tmp_path, "nap", tmp_path / "nap.sh", {"short": short, "long": long})
    mappings, governors = ["unpinned", "pcores-pin", "ecores-pin"], ["performance", "powersave"]
    # Kills at many moments need a study that is not over before them.
    for size, repetitions in (("short", 3), ("long", 5)):
        keys = {"mappings": mappings, "governors": governors, "repetitions": repetitions}
        write_study(tmp_path, size, "nap", size, **keys)
    with hybrid_namespace(tmp_path) as namespace:
        yield namespace


@pytest.fixture
def gate(node: Namespace) -> Gate:
    """Where the program of the studies is held; open until a test closes it."""
    return Gate(node.folder / "nap.sh")


def study(name: str) -> tuple[str, ...]:
    return "run", f"{name}.yaml", *two_kinds()


def hold_a_run(node: Namespace, gate: Gate, running: subprocess.Popen[str], governor: str) -> None:
    """Hold a run under this governor; the first one has been recorded."""
    gate.wait_for_run(running)
    while set(governors(node)) != {governor}:
        gate.let_go()
        gate.wait_for_run(running)


def governors(node: Namespace) -> list[str]:
    return [path.read_text().strip() for path in node.cpufreq.glob(f"*/{GOVERNOR}")]


def doctor_on(node: Namespace, name: str) -> dict[str, Any]:
    capabilities = json.loads(node.run("doctor", "--json").stdout)
    return next(capability for capability in capabilities if capability["name"] == name)


def take_a_setting_away(node: Namespace) -> Path:
    """Move a file of a policy to `away`, so that it cannot be put back; return its place."""
    gone = node.cpufreq / f"policy{max(os.sched_getaffinity(0))}" / "scaling_max_freq"
    gone.rename(node.folder / "away")
    return gone


def test_each_case_runs_under_its_governor_and_all_is_put_back(node: Namespace) -> None:
    before = node.settings()
    done = node.run(*study("short"), status=0)
    runs = records(node.folder)
    assert len(runs) == 6 * 3
    assert {record["status"] for record in runs} == {"ok"}
    for record in runs:
        assert record["governor_before"] == record["governor_read"] == record["governor"]
        assert (record["driver"], record["epp"]) == ("intel_pstate", "balance_performance")
        for name in ("kernel", "smt", "microcode", "turbo", "power_limits"):
            assert (name in record) != (name in record["unavailable"]), name
    assert "intel_pstate" in done.stdout, done.stdout
    assert "put back at the end" in done.stdout
    assert node.settings() == before
    assert list(node.state.iterdir()) == []


@pytest.mark.parametrize("kills", [8, pytest.param(24, marks=pytest.mark.faults)])
def test_after_a_kill_the_next_command_puts_everything_back_and_the_study_goes_on(
    node: Namespace, gate: Gate, kills: int
) -> None:
    before = node.settings()
    moments = random.Random(11)
    changed = 0
    for kill in range(kills):
        if kill < HELD_KILLS:
            gate.close(after=1)
        elif kill == HELD_KILLS:
            gate.open()
        running = node.start(*study("long"), apart=True)
        if kill < HELD_KILLS:
            hold_a_run(node, gate, running, "performance")
        else:
            at = time.monotonic() + moments.uniform(0.0, 1.2)
            while running.poll() is None and time.monotonic() < at:
                time.sleep(0.005)
        completed = running.poll() is not None
        if not completed:
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        if completed:
            break
        changed += node.settings() != before
        done = node.run("apps", status=0)
        if kill < HELD_KILLS:
            assert "put back" in done.stderr
            assert f"process {running.pid}" in done.stderr
            assert "pinstudy run long.yaml" in done.stderr
        assert node.settings() == before, done.stderr
        # A torn one, of before anything was changed, goes with the next journal.
        assert not list(node.state.glob("[!.]*"))
    assert changed >= HELD_KILLS
    keys = [(r["case_id"], r["repetition"]) for r in records(node.folder) if r["status"] == "ok"]
    assert len(keys) == len(set(keys)), "a run was made twice"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_study_puts_everything_back_before_it_ends(
    node: Namespace, gate: Gate, number: signal.Signals
) -> None:
    before = node.settings()
    gate.close(after=1)
    running = node.start(*study("long"))
    hold_a_run(node, gate, running, "performance")
    running.send_signal(number)
    errors_of(running, 130)
    assert node.settings() == before
    assert list(node.state.iterdir()) == []


def test_two_studies_do_not_interleave(node: Namespace, gate: Gate) -> None:
    gate.close(after=1)
    first = node.start(*study("long"))
    hold_a_run(node, gate, first, "powersave")
    second = node.run(*study("short"), status=1)
    assert f"process {first.pid}" in second.stderr and "run long.yaml" in second.stderr
    assert "Traceback" not in second.stderr
    # Commands that only look are not kept from it.
    node.run("tables", "results/long", "--no-files", status=0)
    assert first.poll() is None
    gate.open()
    errors_of(first, 0)
    assert {record["study"] for record in records(node.folder)} == {"long"}


def test_a_run_whose_settings_somebody_changed_is_not_averaged(node: Namespace, gate: Gate) -> None:
    gate.close()
    running = node.start(*study("long"))
    gate.wait_for_run(running)
    for policy in node.cpufreq.glob("policy*"):
        (policy / EPP).write_text("performance\n")
    gate.open()
    running.communicate(timeout=HANG_S)
    changed = [r for r in records(node.folder) if r["status"] == "settings-changed"]
    assert len(changed) == 1
    assert (
        "epp was balance_performance before the run and performance after it"
        in (changed[0]["reason"])
    )
    assert changed[0]["elapsed_s"] > 0.2, "what was measured is kept"
    assert {(node.cpufreq / f"policy{cpu}" / EPP).read_text() for cpu in (0,)} == {
        "balance_performance\n"
    }


def test_a_setting_that_cannot_be_put_back_is_reported_and_kept_for_restore(
    node: Namespace, gate: Gate
) -> None:
    before = node.settings()
    gate.close(after=1)
    running = node.start(*study("long"))
    hold_a_run(node, gate, running, "performance")
    gone = take_a_setting_away(node)
    gate.open()
    out, err = running.communicate(timeout=HANG_S)
    assert running.returncode == 1
    assert "could not be put back" in err and "scaling_max_freq is missing" in err
    assert "pinstudy restore" in err
    assert "time" in out, "the tables are printed all the same"
    assert [path.name for path in node.state.iterdir()] == ["study.json"]
    assert doctor_on(node, "settings")["state"] == "limited"
    again = node.run("restore", status=1)
    assert "scaling_max_freq is missing" in again.stderr
    refused = node.run(*study("short"))
    assert "not put back" in refused.stdout + refused.stderr
    (node.folder / "away").rename(gone)
    node.run("restore", status=0)
    assert node.settings() == before
    assert list(node.state.iterdir()) == []


@pytest.mark.parametrize("command", ["run", "worker"])
def test_a_study_that_gives_up_says_too_what_could_not_be_put_back(
    node: Namespace, gate: Gate, command: str
) -> None:
    words = study("long") if command == "run" else submitted(node)
    gate.close(after=1)
    running = node.start(*words)
    hold_a_run(node, gate, running, "performance")
    take_a_setting_away(node)
    if command == "run":
        (node.folder / "nap.sh").unlink()
    else:
        running.send_signal(signal.SIGUSR1)
    gate.open()
    err = errors_of(running, 1 if command == "run" else 75)
    why = "whether it has changed cannot be told" if command == "run" else "time is up (SIGUSR1)"
    assert why in err
    assert err.count("could not be put back") == 1
    for attempt in node.folder.rglob("attempts/*.json"):
        assert "could not be put back" in json.loads(attempt.read_text())["reason"]


def submitted(node: Namespace) -> tuple[str, ...]:
    """Submit a study to a Slurm that only gives it a number; return its worker's command."""
    site = "title: A cluster\nbatch_system: slurm\ntime_limit: 1 h\n"
    (node.folder / "there.yaml").write_text(site)
    commands = node.folder / "slurm"
    commands.mkdir()
    for name, does in (("sbatch", "echo 41"), ("squeue", "exit 0")):
        write_program(commands / name, f"#!/bin/sh\n{does}\n")
    node.environment["PATH"] = f"{commands}:{os.environ['PATH']}"
    _, *arguments = study("long")
    node.run("submit", *arguments, "--site", "there.yaml", status=0)
    submission = node.folder / "results/long/submissions/0001"
    return "worker", "--submission", str(submission), "--worker", "0"


def test_what_cannot_be_put_back_can_be_given_up(node: Namespace) -> None:
    (node.cpufreq / "boost").write_text("1\n")
    node.run("tune", "--turbo", "off", status=0)
    (node.cpufreq / "boost").unlink()
    done = node.run("restore", "--forget", status=0)
    assert "given up" in done.stdout and "boost is missing" in done.stdout
    assert list(node.state.iterdir()) == []


def test_tuning_stays_over_a_study_and_is_undone_by_restore(node: Namespace) -> None:
    before = node.settings()
    changes = json.loads(node.run("tune", "--dry-run", "--json").stdout)
    assert {change["wanted"] for change in changes if GOVERNOR in change["path"]} == {"performance"}
    assert node.settings() == before
    node.run("tune", status=0)
    tuned = node.settings()
    assert tuned != before
    node.run(*study("short"), status=0)
    assert {(r["governor"], r["governor_read"]) for r in records(node.folder)} == {
        ("performance", "performance"),
        ("powersave", "powersave"),
    }
    assert node.settings() == tuned
    assert doctor_on(node, "settings")["why"].startswith("tuned for measuring: process ")
    assert doctor_on(node, "governor")["state"] == "ok"
    node.run("restore", status=0)
    assert doctor_on(node, "settings")["why"] == "none is changed by pinstudy"
    assert node.settings() == before
    assert "nothing to put back" in node.run("restore").stdout


def test_root_is_not_told_to_be_root_where_nobody_may_write(node: Namespace) -> None:
    """As in a container, whose /sys is mounted read-only."""
    remount_read_only(node, CPUFREQ)
    words = "not even root may write {} here: mount /sys writable (in a container)"
    tuned = json.loads(node.run("tune", "--json", status=1).stdout)
    for change in tuned:
        if GOVERNOR in change["path"]:
            assert change["problem"] == words.format("it")
    assert any(GOVERNOR in change["path"] for change in tuned)
    file = CPUFREQ / "policy0" / GOVERNOR
    refused = node.run(*study("short"), "--governors", "performance", status=1)
    assert words.format(file) in " ".join((refused.stdout + refused.stderr).split())
    doctor = doctor_on(node, "governor")
    problem, _, grant = words.format(file).partition(": ")
    assert doctor["why"].endswith(problem) and doctor["grant"] == grant


def test_a_state_folder_that_is_read_only_stops_no_study_and_no_restore(node: Namespace) -> None:
    before = node.settings()
    node.run("tune", "--governor", "performance", status=0)
    # As of a study that was killed.
    (node.state / "tune.json").rename(node.state / "study.json")
    remount_read_only(node, node.state)
    done = node.run("mappings", status=0)
    assert node.settings() == before
    assert "study.json: cannot be removed (Read-only file system)" in done.stderr
    (node.state / "study.json").unlink()
    only = "--governors", "performance", "--mappings", "unpinned"
    refused = node.run(*study("short"), *only, status=1)
    said = " ".join((refused.stdout + refused.stderr).split())
    assert "cannot be saved (Read-only file system), so none is changed; name a writable" in said


def remount_read_only(node: Namespace, folder: Path) -> None:
    """Make a folder read-only in the namespace, where it is a mount of its own then."""
    for options in (("--bind", folder, folder), ("-o", "remount,bind,ro", folder)):
        subprocess.run([*node.enter, "mount", *options], check=True)


LOWER = "made on battery: limits of power and turbo are often lower than on mains"


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Namespace]:
    two_cpus()
    held_nap(tmp_path / "nap.sh")
    sizes = {"short": {"arguments": "0.005", "estimate": "5 ms"}}
    write_app(tmp_path, "nap", tmp_path / "nap.sh", sizes)
    write_study(tmp_path, "naps", "nap", "short", repetitions=3)
    plug_in(tmp_path)
    with hybrid_namespace(tmp_path, classes=tmp_path / "sys/class") as namespace:
        yield namespace


def test_a_run_during_which_the_node_was_unplugged_is_not_averaged(laptop: Namespace) -> None:
    gate = Gate(laptop.folder / "nap.sh")
    gate.close(after=1)
    running = laptop.start(*study("naps"))
    gate.wait_for_run(running)
    unplug(laptop.folder)
    gate.open()
    out, _ = running.communicate(timeout=HANG_S)
    runs = records(laptop.folder)
    assert [run["status"] for run in runs] == ["ok", "settings-changed", "ok"]
    assert runs[1]["reason"] == "the node went from mains to battery power"
    assert [run["power_supply"] for run in runs] == ["mains", "battery", "battery"]
    assert "settings-changed (the node went from mains to battery power)" in " ".join(out.split())


def test_a_study_on_battery_says_so_and_is_not_continued_on_mains(laptop: Namespace) -> None:
    unplug(laptop.folder)
    done = laptop.run(*study("naps"), status=0)
    assert " ".join(done.stdout.split()).count(LOWER) == 1
    verdict = laptop.run("verdict", "results/naps", status=0)
    assert LOWER in " ".join(verdict.stdout.split())
    laptop.run("card", "results/naps", status=0)
    (card,) = (laptop.folder / "results").rglob("card.json")
    assert json.loads(card.read_text())["power_supplies"] == ["battery"]
    tables = laptop.run("tables", str(card), "--no-files", status=0)
    assert LOWER in " ".join(tables.stdout.split())
    plug_in(laptop.folder)
    refused = laptop.run(*study("naps"), "--repetitions", "4", status=2)
    assert "power supply was 'battery', now 'mains'" in refused.stderr
