"""The simulation of the verdict's statistics prints all its tables, and the same ones again."""

from __future__ import annotations

import re

from click.testing import CliRunner

from benchmarks.noise.__main__ import TABLES, main


def printed(*options: str) -> str:
    done = CliRunner().invoke(main, options, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_every_table_has_its_rows() -> None:
    text = printed("--studies", "2")
    sections = text.split("### ")[1:]
    assert [section.partition("\n")[0] for section in sections] == [of[0] for of in TABLES.values()]
    for section in sections:
        rows = [line for line in section.splitlines() if line.startswith("| ")]
        assert len(rows) > 4
        assert len({line.count("|") for line in rows}) == 1


def test_the_same_seed_gives_the_same_figures() -> None:
    once, again = (printed("--studies", "20", "--only", "boots") for _ in range(2))
    assert once == again
    assert re.search(r"seed 20; a share of 5 % is known to ±9\.6", once)
