"""Contended cache lines of a study: one further execution a case, its file, and every reason."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from configs.app import App, Build, Check, Size
from runners.node.node import open_node
from runners.plan.case import ON_NODE, Case, Engine
from runners.plan.command_line import build_launch
from runners.plan.engines.guest import Vcpus
from runners.plan.launch import Launch
from runners.plan.plan import Plan
from runners.study.extras import SCHEMA, ContendedLines
from tests.runners import cases
from tests.runners.c2c_recordings import need_perf
from tests.runners.fake_commands import install
from tests.runners.measure.perf.test_c2c import L1, LOCAL, REFUSED, REMOTE, STORE
from tests.runners.study.made_node import MadeNode, Quiet
from tests.support.programs import witness
from tests.support.tools import ROOT
from tests.support.wait import HANG_S

NODE = open_node(Path("/"))
CPUS = NODE.topology.allowed
PLAIN = Build("plain", "", "none")
# Python's start has far more page faults than accesses that are put in their place.
PROGRAM = (sys.executable, "-S", "-c", "print('done')")
LINE = 0x55D0C0DE4000


def install_sampling_perf(folder: Path, perf: str) -> None:
    """Put a perf into a folder that samples the accesses of `accesses.json` there."""
    record = f"{sys.executable} -m tests.runners.sampling_perf {folder}/accesses.json"
    script = f"""case "$1 $2" in
"c2c record") export PYTHONPATH={ROOT}; exec {record} {perf} "$@";;
*) exec {perf} "$@";;
esac"""
    install(folder, "perf", script)


def plan_of(
    *sizes: str,
    app: App | None = None,
    collect: tuple[str, ...] = ("perf", "c2c"),
    engine: Engine = ON_NODE,
) -> Plan:
    """Return a plan with a case a size, of an app that shares cache lines."""
    made = app or App("shared", "shared lines", {"plain": PLAIN}, {}, c2c=True, limit_s=20)
    rows = tuple(
        cases.case(
            number=number,
            app=made,
            build=PLAIN,
            size=Size(size, ()),
            threads=1,
            mapping=cases.UNPINNED,
            mechanism=None,
            cpus=CPUS,
            engine=engine,
        )
        for number, size in enumerate(sizes, start=1)
    )
    return Plan(cases.study(collect=collect), rows, (), {})


def make(
    lines: ContendedLines,
    program: tuple[str, ...] = PROGRAM,
    settle: Callable[[Case], str | None] = lambda _: None,
) -> Quiet:
    def launch(case: Case) -> Launch:
        first = build_launch(case, Path(program[0]), os.environ, {})
        return replace(first, program=program)

    told = Quiet()
    lines.make(witness(), MadeNode(launch, settle), lambda _: None, told)
    return told


def kept(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.iterdir())}


@pytest.fixture
def sampling(commands: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A perf that samples: 30 accesses, 16 of them hit what another core had modified."""
    monkeypatch.undo()
    perf = need_perf()
    monkeypatch.setenv("PATH", str(commands))
    accesses = [(cpu, LINE + 8 * cpu, LOCAL) for cpu in (0, 1) for _ in range(6)]
    accesses += [(1, LINE + 64, REMOTE)] * 4 + [(0, LINE, L1)] * 5 + [(0, LINE + 8, STORE)] * 9
    (commands / "accesses.json").write_text(json.dumps(accesses))
    install_sampling_perf(commands, perf)
    return commands


@pytest.mark.usefixtures("sampling")
def test_each_case_has_a_file_with_its_lines(tmp_path: Path) -> None:
    lines = ContendedLines(plan_of("small", "large"), NODE, tmp_path / "c2c")
    small, large = lines.pending
    told = make(lines)
    assert [wait.partition(":")[0] for wait in told.waits] == [
        "perf c2c, 1 of 2 cases",
        "perf c2c, 2 of 2 cases",
    ]
    assert not told.warnings
    files = kept(lines.folder)
    assert set(files) == {f"{small.case_id}.json", f"{large.case_id}.json"}
    found = files[f"{small.case_id}.json"]
    assert (found["schema"], found["case_id"]) == (SCHEMA, small.case_id)
    assert found["perf"].startswith("perf version ")
    assert found["command"][-3:] == list(PROGRAM[1:])
    assert found["perf_command"][1:3] == ["c2c", "record"]
    assert found["sampled"] | {"samples": 0} == {
        "samples": 0,
        "loads": 21,
        "stores": 9,
        "hitm": 16,
        "local_hitm": 12,
        "remote_hitm": 4,
    }
    first, second = found["lines"]
    assert (first["address"], first["hitm"], first["local_hitm"]) == (hex(LINE), 12, 12)
    assert (first["cpus"], first["stores"]) == ({"0": 20, "1": 6}, 9)
    assert (second["address"], second["remote_hitm"]) == (hex(LINE + 64), 4)
    # The recording is of page faults, which tell a hybrid node nothing of its kinds.
    assert ("kinds" in found["unavailable"]) == NODE.topology.hybrid
    assert not lines.pending


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (f"cat '{REFUSED}' >&2; exit 255", "memory events not supported"),
        (
            '[ "$1" != --version ] || { echo "perf version 6.1.0"; exit; }\nexit 129',
            "exit status 129",
        ),
        (None, "perf is not installed; install it with `make setup`"),
    ],
)
def test_a_node_that_cannot_says_so_once(
    tmp_path: Path, commands: Path, refused: str | None, reason: str
) -> None:
    if refused:
        install(commands, "perf", refused)
    lines = ContendedLines(plan_of("small", "large"), NODE, tmp_path / "c2c")
    told = make(lines)
    (name, found), *more = kept(lines.folder).items()
    assert (name, more) == ("unavailable.json", [])
    assert found["schema"] == SCHEMA
    assert reason in found["unavailable"]["lines"]
    assert ("perf" in found) == bool(refused)
    assert told.warnings == [f"no contended cache lines: {found['unavailable']['lines']}"]
    assert not told.waits
    assert len(lines.pending) == 2


def test_only_studies_and_apps_that_ask_are_looked_at(tmp_path: Path) -> None:
    assert not ContendedLines(plan_of("small", collect=("perf",)), NODE, tmp_path).pending
    assert not ContendedLines(plan_of("small", app=cases.DEMO), NODE, tmp_path).pending
    assert ContendedLines(plan_of("small"), NODE, tmp_path).pending


def test_cases_in_guests_are_not_looked_at(tmp_path: Path, commands: Path) -> None:
    install(commands, "perf", "exit 0")
    plan = plan_of("small", engine=Vcpus(cases.UNPINNED, CPUS, 1, 256))
    lines = ContendedLines(plan, NODE, tmp_path / "c2c")
    make(lines)
    assert kept(lines.folder)["unavailable.json"]["unavailable"] == {
        "lines": "cases in guests are not looked at with perf c2c"
    }


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (("/bin/sh", "-c", "exit 3"), "check-failed: the program's own check failed"),
        (("/bin/sh", "-c", "kill -9 $$"), "failed: ended by SIGKILL"),
        (("/bin/sleep", "600"), "timeout: ended after its limit of 0.5 s"),
        (("/no/such/program",), "failed: could not be started"),
    ],
)
def test_a_program_that_fails_has_no_lines_but_a_reason(
    tmp_path: Path, sampling: Path, program: tuple[str, ...], reason: str
) -> None:
    (sampling / "accesses.json").write_text("[]")
    limit_s = 0.5 if program[0] == "/bin/sleep" else 600.0
    app = App("shared", "", {}, {}, c2c=True, check=Check(failed_status=3), limit_s=limit_s)
    lines = ContendedLines(plan_of("small", app=app), NODE, tmp_path / "c2c")
    (case,) = lines.pending
    make(lines, program)
    found = kept(lines.folder)[f"{case.case_id}.json"]
    assert found["unavailable"]["lines"].startswith(f"the program under perf c2c: {reason}")
    assert "lines" not in found
    assert not lines.pending


@pytest.mark.usefixtures("sampling")
def test_what_a_program_writes_is_checked_and_left_in_no_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users").mkdir()
    monkeypatch.chdir(tmp_path / "users")
    check = Check(pattern="residual small")
    app = App("shared", "", {}, {}, c2c=True, check=check, limit_s=HANG_S, writes="result-*.txt")
    lines = ContendedLines(plan_of("small", app=app), NODE, tmp_path / "c2c")
    (case,) = lines.pending
    make(lines, ("/bin/sh", "-c", "echo residual small >result-1.txt"))
    assert len(kept(lines.folder)[f"{case.case_id}.json"]["lines"]) == 2
    assert not list((tmp_path / "users").iterdir())


@pytest.mark.parametrize(
    ("complaint", "reason"),
    [
        ('echo "no such luck" >&2', "perf could not attach: no such luck"),
        ("printf '\\033[31m%01000d\\n%01000d' 7 8 >&2", "perf could not attach: \ufffd[31m0000"),
    ],
    ids=["a word", "a page that commands a terminal"],
)
def test_a_perf_that_cannot_attach_is_a_printable_reason(
    tmp_path: Path, commands: Path, complaint: str, reason: str
) -> None:
    install(commands, "perf", f'case "$*" in *" -p "*) {complaint}; exit 255;; esac')
    lines = ContendedLines(plan_of("small"), NODE, tmp_path / "c2c")
    (case,) = lines.pending
    make(lines)
    found = kept(lines.folder)[f"{case.case_id}.json"]["unavailable"]["lines"]
    assert found.startswith(reason)
    assert found.isprintable()
    assert len(found) < 300


@pytest.mark.usefixtures("sampling")
def test_a_case_whose_governor_cannot_be_set_is_left_for_later(tmp_path: Path) -> None:
    lines = ContendedLines(plan_of("small", "large"), NODE, tmp_path / "c2c")
    small, large = lines.pending
    told = make(lines, settle=lambda case: "no such governor" if case == small else None)
    assert told.warnings == [f"no contended cache lines of {small.label} for now: no such governor"]
    assert set(kept(lines.folder)) == {f"{large.case_id}.json"}
    assert lines.pending == (small,)


@pytest.mark.usefixtures("sampling")
def test_nothing_of_a_recording_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    make(ContendedLines(plan_of("small"), NODE, tmp_path / "c2c"))
    assert not list(temporary.iterdir())
