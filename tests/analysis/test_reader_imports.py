"""The reader of a results folder needs the records, and not what made them."""

from __future__ import annotations

import subprocess
import sys

MOST_MODULES = 15


def test_a_reader_of_results_loads_few_modules_of_the_runners() -> None:
    code = (
        "import sys; import analysis.records.runs, analysis.results.sources; "
        "print(*(name for name in sys.modules if name.split('.')[0] == 'runners'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "runners.records.reader" in loaded
    assert len(loaded) <= MOST_MODULES, loaded
