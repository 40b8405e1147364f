"""A study of real processes for tests that disturb it, and what must hold in any case.

Its program logs each start, so that the number of starts can be compared with the records.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.status import FINAL
from tests.support.cli import argv
from tests.support.processes import alive
from tests.support.studies import write_app, write_program, write_study
from tests.support.wait import HANG_S, until


class Trial:
    """A study in a folder of its own, with its results, and the commands that run it."""

    def __init__(self, folder: Path, repetitions: int, nap_s: float = 0.02) -> None:
        self.folder = folder
        held = f"while [ -e {folder}/hold ]; do sleep 0.02; done"
        script = f"#!/bin/sh\necho $$ >>{folder}/starts\n{held}\nexec sleep {nap_s}\n"
        program = write_program(folder / "nap", script)
        sizes = {"short": {"arguments": [], "estimate": "20 ms"}}
        write_app(folder, "nap", program, sizes, timeout="20 s")
        study = {"mappings": ["unpinned"], "governors": "current", "repetitions": repetitions}
        write_study(folder, "trial", "nap", "short", **study, warmup=1)
        self.runs = repetitions + 1

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        """Start `pinstudy run`, or another command; stdout is discarded."""
        return subprocess.Popen(
            argv(*(command or ("run", "trial.yaml"))),
            cwd=self.folder,
            env=os.environ | {"PINSTUDY_RESULTS": str(self.folder / "results")} | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hold(self) -> None:
        """Let no run end until `release`."""
        (self.folder / "hold").touch()

    def release(self) -> None:
        (self.folder / "hold").unlink(missing_ok=True)

    def wait_for(self, runner: subprocess.Popen[str]) -> tuple[int, str]:
        """Wait for a command; return its exit status and its stderr."""
        _, err = runner.communicate(timeout=HANG_S)
        return runner.returncode, err

    def run(self, **variables: str) -> tuple[int, str]:
        """Run the study, or continue it, and wait for it."""
        return self.wait_for(self.start(**variables))

    @property
    def records_folder(self) -> Path:
        """The folder of records, also before the first run."""
        folders = list(self.folder.glob("results/trial/*/records"))
        return folders[0] if folders else self.folder / "none"

    def final_runs(self) -> list[dict[str, Any]]:
        """Return the records of the runs that are final."""
        records = read_records(self.records_folder)
        return [record for record in records if record["status"] in FINAL]

    def starts(self) -> int:
        """Return how often the program was started."""
        path = self.folder / "starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def wait_for_start_after(self, starts: int) -> None:
        """Wait until the program was started more than `starts` times."""
        until(lambda: self.starts() > starts)

    def assert_none_twice(self) -> None:
        """Assert that no run was made twice, and that all are good."""
        runs = self.final_runs()
        keys = [(record["warmup"], record["repetition"]) for record in runs]
        assert len(keys) == len(set(keys))
        assert {record["status"] for record in runs} <= {"ok"}

    def assert_complete(self) -> None:
        """Assert that every run was made once."""
        self.assert_none_twice()
        assert len(self.final_runs()) == self.runs

    def assert_no_process_left(self) -> None:
        """Wait until no process has the study's environment."""
        until(lambda: not self.processes())

    def processes(self) -> list[str]:
        """Return the processes of the study: its folder is in their variables."""
        mark = f"PINSTUDY_RESULTS={self.folder}".encode()
        processes = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                mine = mark in (path / "environ").read_bytes()
                text = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if mine and alive(int(path.name)):
                processes.append(f"{path.name}: {text}")
        return processes
