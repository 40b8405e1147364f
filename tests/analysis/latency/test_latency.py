"""Latencies: files that are read or refused, ranges of the kernel's groups, partners, teams."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.analysis.latency.findings import (
    LatencyFindings,
    NearTeam,
    findings_data,
    latency_findings,
    latency_tables,
    mappings,
)
from pinstudy.analysis.latency.reading import Latency, read_latency
from pinstudy.analysis.output import latency_text, write_latency
from pinstudy.base.errors import UserError
from pinstudy.cli.output import print_json
from pinstudy.runners.records.latency_file import MAX_CPUS
from tests.analysis.latency.made_latency import (
    PLANTED,
    Planted,
    content_of,
    every,
    write_latency_file,
)
from tests.support.changed import JSON_VALUES, with_value
from tests.support.results import notes_of

TWO = content_of(PLANTED["two"])
PAIR, RUN = "pairs.0", "pairs.0.runs.0"
CORE = {"cpus": "0", "kind": "P", "package": 0}


# What is put where, and which field is named.
@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("kind", "study", "kind"),
        ("schema", 2, "schema"),
        ("method", ["cas"], "method"),
        ("plan", "some", "plan"),
        ("node_id", "n" * 3000, "node_id"),
        ("pairs", [], "pairs"),
        ("pairs", ["x"], "pairs"),
        ("pairs", TWO["pairs"] * 2, "pairs[1].cpus"),
        (f"{PAIR}.cpus", [0, 99], "pairs[0]: runs[0]: expected from and to to be CPUs 0 and 99"),
        (f"{PAIR}.cpus", [0, 0], "pairs[0]: cpus: expected two different CPUs"),
        (f"{PAIR}.runs", [], "pairs[0].runs"),
        (f"{RUN}.from", 1, "pairs[0]: runs[0]: expected from and to to be CPUs 0 and 1"),
        (f"{RUN}.from", False, "pairs[0].runs[0].from"),
        (f"{RUN}.one_way_ns", [], "pairs[0].runs[0].one_way_ns"),
        (f"{RUN}.one_way_ns", [1.0, -1.0], "runs[0].one_way_ns[1]"),
        (f"{RUN}.one_way_ns", [5e-324], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", [3.6e12], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", [10**400], "one_way_ns[0]"),
        (f"{RUN}.one_way_ns", ["61.2"], "one_way_ns[0]"),
        (f"{RUN}.address", 2, "pairs: expected addresses from 0 to 1"),
        (f"{RUN}.address", 64, "pairs[0].runs[0].address"),
        (f"{RUN}.round_trips", 0.5, "round_trips"),
        (f"{RUN}.switched", -1, "switched"),
        ("topology", None, "topology"),
        ("topology.online", "", "topology.online"),
        ("topology.online", "0-99999999", "topology.online"),
        ("topology.cores", [CORE], "topology.cores"),
        ("topology.cores", [CORE, CORE, CORE | {"cpus": "1"}], "topology.cores"),
        ("topology.caches", [{"level": 2, "size_bytes": None, "cpus": "0,77"}], "caches[0].cpus"),
        ("topology.caches", [{"level": 0, "size_bytes": None, "cpus": "0"}], "caches[0].level"),
        ("left_out", [{"cpus": [0, 1], "reason": []}], "left_out[0].reason"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    tmp_path: Path, path: str, value: object, named: str
) -> None:
    file = write_latency_file(tmp_path, with_value(TWO, path, value))

    with pytest.raises(UserError) as error:
        read_latency(file)

    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert named in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize(
    "text", ["", "[", "null", "[1]", '{"kind": NaN}', "[" * 100_000, "\x00", '{"a": 1e']
)
def test_what_is_no_table_in_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "latency.json"
    path.write_text(text)

    with pytest.raises(UserError, match=r"latency\.json"):
        read_latency(path)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "latency.json")
    for name, problem in (("latency.json", "is not a file"), ("nowhere.json", "No such file")):
        with pytest.raises(UserError, match=problem):
            read_latency(tmp_path / name)


FIELDS = [*TWO, *(f"topology.{name}" for name in TWO["topology"])]
FIELDS += [f"{RUN}.{name}" for name in TWO["pairs"][0]["runs"][0]]


@given(st.sampled_from(FIELDS), JSON_VALUES)
def test_any_value_of_any_field_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: object
) -> None:
    path = write_latency_file(tmp_path_factory.getbasetemp(), with_value(TWO, field, value))
    try:
        assert read_latency(path).cpus
    except UserError as error:
        assert "latency.json" in str(error)


def test_what_was_measured_comes_back(tmp_path: Path) -> None:
    content = content_of(PLANTED["hybrid"])

    latency = read_latency(write_latency_file(tmp_path, content))

    assert len(latency.pairs) == 32 * 31 // 2
    assert latency.topology.kind_of(16) == "E"
    kept = [t for p in content["pairs"] for r in p["runs"] for t in r["one_way_ns"]]
    assert latency.one_way_ns.tolist() == kept


def test_more_cpus_than_any_node_has_are_refused(tmp_path: Path) -> None:
    (pair,) = TWO["pairs"]
    pairs = []
    for cpu in range(1, MAX_CPUS + 1):
        runs = [run | {"from": 0, "to": cpu} for run in pair["runs"]]
        pairs.append({"cpus": [0, cpu], "runs": runs})
    topology = Planted(MAX_CPUS + 1, 60.0).topology()

    with pytest.raises(UserError, match="at most 1024 CPUs"):
        read_latency(write_latency_file(tmp_path, TWO | {"topology": topology, "pairs": pairs}))


def two_cpus(folder: Path, *runs: tuple[int, int, list[float]]) -> Latency:
    made = [
        {"from": a, "to": b, "address": n, "round_trips": 10, "one_way_ns": times}
        for n, (a, b, times) in enumerate(runs)
    ]
    pairs = [{"cpus": [0, 1], "runs": made}]
    return read_latency(write_latency_file(folder, TWO | {"addresses": len(runs), "pairs": pairs}))


def test_both_directions_are_reported_separately_and_together(tmp_path: Path) -> None:
    latency = two_cpus(tmp_path, (0, 1, [50.0, 52.0, 90.0]), (1, 0, [60.0, 61.0]))

    assert latency.matrix[0, 1] == 52.0
    assert latency.matrix[1, 0] == 60.5
    assert latency.both_ways[0, 1] == latency.both_ways[1, 0] == 60.0
    assert np.isnan(latency.matrix[0, 0])


def test_spread_is_sd_quantiles_and_the_medians_of_runs(tmp_path: Path) -> None:
    latency = two_cpus(tmp_path, (0, 1, [10.0, 20.0, 30.0]), (1, 0, [40.0, 100.0]))

    (row,) = latency.pairs.to_dict("records")
    assert (row["n"], row["median_ns"], row["mean_ns"]) == (5, 30.0, 40.0)
    assert row["sd_ns"] == pytest.approx((900 + 400 + 100 + 0 + 3600) ** 0.5 / 2)
    assert (row["q05_ns"], row["q95_ns"]) == (pytest.approx(12.0), pytest.approx(88.0))
    assert (row["runs"], row["least_run_ns"], row["most_run_ns"]) == (2, 20.0, 70.0)


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


def team(findings: LatencyFindings, name: str) -> NearTeam:
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


def test_groups_have_the_numbers_of_those_around_where_they_are_no_nearer(tmp_path: Path) -> None:
    medians = medians_of(findings_of(tmp_path, PLANTED["hybrid-denied"]))
    modules = [medians["L2", 4, first] for first in (16, 20, 24, 28)]
    assert [*modules, medians["E-cores", 16, 16]] == [near(50.0)] * 5
    # All pairs beyond the kernel's groups stand first.
    assert medians_of(findings_of(tmp_path, PLANTED["packages"])) == {
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


def test_partners_are_on_another_core_and_as_near_where_none_is_nearest(tmp_path: Path) -> None:
    medians = PLANTED["smt"].ns()
    medians[0, 5] = medians[5, 0] = 20.0
    first = findings_of(tmp_path, PLANTED["smt"], medians=medians).partners[0]
    assert [partner.cpu for partner in first.siblings] == [8]
    assert first.nearest is not None
    assert (first.nearest.cpu, first.as_near) == (5, ())
    alike = findings_of(tmp_path, PLANTED["alike"], spread=0.05).partners
    assert np.median([len(row.as_near or ()) for row in alike]) >= 5


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


def test_a_team_has_one_cpu_a_core_of_those_that_were_measured(tmp_path: Path) -> None:
    siblings = findings_of(tmp_path, PLANTED["smt"])
    assert team(siblings, "package").cpus == tuple(range(8))

    content = content_of(PLANTED["complexes"], cpus=range(4))
    content["left_out"] = [{"cpus": [0, 9], "reason": "the kernel refused CPU 9"}]
    findings = found_in(tmp_path, content)
    assert findings.teams and not any(9 in found.cpus for found in findings.teams)
    assert not any("{9}" in environment for _, environment in mappings(findings))

    of_one_core = findings_of(tmp_path, PLANTED["smt"], cpus=(0, 8))
    assert of_one_core.teams == []
    assert "one core was measured" in text_of(of_one_core)
    assert [row.nearest for row in of_one_core.partners] == [None, None]


def test_a_busy_node_and_a_disturbed_pair_are_reported(tmp_path: Path) -> None:
    content = content_of(PLANTED["two"])
    quiet = found_in(tmp_path, content)
    content["pairs"][0]["runs"][1]["switched"] = 3
    busy = found_in(tmp_path, content)
    assert [findings_data(found)["switched"] for found in (quiet, busy)] == [0, 3]
    assert "switched out" not in text_of(quiet)
    assert "threads were switched out 3 times" in text_of(busy)

    medians = PLANTED["complexes"].ns()
    medians[3, 12] = medians[12, 3] = 4000.0
    content = content_of(PLANTED["complexes"], medians)
    ((a, b, ns),) = read_latency(write_latency_file(tmp_path, content)).disturbed
    assert (a, b) == (3, 12)
    assert ns == pytest.approx(4000.0, rel=0.1)
    assert "over a third CPU: CPUs 3, 12 (" in text_of(found_in(tmp_path, content))
    # Another package is only far.
    packages = content_of(PLANTED["packages"])
    assert read_latency(write_latency_file(tmp_path, packages)).disturbed == ()


def test_pairs_that_were_left_out_are_told_by_their_first_reasons(tmp_path: Path) -> None:
    content = content_of(PLANTED["complexes"], cpus=[0, 1])
    content["left_out"] = [{"cpus": [0, n], "reason": f"CPU {n} went away"} for n in range(5, 10)]
    told = "left out: 5 pairs: CPU 5 went away; CPU 6 went away; CPU 7 went away and 2 more"
    assert told in text_of(found_in(tmp_path, content))
    latency = read_latency(write_latency_file(tmp_path, content))
    # Their CPUs have a row.
    assert latency.cpus == (0, 1, 5, 6, 7, 8, 9)
    assert np.isnan(latency.both_ways[2]).all()


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


@pytest.mark.parametrize("name", ["two", "hybrid", "packages"])
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


def test_text_has_every_table_and_files_stand_beside_each_other(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, PLANTED["smt"])

    text = latency_text(findings)
    files = write_latency(findings, tmp_path / "out")

    for table in latency_tables(findings):
        assert table.caption in text
    for title, environment in mappings(findings):
        assert f"{title}:\n  {environment}" in text
    names = [file.name for file in files]
    assert names == ["pairs.csv", "latency.svg", "latency.pdf", "latency.png"]
    # A line of names, one of both directions a pair, one each direction.
    assert len(files[0].read_text().splitlines()) == 1 + 120 * 3
