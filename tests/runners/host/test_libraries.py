"""What the loader would give a program is asked of ldd."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.host.program_files import loaded_libraries
from tests.support.tools import need_tool

# An ldd that is killed so many times before it answers.
LDD = """#!/bin/sh
kills=$(cat "$0.kills")
[ "$kills" -gt 0 ] || { echo "	libomp.so.5 => /lib/libomp.so.5 (0x00007f1c)"; exit 0; }
echo $((kills - 1)) >"$0.kills"
kill -9 $$
"""


@pytest.mark.parametrize(
    ("kills", "answer"),
    [
        (0, {"libomp.so.5": Path("/lib/libomp.so.5")}),
        (1, {"libomp.so.5": Path("/lib/libomp.so.5")}),
        (2, "ldd could not be asked"),
    ],
)
def test_an_ldd_that_was_killed_is_asked_once_more(
    tmp_path: Path, kills: int, answer: dict[str, Path] | str
) -> None:
    ldd = tmp_path / "ldd"
    ldd.write_text(LDD)
    ldd.chmod(0o755)
    (tmp_path / "ldd.kills").write_text(str(kills))
    path = f"{tmp_path}:{Path(need_tool('cat')).parent}"

    assert loaded_libraries(Path("/bin/true"), {"PATH": path}) == answer
