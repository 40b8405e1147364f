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
from tests.support.isolation import loopback_up, worker

# How many of the lines that say why a test failed are kept for the end, and how much of a line.
KEPT_REASONS = 4
KEPT_OF_LINE = 300

# Tests that root starts by sudo test what root does.
for name in ("SUDO_UID", "DOAS_USER", "PKEXEC_UID"):
    os.environ.pop(name, None)

# A shell's background job ignores SIGINT, and so would every program that a test starts and stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# nohup has SIGHUP ignored; so it stays for the tests themselves, but programs inherit no handlers.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples each time, and part xdist's workers: each may run a study."""
    # Others are for `make test-properties`, which gives a seed. A busy node would fail a deadline.
    same = config.getoption("--hypothesis-seed") is None
    settings.register_profile("pinstudy", deadline=None, derandomize=same)
    settings.load_profile("pinstudy")
    if "PYTEST_XDIST_WORKER" in os.environ:
        loopback_up()
    elif getattr(config.option, "tx", None):
        if os.geteuid() != 0:
            raise pytest.UsageError("workers (-n) need root: a node measures one study at a time")
        config.option.tx = [worker()] * len(config.option.tx)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Fail the test that leaves a process, a thread or an open file, and not the next one."""
    # What is older than the test need not be looked through again for what it has forgotten.
    gc.freeze()
    before = leftovers.held()
    yield
    gc.collect()
    left = leftovers.held() - before
    if told := leftovers.describe(left):
        leftovers.close(left)
        pytest.fail(told, pytrace=False)


@pytest.fixture
def at_end() -> Iterator[ExitStack]:
    """What a test enters here is closed when it has ended, also where it fails."""
    with ExitStack() as stack:
        yield stack


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what failed for tools/test.sh, which tells it once more after all that follows."""
    _keep(report, f"{report.nodeid} ({report.when})")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Keep which file of tests could not be read."""
    _keep(report, f"{report.nodeid} (collection)")


def _keep(report: pytest.TestReport | pytest.CollectReport, what: str) -> None:
    kept_in = os.environ.get("PINSTUDY_FAILED_TESTS")
    if kept_in and report.failed:
        reasons = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        with Path(kept_in).open("a", encoding="utf-8") as file:
            for line in (what, *reasons[:KEPT_REASONS]):
                file.write(f"{line[:KEPT_OF_LINE]}\n")
