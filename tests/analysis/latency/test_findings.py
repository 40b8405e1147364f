"""What latencies say: agreement with the kernel, partners, orders, in sentences and tables."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.latency.partners import NEXT, PAIRS, Team, find_partners, find_teams
from analysis.latency.reading import read_latency
from analysis.latency.report import LatencyFindings, findings_data, latency_findings
from analysis.output import latency_text, write_latency
from analysis.statistics.sample import Interval
from pinstudy.output import print_json
from tests.analysis.latency.made_latency import (
    PLANTED,
    Array,
    Planted,
    content_of,
    every,
    noisy,
    write_latency_file,
)
from tests.support.results import notes_of


def findings_of(folder: Path, planted: Planted, **options: Any) -> LatencyFindings:  # noqa: ANN401
    return latency_findings(
        read_latency(write_latency_file(folder, content_of(planted, **options)))
    )


def text_of(findings: LatencyFindings) -> str:
    """Return what stands under the tables."""
    return "\n".join(note for table in findings.tables for note in notes_of(table))


def groups_in(findings: LatencyFindings) -> list[tuple[str, ...]]:
    """Return level, number, what the kernel says and outcome of the groups."""
    tables = [table for table in findings.tables if table.caption.startswith("Clusters")]
    return [(row[0], row[1], *row[5:]) for table in tables for row in table.cells]


def team(teams: list[Team] | tuple[Team, ...], how: str, threads: int) -> Team:
    return next(one for one in teams if (one.how, len(one.cpus)) == (how, threads))


def ring(n: int) -> Array:
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return np.asarray(40.0 + 4.0 * np.minimum(steps, n - steps))


@pytest.mark.parametrize(
    ("planted", "structure", "groups"),
    [
        pytest.param(
            PLANTED["packages"],
            "agrees",
            [
                ("1", "16", "SMT siblings", "found"),
                ("2", "2", "package, NUMA node", "found"),
            ],
            id="clusters that the kernel tells",
        ),
        pytest.param(
            PLANTED["hybrid-denied"],
            "differs",
            [
                ("1", "8", "SMT siblings, L2", "found"),
                ("2", "1", "all P-cores", "found"),
                ("-", "4", "L2", "no nearer than to those around"),
            ],
            id="modules that are no nearer",
        ),
        pytest.param(
            Planted(12, 70.0, ((every(0, 4), 30.0), (every(4, 8), 30.0))),
            "unnamed",
            [("1", "2", "-", "no such group")],
            id="a cluster that the kernel does not know",
        ),
        pytest.param(PLANTED["alike"], "alike", [], id="equal CPUs"),
        pytest.param(PLANTED["two"], "one pair", [], id="two cores"),
    ],
)
def test_the_kernels_topology_is_compared_with_the_measurements(
    tmp_path: Path, planted: Planted, structure: str, groups: list[tuple[str, ...]]
) -> None:
    findings = findings_of(tmp_path, planted)

    assert findings.structure == structure
    assert groups_in(findings) == groups


def test_the_kernels_groups_that_are_no_clusters_have_their_latencies(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["hybrid-denied"])

    lacking = [group for group in findings.groups if group.outcome != "found"]
    assert [group.cpus for group in lacking] == [tuple(every(n, n + 4)) for n in (16, 20, 24, 28)]
    for group in lacking:
        assert group.within_ns == pytest.approx(50.0, rel=0.05)
        assert group.outside_ns == pytest.approx(40.0, rel=0.05)
    assert "the kernel's groups agree in part: 8 of 12 found" in text_of(findings)


def test_a_group_of_which_the_kernel_says_too_much_names_the_cluster(tmp_path: Path) -> None:
    l3 = every(0, 8), every(8, 16)
    planted = Planted(16, 80.0, ((every(0, 7), 25.0), (every(8, 16), 25.0)), l3=l3)

    findings = findings_of(tmp_path, planted)

    assert ("-", "1", "L3", "the cluster is 0-6") in groups_in(findings)


def test_two_cores_have_no_order_and_what_was_published_beside(tmp_path: Path) -> None:
    text = text_of(findings_of(tmp_path, PLANTED["two"]))

    assert "two cores leave no order to choose" in text
    assert "15.5 to 16.6 million/s (+7.1 %)" in text
    assert "quoted at second hand; the original was not seen" in text


def test_differences_without_groups_are_not_called_noise(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["alike"], medians=ring(24), spread=0.005)

    assert findings.structure == "no group"
    assert "no group stands apart" in text_of(findings)


def test_few_pairs_have_the_kernels_nearness_and_no_clusters(tmp_path: Path) -> None:
    medians = PLANTED["hybrid"].ns()
    medians[np.random.default_rng(1).random(medians.shape) < 0.5] = np.nan
    medians = medians + 0 * medians.T

    findings = findings_of(tmp_path, PLANTED["hybrid"], medians=medians)

    assert findings.structure == "too few pairs"
    nearness = {(row[0], row[1]): float(row[3]) for row in findings.tables[1].cells}
    assert nearness["SMT siblings", "P"] == pytest.approx(6.0, rel=0.1)
    assert nearness["one L2", "E"] == pytest.approx(28.0, rel=0.1)
    assert nearness["one L3", "P and E"] == pytest.approx(40.0, rel=0.1)


def test_partners_are_on_another_core_and_siblings_are_named_apart(tmp_path: Path) -> None:
    medians = PLANTED["smt"].ns()
    medians[0, 5] = medians[5, 0] = 20.0

    findings = findings_of(tmp_path, PLANTED["smt"], medians=medians)

    first = findings.partners[0]
    assert [partner.cpu for partner in first.siblings] == [8]
    assert first.best is not None
    assert first.best.cpu == 5
    assert first.tied == ()
    assert first.runner_up is not None
    assert first.runner_up.ns == pytest.approx(40.0, rel=0.1)


def test_partners_that_cannot_be_told_apart_are_tied(tmp_path: Path) -> None:
    latency = read_latency(write_latency_file(tmp_path, content_of(PLANTED["alike"], spread=0.05)))

    tied = [len(one.tied) for one in find_partners(latency)]

    assert np.median(tied) >= 5


def test_a_far_partner_is_told_from_a_near_one_in_95_of_100_cases(tmp_path: Path) -> None:
    planted = Planted(4, 60.0, ((every(0, 2), 40.0), (every(2, 4), 40.0)))
    wrong = 0
    for seed in range(60):
        content = content_of(planted, spread=0.05, seed=seed)
        for one in find_partners(read_latency(write_latency_file(tmp_path, content))):
            wrong += one.best is None or one.best.cpu != one.cpu ^ 1 or bool(one.tied)
    assert wrong <= 0.05 * 240


def test_an_order_that_follows_a_hidden_line_gains_and_is_printed(tmp_path: Path) -> None:
    places = np.random.default_rng(2).permutation(8)
    line = 30.0 + 8.0 * np.abs(np.subtract.outer(places, places)).astype(float)
    findings = findings_of(tmp_path, Planted(8, 60.0), medians=line)

    best = team(findings.teams, NEXT, 8)

    steps = np.abs(np.diff([places[cpu] for cpu in best.cpus]))
    assert steps.tolist() == [1] * 7
    assert best.gains
    # Neighbours are 38 ns apart; in numerical order they are as far as the line was scrambled.
    numerical = np.mean([line[cpu, cpu + 1] for cpu in range(7)])
    assert best.gain == pytest.approx(numerical / 38.0, rel=0.03)
    listed = ",".join(f"{{{cpu}}}" for cpu in best.cpus)
    assert best.places == f'OMP_PLACES="{listed}" OMP_PROC_BIND=close OMP_NUM_THREADS=8'


@pytest.mark.parametrize("cpus", [2, 3])
def test_of_neighbours_that_both_orders_have_the_noise_is_no_doubt_about_the_gain(
    tmp_path: Path, cpus: int
) -> None:
    # A line, on which the numerical order is the best one whichever half chooses.
    line = 30.0 + 60.0 * np.abs(np.subtract.outer(range(cpus), range(cpus))).astype(float)
    content = content_of(Planted(cpus, 60.0), line, spread=0.1)
    (alike, *_) = find_teams(read_latency(write_latency_file(tmp_path, content)), ())
    assert alike.gain == 1.0
    assert alike.gain_interval == Interval(1.0, 1.0)
    assert not alike.gains


def test_noise_alone_is_called_a_gain_in_5_of_100_nodes_at_most(tmp_path: Path) -> None:
    nodes, gains = 60, 0
    for seed in range(nodes):
        content = content_of(Planted(8, 60.0), spread=0.05, seed=seed)
        teams = find_teams(read_latency(write_latency_file(tmp_path, content)), ())
        gains += team(teams, NEXT, 8).gains
        assert team(teams, NEXT, 8).follows == tuple(range(8)) or team(teams, NEXT, 8).gains
    assert gains <= 0.05 * nodes


def test_teams_take_one_cpu_a_core_and_the_best_kind_first(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["hybrid"])

    assert sorted(team(findings.teams, NEXT, 8).cpus) == [0, 2, 4, 6, 8, 10, 12, 14]
    every_core = team(findings.teams, NEXT, 24).cpus
    assert sorted(every_core[:8]) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert sorted(every_core[8:]) == every(16, 32)
    # A chain leaves a module when it has all of it.
    modules = [(cpu - 16) // 4 for cpu in every_core[8:]]
    assert sum(a != b for a, b in pairwise(modules)) == 3
    assert "core kinds differ in speed (P, E)" in text_of(findings)


def test_pairs_are_put_beside_each_other(tmp_path: Path) -> None:
    near = tuple(([i, i + 3], 20.0) for i in range(3))
    pairs = team(findings_of(tmp_path, Planted(6, 60.0, near)).teams, PAIRS, 6).cpus

    assert {frozenset(pairs[at : at + 2]) for at in (0, 2, 4)} == {
        frozenset({i, i + 3}) for i in range(3)
    }


@pytest.mark.parametrize(
    ("ns", "why"), [(np.nan, "were not measured"), (4000.0, "took as long as if they had been")]
)
def test_neighbours_of_which_nothing_is_known_leave_the_gain_open(
    tmp_path: Path, ns: float, why: str
) -> None:
    medians = PLANTED["alike"].ns()
    medians[0, 1] = medians[1, 0] = ns

    findings = findings_of(tmp_path, PLANTED["alike"], medians=medians)

    assert f"gain unknown, some of the neighbours {why}" in text_of(findings)


def test_a_busy_node_is_reported(tmp_path: Path) -> None:
    content = content_of(PLANTED["two"])
    quiet = latency_findings(read_latency(write_latency_file(tmp_path, content)))
    content["pairs"][0]["runs"][1]["switched"] = 3
    busy = latency_findings(read_latency(write_latency_file(tmp_path, content)))

    assert (quiet.switched, busy.switched) == (0, 3)
    assert "switched out" not in text_of(quiet)
    assert "threads were switched out 3 times" in text_of(busy)


@pytest.mark.parametrize("name", ["two", "alike", "hybrid", "hybrid-denied", "packages"])
def test_findings_are_json_that_any_program_reads(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = PLANTED[name]
    medians = noisy(planted, np.random.default_rng(1), 0.03)
    medians[0, 1] = medians[1, 0] = 4000.0

    findings = findings_of(tmp_path, planted, medians=medians)

    print_json(findings_data(findings))
    data = json.loads(capsys.readouterr().out)
    assert len(data["pairs"]) == planted.cpus * (planted.cpus - 1) // 2
    assert [one["cpu"] for one in data["partners"]] == every(0, planted.cpus)
    assert data["disturbed"] == ([[0, 1]] if planted.cpus > 2 else [])
    assert all(mapping["environment"].startswith("OMP_PLACES=") for mapping in data["mappings"])
    assert data["structure"] == findings.structure
    assert {group["outcome"] for group in data["groups"]} <= {"found", "no nearer"}


def test_text_has_every_table_and_every_mapping(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["hybrid"])

    text = latency_text(findings)

    for table in findings.tables:
        assert table.caption in text
    for _, environment in findings.mappings:
        assert environment in text


def test_files_are_written_beside_each_other(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["smt"])

    files = write_latency(findings, tmp_path / "out")

    names = [file.name for file in files]
    assert names == ["pairs.csv", "latency.svg", "latency.pdf", "latency.png"]
    # A line of names, one of both directions a pair, one each direction.
    assert len(files[0].read_text().splitlines()) == 1 + 120 * 3


def test_of_many_reasons_for_pairs_left_out_the_rest_is_counted(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=[0, 1])
    content["left_out"] = [{"cpus": [0, n], "reason": f"CPU {n} went away"} for n in range(2, 7)]

    findings = latency_findings(read_latency(write_latency_file(tmp_path, content)))

    assert (
        "left out: 5 pairs: CPU 2 went away; CPU 3 went away; CPU 4 went away and 2 more"
        in text_of(findings)
    )


def test_no_team_has_a_cpu_of_which_no_pair_was_measured(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=range(4))
    content["left_out"] = [{"cpus": [0, 9], "reason": "the kernel refused CPU 9"}]

    findings = latency_findings(read_latency(write_latency_file(tmp_path, content)))

    assert findings.teams
    assert not any(9 in team.cpus for team in findings.teams)
    assert not any("{9}" in environment for _, environment in findings.mappings)
