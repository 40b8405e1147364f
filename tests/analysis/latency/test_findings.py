"""What latencies say: ranges of the kernel's groups, nearest partners, teams; as text and data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.latency.findings import LatencyFindings, Team, latency_findings
from analysis.latency.reading import read_latency
from analysis.latency.report import findings_data, latency_tables, mappings
from analysis.output import latency_text, write_latency
from pinstudy.output import print_json
from tests.analysis.latency.made_latency import (
    PLANTED,
    Planted,
    content_of,
    every,
    write_latency_file,
)
from tests.support.results import notes_of


def findings_of(folder: Path, planted: Planted, **options: Any) -> LatencyFindings:  # noqa: ANN401
    return found_in(folder, content_of(planted, **options))


def found_in(folder: Path, content: dict[str, Any]) -> LatencyFindings:
    return latency_findings(read_latency(write_latency_file(folder, content)))


def text_of(findings: LatencyFindings) -> str:
    """Return what stands under the tables."""
    return "\n".join(note for table in latency_tables(findings) for note in notes_of(table))


def medians_of(findings: LatencyFindings) -> dict[tuple[str, int, int], float]:
    """Return the median of each group, by its names, its number of CPUs, and its first one."""
    return {
        ("; ".join(group.kernel.names), len(group.kernel.cpus), group.kernel.cpus[0]): (
            round(group.range.median_ns, 1)
        )
        for group in findings.groups
        if group.range is not None
    }


def near(ns: float) -> Any:  # noqa: ANN401 - what pytest.approx returns
    return pytest.approx(ns, rel=0.05)


def team(findings: LatencyFindings, name: str) -> Team:
    return next(found for found in findings.teams if found.names[0] == name)


def test_each_group_has_the_range_of_its_pairs_that_no_smaller_group_has(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["hybrid"])

    assert medians_of(findings) == {
        ("L3; package; NUMA node", 32, 0): near(40.0),
        ("P-cores", 16, 0): near(32.0),
        ("E-cores", 16, 16): near(48.0),
        **{("L2", 4, first): near(28.0) for first in (16, 20, 24, 28)},
        **{("SMT siblings; L2", 2, first): near(6.0) for first in range(0, 16, 2)},
    }
    p_cores = findings.groups[1]
    # 16 x 15 / 2 pairs, without those of 8 pairs of siblings.
    assert p_cores.pairs == 112
    assert p_cores.range is not None
    assert p_cores.range.measured == 112
    assert p_cores.range.least_ns <= p_cores.range.median_ns <= p_cores.range.most_ns


def test_modules_that_are_no_nearer_have_the_numbers_of_those_around(tmp_path: Path) -> None:
    medians = medians_of(findings_of(tmp_path, PLANTED["hybrid-denied"]))

    modules = [medians["L2", 4, first] for first in (16, 20, 24, 28)]
    assert [*modules, medians["E-cores", 16, 16]] == [near(50.0)] * 5


def test_packages_and_siblings_have_theirs_and_all_pairs_beyond_stand_first(
    tmp_path: Path,
) -> None:
    findings = findings_of(tmp_path, PLANTED["packages"])

    assert medians_of(findings) == {
        ("all measured", 32, 0): near(130.0),
        ("package; NUMA node", 16, 0): near(50.0),
        ("package; NUMA node", 16, 8): near(50.0),
        **{("SMT siblings", 2, first): near(8.0) for first in range(16)},
    }


def test_unmeasured_pairs_are_counted_and_have_no_number(tmp_path: Path) -> None:
    medians = PLANTED["modules"].ns()
    medians[:4, :4] = np.nan
    medians[4, 5] = medians[5, 4] = np.nan

    findings = findings_of(tmp_path, PLANTED["modules"], medians=medians)

    cells = {row[2]: row[3:] for row in latency_tables(findings)[0].cells}
    assert cells["0-3"] == ("0 of 6", "-", "-")
    assert cells["4-7"][0] == "5 of 6"
    assert cells["8-11"][0] == "6 of 6"
    assert "made missing for a test" in text_of(findings)


def test_partners_are_on_another_core_and_siblings_are_named_apart(tmp_path: Path) -> None:
    medians = PLANTED["smt"].ns()
    medians[0, 5] = medians[5, 0] = 20.0

    first = findings_of(tmp_path, PLANTED["smt"], medians=medians).partners[0]

    assert [partner.cpu for partner in first.siblings] == [8]
    assert first.nearest is not None
    assert first.nearest.cpu == 5
    assert first.as_near == ()


def test_partners_that_cannot_be_told_apart_are_as_near(tmp_path: Path) -> None:
    partners = findings_of(tmp_path, PLANTED["alike"], spread=0.05).partners

    assert np.median([len(row.as_near) for row in partners]) >= 5


def test_a_far_partner_is_told_from_a_near_one_in_95_of_100_cases(tmp_path: Path) -> None:
    planted = Planted(4, 60.0, ((every(0, 2), 40.0), (every(2, 4), 40.0)))
    wrong = 0
    for seed in range(60):
        for row in findings_of(tmp_path, planted, spread=0.05, seed=seed).partners:
            wrong += row.nearest is None or row.nearest.cpu != row.cpu ^ 1 or bool(row.as_near)
    assert wrong <= 0.05 * 240


def test_of_two_pairs_alike_few_are_told_apart(tmp_path: Path) -> None:
    apart = 0
    for seed in range(100):
        row = findings_of(tmp_path, Planted(3, 60.0), spread=0.05, seed=seed).partners[0]
        apart += not row.as_near
    # Four runs below four others: 2 of 70 ways; 8 or more of 100 are one in a hundred.
    assert apart < 8


def test_teams_take_one_cpu_a_core_and_the_nearest_group_of_a_name(tmp_path: Path) -> None:
    medians = PLANTED["hybrid"].ns()
    medians[20:24, 20:24] = np.where(np.isnan(medians[20:24, 20:24]), np.nan, 20.0)

    findings = findings_of(tmp_path, PLANTED["hybrid"], medians=medians)

    assert [len(found.cpus) for found in findings.teams] == [2, 4, 8, 16, 24]
    assert {*team(findings, "nearest pair").cpus} < {20, 21, 22, 23}
    modules = team(findings, "L2")
    assert (modules.cpus, modules.among, modules.kinds) == ((20, 21, 22, 23), 4, ("E",))
    assert modules.range.median_ns == near(20.0)
    assert team(findings, "P-cores").cpus == (0, 2, 4, 6, 8, 10, 12, 14)
    assert team(findings, "L3").cpus == (*range(0, 16, 2), *range(16, 32))
    assert modules.environment == (
        'OMP_PLACES="{20},{21},{22},{23}" OMP_PROC_BIND=close OMP_NUM_THREADS=4'
    )
    title = dict(mappings(findings))
    assert any(text.startswith("4 threads, L2 (E), nearest of 4: 2") for text in title)
    assert "core kinds differ in speed, too (P, E)" in text_of(findings)


def test_siblings_whose_numbers_are_far_apart_make_one_place(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["smt"])

    assert team(findings, "package").cpus == tuple(range(8))


def test_no_team_has_a_cpu_of_which_no_pair_was_measured(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=range(4))
    content["left_out"] = [{"cpus": [0, 9], "reason": "the kernel refused CPU 9"}]

    findings = found_in(tmp_path, content)

    assert findings.teams
    assert not any(9 in found.cpus for found in findings.teams)
    assert not any("{9}" in environment for _, environment in mappings(findings))


def test_one_core_has_no_team(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["smt"], cpus=(0, 8))

    assert findings.teams == []
    assert "one core was measured" in text_of(findings)
    assert [row.nearest for row in findings.partners] == [None, None]


def test_a_busy_node_is_reported(tmp_path: Path) -> None:
    content = content_of(PLANTED["two"])
    quiet = found_in(tmp_path, content)
    content["pairs"][0]["runs"][1]["switched"] = 3
    busy = found_in(tmp_path, content)

    assert [findings_data(found)["switched"] for found in (quiet, busy)] == [0, 3]
    assert "switched out" not in text_of(quiet)
    assert "threads were switched out 3 times" in text_of(busy)


def test_a_disturbed_pair_is_named(tmp_path: Path) -> None:
    medians = PLANTED["complexes"].ns()
    medians[3, 12] = medians[12, 3] = 4000.0

    text = text_of(findings_of(tmp_path, PLANTED["complexes"], medians=medians, spread=0.0001))

    assert "over a third CPU: CPUs 3, 12 (" in text


def test_of_many_reasons_for_pairs_left_out_the_rest_is_counted(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=[0, 1])
    content["left_out"] = [{"cpus": [0, n], "reason": f"CPU {n} went away"} for n in range(2, 7)]

    assert (
        "left out: 5 pairs: CPU 2 went away; CPU 3 went away; CPU 4 went away and 2 more"
        in text_of(found_in(tmp_path, content))
    )


def test_of_a_large_server_the_largest_groups_are_printed_and_the_rest_counted(
    tmp_path: Path,
) -> None:
    content = content_of(PLANTED["server"], samples=1, addresses=1)

    findings = found_in(tmp_path, content)

    medians = medians_of(findings)
    assert medians["all measured", 256, 0] == near(180.0)
    assert medians["package; NUMA node", 128, 64] == near(90.0)
    assert medians["L3", 16, 120] == near(25.0)
    # All, two packages, 16 caches, 128 cores.
    assert len(findings.groups) == 147
    first, second = latency_tables(findings)
    assert (len(first.cells), len(second.cells)) == (64, 64)
    assert "the first 64 of 147; the others: --json" in text_of(findings)


@pytest.mark.parametrize("name", ["two", "alike", "hybrid", "hybrid-denied", "packages"])
def test_findings_are_json_that_any_program_reads(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = PLANTED[name]
    medians = planted.ns()
    medians[0, 1] = medians[1, 0] = 4000.0

    print_json(findings_data(findings_of(tmp_path, planted, medians=medians)))

    data = json.loads(capsys.readouterr().out)
    assert len(data["pairs"]) == planted.cpus * (planted.cpus - 1) // 2
    assert [row["cpu"] for row in data["partners"]] == every(0, planted.cpus)
    assert data["disturbed"] == ([[0, 1]] if planted.cpus > 2 else [])
    assert all(mapping["environment"].startswith("OMP_PLACES=") for mapping in data["mappings"])
    assert sum(group["pairs"] for group in data["groups"]) == len(data["pairs"])
    assert data["groups"][0]["range"]["measured"] == data["groups"][0]["pairs"]


def test_text_has_every_table_and_every_mapping(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["hybrid"])

    text = latency_text(findings)

    for table in latency_tables(findings):
        assert table.caption in text
    for title, environment in mappings(findings):
        assert f"{title}:\n  {environment}" in text


def test_files_are_written_beside_each_other(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["smt"])

    files = write_latency(findings, tmp_path / "out")

    names = [file.name for file in files]
    assert names == ["pairs.csv", "latency.svg", "latency.pdf", "latency.png"]
    # A line of names, one of both directions a pair, one each direction.
    assert len(files[0].read_text().splitlines()) == 1 + 120 * 3
