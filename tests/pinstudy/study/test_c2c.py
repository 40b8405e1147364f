"""A study that collects c2c, as a user meets it: after its runs, and never instead of them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.runners.c2c_recordings import need_perf
from tests.runners.measure.perf.test_c2c import LOCAL
from tests.runners.study.test_extras import LINE, install_sampling_perf
from tests.support.cli import pinstudy, started
from tests.support.studies import records, write_app, write_program, write_study
from tests.support.wait import HANG_S, until

# The third execution is under perf c2c; it hangs if a file exists.
PROGRAM = f"""\
#!/bin/sh
echo x >> "$0.runs"
[ "$(wc -l < "$0.runs")" = 3 ] && [ -e "$0.hang" ] && exec sleep 600
exec {sys.executable} -S -c pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    # The start of Python touches enough memory.
    program = write_program(tmp_path / "shared.sh", PROGRAM)
    write_app(tmp_path, "shared", program, {"small": {"arguments": "small"}}, c2c=True)
    write_study(tmp_path, "lines", "shared", "small", repetitions=2, collect=["c2c"])
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


def run(folder: Path, *more: str) -> list[str]:
    """Run the study to its end; return the lines of its messages."""
    return pinstudy(folder, "run", "lines.yaml", *more, status=0).stderr.splitlines()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("results/lines/*/c2c/*")}


def executions(folder: Path) -> int:
    return (folder / "shared.sh.runs").read_text().count("x")


def runs(folder: Path) -> int:
    return len(records(folder, "lines"))


@pytest.mark.usefixtures("sampling")
def test_one_execution_more_is_made_after_the_runs_and_only_once(folder: Path) -> None:
    messages = run(folder)
    assert [line[:5] for line in messages] == ["[1/2]", "[2/2]", "perf "]
    (name,) = files(folder)
    record = records(folder, "lines")[0]
    assert name == f"{record['case_id']}.json"
    report = json.loads(files(folder)[name])
    assert [(line["address"], line["hitm"]) for line in report["lines"]] == [(hex(LINE), 6)]
    assert (runs(folder), executions(folder)) == (2, 3)

    before = files(folder)
    run(folder)
    assert files(folder) == before
    assert (runs(folder), executions(folder)) == (2, 3)

    run(folder, "--fresh")
    assert [path.name for path in folder.glob("results/lines/*/c2c/*")] == [name, name]


@pytest.mark.usefixtures("sampling")
def test_stopping_it_leaves_no_file_and_the_next_command_makes_it(folder: Path) -> None:
    (folder / "shared.sh.hang").touch()
    with started(folder, "run", "lines.yaml") as running:
        assert running.stderr
        for line in running.stderr:
            if line.startswith("perf c2c"):
                break
        until(lambda: executions(folder) == 3, running)
        running.send_signal(signal.SIGINT)
        messages = running.stderr.read()
        assert running.wait(HANG_S) == 130
    assert "the same command continues" in messages
    assert not files(folder)
    assert runs(folder) == 2

    run(folder)
    assert len(files(folder)) == 1
    assert (runs(folder), executions(folder)) == (2, 4)
