"""A study whose results a command checks, as a user meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runners.records.reader import read_records
from tests.support.cli import pinstudy

APP = """\
# A program that counts its runs, the third of which fails
title: a count
variants:
  plain: {program: ./count.sh, runtime: none}
sizes:
  default: {arguments: '', estimate: 1 ms}
check: {command: [./verify.sh, checked]}
limit: 5 s
"""
PROGRAM = """\
#!/bin/sh
echo run >> runs
wc -l < runs
[ $(wc -l < runs) -ne 3 ]
"""
# The second result is a wrong one.
VERIFY = """\
#!/bin/sh
read result
echo "$result $LC_ALL" >> "$1"
[ $result -ne 2 ] || { echo "2 is wrong" >&2; exit 4; }
"""
STUDY = """\
# A study for tests
title: counts
apps:
  - {app: count, variants: plain, sizes: default, threads: 1}
mappings: scheduler
governors: current
repetitions: 3
warmup: 1
collect: energy
"""


def test_a_run_whose_result_the_command_refuses_is_no_good_run(tmp_path: Path) -> None:
    for name, text in (("count.sh", PROGRAM), ("verify.sh", VERIFY)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps/count.yaml").write_text(APP)
    (tmp_path / "counts.yaml").write_text(STUDY)

    done = pinstudy(tmp_path, "run", "counts.yaml", "--results", "results")

    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = [
        record for shards in tmp_path.glob("results/*/*/records") for record in read_records(shards)
    ]
    assert [(record["status"], record["reason"]) for record in found] == [
        ("ok", ""),
        (
            "check-failed",
            "the check './verify.sh checked' ended with exit status 4: 2 is wrong",
        ),
        # Nobody asks what a run that has failed anyway has printed.
        ("failed", "exit status 1"),
        ("ok", ""),
    ]
    assert (tmp_path / "checked").read_text() == "1 C\n2 C\n4 C\n"
