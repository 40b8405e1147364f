"""A folder that is all of the PATH, for commands that tests put there."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the PATH."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder
