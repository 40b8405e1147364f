"""What a run is worth: its status, the numbers its program printed or wrote, and its check."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.errors import ShortageError, StudyError
from pinstudy.configs.app import Check, Metric, Size
from pinstudy.runners.execution import output_file
from pinstudy.runners.execution.collectors import check_failure_of
from pinstudy.runners.execution.execute import Harness, Observation, execute
from pinstudy.runners.execution.outcome import classify, proof_of, read_metrics, stderr_tail
from pinstudy.runners.execution.output_file import (
    KEPT_BYTES,
    SLACK_BYTES,
    OutputFile,
    working_folder,
    written_text,
)
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.placement.thread_placement import Expected, Proof
from pinstudy.runners.placement.thread_trace import Stay, ThreadTrace
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.records.status import FINAL
from tests.runners.cases import DEMO, SMALL, case, observation
from tests.support.limits import no_more_files
from tests.support.processes import wait_until_gone
from tests.support.programs import witness
from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.wait import HANG_S, until

PROVED, UNPROVED = Proof("proved"), Proof("unproved", "too short")
VIOLATED = Proof("violated", "thread 7 ran on CPU 3")


def seen(
    exit_code: int = 0, number: int = 0, exec_errno: int | None = None, **changes: object
) -> Observation:
    """Return what is seen of a program that ends so."""
    ending = Ending(exit_code << 8 | number, 1.0, 0.9, 0.1, 1 << 20, exec_errno)
    return observation(ending, **changes)


CHANGED = "governor was powersave after the run"
CHECK_SAID = "the check './verify.sh' ended with exit status 1: row 7"
DRIFTED = ("clock-drifted", "the guest's clock went +0.2 s")
GUESTS = ("placement-violated", "virtual CPUs: thread 9 ran on CPU 3, outside 0-1")
ENGINE: dict[str, Any] = {"invalid_reason": DRIFTED}
REFUSED: dict[str, Any] = {"check_failure": CHECK_SAID}


@pytest.mark.parametrize(
    ("run", "proof", "status", "reason"),
    [
        (seen(), PROVED, "ok", ""),
        (seen(), UNPROVED, "ok", ""),
        # Of several reasons the nearest to the program counts: its end, its result, its placement.
        (seen(number=9, timed_out=True, **ENGINE, **REFUSED), VIOLATED, "timeout", "limit of 10 s"),
        (seen(127, exec_errno=2, **ENGINE), VIOLATED, "failed", "not be started: No such file"),
        (seen(number=signal.SIGSEGV, **ENGINE), VIOLATED, "failed", "SIGSEGV"),
        (seen(number=signal.SIGILL), VIOLATED, "failed", "make clean setup"),
        (seen(number=64), VIOLATED, "failed", "ended by"),
        (seen(5, **ENGINE, **REFUSED), VIOLATED, "failed", "exit status 5"),
        (seen(3, **ENGINE), VIOLATED, "check-failed", "own check failed"),
        (seen(**ENGINE, **REFUSED), VIOLATED, "check-failed", CHECK_SAID),
        (seen(**ENGINE), VIOLATED, "placement-violated", VIOLATED.reason),
        (seen(invalid_reason=GUESTS), VIOLATED, "placement-violated", VIOLATED.reason),
        (seen(invalid_reason=GUESTS), PROVED, *GUESTS),
        (seen(**ENGINE), PROVED, *DRIFTED),
        (seen(**ENGINE), UNPROVED, *DRIFTED),
        # A disturbance is told only of a run that is otherwise good.
        (seen(), PROVED, "settings-changed", CHANGED),
    ],
)
def test_status_and_reason(run: Observation, proof: Proof, status: str, reason: str) -> None:
    found = classify(case(), run, proof, "" if status == "ok" else CHANGED)
    assert found[0] == status
    assert reason in found[1]
    # What an engine objects to is not made again.
    assert {DRIFTED[0], GUESTS[0]} <= set(FINAL)


COMPLAINT = "OMP: Warning #250: OMP_PLACES: syntax error, using core."
LIBGOMPS = "libgomp: Invalid value for environment variable OMP_PLACES: cors"


@pytest.mark.parametrize(
    ("stderr", "by_words", "complaint"),
    [
        ("", True, ""),
        (COMPLAINT, False, ""),
        (f"one\n{COMPLAINT.replace(', ', ',  ')}\ntwo", True, COMPLAINT),
        (f"\n{LIBGOMPS}\n", True, LIBGOMPS),
        # Not a line of a runtime, and not about where threads are.
        ("my OMP: Warning #1: OMP_PLACES", True, ""),
        ("OMP: Warning #96: Cannot form a team with 9 threads", True, ""),
    ],
)
def test_a_runtime_that_complains_violates(stderr: str, by_words: bool, complaint: str) -> None:
    thread = ThreadTrace(7, 7, [Stay((0,), 20, Counter({0: 20}), 1.0)], 1, 20)
    run = seen(threads=(thread,), looks=20, stderr=stderr)
    why = f"the OpenMP runtime did not do what it was asked: {complaint}"
    proof = proof_of(run, [Expected("pin", (0,), 1, by_words=by_words)])
    assert proof == (Proof("violated", why) if complaint else PROVED)


@pytest.mark.parametrize(
    ("uncharged", "verdict"),
    [
        ({}, "unproved"),
        ({"steal_s": 0.3}, "proved"),
        ({"interrupts_s": 0.3, "steal_s": 0.0}, "proved"),
        ({"interrupts_s": 0.1, "steal_s": 0.1}, "unproved"),
    ],
)
def test_time_of_no_process_is_missed_in_none(uncharged: dict[str, float], verdict: str) -> None:
    # Processes used 1 s of the 1.3 s that perf counted.
    thread = ThreadTrace(7, 7, [Stay((0,), 20, Counter({0: 20}), 1.0)], 0, 19)
    run = seen(threads=(thread,), looks=20)
    run = replace(run, ending=replace(run.ending, cpu_s=1.0))
    counts = {"task_clock_s": 1.3} | uncharged
    assert proof_of(run, [Expected("pin", (0,), 1)], counts).verdict == verdict


QUIET = replace(SMALL, quiet=True)
EXPECTING = replace(SMALL, expect={"elapsed_s": (1.5, 2.0)})
EXACT = replace(SMALL, expect={"elapsed_s": (575.0, 575.0)})


@pytest.mark.parametrize(
    ("size", "stdout", "reason"),
    [
        (EXPECTING, "time = 1.5\n", ""),
        (EXPECTING, "time = 2\n", ""),
        (EXPECTING, "time = 2.1\n", "elapsed_s is 2.1, expected 1.5 to 2"),
        (EXPECTING, "no time\n", "elapsed_s is not known: stdout has nothing that matches"),
        (EXACT, "time = 576\n", "elapsed_s is 576, expected 575"),
        (replace(EXPECTING, quiet=True), "", ""),
    ],
)
def test_an_unexpected_metric_fails_the_check(size: Size, stdout: str, reason: str) -> None:
    status, why = classify(case(size=size), seen(stdout=stdout), PROVED)
    assert status == ("check-failed" if reason else "ok")
    assert why.startswith(reason) and bool(why) == bool(reason)


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        # The last match counts.
        (r"time = (\S+)", {"time = 1\ntime = 2.5e-1\n": 0.25}),
        (r"time = (\S+)", dict.fromkeys(["", "time = soon", "time = nan", "time = inf"])),
        (r"time = (\S+)", dict.fromkeys(["time = 1e999", "time = 1_000", "time = 0x1p3"])),
        (r"time = (\S+)", dict.fromkeys(["time = 1,000.5", "time = 12,5", "time = ."])),
        (r"time = (\S+)", {"time = \u0663.\u0665": None}),
        (r"time =( \d+)?", {"time =": None}),
        # What follows belongs to the number, unless the pattern knows it: a part would be wrong.
        (r"time = (\d+)", {"time = 12": 12.0, "time = 12 s, 13 threads": 12.0, "time = 12.": 12.0}),
        (r"time = (\d+)", {"time = 12, 13, 14.": 12.0, "time = 12.5": None, "time = 12,5": None}),
        (r"time = (\d+)", {"time = 1'200": None, "time = 1_200": None}),
        (r"time = ([\d.]+)", {"time = 1.2e9": None}),
        (r"time = (\d{2})", {"time = 123": None}),
        (r"time = (\d+ )", {"time = 12 13": 12.0}),
        (r"time = (\d+),\d+ or", {"time = 12,13 or": 12.0}),
        (r"time = (\d+),", {"time = 12,13": 12.0}),
        # So does what precedes it.
        (r"([\d.]+) s", {"1,234.5 s": None, "time = -7 s": None, "-7 s": None}),
        (r"([\d.]+) s", {"12, 1.5 s": 1.5, "1 s, rank 0:1.5 s": 1.5, "x-1.5 s": 1.5}),
        (r"(\d+) s", {"12.5 s": None, "1'200 s": None, "2.5e-3 s": None}),
        (r"(\d{2}) s", {"123 s": None}),
        (r",([\d.]+) s", {"8,1.5 s": 1.5}),
        (r"( \d+) s", {"12 13 s": 13.0}),
    ],
)
def test_a_number_is_read_whole_or_not(pattern: str, values: dict[str, float | None]) -> None:
    app = replace(DEMO, metrics=(Metric("t", pattern, "s"),))
    for stdout, value in values.items():
        found, absent = read_metrics(case(app=app), seen(stdout=stdout))
        assert found.get("t") == value, stdout
        assert bool(absent.get("t")) == (value is None), stdout


def test_output_can_be_quiet_or_on_stderr_and_has_no_control_characters_left() -> None:
    _, absent = read_metrics(case(size=QUIET), seen(stdout="time = 1"))
    assert absent == {"elapsed_s": "the size small silences the program"}
    app = replace(DEMO, metrics=(Metric("t", r"t=(\d+)", "s", "stderr"),))
    assert read_metrics(case(app=app), seen(stdout="t=1", stderr="t=2"))[0] == {"t": 2.0}
    assert stderr_tail("a\x1b[31mred\x00\n") == "a\ufffd[31mred\ufffd"


@pytest.mark.parametrize("before", [0, 100_000])
def test_a_long_output_is_read_as_a_short_one(before: int) -> None:
    printed = "line\n" * before + "elapsed: 1.5 s\nelapsed: 2.5 s\nnothing: x\n"
    metrics = (
        Metric("elapsed", r"^elapsed: (\S+) s$", "s"),
        Metric("none", r"^missing: (\S+)$", ""),
        Metric("empty", r"^nothing: (\d)?", ""),
    )
    app = replace(DEMO, metrics=metrics, check=Check(pattern=r"^nothing"))
    values, absent = read_metrics(case(app=app), seen(stdout=printed))
    assert values == {"elapsed": 2.5}
    assert "nothing that matches" in absent["none"]
    assert "not a finite number" in absent["empty"]
    assert classify(case(app=app), seen(stdout=printed), PROVED) == ("ok", "")
    # What must be printed is a check, but of a size that prints nothing.
    nowhere = replace(app, check=Check(pattern=r"^nowhere"))
    assert classify(case(app=nowhere), seen(stdout=printed), PROVED)[0] == "check-failed"
    assert classify(case(app=nowhere, size=QUIET), seen(), PROVED)[0] == "ok"


@pytest.mark.parametrize(
    ("pattern", "printed"),
    [
        # Nested repeats in a short line, and blanks in which the engine looks for no signals.
        pytest.param(r"^(a+)+(b)", "a" * 60, id="nested"),
        pytest.param(r"\s+\s+(x)", " " * 200_000, id="long"),
        pytest.param(r"\s+(x)", " " * 2_000_000, id="quadratic"),
    ],
)
def test_a_pattern_that_would_never_be_decided_costs_seconds_and_says_so(
    pattern: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinstudy.base.patterns.LIMIT_S", 0.2)
    app = replace(DEMO, metrics=(Metric("figure", pattern, ""),), check=Check(pattern=pattern))
    began = time.process_time()
    values, absent = read_metrics(case(app=app), seen(stdout=printed))
    status, reason = classify(case(app=app), seen(stdout=printed), PROVED)
    assert (values, status) == ({}, "check-failed")
    for why in (absent["figure"], reason):
        assert "was not decided within 0.2 s of CPU time" in why
    assert time.process_time() - began < 5
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_only_files_of_the_folder_itself_are_read_and_the_folder_is_removed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    with working_folder("*.txt") as folder:
        assert folder is not None
        (folder / "b.txt").write_text("second")
        (folder / "a.txt").write_text("first\n")
        (folder / "c.txt").symlink_to(secret)
        (folder / "d.txt").mkdir()
        assert written_text(folder, "*.txt") == "first\nsecond\n"
    assert not folder.exists()
    with working_folder(None) as none:
        assert none is None


LINE = b"0123456789abcdef" * 4 + b"\n"


def put(output: OutputFile, size: int) -> str:
    """Write lines as a program does, to a descriptor of its own; return the text that is kept."""
    os.write(output.file.fileno(), b"first\n")
    chunk = LINE * 16384
    for _ in range(size // len(chunk)):
        os.write(output.file.fileno(), chunk)
        output.trim()
    os.write(output.file.fileno(), b"last\n")
    return output.text()


@pytest.mark.parametrize(
    ("size", "most_on_disk"),
    [
        (8 * SLACK_BYTES, 2 * SLACK_BYTES),
        # The end stays whole after the middle was deallocated.
        (2 * KEPT_BYTES + SLACK_BYTES + 16384 * len(LINE), SLACK_BYTES),
    ],
)
def test_the_middle_of_a_long_output_takes_no_space_on_disk(size: int, most_on_disk: int) -> None:
    with OutputFile() as output:
        text = put(output, size)
        assert os.fstat(output.file.fileno()).st_blocks * 512 < most_on_disk < size
    head, _, tail = text.partition("\n[...]\n")
    line = LINE.decode().strip()
    assert (head[:6], text[-6:]) == ("first\n", "\nlast\n")
    assert set(head.splitlines()) == {"first", line}
    assert set(tail.splitlines()) == {line, "last"}
    assert 2 * KEPT_BYTES - 200 < len(text) < 2 * KEPT_BYTES + 200


def test_without_holes_a_long_output_is_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    # As on NFS 4.1.
    monkeypatch.setattr(output_file, "_punch_hole", refuse)
    with OutputFile() as output:
        assert put(output, 3 * SLACK_BYTES).endswith("\nlast\n")
        monkeypatch.setattr(output_file, "MAX_BYTES", 2 * SLACK_BYTES)
        with pytest.raises(StudyError, match=r"printed more than .* name a folder on a local"):
            put(output, 3 * SLACK_BYTES)


def test_a_lack_of_file_descriptors_is_a_shortage() -> None:
    with no_more_files(), pytest.raises(ShortageError, match="cannot be kept \\(Too many open"):
        OutputFile()


def test_the_middle_is_deallocated_while_the_program_runs() -> None:
    # It continues once its stdout takes less than a tenth of what it printed.
    script = (
        "head -c 30000000 /dev/zero | tr '\\0' '\\n'; "
        "until [ $(stat -L -c %b /proc/$$/fd/1) -lt 5000 ]; do sleep 0.05; done; "
        "echo 'time = 2.5'"
    )
    launch = Launch((), ("/bin/sh", "-c", script), {"PATH": "/usr/bin:/bin"}, {}, ())
    run = execute(launch, HANG_S, Harness(witness(), None))
    assert not run.timed_out
    assert run.stdout.endswith("\ntime = 2.5\n")


def check_failure(
    *command: str, printed: str = "", limit_s: float = HANG_S, **variables: str
) -> str:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **variables}
    return check_failure_of(command, printed, environment, witness(), limit_s)


FLOOD = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 0", ""),
        ("exit 1", "ended with exit status 1: no message"),
        ("kill -9 $$", "was ended by SIGKILL"),
        # As pipes end commands elsewhere.
        ("kill -PIPE $$; exit 0", "was ended by SIGPIPE"),
        # The end of its stderr is the reason, in one harmless line.
        (
            "printf 'a\\nrow 7:\\033[31m 1 is not 2\\n' >&2; exit 2",
            "exit status 2: a row 7:\ufffd[31m 1 is not 2",
        ),
        (f"{FLOOD}; echo ' the end' >&2; exit 2", "y the end"),
    ],
)
def test_the_end_of_a_check_tells_whether_the_result_is_good(script: str, reason: str) -> None:
    why = check_failure("/bin/sh", "-c", script)
    assert why.endswith(reason) and len(why) < 500
    assert why.startswith("the check ") == bool(reason)


def test_a_check_reads_what_the_program_printed(tmp_path: Path) -> None:
    printed = "é\n" * 300_000 + "the last line\n"
    expected = tmp_path / "expected"
    expected.write_text(printed)
    assert check_failure("cmp", "-", str(expected), printed=printed) == ""
    assert "exit status 1" in check_failure("cmp", "-", str(expected), printed="another\n")
    # One that does not read is not waited for.
    assert check_failure("true", printed=printed) == ""


def test_a_check_is_no_shell_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = '[ "$1" = \'two  words; exit 3\' ] && [ "$OF" = here ]'
    write_program(tmp_path / "verify.sh", f"#!/bin/sh\n{says}\n")
    monkeypatch.chdir(tmp_path)
    assert check_failure("./verify.sh", "two  words; exit 3", OF="here") == ""
    assert "exit status 1" in check_failure("./verify.sh", "two  words; exit 3")


def test_a_check_that_cannot_be_started_is_a_refusal_that_says_why() -> None:
    for command, why in (("/no/check", "No such file or directory"), ("/tmp", "Permission denied")):
        assert check_failure(command) == f"the check '{command}' cannot be started: {why}"
    why = check_failure_of(("true",), "", {}, Path("/no/such/witness"))
    assert why.startswith("the check 'true' cannot be run: ")


REFUSED_WITNESS = """#!{python}
import os, sys
command, report = int(sys.argv[1]), int(sys.argv[2])
os.write(report, b"ready %d %d\\n" % (os.getpid(), os.getpid()))
os.write(report, b"failed {number}\\nended 0 1\\nreaped 32512 0 0 0 0\\n")
while os.read(command, 4096):
    pass
"""


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_check_that_lacks_a_process_is_no_failure(number: int, tmp_path: Path) -> None:
    text = REFUSED_WITNESS.format(python=sys.executable, number=number)
    refused = write_program(tmp_path / "witness", text)
    with pytest.raises(ShortageError, match=f"cannot be started: {os.strerror(number)}"):
        check_failure_of(("true",), "", {}, refused)


def written(file: Path) -> list[int]:
    return [int(number) for number in file.read_text().split()] if file.exists() else []


# Itself, a child, and one that leaves for a session of its own.
LINGERS = (
    "echo $$ >> FILE; sleep 600 & echo $! >> FILE; setsid sh -c 'echo $$ >> FILE; sleep 600' & "
)


def lingering(file: Path, then: str) -> tuple[str, ...]:
    return "/bin/sh", "-c", (LINGERS + then).replace("FILE", str(file))


def test_nothing_that_a_check_has_started_outlives_it_or_its_time(tmp_path: Path) -> None:
    good, late = tmp_path / "good", tmp_path / "late"
    waits = "while [ $(wc -l < FILE) -lt 3 ]; do sleep 0.01; done"
    assert check_failure(*lingering(good, waits)) == ""
    wait_until_gone(written(good))
    # It may be ended before it has started all.
    for limit_s in (1.0, 4.0, 16.0, 64.0):
        late.unlink(missing_ok=True)
        why = check_failure(*lingering(late, "wait"), limit_s=limit_s)
        assert why.endswith(f"did not end within {limit_s:g} s")
        if len(written(late)) == 3:
            break
    assert [len(written(file)) for file in (good, late)] == [3, 3]
    wait_until_gone(written(late))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_check_does_not_outlive_pinstudy(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    asks = (
        "import os, sys; from pathlib import Path;"
        "from pinstudy.runners.execution.collectors import check_failure_of;"
        "check_failure_of(sys.argv[2:], '', os.environ, Path(sys.argv[1]))"
    )
    asking = subprocess.Popen(
        [sys.executable, "-c", asks, str(witness()), *lingering(file, "wait")],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: len(written(file)) >= 3)
    asking.send_signal(number)
    asking.wait()
    wait_until_gone(written(file))
