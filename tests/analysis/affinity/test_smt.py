"""How much slower a thread is beside another one: made-up results whose ratios are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.affinity.section import lacking
from analysis.affinity.smt import Sharing, sharing, smt_section
from analysis.affinity.timed_cases import Row
from tests.analysis.affinity.made_results import Affinity
from tests.analysis.affinity.opened import opened, opened_records
from tests.analysis.report.made_results import DIGEST
from tests.support.results import notes_of

STUDY = Affinity(apps=("smt",))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> list[Sharing]:
    return sharing(*opened(tmp_path_factory.mktemp("study"), STUDY))


def pairs(study: list[Sharing], size: str) -> dict[str, Row]:
    (found,) = [one for one in study if one[0].measured.case.summary.key.table.size == size]
    return {row.measured.case.mapping: row for row in found if row.measured.threads > 1}


def test_slowdowns_are_those_that_were_made(study: list[Sharing]) -> None:
    found = {
        mapping: row.against.difference.ratio
        for mapping, row in pairs(study, "sin").items()
        if row.against
    }

    assert found == pytest.approx(
        {
            "unpinned": 1.0,
            "pcores-pin-program": 1.0,
            "siblings-pin-program": 1.8,
            "same-cluster-pin-program": 1.05,
            # 750 ms against the mean of 500 and 1000 ms.
            "across-kinds-pin-program": 1.0,
            "same-cpu-pin-program": 2.0,
        },
        rel=0.004,
    )


def test_without_the_node_s_file_only_the_same_selection_is_surely_of_one_kind(
    tmp_path: Path,
) -> None:
    results, findings = opened(tmp_path, STUDY)
    (tmp_path / "nodes" / f"{DIGEST}.json").unlink()

    (sines, _) = sharing(results, findings)

    compared = {row.measured.case.mapping for row in sines if row.against}
    assert compared == {"unpinned", "pcores-pin-program"}
    assert any(
        "no comparable run of one thread" in note for note in notes_of(smt_section(sines).table)
    )


def test_a_case_that_lost_runs_to_placement_is_not_compared_for_that_reason(tmp_path: Path) -> None:
    records = list(STUDY.records())
    case = [r for r in records if r["case_id"] == "smt-sin-2-siblings-pin-program"]
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    records += [r | lost | {"repetition": r["repetition"] + 20} for r in case[:3]]
    results, findings = opened_records(tmp_path, records)

    (sines, _) = sharing(results, findings)

    assert pairs([sines], "sin")["siblings-pin-program"].against is None
    assert "no comparable run" not in " ".join(notes_of(smt_section(sines).table))
    (text,) = lacking(findings, "smt")
    assert text.startswith("not compared: 3 of 13 runs of #")
    assert "siblings-pin-program violated the placement" in text
