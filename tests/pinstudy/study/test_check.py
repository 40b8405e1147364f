"""A study whose results a command checks, as a user meets it."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import pinstudy
from tests.support.studies import records, write_app, write_program, write_study

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


def test_a_run_whose_result_the_command_refuses_is_no_good_run(tmp_path: Path) -> None:
    program = write_program(tmp_path / "count.sh", PROGRAM)
    write_program(tmp_path / "verify.sh", VERIFY)
    check = {"command": ["./verify.sh", "checked"]}
    write_app(tmp_path, "count", program, {"default": {"arguments": ""}}, check=check)
    write_study(tmp_path, "counts", "count", "default", repetitions=3, warmup=1, collect="energy")

    pinstudy(tmp_path, "run", "counts.yaml", status=0)
    assert [(record["status"], record.get("reason", "")) for record in records(tmp_path)] == [
        ("ok", ""),
        (
            "check-failed",
            "the check './verify.sh checked' ended with exit status 4: 2 is wrong",
        ),
        # The output of a run that has failed is not checked.
        ("failed", "exit status 1"),
        ("ok", ""),
    ]
    assert (tmp_path / "checked").read_text() == "1 C\n2 C\n4 C\n"
