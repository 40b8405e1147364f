"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import leftovers
from tests.support.isolation import own_node

# Limits of the summary of a failed test: lines of reasons, and characters of a line.
MAX_REASONS = 4
MAX_CHARACTERS = 300

# Tests that root starts by sudo test pinstudy as root.
for name in ("SUDO_UID", "DOAS_USER", "PKEXEC_UID"):
    os.environ.pop(name, None)

# A shell's background job ignores SIGINT, and so would every program that a test starts and stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# nohup ignores SIGHUP. The tests still do so, but by a handler, which programs do not inherit.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples each time, and give each process of tests a node of its own."""
    # `make test-properties` gives a seed, for other examples. A busy node would miss a deadline.
    same = config.getoption("--hypothesis-seed") is None
    settings.register_profile("pinstudy", deadline=None, derandomize=same)
    settings.load_profile("pinstudy")
    at_end = ExitStack()
    at_end.enter_context(own_node())
    config.add_cleanup(at_end.close)


@pytest.fixture(autouse=True)
def _no_leftovers() -> Iterator[None]:
    """Fail a test that leaves a process, a thread or an open file."""
    # Objects that are older than the test need no search for leftovers.
    gc.freeze()
    before = leftovers.held()
    yield
    gc.collect()
    left = leftovers.held() - before
    if description := leftovers.describe(left):
        leftovers.close(left)
        pytest.fail(description, pytrace=False)


@pytest.fixture
def at_end() -> Iterator[ExitStack]:
    """A stack of contexts that closes after the test, also when it fails."""
    with ExitStack() as stack:
        yield stack


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record a failed test for tools/test.sh, which lists them at its end."""
    _record_failure(report, f"{report.nodeid} ({report.when})")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Record a file of tests that could not be read."""
    _record_failure(report, f"{report.nodeid} (collection)")


def _record_failure(report: pytest.TestReport | pytest.CollectReport, title: str) -> None:
    file_name = os.environ.get("PINSTUDY_FAILED_TESTS")
    # What fails in a worker is reported by the process that started it, too.
    if file_name and report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        reasons = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        with Path(file_name).open("a", encoding="utf-8") as file:
            for line in (title, *reasons[:MAX_REASONS]):
                file.write(f"{line[:MAX_CHARACTERS]}\n")
