"""The reader of a results folder needs the records, and not what made them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.results import Study, write
from tests.support.tools import ROOT

MOST_MODULES = 16


def test_a_reader_of_results_loads_few_modules_of_the_runners() -> None:
    code = (
        "import sys; import analysis.records.runs, analysis.results.sources; "
        "print(*(name for name in sys.modules if name.split('.')[0] == 'runners'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "runners.records.reader" in loaded
    assert len(loaded) <= MOST_MODULES, loaded


@pytest.mark.parametrize("command", ["verdict", "tables"])
def test_what_shows_no_intervals_of_means_waits_for_no_bootstrap(
    tmp_path: Path, command: str
) -> None:
    write(tmp_path, Study({"unpinned": 1.0, "pcores-pin": 0.9, "ecores-set": 1.4}).records())
    code = (
        "import sys; from pinstudy.cli import group; "
        f"group.main([{command!r}, {str(tmp_path)!r}], standalone_mode=False); "
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = done.stdout.splitlines()[-1].split()
    assert "analysis.results.sources" in imported
    assert "scipy.stats" not in imported
