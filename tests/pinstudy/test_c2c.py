"""A study that collects c2c, as a user meets it: after its runs, and never instead of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runners.records.reader import read_records
from tests.runners.c2c_recordings import need_perf
from tests.runners.measure.perf.test_c2c import LOCAL
from tests.runners.study.test_extras import LINE, install_sampling_perf
from tests.support.cli import argv, pinstudy
from tests.support.tools import need_tool
from tests.support.wait import HANG_S, until

APP = """\
# Python, whose start touches enough memory
title: shared lines
variants:
  plain: {program: PROGRAM, runtime: none}
sizes:
  small: {arguments: small, estimate: 50 ms}
c2c: true
"""
STUDY = """\
# A study for tests
title: contended lines
apps:
  - {app: shared, variants: plain, sizes: small, threads: 1}
mappings: scheduler
repetitions: 2
warmup: 0
collect: [c2c]
"""
# The third execution is the one under perf c2c; where a file says so, it hangs.
PROGRAM = f"""\
#!/bin/sh
echo x >> "$0.runs"
[ "$(wc -l < "$0.runs")" = 3 ] && [ -e "$0.hang" ] && exec sleep 600
exec {sys.executable} -S -c pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = tmp_path / "shared.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps/shared.yaml").write_text(APP.replace("PROGRAM", str(program)))
    (tmp_path / "lines.yaml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def sampling(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A perf that samples six loads of a line that another core had modified."""
    perf = need_perf()
    tools = folder / "tools"
    tools.mkdir()
    (tools / "accesses.json").write_text(json.dumps([(0, LINE, LOCAL)] * 6))
    install_sampling_perf(tools, perf)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")


def command(*more: str) -> list[str]:
    return argv("run", "lines.yaml", "--results", "res", *more)


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return pinstudy(folder, "run", "lines.yaml", "--results", "res", *more)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("res/lines/*/c2c/*")}


def made(folder: Path) -> int:
    return len((folder / "shared.sh.runs").read_text())


def runs(folder: Path) -> int:
    return sum(1 for part in folder.glob("res/lines/*/records") for _ in read_records(part))


@pytest.mark.usefixtures("sampling")
def test_one_execution_more_is_made_after_the_runs_and_only_once(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert [line[:5] for line in said] == ["[1/2]", "[2/2]", "perf "]
    (name,) = files(folder)
    (record, *_) = [r for part in folder.glob("res/lines/*/records") for r in read_records(part)]
    assert name == f"{record['case_id']}.json"
    found = json.loads(files(folder)[name])
    assert [(line["address"], line["hitm"]) for line in found["lines"]] == [(hex(LINE), 6)]
    assert (runs(folder), made(folder) // len("x\n")) == (2, 3)

    before = files(folder)
    assert run(folder).returncode == 0
    assert files(folder) == before
    assert (runs(folder), made(folder) // len("x\n")) == (2, 3)

    assert run(folder, "--fresh").returncode == 0
    assert [path.name for path in folder.glob("res/lines/*/c2c/*")] == [name, name]


@pytest.mark.usefixtures("sampling")
def test_stopping_it_leaves_no_file_and_the_next_command_makes_it(folder: Path) -> None:
    (folder / "shared.sh.hang").touch()
    with subprocess.Popen(command(), cwd=folder, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        for line in running.stderr:
            if line.startswith("perf c2c"):
                break
        until(lambda: made(folder) == 3 * len("x\n"), running)
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
        assert running.wait(HANG_S) == 130
    assert "the same command continues" in said
    assert not files(folder)
    assert runs(folder) == 2

    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert len(files(folder)) == 1
    assert (runs(folder), made(folder) // len("x\n")) == (2, 4)


def test_a_node_that_cannot_has_its_runs_and_the_reason(folder: Path) -> None:
    need_tool("perf")
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert runs(folder) == 2
    (name,) = files(folder)
    if name == "unavailable.json":
        reason = json.loads(files(folder)[name])["unavailable"]["lines"]
        assert f"no contended cache lines: {reason}" in done.stderr
        assert made(folder) // len("x\n") == 2
    else:
        assert made(folder) // len("x\n") == 3
