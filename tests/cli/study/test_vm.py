"""Studies in guests as a user meets them: also killed and hanging guests; no process is left."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pinstudy.base.errors import UserError
from pinstudy.runners.records.disturbances import SHARED, disturbances
from pinstudy.runners.vm.host import find_guest_host
from tests.support.processes import adopted_orphans, command_line, descendants, name_of
from tests.support.studies import records, two_kinds, write_app, write_program, write_study
from tests.support.tools import ROOT, missing, need_tool
from tests.support.wait import HANG_S, until

pytestmark = pytest.mark.vm

SIZES = {
    "nap": {"arguments": "nap 0.3", "estimate": "0.3 s"},
    "second": {"arguments": "nap 1", "estimate": "1 s"},
    "sleep": {"arguments": "nap 20", "estimate": "20 s"},
    "panic": {"arguments": "panic", "estimate": "1 s"},
    "fails": {"arguments": "fails", "estimate": "0.1 s"},
}
SCRIPT = """\
#!/bin/sh
case $1 in
    nap) exec sleep "$2" ;;
    panic) echo c >/proc/sysrq-trigger; sleep 60 ;;
    fails) echo it fails >&2; exit 7 ;;
esac
"""
ONE_KIND = ("pcores-set", "pcores-pin", "ecores-set", "ecores-pin")
BOTH_KINDS = ("unpinned", "mixed-set", "mixed-pin")
BOTH = ("unpinned", "pcores-pin")
KILLS = 6
PINSTUDY = str(ROOT / "bin" / "pinstudy")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give a folder with the app; wait for the end of new guests after the test."""
    if len(os.sched_getaffinity(0)) < 2:
        missing("needs two CPUs")
    for tool in ("qemu-system-x86_64", "busybox", "perf"):
        need_tool(tool)
    try:
        find_guest_host("").boot_files()
    except UserError as error:
        missing(str(error))
    write_program(tmp_path / "ends.sh", SCRIPT)
    write_app(tmp_path, "ends", "./ends.sh", SIZES, timeout="60 s")
    with adopted_orphans():
        yield tmp_path
        until(lambda: not guests())


def guests() -> set[int]:
    """Return this test's processes that are QEMU, its supervisor, or a perf that counts a guest."""
    return {pid for pid in descendants(os.getpid()) if _serves_a_guest(command_line(pid))}


def _serves_a_guest(command: Sequence[str]) -> bool:
    return "--control" in command or any("pinstudy,debug-threads" in word for word in command)


def study(
    folder: Path, name: str, mappings: Sequence[str], sizes: Sequence[str], repetitions: int = 1
) -> list[str]:
    """Write a study in guests; return the command that runs it."""
    keys = {"engine": "vm", "vm": {"cpus": 1, "memory": "512 MiB"}, "repetitions": repetitions}
    write_study(folder, name, "ends", list(sizes), vcpu_mapping=list(mappings), **keys)
    return [PINSTUDY, "run", f"{name}.yaml", *two_kinds()]


def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, "--allow-emulation"],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


def start(folder: Path, command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, "--allow-emulation"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.parametrize("mappings", [BOTH_KINDS, ONE_KIND], ids=["both", "one"])
def test_each_mapping_of_the_guests_cpus_is_proved_and_timed(
    folder: Path, mappings: tuple[str, ...]
) -> None:
    ended = run(folder, study(folder, "mapped", mappings, ["second"], repetitions=2))

    assert ended.returncode == 0, ended.stderr
    first, second, *_ = sorted(os.sched_getaffinity(0))
    everywhere = ",".join(map(str, sorted(os.sched_getaffinity(0)))).replace("0,1", "0-1")
    where = {
        "unpinned": everywhere, "pcores-set": f"{first}", "pcores-pin": f"{first}",
        "ecores-set": f"{second}", "ecores-pin": f"{second}",
        "mixed-set": f"{first}-{second}", "mixed-pin": f"{first}",
    }  # fmt: skip
    runs = records(folder, "mapped")
    assert sorted(run["guest"]["mapping"] for run in runs) == sorted(mappings * 2)
    for record in runs:
        assert record["status"] == "ok", record
        assert record["guest"]["placement"]["verdict"] == "proved"
        (vcpu,) = record["guest"]["placement"]["threads"]
        assert vcpu["allowed"] == where[record["guest"]["mapping"]]
        # A second's sleep takes a second on the host's clock, too.
        clock = record["guest"]["clock"]
        assert 1.0 <= record["elapsed_s"] < 1.0 + clock["window_s"]
        assert abs(clock["drift_s"]) <= clock["uncertainty_s"] + 0.01
        if record["placement"]["verdict"] != "proved":
            # An emulated guest cannot tell what a busy host takes from it during an interrupt.
            assert record["guest"]["accelerator"] == "tcg"
            assert SHARED in disturbances(record)
            assert "processes account for" in record["unavailable"]["placement"]
        assert record["guest"]["accelerator"] in ("kvm", "tcg")
        assert {"migrations", "task_clock_s"} <= set(record) and "migrations" in record["guest"]
        assert "not measured in guests" in record["unavailable"]["imbalance"]
    assert "proved" in {record["placement"]["verdict"] for record in runs}
    pinned = [record for record in runs if record["guest"]["binding"] == "pin"]
    assert all(record["guest"]["migrations"] == 0 for record in pinned)
    assert all(record["guest"]["placement"]["others_apart"] for record in pinned)
    assert mappings[-1] in ended.stdout


def test_a_mapping_is_booted_once_for_all_its_runs(folder: Path) -> None:
    ended = run(folder, study(folder, "boots", BOTH, ["nap", "fails"], 2))
    assert ended.returncode == 0, ended.stderr
    assert len(list(folder.glob("results/boots/*/consoles/*.log"))) == 2
    runs = records(folder, "boots")
    assert sorted((run["size"], run["status"], run["exit_code"]) for run in runs) == sorted(
        [("nap", "ok", 0), ("fails", "failed", 7)] * 4
    )
    assert {run["stderr_tail"] for run in runs if run["size"] == "fails"} == {"it fails"}


def test_a_panic_is_one_failed_run_whose_console_is_kept(folder: Path) -> None:
    ended = run(folder, study(folder, "panics", ["unpinned"], ["nap", "panic"], 2))
    assert ended.returncode == 0, ended.stderr
    runs = records(folder, "panics")
    by_size = {size: [run for run in runs if run["size"] == size] for size in ("nap", "panic")}
    assert [run["status"] for run in by_size["nap"]] == ["ok", "ok"]
    assert [run["status"] for run in by_size["panic"]] == ["failed", "failed"]
    for record in by_size["panic"]:
        assert "it has died" in record["reason"]
        assert "Kernel panic" in record["reason"]
        console = Path(record["reason"].rpartition("its console is in ")[2])
        assert "sysrq triggered crash" in (folder / console).read_text(errors="replace").lower()


@pytest.mark.parametrize(
    ("number", "reason"), [(signal.SIGKILL, "it has died"), (signal.SIGSTOP, "it hangs")]
)
def test_a_guest_that_dies_or_hangs_fails_one_run(folder: Path, number: int, reason: str) -> None:
    command = study(folder, "lost", ["unpinned"], ["sleep", "nap"])
    running = start(folder, command)
    until(in_the_sleep, running)
    qemu = next(pid for pid in guests() if is_qemu(pid))
    os.kill(qemu, number)
    assert running.wait(HANG_S) == 0
    runs = {run["size"]: run for run in records(folder, "lost")}
    assert runs["nap"]["status"] == "ok"
    assert runs["sleep"]["status"] == "failed"
    assert reason in runs["sleep"]["reason"]


def is_qemu(pid: int) -> bool:
    return name_of(pid).startswith("qemu-system")


def in_the_sleep() -> bool:
    """Return whether a perf counts a guest's threads for longer than the nap takes."""
    counting = [pid for pid in guests() if name_of(pid) == "perf"]
    if not counting:
        return False
    time.sleep(3)
    return name_of(counting[0]) == "perf"


def test_killed_at_any_moment_nothing_is_left_running_and_nothing_is_lost(folder: Path) -> None:
    command = study(folder, "killed", BOTH, ["nap"], repetitions=3)
    moments = random.Random(20261121)

    for _ in range(KILLS):
        running = start(folder, command)
        time.sleep(moments.uniform(0.3, 14))
        running.kill()
        running.wait()
        until(lambda: not guests())
    recorded = [run["run_id"] for run in records(folder, "killed")]
    ended = run(folder, command)

    assert ended.returncode == 0, ended.stderr
    runs = records(folder, "killed")
    assert [run["run_id"] for run in runs][: len(recorded)] == recorded
    assert sorted((run["guest"]["mapping"], run["repetition"]) for run in runs) == sorted(
        (mapping, number) for mapping in BOTH for number in (1, 2, 3)
    )


@pytest.mark.parametrize("moment", ["results", "boot", "run"])
def test_stopped_by_a_signal_it_ends_its_guest_first(folder: Path, moment: str) -> None:
    running = start(folder, study(folder, "stopped", ["unpinned"], ["sleep"], repetitions=3))
    until(
        {
            "results": lambda: any(folder.glob("results/stopped/*/records")),
            "boot": lambda: any(is_qemu(pid) for pid in guests()),
            "run": in_the_sleep,
        }[moment],
        running,
    )
    running.send_signal(signal.SIGTERM)
    assert running.wait(HANG_S) == 130
    assert not guests()


def test_the_supervisor_that_is_killed_takes_qemu_along(folder: Path) -> None:
    running = start(folder, study(folder, "kept", ["unpinned"], ["sleep", "nap"]))
    until(in_the_sleep, running)
    supervisor = next(pid for pid in guests() if name_of(pid).startswith("python"))
    os.kill(supervisor, signal.SIGKILL)
    assert running.wait(HANG_S) == 0
    runs = {run["size"]: run["status"] for run in records(folder, "kept")}
    assert runs == {"sleep": "failed", "nap": "ok"}


def test_a_folder_that_the_guest_lacks_is_reported(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        hidden = shutil.copytree(folder, Path(name) / "study")
        ended = run(hidden, study(hidden, "hidden", ["unpinned"], ["nap"]))
        assert ended.returncode == 1
        (record,) = records(hidden, "hidden")
        assert record["status"] == "failed"
        assert f"No such file or directory: '{hidden}'" in record["reason"]


def test_emulation_is_refused_unless_it_is_allowed(folder: Path) -> None:
    command = study(folder, "refused", ["unpinned"], ["nap"])
    ended = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=HANG_S
    )

    capabilities = json.loads(
        subprocess.run([PINSTUDY, "doctor", "--json"], capture_output=True, check=False).stdout
    )
    state = {item["name"]: item["state"] for item in capabilities}["virtual-machines"]
    if state == "ok":
        assert ended.returncode == 0
    else:
        assert ended.returncode == 2
        assert "--allow-emulation" in ended.stderr
        assert records(folder, "refused") == []
