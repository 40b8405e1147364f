"""The node whose settings most tests change: four CPUs with a policy each, and turbo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pinstudy.runners.settings.journal import unlock_state
from tests.support.machines import INTEL, PSTATE, policy
from tests.support.trees import Machine, build_tree, singles

NODE = Machine(singles("0-3"), policies={"0-3": policy(3000000)}, block=INTEL, files=PSTATE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build_tree(tmp_path, NODE)


@pytest.fixture(autouse=True)
def no_lock_is_kept() -> Iterator[None]:
    """Give up the lock of root's journals, as the end of a process does."""
    yield
    unlock_state()
