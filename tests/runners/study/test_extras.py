"""Contended cache lines of a study: one further execution a case, its file, and every reason."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinstudy.configs.app import App, Build, Check, Size
from pinstudy.runners.node.node import open_node
from pinstudy.runners.plan.case import ON_NODE, Case, Engine
from pinstudy.runners.plan.command_line import build_launch
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.study.extras import SCHEMA, ContendedLines
from tests.runners import cases
from tests.runners.c2c_recordings import need_perf
from tests.runners.fake_commands import install
from tests.runners.measure.perf.test_c2c import L1, LOCAL, REFUSED, REMOTE, STORE
from tests.runners.study.made_node import MadeNode, Quiet
from tests.support.programs import witness
from tests.support.tools import ROOT

NODE = open_node(Path("/"))
CPUS = NODE.topology.allowed
PLAIN = Build("plain", "", "none")
# Python's start has far more page faults than accesses that are put in their place.
PROGRAM = (sys.executable, "-S", "-c", "print('done')")
LINE = 0x55D0C0DE4000
IN_GUEST = Vcpus(cases.UNPINNED, CPUS, 1, 256)


def install_sampling_perf(folder: Path, perf: str) -> None:
    """Put a perf into a folder that samples the accesses of `accesses.json` there."""
    record = f"{sys.executable} -m tests.runners.sampling_perf {folder}/accesses.json"
    script = f"""case "$1 $2" in
"c2c record") export PYTHONPATH={ROOT}; exec {record} {perf} "$@";;
*) exec {perf} "$@";;
esac"""
    install(folder, "perf", script)


SHARED = App("shared", "shared lines", {"plain": PLAIN}, {}, c2c=True, limit_s=600)


def lines_of(
    folder: Path,
    *sizes: str,
    app: App = SHARED,
    collect: tuple[str, ...] = ("perf", "c2c"),
    engine: Engine = ON_NODE,
) -> ContendedLines:
    """Return what looks at a case a size, of an app that shares cache lines."""
    team = {"threads": 1, "mapping": cases.UNPINNED, "mechanism": None, "cpus": CPUS}
    program = {"app": app, "build": PLAIN, "engine": engine}
    rows = tuple(
        cases.case(number=number, size=Size(size, ()), **team, **program)
        for number, size in enumerate(sizes, start=1)
    )
    return ContendedLines(Plan(cases.study(collect=collect), rows, (), {}), NODE, folder / "c2c")


def make(
    lines: ContendedLines,
    programs: Mapping[str, tuple[str, ...]] = {},
    settle: Callable[[Case], str | None] = lambda _: None,
) -> Quiet:
    """Look at the cases; `programs` are those of some sizes."""

    def launch(case: Case) -> Launch:
        program = programs.get(case.size.name, PROGRAM)
        return replace(build_launch(case, Path(program[0]), os.environ, {}), program=program)

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
def test_each_case_has_a_file_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary, users = tmp_path / "temporary", tmp_path / "users"
    for folder in (temporary, users):
        folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(users)
    # What a program writes is checked, and left in no folder of the user.
    app = replace(SHARED, check=Check(pattern="residual small"), writes="result-*.txt")
    lines = lines_of(tmp_path, "small", "large", app=app)
    small, large = lines.pending
    code = "print('residual small', file=open('result-1.txt', 'w'))"
    told = make(lines, dict.fromkeys(("small", "large"), (*PROGRAM[:-1], code)))
    assert [wait.partition(":")[0] for wait in told.waits] == [
        f"perf c2c, {number} of 2 cases" for number in (1, 2)
    ]
    assert not told.warnings and not lines.pending
    assert not [*temporary.iterdir(), *users.iterdir()]
    files = kept(lines.folder)
    assert set(files) == {f"{case.case_id}.json" for case in (small, large)}
    found = files[f"{small.case_id}.json"]
    assert (found["schema"], found["case_id"]) == (SCHEMA, small.case_id)
    assert found["perf"].startswith("perf version ")
    assert found["command"][-3:] == [*PROGRAM[1:-1], code]
    assert found["perf_command"][1:3] == ["c2c", "record"]
    hits = {"hitm": 16, "local_hitm": 12, "remote_hitm": 4}
    assert found["sampled"] | {"samples": 0} == {"samples": 0, "loads": 21, "stores": 9} | hits
    first, second = found["lines"]
    assert (first["address"], first["hitm"], first["local_hitm"]) == (hex(LINE), 12, 12)
    assert (first["cpus"], first["stores"]) == ({"0": 20, "1": 6}, 9)
    assert (second["address"], second["remote_hitm"]) == (hex(LINE + 64), 4)
    # The recording is of page faults, which tell a hybrid node nothing of its kinds.
    assert ("kinds" in found["unavailable"]) == NODE.topology.hybrid


NO_ANSWER = '[ "$1" != --version ] || { echo "perf version 6.1.0"; exit; }\nexit 129'


@pytest.mark.parametrize(
    ("perf", "engine", "reason"),
    [
        (f"cat '{REFUSED}' >&2; exit 255", ON_NODE, "memory events not supported"),
        (NO_ANSWER, ON_NODE, "exit status 129"),
        ("", ON_NODE, "perf is not installed; install it with `make setup`"),
        ("exit 0", IN_GUEST, "cases in guests are not looked at with perf c2c"),
    ],
)
def test_a_node_that_cannot_says_so_once(
    tmp_path: Path, commands: Path, perf: str, engine: Engine, reason: str
) -> None:
    if perf:
        install(commands, "perf", perf)
    lines = lines_of(tmp_path, "small", "large", engine=engine)
    told = make(lines)
    ((name, found),) = kept(lines.folder).items()
    assert (name, found["schema"]) == ("unavailable.json", SCHEMA)
    assert reason in found["unavailable"]["lines"]
    assert ("perf" in found) == bool(perf)
    assert told.warnings == [f"no contended cache lines: {found['unavailable']['lines']}"]
    assert not told.waits
    assert len(lines.pending) == 2


def test_only_studies_and_apps_that_ask_are_looked_at(tmp_path: Path) -> None:
    assert not lines_of(tmp_path, "small", collect=("perf",)).pending
    assert not lines_of(tmp_path, "small", app=cases.DEMO).pending
    assert lines_of(tmp_path, "small").pending


@pytest.mark.parametrize(
    ("limit_s", "failing"),
    [
        (
            600.0,
            {
                "check-failed: the program's own check failed": ("/bin/sh", "-c", "exit 3"),
                "failed: ended by SIGKILL": ("/bin/sh", "-c", "kill -9 $$"),
                "failed: could not be started": ("/no/such/program",),
            },
        ),
        (0.5, {"timeout: ended after its limit of 0.5 s": ("/bin/sleep", "600")}),
    ],
)
def test_a_program_that_fails_has_no_lines_but_a_reason(
    tmp_path: Path, sampling: Path, limit_s: float, failing: dict[str, tuple[str, ...]]
) -> None:
    (sampling / "accesses.json").write_text("[]")
    app = replace(SHARED, check=Check(failed_status=3), limit_s=limit_s)
    lines = lines_of(tmp_path, *failing, app=app)
    names = {f"{case.case_id}.json": case.size.name for case in lines.pending}
    make(lines, failing)
    for file, found in kept(lines.folder).items():
        reason = f"the program under perf c2c: {names.pop(file)}"
        assert found["unavailable"]["lines"].startswith(reason)
        assert "lines" not in found
    assert not names


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
    lines = lines_of(tmp_path, "small")
    make(lines)
    (found,) = kept(lines.folder).values()
    why = found["unavailable"]["lines"]
    assert why.startswith(reason) and why.isprintable() and len(why) < 300


@pytest.mark.usefixtures("sampling")
def test_a_case_whose_governor_cannot_be_set_is_left_for_later(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "small", "large")
    small, large = lines.pending
    told = make(lines, settle=lambda case: "no such governor" if case == small else None)
    assert told.warnings == [f"no contended cache lines of {small.label} for now: no such governor"]
    assert set(kept(lines.folder)) == {f"{large.case_id}.json"}
    assert lines.pending == (small,)
