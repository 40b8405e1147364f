"""All that the report tells of a study of known effects, beside what was published."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.affinity.contention import contention, contention_sections
from analysis.affinity.pingpong import exchanges, pingpong_section
from analysis.affinity.section import Section
from analysis.affinity.smt import sharing, smt_section
from analysis.affinity.team import team_section, teams
from analysis.affinity.timed_cases import SMT
from analysis.published import names
from analysis.published.affinity import published_of
from analysis.results.sources import open_results
from base.errors import UserError
from tests.analysis.affinity.opened import opened


def written(section: Section) -> str:
    titles = [column.title for column in section.table.columns]
    rows = [" | ".join(row) for row in (titles, *section.table.cells)]
    notes = [text for _, text in section.table.notes]
    return "\n".join([f"# {section.title}", *rows, *notes])


def test_all_that_is_told_of_a_study(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    results, findings = opened(tmp_path)

    sections = [
        section
        for found in contention(results, findings)
        for section in contention_sections(found, 0.01)
    ]
    sections += [smt_section(one) for one in sharing(results, findings)]
    sections += [pingpong_section(one) for one in exchanges(results, findings)]
    sections.append(team_section(teams(results, findings)))

    assert "\n".join(map(written, sections)) == snapshot


def test_times_are_published_for_arrays_of_the_published_length_only() -> None:
    short = published_of(SMT, "sin-quick", "siblings")

    assert short and (short.alone_ms, short.time_ms, short.slowdown) == (None, None, 1.75)


def test_what_was_published_is_no_results_of_their_own() -> None:
    assert not [name for name in names() if "affinity" in name]
    with pytest.raises(UserError, match="not known"):
        open_results("published:affinity")
